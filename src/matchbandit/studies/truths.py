"""Which truths a log leaves possible: draws of all means, given what the pairs have paid.

The model is hierarchical, so that what was seen seldom leans on what was seen often:

- a pair pays about μ_ij = u_i v_j (players: u_i u_j); the logits of the strengths of a side are normal, with a centre
  and a spread τ that the log tells, too;
- its own mean is drawn around that, from Beta(κ μ, κ (1 − μ)) (Gaussian rewards: a normal of standard deviation
  1/(2 √(κ + 1))). κ = ∞ is the product model. Else a pair that met n times weighs its own average with n/(n + κ).

The means of the pairs are integrated out. For each of some values of τ and κ the most probable strengths are found by
Fisher scoring, and their evidence by Laplace's approximation [Rue2009]; a draw takes τ and κ by their evidence, the
strengths by Hamiltonian Monte Carlo [Neal2011] from Laplace's Gaussian, and the means of the pairs from their exact
conditional distribution.

All of it goes through the likelihood. So it does not matter how the pairs of the log were chosen, also by a policy that
learnt from it, as long as the choice hung on nothing but what stands in the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product as each_of
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaln, digamma, expit, logsumexp

from matchbandit.graphs import Graph, Pairs
from matchbandit.problems import Bipartite, Family, Means, Monopartite, Problem
from matchbandit.rewards import Binomial, Counts, Floats, Gaussian, RewardDistribution
from matchbandit.seeding import stream

CENTRE, CENTRE_SD = 0.4, 1.5
"""Of the logits of a side, before the log is seen: strengths around 0.6, and anything between 0.07 and 0.97."""
SPREADS = (0.15, 0.4, 0.8, 1.6)
"""τ: how far the logits of a side may lie apart; each is as likely as the others."""
LOYALTIES = (inf, 200.0, 60.0, 20.0, 6.0, 2.0)
"""κ: how closely pairs keep to their product; the first, exactly, is as likely as all others together."""
SCORING_STEPS, SETTLED, HALVINGS = 100, 1e-9, 30
"""Of Fisher scoring: at most so many; the gain after which there is no other; how often one is halved."""
TRAJECTORIES, LEAPS = 25, 5
"""Of Hamiltonian Monte Carlo: how often each draw moves, and in how many steps each time."""
EDGE = 1e-10
"""Products stay so far from 0 and 1."""


class Cell(NamedTuple):
    """One value of each spread and of κ, and what the log says of the strengths there."""

    spreads: tuple[float, ...]
    loyalty: float
    logits: Floats
    """The most probable ones."""
    information: Floats
    evidence: float
    """The logarithm of the probability of the log and the cell, but for a constant."""


@dataclass(frozen=True)
class Evidence:
    """What was logged, by pair; items are numbered through, rows before columns."""

    graph: Graph
    pairs: Pairs
    counts: Counts
    sums: Floats
    rewards: RewardDistribution

    @property
    def sizes(self) -> tuple[int, ...]:
        """Items of each side."""
        return self.graph.shape if self.graph.kind == "bipartite" else self.graph.shape[:1]

    @property
    def n_items(self) -> int:
        """Of all sides."""
        return sum(self.sizes)

    @property
    def ends(self) -> Pairs:
        """The two items of each logged pair."""
        return np.asarray(self.pairs + np.array([0, self.sizes[0] if len(self.sizes) > 1 else 0]))

    @property
    def trials(self) -> tuple[Floats, Floats]:
        """Coin flips behind the results of each pair, and successes among them; fractions of one are fine."""
        each = self.rewards.trials if isinstance(self.rewards, Binomial) else 1
        return np.asarray(self.counts * each, dtype=np.float64), self.sums * each

    def log_likelihood(self, mu: Floats, loyalty: float) -> Floats:
        """Of each pair's results if its product is μ, whatever its own mean; pairs are the last axis."""
        if isinstance(self.rewards, Gaussian):
            variance = self._variance(loyalty)
            return np.asarray(-0.5 * ((self.sums / self.counts - mu) ** 2 / variance + np.log(variance)))
        n, s = self.trials
        if loyalty == inf:
            return np.asarray(s * np.log(mu) + (n - s) * np.log1p(-mu))
        a, b = loyalty * mu, loyalty * (1 - mu)
        return np.asarray(betaln(a + s, b + n - s) - betaln(a, b))

    def slope(self, mu: Floats, loyalty: float) -> Floats:
        """Its derivative in μ."""
        if isinstance(self.rewards, Gaussian):
            return np.asarray((self.sums / self.counts - mu) / self._variance(loyalty))
        n, s = self.trials
        if loyalty == inf:
            return np.asarray(s / mu - (n - s) / (1 - mu))
        a, b = loyalty * mu, loyalty * (1 - mu)
        return np.asarray(loyalty * (digamma(a + s) - digamma(a) - digamma(b + n - s) + digamma(b)))

    def expected_information(self, mu: Floats, loyalty: float) -> Floats:
        """1/variance of each pair's average as a guess of μ: n/(μ(1 − μ)), of flips that stick together less."""
        if isinstance(self.rewards, Gaussian):
            return np.asarray(1 / self._variance(loyalty))
        n, _ = self.trials
        alike = 1.0 if loyalty == inf else (loyalty + 1) / (loyalty + n)
        return np.asarray(n * alike / (mu * (1 - mu)))

    def _variance(self, loyalty: float) -> Floats:
        """Of a pair's average of Gaussian rewards around its product."""
        return np.asarray(self.rewards.noise.sd**2 / self.counts + own_variance(loyalty))

    def mean_draws(self, mu: Floats, loyalty: float, rng: np.random.Generator) -> Floats:
        """The own means of all pairs of the graph, by edge, given their products μ and their results."""
        n, s = np.zeros(len(mu)), np.zeros(len(mu))
        edges = self.graph.edges(self.pairs)
        if isinstance(self.rewards, Gaussian):
            n[edges], s[edges] = self.counts, self.sums
            weight = n / self.rewards.noise.sd**2
            precision = weight + 1 / own_variance(loyalty)
            centre = (s / self.rewards.noise.sd**2 + mu / own_variance(loyalty)) / precision
            return np.clip(centre + rng.standard_normal(len(mu)) / np.sqrt(precision), 0.0, 1.0)
        n[edges], s[edges] = self.trials
        return np.asarray(rng.beta(loyalty * mu + s, loyalty * (1 - mu) + n - s))


def own_variance(loyalty: float) -> float:
    """Of a pair's own mean around its product, for Gaussian rewards: that of a Beta distribution around 1/2."""
    return 0.0 if loyalty == inf else 0.25 / (loyalty + 1)


class Posterior:
    """The cells of a log, by their evidence; `draw` makes truths of them."""

    def __init__(self, log: Evidence, loyalties: Sequence[float] = LOYALTIES) -> None:
        """Find the most probable strengths of each cell."""
        self.log = log
        i, j = log.ends.T
        ones, places = np.ones(2 * len(i)), np.arange(len(i))
        shape = (len(i), log.n_items)
        self._i, self._j = i, j
        self._incidence = csr_array((ones, (np.concatenate([places, places]), np.concatenate([i, j]))), shape=shape)
        self.cells: list[Cell] = []
        start = np.full(log.n_items, CENTRE)
        for loyalty, spreads in each_of(loyalties, each_of(SPREADS, repeat=len(log.sizes))):
            self.cells.append(self._cell(tuple(spreads), loyalty, start))
            start = self.cells[-1].logits
        prior = {loyalty: log_share(loyalty, loyalties) for loyalty in loyalties}
        evidence = np.array([cell.evidence + prior[cell.loyalty] for cell in self.cells])
        self.weights: Floats = np.exp(evidence - logsumexp(evidence))
        self.product = float(sum(w for w, c in zip(self.weights, self.cells, strict=True) if c.loyalty == inf))
        """The probability that all means are products, by the log, where it was 1/2 before."""

    def draw(self, truths: int, seed: int) -> list[Problem]:
        """So many truths, each as likely as the others."""
        rng = stream(seed, "truths")
        chosen = rng.choice(len(self.cells), size=truths, p=self.weights)
        drawn: list[Problem | None] = [None] * truths
        for at in np.unique(chosen).tolist():
            cell, places = self.cells[at], np.flatnonzero(chosen == at)
            strengths = expit(self._logits(cell, len(places), rng))
            for place, u in zip(places.tolist(), strengths, strict=True):
                drawn[place] = self._problem(u, cell.loyalty, rng)
        return [problem for problem in drawn if problem is not None]

    def _problem(self, u: Floats, loyalty: float, rng: np.random.Generator) -> Problem:
        graph, rewards = self.log.graph, self.log.rewards
        n_rows = self.log.sizes[0]
        whole: Problem
        if graph.kind == "bipartite":
            whole = Bipartite(u[:n_rows], u[n_rows:], rewards=rewards)
        else:
            whole = Monopartite(u, rewards=rewards)
        if loyalty == inf:
            return whole
        table = graph.matrix(self.log.mean_draws(np.clip(whole.means, EDGE, 1 - EDGE), loyalty, rng))
        if graph.kind == "bipartite":
            return Means(table, rewards=rewards)
        return Means(table + table.T, players=True, rewards=rewards)

    def _products(self, logits: Floats) -> tuple[Floats, Floats]:
        """Strengths, and the products of the logged pairs; the last axis is items, or pairs."""
        u = expit(logits)
        return u, np.clip(u[..., self._i] * u[..., self._j], EDGE, 1 - EDGE)

    def _value(self, logits: Floats, loyalty: float, P: Floats) -> Floats:
        """The log-density of these logits, but for a constant."""
        _, mu = self._products(logits)
        away = logits - CENTRE
        prior = 0.5 * (away @ P * away).sum(axis=-1)
        return np.asarray(self.log.log_likelihood(mu, loyalty).sum(axis=-1) - prior)

    def _pull(self, logits: Floats, loyalty: float, P: Floats) -> Floats:
        """Its gradient: ∂μ_ij/∂z_i = μ_ij (1 − u_i)."""
        u, mu = self._products(logits)
        return np.asarray((1 - u) * ((self.log.slope(mu, loyalty) * mu) @ self._incidence) - (logits - CENTRE) @ P)

    def _information(self, logits: Floats, loyalty: float, P: Floats) -> Floats:
        """Minus its second derivative, as it is expected."""
        u, mu = self._products(logits)
        weight = self.log.expected_information(mu, loyalty) * mu**2
        H = np.zeros((len(u), len(u)))
        H[self._i, self._j] = H[self._j, self._i] = weight
        H[np.diag_indices_from(H)] = H.sum(axis=1)
        return np.asarray((1 - u)[:, None] * H * (1 - u) + P)

    def _cell(self, spreads: tuple[float, ...], loyalty: float, start: Floats) -> Cell:
        P, log_det = _precision(self.log.sizes, spreads)
        z, value = start, float(self._value(start, loyalty, P))
        for _ in range(SCORING_STEPS):
            step = np.linalg.solve(self._information(z, loyalty, P), self._pull(z, loyalty, P))
            for k in range(HALVINGS):
                trial = z + step / 2**k
                gained = float(self._value(trial, loyalty, P)) - value
                if gained >= 0:
                    break
            else:
                break
            z, value = trial, value + gained
            if gained < SETTLED:
                break
        F = self._information(z, loyalty, P)
        return Cell(spreads, loyalty, z, F, value + 0.5 * (log_det - float(np.linalg.slogdet(F)[1])))

    def _logits(self, cell: Cell, draws: int, rng: np.random.Generator) -> Floats:
        """Draws of the logits in a cell.

        In y = Lᵀ (z − ẑ) with L Lᵀ = F they are about standard normal; from there each goes its own way.
        """
        P, _ = _precision(self.log.sizes, cell.spreads)
        root = np.linalg.inv(np.linalg.cholesky(cell.information))

        def logits(y: Floats) -> Floats:
            return np.asarray(cell.logits + y @ root)

        def pull(y: Floats) -> Floats:
            return np.asarray(self._pull(logits(y), cell.loyalty, P) @ root.T)

        y = rng.standard_normal((draws, len(cell.logits)))
        value = self._value(logits(y), cell.loyalty, P)
        for _ in range(TRAJECTORIES):
            size = rng.uniform(0.5, 1.0) * len(cell.logits) ** -0.25
            momentum = rng.standard_normal(y.shape)
            energy = value - 0.5 * (momentum**2).sum(axis=1)
            to, p = y, momentum + 0.5 * size * pull(y)
            for leap in range(LEAPS):
                to = to + size * p
                p = p + (size if leap < LEAPS - 1 else 0.5 * size) * pull(to)
            reached = self._value(logits(to), cell.loyalty, P)
            with np.errstate(over="ignore", invalid="ignore"):
                likelier = np.exp(reached - 0.5 * (p**2).sum(axis=1) - energy)
            moves = rng.random(draws) < likelier
            y[moves], value[moves] = to[moves], reached[moves]
        return logits(y)


def log_share(loyalty: float, among: Sequence[float]) -> float:
    """The logarithm of the prior probability of a κ: the product has half of it, where it is there with others."""
    others = len([each for each in among if each != inf])
    if not others or loyalty == inf:
        return log(0.5) if others else 0.0
    return log((0.5 if inf in among else 1.0) / others)


def _precision(sizes: Sequence[int], spreads: Sequence[float]) -> tuple[Floats, float]:
    """That of the logits before the log is seen, and the logarithm of its determinant.

    The covariance of a side is τ² I + σ² 1 1ᵀ, for its centre is one for all.
    """
    P, log_det, first = np.zeros((sum(sizes), sum(sizes))), 0.0, 0
    for size, spread in zip(sizes, spreads, strict=True):
        own, common = spread**2, CENTRE_SD**2
        side = slice(first, first + size)
        P[side, side] = np.eye(size) / own - common / (own * (own + size * common))
        log_det -= (size - 1) * log(own) + log(own + size * common)
        first += size
    return P, log_det


@dataclass(frozen=True, repr=False)
class PossibleTruths(Family):
    """Truths to be played in turn, each in `repeats` runs in a row."""

    truths: tuple[Problem, ...] = field(default=())
    repeats: int = 1

    def draw(self, seed: int = 0, run: int = 0) -> Problem:
        """The truth of this run, whatever the seed."""
        return self.truths[run // self.repeats]

    @classmethod
    def of(cls, truths: Sequence[Problem], repeats: int) -> "PossibleTruths":
        """These truths, which have one graph and one reward distribution."""
        return cls("log", {}, truths[0].rewards, tuple(truths), repeats)

    def describe(self) -> dict[str, Any]:
        """As a family without parameters: the truths are kept beside the runs."""
        return {"family": self.name, "parameters": {}, "rewards": self.rewards.describe()}

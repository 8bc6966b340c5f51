"""Which truths a log leaves possible: draws of all means, given what the pairs have paid.

The model is hierarchical, so that what was seen seldom leans on what was seen often:

- a pair pays about μ_ij = u_i v_j (players: u_i u_j); the logits of the strengths of a side are normal, with a centre
  and a spread τ that the log tells, too;
- its own mean is drawn around that, from Beta(κ μ, κ (1 − μ)) (Gaussian rewards: a normal of standard deviation
  1/(2 √(κ + 1))). κ = ∞ is the product model. Else a pair that met n times weighs its own average with n/(n + κ).

The means of the pairs are integrated out. For each of some values of τ and κ the most probable strengths are found by
Fisher scoring, and their evidence by Laplace's approximation [Rue2009]. A draw takes τ and κ by their evidence. Its
strengths are those that fit best when results and prior are perturbed by their own noise [Bardsley2014]: two items that
always meet lie on a hyperbola, and so do rows and columns as a whole, since rows may grow as columns shrink; a Gaussian
would leave it, a fit does not. From there the draw moves on by Hamiltonian Monte Carlo [Neal2011], which mends what
perturbing has not got right. The means of the pairs come from their exact conditional distribution.

All of it goes through the likelihood. So it does not matter how the pairs of the log were chosen, also by a policy that
learnt from it, as long as the choice hung on nothing but what stands in the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product as each_of
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import betaln, digamma, expit, logsumexp

from matchbandit.graphs import Graph, Pairs
from matchbandit.problems import Bipartite, Family, Means, Monopartite, Problem
from matchbandit.rewards import Binomial, Counts, Floats, Gaussian, RewardDistribution
from matchbandit.seeding import stream

CENTRE, CENTRE_SD = 0.4, 1.5
"""Of the logits of a side, before the log is seen: strengths around 0.6, and anything between 0.07 and 0.97."""
SPREADS = (0.25, 0.75, 1.25, 1.75)
"""τ: how far the logits of a side may lie apart; each is as likely as the others, as anything between 0 and 2 is."""
LOYALTIES = (inf, 200.0, 60.0, 20.0, 6.0, 2.0)
"""κ: how closely pairs keep to their product; the first, exactly, is as likely as all others together."""
SCORING_STEPS, LONGEST_STEP, SETTLED, HALVINGS = 60, 2.0, 1e-7, 25
"""Of Fisher scoring: at most so many, none longer in any logit; the gain after which there is no other; how often one
is halved."""
TRAJECTORIES, LEAPS, LEAST_MOVES = 25, 5, 0.6
"""Of Hamiltonian Monte Carlo: how often each draw moves, in how many steps each time, and the share of draws that must
move, or the steps are halved."""
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

    def perturbed(self, mu: Floats, loyalty: float, rng: np.random.Generator) -> "Evidence":
        """The same log for each row of products μ, draws × pairs, each time with noise as it is around them."""
        n, _ = self.trials
        if isinstance(self.rewards, Gaussian):
            noise = np.sqrt(self._variance(loyalty)) * rng.standard_normal(mu.shape) * self.counts
            return replace(self, sums=self.sums + noise)
        own = mu if loyalty == inf else rng.beta(loyalty * mu, loyalty * (1 - mu))
        noise = (rng.binomial(n.astype(np.int64), own) - n * mu) / (n / self.counts)
        return replace(self, sums=np.clip(self.sums + noise, 0.0, self.counts))

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
        for loyalty in loyalties:
            self.cells += self._cells(loyalty)
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
        loyalties = np.array([self.cells[at].loyalty for at in chosen.tolist()])
        for loyalty in np.unique(loyalties).tolist():  # all of one κ at once
            places = np.flatnonzero(loyalties == loyalty)
            strengths = expit(self._logits([self.cells[at] for at in chosen[places].tolist()], rng))
            for place, u in zip(places.tolist(), strengths, strict=True):
                drawn[place] = self._problem(u, loyalty, rng)
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
        """Strengths, and the products of the logged pairs; draws × items, and draws × pairs."""
        u = expit(logits)
        return u, np.clip(u[:, self._i] * u[:, self._j], EDGE, 1 - EDGE)

    def _value(self, logits: Floats, at: "_Place") -> Floats:
        """The log-density of these logits, but for a constant."""
        _, mu = self._products(logits)
        away = logits - at.centre
        prior = 0.5 * (_times(away, at.P) * away).sum(axis=1)
        return np.asarray(at.log.log_likelihood(mu, at.loyalty).sum(axis=1) - prior)

    def _pull(self, logits: Floats, at: "_Place") -> Floats:
        """Its gradient: ∂μ_ij/∂z_i = μ_ij (1 − u_i)."""
        u, mu = self._products(logits)
        by_item = (at.log.slope(mu, at.loyalty) * mu) @ self._incidence
        return np.asarray((1 - u) * by_item - _times(logits - at.centre, at.P))

    def _information(self, logits: Floats, at: "_Place") -> Floats:
        """Minus its second derivative, as it is expected; draws × items × items."""
        u, mu = self._products(logits)
        weight = at.log.expected_information(mu, at.loyalty) * mu**2
        H = np.zeros((*u.shape, u.shape[1]))
        H[:, self._i, self._j] = H[:, self._j, self._i] = weight
        places = np.arange(u.shape[1])
        H[:, places, places] = H.sum(axis=2)
        return np.asarray((1 - u)[:, :, None] * H * (1 - u)[:, None, :] + at.P)

    def _highest(self, start: Floats, at: "_Place") -> tuple[Floats, Floats]:
        """The most probable logits and their value, by Fisher scoring from each start; draws × items."""
        z, value = start.copy(), self._value(start, at)
        climbing = np.arange(len(z))
        for _ in range(SCORING_STEPS):
            here = at.some(climbing)
            step = np.linalg.solve(self._information(z[climbing], here), self._pull(z[climbing], here)[:, :, None])[
                :, :, 0
            ]
            step *= np.minimum(1, LONGEST_STEP / np.maximum(np.abs(step).max(axis=1), EDGE))[:, None]
            gained, left = np.zeros(len(climbing)), np.arange(len(climbing))
            for k in range(HALVINGS):
                rows = climbing[left]
                trial = z[rows] + step[left] / 2**k
                more = self._value(trial, at.some(rows)) - value[rows]
                better = more > 0
                z[rows[better]] = trial[better]
                gained[left[better]] = more[better]
                left = left[~better]
                if not len(left):
                    break
            value[climbing] += gained
            climbing = climbing[gained > SETTLED]
            if not len(climbing):
                break
        return z, value

    def _cells(self, loyalty: float) -> list[Cell]:
        """The cells of one κ, all at once; from where those of the κ before have ended."""
        spreads = list(each_of(SPREADS, repeat=len(self.log.sizes)))
        P, log_dets = zip(*(_precision(self.log.sizes, each) for each in spreads), strict=True)
        centre = np.full((1, self.log.n_items), CENTRE)
        at = _Place(self.log, loyalty, np.array(P), centre)
        before = [cell.logits for cell in self.cells[-len(spreads) :]]
        z, value = self._highest(np.array(before) if before else np.repeat(centre, len(spreads), axis=0), at)
        F = self._information(z, at)
        evidence = value + 0.5 * (np.array(log_dets) - np.linalg.slogdet(F)[1])
        return [Cell(*parts) for parts in zip(spreads, [loyalty] * len(z), z, F, evidence.tolist(), strict=True)]

    def _logits(self, cells: Sequence[Cell], rng: np.random.Generator) -> Floats:
        """A draw of the logits in each of these cells of one κ: fits to perturbed results, which then go their own way.

        In y = Lᵀ (z − ẑ) with L Lᵀ = F they are about standard normal; where they are not, steps are shorter.
        """
        loyalty, draws = cells[0].loyalty, len(cells)
        mode = np.array([cell.logits for cell in cells])
        P = np.array([_precision(self.log.sizes, cell.spreads)[0] for cell in cells])
        centres = CENTRE + _prior_noise(self.log.sizes, [cell.spreads for cell in cells], rng)
        noisy = self.log.perturbed(self._products(mode)[1], loyalty, rng)
        z, _ = self._highest(mode, _Place(noisy, loyalty, P, centres))
        at = _Place(self.log, loyalty, P, np.full((1, mode.shape[1]), CENTRE))
        L = np.linalg.cholesky(np.array([cell.information for cell in cells]))
        root = np.linalg.inv(L)
        y, value = _times(z - mode, L), self._value(z, at)

        def pull(y: Floats) -> Floats:
            return _times(self._pull(mode + _times(y, root), at), root.transpose(0, 2, 1))

        longest = mode.shape[1] ** -0.25
        for _ in range(TRAJECTORIES):
            size = rng.uniform(0.5, 1.0) * longest
            momentum = rng.standard_normal(y.shape)
            to, p = y, momentum + 0.5 * size * pull(y)
            for leap in range(LEAPS):
                to = to + size * p
                p = p + (size if leap < LEAPS - 1 else 0.5 * size) * pull(to)
            reached = self._value(mode + _times(to, root), at)
            gain = reached - value - 0.5 * (p**2 - momentum**2).sum(axis=1)
            moves = np.log(1 - rng.random(draws)) < gain
            y[moves], value[moves] = to[moves], reached[moves]
            if moves.mean() < LEAST_MOVES:
                longest /= 2
        return np.asarray(mode + _times(y, root))


@dataclass(frozen=True)
class _Place:
    """What the density of logits hangs on besides them: the results, κ, and the prior."""

    log: Evidence
    loyalty: float
    P: Floats
    """The precision of the prior, of each draw."""
    centre: Floats
    """Its mean, for all draws, or for each."""

    def some(self, draws: NDArray[np.int64]) -> "_Place":
        """Of these draws only."""
        log = replace(self.log, sums=self.log.sums[draws]) if self.log.sums.ndim > 1 else self.log
        return replace(self, log=log, P=self.P[draws], centre=self.centre[draws % len(self.centre)])


def _times(x: Floats, matrices: Floats) -> Floats:
    """Each row of x times its matrix."""
    return np.asarray(np.matmul(x[:, None, :], matrices)[:, 0, :])


def _prior_noise(sizes: Sequence[int], spreads: Sequence[Sequence[float]], rng: np.random.Generator) -> Floats:
    """Of the logits around their centre, draws × items: what a side has in common, and what is each item's own."""
    tau, draws = np.array(spreads), len(spreads)
    parts = [
        tau[:, [side]] * rng.standard_normal((draws, size)) + CENTRE_SD * rng.standard_normal((draws, 1))
        for side, size in enumerate(sizes)
    ]
    return np.concatenate(parts, axis=1)


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

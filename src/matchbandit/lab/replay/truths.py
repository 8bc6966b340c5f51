"""Draw means that fit a log, from their posterior distribution.

The model is hierarchical, so that pairs with few results borrow from those with many:

- a pair pays about μ_ij = u_i v_j (players: u_i u_j). The strengths have the prior of `strengths`: s_i = log u_i is
  normal around the level of its side, times a barrier;
- the pair's own mean comes from Beta(κ μ, κ (1 − μ)) (Gaussian rewards: a normal distribution with standard deviation
  1/(2 √(κ + 1))). The concentration κ = ∞ is the product model. Else a pair that met n times weighs its own average
  with n/(n + κ).

The means of the pairs are integrated out. The evidence of each of some values of κ comes from Laplace's approximation
[Rue2009] in the logits z_i = log(u_i/(1 − u_i)), which have no border. There the density is that of s times
∏ (1 − u_i). Newton's method finds its mode from where `strengths.Posterior` has that of s. For κ < ∞ that fit is
repeated with effective plays and sums, which bound the likelihood from below (minorisation [Hunter2004]).

A draw takes κ by its evidence and strengths from the Gaussian at the mode, and moves on by Hamiltonian Monte Carlo
[Neal2011] under the exact density. The means of the pairs come from their exact conditional distribution.

All of it goes through the likelihood. So it does not matter how the pairs of the log were chosen, also by a policy that
learnt from it, as long as the choice depended on nothing but what the log contains.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_array
from scipy.special import betaln, digamma, expit, polygamma

from matchbandit.graphs import Graph, Pairs
from matchbandit.problems import Bipartite, Family, Means, Monopartite, Problem
from matchbandit.rewards import Binomial, Counts, Floats, Gaussian, RewardDistribution
from matchbandit.seeding import stream
from matchbandit.strengths import PRIOR, Posterior, clip_outliers, pooling

CONCENTRATIONS = (inf, 200.0, 60.0, 20.0, 6.0, 2.0)
"""κ: how closely pairs keep to their product; the first, exactly, is as probable as all others together."""
TRAJECTORIES, LEAPS, MIN_ACCEPTANCE = 25, 5, 0.6
"""Of Hamiltonian Monte Carlo: how often each draw moves, in how many steps each time, and the share of draws that must
move, or the steps are halved."""
MAX_SHORTFALL, HALVINGS = 10.0, 20
"""A draw whose density is smaller by more, in its logarithm, than the Gaussian says is moved halfway to the mode."""
MAX_FITS, CLOSE = 30, 0.01
"""Fits of the strengths under one κ, and the change of all log strengths below which they end."""
NEWTON_STEPS, LONGEST_STEP, NEGLIGIBLE_GAIN = 20, 1.0, 1e-6
"""Steps from that fit to the mode of the logits, the longest step of a logit, and the gain below which they end."""
SMALLEST_MEAN, LARGEST_MEAN = 1e-100, 1 - 1e-10
"""Products are clipped to this range."""


@dataclass(frozen=True)
class Evidence:
    """Results by pair, and their likelihood; items are numbered consecutively, rows first."""

    graph: Graph
    pairs: Pairs
    counts: Counts
    sums: Floats
    rewards: RewardDistribution

    @property
    def trials(self) -> tuple[Floats, Floats]:
        """Coin flips behind the results of each pair, and successes among them; fractions of one are fine."""
        each = self.rewards.trials if isinstance(self.rewards, Binomial) else 1
        return np.asarray(self.counts * each, dtype=np.float64), self.sums * each

    def log_likelihood(self, mu: Floats, concentration: float) -> Floats:
        """Of each pair's results if its product is μ, whatever its own mean; pairs are the last axis."""
        if isinstance(self.rewards, Gaussian):
            variance = self._variance(concentration)
            return np.asarray(-0.5 * ((self.sums / self.counts - mu) ** 2 / variance + np.log(variance)))
        n, s = self.trials
        if concentration == inf:
            return np.asarray(s * np.log(mu) + (n - s) * np.log1p(-mu))
        a, b = concentration * mu, concentration * (1 - mu)
        return np.asarray(betaln(a + s, b + (n - s)) - betaln(a, b))

    def slope(self, mu: Floats, concentration: float) -> Floats:
        """Its derivative in log μ."""
        if isinstance(self.rewards, Gaussian):
            return np.asarray(mu * (self.sums / self.counts - mu) / self._variance(concentration))
        n, s = self.trials
        if concentration == inf:
            return np.asarray((s - n * mu) / (1 - mu))
        a, b = concentration * mu, concentration * (1 - mu)
        return np.asarray(a * (digamma(a + s) - digamma(a) - digamma(b + (n - s)) + digamma(b)))

    def information(self, mu: Floats, concentration: float) -> Floats:
        """Minus its second derivative in log μ, where that is positive, else 0; for Gaussian rewards as expected."""
        if isinstance(self.rewards, Gaussian):
            return np.asarray(mu**2 / self._variance(concentration))
        n, s = self.trials
        if concentration == inf:
            return np.asarray((n - s) * mu / (1 - mu) ** 2)
        a, b = concentration * mu, concentration * (1 - mu)
        curvature = polygamma(1, a) - polygamma(1, a + s) + polygamma(1, b) - polygamma(1, b + (n - s))
        return np.asarray(np.maximum(a**2 * curvature - self.slope(mu, concentration), 0.0))

    def effective_results(self, mu: Floats, concentration: float) -> tuple[Floats, Floats]:
        """Plays and sums of a product model whose likelihood touches this one from below at μ, but for a constant.

        With a = κ μ the successes contribute Σ_{k < s} log(a + k), and log(a + k) ≥ a_0/(a_0 + k) log a + constant.
        Gaussian likelihoods are equal.
        """
        if isinstance(self.rewards, Gaussian):
            plays = self.rewards.noise.sd**2 / self._variance(concentration)
            return np.asarray(plays), np.asarray(plays * self.sums / self.counts)
        n, s = self.trials
        a, b = concentration * mu, concentration * (1 - mu)
        successes, failures = a * (digamma(a + s) - digamma(a)), b * (digamma(b + (n - s)) - digamma(b))
        return (successes + failures) * self.counts / n, successes * self.counts / n

    def _variance(self, concentration: float) -> Floats:
        """Of a pair's average of Gaussian rewards around its product."""
        return np.asarray(self.rewards.noise.sd**2 / self.counts + own_variance(concentration))

    def mean_draws(self, mu: Floats, concentration: float, rng: np.random.Generator) -> Floats:
        """The own means of all pairs of the graph, by edge, given their products μ and their results."""
        n, s = np.zeros(len(mu)), np.zeros(len(mu))
        edges = self.graph.edges(self.pairs)
        if isinstance(self.rewards, Gaussian):
            n[edges], s[edges] = self.counts, self.sums
            weight = n / self.rewards.noise.sd**2
            precision = weight + 1 / own_variance(concentration)
            centre = (s / self.rewards.noise.sd**2 + mu / own_variance(concentration)) / precision
            return np.clip(centre + rng.standard_normal(len(mu)) / np.sqrt(precision), 0.0, 1.0)
        n[edges], s[edges] = self.trials
        return np.asarray(rng.beta(concentration * mu + s, concentration * (1 - mu) + (n - s)))


def own_variance(concentration: float) -> float:
    """Of a pair's own mean around its product, for Gaussian rewards: that of a Beta distribution around 1/2."""
    return 0.0 if concentration == inf else 0.25 / (concentration + 1)


class TruthPosterior:
    """The values of κ, by the evidence of the log; `draw` makes truths of them."""

    def __init__(self, log: Evidence, concentrations: Sequence[float] = CONCENTRATIONS) -> None:
        """Find the most probable strengths under each κ."""
        self.log = replace(log, sums=clip_outliers(log.rewards.noise, log.counts, log.sums))
        self.approximations = [Approximation(self.log, concentration) for concentration in concentrations]
        is_product = np.array(concentrations) == inf
        self.is_open = 0 < is_product.sum() < len(is_product)
        """Whether the log decides if all means are products."""
        prior = np.where(is_product, 1.0, 1 / max(np.sum(~is_product), 1))
        evidence = np.log(prior) + [each.evidence for each in self.approximations]
        likelihoods = np.exp(evidence - evidence.max())
        self.weights: Floats = likelihoods / likelihoods.sum()
        self.product = float(self.weights[is_product].sum())
        """The probability that all means are products, by the log, where it was 1/2 before."""

    def draw(self, truths: int, seed: int) -> list[Problem]:
        """Draw truths at random, with their probabilities."""
        rng = stream(seed, "truths")
        chosen = rng.choice(len(self.weights), size=truths, p=self.weights)
        problems: dict[int, Problem] = {}
        for k, approximation in enumerate(self.approximations):
            positions = np.flatnonzero(chosen == k).tolist()
            for position, z in zip(positions, approximation.draw(len(positions), rng), strict=True):
                problems[position] = self._problem(expit(z), approximation.concentration, rng)
        return [problems[position] for position in range(truths)]

    def _problem(self, u: Floats, concentration: float, rng: np.random.Generator) -> Problem:
        graph, rewards = self.log.graph, self.log.rewards
        product: Problem
        if graph.is_bipartite:
            product = Bipartite(*np.split(u, [graph.n_rows]), rewards=rewards)
        else:
            product = Monopartite(u, rewards=rewards)
        if concentration == inf:
            return product
        mu = np.clip(product.means, SMALLEST_MEAN, LARGEST_MEAN)
        table = graph.matrix(self.log.mean_draws(mu, concentration, rng))
        if not graph.is_bipartite:
            table += table.T
        return Means(table, players=not graph.is_bipartite, rewards=rewards)


class Approximation:
    """The density of the logits of the strengths, z, under one κ, and a Gaussian around its mode.

    Items are the last axis of z.
    """

    def __init__(self, log: Evidence, concentration: float) -> None:
        """Find the mode, and the evidence by Laplace's approximation."""
        self.log, self.concentration = log, concentration
        self.sizes = np.array(log.graph.side_sizes)
        self.sides = np.repeat(np.eye(len(self.sizes)), self.sizes, axis=0)
        """Which items are of which side, items × sides."""
        self.relief = PRIOR.barrier * (self.sizes - 1.0)
        """β (k − 1) of each side: the exponent of 1 − ū in the barrier."""
        self.precision = block_diag(*((np.eye(k) - pooling(PRIOR, k)) / PRIOR.spread**2 for k in log.graph.side_sizes))
        """Of the log strengths before the log, with the levels integrated out: (I − c 1 1ᵀ)/τ² for each side."""
        self.i, self.j = log.graph.items_of(log.pairs).T
        pairs = np.arange(len(self.i))
        places = np.concatenate([pairs, pairs]), np.concatenate([self.i, self.j])
        self.incidence = csr_array((np.ones(2 * len(pairs)), places), shape=(len(pairs), log.graph.n_items))
        self.mode = self._climb(self._fit())
        self.evidence = float(self.value(self.mode) - 0.5 * np.linalg.slogdet(self.information(self.mode))[1])
        """The logarithm of the probability of the log, but for a constant."""

    def value(self, z: Floats) -> Floats:
        """Its logarithm, but for a constant."""
        s, mu = self._products(z)
        away = s - PRIOR.level
        prior = -0.5 * ((away @ self.precision) * away).sum(axis=-1)
        border = -(PRIOR.barrier + 1) * np.logaddexp(0, z).sum(axis=-1)
        border = border - np.log(-np.expm1(self._levels(s))) @ self.relief
        return np.asarray(self.log.log_likelihood(mu, self.concentration).sum(axis=-1) + prior + border)

    def gradient(self, z: Floats) -> Floats:
        """Of the value: ∂s/∂z = 1 − u."""
        s, mu = self._products(z)
        by_item = self.log.slope(mu, self.concentration) @ self.incidence
        u, levels = np.exp(s), self._levels(s)
        relief = (self.relief / self.sizes * np.exp(levels) / -np.expm1(levels)) @ self.sides.T
        by_item = by_item - (s - PRIOR.level) @ self.precision + relief
        return np.asarray((1 - u) * by_item - (PRIOR.barrier + 1) * u)

    def information(self, z: Floats) -> Floats:
        """Minus the second derivative of the value at its maximum z, items × items; the barrier's as in `strengths`."""
        s, mu = self._products(z)
        H = np.zeros((len(s), len(s)))
        H[self.i, self.j] = H[self.j, self.i] = self.log.information(mu, self.concentration)
        u = np.exp(s)
        barrier = np.maximum(PRIOR.barrier * u / (1 - u) ** 2, SMALLEST_MEAN)
        common = (1 - 1 / self.sizes) / ((1 / barrier) @ self.sides)
        H += np.diag(H.sum(axis=1) + barrier) - (self.sides * common) @ self.sides.T
        return np.asarray(np.outer(1 - u, 1 - u) * (H + self.precision) + np.diag(u))

    def _levels(self, s: Floats) -> Floats:
        """The mean log strength of each side, log ū."""
        return np.asarray(np.minimum(s @ (self.sides / self.sizes), -SMALLEST_MEAN))

    def _products(self, z: Floats) -> tuple[Floats, Floats]:
        """Log strengths by item, and the products of the logged pairs."""
        s = -np.logaddexp(0, -z)
        return s, np.clip(np.exp(s[..., self.i] + s[..., self.j]), SMALLEST_MEAN, LARGEST_MEAN)

    def _fit(self) -> Floats:
        """Find the logits of the most probable strengths, by fits of products to effective results.

        These depend on the strengths: they are computed and fitted in turn, and the density rises each time.
        """
        log, edges = self.log, self.log.graph.edges(self.log.pairs)
        order = np.argsort(edges)
        plays, sums = log.counts.astype(np.float64), log.sums
        logs = Posterior.fit(log.graph, log.rewards, edges[order], plays[order], sums[order]).logs
        for _ in range(MAX_FITS if self.concentration < inf else 0):
            before, mu = logs, np.clip(np.exp(logs[self.i] + logs[self.j]), SMALLEST_MEAN, LARGEST_MEAN)
            plays, sums = log.effective_results(mu, self.concentration)
            logs = Posterior.fit(log.graph, log.rewards, edges[order], plays[order], sums[order], start=before).logs
            if np.abs(logs - before).max() < CLOSE:
                break
        return np.asarray(logs - np.log(-np.expm1(logs)))

    def _climb(self, z: Floats) -> Floats:
        """Find the logits where the density is largest, by Newton's method from z."""
        value = self.value(z)
        for _ in range(NEWTON_STEPS):
            step = np.linalg.solve(self.information(z), self.gradient(z))
            step *= min(1.0, LONGEST_STEP / max(np.abs(step).max(), LONGEST_STEP))
            gain = self.value(z + step) - value
            if not gain > NEGLIGIBLE_GAIN:
                break
            z, value = z + step, value + gain
        return z

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Draw logits, draws × items.

        In y = Lᵀ (z − ẑ) with L Lᵀ = F they are about standard normal; where they are not, steps are shorter.
        """
        root = np.linalg.inv(np.linalg.cholesky(self.information(self.mode)))
        y, top = rng.standard_normal((draws, len(self.mode))), self.value(self.mode)
        height = self.value(self.mode + y @ root)
        for _ in range(HALVINGS):
            far = ~(height > top - 0.5 * (y**2).sum(axis=1) - MAX_SHORTFALL)
            if not far.any():
                break
            y[far] /= 2
            height = self.value(self.mode + y @ root)
        longest = len(self.mode) ** -0.25
        for _ in range(TRAJECTORIES if draws else 0):
            size = rng.uniform(0.5, 1.0) * longest
            momentum = rng.standard_normal(y.shape)
            with np.errstate(over="ignore", invalid="ignore"):  # trajectories that diverge are rejected
                end, p = y, momentum + 0.5 * size * (self.gradient(self.mode + y @ root) @ root.T)
                for leap in range(LEAPS):
                    end = end + size * p
                    weight = size if leap < LEAPS - 1 else 0.5 * size
                    p = p + weight * (self.gradient(self.mode + end @ root) @ root.T)
                reached = self.value(self.mode + end @ root)
                gain = reached - height - 0.5 * (p**2 - momentum**2).sum(axis=1)
            moves = np.log(1 - rng.random(draws)) < gain
            y[moves], height[moves] = end[moves], reached[moves]
            if moves.mean() < MIN_ACCEPTANCE:
                longest /= 2
        return np.asarray(self.mode + y @ root)


@dataclass(frozen=True, repr=False)
class PossibleTruths(Family):
    """Truths to be played in turn, each in `repeats` runs in a row."""

    truths: tuple[Problem, ...] = field(default=())
    repeats: int = 1

    def draw(self, seed: int = 0, run: int = 0) -> Problem:
        """The truth of this run, whatever the seed."""
        return self.truths[run // self.repeats]

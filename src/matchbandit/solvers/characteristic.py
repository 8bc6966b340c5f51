"""The fewest plays that distinguish an instance of the product model from every instance with another answer.

The program is semi-infinite: min Σ_a c_a η_a over the plays η of rounds a such that Σ_a η_a kl_a(λ) ≥ 1 for *every*
instance λ of the model with another answer. In logarithms x = log strength a pair's mean is exp(x_i + x_j), and the
nearest instances with another answer have an item b level with an item a that should be above it, x_b = x_a. The
divergence of Bernoulli rewards is convex in x_i + x_j, so that the worst λ for given η and (a, b) is found by one
descent. That of Gaussian rewards is convex only above half the mean, and is descended from three starts.

The program is solved by cuts: HiGHS on the λ found so far, then the worst λ for its η. Every step is a lower bound.
The descents are Newton's, by hand: plays differ by powers of ten, and descents without the second derivative, such as
those of scipy with bounds, take a hundred times as long.

The same descents maximise a likelihood. With empirical means p and plays n the log-likelihood of log strengths x is a
constant − Σ_e n_e kl(p_e, exp(x_i + x_j)).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, expm1, inf, log

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Graph, Selection
from matchbandit.kl import bernoulli_entropy, bernoulli_kl_at_logs
from matchbandit.rewards import Floats, Noise, RewardDistribution
from matchbandit.solvers.best import MAX_MATCHINGS, all_matchings, count_matchings
from matchbandit.strengths import factorise, solve_dense

MAX_DIVERGENCE = 1e12
"""Larger divergences are taken as this: one sample is enough either way."""
MIN_STRENGTH = 1e-9
"""Strengths below this are taken as this, and strengths above 1 − 10^−9 as that."""
PRECISION = 1e-3
"""The value lies at most this share below the true one, as far as descents reach the worst λ."""
MAX_ITEMS, MAX_STEPS = 16, 200
LOWEST, HIGHEST = -60.0, -1e-9
"""Log strengths are kept between these."""


@dataclass(frozen=True)
class Solution:
    """The value of the program, and the plays of each pair that attain it."""

    value: float
    """A lower bound on the least cost, within `PRECISION`."""
    above: float
    """An upper bound: the cost of `plays`, which distinguish every alternative."""
    plays: Floats
    """By edge."""


def is_computable(graph: Graph, plays: Selection) -> bool:
    """Whether the graph is small enough: up to 16 items, or 1000 matchings."""
    return graph.n_items <= MAX_ITEMS if plays == "pair" else count_matchings(graph) <= MAX_MATCHINGS


def all_rounds(graph: Graph, plays: Selection) -> Floats:
    """The rounds that can be played, a row each, with 1 for the pairs of the round."""
    if plays == "pair":
        return np.eye(graph.n_pairs)
    matchings = all_matchings(graph)
    rounds = np.zeros((len(matchings), graph.n_pairs))
    np.put_along_axis(rounds, matchings, 1.0, axis=1)
    return rounds


def clip_logs(strengths: Floats) -> Floats:
    """The logarithms of strengths, as close to 0 and 1 as descents go."""
    return np.clip(np.log(np.maximum(strengths, MIN_STRENGTH)), LOWEST, HIGHEST)


def fewest_plays(
    instance: "Instance",
    rounds: Floats,
    costs: Floats,
    links: Iterable[tuple[int, int]],
    fixed: Sequence[tuple[int, ...]] = (),
    *,
    start: Floats | None = None,
    precision: float = PRECISION,
    max_steps: int = MAX_STEPS,
) -> Solution:
    """Solve the program for one instance.

    Parameters
    ----------
    instance : Instance
        The truth, or an estimate of it.
    rounds : array of float, shape (rounds, pairs)
        The rounds that can be played, as from `all_rounds`.
    costs : array of float, shape (rounds,)
        What each costs.
    links : iterable of (int, int)
        Items (a, b) such that b level with a is the edge of another answer.
    fixed : sequence of (int, int), optional
        Pairs of items that pay in every alternative what they pay in the instance.
    start : array of float, shape (pairs,), optional
        Plays that are nearly in the right proportions, at the cost of 1 a round: they save steps.
    precision : float, optional
        By which share the value may lie below the cost of the plays.
    max_steps : int, optional
        After this number of steps the best plays so far are the solution, at whatever precision.

    Returns
    -------
    Solution
    """
    n_pairs = rounds.shape[1]
    at_one = {item for pair in fixed if instance.logs[list(pair)].min() >= HIGHEST for item in pair}  # none can pass
    descents = [Descent(instance, (a, b), fixed) for a, b in links if a not in at_one]
    if not descents:
        return Solution(0.0, 0.0, np.zeros(n_pairs))
    value, above, best = 0.0, inf, np.ones(n_pairs)
    cuts = [descent.worst(best if start is None else start) for descent in descents]
    if start is not None:
        least = min(float(start @ kl) for kl in cuts)
        if least > 0:
            above, best = float(start.sum() / rounds[0].sum() / least), start / least
    for _ in range(max_steps):
        eta = solve_program(costs, np.array(cuts) @ rounds.T)
        value, plays = float(costs @ eta), eta @ rounds
        for tried, cost in ((plays, value), ((plays + best) / 2, (value + above) / 2)):
            worst = [descent.worst(tried) for descent in descents]
            information = np.array([tried @ kl for kl in worst])
            least = float(information.min())
            if least > 0 and cost / least < above:
                above, best = cost / least, tried / least
            cuts += [kl for kl, amount in zip(worst, information, strict=True) if amount < 1]
        if value >= (1 - precision) * above:
            break
    best.setflags(write=False)
    return Solution(value, above, best)


def solve_program(cost: Floats, at_least: Floats, equal: Floats | None = None) -> Floats:
    """min cost·x, x ≥ 0, at_least x ≥ 1, equal x = 0; infinite if a row is all 0."""
    from scipy.optimize import linprog  # noqa: PLC0415  # it takes longer to import than all policies

    if not at_least.size:
        return np.zeros(len(cost))
    hardest = float(at_least.max(axis=1).min())
    if hardest == 0:  # an alternative with the very same rewards
        return np.full(len(cost), inf)
    for tolerance in (1e-10, 1e-7):  # HiGHS does not always reach the first
        solution = linprog(
            cost,
            A_ub=-np.minimum(at_least / hardest, 1e9),  # the unit of x is the hardest alternative's
            b_ub=-np.ones(len(at_least)),
            A_eq=equal,
            b_eq=None if equal is None else np.zeros(len(equal)),
            method="highs",
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if solution.status == 0:
            return np.asarray(solution.x / hardest)
    raise MatchbanditError(f"a linear program was not solved ({solution.message}).")


@compiled
def information_at(
    noise: Noise, means: Floats, entropies: Floats, plays: Floats, by_pair: Floats, constant: Floats, z: Floats
) -> float:
    """Σ_e n_e kl(mean, exp s_e) at s = constant + by_pair z."""
    total = 0.0
    for e in range(len(means)):
        if plays[e] > 0.0:
            s = constant[e]
            for k in range(len(z)):
                s += by_pair[e, k] * z[k]
            if noise.trials == 0:
                off = exp(s) - means[e]
                total += plays[e] * (off * off) / (2.0 * noise.sd * noise.sd)
            else:
                rest = (1.0 - means[e]) * log(-expm1(s)) if means[e] < 1.0 else 0.0
                total -= noise.trials * plays[e] * (entropies[e] + means[e] * s + rest)
    return total


@compiled
def derivatives(
    noise: Noise, means: Floats, plays: Floats, by_pair: Floats, constant: Floats, z: Floats, slope: Floats,
    curve: Floats,
) -> None:  # fmt: skip
    """Write the slope of the information in z, and its curvature; of Gaussian rewards one that is not negative."""
    slope[:], curve[:] = 0.0, 0.0
    for e in range(len(means)):
        if plays[e] > 0.0:
            s, p = constant[e], means[e]
            for k in range(len(z)):
                s += by_pair[e, k] * z[k]
            q = exp(s)
            if noise.trials == 0:
                scale = plays[e] / (noise.sd * noise.sd)
                first, second = (q - p) * q, q * max(q, 2.0 * q - p)
            else:
                rest = -expm1(s)
                scale = plays[e] * noise.trials
                first, second = (q - p) / rest, q * (1.0 - p) / (rest * rest)
            for k in range(len(z)):
                if by_pair[e, k] != 0.0:
                    slope[k] += scale * first * by_pair[e, k]
                    for m in range(len(z)):
                        curve[k, m] += scale * second * by_pair[e, k] * by_pair[e, m]


@compiled
def newton_step(slope: Floats, curve: Floats, is_free: NDArray[np.bool_]) -> Floats:
    """−curve⁻¹ slope among the free numbers, 0 elsewhere; a little is added to the diagonal."""
    free, step, largest = np.flatnonzero(is_free), np.zeros(len(slope)), 0.0
    for k in range(len(slope)):
        largest = max(largest, curve[k, k])
    L, x = np.empty((len(free), len(free))), np.empty(len(free))
    for k in range(len(free)):
        x[k] = -slope[free[k]]
        for m in range(len(free)):
            L[k, m] = curve[free[k], free[m]]
        L[k, k] += 1e-12 * (1.0 + largest)
    factorise(L)
    solve_dense(L, x)
    for k in range(len(free)):
        step[free[k]] = x[k]
    return step


@compiled
def descend(
    noise: Noise, means: Floats, entropies: Floats, plays: Floats, by_pair: Floats, constant: Floats, low: Floats,
    high: Floats, z: Floats,
) -> None:  # fmt: skip
    """Move z, within its bounds, to where the plays have the least information: Newton's method, projected."""
    size = len(z)
    slope, curve, tried = np.empty(size), np.empty((size, size)), np.empty(size)
    is_free = np.empty(size, dtype=np.bool_)
    information = information_at(noise, means, entropies, plays, by_pair, constant, z)
    for _ in range(MAX_STEPS):
        derivatives(noise, means, plays, by_pair, constant, z, slope, curve)
        for k in range(size):
            is_free[k] = not ((z[k] >= high[k] and slope[k] < 0.0) or (z[k] <= low[k] and slope[k] > 0.0))
        step = newton_step(slope, curve, is_free)
        gain, there = 0.0, information
        for k in range(size):
            gain -= slope[k] * step[k]
        if gain <= 1e-10 * information + 1e-300:
            return
        for _ in range(60):
            expected = 0.0
            for k in range(size):
                tried[k] = min(max(z[k] + step[k], low[k]), high[k])
                expected += slope[k] * (tried[k] - z[k])
            there = information_at(noise, means, entropies, plays, by_pair, constant, tried)
            if there <= information + 1e-4 * expected:
                break
            step /= 2.0
        if there >= information:
            return
        z[:], information = tried, there


class Instance:
    """Means and log strengths, and the divergence of each pair at other log means.

    The means are those of the log strengths, or, to maximise a likelihood, averages of rewards.
    """

    def __init__(self, graph: Graph, rewards: RewardDistribution, logs: Floats, means: Floats) -> None:
        """Means by edge; log strengths by item, rows first."""
        self.logs, self.means = logs, means
        self.ends = graph.items_of(graph.pairs)
        self.noise = rewards.noise
        self.entropies = bernoulli_entropy(means) if self.noise.trials else np.zeros(len(means))

    @property
    def starts(self) -> tuple[float, ...]:
        """Where to look for the level of two items, between the lower (0) and the higher (1)."""
        return (0.5,) if self.noise.trials else (0.5, 0.0, 1.0)

    def divergence(self, s: Floats) -> Floats:
        """kl(mean, exp s) of each pair."""
        if not self.noise.trials:
            return np.asarray((self.means - np.exp(s)) ** 2 / (2 * self.noise.sd**2))
        return self.noise.trials * bernoulli_kl_at_logs(self.means, s)


class Descent:
    """The nearest instance in which the items of a link are level, and the fixed pairs pay as they do.

    Each item is offset ± z of one free number z: x_b is x_a, and the partner of a fixed item is the constant minus it.
    Strengths up to 1 are bounds on z. The descent is Newton's, projected onto them. Without a link nothing is level.
    """

    def __init__(
        self, instance: Instance, link: tuple[int, int] | None = None, fixed: Sequence[tuple[int, ...]] = ()
    ) -> None:
        """Descents begin at the log strengths of the instance; those of a link, between its two."""
        self.instance = instance
        logs = instance.logs
        place, sign, offset = np.arange(len(logs)), np.ones(len(logs)), np.zeros(len(logs))
        a, b = link or (0, 0)
        place[b] = a
        for i, j in fixed:
            free_item, other = (j, i) if j in (a, b) else (i, j)
            place[other], sign[other], offset[other] = place[free_item], -1.0, logs[i] + logs[j]
        free, place = np.unique(place, return_inverse=True)
        self.by_item, self.offset = np.zeros((len(logs), len(free))), offset
        self.by_item[np.arange(len(logs)), place] = sign
        i, j = instance.ends.T
        self.by_pair, self.constant = self.by_item[i] + self.by_item[j], offset[i] + offset[j]
        self.low, self.high = np.full(len(free), LOWEST), np.full(len(free), HIGHEST)
        np.maximum.at(self.low, place[sign < 0], offset[sign < 0] - HIGHEST)
        self.high = np.maximum(self.low, self.high)
        self.starts = [logs[free].copy() for _ in instance.starts]
        for start, share in zip(self.starts, instance.starts, strict=True):
            start[place[a]] = share * logs[a] + (1 - share) * logs[b]

    def worst(self, plays: Floats) -> Floats:
        """The divergences of the instance of which these plays have the least information."""
        return np.minimum(self._divergence(self._nearest(plays)), MAX_DIVERGENCE)

    def nearest(self, plays: Floats) -> tuple[Floats, float]:
        """The log strengths of that instance, and the information on it."""
        z = self._nearest(plays)
        return self.offset + self.by_item @ z, float(plays @ self._divergence(z))

    def _nearest(self, plays: Floats) -> Floats:
        noise, means, entropies = self.instance.noise, self.instance.means, self.instance.entropies
        ends = [np.clip(z, self.low, self.high) for z in self.starts]
        for z in ends:
            descend(noise, means, entropies, plays, self.by_pair, self.constant, self.low, self.high, z)
        return ends[0] if len(ends) == 1 else min(ends, key=lambda z: float(plays @ self._divergence(z)))

    def _divergence(self, z: Floats) -> Floats:
        return self.instance.divergence(self.constant + self.by_pair @ z)

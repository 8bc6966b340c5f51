"""Asymptotic lower bounds for policies that know the product model: Graves–Lai constants and characteristic times.

Both are semi-infinite linear programs: min Σ_a c_a η_a over the plays η of rounds a such that Σ_a η_a kl_a(λ) ≥ 1 for
*every* instance λ of the model with another answer. Regret: c_a is the loss of a, and λ pays as the truth on the
optimum itself, where samples are free (Graves & Lai 1997; for semi-bandits Combes et al. 2015): R(T) ≥ C log T as
T → ∞, for any policy whose regret is small on every instance. Identification: c_a = 1 (Garivier & Kaufmann 2016):
E[τ] ≥ T* d(δ, 1 − δ) for every δ, for any policy that errs with probability at most δ on every instance.

In logarithms x = log strength a pair's mean is exp(x_i + x_j), an alternative says that an item b comes level with an
item a that it should not, x_b = x_a, and what the optimum pays fixes x_i + x_j for its pairs. The divergence of
Bernoulli rewards is convex in x_i + x_j, so that the worst λ for given η and (a, b) is found by one descent. That of
Gaussian rewards is convex only above half the mean, and is descended from three starts.

The program is solved by cuts: HiGHS on the λ found so far, then the worst λ for its η. Every step is a lower bound.
The descents are Newton's, by hand: plays differ by powers of ten, and descents without the second derivative, such as
those of scipy with bounds, take a hundred times as long.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Selection
from matchbandit.kl import bernoulli_kl_at_logs
from matchbandit.problems import Bipartite, Problem
from matchbandit.rewards import Floats
from matchbandit.solvers import MAX_MATCHINGS, all_matchings, count_matchings
from matchbandit.theory.programs import MAX_DIVERGENCE, solve_program
from matchbandit.theory.quantities import check_products, trials_of

MIN_STRENGTH = 1e-9
"""Strengths below this are taken as this, and strengths above 1 − 10^−9 as that."""
PRECISION = 1e-3
"""The value lies at most this share below the true one, as far as descents reach the worst λ."""
MAX_ITEMS, MAX_STEPS = 16, 200
_LOWEST, _HIGHEST = -60.0, -1e-9


@dataclass(frozen=True)
class Solution:
    """The value of the program, and the plays of each pair that attain it."""

    value: float
    """A lower bound on the least cost, within `PRECISION`."""
    above: float
    """An upper bound: the cost of `plays`, which distinguish every alternative."""
    plays: Floats
    """By edge."""


@lru_cache(maxsize=256)
def graves_lai(problem: Problem, selection: Selection) -> Solution:
    """The Graves–Lai constant C of the product model, R(T) ≥ C log T as T → ∞, for every consistent policy.

    With a single row it is Lai and Robbins' Σ Δ_j / kl_j, as in the example.

    Parameters
    ----------
    problem : Bipartite or Monopartite
        With one best answer; up to 16 items playing pairs, or 1000 matchings.
    selection : {"pair", "matching"}
        What a round plays.

    Returns
    -------
    Solution
        `value`, to 0.1 %, and the `plays` of each pair per unit of log T.

    Examples
    --------
    >>> from matchbandit.problems import Bipartite
    >>> from matchbandit.rewards import Gaussian
    >>> slots = Bipartite([1.0], [0.5, 0.3], rewards=Gaussian(sd=1.0))
    >>> round(graves_lai(slots, "pair").value, 3)
    10.0
    """
    arms = _arms(problem, selection)
    best = problem.graph.edges(problem.best(selection))
    others = arms[:, best].sum(axis=1) < len(best)
    losses = problem.optimum(selection) - arms[others] @ problem.means
    fixed = [tuple(pair) for pair in problem.graph.ends(best).tolist()]
    return _solution(problem, arms[others], np.maximum(losses, 0.0), selection, fixed)


@lru_cache(maxsize=256)
def characteristic_time(problem: Problem, *, plays: Selection, seeks: Selection) -> Solution:
    """The characteristic time T* of the product model: E[τ] ≥ T* d(δ, 1 − δ) for every δ-correct policy.

    Parameters
    ----------
    problem : Bipartite or Monopartite
        With one best answer; up to 16 items playing pairs, or 1000 matchings.
    plays, seeks : {"pair", "matching"}
        What a round plays, and what is sought.

    Returns
    -------
    Solution
        `value`, to 0.1 %, and the `plays` of each pair per unit of d(δ, 1 − δ).

    Examples
    --------
    >>> from matchbandit.problems import Bipartite
    >>> from matchbandit.rewards import Gaussian
    >>> slots = Bipartite([1.0], [0.5, 0.3], rewards=Gaussian(sd=1.0))
    >>> round(characteristic_time(slots, plays="pair", seeks="pair").value, 1)  # 8/0.2²
    200.0
    """
    arms = _arms(problem, plays)
    return _solution(problem, arms, np.ones(len(arms)), seeks, [])


def is_computable(problem: Problem, plays: Selection) -> bool:
    """Whether the problem is small enough: up to 16 items, or 1000 matchings."""
    if plays == "pair":
        return problem.graph.n_items <= MAX_ITEMS
    return count_matchings(problem.graph) <= MAX_MATCHINGS


def has_many_answers(problem: Problem, seeks: Selection) -> bool:
    """Whether several answers are worth the optimum: by equal items, or as strength 0 pays nothing with any partner."""
    if problem.tie(seeks) is not None:
        return True
    if not isinstance(problem, Bipartite):
        return False
    if seeks == "pair":
        return problem.graph.n_pairs > 1 and float(problem.means.max()) == 0
    fewer, more = sorted((problem.u, problem.v), key=len)
    return len(fewer) < len(more) and float(fewer.min()) == 0


def _arms(problem: Problem, plays: Selection) -> Floats:
    """The rounds that can be played, a row each, with 1 for the pairs of the round."""
    check_products("asymptotic lower bounds", problem)
    if plays not in ("pair", "matching"):
        raise unknown("selection", plays, ["pair", "matching"])
    if not is_computable(problem, plays):
        raise MatchbanditError(
            f"this bound is computed for up to {MAX_ITEMS} items playing pairs, or {MAX_MATCHINGS} matchings; "
            f"the problem has {problem.graph.n_items} items."
        )
    n_pairs = problem.graph.n_pairs
    if plays == "pair":
        return np.eye(n_pairs)
    matchings = all_matchings(problem.graph)
    arms = np.zeros((len(matchings), n_pairs))
    np.put_along_axis(arms, matchings, 1.0, axis=1)
    return arms


def level_items(problem: Problem, seeks: Selection) -> Iterator[tuple[int, int]]:
    """Every (a, b) such that b level with a is the edge of another answer, a the stronger.

    The best pair of rows and columns: the best of a side and another. The best two players: either, and another. A
    matching of players: any two of different pairs; of rows and columns: any two of a side of which one is matched.
    """
    if isinstance(problem, Bipartite):
        last = 1 if seeks == "pair" else problem.graph.matching_size
        for start, strengths in ((0, problem.u), (len(problem.u), problem.v)):
            order = start + np.argsort(-strengths, kind="stable")
            for place in range(min(last, len(order))):
                yield from ((int(order[place]), int(b)) for b in order[place + 1 :])
        return
    order = np.argsort(-problem.u, kind="stable")  # type: ignore[attr-defined]
    for place in range(2 if seeks == "pair" else len(order)):
        for other in range(place + 1, len(order)):
            if other // 2 > place // 2:
                yield int(order[place]), int(order[other])


def _solution(
    problem: Problem, arms: Floats, costs: Floats, seeks: Selection, fixed: list[tuple[int, ...]]
) -> Solution:
    if has_many_answers(problem, seeks):
        raise MatchbanditError(
            f"there is more than one best {seeks}, and no such bound. Change the strength of one of the equal items."
        )
    if seeks == "matching" and problem.graph.has_bye:
        raise MatchbanditError(f"a matching of all needs an even number of players; got {problem.graph.n_items}.")
    instance = _Instance(problem)
    at_one = {item for pair in fixed if instance.logs[list(pair)].min() >= _HIGHEST for item in pair}  # none can pass
    descents = [_Descent(instance, a, b, fixed) for a, b in level_items(problem, seeks) if a not in at_one]
    n_pairs = problem.graph.n_pairs
    if not descents:
        return Solution(0.0, 0.0, np.zeros(n_pairs))
    cuts = [descent.worst(np.ones(n_pairs)) for descent in descents]
    value, above, best = 0.0, np.inf, np.ones(n_pairs)
    for _ in range(MAX_STEPS):
        eta = solve_program(costs, np.array(cuts) @ arms.T)
        value, plays = float(costs @ eta), eta @ arms
        for tried, cost in ((plays, value), ((plays + best) / 2, (value + above) / 2)):
            worst = [descent.worst(tried) for descent in descents]
            information = np.array([tried @ kl for kl in worst])
            least = float(information.min())
            if least > 0 and cost / least < above:
                above, best = cost / least, tried / least
            cuts += [kl for kl, amount in zip(worst, information, strict=True) if amount < 1]
        if value >= (1 - PRECISION) * above:
            best.setflags(write=False)
            return Solution(value, above, best)
    raise MatchbanditError(
        f"the program was not solved in {MAX_STEPS} steps: its value lies between {value:g} and {above:g}."
    )


class _Instance:
    """Means and log strengths, and the divergence of each pair at other log means, with slope and curvature."""

    def __init__(self, problem: Problem) -> None:
        strengths = (
            np.concatenate([problem.u, problem.v]) if isinstance(problem, Bipartite) else problem.u  # type: ignore[attr-defined]
        )
        self.logs = np.clip(np.log(np.maximum(strengths, MIN_STRENGTH)), _LOWEST, _HIGHEST)
        self.ends = problem.graph.items_of(problem.graph.pairs)
        self.means = problem.means
        self.trials = trials_of(problem.rewards)
        self.variance = problem.rewards.sigma**2

    @property
    def starts(self) -> tuple[float, ...]:
        """Where to look for the level of two items, between the lower (0) and the higher (1)."""
        return (0.5,) if self.trials else (0.5, 0.0, 1.0)

    def divergence(self, s: Floats) -> Floats:
        """kl(mean, exp s) of each pair."""
        if not self.trials:
            return np.asarray((self.means - np.exp(s)) ** 2 / (2 * self.variance))
        return self.trials * bernoulli_kl_at_logs(self.means, s)

    def slopes(self, s: Floats) -> tuple[Floats, Floats]:
        """The first derivative of the divergence in s, and the second; of Gaussian rewards one that is not negative."""
        p, q = self.means, np.exp(s)
        if not self.trials:
            return (q - p) * q / self.variance, q * np.maximum(q, 2 * q - p) / self.variance
        return self.trials * (q - p) / (1 - q), self.trials * q * (1 - p) / (1 - q) ** 2


class _Descent:
    """The worst instance in which item b is level with item a, and the fixed pairs pay as they do.

    Each item is offset ± z of one free number z: x_b is x_a, and the partner of a fixed item is the constant minus it.
    Strengths up to 1 are bounds on z. The descent is Newton's, projected onto them.
    """

    def __init__(self, instance: _Instance, a: int, b: int, fixed: list[tuple[int, ...]]) -> None:
        self.instance = instance
        logs = instance.logs
        place, sign, offset = np.arange(len(logs)), np.ones(len(logs)), np.zeros(len(logs))
        place[b] = a
        for i, j in fixed:
            free_item, other = (j, i) if j in (a, b) else (i, j)
            place[other], sign[other], offset[other] = place[free_item], -1.0, logs[i] + logs[j]
        free, place = np.unique(place, return_inverse=True)
        by_item = np.zeros((len(logs), len(free)))
        by_item[np.arange(len(logs)), place] = sign
        i, j = instance.ends.T
        self.by_pair, self.constant = by_item[i] + by_item[j], offset[i] + offset[j]
        self.low, self.high = np.full(len(free), _LOWEST), np.full(len(free), _HIGHEST)
        np.maximum.at(self.low, place[sign < 0], offset[sign < 0] - _HIGHEST)
        self.high = np.maximum(self.low, self.high)
        self.starts = [logs[free].copy() for _ in instance.starts]
        for start, share in zip(self.starts, instance.starts, strict=True):
            start[place[a]] = share * logs[a] + (1 - share) * logs[b]

    def worst(self, plays: Floats) -> Floats:
        """The divergences of the instance of which these plays have the least information."""
        ends = [self._divergence(self._descend(plays, np.clip(z, self.low, self.high))) for z in self.starts]
        return np.minimum(min(ends, key=lambda kl: float(plays @ kl)), MAX_DIVERGENCE)

    def _divergence(self, z: Floats) -> Floats:
        return self.instance.divergence(self.constant + self.by_pair @ z)

    def _descend(self, plays: Floats, z: Floats) -> Floats:
        information = plays @ self._divergence(z)
        for _ in range(MAX_STEPS):
            first, second = self.instance.slopes(self.constant + self.by_pair @ z)
            slope = self.by_pair.T @ (plays * first)
            free = ~(((z >= self.high) & (slope < 0)) | ((z <= self.low) & (slope > 0)))
            curve = (self.by_pair.T * (plays * second)) @ self.by_pair
            curve.flat[:: len(z) + 1] += 1e-12 * (1 + curve.diagonal().max())
            step = np.zeros(len(z))
            step[free] = -np.linalg.solve(curve if free.all() else curve[free][:, free], slope[free])
            if -slope @ step <= 1e-10 * information + 1e-300:
                break
            for _ in range(60):
                tried = np.minimum(np.maximum(z + step, self.low), self.high)  # as np.clip, in a fifth of its time
                there = plays @ self._divergence(tried)
                if there <= information + 1e-4 * slope @ (tried - z):
                    break
                step /= 2
            if there >= information:
                break
            z, information = tried, there
        return z

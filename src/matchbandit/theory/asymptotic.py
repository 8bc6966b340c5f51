"""Asymptotic lower bounds for policies that know the product model: Graves–Lai constants and characteristic times.

Both are semi-infinite linear programs: min Σ_a c_a η_a over the plays η of rounds a such that Σ_a η_a kl_a(λ) ≥ 1 for
*every* instance λ of the model with another answer. Regret: c_a is the loss of a, and λ pays as the truth on the
optimum itself, where samples are free (Graves & Lai 1997; for semi-bandits Combes et al. 2015): R(T) ≥ C log T as
T → ∞, for any policy whose regret is small on every instance. Identification: c_a = 1 (Garivier & Kaufmann 2016):
E[τ] ≥ T* d(δ, 1 − δ) for every δ, for any policy that errs with probability at most δ on every instance.

`solvers.characteristic` solves them.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.graphs import Selection
from matchbandit.problems import Bipartite, Problem
from matchbandit.rewards import Floats
from matchbandit.solvers import MAX_MATCHINGS
from matchbandit.solvers.characteristic import (
    MAX_ITEMS,
    MAX_STEPS,
    PRECISION,
    Instance,
    Solution,
    all_rounds,
    clip_logs,
    fewest_plays,
    is_computable,
)
from matchbandit.theory.quantities import check_products


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
    if not is_computable(problem.graph, plays):
        raise MatchbanditError(
            f"this bound is computed for up to {MAX_ITEMS} items playing pairs, or {MAX_MATCHINGS} matchings; "
            f"the problem has {problem.graph.n_items} items."
        )
    return all_rounds(problem.graph, plays)


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
    u: Floats = problem.u  # type: ignore[attr-defined]
    order = np.argsort(-u, kind="stable")
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
    strengths = (
        np.concatenate([problem.u, problem.v]) if isinstance(problem, Bipartite) else problem.u  # type: ignore[attr-defined]
    )
    instance = Instance(problem.graph, problem.rewards, clip_logs(strengths), problem.means)
    solution = fewest_plays(instance, arms, costs, level_items(problem, seeks), fixed)
    if solution.value < (1 - PRECISION) * solution.above:
        raise MatchbanditError(
            f"the program was not solved in {MAX_STEPS} steps: its value lies between {solution.value:g} and "
            f"{solution.above:g}."
        )
    return solution

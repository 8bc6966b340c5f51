"""The linear programs behind the lower bounds, solved by HiGHS.

An alternative is another instance with another answer. To be wrong with probability at most δ on both, a policy must
collect Σ_e x_e kl_e ≥ d(δ, 1 − δ) on its way to an answer (Kaufmann, Cappé & Garivier 2016, Lemma 1), x_e the expected
plays of pair e and kl_e the divergence of its rewards from the alternative's. The least number of rounds that can do so
for all alternatives is a linear program. Values here are for d(δ, 1 − δ) = 1; the bounds multiply.
"""

from collections.abc import Callable, Sequence
from math import log
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError, warn_user
from matchbandit.graphs import Graph
from matchbandit.problems import Bipartite, Monopartite, Problem
from matchbandit.rewards import Floats
from matchbandit.solvers.characteristic import MAX_DIVERGENCE, solve_program
from matchbandit.theory.players import border_partner, sorted_players


def delta_divergence(delta: float) -> float:
    """d(δ, 1 − δ) = (1 − 2δ) log((1 − δ)/δ), at least log(1/δ) − 1; 0 from δ = 1/2 on.

    >>> round(delta_divergence(0.05), 6)
    2.649995
    """
    return (1 - 2 * delta) * log((1 - delta) / delta) if delta < 0.5 else 0.0


def divergences(problem: Problem, alternatives: Sequence[Problem]) -> Floats:
    """kl of each pair's rewards from those in each alternative, shape (alternatives, pairs)."""
    kl = np.zeros((len(alternatives), problem.graph.n_pairs))
    for row, other in zip(kl, alternatives, strict=True):
        for edge in np.flatnonzero(other.means != problem.means):
            row[edge] = problem.rewards.kl(float(problem.means[edge]), float(other.means[edge]))
    kl = kl[kl.max(axis=1, initial=0.0) > 0]  # an alternative has other rewards
    return np.asarray(np.minimum(kl, MAX_DIVERGENCE))


def least_plays(kl: Floats) -> float:
    """min Σ x_e with kl x ≥ 1: the plays of single pairs that distinguish all alternatives."""
    return _or_zero(lambda: float(solve_program(np.ones(kl.shape[1]), kl).sum()))


def least_matchings(graph: Graph, kl: Floats) -> float:
    """LP_m: min c with kl x ≥ 1, in which every player is in c of the pairs played.

    Two corrections to the paper as printed ("matching-program" in `CORRECTIONS`). Its objective c/2 comes from 1/4N for
    the 1/2N of a sum that counts every pair of a matching twice: c, the pairs of each player, is the number of
    matchings. And the Gaussian divergence lacks its 1/2. Plays that meet the rows are not all mixtures of matchings
    (odd sets), so the value may lie below the least number of matchings, never above.
    """
    n, pairs = graph.n_items, graph.pairs
    rows = np.zeros((n, graph.n_pairs + 1))
    rows[:, -1] = -1
    for side in (0, 1):
        rows[pairs[:, side], np.arange(graph.n_pairs)] += 1
    cost = np.append(np.zeros(graph.n_pairs), 1.0)
    return _or_zero(lambda: float(solve_program(cost, np.pad(kl, ((0, 0), (0, 1))), equal=rows)[-1]))


def _or_zero(program: Callable[[], float]) -> float:
    """The value of a program; 0, which is a lower bound of everything, with a warning if it cannot be solved."""
    try:
        return program()
    except MatchbanditError as error:
        warn_user(f"{error} Its lower bound is left at 0.")
        return 0.0


def pair_alternatives(problem: Bipartite) -> list[Problem]:
    """LP_α: each row below the best raised to the best (α → 0), and each column.

    The best row and the best column have no constraint ("no-constraint" in `CORRECTIONS`).
    """
    u, v = problem.u, problem.v
    rows = [_with_strengths(problem, u=_replace(u, {i: u.max()})) for i in np.flatnonzero(u < u.max())]
    columns = [_with_strengths(problem, v=_replace(v, {j: v.max()})) for j in np.flatnonzero(v < v.max())]
    return [*rows, *columns]


def player_alternatives(problem: Monopartite) -> list[Problem]:
    """LP_α for the best two players: each below the second raised to the second, and the second lowered to the third.

    Corrected: "players-alternatives" in `CORRECTIONS`. Theorem C.1 prints alternatives in which i ≥ 2 rises above the
    best by Δ_(1,i), which for i = 2 leaves the best pair as it is; and i ≥ 3 need only pass the second.
    """
    u = problem.u
    order = np.argsort(-u, kind="stable")
    second = order[1]
    raised = [_with_strengths(problem, u=_replace(u, {i: u[second]})) for i in order[2:] if u[i] < u[second]]
    lowered = [
        _with_strengths(problem, u=_replace(u, {second: u[third]})) for third in order[2:3] if u[third] < u[second]
    ]
    return [*lowered, *raised]


def switch_alternatives(problem: Monopartite) -> list[Problem]:
    """LP_switch: the best player changes places with each one below the second."""
    u = problem.u
    order = np.argsort(-u, kind="stable")
    best, second = order[0], order[1]
    return [_with_strengths(problem, u=_replace(u, {best: u[i], i: u[best]})) for i in order[2:] if u[i] < u[second]]


def order_alternatives(problem: Monopartite, *, first: int) -> list[Problem]:
    """Each player from the `first` in order (from 1) moved across its border, u_i ± Δ_i with Δ_i > 0."""
    u = problem.u
    order = np.argsort(-u, kind="stable")
    to = border_partner(len(u))
    return [
        _with_strengths(problem, u=_replace(u, {order[k]: u[order[to[k]]]}))
        for k in range(first - 1, len(u))
        if u[order[k]] != u[order[to[k]]]
    ]


def swap_alternative(problem: Monopartite) -> list[Problem]:
    """The two players at border s exchanged: λ_(2s) = u_(2s+1), λ_(2s+1) = u_(2s).

    Corrected: "exchange" in `CORRECTIONS`.
    """
    u = problem.u
    order = np.argsort(-u, kind="stable")
    s, _ = sorted_players(problem).hardest_borders
    if s is None:
        return []
    a, b = order[2 * s - 1], order[2 * s]
    return [_with_strengths(problem, u=_replace(u, {a: u[b], b: u[a]}))] if u[a] > u[b] else []


def _replace(strengths: Floats, changes: dict[Any, float]) -> Floats:
    copy = strengths.copy()
    for item, strength in changes.items():
        copy[item] = strength
    return copy


def _with_strengths(problem: Problem, *, u: Floats | None = None, v: Floats | None = None) -> Problem:
    if isinstance(problem, Bipartite):
        return Bipartite(problem.u if u is None else u, problem.v if v is None else v, rewards=problem.rewards)
    assert isinstance(problem, Monopartite)
    assert u is not None
    return Monopartite(u, rewards=problem.rewards)

"""The quantities that the paper's bounds are made of.

Formulas count items from 1 in falling order of strength: u_1 is the best, the k-th pair of players is
(u_(2k−1), u_(2k)), and border k lies between the k-th pair and the next. Functions take strengths in any order.
"""

from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import monopartite
from matchbandit.problems import Bipartite, Monopartite, Problem
from matchbandit.rewards import Binomial, Floats, Gaussian, RewardDistribution
from matchbandit.solvers import MAX_MATCHINGS, all_matchings, count_matchings
from matchbandit.theory.bound import plain


@dataclass(frozen=True)
class Quantity:
    """A number, or several, that the paper defines, on one instance."""

    name: str
    symbol: str
    value: Any
    source: str

    def describe(self) -> dict[str, Any]:
        """The quantity as plain data; infinity is None."""
        return dict(plain(asdict(self)))


MOST_ITEMS = 1000
"""Beyond so many items a side the sums over pairs take minutes."""


def checked_products(what: str, problem: object) -> Bipartite | Monopartite:
    """The problem, if its means are products of strengths."""
    if isinstance(problem, Bipartite | Monopartite):
        if max(problem.graph.shape) > MOST_ITEMS:
            raise MatchbanditError(
                f"{what} look at every pair, of at most {MOST_ITEMS} items a side; got {problem.graph}. Take fewer."
            )
        return problem
    raise MatchbanditError(
        f"{what} are for means that are products of strengths, Bipartite or Monopartite problems; "
        f"got {type(problem).__name__}."
    )


def trials_of(rewards: RewardDistribution) -> int:
    """How many Bernoulli trials a reward is the average of; 0 for Gaussian rewards."""
    return rewards.trials if isinstance(rewards, Binomial) else 0 if isinstance(rewards, Gaussian) else 1


def sorted_descending(strengths: Floats) -> Floats:
    """The strengths from the best down."""
    return -np.sort(-np.asarray(strengths, dtype=np.float64))


def _in_pairs(u: Floats) -> Floats:
    """The strengths of an even number of players from the best down, two by two."""
    if len(u) % 2 or not len(u):
        raise MatchbanditError(f"pairs of players need an even number of them; got {len(u)}.")
    return sorted_descending(u).reshape(-1, 2)


def slot_complexity(u: Floats, v: Floats, *, power: int) -> float:
    """A(u, v) = Σ 1/(v_1 Δ_i^U)^p + Σ 1/(u_1 Δ_j^V)^p: p = 1 for regret (Theorem 3.1), p = 2 for identification (3.2).

    >>> round(slot_complexity([0.9, 0.4], [0.8, 0.3, 0.3], power=1), 6)
    6.944444
    """
    u, v = sorted_descending(u), sorted_descending(v)
    return _inverse(float(v[0]) * (u[0] - u), power) + _inverse(float(u[0]) * (v[0] - v), power)


def player_complexity(u: Floats, *, power: int) -> float:
    """A(u) = Σ 1/(u_1 Δ_(2,i))^p over the players i ≥ 3 below the second: p = 1 for regret, 2 for identification."""
    u = sorted_descending(u)
    return _inverse(u[0] * (u[1] - u[2:]), power)


def order_complexity(u: Floats) -> float:
    """A(u) = Σ 1/(u_1 Δ_i)² over all players with Δ_i > 0, with the gaps of `partner_gaps` (Theorem 3.5)."""
    u = sorted_descending(u)
    return _inverse(u[0] * partner_gaps(u), 2)


def _inverse(gaps: Floats, power: int) -> float:
    """Σ 1/gap^power over the positive gaps."""
    return float((1 / gaps[gaps > 0] ** power).sum())


def gaps_to_second(u: Floats) -> Floats:
    """Δ_(2,i) = u_2 − u_i for the players i ≥ 3."""
    u = sorted_descending(u)
    return np.asarray(u[1] - u[2:])


def border_partner(n_players: int) -> NDArray[np.int64]:
    """For each player, in order and from 0, the player across the border that Δ_i is measured at.

    For the second of a pair the first of the next pair, for the first of a pair the second of the pair before; at the
    ends player 1 is measured from player 3, and player 2N from player 2N − 2.

    >>> across(6).tolist()
    [2, 2, 1, 4, 3, 3]
    """
    if n_players % 2 or n_players < 4:
        raise MatchbanditError(f"borders between pairs need 4, 6, … players; got {n_players}.")
    places = np.arange(n_players)
    to = places + np.where(places % 2, 1, -1)
    to[0], to[-1] = 2, n_players - 3
    return to


def partner_gaps(u: Floats) -> Floats:
    """Δ_i of Pair-Select (Theorem 3.5): Δ_(2k) = u_(2k) − u_(2k+1), Δ_(2k−1) = u_(2k−2) − u_(2k−1).

    At the ends Δ_1 = u_1 − u_3 and Δ_(2N) = u_(2N−2) − u_(2N): the printed convention u_(2N+1) = u_(2N−2) would make
    Δ_(2N) negative, as one sees on any instance. (The main text's Δ_(2,i) is Δ_(2i).)

    >>> partner_gaps([0.9, 0.8, 0.5, 0.3]).round(3).tolist()
    [0.4, 0.3, 0.3, 0.5]
    """
    u = sorted_descending(u)
    return np.abs(u[border_partner(len(u))] - u)


def cluster_means(u: Floats) -> Floats:
    """μ̃_(−{k,k+1}) = (1/(2K − 1)) Σ of a cluster's strengths but the k-th and the next, k = 1 … 2K − 1 (Lemma E.2).

    In a round-robin the averages of the two differ by this times their gap.
    """
    u = sorted_descending(u)
    return np.asarray((u.sum() - u[:-1] - u[1:]) / (len(u) - 1))


def mixing_losses(u: Floats) -> Floats:
    """r_ij for every two pairs i < j: what the two ways of mixing them lose together, as an N × N table (Lemma E.1).

    r_ij = (u_(2i) − u_(2j−1)) (u_(2i−1) − u_(2j)) + (u_(2i−1) − u_(2j−1)) (u_(2i) − u_(2j)).
    """
    better, worse = _in_pairs(u).T
    r = (worse[:, None] - better[None, :]) * (better[:, None] - worse[None, :])
    r += (better[:, None] - better[None, :]) * (worse[:, None] - worse[None, :])
    return np.triu(r, k=1)


def smallest_loss(u: Floats) -> float:
    """Δ_min = min over neighbouring pairs of (u_(2k) − u_(2k+1)) (u_(2k−1) − u_(2k+2)).

    The best wrong matching mixes two neighbouring pairs in the better of the two ways.

    >>> round(smallest_loss([0.9, 0.8, 0.5, 0.3]), 3)
    0.18
    """
    pairs = _in_pairs(u)
    return float(min(((b - c) * (a - d) for (a, b), (c, d) in pairwise(pairs)), default=inf))


def smallest_loss_of_all(u: Floats) -> float:
    """Δ_min as it is defined, by looking at every matching, for up to 10 players."""
    graph = monopartite(len(u))
    if count_matchings(graph) > MAX_MATCHINGS:
        raise MatchbanditError(f"{len(u)} players have too many matchings to look at each. Take smallest_loss.")
    u = sorted_descending(u)
    i, j = graph.pairs.T
    values = np.sort((u[i] * u[j])[all_matchings(graph)].sum(axis=1))
    return float(values[-1] - values[-2]) if len(values) > 1 else inf


def border_gaps(u: Floats) -> Floats:
    """Δ_(2k,2k+1) for each border k = 1 … N − 1."""
    u = sorted_descending(u)
    return np.asarray(u[1:-1:2] - u[2::2])


def others_means(u: Floats) -> Floats:
    """μ_([2N] − {2k, 2k+1}) = (1/2N) Σ of the strengths but those of the two players at border k, for each border."""
    u = sorted_descending(u)
    return np.asarray((u.sum() - u[1:-1:2] - u[2::2]) / len(u))


def weighted_gaps(u: Floats) -> Floats:
    """μ_([2N] − {2k, 2k+1}) Δ_(2k,2k+1) for each border; the least is γ_min (Theorem 4.1)."""
    return others_means(u) * border_gaps(u)


def smallest_weighted_gap(u: Floats) -> float:
    """γ_min; infinite if there is one pair only, and nothing to tell apart."""
    return float(min(weighted_gaps(u), default=inf))


def hardest_borders(u: Floats) -> tuple[int | None, int | None]:
    """s, the border with the smallest gap, and h, that with the smallest weighted gap among the others, from 1.

    Both range over 1 … N − 1: the paper as printed has s ∈ [2, N − 1] in two places, where the proof treats s = 1 too.
    Of gaps equal to twelve digits the first counts. None if there is no such border.
    """
    weighted = weighted_gaps(u).round(12)
    if not len(weighted):
        return None, None
    s = int(np.argmin(border_gaps(u).round(12)))
    weighted[s] = inf
    return s + 1, int(np.argmin(weighted)) + 1 if len(weighted) > 1 else None


def top_mean(u: Floats) -> float:
    """What players at border s are measured against once all others are ranked: (u_1 + u_2)/4, or u_1/4 if s = 1.

    Theorem H.1 has these two; its proof at s ≥ 2 has the mean (u_1 + … + u_4)/4, which at s = 2 counts player 4, one of
    the two at the border. (There B may have six players and a smaller mean, but then every round counts.)
    """
    u = sorted_descending(u)
    return float((u[0] + u[1]) / 4 if hardest_borders(u)[0] != 1 else u[0] / 4)


def alpha(u: Floats) -> float:
    """α = min((top mean · Δ_s / (μ_h Δ_h))², 1) of Matching-Id's second bound, in the appendix's version (Theorem H.1).

    The main text leaves out the square and has 1/2 for 1/4; the proof needs the square, for α bounds the share of the
    samples that were taken before all others were ranked. 0 where there is no second border. (The bound itself takes
    `settled_share`, which has a factor for every border.)
    """
    s, h = hardest_borders(u)
    if s is None or h is None:
        return 0.0
    second = float(weighted_gaps(u)[h - 1])
    return min((top_mean(u) * float(border_gaps(u)[s - 1]) / second) ** 2, 1.0) if second > 0 else 1.0


def comparison_bounds(u: Floats, m: int) -> tuple[float, float]:
    """U_D and U_I of Lemma 4.5 for the border between the players m and m + 1, 3 ≤ m < 2N.

    U_D = (2N − 3) Σ_(2≤i<j) r_ij / (Δ_(m,m+1) (Σ_(i≥3) u_i − u_m − u_(m+1)))²,
    U_I = (2N − 1) Σ_(i<j) r_ij / (Δ_(m,m+1) (Σ u_i − u_m − u_(m+1)))².
    Both leave out 64 log T. The definition of U_I prints 2N − 2: a round-robin of 2N players has 2N − 1 rounds, and the
    next display has 2N − 1.
    """
    u, r = sorted_descending(u), mixing_losses(u)
    if not 3 <= m < len(u):
        raise MatchbanditError(f"m must lie between 3 and {len(u) - 1}, the players that are not ranked; got {m}.")
    gap, both = u[m - 1] - u[m], u[m - 1] + u[m]
    if gap == 0:
        return inf, inf
    together, explored = gap * (u[2:].sum() - both), gap * (u.sum() - both)
    return (
        float((len(u) - 3) * r[1:].sum() / together**2) if together > 0 else inf,
        float((len(u) - 1) * r.sum() / explored**2),
    )


def least_comparison_bounds(u: Floats) -> tuple[float, float]:
    """U_D and U_I, each with the m that makes it least.

    So taken, the ratio is not bounded as Lemma 4.5 says: with u = (1, 1, 1, x, 0, 0) U_D = 6/x and U_I stays near 2.5,
    though u_2/u_1 = u_3/u_2 = 1. The proof takes one m ≥ 4 for both, and that ratio is bounded; at m = 3 it is not
    either: there U_D is infinite.
    """
    found = [comparison_bounds(u, m) for m in range(3, len(u))]
    return min((d for d, _ in found), default=inf), min((i for _, i in found), default=inf)


def quantities(problem: Problem) -> list[Quantity]:
    """Every quantity that the paper defines on this kind of problem; gaps in the order of falling strength."""
    problem = checked_products("the paper's quantities", problem)
    return _of_slots(problem) if isinstance(problem, Bipartite) else _of_players(problem)


def _of_slots(problem: Bipartite) -> list[Quantity]:
    u, v = sorted_descending(problem.u), sorted_descending(problem.v)
    return [
        Quantity("row_gaps", "Δ^U", (u[0] - u).tolist(), "Section 3.1"),
        Quantity("column_gaps", "Δ^V", (v[0] - v).tolist(), "Section 3.1"),
        Quantity("mean_row", "μ_U", float(u.mean()), "Section 5.1"),
        Quantity("mean_column", "μ_V", float(v.mean()), "Section 5.1"),
        Quantity("complexity_regret", "A(u,v)", slot_complexity(u, v, power=1), "Theorem 3.1"),
        Quantity("complexity_identification", "A(u,v)", slot_complexity(u, v, power=2), "Theorem 3.2"),
    ]


def _of_players(problem: Monopartite) -> list[Quantity]:
    u = sorted_descending(problem.u)
    found = [
        Quantity("neighbour_gaps", "Δ_(k,k+1)", (u[:-1] - u[1:]).tolist(), "Section 3.2"),
        Quantity("gaps_to_first", "Δ_(1,i)", (u[0] - u[1:]).tolist(), "Section 3.2"),
        Quantity("gaps_to_second", "Δ_(2,i)", gaps_to_second(u).tolist(), "Theorem 3.3"),
        Quantity("complexity_regret", "A(u)", player_complexity(u, power=1), "Theorem 3.3"),
        Quantity("complexity_identification", "A(u)", player_complexity(u, power=2), "Theorem 3.4"),
    ]
    if len(u) % 2 or len(u) < 4:  # no matching of all, or only one
        return found
    s, h = hardest_borders(u)
    together, explored = least_comparison_bounds(u)
    found += [
        Quantity("partner_gaps", "Δ_i", partner_gaps(u).tolist(), "Theorem 3.5"),
        Quantity("complexity_order", "A(u)", order_complexity(u), "Theorem 3.5"),
        Quantity("border_gaps", "Δ_(2k,2k+1)", border_gaps(u).tolist(), "Section 4.1"),
        Quantity("others_means", "μ_(−2k,2k+1)", others_means(u).tolist(), "Section 4.1"),
        Quantity("cluster_means", "μ̃_(−k,k+1)", cluster_means(u).tolist(), "Lemma E.2"),
        Quantity("smallest_weighted_gap", "γ_min", smallest_weighted_gap(u), "Section 4.1"),
        Quantity("border_s", "s", s, "Theorem H.1"),
        Quantity("border_h", "h", h, "Theorem H.1"),
        Quantity("alpha", "α", alpha(u), "Theorem H.1"),
        Quantity("smallest_loss", "Δ_min", smallest_loss(u), "Section 4.2.1"),
        Quantity("mixing_losses", "r_ij", mixing_losses(u).tolist(), "Lemma E.1"),
        Quantity("bound_together", "U_D", together, "Lemma 4.5"),
        Quantity("bound_explored", "U_I", explored, "Lemma 4.5"),
    ]
    if count_matchings(problem.graph) <= MAX_MATCHINGS:
        found.append(
            Quantity("smallest_loss_of_all", "Δ_min", smallest_loss_of_all(u), "Section 4.2.1, every matching")
        )
    return found

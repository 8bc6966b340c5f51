"""Players in descending order of strength, and the quantities of the paper's bounds that depend on them alone.

Formulas count players from 1 in that order: u_1 is the best, the k-th pair is (u_(2k−1), u_(2k)), and border k lies
between the k-th pair and the next.
"""

from functools import cached_property, lru_cache
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import monopartite
from matchbandit.problems import Monopartite
from matchbandit.rewards import Floats
from matchbandit.solvers import MAX_MATCHINGS, all_matchings, count_matchings
from matchbandit.theory.corrections import FIRST_BORDER_SHARE, OTHER_BORDERS_SHARE


def sorted_descending(strengths: ArrayLike) -> Floats:
    """The strengths from the best down."""
    return -np.sort(-np.asarray(strengths, dtype=np.float64))


def inverse_sum(gaps: Floats, power: int) -> float:
    """Σ 1/gap^power over the positive gaps."""
    return float((1 / gaps[gaps > 0] ** power).sum())


def border_partner(n_players: int) -> NDArray[np.int64]:
    """For each player, in order and from 0, the player across the border that Δ_i is measured at.

    For the second of a pair the first of the next pair, for the first of a pair the second of the pair before; at the
    ends player 1 is measured from player 3, and player 2N from player 2N − 2.

    >>> border_partner(6).tolist()
    [2, 2, 1, 4, 3, 3]
    """
    if n_players % 2 or n_players < 4:
        raise MatchbanditError(f"borders between pairs need 4, 6, … players; got {n_players}.")
    positions = np.arange(n_players)
    to = positions + np.where(positions % 2, 1, -1)
    to[0], to[-1] = 2, n_players - 3
    return to


class SortedPlayers:
    """Players in descending order of strength; every quantity is computed once.

    Those of borders and of pairs of players need an even number of players.
    """

    def __init__(self, u: ArrayLike) -> None:
        """Sort the strengths, which may come in any order."""
        self.u = sorted_descending(u)
        self.u.setflags(write=False)

    def __len__(self) -> int:
        """The number of players."""
        return len(self.u)

    @cached_property
    def _pairs(self) -> Floats:
        """The strengths two by two."""
        if len(self) % 2 or not len(self):
            raise MatchbanditError(f"pairs of players need an even number of them; got {len(self)}.")
        return self.u.reshape(-1, 2)

    @cached_property
    def gaps_to_second(self) -> Floats:
        """Δ_(2,i) = u_2 − u_i for the players i ≥ 3."""
        return np.asarray(self.u[1] - self.u[2:])

    def complexity(self, *, power: int) -> float:
        """A(u) = Σ 1/(u_1 Δ_(2,i))^p over the players below the second: p = 1 for regret, 2 for identification."""
        return inverse_sum(self.u[0] * self.gaps_to_second, power)

    @cached_property
    def border_targets(self) -> Floats:
        """u_i ± Δ_i: the strength of each player's `border_partner`."""
        return np.asarray(self.u[border_partner(len(self))])

    @cached_property
    def partner_gaps(self) -> Floats:
        """Δ_i of Pair-Select (Theorem 3.5): Δ_(2k) = u_(2k) − u_(2k+1), Δ_(2k−1) = u_(2k−2) − u_(2k−1).

        Corrected at the ends, see "end-gaps" in `CORRECTIONS`. (The main text's Δ_(2,i) is Δ_(2i).)

        >>> SortedPlayers([0.9, 0.8, 0.5, 0.3]).partner_gaps.round(3).tolist()
        [0.4, 0.3, 0.3, 0.5]
        """
        return np.asarray(np.abs(self.border_targets - self.u))

    @cached_property
    def order_complexity(self) -> float:
        """A(u) = Σ 1/(u_1 Δ_i)² over all players with Δ_i > 0, with the gaps of `partner_gaps` (Theorem 3.5)."""
        return inverse_sum(self.u[0] * self.partner_gaps, 2)

    @cached_property
    def cluster_means(self) -> Floats:
        """μ̃_(−{k,k+1}) = (1/(2K − 1)) Σ of a cluster's strengths but the k-th and the next, k = 1 … 2K − 1 (Lemma E.2).

        In a round-robin the averages of the two differ by this times their gap.
        """
        u = self.u
        return np.asarray((u.sum() - u[:-1] - u[1:]) / (len(u) - 1))

    @cached_property
    def mixing_losses(self) -> Floats:
        """r_ij for every two pairs i < j: what the two ways of mixing them lose together (Lemma E.1).

        r_ij = (u_(2i) − u_(2j−1)) (u_(2i−1) − u_(2j)) + (u_(2i−1) − u_(2j−1)) (u_(2i) − u_(2j)).
        """
        better, worse = self._pairs.T
        r = (worse[:, None] - better[None, :]) * (better[:, None] - worse[None, :])
        r += (better[:, None] - better[None, :]) * (worse[:, None] - worse[None, :])
        return np.triu(r, k=1)

    @cached_property
    def smallest_loss(self) -> float:
        """Δ_min = min over neighbouring pairs of (u_(2k) − u_(2k+1)) (u_(2k−1) − u_(2k+2)).

        The best wrong matching mixes two neighbouring pairs in the better of the two ways.

        >>> round(SortedPlayers([0.9, 0.8, 0.5, 0.3]).smallest_loss, 3)
        0.18
        """
        return float(min(((b - c) * (a - d) for (a, b), (c, d) in pairwise(self._pairs)), default=inf))

    @cached_property
    def smallest_loss_of_all(self) -> float:
        """Δ_min by its definition, from every matching, for up to 10 players."""
        graph = monopartite(len(self))
        if count_matchings(graph) > MAX_MATCHINGS:
            raise MatchbanditError(f"{len(self)} players have too many matchings to look at each. Use smallest_loss.")
        i, j = graph.pairs.T
        values = np.sort((self.u[i] * self.u[j])[all_matchings(graph)].sum(axis=1))
        return float(values[-1] - values[-2]) if len(values) > 1 else inf

    @cached_property
    def border_gaps(self) -> Floats:
        """Δ_(2k,2k+1) for each border k = 1 … N − 1."""
        return np.asarray(self.u[1:-1:2] - self.u[2::2])

    @cached_property
    def others_means(self) -> Floats:
        """μ_([2N] − {2k, 2k+1}) = (1/2N) Σ of the strengths but those of the two players at border k."""
        u = self.u
        return np.asarray((u.sum() - u[1:-1:2] - u[2::2]) / len(u))

    @cached_property
    def weighted_gaps(self) -> Floats:
        """μ_([2N] − {2k, 2k+1}) Δ_(2k,2k+1) for each border; the least is γ_min (Theorem 4.1)."""
        return self.others_means * self.border_gaps

    @cached_property
    def smallest_weighted_gap(self) -> float:
        """γ_min; infinite if there is only one pair."""
        return float(min(self.weighted_gaps, default=inf))

    @cached_property
    def hardest_borders(self) -> tuple[int | None, int | None]:
        """s, the border with the smallest gap, and h, that with the smallest weighted gap among the others, from 1.

        Both range over 1 … N − 1, see "alpha" in `CORRECTIONS`. Of gaps equal to twelve digits the first counts. None
        if there is no such border.
        """
        weighted = self.weighted_gaps.round(12)
        if not len(weighted):
            return None, None
        s = int(np.argmin(self.border_gaps.round(12)))
        weighted[s] = inf
        return s + 1, int(np.argmin(weighted)) + 1 if len(weighted) > 1 else None

    @cached_property
    def top_mean(self) -> float:
        """What players at border s are measured against once all others are ranked: (u_1 + u_2)/4, or u_1/4 if s = 1.

        Theorem H.1 has these two; its proof at s ≥ 2 has the mean (u_1 + … + u_4)/4, which at s = 2 counts player 4,
        one of the two at the border. (There B may have six players and a smaller mean, but then every round counts.)
        """
        return float((self.u[0] + self.u[1]) / 4 if self.hardest_borders[0] != 1 else self.u[0] / 4)

    @cached_property
    def alpha(self) -> float:
        """α = min((top mean · Δ_s / (μ_h Δ_h))², 1) of Matching-Id's second bound, as in the appendix (Theorem H.1).

        0 where there is no second border. (The bound itself uses `settled_share`, which has a factor for every border.)
        """
        s, h = self.hardest_borders
        if s is None or h is None:
            return 0.0
        second = float(self.weighted_gaps[h - 1])
        return min((self.top_mean * float(self.border_gaps[s - 1]) / second) ** 2, 1.0) if second > 0 else 1.0

    @cached_property
    def settled_share(self) -> float:
        """α of Matching-Id's second bound: the largest share of the samples at border s before all others are ordered.

        max over the other borders k of F_k (top mean · Δ_s/(μ_k Δ_k))², at most 1. The paper, as `alpha`, has no F_k.
        It is ((b − 1)/(b − 2))², for the two at border k while they are in B (see `border_constant`), times b/(b − 1),
        for players outside B count b samples where those in it count b − 1.
        """
        s, _ = self.hardest_borders
        if s is None:
            return 0.0
        last, share = self.top_mean * float(self.border_gaps[s - 1]), 0.0
        for k, gap in enumerate(self.weighted_gaps.tolist(), start=1):
            if k != s:
                factor = FIRST_BORDER_SHARE if k == 1 else OTHER_BORDERS_SHARE
                share = max(share, factor * (last / gap) ** 2 if gap > 0 else inf)
        return min(share, 1.0)

    def comparison_bounds(self, m: int) -> tuple[float, float]:
        """U_D and U_I of Lemma 4.5 for the border between the players m and m + 1, 3 ≤ m < 2N.

        U_D = (2N − 3) Σ_(2≤i<j) r_ij / (Δ_(m,m+1) (Σ_(i≥3) u_i − u_m − u_(m+1)))²,
        U_I = (2N − 1) Σ_(i<j) r_ij / (Δ_(m,m+1) (Σ u_i − u_m − u_(m+1)))².
        Both leave out 64 log T. The definition of U_I prints 2N − 2, see "u-i" in `CORRECTIONS`.
        """
        u, r = self.u, self.mixing_losses
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

    @cached_property
    def least_comparison_bounds(self) -> tuple[float, float]:
        """U_D and U_I, each with the m that minimises it.

        Their ratio is then not bounded as Lemma 4.5 says, see "comparison" in `CORRECTIONS`; at one m ≥ 4 for both it
        is. At m = 3 U_D is infinite.
        """
        bounds = [self.comparison_bounds(m) for m in range(3, len(self))]
        return min((d for d, _ in bounds), default=inf), min((i for _, i in bounds), default=inf)


@lru_cache(maxsize=16)
def sorted_players(problem: Monopartite) -> SortedPlayers:
    """The players of a problem, sorted once for all of its bounds."""
    return SortedPlayers(problem.u)


def round_robin_regret(u: ArrayLike) -> float:
    """What a round of a round-robin loses on average: R_S = (1/(2K − 1)) Σ_(i<j) r_ij (Lemma E.1).

    The last line of the printed proof has 2K + 1, see "round-robin" in `CORRECTIONS`.

    Parameters
    ----------
    u : array_like
        The strengths of an even number of players, in any order.

    Returns
    -------
    float

    Examples
    --------
    >>> round_robin_regret([1.0, 1.0, 0.0, 0.0])
    0.6666666666666666
    """
    players = SortedPlayers(u)
    if len(players) % 2 or not len(players):
        raise MatchbanditError(f"a round-robin of pairs needs an even number of players; got {len(players)}.")
    return float(players.mixing_losses.sum()) / (len(players) - 1)

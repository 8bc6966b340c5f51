"""AESCB: the index of ESCB up to a small error, by budgets on the rounded means, without looking at each matching."""

from functools import lru_cache
from math import ceil, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError, check_float
from matchbandit.graphs import Edges, Graph
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.decision import Decision, ordered_decision
from matchbandit.policies.matching.combinatorial import (
    TIE,
    Arrays,
    CombinatorialPolicy,
    exploration,
    log_log_weight,
    open_round,
)
from matchbandit.rewards import Counts, Floats

MAX_PLAYERS = 12

_ROUNDING = 1e-9
"""3 · 0.1 is a little more than 0.3, and must not be rounded up to 0.4."""


class Params(NamedTuple):
    """What only AESCB needs: sets of players for its dynamic programming, small ones first."""

    xi: float
    """ξ."""
    weight: float
    """That of log log t."""
    scale: float
    """2σ²."""
    firsts: Edges
    """For every set, the pairs of its first player; −1 beyond the last."""
    rests: Counts
    """For every set and each of these pairs, the set without the pair."""
    spreads: Floats
    """For every set and sum of rounded means, the greatest Σ 1/n_e of its matchings with that sum."""
    steps: Counts
    """And which pair of the first player is in that matching."""


@compiled
def choose(arrays: Arrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once; then the best of the matchings that solve the budgets (ties: the largest budget)."""
    if open_round(arrays, edges):
        return
    plays, sums, params = arrays.plays, arrays.sums, arrays.params
    level = params.scale * exploration(arrays, params.weight)
    rounded, matching = np.empty(len(plays), dtype=np.int64), np.empty(len(edges), dtype=np.int64)
    largest = 0
    for edge in range(len(plays)):
        rounded[edge] = ceil(sums[edge] / plays[edge] / params.xi - _ROUNDING)
        largest = max(largest, rounded[edge] * len(edges))
    solve(params, plays, rounded, largest + 1)
    everyone = len(params.spreads) - 1
    widest, highest = -np.inf, -np.inf
    for budget in range(largest, -1, -1):
        if params.spreads[everyone, budget] > widest:  # the solution of all budgets from here down to the next one
            widest = params.spreads[everyone, budget]
            value, players, left = sqrt(level * widest), everyone, budget
            for i in range(len(edges)):  # the matching that `solve` found
                k = params.steps[players, left]
                matching[i] = params.firsts[players, k]
                players = params.rests[players, k]
                left -= rounded[matching[i]]
                value += sums[matching[i]] / plays[matching[i]]
            if value > highest + TIE:
                highest = value
                for i in range(len(edges)):
                    edges[i] = matching[i]


@compiled
def solve(params: Params, plays: Counts, rounded: Counts, width: int) -> None:
    """The greatest Σ 1/n_e among all matchings with rounded sum s, for every set and s < width; −∞: none.

    A set's first player has one of the others as a partner, and the rest is a smaller set.
    """
    spreads, steps, firsts, rests = params.spreads, params.steps, params.firsts, params.rests
    for players in range(len(spreads)):
        for s in range(width):
            spreads[players, s] = -np.inf
        if players == 0:
            spreads[0, 0] = 0.0
        for k in range(firsts.shape[1]):
            edge, rest = firsts[players, k], rests[players, k]
            if edge < 0:
                break
            mean, inverse = rounded[edge], 1.0 / plays[edge]
            for s in range(width - mean):
                spread = spreads[rest, s] + inverse
                if spread > spreads[players, s + mean]:
                    spreads[players, s + mean] = spread
                    steps[players, s + mean] = k


@lru_cache(maxsize=16)
def subsets(graph: Graph) -> tuple[Edges, Counts]:
    """The sets of players that are left when the first of them is paired again and again, smaller ones before.

    For every set, the edges of its first player (−1 beyond the last), and for each of these the set that is left.
    """
    everyone = tuple(range(graph.n_items))
    found, latest = {everyone}, {everyone}
    while latest != {()}:
        latest = {(*kept[1:k], *kept[k + 1 :]) for kept in latest for k in range(1, len(kept))}
        found |= latest
    ordered = sorted(found, key=lambda kept: (len(kept), kept))
    number = {kept: place for place, kept in enumerate(ordered)}
    edges = np.full((len(ordered), len(everyone) - 1), -1, dtype=np.int64)
    rests = np.zeros_like(edges)
    for place, kept in enumerate(ordered):
        for k in range(1, len(kept)):
            edges[place, k - 1] = graph.edges(np.array([[kept[0], kept[k]]]))[0]
            rests[place, k - 1] = number[(*kept[1:k], *kept[k + 1 :])]
    return edges, rests


class Aescb(CombinatorialPolicy):
    """AESCB [Cuvelier2021].

    Every pair once, in the rounds of a tour. Then the means are rounded to a_e = ceil(μ_e/ξ); for every budget s the
    matching with a·x ≥ s and the greatest Σ x_e/n_e is found; and of these the one with the greatest
    Σ μ_e + sqrt(f/2 · Σ 1/n_e) is played, with the means as they are. For σ-sub-Gaussian rewards the radius is
    multiplied by 2σ. f is as in ESCB. What it loses against ESCB's index is at most m ξ, with m pairs a round.

    Where several matchings solve a budget, one with the largest sum of rounded means is taken. The step with a budget
    is solved exactly, by dynamic programming over sets of players. There are fewer of them than matchings, but still
    exponentially many: up to 12 players. It takes polynomial time where the budgeted problem does, as in the paper.

    Parameters
    ----------
    xi : float, default 0.1
        ξ, between 0.001 and 1: means are rounded up to its multiples.
    exploration : {"log", "full"}
        f = log t, or with log log t as in the proofs.
    """

    name: ClassVar[str] = "aescb"
    summary: ClassVar[str] = "nearly the greatest upper bound of a matching, without looking at each"
    reference: ClassVar[str] = "Cuvelier et al. 2021"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        graphs=("monopartite",),
        unit_rewards=True,
        warm_start=True,
        max_items=MAX_PLAYERS,
    )
    oracle = "own"
    transient_fields: ClassVar[tuple[str, ...]] = (
        *CombinatorialPolicy.transient_fields,
        "firsts",
        "rests",
        "spreads",
        "steps",
    )
    choose = staticmethod(choose)

    def __init__(
        self, setting: Setting, rng: np.random.Generator, *, xi: float = 0.1, exploration: str = "log"
    ) -> None:
        """Nothing played yet."""
        if not 0.001 <= check_float("xi", xi) <= 1:
            raise MatchbanditError(f"xi must lie between 0.001 and 1; got {xi!r}. Means are rounded up to multiples.")
        super().__init__(setting, rng, xi=float(xi), exploration=exploration)

    def params(self) -> Params:
        """Tables over the sets of players; graphs with too many are refused."""
        if self.graph.n_items > MAX_PLAYERS:
            raise MatchbanditError(
                f"aescb looks at sets of players, and {self.graph} has too many (at most {MAX_PLAYERS} players). "
                f"Take cucb or cts-beta, which call a solver, or rank1-thompson."
            )
        xi, size, (firsts, rests) = self.options["xi"], self.graph.matching_size, subsets(self.graph)
        sums = size * ceil(1 / xi - _ROUNDING) + 1
        return Params(
            xi,
            log_log_weight(self.options["exploration"], size),
            scale=2 * self.setting.rewards.sigma**2,
            firsts=firsts,
            rests=rests,
            spreads=np.full((len(firsts), sums), -np.inf),
            steps=np.zeros((len(firsts), sums), dtype=np.int64),
        )

    def _decide_whole(self, allowed: Allowed, arrays: Arrays, unplayed: NDArray[np.bool_]) -> Decision:
        edges = np.zeros(self.round_size, dtype=np.int64)
        choose(arrays, self.rng, edges)
        plays, params = arrays.plays[edges], arrays.params
        means, inverses = arrays.sums[edges] / plays, 1.0 / plays
        radius = sqrt(params.scale * exploration(arrays, params.weight) / inverses.sum())
        return ordered_decision(self.graph, edges, means + radius * inverses, exact=False)

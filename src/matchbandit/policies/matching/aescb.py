"""AESCB: the index of ESCB up to a small error, by budgets on the rounded means, without looking at each matching."""

from dataclasses import replace
from functools import lru_cache
from math import ceil, sqrt
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Graph
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import (
    TIE,
    CombinatorialArrays,
    CombinatorialPolicy,
    choose_initial_round,
    round_number,
)
from matchbandit.policies.decision import Decision, ordered_decision
from matchbandit.policies.index_policy import Exploration, IndexPolicy, exploration, log_log_weight
from matchbandit.policies.options import between
from matchbandit.rewards import Counts, Floats

MAX_PLAYERS = 12

_ROUNDING = 1e-9
"""3 · 0.1 is a little more than 0.3, and must not be rounded up to 0.4."""


class AescbParams(NamedTuple):
    """What only AESCB needs: sets of players for its dynamic programming, small ones first."""

    xi: float
    """ξ."""
    weight: float
    """The factor of log log t."""
    scale: float
    """2σ²."""
    firsts: Edges
    """For every set, the pairs of its first player; −1 beyond the last. The number of pairs: that player sits out."""
    rests: Counts
    """For every set and each of these pairs, the set without the pair."""
    spreads: Floats
    """For every set and sum of rounded means, the greatest Σ 1/n_e of its matchings with that sum."""
    steps: Counts
    """And which pair of the first player is in that matching."""


@compiled
def choose(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges) -> None:
    """Each pair once; then the best of the matchings that solve the budgets (ties: the largest budget)."""
    if choose_initial_round(arrays, edges):
        return
    plays, sums, params = arrays.plays, arrays.sums, arrays.params
    level = params.scale * exploration(round_number(arrays), params.weight)
    n_pairs = len(plays)
    rounded, inverses = np.zeros(n_pairs + 1, dtype=np.int64), np.zeros(n_pairs + 1)  # 0 for whoever sits out
    matching = np.empty(len(edges), dtype=np.int64)
    largest = 0
    for edge in range(n_pairs):
        rounded[edge] = ceil(sums[edge] / plays[edge] / params.xi - _ROUNDING)
        inverses[edge] = 1.0 / plays[edge]
        largest = max(largest, rounded[edge] * len(edges))
    solve_budgets(params, inverses, rounded, largest + 1)
    everyone = len(params.spreads) - 1
    widest, highest = -np.inf, -np.inf
    for budget in range(largest, -1, -1):
        if params.spreads[everyone, budget] > widest:  # the solution of all budgets from here down to the next one
            widest = params.spreads[everyone, budget]
            value, players, left, size = sqrt(level * widest), everyone, budget, 0
            while players > 0:  # the matching that `solve_budgets` found
                k = params.steps[players, left]
                edge = params.firsts[players, k]
                players = params.rests[players, k]
                left -= rounded[edge]
                if edge < n_pairs:
                    matching[size] = edge
                    size += 1
                    value += sums[edge] / plays[edge]
            if value > highest + TIE:
                highest = value
                for i in range(len(edges)):
                    edges[i] = matching[i]


@compiled
def solve_budgets(params: AescbParams, inverses: Floats, rounded: Counts, width: int) -> None:
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
            mean, inverse = rounded[edge], inverses[edge]
            for s in range(width - mean):
                spread = spreads[rest, s] + inverse
                if spread > spreads[players, s + mean]:
                    spreads[players, s + mean] = spread
                    steps[players, s + mean] = k


@lru_cache(maxsize=16)
def subsets(graph: Graph) -> tuple[Edges, Counts]:
    """The sets of players that are left when the first of them is paired again and again, smaller ones before.

    For every set, the edges of its first player (−1 beyond the last), and for each of these the set that is left. An
    odd number of players is joined by one more, whose partner sits out: that pair has the number after the last edge.
    """
    n = graph.n_items
    everyone = tuple(range(n + n % 2))
    sets, latest = {everyone}, {everyone}
    while latest != {()}:
        latest = {(*members[1:k], *members[k + 1 :]) for members in latest for k in range(1, len(members))}
        sets |= latest
    ordered = sorted(sets, key=lambda members: (len(members), members))
    number = {members: place for place, members in enumerate(ordered)}
    edges = np.full((len(ordered), len(everyone) - 1), -1, dtype=np.int64)
    rests = np.zeros_like(edges)
    for place, members in enumerate(ordered):
        for k in range(1, len(members)):
            pair = members[0], members[k]
            edges[place, k - 1] = graph.edges(np.array([pair]))[0] if members[k] < n else graph.n_pairs
            rests[place, k - 1] = number[(*members[1:k], *members[k + 1 :])]
    return edges, rests


class Aescb(IndexPolicy):
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
    capabilities: ClassVar[Capabilities] = replace(
        IndexPolicy.capabilities,
        graphs=("monopartite",),
        unit_rewards=True,
        constrained=False,
        max_items=MAX_PLAYERS,
        compiled_max_players=None,
    )
    needs_best_matching: ClassVar[bool] = False
    transient_fields: ClassVar[tuple[str, ...]] = (
        *CombinatorialPolicy.transient_fields,
        "firsts",
        "rests",
        "spreads",
        "steps",
    )
    choose = staticmethod(choose)

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        xi: Annotated[float, between("xi", 0.001, 1, "Means are rounded up to its multiples.")] = 0.1,
        exploration: Exploration = "log",
    ) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng)

    def params(self) -> AescbParams:
        """Tables over the sets of players."""
        xi, size, (firsts, rests) = float(self.options["xi"]), self.graph.matching_size, subsets(self.graph)
        sums = size * ceil(1 / xi - _ROUNDING) + 1
        return AescbParams(
            xi,
            log_log_weight(self.options["exploration"], size),
            scale=2 * self.setting.rewards.sigma**2,
            firsts=firsts,
            rests=rests,
            spreads=np.full((len(firsts), sums), -np.inf),
            steps=np.zeros((len(firsts), sums), dtype=np.int64),
        )

    def _decide_by_index(
        self, allowed: Allowed, arrays: CombinatorialArrays, unplayed: NDArray[np.bool_], rng: np.random.Generator
    ) -> Decision:
        edges = np.zeros(self.round_size, dtype=np.int64)
        choose(arrays, rng, edges)
        plays, params = arrays.plays[edges], arrays.params
        means, inverses = arrays.sums[edges] / plays, 1.0 / plays
        radius = sqrt(params.scale * exploration(round_number(arrays), params.weight) / inverses.sum())
        return ordered_decision(self.graph, edges, means + radius * inverses, exact=False)

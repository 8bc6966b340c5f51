"""AESCB: the index of ESCB up to a small error, in polynomial time, by budgets on the rounded means."""

from functools import lru_cache
from math import ceil, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError, real_number
from matchbandit.graphs import Edges, Graph
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.matching.index import IndexPolicy, clock, open_round
from matchbandit.policies.matching.joint import TIE, growth, log_log_weight
from matchbandit.rewards import Counts, Floats

MOST_PLAYERS = 12

_ROUNDING = 1e-9
"""3 · 0.1 is a little more than 0.3, and must not be rounded up to 0.4."""


class Arrays(NamedTuple):
    """What AESCB remembers, and the sets of players for its dynamic programming, small ones first."""

    plays: Counts
    sums: Floats
    total: Counts
    opening: Edges
    matchings: Edges
    constants: Floats
    """ξ, the weight of log log t, 2σ²."""
    edges: Edges
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
    xi, weight, scale = arrays.constants
    level = scale * growth(clock(arrays), weight)
    rounded = np.empty(len(arrays.plays), dtype=np.int64)
    for edge in range(len(rounded)):
        rounded[edge] = ceil(arrays.sums[edge] / arrays.plays[edge] / xi - _ROUNDING)
    spreads = solve(arrays, rounded)
    matching = np.empty_like(edges)
    widest, highest = -np.inf, -np.inf
    for budget in range(len(spreads) - 1, -1, -1):
        if spreads[budget] > widest:  # the solution of all budgets from here down to the next one
            widest = spreads[budget]
            trace(arrays, rounded, budget, matching)
            value = sqrt(level * widest)
            for edge in matching:
                value += arrays.sums[edge] / arrays.plays[edge]
            if value > highest + TIE:
                highest = value
                edges[:] = matching


@compiled
def solve(arrays: Arrays, rounded: Counts) -> Floats:
    """The greatest Σ 1/n_e among all matchings with rounded sum s, for every s; −∞ where there is none.

    A set's first player has one of the others as a partner, and the rest is a smaller set.
    """
    spreads, steps = arrays.spreads, arrays.steps
    largest = rounded.max() * arrays.opening.shape[1]
    spreads[:, : largest + 1] = -np.inf
    spreads[0, 0] = 0.0
    for players in range(1, len(spreads)):
        for k in range(arrays.edges.shape[1]):
            edge = arrays.edges[players, k]
            if edge < 0:
                break
            rest, mean, inverse = arrays.rests[players, k], rounded[edge], 1.0 / arrays.plays[edge]
            for s in range(largest + 1 - mean):
                spread = spreads[rest, s] + inverse
                if spread > spreads[players, s + mean]:
                    spreads[players, s + mean] = spread
                    steps[players, s + mean] = k
    return spreads[-1, : largest + 1]


@compiled
def trace(arrays: Arrays, rounded: Counts, s: int, matching: Edges) -> None:
    """Write down the matching that `solve` found for this sum."""
    players = len(arrays.spreads) - 1
    for i in range(len(matching)):
        k = arrays.steps[players, s]
        matching[i] = arrays.edges[players, k]
        players = arrays.rests[players, k]
        s -= rounded[matching[i]]


@lru_cache(maxsize=16)
def subsets(graph: Graph) -> tuple[Edges, Counts]:
    """The sets of players that are left when the first of them is paired again and again, smaller ones before.

    For every set, the edges of its first player (−1 beyond the last), and for each of these the set that is left.
    """
    everyone = tuple(range(graph.shape[0]))
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


class Aescb(IndexPolicy):
    """Cuvelier et al. 2021 (AESCB).

    Every pair once, in the rounds of a tour. Then the means are rounded to a_e = ceil(μ_e/ξ); for every budget s the
    matching with a·x ≥ s and the greatest Σ x_e/n_e is found; and of these the one with the greatest
    Σ μ_e + sqrt(f/2 · Σ 1/n_e) is played, with the means as they are. For σ-sub-Gaussian rewards the radius is
    multiplied by 2σ. f is as in ESCB. What it loses against ESCB's index is at most m ξ, with m pairs a round.

    Where several matchings solve a budget, one with the largest sum of rounded means is taken. The step with a budget
    is solved exactly, by dynamic programming over sets of players: up to 12 players.

    Options: `xi` is ξ, between 0.001 and 1; `exploration`, "log" or "full".
    """

    name: ClassVar[str] = "aescb"
    summary: ClassVar[str] = "nearly the greatest upper bound of a matching, without looking at each"
    reference: ClassVar[str] = "Cuvelier et al. 2021"
    fits: ClassVar[Fits] = Fits(
        selections=("matching",),
        graphs=("monopartite",),
        proved=("regret",),
        unit_rewards=True,
        warm_start=True,
        counts_alone=True,
        up_to=f"{MOST_PLAYERS} players",
    )
    looks_at_each: ClassVar[bool] = False
    arrays_type = Arrays
    choose = staticmethod(choose)

    def __init__(
        self, setting: Setting, rng: np.random.Generator, *, xi: float = 0.1, exploration: str = "log"
    ) -> None:
        """Nothing played yet."""
        if not 0.001 <= real_number("xi", xi) <= 1:
            raise MatchbanditError(f"xi must lie between 0.001 and 1; got {xi!r}. Means are rounded up to multiples.")
        super().__init__(setting, rng, xi=float(xi), exploration=exploration)

    def constants(self) -> list[float]:
        """ξ, the weight of log log t, 2σ²."""
        weight = log_log_weight(self.options["exploration"], self.graph.matching_size)
        return [self.options["xi"], weight, 2 * self.setting.rewards.sigma**2]

    def start(self) -> Any:
        """No plays; graphs with too many sets of players are refused."""
        if self.graph.shape[0] > MOST_PLAYERS:
            raise MatchbanditError(
                f"aescb looks at sets of players, and {self.graph} has too many (at most {MOST_PLAYERS} players). "
                f"Take cucb or cts-beta, which call a solver, or rank1-thompson."
            )
        edges, rests = subsets(self.graph)
        sums = self.graph.matching_size * ceil(1 / self.options["xi"] - _ROUNDING) + 1
        return Arrays(
            **super().start()._asdict(),
            edges=edges,
            rests=rests,
            spreads=np.full((len(edges), sums), -np.inf),
            steps=np.zeros((len(edges), sums), dtype=np.int64),
        )

    def _memory(self) -> dict[str, Any]:
        again = ("edges", "rests", "spreads", "steps")  # tables of the graph, and work that every round does anew
        return {name: part for name, part in super()._memory().items() if name not in again}

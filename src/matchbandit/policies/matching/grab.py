"""GRAB: KL-UCB among the assignments that are one swap away from the leader."""

from collections.abc import Mapping
from dataclasses import replace
from math import log
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs
from matchbandit.kl import kl_upper
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.combinatorial import CombinatorialArrays, CombinatorialPolicy
from matchbandit.policies.options import whole_between
from matchbandit.policies.page import Page, edge_of, page_of
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers import count_matchings
from matchbandit.solvers.assignment import solve_assignment

MAX_LEADERS = 4096
"""So many leaders are counted; beyond, those that have led least are forgotten."""
WAYS = 8
"""Places of the table in which a leader can be."""
PRIME, BASES = 2**31 - 1, (1_103_515_245, 1_664_525)
"""Of the two polynomial hashes that make a leader's key; their products stay below 2^62."""


class GrabParams(NamedTuple):
    """What only it needs."""

    page: Page
    gamma: int
    """γ."""
    budget: float
    """log T; negative: the logarithm of how often the leader has led."""
    keys: Counts
    """The key of each counted leader; 0 where there is none."""
    leads: Counts
    """How often it has led."""


@compiled
def choose(arrays: CombinatorialArrays, rng: np.random.Generator, edges: Edges) -> None:
    """Play the leader at every γ-th time that it leads, from the first on; else its most promising neighbour."""
    params = arrays.params
    page, n_positions = params.page, len(edges)
    shown = np.empty(n_positions, dtype=np.int64)
    elect(arrays.plays, arrays.sums, page, shown)
    place = locate(shown, params.keys, params.leads)
    before = params.leads[place]
    params.leads[place] += 1
    if before % params.gamma > 0:
        budget = params.budget if params.budget >= 0.0 else log(before + 1.0)
        move(arrays.plays, arrays.sums, page, budget, shown)
    for k in range(n_positions):
        edges[k] = edge_of(page, shown[k], k)


@compiled
def elect(plays: Counts, sums: Floats, page: Page, shown: Counts) -> None:
    """Write down the item in each position of the leader: the assignment with the greatest sum of empirical means."""
    n_pairs, n_positions = len(plays), len(shown)
    means, edges = np.zeros(n_pairs), np.empty(n_positions, dtype=np.int64)
    for edge in range(n_pairs):
        if plays[edge] > 0:
            means[edge] = sums[edge] / plays[edge]
    n_columns = max(page.item_step, page.position_step)  # the step from row to row
    solve_assignment(means, n_pairs // n_columns, n_columns, edges)
    for k in range(n_positions):
        item, position = edges[k] // page.item_step, edges[k] // page.position_step
        shown[position % n_positions] = item % page.n_items


@compiled
def locate(shown: Counts, keys: Counts, leads: Counts) -> int:
    """Where the counter of this leader is; one that is new replaces, of those it could stand for, the one led least."""
    one, two = 1, 1
    for k in range(len(shown)):
        one = (one * BASES[0] + shown[k] + 1) % PRIME
        two = (two * BASES[1] + shown[k] + 1) % PRIME
    key = one * (PRIME + 1) + two + 1
    first = key % (len(keys) // WAYS) * WAYS
    least = first
    for place in range(first, first + WAYS):
        if keys[place] == key:
            return place
        if leads[place] < leads[least]:
            least = place
    keys[least] = key
    leads[least] = 0
    return least


@compiled
def upper_bound(plays: Counts, sums: Floats, edge: int, budget: float) -> float:
    """max{q : n kl(mean, q) ≤ budget}; 1 before the first play."""
    if plays[edge] == 0:
        return 1.0
    return float(kl_upper(sums[edge] / plays[edge], budget / plays[edge]))


@compiled
def move(plays: Counts, sums: Floats, page: Page, budget: float, shown: Counts) -> None:
    """Turn the leader into the neighbour with the greatest optimistic gain, if one is above 0 (ties: the first)."""
    n_positions = len(shown)
    order, values, is_shown = np.empty(n_positions, dtype=np.int64), np.empty(n_positions), np.zeros(page.n_items)
    for k in range(n_positions):  # positions by the mean of the leader's item in them, greatest first
        edge, place = edge_of(page, shown[k], k), k
        mean = sums[edge] / plays[edge] if plays[edge] > 0 else 0.0
        while place > 0 and values[place - 1] < mean:
            values[place], order[place] = values[place - 1], order[place - 1]
            place -= 1
        values[place], order[place] = mean, k
        is_shown[shown[k]] = 1.0
    most, first, second, item = 0.0, -1, -1, -1
    above = 0.0
    for r in range(n_positions):  # swap neighbours in this order
        lower = order[r]
        own = upper_bound(plays, sums, edge_of(page, shown[lower], lower), budget)
        if r > 0:
            upper = order[r - 1]
            gain = upper_bound(plays, sums, edge_of(page, shown[lower], upper), budget) - above - own
            gain += upper_bound(plays, sums, edge_of(page, shown[upper], lower), budget)
            if gain > most:
                most, first, second = gain, upper, lower
        above = own
    last = order[n_positions - 1]
    for i in range(page.n_items):  # replace the item in the last position by one that is not shown
        if is_shown[i] == 0.0:
            gain = upper_bound(plays, sums, edge_of(page, i, last), budget) - above
            if gain > most:
                most, item = gain, i
    if item >= 0:
        shown[last] = item
    elif first >= 0:
        shown[first], shown[second] = shown[second], shown[first]


class Grab(CombinatorialPolicy):
    """GRAB [Gauthier2021], Algorithm 1, with the defaults of the authors' code: L items are shown in K ≤ L positions.

    The larger side of the graph are the items (of equal sides, the rows). Every round, the leader is the assignment
    with the greatest sum of empirical means, 0 for a pair that was never played. It is played at the first, and then
    at every γ-th, time that it leads. Otherwise its neighbour with the greatest optimistic gain is played, if that is
    above 0, and else the leader itself:

        U(i_l, k) + U(i_k, l) − U(i_k, k) − U(i_l, l)     swaps the items i_k, i_l of the positions k, l
        U(j, k) − U(i_k, k)                               shows j, which is not shown, in place of i_k

    U(i, k) = max{q : n kl(mean, q) ≤ log T}, and 1 before the first play. The positions are sorted by the empirical
    means of the leader's items in them; k, l are neighbours in this order, and items are replaced in its last position
    only. If the means are products, an assignment that no neighbour improves is optimal.

    Deviations: the authors' code begins with a random leader, and this one with the first items; ties are decided by
    the order of the items. The counts of at most 4096 leaders are kept; a leader that was forgotten begins anew, and is
    played. The paper proves a regret of O(L log T / Δ) for its own γ and exploration; none is claimed here.

    Parameters
    ----------
    gamma : int or None, default None
        γ; None: max(1, L − K), as in the authors' code. The paper has L − 1. With γ = 1, the default where L ≤ K + 1,
        the leader is always played: nothing is explored, and the regret is linear. Give γ = L − 1 there.
    exploration : {"horizon", "leader"}, default "horizon"
        log T, as in the authors' code, or the logarithm of how often the leader has led, as in the paper, which needs
        no horizon. (The log log t in the paper's proof, recalled, is left out.)
    """

    name: ClassVar[str] = "grab"
    summary: ClassVar[str] = "KL-UCB among the assignments one swap away from the leader"
    reference: ClassVar[str] = "Gauthier et al. 2021"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        graphs=("bipartite",),
        unit_rewards=True,
        horizon=True,
        warm_start=True,
        assumes_product=True,
    )
    plays_all_first: ClassVar[bool] = False
    needs_best_matching: ClassVar[bool] = False
    choose = staticmethod(choose)

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        gamma: Annotated[int, whole_between("gamma", 1, 10**9)] | None = None,
        exploration: Literal["horizon", "leader"] = "horizon",
    ) -> None:
        """Nothing played yet."""
        super().__init__(setting, rng)

    @classmethod
    def capabilities_with(cls, options: Mapping[str, Any]) -> Capabilities:
        """It needs a horizon unless it explores by the leader's count."""
        return replace(cls.capabilities, horizon=options.get("exploration", "horizon") == "horizon")

    def params(self) -> GrabParams:
        """No leaders."""
        page, n_positions = page_of(self.graph), self.graph.matching_size
        gamma = self.options["gamma"]
        horizon = self.setting.horizon if self.options["exploration"] == "horizon" else None
        n_buckets = -(-min(MAX_LEADERS, 8 * count_matchings(self.graph)) // WAYS)
        return GrabParams(
            page=page,
            gamma=int(gamma) if gamma is not None else max(1, page.n_items - n_positions),
            budget=log(horizon) if horizon is not None else -1.0,
            keys=np.zeros(n_buckets * WAYS, dtype=np.int64),
            leads=np.zeros(n_buckets * WAYS, dtype=np.int64),
        )

    def recommend(self) -> Pairs:
        """The leader."""
        shown = np.zeros(self.graph.matching_size, dtype=np.int64)
        page = self.arrays.params.page
        elect(self.arrays.plays, self.arrays.sums, page, shown)
        edges = np.sort([edge_of(page, item, k) for k, item in enumerate(shown.tolist())])
        return self.graph.pairs_of(edges)

    def explain_extra(self) -> dict[str, Any]:
        """The pairs with their bounds; a warning if nothing is explored."""
        extra = super().explain_extra()
        if self.arrays.params.gamma == 1 and self.graph.n_pairs > 1:
            longer = max(self.graph.shape)
            extra["warnings"] = [
                f"With gamma = 1 the leader is always played, and nothing is explored. "
                f"Use gamma = {max(2, longer - 1)}, as in the paper."
            ]
        return extra

    def pair_details(self) -> dict[str, list[Any]]:
        """The upper bound, where it does not depend on the leader."""
        budget = self.arrays.params.budget
        if budget < 0:
            return {}
        plays, sums = self.arrays.plays, self.arrays.sums
        return {"upper_bound": [float(upper_bound(plays, sums, edge, budget)) for edge in range(len(plays))]}

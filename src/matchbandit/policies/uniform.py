"""Uniform: every pair equally often, whatever comes back."""

from typing import Any, ClassVar

import numpy as np

from matchbandit.graphs import Pairs, Selection
from matchbandit.plans import Cycle, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.explanation import pair_record
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Floats
from matchbandit.schedules import all_meet
from matchbandit.solvers import sorted_across, sorted_pairing


class Uniform(PlannedPolicy):
    """The yardstick that never learns: all pairs in turn, in a fixed order.

    Pair selection plays the pairs in lexicographic order; matching selection plays the rounds of a round-robin of the
    players, or the max(N, M) rounds of a Latin design of rows and columns. It still recommends: the pair with the best
    average, or the sorted pairing of the items' averages (they meet the same opponents, up to themselves, once
    a cycle is complete).

    Parameters
    ----------
    selection : {"pair", "matching"}, optional
        What a round plays; by default matchings of players, and pairs of rows and columns.
    """

    name: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "every pair equally often, whatever comes back"
    reference: ClassVar[str] = "yardstick"
    capabilities: ClassVar[Capabilities] = Capabilities(selections=("pair", "matching"))
    state_fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, setting: Setting, rng: np.random.Generator, *, selection: Selection | None = None) -> None:
        """Start at the beginning of the cycle."""
        super().__init__(setting, rng)

    def plan(self) -> Cycle:
        """One cycle over all pairs, without an end."""
        graph = self.graph
        edges = np.arange(graph.n_pairs)
        if self.selection == "pair":
            return Cycle(edges=edges, rounds=edges[:, None])
        return Cycle(edges=edges, rounds=all_meet(graph))

    def learn(self, tally: Tally) -> None:
        """Nothing to decide."""

    def recommend(self) -> Pairs:
        """The best average, or the sorted pairing of the items' averages."""
        means = self._means()
        if self.selection == "pair":
            return self.graph.pairs[[int(np.argmax(means))]]
        table = self.graph.matrix(means)
        if self.graph.is_bipartite:
            return sorted_across(table.sum(axis=1), table.sum(axis=0))
        return sorted_pairing((table + table.T).sum(axis=1))

    def _means(self) -> Floats:
        """The average of each pair; 0 before its first play."""
        return np.asarray(self.pending.sums / np.maximum(1, self.pending.counts))

    def explain_extra(self) -> dict[str, Any]:
        """How often each pair was played, and its average."""
        records = zip(self.graph.pairs.tolist(), self.pending.counts.tolist(), self._means().tolist(), strict=True)
        return {"pairs": [pair_record(pair, plays=n, estimate=mean if n else None) for pair, n, mean in records]}

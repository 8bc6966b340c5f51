"""Exploration-first: the two best players help to rank the others before they are played together."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from matchbandit.errors import MatchbanditError, check_int
from matchbandit.graphs import Graph, Pairs
from matchbandit.plans import FixedSweeps, Plan, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.matching.adaptive_matching import AdaptiveMatching
from matchbandit.policies.matching.clusters import Clusters, find_separations
from matchbandit.policies.options import Growth
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.schedules import all_meet


class ExplorationFirst(PlannedPolicy):
    """The exploration-first strategy of Section 4.2.3 and Lemma 4.5 of [Sentenac2021].

    The two best players are known. It plays one round-robin over all 2N players, over and over, and checks the other
    2N − 2 on their averages over everyone, at the end of a tournament. When a split of them is found it goes on as
    Adaptive-Matching, with the best two in a cluster of their own. Its counterpart in the lemma is adaptive-matching
    with clusters=[best, others], which plays the best two together from the start. With four players the other two are
    partners, so nothing is explored.

    Parameters
    ----------
    growth : float, default 1.05
        g, by which the counts grow at which players are checked, as in adaptive-matching.
    best : two players, default (0, 1)
        The two best players.
    """

    name: ClassVar[str] = "exploration-first"
    summary: ClassVar[str] = "all meet all until the others split, the two best being known; then Adaptive-Matching"
    reference: ClassVar[str] = "[Sentenac2021], Section 4.2.3"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        graphs=("monopartite",),
        proved=("regret",),
        horizon=True,
        clusters=True,
        assumes_product=True,
    )
    state_fields: ClassVar[tuple[str, ...]] = ("adaptive",)

    def __init__(
        self, setting: Setting, rng: np.random.Generator, *, growth: Growth = 1.05, best: Sequence[int] = (0, 1)
    ) -> None:
        """The best two, and all others."""
        best = _checked_best(best, setting.graph)
        super().__init__(setting, rng, best=best)
        self.n = self.graph.n_items
        others = [item for item in range(self.n) if item not in best]
        clusters = [best, others] if others else [best]
        self.adaptive = AdaptiveMatching(setting, rng, growth=growth, clusters=clusters)
        """What it goes on with, and books in from the beginning."""

    @property
    def exploring(self) -> bool:
        """Is no split of the others found yet?"""
        return self.n > 4 and not self.adaptive.history

    @property
    def clusters(self) -> Clusters:
        """The players of each cluster, the best cluster first."""
        return self.adaptive.clusters

    @property
    def splits(self) -> list[tuple[int, Clusters]]:
        """The round after which each split was made, and the clusters from then on."""
        return self.adaptive.splits

    def plan(self) -> Plan:
        """All meet all, until the others' count reaches a check; afterwards Adaptive-Matching's plan."""
        if not self.exploring:
            return self.adaptive.current
        count = self.adaptive.samples(self.adaptive.groups[1], 0)
        missing = self.adaptive.checks.following(count) - count
        limit = -(-missing // (self.n - 1))
        return FixedSweeps(edges=np.arange(self.graph.n_pairs), rounds=all_meet(self.graph), limit=limit)

    def learn(self, tally: Tally) -> None:
        """Check the others on their averages over everyone."""
        adaptive = self.adaptive
        if not self.exploring:
            adaptive.follow(tally, self.rounds)
            return
        group = adaptive.groups[1]
        others, before = group.clusters[0], adaptive.samples(group, 0)
        for ledger, brought in ((adaptive.ledger.counts, tally.counts), (adaptive.ledger.sums, tally.sums)):
            table = self.graph.matrix(brought)
            ledger[others] += (table + table.T)[others]
        count = adaptive.samples(group, 0)
        if count >= adaptive.checks.following(before):
            adaptive.rounds = self.rounds
            ranked, places = find_separations(others, adaptive.means(group, 0), adaptive.checks.radius(count))
            adaptive.split({1: np.split(ranked, places)})

    def recommend(self) -> Pairs:
        """Neighbours in the order of clusters, within a cluster of averages (ties: the lower index)."""
        return self.adaptive.recommend()

    def explain_extra(self) -> dict[str, Any]:
        """The phase, the clusters, and when they are checked."""
        description = self.adaptive.describe_clusters()
        details = {"phase": "all meet all"} if self.exploring else {"phase": "clusters", **description["details"]}
        return {**description, "details": details, "next_check": self.next_check()}


def _checked_best(best: Any, graph: Graph) -> list[int]:
    """Two players; on a graph that has none the policy is refused for that."""
    if graph.is_bipartite:
        return []
    most = graph.n_items - 1
    try:
        named = [check_int("best", item, minimum=0, maximum=most) for item in best]
    except (TypeError, MatchbanditError):
        named = []
    if len(named) != 2 or named[0] == named[1]:
        raise MatchbanditError(f"best must name two of the players 0 … {most}, such as [0, 1]; got {best!r}.")
    return named

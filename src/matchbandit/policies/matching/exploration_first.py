"""Exploration-first: the two best players help to rank the others before they are played together."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from matchbandit.errors import MatchbanditError, whole_number
from matchbandit.plans import FixedSweeps, Plan, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.fits import Fits
from matchbandit.policies.matching.adaptive_matching import AdaptiveMatching
from matchbandit.policies.matching.clusters import Clusters
from matchbandit.schedules import all_meet


class ExplorationFirst(AdaptiveMatching):
    """Sentenac et al. 2021, the exploration-first strategy of Section 4.2.3 and Lemma 4.5.

    The two best players are known. It plays one round-robin over all 2N players, over and over, and checks the other
    2N − 2 on their averages over everyone, at the end of a tournament. When a split of them is found it goes on as
    Adaptive-Matching, with the best two in a cluster of their own. Its counterpart in the lemma is adaptive-matching
    with clusters=[best, others], which plays the best two together from the start. With four players the other two are
    partners, so nothing is explored.

    Options: `best`, the two best players (by default the first two); `growth` g as in Adaptive-Matching.
    """

    name: ClassVar[str] = "exploration-first"
    summary: ClassVar[str] = "all meet all until the others split, the two best being known; then Adaptive-Matching"
    reference: ClassVar[str] = "Sentenac et al. 2021, Section 4.2.3"
    fits: ClassVar[Fits] = Fits(
        selections=("matching",), graphs=("monopartite",), proved=("regret",), horizon=True, clusters=True
    )

    def __init__(
        self, setting: Setting, rng: np.random.Generator, *, growth: float = 1.05, best: Sequence[int] = (0, 1)
    ) -> None:
        """The best two, and all others."""
        self.begin(setting, rng, growth=growth, best=best)

    def first_clusters(self) -> Clusters:
        """The best two, and all others if there are any."""
        best = self.options["best"]
        try:
            self.options["best"] = [whole_number("best", item, least=0, most=self.n - 1) for item in best]
        except (TypeError, MatchbanditError):
            self.options["best"] = []
        others = [item for item in range(self.n) if item not in self.options["best"]]
        if len(self.options["best"]) != 2 or len(others) != self.n - 2:
            raise MatchbanditError(f"best must name two of the players 0 … {self.n - 1}, such as [0, 1]; got {best!r}.")
        return [sorted(self.options["best"]), *([others] if others else [])]

    @property
    def exploring(self) -> bool:
        """Is no split of the others found yet?"""
        return not self.history and self.n > 4

    def plan(self) -> Plan:
        """All meet all, until the others' count reaches a check; afterwards Adaptive-Matching's plan."""
        if not self.exploring:
            return super().plan()
        count = self.samples(self.layout.groups[1], 0)
        missing = self.checks.following(count) - count
        return FixedSweeps(
            edges=np.arange(self.graph.n_pairs), rounds=all_meet(self.graph), limit=-(-missing // (self.n - 1))
        )

    def learn(self, tally: Tally) -> None:
        """Check the others on their averages over everyone."""
        if not self.exploring:
            super().learn(tally)
            return
        others = self.layout.groups[1]
        before = self.samples(others, 0)
        for ledger, brought in ((self.counts, tally.counts), (self.sums, tally.sums)):
            table = self.graph.matrix(brought)
            ledger[others.items] += (table + table.T)[others.items]
        count = self.samples(others, 0)
        if count >= self.checks.following(before):
            parts = self.cut(others.items, self._means(others, 0), self.checks.radius(count))
            if len(parts) > 1:
                self._split({1: parts})

    def reasons(self) -> dict[str, Any]:
        reasons = super().reasons()
        if not self.exploring:
            return {"phase": "clusters", **reasons}
        kept = [{key: value for key, value in part.items() if key != "period"} for part in reasons["clusters"]]
        return {"phase": "all meet all", **reasons, "clusters": kept, "chains": []}

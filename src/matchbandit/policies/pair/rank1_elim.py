"""Rank1Elim: rows and columns are eliminated for good, in stages, on their averages over random opponents."""

from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np

from matchbandit.confidence import NEVER
from matchbandit.plans import Sweeps, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.pair.ledger import POOLED, Interval, within
from matchbandit.policies.pair.two_sided import TwoSidedElimination


class Rank1Elim(TwoSidedElimination):
    """Rank1Elim [Katariya2017], the baseline of the pair-selection figures of [Sentenac2021].

    Sweeps as in Pair-Elim. Stage l = 0, 1, … ends when every active item has n_l = ceil(4^(l+1) log T) samples since
    the start. Then items of either side whose pooled upper bound, mean + r, is at most the best lower bound, mean − r,
    with r = 2σ sqrt(log T / n_l), are eliminated for good, and that best item is their dominator.
    """

    name: ClassVar[str] = "rank1-elim"
    summary: ClassVar[str] = "eliminate rows and columns for good, in stages, on pooled averages"
    reference: ClassVar[str] = "[Katariya2017], Rank1Elim"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair",),
        graphs=("bipartite",),
        proved=("regret",),
        horizon=True,
        eliminates=True,
        assumes_product=True,
    )
    state_fields: ClassVar[tuple[str, ...]] = (*TwoSidedElimination.state_fields, "stage")
    first_stage: ClassVar[int] = 4
    """n_0 / log T."""

    def __init__(self, setting: Setting, rng: np.random.Generator) -> None:
        """Everyone active, stage 0."""
        super().__init__(setting, rng)
        self.stage = 0

    @property
    def stage_end(self) -> int:
        """n_l; with one pair left, or nothing to tell apart in a horizon of 1, the stage never ends."""
        if self.log_horizon == 0 or len(self.rows.active) == len(self.columns.active) == 1:
            return NEVER
        return min(ceil(self.first_stage * 4.0**self.stage * self.log_horizon), NEVER)

    def plan(self) -> Sweeps:
        """Sweeps until the end of the stage."""
        return self._sweeps(None, None, limit=self.stage_end - self.rows.samples)

    def learn(self, tally: Tally) -> None:
        """Compare all items of a side, then go on to the next stage."""
        interval = self._interval(self.stage_end)
        for ledger, samples in zip((self.rows, self.columns), self._by_side(tally), strict=True):
            ledger.add(*samples)
            self.left += ledger.check(POOLED, interval, now=self.rounds, ties_lose=True)
        self.stage += 1

    def _interval(self, samples: int) -> Interval:
        """Mean ± 2σ sqrt(log T / n)."""
        return within(2 * self.setting.rewards.sigma * sqrt(self.log_horizon / samples))

    def explain_extra(self) -> dict[str, Any]:
        """All rows and columns, and the stage."""
        return {**super().explain_extra(), "details": {"stage": self.stage}}

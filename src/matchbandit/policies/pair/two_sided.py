"""What Pair-Elim and Rank1Elim share: a ledger for each side, sweeps, and the best of each side as the guess."""

from copy import deepcopy
from math import log
from typing import Any, ClassVar

import numpy as np

from matchbandit.graphs import Pairs
from matchbandit.plans import Sweeps, Tally
from matchbandit.plans.sweeps import SweepSide
from matchbandit.policies.base import Setting
from matchbandit.policies.explanation import Elimination
from matchbandit.policies.pair.ledger import Ledger
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Counts, Floats

Samples = tuple[Counts, Floats]


class TwoSidedElimination(PlannedPolicy):
    """Rows and columns, each sampled against random opponents from the other side, each with a ledger of its own."""

    state_fields: ClassVar[tuple[str, ...]] = ("rows", "columns", "left")

    def __init__(self, setting: Setting, rng: np.random.Generator) -> None:
        """Everyone active."""
        super().__init__(setting, rng)
        self.log_horizon = log(setting.horizon or 1)
        n_rows, n_columns = self.graph.shape
        self.rows = Ledger.empty("row", n_rows, n_columns)
        self.columns = Ledger.empty("column", n_columns, n_rows)
        self.left: list[Any] = []
        """The eliminations, in the order in which they came."""
        self._edges = np.tile(np.arange(self.graph.n_pairs), 2)

    @property
    def eliminations(self) -> list[Elimination]:
        """Who left when, on which average and by whom."""
        return [Elimination.restored(record) for record in self.left]

    def recommend(self) -> Pairs:
        """The active row with the best pooled average, and the active column that did best with it in both ledgers.

        The columns' own averages would not do: at the end of a window they are forgotten.
        """
        rows, columns = self._up_to_now()
        row = rows.best
        sums = rows.sums[row] + columns.sums[:, row]
        counts = rows.counts[row] + columns.counts[:, row]
        means = (sums / np.maximum(1, counts))[columns.active]
        return np.array([[row, columns.active[np.argmax(means)]]])

    def _sweeps(self, row_needs: Counts | None, column_needs: Counts | None, limit: int) -> Sweeps:
        """Sweeps of the active items until an opponent has met its need, `limit` at the most."""
        return Sweeps(
            edges=self._edges,
            rows=SweepSide(self.rows.dominators, row_needs),
            columns=SweepSide(self.columns.dominators, column_needs),
            limit=limit,
        )

    def _by_side(self, tally: Tally) -> tuple[Samples, Samples]:
        """Counts and sums of the row ledger, then of the column ledger, each (items, opponents)."""
        counts = tally.counts.reshape(2, *self.graph.shape)
        sums = tally.sums.reshape(2, *self.graph.shape)
        return (counts[0], sums[0]), (counts[1].T, sums[1].T)

    def _up_to_now(self) -> tuple[Ledger, Ledger]:
        """The two ledgers with what the unfinished plan has brought so far."""
        ledgers = deepcopy((self.rows, self.columns))
        for ledger, samples in zip(ledgers, self._by_side(self.pending), strict=True):
            ledger.add(*samples)
        return ledgers

    def explain_extra(self) -> dict[str, Any]:
        """All rows and columns, and when they are checked."""
        rows, columns = self._up_to_now()
        return {"items": rows.item_records() + columns.item_records(), "next_check": self.next_check()}

"""Pair-Elim: rows are eliminated for good, columns only for a window."""

from typing import Any, ClassVar

import numpy as np

from matchbandit.confidence import NEVER, Checks
from matchbandit.plans import FixedSweeps, Plan, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.options import Delta, Growth
from matchbandit.policies.pair.ledger import POOLED, Ledger, within
from matchbandit.policies.pair.two_sided import TwoSidedElimination
from matchbandit.policies.pair.window import WINDOW_THEOREMS, TimeScales, Window
from matchbandit.rewards import Counts, Floats


class PairElim(TwoSidedElimination):
    """Pair-Elim, appendix of [Sentenac2021]; Theorem 3.1 for regret, Theorem 3.2 for identification.

    A sweep plays every active row against a random column, for the row ledger, then every active column against a
    random row, for the column ledger; the ledgers never share samples. An average is checked when its count reaches
    k_l = ceil(4 g^l log β); its interval is then mean ± 2σ sqrt(log β / k_l). An item whose interval lies below the
    best one's, against any single opponent or over all opponents pooled, is eliminated. A drawn opponent that is
    eliminated is replaced by its dominator, the item that beat it, so that draws keep their weight.

    Rows: β = T, for the whole run. Columns: window w = 0, 1, 2, … lasts until its own samples exceed 2^(2^w), with
    β = 2^(2^w); then all that is known of columns is thrown away. So doubly sub-optimal pairs, which only columns'
    windows revive, cost O(log log T), and singly sub-optimal ones O(log T).

    Deviations from the paper as printed: w advances and the columns' intervals are reset at the end of a window (the
    paper forgets both); windows from w = 6 on never end; checks are made at the end of a sweep only, rows against each
    opponent, rows pooled, columns against each opponent, columns pooled, then the window test; dominators are
    chosen by the best average (the paper takes the largest index).

    Identification (`delta`): T becomes 1/δ and the rows' β_l = c l, see `Checks.fixed_confidence`, with K = (N+1)(M+1).
    Columns live in windows until one row is left. Then only the column half is played, from an empty ledger with all
    columns active and the rows' β_l, until one column is left: that pair is the answer, wrong with probability at most
    δ. (The paper starts with `column_explore` true; it must be false.) Equal best items can never be told apart:
    identification then has no end.

    Parameters
    ----------
    growth : float, default 4
        g; 4 is the paper's. For regret smaller values lose less under the same guarantee, and 1 checks at every chance.
    cap_windows : bool, default False
        Cap β of the windows at T (with `delta`: at 1/δ), which lowers regret; the paper does not.
    delta : float, optional
        δ, the error probability: identify the best pair instead of minimising regret.
    """

    name: ClassVar[str] = "pair-elim"
    summary: ClassVar[str] = "eliminate rows for good, columns for windows of length 2^(2^w)"
    reference: ClassVar[str] = "[Sentenac2021], Pair-Elim"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("pair",), graphs=("bipartite",), horizon=True, eliminates=True,
        goals=("regret", "identification"), proved=("regret", "identification"), theorem_options=WINDOW_THEOREMS,
        assumes_product=True,
    )  # fmt: skip
    state_fields: ClassVar[tuple[str, ...]] = (*TwoSidedElimination.state_fields, "window", "certifying")

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: Growth = 4.0,
        cap_windows: bool = False,
        delta: Delta | None = None,
    ) -> None:
        """Everyone active, window 0."""
        super().__init__(setting, rng)
        n_rows, n_columns = self.graph.shape
        n_averages = (n_rows + 1) * (n_columns + 1)
        self.scales = TimeScales.of(setting, growth=growth, cap_windows=cap_windows, delta=delta, n_averages=n_averages)
        self.row_checks = self.scales.permanent
        self.window = Window()
        self.certifying = False
        """Is the best row known, and the best column sought for good?"""
        self._certify_columns_if_due()

    @property
    def finished(self) -> bool:
        """With `delta`: is one row and, for good, one column left?"""
        return self.certifying and len(self.columns.active) == 1

    @property
    def column_checks(self) -> Checks:
        """Those of the window; the rows' once the column is certified."""
        return self.row_checks if self.certifying else self.scales.within(self.window)

    def plan(self) -> Plan:
        """Sweeps until some average is to be checked or the window ends."""
        row_needs, row_limit = _needs(self.columns, self.column_checks, self.rows.active)
        if self.certifying:
            row, columns = self.rows.active[0], self.columns.active
            column_half = self.graph.n_pairs + row * self.graph.shape[1] + columns
            return FixedSweeps(edges=self._edges, rounds=column_half[:, None], limit=row_limit)
        column_needs, column_limit = _needs(self.rows, self.row_checks, self.columns.active)
        window_limit = self.window.sweeps_left(len(self.rows.active) + len(self.columns.active))
        return self._sweeps(row_needs, column_needs, min(row_limit, column_limit, window_limit))

    def learn(self, tally: Tally) -> None:
        """Check the averages whose time has come, rows before columns; then the window."""
        of_rows, of_columns = self._by_side(tally)
        self._check(self.rows, self.row_checks, *of_rows)
        self._check(self.columns, self.column_checks, *of_columns)
        self.window.samples += int(tally.counts.sum())
        if self.window.over and not self.certifying:
            self.window = self.window.following()
            self.columns = Ledger.empty("column", *self.columns.sums.shape)
        self._certify_columns_if_due()

    def _certify_columns_if_due(self) -> None:
        if self.goal == "identification" and not self.certifying and len(self.rows.active) == 1:
            self.certifying = True
            self.columns = Ledger.empty("column", *self.columns.sums.shape)

    def _check(self, ledger: Ledger, checks: Checks, counts: Counts, sums: Floats) -> None:
        """Book new samples; on each average that has reached a scheduled count, eliminate whoever is separated."""
        before = [*ledger.met.tolist(), ledger.samples]
        ledger.add(counts, sums)
        if len(ledger.active) == 1:
            return
        window = self.window.number if ledger is self.columns and not self.certifying else None
        after, averages = [*ledger.met.tolist(), ledger.samples], [*range(len(before) - 1), POOLED]
        for opponent, had, has in zip(averages, before, after, strict=True):
            if has > had and has >= checks.following(had):
                self.left += ledger.check(opponent, within(checks.radius(has)), now=self.rounds, window=window)

    def explain_extra(self) -> dict[str, Any]:
        """All rows and columns, and the window."""
        window = None if self.certifying else self.window.describe(int(self.pending.counts.sum()))
        return {**super().explain_extra(), "details": {"window": window}}


def _needs(ledger: Ledger, checks: Checks, opponents: Counts) -> tuple[Counts | None, int]:
    """How many samples are missing to the next check: against each of these opponents, and of the pooled average."""
    if len(ledger.active) == 1:
        return None, NEVER
    against_each = [checks.following(had) - had for had in ledger.met[opponents].tolist()]
    return np.array(against_each), checks.following(ledger.samples) - ledger.samples

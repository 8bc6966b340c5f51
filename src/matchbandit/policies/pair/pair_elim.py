"""Pair-Elim: rows are eliminated for good, columns only for a window."""

from math import log
from typing import Any, ClassVar

import numpy as np

from matchbandit.confidence import NEVER, Checks
from matchbandit.errors import MatchbanditError
from matchbandit.plans import Sweeps, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.pair.ledger import POOLED, Ledger
from matchbandit.policies.pair.two_sided import TwoSidedElimination
from matchbandit.rewards import Counts, Floats

ENDLESS_WINDOW = 6
"""2^(2^6) does not fit 64 bits: from here on a window never ends."""


class PairElim(TwoSidedElimination):
    """Sentenac et al. 2021, Algorithm 1 of the appendix (Pair-Elim), regret mode; Theorem 3.1.

    A sweep plays every active row against a random column, for the row ledger, then every active column against a
    random row, for the column ledger; the ledgers never share samples. An average is checked when its count reaches
    k_l = ceil(4 g^l log β); its interval is then mean ± 2σ sqrt(log β / k_l). An item whose interval lies below the
    best one's, against any single opponent or over all opponents pooled, is eliminated. A drawn opponent that is
    eliminated is replaced by its heir, the item that beat it, so that draws keep their weight.

    Rows: β = T, for the whole run. Columns: window w = 0, 1, 2, … lasts until its own samples exceed 2^(2^w), with
    β = 2^(2^w); then all that is known of columns is thrown away. So doubly sub-optimal pairs, which only columns'
    windows revive, cost O(log log T), and singly sub-optimal ones O(log T).

    Deviations from the printed text: w advances and the columns' intervals are reset at the end of a window (the
    print forgets both); windows from w = 6 on never end; checks are made at the end of a sweep only, rows against each
    opponent, rows pooled, columns against each opponent, columns pooled, then the window test; heirs are chosen by the
    best average (the print takes the largest index).

    Options: `growth` is g; 4 is the paper's, smaller values have less regret under the same guarantee, 1 checks at
    every chance. `cap_windows` caps β of the windows at T, which lowers regret; the paper does not.
    """

    name: ClassVar[str] = "pair-elim"
    summary: ClassVar[str] = "eliminate rows for good, columns for windows of length 2^(2^w)"
    reference: ClassVar[str] = "Sentenac et al. 2021, Algorithm 1"
    remembered: ClassVar[tuple[str, ...]] = ("rows", "columns", "window", "window_samples")

    def __init__(
        self, setting: Setting, rng: np.random.Generator, *, growth: float = 4.0, cap_windows: bool = False
    ) -> None:
        """Everyone active, window 0."""
        super().__init__(setting, rng, growth=growth, cap_windows=cap_windows)
        if not isinstance(cap_windows, bool):
            raise MatchbanditError(f"cap_windows must be true or false; got {cap_windows!r}.")
        self.row_checks = Checks(growth, self.log_horizon, setting.rewards.sigma)
        self.window = 0
        self.window_samples = 0

    @property
    def column_checks(self) -> Checks:
        """β = 2^(2^w), or T if that is smaller and windows are capped."""
        log_beta = 2**self.window * log(2)
        if self.options["cap_windows"]:
            log_beta = min(log_beta, self.log_horizon)
        return Checks(self.options["growth"], log_beta, self.setting.rewards.sigma)

    @property
    def window_length(self) -> int:
        """The window ends once its samples exceed this."""
        return 2**2**self.window if self.window < ENDLESS_WINDOW else NEVER

    def plan(self) -> Sweeps:
        """Sweeps until some average is to be checked or the window ends."""
        row_needs, row_limit = _needs(self.columns, self.column_checks, self.rows.active)
        column_needs, column_limit = _needs(self.rows, self.row_checks, self.columns.active)
        length = len(self.rows.active) + len(self.columns.active)
        window_limit = (self.window_length - self.window_samples) // length + 1
        return self._sweeps(row_needs, column_needs, min(row_limit, column_limit, window_limit))

    def learn(self, tally: Tally) -> None:
        """Check the averages whose time has come, rows before columns; then the window."""
        of_rows, of_columns = self._by_side(tally)
        self._check(self.rows, self.row_checks, *of_rows)
        self._check(self.columns, self.column_checks, *of_columns)
        self.window_samples += int(tally.counts.sum())
        if self.window_samples > self.window_length:
            self.window += 1
            self.window_samples = 0
            self.columns = Ledger.empty(*self.columns.sums.shape)

    def _check(self, ledger: Ledger, checks: Checks, counts: Counts, sums: Floats) -> None:
        """Book new samples; on each average that has reached a scheduled count, eliminate whoever is separated."""
        before, pooled_before = ledger.counts.tolist(), ledger.samples
        ledger.book(counts, sums)
        if len(ledger.active) == 1:
            return
        for opponent, (had, has) in enumerate(zip(before, ledger.counts.tolist(), strict=True)):
            if has > had and has >= checks.following(had):
                ledger.check(opponent, checks.radius(has), now=self.rounds)
        if ledger.samples >= checks.following(pooled_before):
            ledger.check(POOLED, checks.radius(ledger.samples), now=self.rounds)

    def _reasons(self) -> dict[str, Any]:
        window = {
            "number": self.window,
            "samples": self.window_samples + int(self.pending.counts.sum()),
            "ends_above": self.window_length if self.window < ENDLESS_WINDOW else None,
        }
        return {**super()._reasons(), "window": window}


def _needs(ledger: Ledger, checks: Checks, opponents: Counts) -> tuple[Counts | None, int]:
    """How many samples are missing to the next check: against each of these opponents, and of the pooled average."""
    if len(ledger.active) == 1:
        return None, NEVER
    against_each = [checks.following(had) - had for had in ledger.counts[opponents].tolist()]
    return np.array(against_each), checks.following(ledger.samples) - ledger.samples

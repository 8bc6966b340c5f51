"""Every active row against a random column, then every active column against a random row, again and again."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from matchbandit.plans.base import Cells, Plan, Tally
from matchbandit.rewards import Counts, Floats

Items = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SweepSide:
    """One side's items as the opponents of the other side's."""

    dominators: Items
    """The active item that stands in for each item; an active item stands for itself."""
    needs: Counts | None
    """How often each active item must still come up as an opponent until that asks for a decision (None: never)."""

    @cached_property
    def active(self) -> Items:
        """The items that play, in index order."""
        return np.unique(self.dominators)

    @cached_property
    def chances(self) -> Floats:
        """How likely each active item is to be drawn: eliminated items leave their weight to their dominators."""
        return np.bincount(self.dominators)[self.active] / len(self.dominators)

    def draw(self, rng: np.random.Generator) -> int:
        """The opponent of one sweep."""
        return int(self.dominators[rng.integers(len(self.dominators))])


@dataclass(frozen=True, eq=False)
class Sweeps(Plan):
    """The sweeps of Pair-Elim and Rank1Elim, up to the first count that is to be checked.

    Cells have the shape (2, N, M): the row ledger, then the column ledger. A sweep draws a column and plays every
    active row against it, in index order, for the row ledger; then it draws a row and plays every active column
    against it for the column ledger. The policy decides when some opponent has met its need, and after `limit` sweeps
    at the latest.
    """

    rows: SweepSide
    columns: SweepSide

    @property
    def length(self) -> int:
        """A round for each active row and each active column."""
        return len(self.rows.active) + len(self.columns.active)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the cells."""
        return 2, len(self.rows.dominators), len(self.columns.dominators)

    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """Draw the two opponents and list who meets them."""
        _, n_rows, n_columns = self.shape
        column, row = self.columns.draw(rng), self.rows.draw(rng)
        row_half = self.rows.active * n_columns + column
        column_half = (n_rows + row) * n_columns + self.columns.active
        return np.concatenate([row_half, column_half])[:, None]

    def due(self, pending: Tally) -> bool:
        """Has an opponent met its need, or is the limit reached?"""
        pairs = ((self.columns, self._met_columns(pending)), (self.rows, self._met_rows(pending)))
        return super().due(pending) or any(s.needs is not None and bool((met >= s.needs).any()) for s, met in pairs)

    def draw(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """Two independent races; the sweeps end with the one that is won first."""
        sides = (self.columns, self.rows)
        met = (self._met_columns(pending), self._met_rows(pending))
        needs = [None if s.needs is None else s.needs - m for s, m in zip(sides, met, strict=True)]
        drawn = [draw_race(s.chances, n, most, rng) for s, n in zip(sides, needs, strict=True)]
        sweeps = min(int(d.sum()) for d in drawn)
        for k, side in enumerate(sides):
            if drawn[k].sum() > sweeps:
                drawn[k] = draw_unfinished_race(side.chances, needs[k], sweeps, rng)
        counts = np.zeros(self.shape, dtype=np.int64)
        active = self.rows.active[:, None], self.columns.active[None, :]
        counts[0, *active], counts[1, *active] = drawn[0], drawn[1][:, None]
        return sweeps, counts.ravel()

    def _met_columns(self, pending: Tally) -> Counts:
        """How often each active column was the opponent: any active row has met it so often."""
        counts = pending.counts.reshape(self.shape)
        return np.asarray(counts[0, self.rows.active[0], self.columns.active])

    def _met_rows(self, pending: Tally) -> Counts:
        counts = pending.counts.reshape(self.shape)
        return np.asarray(counts[1, self.rows.active, self.columns.active[0]])


def draw_race(chances: Floats, needs: Counts | None, most: int, rng: np.random.Generator) -> Counts:
    """How often each opponent comes up until one has met its need, in at most `most` draws.

    A draw gives opponent o with chance p_o, which is positive. Without needs all draws are made. The outcome is drawn
    without playing on; docs/engines.md has the proof.
    """
    counts = rng.multinomial(most, chances)
    if needs is None or (counts < needs).all():
        return counts  # counts only grow, so nobody had met a need before
    while True:
        # Independent Poisson streams arrive in the same order as the draws: the need_o-th arrival of o comes at
        # a Gamma(need_o) time, and given that, the need_o − 1 arrivals before it are uniform in time.
        times = rng.standard_gamma(needs) / chances
        first = int(np.argmin(times))
        counts = np.asarray(rng.binomial(needs - 1, times[first] / times), dtype=np.int64)
        counts[first] = needs[first]
        if counts.sum() <= most:  # it is known that somebody wins within `most` draws
            return counts


def draw_unfinished_race(chances: Floats, needs: Counts | None, draws: int, rng: np.random.Generator) -> Counts:
    """How often each opponent comes up in `draws` draws, given that none has met its need by then."""
    while True:
        counts = rng.multinomial(draws, chances)
        if needs is None or (counts < needs).all():
            return counts

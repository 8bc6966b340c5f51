"""What one side of a bipartite graph knows of its items, and who of them is out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.graphs import Side
from matchbandit.policies.explanation import Elimination, item_record
from matchbandit.rewards import Counts, Floats

Interval = Callable[[Floats], tuple[Floats, Floats]]
"""Lower and upper ends for given averages."""

POOLED = -1
"""The average over all opponents, where an opponent is named."""


@dataclass
class Ledger:
    """Samples of a side's items against opponents from the other side, and the eliminations that follow from them.

    All active items meet the same opponents in the same sweeps, so they share their counts: on every average, being
    beaten by anyone is the same as being beaten by the best.
    """

    side: Side
    """"row" or "column"."""
    counts: Counts
    """Samples of each item against each opponent, shape (items, opponents)."""
    sums: Floats
    active: NDArray[np.int64]
    """The items still in, in index order."""
    dominators: NDArray[np.int64]
    """The active item that stands in for each item; an active item stands for itself."""
    intervals: Floats
    """Lower and upper end of each item's pooled average at its last check, NaN before the first."""

    @classmethod
    def empty(cls, side: Side, n_items: int, n_opponents: int) -> "Ledger":
        """Nothing sampled, everyone active."""
        shape = n_items, n_opponents
        intervals = np.full((n_items, 2), np.nan)
        items = np.arange(n_items)
        return cls(side, np.zeros(shape, dtype=np.int64), np.zeros(shape), items, items.copy(), intervals)

    @property
    def met(self) -> Counts:
        """How often each active item has met each opponent."""
        return np.asarray(self.counts[self.active[0]])

    @property
    def samples(self) -> int:
        """Samples of each active item."""
        return int(self.met.sum())

    @property
    def best(self) -> int:
        """The active item with the best pooled average (ties: the lowest index)."""
        return int(self.active[np.argmax(self._means(POOLED))])

    def add(self, counts: Counts, sums: Floats) -> None:
        """Add samples, given per item and opponent."""
        self.counts += counts
        self.sums += sums

    def check(
        self, opponent: int, interval: Interval, *, now: int, window: int | None = None, ties_lose: bool = False
    ) -> list[Elimination]:
        """Eliminate whoever is separated from the best on the average against this opponent, or POOLED.

        The best on that average becomes the dominator of those that it beats (ties: the lowest index).
        """
        active, means = self.active, self._means(opponent)
        lower, upper = interval(means)
        if opponent == POOLED:
            self.intervals[active] = np.stack([lower, upper], axis=1)
        beaten = upper <= lower.max() if ties_lose else upper < lower.max()
        first = int(np.argmax(means))
        beaten[first] = False  # an interval of one point is not below itself
        if not beaten.any():
            return []
        self.active = active[~beaten]
        self.dominators[np.isin(self.dominators, active[beaten])] = active[first]
        on = "all opponents" if opponent == POOLED else opponent
        numbers = [(float(means[k]), (float(lower[k]), float(upper[k]))) for k in range(len(active))]
        return [
            Elimination(now, self.side, int(active[k]), int(active[first]), on, window, *numbers[k], *numbers[first])
            for k in np.flatnonzero(beaten)
        ]

    def _means(self, opponent: int) -> Floats:
        """The average of each active item; 0 before the first sample."""
        if opponent == POOLED:
            return np.asarray(self.sums[self.active].sum(axis=1) / max(1, self.samples))
        return np.asarray(self.sums[self.active, opponent] / max(1, int(self.met[opponent])))

    def item_records(self) -> list[dict[str, Any]]:
        """A record of each item, for `explain`."""
        counts, sums = self.counts.sum(axis=1).tolist(), self.sums.sum(axis=1).tolist()
        return [
            item_record(i, self.side, samples=counts[i], estimate=sums[i] / counts[i] if counts[i] else None,
                        active=dominator == i, dominator=dominator, interval=None if np.isnan(ends[0]) else ends)
            for i, (dominator, ends) in enumerate(zip(self.dominators.tolist(), self.intervals.tolist(), strict=True))
        ]  # fmt: skip


def within(radius: float) -> Interval:
    """The average ± a radius."""
    return lambda means: (means - radius, means + radius)

"""What one side of a bipartite graph knows of its items, and who of them is out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    counts: Counts
    """Samples of each active item against each opponent."""
    sums: Floats
    """Their sums, shape (items, opponents)."""
    dominators: NDArray[np.int64]
    """The active item that stands in for each item; an active item stands for itself."""
    out_at: NDArray[np.int64]
    """The round at which each item was eliminated, −1 while it is active."""
    out_on: NDArray[np.int64]
    """The opponent against whom it was beaten, or POOLED."""
    intervals: Floats
    """Lower and upper end of each item's pooled average at its last check, NaN before the first; once an item is out,
    of the average on which it was beaten."""

    @classmethod
    def empty(cls, n_items: int, n_opponents: int) -> "Ledger":
        """Nothing sampled, everyone active."""
        return cls(
            counts=np.zeros(n_opponents, dtype=np.int64),
            sums=np.zeros((n_items, n_opponents)),
            dominators=np.arange(n_items),
            out_at=np.full(n_items, -1),
            out_on=np.full(n_items, POOLED),
            intervals=np.full((n_items, 2), np.nan),
        )

    @property
    def active(self) -> NDArray[np.int64]:
        """The items still in, in index order."""
        return (self.out_at < 0).nonzero()[0]

    @property
    def samples(self) -> int:
        """Samples of each active item."""
        return int(self.counts.sum())

    @property
    def best(self) -> int:
        """The active item with the best pooled average (ties: the lowest index)."""
        return int(self.active[np.argmax(self._means(POOLED))])

    def book(self, counts: Counts, sums: Floats) -> None:
        """Add samples, given per item and opponent."""
        self.counts += counts[self.active[0]]
        self.sums += sums

    def check(self, opponent: int, interval: Interval, *, now: int, ties_lose: bool = False) -> None:
        """Eliminate whoever is separated from the best on the average against this opponent, or POOLED.

        The best on that average becomes the dominator of those that it beats (ties: the lowest index).
        """
        active, means = self.active, self._means(opponent)
        lower, upper = interval(means)
        beaten = upper <= lower.max() if ties_lose else upper < lower.max()
        beaten[np.argmax(means)] = False  # an interval of one point is not below itself
        shown = slice(None) if opponent == POOLED else beaten
        self.intervals[active[shown], 0], self.intervals[active[shown], 1] = lower[shown], upper[shown]
        losers = active[beaten]
        if len(losers):
            self.out_at[losers], self.out_on[losers] = now, opponent
            self.dominators[np.isin(self.dominators, losers)] = active[np.argmax(means)]

    def _means(self, opponent: int) -> Floats:
        """The average of each active item; 0 before the first sample."""
        if opponent == POOLED:
            return np.asarray(self.sums[self.active].sum(axis=1) / max(1, self.samples))
        return np.asarray(self.sums[self.active, opponent] / max(1, int(self.counts[opponent])))

    def reasons(self) -> dict[str, Any]:
        """The ledger as plain data, for `explain`."""
        estimates = self._means(POOLED).tolist() if self.samples else [None] * len(self.active)
        intervals = [None if np.isnan(i).any() else i.tolist() for i in self.intervals]
        return {
            "samples_each": self.samples,
            "active": [
                {"item": int(i), "estimate": estimate, "last_checked_interval": intervals[i]}
                for i, estimate in zip(self.active, estimates, strict=True)
            ],
            "eliminated": [
                {
                    "item": int(i),
                    "round": int(self.out_at[i]),
                    "beaten_against": "all together" if self.out_on[i] == POOLED else int(self.out_on[i]),
                    "dominator": int(self.dominators[i]),
                    "last_checked_interval": intervals[i],
                }
                for i in np.flatnonzero(self.out_at >= 0)
            ],
        }


def within(radius: float) -> Interval:
    """The average ± a radius."""
    return lambda means: (means - radius, means + radius)

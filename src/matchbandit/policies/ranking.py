"""Who is known to be better than whom: relations that only grow, and the averages that they grow from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.confidence import NEVER, Checks
from matchbandit.policies.explanation import item_record
from matchbandit.rewards import Counts, Floats

Relation = NDArray[np.bool_]


def closed(above: Relation) -> Relation:
    """The relation closed transitively: what is above something above is above; nothing is above itself.

    >>> closed(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    while True:
        steps = above.astype(np.float32)  # counts of ways are whole, and none wraps round to 0
        more = above | (steps @ steps > 0)
        if np.array_equal(more, above):
            break
        above = more
    closure = above.copy()
    np.fill_diagonal(closure, False)  # a contradiction puts an item above itself
    return closure


def ranked(above: Relation, means: Floats) -> NDArray[np.int64]:
    """All items, those with the fewest above them first; ties: the better mean, then the lower index.

    >>> ranked(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool), np.array([0.2, 0.5, 0.3])).tolist()
    [2, 0, 1]
    """
    return np.lexsort((np.arange(len(means)), -means, above.sum(axis=0)))


@dataclass
class Averages:
    """Averages of a set of items against another, each with the interval of its own last check.

    The shapes are free; `counts`, `sums`, `lower` and `upper` go together.
    """

    counts: Counts
    sums: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def empty(cls, *shape: int) -> "Averages":
        """Nothing sampled, nothing known."""
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.full(shape, -np.inf), np.full(shape, np.inf))

    def add(self, counts: Counts, sums: Floats, checks: Checks) -> None:
        """Add samples, and renew the intervals of the averages that have reached a scheduled count."""
        before = self.counts.copy()
        self.counts += counts
        self.sums += sums
        grown = np.flatnonzero(counts)
        following = _per_count(checks.following, before.ravel()[grown])
        checked = grown[self.counts.ravel()[grown] >= following]
        if len(checked):
            reached = self.counts.ravel()[checked]
            means = self.sums.ravel()[checked] / reached
            radii = _per_count(checks.radius, reached)
            self.lower.ravel()[checked], self.upper.ravel()[checked] = means - radii, means + radii

    def means(self) -> Floats:
        """The averages; 0 where nothing is sampled."""
        return np.asarray(self.sums / np.maximum(1, self.counts))

    def records(self, active: Relation, above: Relation) -> list[dict[str, Any]]:
        """A record of each player, for `explain`, where there is one average for each."""
        return [
            item_record(j, "player", samples=int(self.counts[j]), estimate=mean if self.counts[j] else None,
                        active=bool(active[j]), interval=self.at(j)[1] if np.isfinite(self.lower[j]) else None,
                        beaten_by=np.flatnonzero(above[:, j]).tolist())
            for j, mean in enumerate(self.means().tolist())
        ]  # fmt: skip

    def at(self, *place: int) -> tuple[float, tuple[float, float]]:
        """The average at its last check, the middle of its interval, and the interval."""
        low, high = float(self.lower[place]), float(self.upper[place])
        return (low + high) / 2, (low, high)

    def sweeps_to_check(self, gains: Counts, checks: Checks) -> int:
        """After how many sweeps some average reaches its next check, if each sweep adds `gains` samples."""
        grows = np.flatnonzero(gains)
        if not len(grows):
            return NEVER
        had = self.counts.ravel()[grows]
        missing = _per_count(checks.following, had).astype(np.int64) - had
        return int((-(-missing // gains.ravel()[grows])).min())


def _per_count(function: object, counts: Counts) -> NDArray[np.float64]:
    """The function of each count; equal counts, which are most, are worked out once."""
    values, places = np.unique(counts, return_inverse=True)
    return np.array([function(int(count)) for count in values])[places]  # type: ignore[operator]


def unranked(above: Relation) -> Relation:
    """Which items still have no place in the best matching: those not comparable with some other item.

    Except for one that is not comparable with exactly one other and has an even number of items above it: the two are
    partners, whatever their order.

    >>> unranked(np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)).tolist()
    [False, False, False, False]
    """
    open_with = len(above) - 1 - (above | above.T).sum(axis=1)
    partners = (open_with == 1) & (above.sum(axis=0) % 2 == 0)
    return np.asarray((open_with > 0) & ~partners)

"""Batches of rounds that grow, and how many of them explore."""

from math import ceil
from typing import NamedTuple

GROWTH, GROWTH_FOR_REGRET = 1 / 20, 1 / 40
"""A batch explores for this share of the rounds explored before it,"""
MIN_ROUNDS_PER_ITEM = 1
"""but for at least this many rounds for each item."""
TOUR_SHARE = 1 / 32
"""φ: this share of the rounds explored are whole tours, in which all meet all."""
MAX_EXPLORED_FACTOR = 8.0
"""κ: up to round t it explores for κ √(t log(F/δ)) rounds at most, besides its first tours."""


class Schedule(NamedTuple):
    """The next batch: known beforehand, from nothing but the number of batches, as long as it explores."""

    rounds: int
    explored: int
    """Of them, those that explore; the others play the best guess."""
    tours: int
    """Whole tours among those that explore; the others are chosen for what they tell."""


def next_batch(
    sampled: int, explored: int, tours: int, *, length: int, first: int, items: int, share: float, needed: float | None
) -> Schedule:
    """The batch after `sampled` rounds, of which `explored` explored, and `tours` whole tours of `length` rounds.

    It begins with `first` tours. A batch explores for max(items, 1/20 of the rounds explored) rounds, for regret 1/40,
    as what is explored beyond need is lost there. Whole tours are added as soon as they fit into 1/32 of all rounds
    explored. With rounds of the best guess it is so long that exploring takes at most `share` of it and, besides the
    first tours, at most 8 √(t needed) of the t rounds up to its end; `needed` is log(F/δ), None for identification,
    where there is no such limit.

    >>> next_batch(0, 0, 0, length=3, first=2, items=4, share=0.25, needed=9.0)
    Schedule(rounds=6, explored=6, tours=2)
    >>> next_batch(6, 6, 2, length=3, first=2, items=4, share=0.25, needed=9.0)
    Schedule(rounds=16, explored=4, tours=0)
    """
    if not explored:
        return Schedule(first * length, first * length, first)
    more = max(MIN_ROUNDS_PER_ITEM * items, ceil((GROWTH if needed is None else GROWTH_FOR_REGRET) * explored))
    add = max(0, int(TOUR_SHARE * (explored + more)) // length - tours)
    more = max(more, add * length)
    if needed is None:
        return Schedule(ceil(more / share), more, add)
    earliest = ceil(((explored + more - first * length) / MAX_EXPLORED_FACTOR) ** 2 / needed)
    return Schedule(max(ceil(more / share), earliest - sampled), more, add)

"""Batches of rounds that grow, and how many of them explore."""

from math import ceil
from typing import NamedTuple

GROWTH, GROWTH_FOR_REGRET = 1 / 20, 1 / 30
"""A batch explores for this share of the rounds explored before it,"""
MIN_ROUNDS_PER_ITEM, MIN_ROUNDS_PER_ITEM_FOR_REGRET = 1, 1 / 2
"""but for at least this many rounds for each item."""
TOUR_SHARE = 1 / 32
"""This share of the rounds explored are whole tours, in which all meet all;"""
EARLY_TOUR_SHARE, EARLY_TOUR_PLAYS = 1 / 8, 32
"""for regret this one, until each item has been played so often in whole tours."""
FORCED_SHARE = 1 / 8
"""φ: for regret, this share of the rounds explored falls evenly to all swaps at open borders."""
MAX_SHARE = 1 / 2
"""At most this share of a batch explores for regret: a swap is compared with the best guess."""
EARLY_ROUNDS_PER_ITEM = 4.0
"""Once what is open has been examined for X rounds, at least this × items/X of a batch explores,"""
ROUNDS_PER_NAT = 32.0
"""and at most this × log(C T/2n)/X."""


class Schedule(NamedTuple):
    """The next batch of identification: known beforehand, from nothing but the number of batches."""

    rounds: int
    tours: int
    """Whole tours among them; the other rounds are chosen for their information."""


def next_batch(explored: int, tours: int, *, length: int, first: int, items: int) -> Schedule:
    """The batch of identification after `explored` rounds, among them `tours` whole tours of `length` rounds.

    It begins with `first` tours. A batch has max(items, 1/20 of the rounds so far) rounds. Whole tours are added as
    soon as they fit into 1/32 of all rounds.

    >>> next_batch(0, 0, length=3, first=2, items=4)
    Schedule(rounds=6, tours=2)
    >>> next_batch(6, 2, length=3, first=2, items=4)
    Schedule(rounds=4, tours=0)
    """
    if not explored:
        return Schedule(first * length, first)
    more = max(MIN_ROUNDS_PER_ITEM * items, ceil(GROWTH * explored))
    add = max(0, int(TOUR_SHARE * (explored + more)) // length - tours)
    return Schedule(max(more, add * length), add)


class RegretSchedule(NamedTuple):
    """The next batch for regret."""

    guesses: int
    """Rounds of the best guess."""
    explored: int
    """Rounds that explore."""


def next_regret_batch(examined: float, items: int, *, share: float, needed: float) -> RegretSchedule:
    """The batch for regret after `examined` rounds that examined what is open now, X.

    It explores for X/30 rounds, at least for half a round per item. These are a part of the batch that is `share`, but
    at least 4 items/X, and at most 32 `needed`/X and a half.

    >>> next_regret_batch(6, 4, share=0.1, needed=10.0)
    RegretSchedule(guesses=2, explored=2)
    >>> next_regret_batch(6000, 4, share=0.1, needed=10.0)
    RegretSchedule(guesses=3550, explored=200)
    """
    rounds = ceil(max(MIN_ROUNDS_PER_ITEM_FOR_REGRET * items, GROWTH_FOR_REGRET * examined))
    examined = max(1.0, examined)
    part = min(MAX_SHARE, max(share, EARLY_ROUNDS_PER_ITEM * items / examined), ROUNDS_PER_NAT * needed / examined)
    return RegretSchedule(ceil(rounds / part) - rounds, rounds)

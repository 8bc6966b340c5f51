"""What the pairs of a league have paid so far: plays and sums of each pair that has a result.

Plain arrays that grow, with a dict from pair to place: a result costs about a microsecond.
"""

from array import array
from math import floor, inf, ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.rewards import Counts, Floats

_BITS = 32
_MASK = (1 << _BITS) - 1
_LARGEST_EXPONENT = 500.0
"""Of two, in a weight: before it is reached, all weights are divided by a power of two, which rounds nothing."""
_VANISHED = 10_000
"""Of two: nothing is left of a float that is halved so often."""
_INTEGERS = ("a", "b", "counts", "last", "second_last", "touched")
"""Columns of whole numbers."""


def key_of(a: int, b: int) -> int:
    """A pair of ids as one number, quicker to look up than a tuple."""
    return a << _BITS | b


def pair_of(key: int) -> tuple[int, int]:
    """The ids of both.

    >>> pair_of(key_of(3, 7))
    (3, 7)
    """
    return key >> _BITS, key & _MASK


def pairs_of(keys: Counts) -> tuple[Counts, Counts]:
    """`pair_of` for arrays."""
    return keys >> _BITS, keys & _MASK


class Results(NamedTuple):
    """A copy of the tally as arrays, a place for each pair with a result, in the order of first results."""

    a: Counts
    b: Counts
    counts: Counts
    """Results of each pair, not faded."""
    paid: Floats
    """What they paid in total."""
    plays: Floats
    """Results as the policy counts them: faded, if it has a half-life."""
    sums: Floats
    """What it was credited with: coins flipped, slips clipped, faded."""
    last: Counts
    """The number of the last proposal in which the pair met; 0: before the first."""
    touched: Counts
    """The seq of the event that changed it last."""


class Tally:
    """Plays and sums by pair. Faded ones, if there is a half-life, are kept beside them.

    A result of proposal k weighs 2^(k/h − shift): rather than all that is old for less, the new counts for more. So a
    late result has the age of its proposal, and the order in which results arrive does not matter.
    """

    def __init__(self) -> None:
        """No results."""
        self.index: dict[int, int] = {}
        self.a, self.b, self.counts, self.last, self.second_last, self.touched = (array("q") for _ in range(6))
        # The numbers of the two last proposals in which a pair met. A result of either may be undone; of a pair whose
        # two last meetings are undone, earlier ones count no more for rematches.
        self.paid, self.sums = array("d"), array("d")
        self.low, self.high = -inf, inf
        """The range of a reward."""
        self.half_life: float | None = None
        self.shift = 0
        self.faded_plays, self.faded_sums = array("d"), array("d")

    def __len__(self) -> int:
        """Pairs that have, or had, a result."""
        return len(self.index)

    @property
    def n_results(self) -> int:
        """Results of all pairs."""
        return int(_whole(self.counts).sum())

    def _place(self, key: int) -> int:
        """Where the pair stands; at the end, if it is new."""
        place = self.index.get(key)
        if place is None:
            place = self.index[key] = len(self.a)
            a, b = pair_of(key)
            self.a.append(a)
            self.b.append(b)
            self.counts.append(0)
            self.last.append(0)
            self.second_last.append(0)
            self.touched.append(0)
            self.paid.append(0.0)
            self.sums.append(0.0)
            if self.half_life is not None:
                self.faded_plays.append(0.0)
                self.faded_sums.append(0.0)
        return place

    def add(self, key: int, number: int, seq: int, reward: float, encode_rewards: float, count: int = 1) -> None:
        """Results of a proposal: so many, what they paid in total, and what the policy is credited with."""
        place = self._place(key)
        self.counts[place] += count
        self.paid[place] += reward
        self.sums[place] += encode_rewards
        self.touched[place] = seq
        if number > self.last[place]:
            self.last[place], self.second_last[place] = number, self.last[place]
        elif self.second_last[place] < number < self.last[place]:
            self.second_last[place] = number
        if self.half_life is not None:
            weight = self._weight(number)
            self.faded_plays[place] += weight * count
            self.faded_sums[place] += weight * encode_rewards

    def remove(self, key: int, number: int, seq: int, reward: float, encode_rewards: float) -> None:
        """Undo one result. A pair that has none left is as good as new: rounding leaves no trace of it."""
        place = self.index[key]
        self.counts[place] -= 1
        self.touched[place] = seq
        if number == self.last[place]:
            self.last[place], self.second_last[place] = self.second_last[place], 0
        elif number == self.second_last[place]:
            self.second_last[place] = 0
        self.paid[place] = self._within(self.paid[place] - reward, self.counts[place])
        self.sums[place] = self._within(self.sums[place] - encode_rewards, self.counts[place])
        if self.half_life is not None:
            weight = self._weight(number)
            left = max(self.faded_plays[place] - weight, 0.0) if self.counts[place] else 0.0
            self.faded_plays[place] = left
            self.faded_sums[place] = self._within(self.faded_sums[place] - weight * encode_rewards, left)

    def _within(self, total: float, plays: float) -> float:
        """What so many plays can pay: differences of floats may leave that range by a rounding."""
        return min(max(total, self.low * plays), self.high * plays) if plays else 0.0

    def _weight(self, number: int) -> float:
        """2^(k/h − shift), with a higher shift for all if this were too large for a float."""
        assert self.half_life is not None
        exponent = number / self.half_life - self.shift
        if exponent > _LARGEST_EXPONENT:
            more = floor(exponent)
            for part in (self.faded_plays, self.faded_sums):
                part[:] = array("d", np.ldexp(np.array(part), -min(more, _VANISHED)).tolist())
            self.shift += more
            exponent = number / self.half_life - self.shift
        whole = floor(exponent)
        return ldexp(2.0 ** (exponent - whole), max(whole, -_VANISHED))

    def fade_by(self, half_life: float | None, number: int) -> None:
        """Let results fade from now on, or no longer; what is known so far counts as if it were of this proposal.

        From one half-life to another, what has faded stays faded.
        """
        if half_life == self.half_life:
            return
        plays, sums = self.faded(number)
        self.half_life, self.shift = half_life, 0
        self.faded_plays, self.faded_sums = array("d"), array("d")
        if half_life is not None:
            weight = self._weight(number)
            self.faded_plays, self.faded_sums = (array("d", (part * weight).tolist()) for part in (plays, sums))

    def faded(self, number: int) -> tuple[Floats, Floats]:
        """Plays and credited sums as they count once proposal `number` is told: its own results in full."""
        if self.half_life is None:
            return np.array(self.counts, dtype=np.float64), np.array(self.sums)
        exponent = number / self.half_life - self.shift
        whole = floor(exponent)
        scale = 2.0 ** (exponent - whole)
        halved = min(whole, _VANISHED)
        return tuple(np.ldexp(np.array(part) / scale, -halved) for part in (self.faded_plays, self.faded_sums))

    def recompute_credits(self, encode_rewards: Floats, seq: int) -> None:
        """Other credited sums for all pairs, as another policy counts them; what has faded fades in proportion."""
        if self.half_life is not None:
            counts = np.array(self.counts, dtype=np.float64)
            share = np.divide(np.array(self.faded_plays), counts, out=np.zeros(len(counts)), where=counts > 0)
            self.faded_sums = array("d", (share * encode_rewards).tolist())
        self.sums = array("d", encode_rewards.tolist())
        self.touched = array("q", [seq]) * len(self.touched)

    def results(self, number: int) -> Results:
        """A copy as arrays; `number` is that of the last proposal."""
        plays, sums = self.faded(number)
        a, b, counts, last, touched = (_whole(part) for part in (self.a, self.b, self.counts, self.last, self.touched))
        return Results(a, b, counts, np.array(self.paid), plays, sums, last, touched)

    def met_since(self, number: int) -> list[int]:
        """Pairs whose last meeting was in this proposal or a later one."""
        places = np.flatnonzero(_whole(self.last) >= number).tolist()
        return [self.a[place] << _BITS | self.b[place] for place in places if self.counts[place]]

    def of_pair(self, key: int) -> tuple[int, float]:
        """Results of this pair, and what they paid in total."""
        place = self.index.get(key)
        return (0, 0.0) if place is None else (self.counts[place], self.paid[place])

    def described(self) -> dict[str, Any]:
        """All of it, for a snapshot."""
        whole = {name: _whole(getattr(self, name)) for name in _INTEGERS}
        parts = {name: np.array(getattr(self, name)) for name in ("paid", "sums", "faded_plays", "faded_sums")}
        return {**whole, **parts, "half_life": self.half_life, "shift": self.shift}

    @classmethod
    def from_description(cls, described: dict[str, Any]) -> "Tally":
        """What `described` described."""
        tally = cls()
        for name in _INTEGERS:
            setattr(tally, name, array("q", described[name].astype("<i8").tobytes()))
        for name in ("paid", "sums", "faded_plays", "faded_sums"):
            setattr(tally, name, array("d", described[name].tobytes()))
        tally.half_life, tally.shift = described["half_life"], described["shift"]
        keys = described["a"] << _BITS | described["b"]
        tally.index = dict(zip(keys.tolist(), range(len(keys)), strict=True))
        return tally


def _whole(part: "array[int]") -> NDArray[np.int64]:
    return np.array(part, dtype=np.int64)

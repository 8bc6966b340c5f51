"""Plays and rewards of each pair of a league that has a result.

Growing arrays and a dict from pair key to index: adding a result takes about a microsecond.
"""

from array import array
from math import floor, inf, ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.rewards import Counts, Floats

_BITS = 32
_MASK = (1 << _BITS) - 1
_MAX_EXPONENT = 500.0
"""Largest power of two in a weight: before it is exceeded, all weights are divided by a power of two exactly."""
_VANISHED = 10_000
"""Halvings after which any float is 0."""
_INTEGERS = ("a", "b", "counts", "last", "second_last", "touched")
"""Integer columns."""


def key_of(a: int, b: int) -> int:
    """A pair of ids as one integer, which is faster to look up than a tuple."""
    return a << _BITS | b


def pair_of(key: int) -> tuple[int, int]:
    """Inverse of `key_of`.

    >>> pair_of(key_of(3, 7))
    (3, 7)
    """
    return key >> _BITS, key & _MASK


def pairs_of(keys: Counts) -> tuple[Counts, Counts]:
    """`pair_of` for arrays."""
    return keys >> _BITS, keys & _MASK


class Results(NamedTuple):
    """A copy of the tally as arrays: one entry per pair with a result, in the order of first results."""

    a: Counts
    b: Counts
    counts: Counts
    """Results per pair, without fading."""
    paid: Floats
    """Total rewards."""
    plays: Floats
    """Results as the policy counts them: discounted if it has a half-life."""
    sums: Floats
    """Total credits of the policy: coins flipped, outliers clipped, discounted."""
    last: Counts
    """The last proposal in which the pair met; 0: before the first."""
    touched: Counts
    """The last event that changed the pair."""


class Tally:
    """Plays and sums by pair, and their discounted values if there is a half-life h.

    A result of proposal k has the weight 2^(k/h − shift): newer results weigh more, instead of older ones less. So a
    late result has the age of its proposal, and the order in which results arrive does not matter.
    """

    def __init__(self) -> None:
        """An empty tally."""
        self.index: dict[int, int] = {}
        self.a, self.b, self.counts, self.last, self.second_last, self.touched = (array("q") for _ in range(6))
        # `last` and `second_last` are the last two proposals in which a pair met: a result of either may be undone.
        # Once both are, earlier meetings no longer count as rematches.
        self.paid, self.sums = array("d"), array("d")
        self.low, self.high = -inf, inf
        """The range of a reward."""
        self.half_life: float | None = None
        self.shift = 0
        self.faded_plays, self.faded_sums = array("d"), array("d")

    def __len__(self) -> int:
        """Number of pairs that have or had a result."""
        return len(self.index)

    @property
    def n_results(self) -> int:
        """Number of results of all pairs."""
        return int(_whole(self.counts).sum())

    def _place(self, key: int) -> int:
        """The index of a pair; a new one is appended."""
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

    def add(self, key: int, number: int, seq: int, reward: float, credit: float, count: int = 1) -> None:
        """Add `count` results of a proposal, with their total reward and total credit."""
        place = self._place(key)
        self.counts[place] += count
        self.paid[place] += reward
        self.sums[place] += credit
        self.touched[place] = seq
        if number > self.last[place]:
            self.last[place], self.second_last[place] = number, self.last[place]
        elif self.second_last[place] < number < self.last[place]:
            self.second_last[place] = number
        if self.half_life is not None:
            weight = self._weight(number)
            self.faded_plays[place] += weight * count
            self.faded_sums[place] += weight * credit

    def remove(self, key: int, number: int, seq: int, reward: float, credit: float) -> None:
        """Undo one result. A pair without results is reset exactly: no rounding error remains."""
        place = self.index[key]
        self.counts[place] -= 1
        self.touched[place] = seq
        if number == self.last[place]:
            self.last[place], self.second_last[place] = self.second_last[place], 0
        elif number == self.second_last[place]:
            self.second_last[place] = 0
        self.paid[place] = self._within(self.paid[place] - reward, self.counts[place])
        self.sums[place] = self._within(self.sums[place] - credit, self.counts[place])
        if self.half_life is not None:
            weight = self._weight(number)
            left = max(self.faded_plays[place] - weight, 0.0) if self.counts[place] else 0.0
            self.faded_plays[place] = left
            self.faded_sums[place] = self._within(self.faded_sums[place] - weight * credit, left)

    def _within(self, total: float, plays: float) -> float:
        """Clip a total to what this many plays can pay: a difference of floats may leave that range by rounding."""
        return min(max(total, self.low * plays), self.high * plays) if plays else 0.0

    def _weight(self, number: int) -> float:
        """2^(k/h − shift), with a larger shift for all if it would overflow."""
        assert self.half_life is not None
        exponent = number / self.half_life - self.shift
        if exponent > _MAX_EXPONENT:
            more = floor(exponent)
            for part in (self.faded_plays, self.faded_sums):
                part[:] = array("d", np.ldexp(np.array(part), -min(more, _VANISHED)).tolist())
            self.shift += more
            exponent = number / self.half_life - self.shift
        whole = floor(exponent)
        return ldexp(2.0 ** (exponent - whole), max(whole, -_VANISHED))

    def fade_by(self, half_life: float | None, number: int) -> None:
        """Set or remove the half-life; earlier results count as if they were of this proposal.

        A change of the half-life keeps the discount so far.
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
        """Discounted plays and sums as of proposal `number`, whose own results count in full."""
        if self.half_life is None:
            return np.array(self.counts, dtype=np.float64), np.array(self.sums)
        exponent = number / self.half_life - self.shift
        whole = floor(exponent)
        scale = 2.0 ** (exponent - whole)
        halved = min(whole, _VANISHED)
        return tuple(np.ldexp(np.array(part) / scale, -halved) for part in (self.faded_plays, self.faded_sums))

    def recompute_credits(self, credits: Floats, seq: int) -> None:
        """Replace the credits of all pairs when the policy changes; discounts are kept in proportion."""
        if self.half_life is not None:
            counts = np.array(self.counts, dtype=np.float64)
            share = np.divide(np.array(self.faded_plays), counts, out=np.zeros(len(counts)), where=counts > 0)
            self.faded_sums = array("d", (share * credits).tolist())
        self.sums = array("d", credits.tolist())
        self.touched = array("q", [seq]) * len(self.touched)

    def results(self, number: int) -> Results:
        """A copy as arrays; `number` is that of the last proposal."""
        plays, sums = self.faded(number)
        a, b, counts, last, touched = (_whole(part) for part in (self.a, self.b, self.counts, self.last, self.touched))
        return Results(a, b, counts, np.array(self.paid), plays, sums, last, touched)

    def met_since(self, number: int) -> list[int]:
        """Keys of pairs that last met in this proposal or a later one."""
        places = np.flatnonzero(_whole(self.last) >= number).tolist()
        return [self.a[place] << _BITS | self.b[place] for place in places if self.counts[place]]

    def of_pair(self, key: int) -> tuple[int, float]:
        """Number of results of a pair and their total reward."""
        place = self.index.get(key)
        return (0, 0.0) if place is None else (self.counts[place], self.paid[place])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a snapshot."""
        whole = {name: _whole(getattr(self, name)) for name in _INTEGERS}
        parts = {name: np.array(getattr(self, name)) for name in ("paid", "sums", "faded_plays", "faded_sums")}
        return {**whole, **parts, "half_life": self.half_life, "shift": self.shift}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Tally":
        """Inverse of `to_dict`."""
        tally = cls()
        for name in _INTEGERS:
            setattr(tally, name, array("q", values[name].astype("<i8").tobytes()))
        for name in ("paid", "sums", "faded_plays", "faded_sums"):
            setattr(tally, name, array("d", values[name].tobytes()))
        tally.half_life, tally.shift = values["half_life"], values["shift"]
        keys = values["a"] << _BITS | values["b"]
        tally.index = dict(zip(keys.tolist(), range(len(keys)), strict=True))
        return tally


def _whole(part: "array[int]") -> NDArray[np.int64]:
    return np.array(part, dtype=np.int64)

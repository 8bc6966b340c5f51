"""Choose ticks and their labels."""

from collections.abc import Sequence
from math import ceil, floor, log10

from matchbandit.formatting import grouped, power_of_ten, short

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def words_for(ticks: Sequence[float], *, log: bool = False) -> list[str]:
    """The numbers at these ticks, in one manner for all of an axis."""
    largest, smallest = max((abs(t) for t in ticks), default=0.0), min((abs(t) for t in ticks if t), default=1.0)
    if log and (largest >= 1e6 or smallest < 1e-3):
        return [short(t) if 1e-3 <= t < 1e4 else power_of_ten(t, floor(log10(t) + 1e-12)) for t in ticks]
    if largest >= 1e6 or 0 < largest < 1e-3:
        return [power_of_ten(t, floor(log10(largest) + 1e-12)) for t in ticks]
    return [grouped(t) for t in ticks]


def even_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high, evenly apart, at most so many.

    >>> even_ticks(0, 200_000, 6)
    [0.0, 50000.0, 100000.0, 150000.0, 200000.0]
    """
    if not high > low:
        return [low]
    for magnitude in range(floor(log10((high - low) / max(most, 1))) - 1, floor(log10(high - low)) + 2):
        for step in _STEPS[:-1]:
            width = step * 10.0**magnitude
            first, last = ceil(low / width - 1e-9), floor(high / width + 1e-9)
            if last - first + 1 <= max(most, 1):
                return [float(f"{k * width:.12g}") for k in range(first, last + 1)] or [low]
    return [low]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten from low to high, at most so many; within few of them also twice and five times those.

    >>> log_ticks(1, 1e12, 5)
    [1.0, 1000.0, 1000000.0, 1000000000.0, 1000000000000.0]
    >>> log_ticks(20, 400, 5)
    [20.0, 50.0, 100.0, 200.0]
    """
    within = [
        _among(low, high, multiples) for multiples in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3))
    ]  # the closer together, the rounder they need not be
    powers = _among(low, high, (1,))
    if len(powers) >= 3 or (len(powers) == 2 and most < 4):
        every = max(1, ceil((len(powers) - 1) / max(most - 1, 1)))
        return powers[::every]
    for ticks in within:
        if min(3, most) <= len(ticks) <= most:
            return ticks
    evenly = [t for t in even_ticks(low, high, most) if t > 0]
    return evenly if len(evenly) > 1 or not powers else powers[:1]


def _among(low: float, high: float, multiples: Sequence[float]) -> list[float]:
    exponents = range(floor(log10(low)) - 1, ceil(log10(high)) + 1)
    all_of_them = (float(f"{m * 10.0**e:.12g}") for e in exponents for m in multiples)
    return [t for t in all_of_them if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]


def unlabelled_log_ticks(low: float, high: float) -> list[float]:
    """Twice to nine times the powers of ten from low to high; none if there are many powers."""
    return _among(low, high, range(2, 10)) if log10(high / low) <= 7 else []

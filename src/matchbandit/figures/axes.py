"""The limits of a chart's axes, their ticks and the labels of these."""

from collections.abc import Sequence
from math import ceil, floor, log10

import numpy as np

from matchbandit.figures.chart import MAX_MARKERS, Chart, Numbers
from matchbandit.formatting import grouped, power_of_ten, short

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def x_limits(chart: Chart) -> tuple[float, float]:
    """Return the ends of the x axis: all points and marks, with a margin."""
    if chart.rows:
        return -0.5, len(chart.rows) - 0.5
    marks = [mark.at for mark in chart.marks if mark.axis == "x"]
    x = _drawable(np.concatenate([*(line.x for line in chart.lines), marks]), log=chart.x_log)
    if not len(x):
        return (1.0, 10.0) if chart.x_log else (0.0, 1.0)
    low, high = float(x.min()), float(x.max())
    has_few = all(len(line.x) <= MAX_MARKERS for line in chart.lines if line.kind != "reference")
    if chart.x_log:
        spare = (high / low) ** (0.03 if has_few else 0.01) if high > low else 2.0
        return low / spare, high * spare
    if 0 < low < 0.06 * high and chart.x_ticks is None:
        low = 0.0
    spare = 0.03 * (high - low) if high > low else max(abs(low) / 2, 0.5)
    starts_at_zero = low == 0 and high > 0 and not has_few
    return (low if starts_at_zero else low - spare), high + (spare if has_few else 0.01 * (high - low))


def y_limits(chart: Chart) -> tuple[float, float]:
    """Return the ends of the y axis: all means, references and bands; on a logarithmic axis no band far below them.

    Where values of a logarithmic axis are not positive, there is more space at its foot for their markers.
    """
    if chart.y_range is not None:
        return chart.y_range
    means = _drawable(np.concatenate([np.zeros(0), *(line.y for line in chart.lines)]), log=chart.y_log)
    bands = [part for line in chart.lines for part in (line.low, line.high) if part is not None]
    marks = np.array([mark.at for mark in chart.marks if mark.axis == "y"])
    values = _drawable(np.concatenate([means, marks, *bands]), log=chart.y_log)
    if not len(values):
        return (1.0, 10.0) if chart.y_log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if chart.y_log:
        low = max(low, float(means.min()) / 3) if len(means) else low
        spare = max((high / low) ** 0.05, 1.15)
        return low / (spare**3 if has_zeros(chart) else spare), high * spare
    spare = 0.05 * (high - low) if high > low else max(abs(high) / 2, 0.5)
    return (0.0 if low >= 0 else low - spare), high + spare


def has_zeros(chart: Chart) -> bool:
    """Return whether values are not positive on a logarithmic y axis, so that they are marked at its foot."""
    return chart.y_log and any((line.y <= 0).any() for line in chart.lines)


def _drawable(values: Numbers, *, log: bool) -> Numbers:
    """Return the values that have a place on an axis."""
    finite = values[np.isfinite(values)]
    return finite[finite > 0] if log else finite


def tick_labels(ticks: Sequence[float], *, log: bool = False) -> list[str]:
    """Return the numbers at these ticks, in one notation for all of an axis."""
    largest, smallest = max((abs(t) for t in ticks), default=0.0), min((abs(t) for t in ticks if t), default=1.0)
    if log and (largest >= 1e6 or smallest < 1e-3):
        return [short(t) if 1e-3 <= t < 1e4 else power_of_ten(t, floor(log10(t) + 1e-12)) for t in ticks]
    if largest >= 1e6 or 0 < largest < 1e-3:
        return [power_of_ten(t, floor(log10(largest) + 1e-12)) for t in ticks]
    return [grouped(t) for t in ticks]


def even_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from low to high, evenly apart, at most `most`.

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
    """Return powers of ten from low to high, at most `most`; multiples of them where they are few.

    >>> log_ticks(1, 1e12, 5)
    [1.0, 1000.0, 1000000.0, 1000000000.0, 1000000000000.0]
    >>> log_ticks(20, 400, 5)
    [20.0, 50.0, 100.0, 200.0]
    """
    within = [
        _among(low, high, multiples) for multiples in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3))
    ]  # the finest that fits
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
    candidates = (float(f"{m * 10.0**e:.12g}") for e in exponents for m in multiples)
    return [t for t in candidates if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]


def unlabelled_log_ticks(low: float, high: float) -> list[float]:
    """Return twice to nine times the powers of ten from low to high; none if there are many powers."""
    return _among(low, high, range(2, 10)) if log10(high / low) <= 7 else []

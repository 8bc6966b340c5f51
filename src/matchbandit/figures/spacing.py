"""Distances between labels."""

from collections.abc import Sequence
from itertools import accumulate


def spread_apart(heights: Sequence[float], gaps: float | Sequence[float], *, low: float, high: float) -> list[float]:
    """Move rising heights apart: the nearest ones in the same order with this gap, or these gaps, inside low and high.

    The outermost stay half a gap inside the limits. Without enough space for all, they exceed `high`.

    >>> spread_apart([0.0, 0.1, 0.8], 0.25, low=-1.0, high=1.0)
    [-0.075, 0.175, 0.8]
    >>> spread_apart([0.0, 0.0], [0.5], low=0.0, high=2.0)
    [0.25, 0.75]
    """
    if not isinstance(gaps, Sequence):
        gaps = [gaps] * max(len(heights) - 1, 0)
    offsets = list(accumulate(gaps, initial=0.0))[
        : len(heights)
    ]  # of each above the first, if all stood as close as they may
    groups: list[tuple[float, int]] = []  # each: where its first would stand without its offset, and how many there are
    for height, offset in zip(heights, offsets, strict=True):
        start, size = height - offset, 1
        while groups and start < groups[-1][0]:
            first, before = groups.pop()
            start, size = (first * before + start * size) / (before + size), before + size
        groups.append((start, size))
    edges = (gaps[0] / 2, gaps[-1] / 2) if gaps else (0.0, 0.0)
    most = high - edges[1] - sum(gaps)
    starts = [max(min(start, most), low + edges[0]) for start, size in groups for _ in range(size)]
    return [round(start + offset, 12) for start, offset in zip(starts, offsets, strict=True)]

"""What a figure shows, as typed data: lines, bands, marks and words. Drawing comes second."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Kind = Literal["line", "points", "reference"]


@dataclass(frozen=True, eq=False)
class Line:
    """One curve, or one set of points, and the band around it."""

    label: str
    """What stands at its end, or in the legend."""
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    """The band, or the bars of points: 5–95 % of the runs unless the chart's caption says otherwise."""
    key: str = ""
    """Whose colour, dash and marker it takes: a policy's name; else any name of its own."""
    kind: Kind = "line"
    """A line; points alone, such as published numbers; or a thin grey reference."""
    dash: Literal["solid", "dashed", "dotted"] | None = None
    """In place of the one that belongs to its key."""
    hollow: bool = False
    """Empty markers: published numbers, policies without a proof."""


@dataclass(frozen=True)
class Mark:
    """A place on an axis that has a name, such as the end of a window, or the ratio 1."""

    at: float
    label: str = ""
    axis: Literal["x", "y"] = "x"


@dataclass(frozen=True)
class Chart:
    """A figure before it is drawn."""

    name: str
    """Its file name."""
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    caption: str = ""
    """The instance, the runs, the seed, what the band is."""
    x_log: bool = False
    y_log: bool = False
    x_ticks: tuple[float, ...] | None = None
    """Where ticks stand, if the places are few and known."""
    marks: tuple[Mark, ...] = ()

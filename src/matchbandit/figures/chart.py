"""What a figure shows, as typed data: lines, bands, marks and words. Drawing comes second."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from matchbandit.formatting import grouped, short

Numbers = NDArray[np.float64]
Kind = Literal["line", "points", "cloud", "reference"]
Dash = Literal["solid", "dashed", "dotted"]
MAX_ROWS = 24
"""Of the table beside a figure; of longer curves it shows evenly spread positions, and the last."""
MAX_MARKERS = 24
"""Points of a line that has a marker at each of them."""


@dataclass(frozen=True, eq=False)
class Line:
    """One curve, or one set of points, and the band around it."""

    label: str
    """What stands at its end, or in the legend; without one it has no name, and no column in the table."""
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    """The band, or the bars of points: 5–95 % of the runs unless the chart's caption says otherwise."""
    key: str = ""
    """Whose colour, dash and marker it takes: a policy's name; else any name of its own."""
    kind: Kind = "line"
    """A line; points alone, such as published numbers; a cloud of single runs, small and pale; or a thin reference,
    grey unless it has a key."""
    dash: Dash | None = None
    """In place of the one that belongs to its key."""
    hollow: bool = False
    """Empty markers: published numbers, policies without a proof."""
    strong: bool = False
    """Drawn stronger than the others, since the figure is about it."""


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
    y_range: tuple[float, float] | None = None
    """What is shown of the y axis, if not everything."""
    rows: tuple[str, ...] = ()
    """Names of the places x = 0, 1, 2, …: then the chart is drawn lying, a row for each name from top to bottom, and
    y, still what is measured, runs from left to right."""

    @property
    def has_shared_rows(self) -> bool:
        """Do lines have points in several rows, so that a row has several points, and names stand in a legend?"""
        return bool(self.rows) and any(len(line.x) > 1 for line in self.lines if line.kind != "cloud")

    def numbers(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """The table beside the figure: its heads, and its rows: x, and of each line the mean (low to high).

        >>> x, mean, low, high = np.array([[1.0, 200.0], [0.5, 12.0], [0.1, 10.0], [1.0, 15.0]])
        >>> heads, rows = Chart("one", "Regret", "round", "regret", (Line("uts", x, mean, low, high),)).numbers()
        >>> print(heads, *(" | ".join(row) for row in rows), sep="; ")
        ('round', 'uts'); 1 | 0.5 (0.1 to 1); 200 | 12 (10 to 15)
        """
        named = [line for line in self.lines if line.label and line.kind != "cloud" and len(line.x)]
        if self.has_shared_rows:
            return (self.x_label, *(line.label for line in named)), tuple(
                (name, *(_told(line, float(at)) for line in named)) for at, name in enumerate(self.rows)
            )
        if self.rows:
            return (self.x_label, self.y_label), tuple((name, self._of_row(at)) for at, name in enumerate(self.rows))
        places = np.unique(np.concatenate([line.x for line in named if line.kind != "points"] or [np.zeros(0)]))
        single = np.concatenate([line.x for line in named if line.kind == "points"] or [np.zeros(0)])
        places = np.unique(np.concatenate([_some(places), single]))
        rows = tuple((_place(float(x)), *(_told(line, float(x)) for line in named)) for x in places)
        labels = [line.label for line in named]
        heads = (f"{line.key}: {line.label}" if labels.count(line.label) > 1 else line.label for line in named)
        return (self.x_label, *heads), rows

    def _of_row(self, at: int) -> str:
        told = [_told(line, float(at)) for line in self.lines if line.label and line.kind != "cloud"]
        return "; ".join(text for text in told if text)


def _some(places: Numbers) -> Numbers:
    """These places; every so many of them, and the last, if they are many."""
    if len(places) <= MAX_ROWS:
        return places
    chosen: Numbers = places[np.unique(np.linspace(0, len(places) - 1, MAX_ROWS).round().astype(int))]
    return chosen


def _place(x: float) -> str:
    """A place along x: whole numbers in full."""
    return grouped(x) if x.is_integer() and abs(x) < 1e7 else short(x)


def _told(line: Line, x: float) -> str:
    """What this line says at x; nothing where it has no point."""
    found = np.flatnonzero(line.x == x)
    if not len(found):
        return ""
    at = found[-1]
    text = short(float(line.y[at]))
    if line.low is None or line.high is None:
        return text
    return f"{text} ({short(float(line.low[at]))} to {short(float(line.high[at]))})"

"""Charts as data: series with bands, rules, titles and axes; drawn with matplotlib, described in Vega-Lite."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.files import writable_file, write_atomically
from matchbandit.formatting import grouped, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = NDArray[np.float64]
Kind = Literal["line", "points", "cloud", "reference"]
Dash = Literal["solid", "dashed", "dotted"]
MAX_ROWS = 24
"""Of the table beside a chart; of longer curves it shows evenly spread positions, and the last."""
MAX_MARKERS = 24
"""Points of a line that has a marker at each of them."""


@dataclass(frozen=True, eq=False)
class Series:
    """One curve, or one set of points, and the band around it."""

    label: str
    """Its name at its end or in the legend; without one it has no column in the table."""
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    """The band, or the bars of points: 5–95 % of the runs unless the chart's caption says otherwise."""
    key: str = ""
    """What decides its colour, dash and marker: a policy's name, or any other."""
    kind: Kind = "line"
    """A line; points alone, such as published numbers; a cloud of single runs, small and pale; or a thin reference
    line, grey unless it has a key."""
    dash: Dash | None = None
    """Instead of the dash that its key decides."""
    is_hollow: bool = False
    """Hollow markers: published numbers, policies without a proof."""
    is_bold: bool = False
    """Drawn stronger than the others, because the chart is about it."""


@dataclass(frozen=True)
class Rule:
    """A labelled position on an axis, such as the end of a window, or the ratio 1."""

    at: float
    label: str = ""
    axis: Literal["x", "y"] = "x"


@dataclass(frozen=True)
class Chart:
    """A chart before it is drawn."""

    name: str
    """Its file name, without a suffix."""
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    caption: str = ""
    """The instance, the runs, the seed, and what the band is."""
    x_log: bool = False
    y_log: bool = False
    x_ticks: tuple[float, ...] | None = None
    """The positions of ticks, if these are few and known."""
    rules: tuple[Rule, ...] = ()
    y_range: tuple[float, float] | None = None
    """The part of the y axis that is shown, if not all of it."""
    categories: tuple[str, ...] = ()
    """Names of the positions x = 0, 1, 2, …: then the chart is horizontal, with a row for each name from top to bottom,
    and y, still what is measured, runs from left to right."""

    @property
    def has_shared_categories(self) -> bool:
        """Whether a line has points in several rows, so that lines are named in a legend instead of by their rows."""
        return bool(self.categories) and any(len(line.x) > 1 for line in self.series if line.kind != "cloud")

    def numbers(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Return the table beside the chart: its heads, and its rows: x, and the mean (low to high) of each line.

        >>> x, mean, low, high = np.array([[1.0, 200.0], [0.5, 12.0], [0.1, 10.0], [1.0, 15.0]])
        >>> heads, rows = Chart("one", "Regret", "round", "regret", (Series("uts", x, mean, low, high),)).numbers()
        >>> print(heads, *(" | ".join(row) for row in rows), sep="; ")
        ('round', 'uts'); 1 | 0.5 (0.1 to 1); 200 | 12 (10 to 15)
        """
        named = [line for line in self.series if line.label and line.kind != "cloud" and len(line.x)]
        if self.has_shared_categories:
            return (self.x_label, *(line.label for line in named)), tuple(
                (name, *(_value_text(line, float(at)) for line in named)) for at, name in enumerate(self.categories)
            )
        if self.categories:
            texts = [(name, self._of_category(at)) for at, name in enumerate(self.categories)]
            return (self.x_label, self.y_label), tuple(texts)
        positions = np.unique(np.concatenate([line.x for line in named if line.kind != "points"] or [np.zeros(0)]))
        single = np.concatenate([line.x for line in named if line.kind == "points"] or [np.zeros(0)])
        positions = np.unique(np.concatenate([_thinned(positions), single]))
        rows = tuple((position_text(float(x)), *(_value_text(line, float(x)) for line in named)) for x in positions)
        labels = [line.label for line in named]
        heads = (f"{line.key}: {line.label}" if labels.count(line.label) > 1 else line.label for line in named)
        return (self.x_label, *heads), rows

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the chart with matplotlib, on these axes or on those of a new figure, and return them.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default the axes of a new figure of pyplot, which also shows the caption.

        Returns
        -------
        matplotlib.axes.Axes
        """
        need("matplotlib", "drawing")
        from matchbandit.figures.axes import plot  # noqa: PLC0415  # it imports matplotlib

        return plot(self, ax)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Draw the chart into a .png, .pdf or .svg file; the same chart gives the same bytes."""
        file = picture_file(path)
        write_atomically(file, self._encode(file.suffix[1:].lower()))
        return Path(path)

    def _repr_png_(self) -> bytes:
        return self._encode("png")

    def _encode(self, kind: str) -> bytes:
        need("matplotlib", "drawing")
        from matchbandit.figures.axes import encode  # noqa: PLC0415  # it imports matplotlib

        return encode(self, kind)

    def vega_lite(self) -> dict[str, Any]:
        """Return the chart as a Vega-Lite specification, which pages draw."""
        from matchbandit.figures.vega_lite import specification  # noqa: PLC0415  # it imports this module

        return specification(self)

    def _of_category(self, at: int) -> str:
        texts = [_value_text(line, float(at)) for line in self.series if line.label and line.kind != "cloud"]
        return "; ".join(text for text in texts if text)


def picture_file(path: str | os.PathLike[str]) -> Path:
    """Return the file to draw into, before any work; raise an error if it has another suffix or cannot be written."""
    if Path(path).suffix.lower() not in (".png", ".pdf", ".svg"):
        raise MatchbanditError(f"a picture is written as .png, .pdf or .svg; got {os.fspath(path)!r}.")
    return writable_file(path)


def _thinned(positions: Numbers) -> Numbers:
    """At most `MAX_ROWS` of these positions, evenly spread, with the first and the last."""
    if len(positions) <= MAX_ROWS:
        return positions
    chosen: Numbers = positions[np.unique(np.linspace(0, len(positions) - 1, MAX_ROWS).round().astype(int))]
    return chosen


def position_text(x: float) -> str:
    """A position along x: integers in full."""
    return grouped(x) if x.is_integer() and abs(x) < 1e7 else short(x)


def _value_text(line: Series, x: float) -> str:
    """The value of this line at x with its range; empty where it has no point."""
    indices = np.flatnonzero(line.x == x)
    return point_text(line, int(indices[-1])) if len(indices) else ""


def point_text(line: Series, at: int) -> str:
    """The value of this point with its range."""
    text = short(float(line.y[at]))
    if line.low is None or line.high is None:
        return text
    return f"{text} ({short(float(line.low[at]))} to {short(float(line.high[at]))})"

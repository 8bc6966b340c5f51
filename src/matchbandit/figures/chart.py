"""Charts as data: series with bands, rules, titles and axes; drawn with matplotlib, described in Vega-Lite."""

import os
from dataclasses import dataclass, field
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
    x: Numbers = field(repr=False)
    y: Numbers = field(repr=False)
    low: Numbers | None = field(default=None, repr=False)
    high: Numbers | None = field(default=None, repr=False)
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
class AxisRule:
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
    rules: tuple[AxisRule, ...] = ()
    y_range: tuple[float, float] | None = None
    """The part of the y axis that is shown, if not all of it."""
    categories: tuple[str, ...] = ()
    """Names of the positions x = 0, 1, 2, …: then the chart is horizontal, with a row for each name from top to bottom,
    and y, still what is measured, runs from left to right."""

    def __repr__(self) -> str:
        """Return its title, and how many series it has."""
        return f"<Chart {self.title!r}: {len(self.series)} series>"

    @property
    def has_shared_categories(self) -> bool:
        """Whether a line has points in several rows, so that lines are named in a legend instead of by their rows."""
        return bool(self.categories) and any(len(line.x) > 1 for line in self.series if line.kind != "cloud")

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each series: its label, with its key where several have the same one."""
        labels = [line.label or f"({number})" for number, line in enumerate(self.series)]
        pairs = zip(self.series, labels, strict=True)
        return tuple(f"{line.key}: {label}" if labels.count(label) > 1 else label for line, label in pairs)

    def finite(self, field: Literal["x", "y"]) -> Numbers:
        """Return the positions, or the means, of all series."""
        values = np.concatenate([np.zeros(0), *(getattr(line, field) for line in self.series)])
        finite: Numbers = values[np.isfinite(values)]
        return finite

    @property
    def x_starts_at_zero(self) -> bool:
        """Whether a linear x axis shows 0: positions are positive, and begin near it."""
        x = self.finite("x")
        return self.x_ticks is None and len(x) > 0 and bool(0 < x.min() < 0.06 * x.max())

    @property
    def y_floor(self) -> float:
        """Where a logarithmic y axis ends, which has no position for 0: below the least positive mean."""
        y = self.finite("y")
        return float(y[y > 0].min() / 3) if (y > 0).any() else 1.0

    def numbers(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Return the table beside the chart: its heads, and its rows: x, and the mean (low to high) of each line.

        >>> x, mean, low, high = np.array([[1.0, 200.0], [0.5, 12.0], [0.1, 10.0], [1.0, 15.0]])
        >>> heads, rows = Chart("one", "Regret", "round", "regret", (Series("uts", x, mean, low, high),)).numbers()
        >>> print(heads, *(" | ".join(row) for row in rows), sep="; ")
        ('round', 'uts'); 1 | 0.5 (0.1 to 1); 200 | 12 (10 to 15)
        """
        every = zip(self.names, self.series, strict=True)
        named = [(name, line) for name, line in every if line.label and line.kind != "cloud" and len(line.x)]
        names, lines = [name for name, _ in named], [line for _, line in named]
        if self.categories:
            texts = [[_value_text(line, at) for line in lines] for at in range(len(self.categories))]
            if not self.has_shared_categories:  # the value of the one line that has a point there
                names, texts = [self.y_label], [["; ".join(filter(None, row))] for row in texts]
            rows = [(name, *row) for name, row in zip(self.categories, texts, strict=True)]
            return (self.x_label, *names), tuple(rows)
        x = np.unique(np.concatenate([np.zeros(0), *(line.x for line in lines if line.kind != "points")]))
        if len(x) > MAX_ROWS:
            x = x[np.unique(np.linspace(0, len(x) - 1, MAX_ROWS).round().astype(int))]
        x = np.unique(np.concatenate([x, *(line.x for line in lines if line.kind == "points")]))
        rows = [(position_text(at), *(_value_text(line, at) for line in lines)) for at in x.tolist()]
        return (self.x_label, *names), tuple(rows)

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


def picture_file(path: str | os.PathLike[str]) -> Path:
    """Return the file to draw into, before any work; raise an error if it has another suffix or cannot be written."""
    if Path(path).suffix.lower() not in (".png", ".pdf", ".svg"):
        raise MatchbanditError(f"a picture is written as .png, .pdf or .svg; got {os.fspath(path)!r}.")
    return writable_file(path)


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

"""Draw charts with matplotlib. Texts are measured before they are placed: none overlaps another or is cut off.

This module imports matplotlib; `picture` imports it when something is drawn.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from matplotlib.transforms import Bbox

from matchbandit.figures.axes import (
    even_ticks,
    has_zeros,
    log_ticks,
    tick_labels,
    unlabelled_log_ticks,
    x_limits,
    y_limits,
)
from matchbandit.figures.chart import MAX_MARKERS, Chart, Line, Numbers
from matchbandit.figures.style import GREY, Marker, Style, spread_apart, styles_of

WIDTH, HEIGHT = 6.0, 3.1
"""Of the picture and of its axes, in inches: on a phone, 360 pixels wide, the text is still readable."""
DPI = 200
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 11.0, 9.5, 8.5
"""Font sizes, in points."""
ZERO_HEIGHT = 0.035
"""Of the markers of zeros above the foot of a logarithmic axis, as a share of its length."""
MARGIN, GAP = 0.12, 0.06
"""Around the picture, and between its parts, in inches."""
INK, PALE, PAPER = "#222222", "#dddddd", "#ffffff"
MAX_LEGEND_LINES = 3
"""Of lines; if there are more, each is named at its end."""
_MARKERS: dict[Marker, str] = {
    "circle": "o", "square": "s", "diamond": "D", "triangle": "^", "triangle-down": "v", "triangle-left": "<",
    "triangle-right": ">", "plus": "P", "cross": "X", "hexagon": "h", "star": "*", "pentagon": "p",
}  # fmt: skip
_SIZES: dict[Marker, float] = {"star": 7.5, "plus": 6.0, "cross": 6.0, "hexagon": 5.8, "pentagon": 5.8, "diamond": 4.6}
"""Of markers that appear smaller or larger than others of the same size."""
_DASHES: dict[str, Any] = {"solid": "-", "dashed": (0, (4.5, 1.8)), "dotted": (0, (1.2, 1.6))}
_NO_BREAK = re.compile(r" (?==)|(?<==) |(?<=seed) (?=\d)|(?<=\d) (?=%|runs?\b|rounds?\b|players?\b)")
"""Spaces at which lines are not broken."""
_SETTINGS = {
    "font.family": "DejaVu Sans",
    "svg.hashsalt": "matchbandit",  # else names inside the file differ from call to call
    "pdf.fonttype": 42,
    "text.parse_math": False,
}
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
}


class Picture(Figure):
    """A drawn chart: a matplotlib figure, which notebooks show."""

    chart: Chart

    def _repr_png_(self) -> bytes:
        return encoded(self, "png")


def encoded(picture: Picture, kind: str) -> bytes:
    """Return the picture as a png, pdf or svg file: the same bytes for the same chart."""
    file = BytesIO()
    with _settings():
        picture.savefig(file, format=kind, dpi=DPI, metadata=_METADATA[kind])
    return file.getvalue()


@contextmanager
def _settings() -> Iterator[None]:
    """Use our settings, whatever the user's settings of matplotlib are."""
    with mpl_style.context([_SETTINGS], after_reset=True):
        yield


def render(chart: Chart) -> Picture:
    """Draw a chart."""
    with _settings():
        picture = Picture(figsize=(WIDTH, HEIGHT), dpi=DPI, facecolor=PAPER)
        FigureCanvasAgg(picture)
        picture.chart = chart
        _Renderer(chart, picture).draw()
    return picture


@dataclass(frozen=True)
class _Entry:
    """A name in the legend, and the line or marker beside it."""

    words: str
    handle: dict[str, Any]

    @property
    def width(self) -> float:
        """The width of the piece of line, or of the marker, in inches."""
        return 0.12 if self.handle["linestyle"] == "none" else 0.32


class _End(NamedTuple):
    """The end of a line, and its name, wrapped."""

    colour: str
    x: float
    y: float
    words: list[str]
    weight: str


class _Renderer:
    """One chart on one picture. Lengths are in inches from the picture's lower left corner unless said otherwise."""

    def __init__(self, chart: Chart, picture: Picture) -> None:
        """Prepare an empty picture."""
        self.chart, self.picture = chart, picture
        self.axes: Axes = picture.add_axes((0.0, 0.0, 1.0, 1.0))
        self.styles = styles_of(chart)
        named = [line for line in chart.lines if line.label and line.kind in ("line", "reference")]
        self.direct = len({line.label for line in named}) > MAX_LEGEND_LINES and not chart.rows
        self.taken: list[Bbox] = []  # where words stand already, in pixels
        self.sizes: dict[tuple[str, float, str], tuple[float, float]] = {}  # of words that were measured

    def draw(self) -> None:
        """Draw lines, then the frame around them, then the text inside."""
        for line, style in zip(self.chart.lines, self.styles, strict=True):
            self._line(line, style)
        self._zeros()
        self._limits()
        self._frame()
        self._layout()
        obstacles = self._obstacles()
        self._marks(obstacles)
        if self.direct:
            self._names(obstacles)

    # Lines

    def _line(self, line: Line, style: Style) -> None:
        x, y = (line.y, line.x) if self.chart.rows else (line.x, line.y)
        number = self.chart.lines.index(line)
        shapes: dict[str, Any] = {
            "color": style.colour,
            "marker": _MARKERS[style.marker],
            "markersize": _SIZES.get(style.marker, 5.0) * (1.2 if line.strong else 1.0),
            "markerfacecolor": style.colour if not line.hollow else "none" if line.kind == "points" else PAPER,
            "markeredgewidth": 1.1,
            "label": "_",
        }
        if line.kind == "cloud":
            shapes |= {"marker": "o", "markersize": 3.2, "alpha": 0.4, "markeredgewidth": 0.6, "linestyle": "none"}
            self.axes.plot(x, y, **shapes, zorder=2)
        elif line.kind == "points" and line.low is not None and line.high is not None:
            away = np.array([line.y - line.low, line.high - line.y]).clip(min=0)
            shapes |= {"xerr" if self.chart.rows else "yerr": away}
            self.axes.errorbar(x, y, **shapes, linestyle="none", capsize=2.5, elinewidth=1.1, zorder=4)
        elif line.kind == "points":
            self.axes.plot(x, y, **shapes, linestyle="none", zorder=4)
        elif line.kind == "reference":
            self.axes.plot(x, y, color=style.colour, linestyle=_DASHES[style.dash], linewidth=1.0, label="_", zorder=2)
        else:
            has_points = not self.chart.y_log or bool((line.y > 0).any())  # matplotlib fails to space no markers
            every = (0.03 + 0.037 * (number % 4), 0.17) if len(x) > MAX_MARKERS and has_points else None
            wide = 2.6 if line.strong else 1.6
            self.axes.plot(x, y, linestyle=_DASHES[style.dash], linewidth=wide, markevery=every, **shapes, zorder=3)
            if line.low is not None and line.high is not None:
                pale = 0.14 if len(self.chart.lines) <= 6 else 0.09
                self.axes.fill_between(x, line.low, line.high, color=style.colour, alpha=pale, linewidth=0, zorder=1)

    def _zeros(self) -> None:
        """Mark values that have no place on a logarithmic axis at its foot, beside the label "0"."""
        if not has_zeros(self.chart):
            return
        axes, is_horizontal = self.axes, bool(self.chart.rows)
        for line, style in zip(self.chart.lines, self.styles, strict=True):
            x = line.x[line.y <= 0]
            foot = np.full(len(x), ZERO_HEIGHT)
            shapes: dict[str, Any] = {
                "s": 22,
                "edgecolors": style.colour,
                "facecolors": PAPER if line.hollow else style.colour,
                "linewidths": 1.1,
                "clip_on": False,
                "zorder": 5,
            }
            if is_horizontal:
                axes.scatter(foot, x, marker="<", transform=axes.get_yaxis_transform(), **shapes)
            else:
                axes.scatter(x, foot, marker="v", transform=axes.get_xaxis_transform(), **shapes)
        text: dict[str, Any] = {"xycoords": axes.transAxes, "textcoords": "offset points", "fontsize": TEXT_SIZE}
        if is_horizontal:
            axes.annotate("0", (ZERO_HEIGHT, 0.0), (0, -6.5), ha="center", va="top", color=INK, **text)
        else:
            axes.annotate("0", (0.0, ZERO_HEIGHT), (-6.5, 0), ha="right", va="center", color=INK, **text)

    # Axes

    def _limits(self) -> None:
        chart = self.chart
        along, measured = (self.axes.yaxis, self.axes.xaxis) if chart.rows else (self.axes.xaxis, self.axes.yaxis)
        for axis, log in ((along, chart.x_log), (measured, chart.y_log)):
            if log:
                getattr(self.axes, f"set_{axis.axis_name}scale")("log", nonpositive="mask")
        set_measured = self.axes.set_xlim if chart.rows else self.axes.set_ylim
        set_measured(*y_limits(chart))
        if chart.rows:
            self.axes.set_ylim(*reversed(x_limits(chart)))
        else:
            self.axes.set_xlim(*x_limits(chart))

    def _frame(self) -> None:
        """Draw spines and grid; ticks come later."""
        axes = self.axes
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color("#888888")
        axes.set_axisbelow(True)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(NullFormatter())
            axis.set_minor_locator(NullLocator())
        axes.tick_params(which="both", color="#888888", labelcolor=INK, labelsize=TEXT_SIZE, pad=3)
        axes.tick_params(which="minor", length=2)
        if self.chart.rows:
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="x", linewidth=0.6, color=PALE)
        else:
            axes.grid(axis="y", linewidth=0.6, color=PALE)

    def _layout(self) -> None:
        """Place title, legend and caption, wrapped, and the axes between them, with as many ticks as fit."""
        chart, inside = self.chart, WIDTH - 2 * MARGIN
        title = self._wrapped(chart.title, TITLE_SIZE, inside, weight="bold")
        caption = self._wrapped(chart.caption, SMALL_SIZE, inside)
        rows = self._legend_rows(inside)
        title_line, word_line, small_line = (1.3 * size / 72 for size in (TITLE_SIZE, TEXT_SIZE, SMALL_SIZE))
        above = MARGIN + len(title) * title_line + len(rows) * 1.2 * word_line + GAP
        above_label = chart.x_label if chart.rows else chart.y_label
        above += word_line + 0.04 if above_label else 0
        below = 0.08 + 2 * word_line + 2 * GAP + len(caption) * small_line + MARGIN
        height = self._height()
        self.picture.set_size_inches(WIDTH, above + height + below)
        right = self._right_margin()
        most = max(2, round(height / 0.42))
        if chart.rows:
            self._row_names()
        else:
            self._ticks("y", most, height)
        left = MARGIN + self._widest(self.axes.yaxis.get_ticklabels()) + 0.1
        for _ in range(2):  # the last label of the x axis may reach beyond it, which makes the axis shorter
            self._put_axes(left, below, WIDTH - left - right, height)
            self._ticks("x", 8, WIDTH - left - right)
            labels = [label for label in self.axes.xaxis.get_ticklabels() if label.get_text()]
            over = max((self._box(label).x1 / DPI for label in labels), default=0.0) - (WIDTH - MARGIN / 2)
            under = MARGIN / 2 - min((self._box(label).x0 / DPI for label in labels), default=1.0)
            right, left = right + max(over, 0.0), left + max(under, 0.0)
        self._put_axes(left, below, WIDTH - left - right, height)
        y = above + height + below - MARGIN
        for words in title:
            self._write(MARGIN, y, words, TITLE_SIZE, weight="bold", va="top")
            y -= title_line
        for row in rows:
            y -= 1.2 * word_line
            self._draw_legend(row, y + 0.6 * word_line)
        if above_label:
            self._write(MARGIN, below + height + 0.09, above_label, TEXT_SIZE, color=GREY, va="bottom")
        y = below - 0.08 - word_line - GAP
        across = chart.y_label if chart.rows else chart.x_label
        self._write(left + (WIDTH - left - right) / 2, y, across, TEXT_SIZE, color=GREY, va="top", ha="center")
        y -= word_line + GAP
        for words in caption:
            self._write(MARGIN, y, words, SMALL_SIZE, color=GREY, va="top")
            y -= small_line

    def _height(self) -> float:
        """Return the height of the axes: enough for every row, or for every name at the right."""
        if self.chart.rows:
            most = max(len(self._name(name)) for name in self.chart.rows)
            return max(0.8, max(0.34, self._text_height([""] * most)) * len(self.chart.rows))
        names = self._ends(inside=False) if self.direct else []
        return max(HEIGHT, sum(self._text_height(end.words) for end in names) + 0.1)

    def _put_axes(self, left: float, below: float, width: float, height: float) -> None:
        total = self.picture.get_figheight()
        self.axes.set_position((left / WIDTH, below / total, width / WIDTH, height / total))

    def _row_names(self) -> None:
        self.axes.yaxis.set_major_locator(FixedLocator(list(range(len(self.chart.rows)))))
        self.axes.set_yticklabels(["\n".join(self._name(name)) for name in self.chart.rows])
        for at, label in enumerate(self.axes.yaxis.get_ticklabels()):
            own = [k for k, line in enumerate(self.chart.lines) if len(line.x) and round(float(line.x[0])) == at]
            if own and not self.chart.has_shared_rows:
                label.set_color(self.styles[own[0]].colour)

    def _ticks(self, name: str, most: int, length: float) -> None:
        """Set as many ticks as there is space for their numbers."""
        axes, chart = self.axes, self.chart
        axis = axes.xaxis if name == "x" else axes.yaxis
        low, high = sorted(axes.get_xlim() if name == "x" else axes.get_ylim())
        measured = (name == "y") != bool(chart.rows)
        log = chart.y_log if measured else chart.x_log
        if measured and has_zeros(chart):
            low *= (high / low) ** (2.5 * ZERO_HEIGHT)  # "0" stands below
        if log:
            axis.set_minor_locator(FixedLocator(unlabelled_log_ticks(low, high)))
        if not measured and chart.x_ticks is not None:
            self._fixed_ticks(chart.x_ticks, log=log)
            return
        for number in range(most, 0, -1):
            ticks = log_ticks(low, high, number) if log else even_ticks(low, high, number)
            self._set_ticks(axis, ticks, tick_labels(ticks, log=log))
            if not self._collide(axis.get_ticklabels()):
                break

    def _fixed_ticks(self, places: Sequence[float], *, log: bool) -> None:
        """Set a tick at each position, and numbers where there is space: the outermost ones first."""
        ticks = sorted(places)
        words = tick_labels(ticks, log=log)
        self._set_ticks(self.axes.xaxis, ticks, words)
        boxes = [self._box(label) for label in self.axes.xaxis.get_ticklabels()]
        chosen: list[int] = []
        for at in [0, len(ticks) - 1, *range(1, len(ticks) - 1)] if len(ticks) > 1 else range(len(ticks)):
            if not any(_overlap(boxes[at], boxes[other]) for other in chosen):
                chosen.append(at)
        self._set_ticks(self.axes.xaxis, ticks, [text if at in chosen else "" for at, text in enumerate(words)])

    def _set_ticks(self, axis: Any, ticks: Sequence[float], words: Sequence[str]) -> None:
        axis.set_major_locator(FixedLocator(list(ticks)))
        axis.set_ticklabels(list(words))

    def _collide(self, labels: Sequence[Text]) -> bool:
        boxes = [self._box(label) for label in labels if label.get_text()]
        return any(_overlap(one, other) for one, other in pairwise(boxes))

    # Texts

    def _box(self, text: Any) -> Bbox:
        box: Bbox = text.get_window_extent(self.picture.canvas.get_renderer())  # type: ignore[attr-defined]
        return box

    def _size(self, words: str, size: float, weight: str = "normal") -> tuple[float, float]:
        """Return width and height of a text, in inches."""
        if (words, size, weight) not in self.sizes:
            text = Text(0, 0, words, fontsize=size, fontweight=weight, figure=self.picture)
            box = self._box(text)
            self.sizes[words, size, weight] = box.width / DPI, box.height / DPI
        return self.sizes[words, size, weight]

    def _wrapped(self, words: str, size: float, width: float, weight: str = "normal") -> list[str]:
        lines: list[str] = []
        for paragraph in words.split("\n") if words else []:
            line = ""
            for word in _NO_BREAK.sub("\u00a0", paragraph).split(" "):
                longer = f"{line} {word}" if line else word
                if line and self._size(longer, size, weight)[0] > width:
                    lines.append(line)
                    longer = word
                while self._size(longer, size, weight)[0] > width and len(longer) > 1:  # one word, and too long
                    places = range(1, len(longer))
                    cut = bisect_right(places, width, key=lambda n: self._size(longer[:n], size, weight)[0])
                    lines.append(longer[: max(cut, 1)])
                    longer = longer[max(cut, 1) :]
                line = longer
            lines.append(line)
        return lines

    def _write(self, x: float, y: float, words: str, size: float, **options: Any) -> None:
        total = self.picture.get_figheight()
        self.picture.text(x / WIDTH, y / total, words, fontsize=size, **({"color": INK} | options))

    def _widest(self, labels: Sequence[Text]) -> float:
        return max((self._box(label).width / DPI for label in labels if label.get_text()), default=0.0)

    # The legend, above the axes

    def _entries(self) -> list[_Entry]:
        """Return the names that are not at a line's end; a name in several colours is one entry, in grey."""
        if self.chart.rows and not self.chart.has_shared_rows:
            return []
        kinds = ("points",) if self.direct else ("line", "reference", "points")
        chosen: dict[str, list[tuple[Line, Style]]] = {}
        for line, style in zip(self.chart.lines, self.styles, strict=True):
            if line.label and line.kind in kinds:
                chosen.setdefault(line.label, []).append((line, style))
        if len(chosen) == 1 and next(iter(chosen)) in f"{self.chart.title}\n{self.chart.y_label}":
            return []  # it says nothing new
        entries = []
        for label, of_name in chosen.items():
            line, style = of_name[0]
            first, *others = self._wrapped(label, TEXT_SIZE, WIDTH - 2 * MARGIN - 0.5)
            words = f"{first} …" if others else first
            colour = style.colour if len({one.colour for _, one in of_name}) == 1 else GREY
            marker = _MARKERS[style.marker] if line.kind != "reference" else ""
            if len({one.marker for _, one in of_name}) > 1:
                marker = "o"
            dash = "none" if line.kind == "points" else _DASHES[style.dash]
            handle = {"color": colour, "marker": marker, "linestyle": dash, "markeredgewidth": 1.1}
            handle |= {"markerfacecolor": PAPER if line.hollow else colour, "markersize": _SIZES.get(style.marker, 5.0)}
            entries.append(_Entry(words, handle | {"linewidth": 1.0 if line.kind == "reference" else 1.6}))
        return entries

    def _legend_rows(self, width: float) -> list[list[tuple[float, _Entry]]]:
        """Return the legend's entries in rows, each with its left edge."""
        rows: list[list[tuple[float, _Entry]]] = []
        at = width + 1
        for entry in self._entries():
            wide = entry.width + 0.06 + self._size(entry.words, TEXT_SIZE)[0]
            if at + wide > width:
                rows.append([])
                at = 0.0
            rows[-1].append((MARGIN + at, entry))
            at += wide + 0.22
        return rows

    def _draw_legend(self, row: list[tuple[float, _Entry]], y: float) -> None:
        total = self.picture.get_figheight()
        for x, entry in row:
            places = [x, x + entry.width / 2, x + entry.width]
            handle = Line2D([at / WIDTH for at in places], [y / total] * 3, markevery=[1], **entry.handle)
            self.picture.add_artist(handle)
            self._write(x + entry.width + 0.06, y, entry.words, TEXT_SIZE, va="center_baseline")

    # Names at the ends of lines

    def _ends(self, *, inside: bool) -> list[_End]:
        """Return the last visible point of each named line that ends inside the axes, or at their right."""
        ends = []
        (left, right), (low, high) = self.axes.get_xlim(), self.axes.get_ylim()
        for line, style in zip(self.chart.lines, self.styles, strict=True):
            if line.label and line.kind in ("line", "reference"):
                is_zero = self.chart.y_log and bool((line.y <= 0).all())  # its markers are at the foot of the axis
                y = np.full(len(line.y), low * (high / low) ** ZERO_HEIGHT) if is_zero else line.y
                shown = (line.x >= left) & (line.x <= right) & (y >= low) & (y <= high)
                if shown.any():
                    last = np.flatnonzero(shown)[-1]
                    weight = "bold" if line.strong else "normal"
                    end = _End(style.colour, line.x[last], y[last], self._name(line.label, weight), weight)
                    ends += [end] if self._is_inside(end.x) == inside else []
        return ends

    def _is_inside(self, x: float) -> bool:
        """Whether a line that ends here is named beside its end instead of in the margin."""
        return float(self.axes.transAxes.inverted().transform(self.axes.transData.transform((x, 1.0)))[0]) < 0.9

    def _name(self, label: str, weight: str = "normal") -> list[str]:
        """Wrap a name that is too long for the margin, at a comma or a bracket if that is enough."""
        most = 0.34 * WIDTH
        if self._size(label, TEXT_SIZE, weight)[0] <= most:
            return [label]
        for mark, before, after in ((" (", "", "("), (", ", ",", "")):
            first, separator, rest = label.rpartition(mark)
            parts = [first + before, after + rest]
            if separator and max(self._size(part, TEXT_SIZE, weight)[0] for part in parts) <= most:
                return parts
        return self._wrapped(label, TEXT_SIZE, most, weight)

    def _text_height(self, words: list[str]) -> float:
        return 1.22 * TEXT_SIZE / 72 * len(words) + 0.03

    def _right_margin(self) -> float:
        names = self._ends(inside=False) if self.direct else []
        widest = max((self._size(line, TEXT_SIZE, end.weight)[0] for end in names for line in end.words), default=0.0)
        return widest + 0.3 + MARGIN / 2 if names else 0.2

    def _names(self, obstacles: Numbers) -> None:
        to_pixels, ends = self.axes.transData, self._ends(inside=False)
        box = self.axes.get_window_extent()
        heights = np.array([to_pixels.transform((end.x, end.y))[1] for end in ends]) / DPI
        order = np.argsort(heights, kind="stable")
        tall = np.array([self._text_height(end.words) for end in ends])[order]
        places = spread_apart(heights[order], (tall[1:] + tall[:-1]) / 2, low=box.y0 / DPI, high=box.y1 / DPI)
        total, x1 = self.picture.get_figheight(), box.x1 / DPI + 0.2
        for at, y in zip(order, places, strict=True):
            end = ends[at]
            x0, y0 = to_pixels.transform((end.x, end.y)) / DPI
            across, up = [(x0 + 0.07) / WIDTH, x1 / WIDTH], [y0 / total, y / total]
            self.picture.add_artist(Line2D(across, up, color=end.colour, linewidth=0.6, alpha=0.7))
            options = {"va": "center_baseline" if len(end.words) == 1 else "center", "linespacing": 1.15}
            self._write(x1 + 0.05, y, "\n".join(end.words), TEXT_SIZE, color=end.colour, weight=end.weight, **options)
        for end in self._ends(inside=True):
            self._beside("\n".join(end.words), to_pixels.transform((end.x, end.y)), end.colour, obstacles)

    # Marks, and texts inside the axes

    def _obstacles(self) -> Numbers:
        """Return points on all lines, some pixels apart."""
        points = [np.zeros((0, 2))]
        for line in self.axes.get_lines():
            with np.errstate(all="ignore"):
                path = self.axes.transData.transform(line.get_xydata())
            path = path[np.isfinite(path).all(axis=1)]
            points.append(path)
            for one, other in pairwise(path) if len(path) < 400 else ():
                steps = min(int(np.hypot(*(other - one)) / 6), 300)
                points.append(one + (other - one) * np.linspace(0, 1, steps + 1)[:, None])
        return np.concatenate(points)

    def _marks(self, obstacles: Numbers) -> None:
        box = self.axes.get_window_extent()
        for mark in self.chart.marks:
            upright = (mark.axis == "x") != bool(self.chart.rows)
            (self.axes.axvline if upright else self.axes.axhline)(
                mark.at, color="#777777", linewidth=0.9, linestyle=(0, (3, 2)), zorder=1.5
            )
            if not mark.label:
                continue
            if upright:
                at = self.axes.transData.transform((mark.at, self.axes.get_ylim()[0]))[0]
                step = 1.4 * SMALL_SIZE / 72 * DPI
                heights = [box.y1 - k * step for k in range(int((box.y1 - box.y0) / step))]
                spots = [(at, y, ha, "top") for y in heights for ha in ("left", "right")]
            else:
                at = self.axes.transData.transform((self.axes.get_xlim()[0], mark.at))[1]
                places = ((box.x1, "right"), (box.x0 + 4, "left"), ((box.x0 + box.x1) / 2, "center"))
                spots = [(x, at, ha, va) for va in ("bottom", "top") for x, ha in places]
            self._write_at_best(mark.label, spots, GREY, obstacles)

    def _beside(self, words: str, end: Numbers, colour: str, obstacles: Numbers) -> None:
        """Write a line's name beside its end, where it hides least."""
        x, y = end
        sides = ((8, "left"), (-8, "right"), (0, "center"))
        heights = sorted(range(-20, 21), key=abs)
        spots = [(x + dx, y + 13 * k, ha, "center") for k in heights for dx, ha in sides]
        self._write_at_best(words, spots, colour, obstacles)

    def _write_at_best(
        self, words: str, spots: Sequence[tuple[float, float, str, str]], colour: str, obstacles: Numbers
    ) -> None:
        """Write a text at one of these positions, in pixels: where it overlaps no other and hides least."""
        wide, tall = (DPI * length for length in self._size(words, SMALL_SIZE))
        wide, tall = wide + 10, tall + 6
        axes, costs = self.axes.get_window_extent(), []
        for number, (x, y, ha, va) in enumerate(spots):
            x0 = x - {"left": 0.0, "center": 0.5, "right": 1.0}[ha] * wide
            y0 = y - {"bottom": 0.0, "center": 0.5, "top": 1.0}[va] * tall
            inside_x = min(max(x0, axes.x0 + 4), axes.x1 - wide)
            inside_y = min(max(y0, axes.y0 + 4), axes.y1 - tall)
            box = Bbox.from_bounds(inside_x, inside_y, wide, tall)
            moved = abs(inside_x - x0) + abs(inside_y - y0)
            hidden = int(((obstacles >= box.min) & (obstacles <= box.max)).all(axis=1).sum())
            meets = sum(box.overlaps(other) for other in self.taken)
            costs.append((1e6 * meets + 20 * hidden + moved + number, number, box))
        _, _, box = min(costs, key=lambda cost: cost[:2])
        self.taken.append(box)
        x, y = self.picture.transFigure.inverted().transform((box.x0 + 5, (box.y0 + box.y1) / 2))
        halo = [withStroke(linewidth=2.5, foreground=PAPER)]
        self.picture.text(x, y, words, fontsize=SMALL_SIZE, color=colour, va="center", path_effects=halo)


def _overlap(one: Bbox, other: Bbox) -> bool:
    """Whether two numbers on an axis overlap, or nearly."""
    apart = 0.07 * DPI
    beside = max(other.x0 - one.x1, one.x0 - other.x1)
    above = max(other.y0 - one.y1, one.y0 - other.y1)
    return bool(beside < apart and above < 0.2 * apart)

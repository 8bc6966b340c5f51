"""Draw charts with matplotlib: on a user's axes, on a new figure with the caption below, or into a file."""

import os
import re
import textwrap
from collections.abc import Sequence
from io import BytesIO
from itertools import accumulate, pairwise
from math import floor, inf, log10
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator, Formatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox, ScaledTranslation

from matchbandit.errors import MatchbanditError
from matchbandit.figures.chart import MAX_MARKERS, Chart, Numbers, Series
from matchbandit.figures.style import GREY, Marker, Style, styles_of
from matchbandit.files import writable_file, write_atomically
from matchbandit.formatting import grouped, power_of_ten, short

WIDTH, HEIGHT, ROW_HEIGHT = 6.0, 3.1, 0.34
"""Of the figure, of its axes, and of each category, in inches: on a phone, 360 pixels wide, the text is readable."""
DPI = 200
MAX_LEGEND_LINES = 3
"""Lines in the legend; if there are more, each is named at its end."""
MAX_NAME = 26
"""Characters of a line of a name beside the axes."""
ZERO_HEIGHT = 0.035
"""Of the markers of zeros above the foot of a logarithmic axis, as a share of its length."""
_MARKERS: dict[Marker, str] = {
    "circle": "o", "square": "s", "diamond": "D", "triangle": "^", "triangle-down": "v", "triangle-left": "<",
    "triangle-right": ">", "plus": "P", "cross": "X", "hexagon": "h", "star": "*", "pentagon": "p",
}  # fmt: skip
_SIZES: dict[Marker, float] = {"star": 7.5, "plus": 6.0, "cross": 6.0, "hexagon": 5.8, "pentagon": 5.8, "diamond": 4.6}
"""Of markers that appear smaller or larger than others of the same size."""
_DASHES: dict[str, Any] = {"solid": "-", "dashed": (0, (4.5, 1.8)), "dotted": (0, (1.2, 1.6))}
_NO_BREAK = re.compile(r" (?==)|(?<==) |(?<=seed) (?=\d)|(?<=\d) (?=%|runs?\b|rounds?\b|players?\b)")
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": "#222222",
    "text.parse_math": False,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": GREY,
    "axes.edgecolor": "#888888",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "xtick.color": "#888888",
    "ytick.color": "#888888",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "svg.hashsalt": "matchbandit",  # else names inside the file differ from call to call
    "pdf.fonttype": 42,
}
"""Of figures of our own; on a user's axes their settings apply."""
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
}


def plot(chart: Chart, ax: Axes | None = None) -> Axes:
    """Draw a chart on these axes, or with its caption on a new figure of pyplot, and return the axes."""
    if ax is not None:
        _draw(chart, ax)
        return ax
    from matplotlib import pyplot as plt  # noqa: PLC0415  # files are drawn without its state

    with mpl_style.context([_STYLE], after_reset=True):
        return _compose(chart, plt.figure(figsize=(WIDTH, HEIGHT), layout="constrained"))


def save(chart: Chart, path: str | os.PathLike[str]) -> Path:
    """Draw a chart into a .png, .pdf or .svg file, which appears whole or not at all."""
    file = picture_file(path)
    write_atomically(file, encode(chart, file.suffix[1:].lower()))
    return Path(path)


def picture_file(path: str | os.PathLike[str]) -> Path:
    """Return the file to draw into; raise an error if it cannot be written, or has another suffix."""
    if Path(path).suffix[1:].lower() not in _METADATA:
        raise MatchbanditError(f"a picture is written as .png, .pdf or .svg; got {os.fspath(path)!r}.")
    return writable_file(path)


def encode(chart: Chart, kind: str) -> bytes:
    """Return the chart as a png, pdf or svg file: the same bytes for the same chart, whatever the user's settings."""
    file = BytesIO()
    with mpl_style.context([_STYLE], after_reset=True):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        FigureCanvasAgg(figure)
        _compose(chart, figure)
        figure.savefig(file, format=kind, dpi=DPI, metadata=_METADATA[kind])
    return file.getvalue()


def _compose(chart: Chart, figure: Figure) -> Axes:
    """Fill a figure with a chart and its caption; its height follows from what is above and below the axes."""
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # type: ignore[union-attr, call-arg]
    ax = figure.add_subplot()
    _draw(chart, ax)
    if chart.caption:
        x = 0.12 / WIDTH
        figure.supxlabel(_unbroken(chart.caption), x=x, ha="left", fontsize="small", color=GREY, wrap=True)
    height = HEIGHT
    if chart.categories:
        height = max(0.8, ROW_HEIGHT * sum(1 + name.count("\n") for name in map(_wrapped, chart.categories)))
    height = max(height, sum(0.19 + 0.16 * text.get_text().count("\n") for text in ax.texts if isinstance(text, _End)))
    figure.draw_without_rendering()
    figure.set_figheight(figure.get_figheight() * (1 - ax.get_position().height) + height)
    return ax


def _draw(chart: Chart, ax: Axes) -> None:
    """Draw all of a chart but its caption."""
    before = ax.dataLim.frozen() if ax.has_data() else None
    flat = bool(chart.categories)
    for name, log in (("y" if flat else "x", chart.x_log), ("x" if flat else "y", chart.y_log)):
        if log:
            getattr(ax, f"set_{name}scale")("log", nonpositive="mask")
    ax.grid(visible=False, axis="y" if flat else "x")
    styles = styles_of(chart)
    handles = [_draw_series(chart, ax, line, style) for line, style in zip(chart.series, styles, strict=True)]
    _set_limits(chart, ax, before)
    _set_ticks(chart, ax, styles)
    for rule in chart.rules:
        _draw_rule(ax, rule.at, rule.label, upright=(rule.axis == "x") != flat)
    named = [line for line in chart.series if line.label and line.kind in ("line", "reference")]
    has_names = len({line.label for line in named}) > MAX_LEGEND_LINES and not flat
    for line, style in zip(chart.series, styles, strict=True):
        if has_names and line in named:
            _name(chart, ax, line, style)
    _head(
        chart, ax, [(line, handle) for line, handle in zip(chart.series, handles, strict=True) if line.label], has_names
    )


def _draw_series(chart: Chart, ax: Axes, line: Series, style: Style) -> Any:
    """Draw a line or a set of points, and return what stands for it in a legend."""
    number = chart.series.index(line)
    x, y = (line.y, line.x) if chart.categories else (line.x, line.y)
    hollow = "none" if line.kind == "points" else ax.get_facecolor()
    shape: dict[str, Any] = {
        "color": style.colour,
        "marker": _MARKERS[style.marker],
        "markersize": _SIZES.get(style.marker, 5.0) * (1.2 if line.is_bold else 1.0),
        "markerfacecolor": hollow if line.is_hollow else style.colour,
        "markeredgewidth": 1.1,
    }
    has_band = line.low is not None and line.high is not None
    if chart.y_log and (line.y <= 0).any():
        _mark_zeros(chart, ax, line, style)
    if line.kind == "cloud":
        shape |= {"marker": "o", "markersize": 3.2, "alpha": 0.4, "markeredgewidth": 0.6, "linestyle": "none"}
        return ax.plot(x, y, **shape, zorder=2)[0]
    if line.kind == "points":
        bars = np.array([line.y - line.low, line.high - line.y]).clip(min=0) if has_band else None  # type: ignore[operator]
        shape |= {"xerr" if chart.categories else "yerr": bars}
        return ax.errorbar(x, y, **shape, linestyle="none", capsize=2.5, elinewidth=1.1, zorder=4)
    if line.kind == "reference":
        return ax.plot(x, y, color=style.colour, linestyle=_DASHES[style.dash], linewidth=1.0, zorder=2)[0]
    if has_band:
        pale = 0.14 if len(chart.series) <= 6 else 0.09
        ax.fill_between(x, line.low, line.high, color=style.colour, alpha=pale, linewidth=0, zorder=1)  # type: ignore[arg-type]
    can_space = len(x) > MAX_MARKERS and not (chart.y_log and (line.y <= 0).all())  # it fails to space no markers
    every = (0.03 + 0.037 * (number % 4), 0.17) if can_space else None
    shape |= {"linestyle": _DASHES[style.dash], "linewidth": 2.6 if line.is_bold else 1.6, "markevery": every}
    return ax.plot(x, y, **shape, zorder=3)[0]


def _mark_zeros(chart: Chart, ax: Axes, line: Series, style: Style) -> None:
    """Mark values that have no position on a logarithmic axis at its foot, beside the label "0"."""
    x = line.x[line.y <= 0]
    foot = np.full(len(x), ZERO_HEIGHT)
    face = ax.get_facecolor() if line.is_hollow else style.colour
    shape: dict[str, Any] = {"markersize": 4.7, "markeredgewidth": 1.1, "markerfacecolor": face, "clip_on": False}
    shape |= {"color": style.colour, "linestyle": "none", "zorder": 5}
    text: dict[str, Any] = {"xycoords": ax.transAxes, "textcoords": "offset points", "in_layout": False}
    if chart.categories:
        ax.plot(foot, x, marker="<", transform=ax.get_yaxis_transform(), **shape)
        ax.annotate("0", (ZERO_HEIGHT, 0.0), (0, -6.5), ha="center", va="top", **text)
    else:
        ax.plot(x, foot, marker="v", transform=ax.get_xaxis_transform(), **shape)
        ax.annotate("0", (0.0, ZERO_HEIGHT), (-6.5, 0), ha="right", va="center", **text)


def _set_limits(chart: Chart, ax: Axes, before: Bbox | None) -> None:
    """Let the axes show all means, bands and rules, and nothing far below the means of a logarithmic axis.

    The limits themselves are matplotlib's, so that axes may be shared or drawn on several times.
    """
    bands = [band for line in chart.series for band in (line.low, line.high) if band is not None]
    rules = {name: np.array([rule.at for rule in chart.rules if rule.axis == name]) for name in ("x", "y")}
    x = _drawable([*(line.x for line in chart.series), rules["x"]], log=chart.x_log)
    means = _drawable([line.y for line in chart.series], log=chart.y_log)
    y = _drawable([means, rules["y"], *bands], log=chart.y_log)
    low, high = float(y.min()), float(y.max())
    if chart.y_log and len(means):
        low = max(low, float(means.min()) / 3)
        has_zeros = any((line.y <= 0).any() for line in chart.series)
        low /= max(high / low, 10.0) ** (2.5 * ZERO_HEIGHT if has_zeros else 0)
    elif low >= 0:
        low = 0.0
    left, right = float(x.min()), float(x.max())
    if not chart.x_log and 0 < left < 0.06 * right and chart.x_ticks is None:
        left = 0.0
    limits = Bbox([[left, low], [right, high]] if not chart.categories else [[low, left], [high, right]])
    ax.dataLim.set(limits if before is None else Bbox.union([before, limits]))
    for line in ax.lines:
        for edges in (line.sticky_edges.x, line.sticky_edges.y):
            edges.append(0.0)  # no margin below 0
    ax.margins(0.03 if not chart.categories else 0.05, 0.05)
    ax.autoscale_view()
    if chart.y_range is not None:
        (ax.set_xlim if chart.categories else ax.set_ylim)(*chart.y_range)
    if chart.categories:
        ax.set_ylim(len(chart.categories) - 0.5, -0.5)


def _drawable(values: Sequence[Numbers], *, log: bool) -> Numbers:
    """The values that have a position on an axis; some values if none has."""
    together = np.concatenate([*values, np.zeros(0)])
    shown = together[np.isfinite(together) & ((together > 0) | (not log))]
    return shown if len(shown) else np.array([1.0, 10.0] if log else [0.0, 1.0])


def _set_ticks(chart: Chart, ax: Axes, styles: Sequence[Style]) -> None:
    measured, along = (ax.xaxis, ax.yaxis) if chart.categories else (ax.yaxis, ax.xaxis)
    _number(measured, log=chart.y_log)
    if not chart.categories:
        _number(along, log=chart.x_log, ticks=chart.x_ticks)
        return
    ax.set_yticks(range(len(chart.categories)), [_wrapped(name) for name in chart.categories])
    ax.tick_params(axis="y", length=0)
    for at, label in enumerate(ax.get_yticklabels()):
        own = [
            style for line, style in zip(chart.series, styles, strict=True) if len(line.x) and round(line.x[0]) == at
        ]
        if own and not chart.has_shared_categories:
            label.set_color(own[0].colour)


def _number(axis: Axis, *, log: bool, ticks: Sequence[float] | None = None) -> None:
    """Set ticks and their numbers."""
    if ticks is not None:
        axis.set_major_locator(FixedLocator(sorted(ticks)))
    elif log:
        low, high = sorted(axis.get_view_interval())
        decades = log10(high / low)
        axis.set_major_locator(
            LogLocator(subs=(1.0,) if decades > 2.5 else (1.0, 3.0) if decades > 1.5 else (1.0, 2.0, 5.0))
        )
    else:
        axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(_Numbers(log=log, ends_first=ticks is not None))
    axis.set_minor_formatter(NullFormatter())


class _Numbers(Formatter):
    """Numbers in one notation for all of an axis; those that would overlap another are left out."""

    def __init__(self, *, log: bool, ends_first: bool) -> None:
        """Prepare for an axis."""
        self.log, self.ends_first = log, ends_first

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Format one number, as beside the mouse."""
        return short(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Format the numbers of all ticks."""
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        shown = [at for at, value in enumerate(values) if low <= value * (1 + 1e-9) and value * (1 - 1e-9) <= high]
        texts = tick_labels([values[at] for at in shown], log=self.log)
        numbers, taken = [""] * len(values), [Bbox.null()]
        places = list(zip(shown, texts, strict=True))
        if self.ends_first:
            places = [*places[:1], *places[:0:-1]]
        size = axis.get_major_ticks(1)[0].label1.get_size() * axis.figure.dpi / 72
        for at, text in places:
            x, y = axis.axes.transData.transform([values[at]] * 2)
            wide, tall = (0.62 * size * len(text) + 0.4 * size, 0.1) if axis.axis_name == "x" else (0.1, size)
            box = Bbox.from_bounds(x - wide / 2, y - tall / 2, wide, tall)
            if not any(other.overlaps(box) for other in taken[1:]):
                numbers[at] = text
                taken.append(box)
        return numbers


def tick_labels(ticks: Sequence[float], *, log: bool = False) -> list[str]:
    """Return the numbers at these ticks, in one notation for all of an axis."""
    largest, smallest = max((abs(t) for t in ticks), default=0.0), min((abs(t) for t in ticks if t), default=1.0)
    if log and (largest >= 1e6 or smallest < 1e-3):
        return [short(t) if 1e-3 <= t < 1e4 else power_of_ten(t, floor(log10(t) + 1e-12)) for t in ticks]
    if largest >= 1e6 or 0 < largest < 1e-3:
        return [power_of_ten(t, floor(log10(largest) + 1e-12)) for t in ticks]
    return [grouped(t) for t in ticks]


class _End(Annotation):
    """The name of a line in the right margin, joined with its end; whenever it is drawn, apart from all others."""

    def update_positions(self, renderer: Any) -> None:
        """Place it between the others."""
        ax: Any = self.axes
        ends = [text for text in ax.texts if isinstance(text, _End)]
        heights = [ax.transData.transform(end.xy)[1] for end in ends]
        order = np.argsort(heights, kind="stable")
        pixel = ax.figure.dpi / 72
        tall = [(1.22 * end.get_size() * (1 + end.get_text().count("\n")) + 2) * pixel for end in ends]
        between = [(tall[one] + tall[other]) / 2 for one, other in pairwise(order)]
        box = ax.get_window_extent()
        places = spread_apart([heights[at] for at in order], between, low=box.y0, high=box.y1)
        at = order.tolist().index(ends.index(self))
        x = ax.transData.transform(self.xy)[0]
        self.set_position((box.x1 + 12 * pixel - x, places[at] - heights[order[at]]))
        super().update_positions(renderer)


class _Inside(Annotation):
    """A name inside the axes: whenever it is drawn, where it hides least and overlaps no other."""

    spots: Sequence[tuple[float, float, str, str]]

    def update_positions(self, renderer: Any) -> None:
        """Place it at the best of its spots: offsets in points, and alignments."""
        ax: Any = self.axes
        pixel = ax.figure.dpi / 72
        super().update_positions(renderer)
        own = Text.get_window_extent(self, renderer)
        x, y = self._get_position_xy(renderer)
        inside = [text for text in ax.texts if isinstance(text, _Inside)]
        taken = [Text.get_window_extent(text, renderer) for text in inside[: inside.index(self)]]
        lines, axes = _pixels(ax), ax.get_window_extent().padded(-2 * pixel)
        best: tuple[float, Bbox] | None = None
        for number, (dx, dy, ha, va) in enumerate(self.spots):
            x0 = x + dx * pixel - {"left": 0.0, "center": 0.5, "right": 1.0}[ha] * own.width
            y0 = y + dy * pixel - {"bottom": 0.0, "center": 0.5, "top": 1.0}[va] * own.height
            left, low = max(min(x0, axes.x1 - own.width), axes.x0), max(min(y0, axes.y1 - own.height), axes.y0)
            box = Bbox.from_bounds(left, low, own.width, own.height).padded(1.5 * pixel)
            cost = 1e6 * sum(box.overlaps(other) for other in taken) + abs(left - x0) + abs(low - y0) + number
            cost += 20 * int(((lines >= box.min) & (lines <= box.max)).all(axis=1).sum())
            if best is None or cost < best[0]:
                best = cost, box
        if best is not None:
            self.set_position((best[1].x0 + 1.5 * pixel - x, best[1].y0 + 1.5 * pixel - y))
        super().update_positions(renderer)


def _pixels(ax: Axes) -> Numbers:
    """Points on all lines of some axes, in pixels."""
    paths = [line.get_transform().transform_path(line.get_path()).interpolated(8).vertices for line in ax.lines]
    points: Numbers = np.concatenate([np.zeros((0, 2)), *paths])
    return points[np.isfinite(points).all(axis=1)]


def _name(chart: Chart, ax: Axes, line: Series, style: Style) -> None:
    """Write the name of a line in the margin, or beside its end if that is well inside the axes."""
    is_zero = chart.y_log and bool((line.y <= 0).all())  # its markers are at the foot of the axis
    foot = ax.transData.inverted().transform(ax.transAxes.transform((0.5, ZERO_HEIGHT)))[1]
    y = np.full(len(line.y), foot) if is_zero else line.y
    at = ax.transAxes.inverted().transform(ax.transData.transform(np.column_stack([line.x, y])))
    shown = np.flatnonzero(((at >= -1e-9) & (at <= 1 + 1e-9)).all(axis=1))
    if not len(shown):
        return
    last = shown[-1]
    text: dict[str, Any] = {"color": style.colour, "weight": "bold" if line.is_bold else None, "annotation_clip": False}
    xy = (line.x[last], y[last])
    if at[last, 0] >= 0.9:
        joint = {"arrowstyle": "-", "color": style.colour, "linewidth": 0.6, "alpha": 0.7, "relpos": (0, 0.5)}
        text |= {"arrowprops": joint | {"shrinkA": 0, "shrinkB": 4}, "va": "center"}
        end = _End(_wrapped(line.label), xy, (0, 0), textcoords="offset pixels", **text)
        ax._add_text(end)
    else:
        sides = ((6, "left"), (-6, "right"), (0, "center"))
        _write_inside(
            ax,
            line.label,
            xy,
            [(dx, 5 * k, ha, "center") for k in sorted(range(-20, 21), key=abs) for dx, ha in sides],
            style.colour,
        )


def _write_inside(
    ax: Axes,
    words: str,
    xy: tuple[float, float],
    spots: Sequence[tuple[float, float, str, str]],
    colour: str,
    **options: Any,
) -> None:
    text = _Inside(
        words,
        xy,
        (0, 0),
        textcoords="offset pixels",
        color=colour,
        fontsize="small",
        in_layout=False,
        path_effects=[withStroke(linewidth=2.5, foreground=ax.get_facecolor())],
        **options,
    )
    text.spots = spots
    ax._add_text(text)


def _draw_rule(ax: Axes, at: float, label: str, *, upright: bool) -> None:
    (ax.axvline if upright else ax.axhline)(at, color="#777777", linewidth=0.9, linestyle=(0, (3, 2)), zorder=1.5)
    if not label:
        return
    if upright:
        spots = [(dx, -11 * k, ha, "top") for k in range(20) for dx, ha in ((3, "left"), (-3, "right"))]
        _write_inside(ax, label, (at, 1), spots, GREY, xycoords=ax.get_xaxis_transform())
    else:
        spots = [(0, dy, "right", va) for dy, va in ((1, "bottom"), (-1, "top"))]
        _write_inside(ax, label, (1, at), spots, GREY, xycoords=ax.get_yaxis_transform())


def _head(chart: Chart, ax: Axes, handles: Sequence[tuple[Series, Any]], has_names: bool) -> None:
    """Write the labels of the axes, and above them the legend and the title."""
    across, up = (chart.y_label, chart.x_label) if chart.categories else (chart.x_label, chart.y_label)
    ax.set_xlabel(across)
    ax.set_ylabel(up, rotation="horizontal", ha="left", va="bottom")
    figure: Any = ax.figure
    point = figure.dpi_scale_trans
    ax.yaxis.set_label_coords(0, 1, ax.transAxes + ScaledTranslation(0, 6 / 72, point))
    height = 6 + (1.3 * ax.yaxis.label.get_size() if up else 0)
    entries = _entries(chart, handles, has_names)
    for columns in range(len(entries), 0, -1):
        legend = ax.legend(
            list(entries.values()), list(entries), ncols=columns, loc="lower left", frameon=False, borderaxespad=0, borderpad=0,
            bbox_to_anchor=(0, 1), bbox_transform=ax.transAxes + ScaledTranslation(0, height / 72, point), columnspacing=1.4, handlelength=2.2, handletextpad=0.5,
        )  # fmt: skip
        box = legend.get_window_extent()
        if box.width <= ax.get_window_extent().width or columns == 1:
            height += box.height * 72 / figure.dpi + 4
            break
    ax.set_title(_unbroken(chart.title), loc="left", pad=height, wrap=True)


def _entries(chart: Chart, handles: Sequence[tuple[Series, Any]], has_names: bool) -> dict[str, Any]:
    """What the legend shows: the names that are not at a line's end; a name in several colours is grey."""
    if chart.categories and not chart.has_shared_categories:
        return {}
    kinds = ("points",) if has_names else ("line", "reference", "points")
    shown = [(line, handle) for line, handle in handles if line.kind in kinds]
    if len({line.label for line, _ in shown}) == 1 and shown[0][0].label in f"{chart.title}\n{chart.y_label}":
        return {}  # it says nothing new
    entries: dict[str, Any] = {}
    colours: dict[str, set[str]] = {}
    for line, handle in shown:
        drawn = handle if isinstance(handle, Line2D) else handle[0]
        label = textwrap.shorten(line.label, 60, placeholder=" …")
        colours.setdefault(label, set()).add(drawn.get_color())
        entries.setdefault(label, handle)
        if len(colours[label]) > 1:
            entries[label] = Line2D([], [])
            entries[label].update_from(drawn)
            entries[label].set(color=GREY, marker="o", markeredgecolor=GREY)
    return entries


def spread_apart(
    heights: Sequence[float], between: Sequence[float], *, low: float = -inf, high: float = inf
) -> list[float]:
    """Move rising heights apart: the nearest ones in the same order with these distances, inside low and high.

    The outermost stay half a distance inside the limits. Without enough space for all, they exceed `high`.

    >>> spread_apart([0.0, 0.1, 0.8], [0.25, 0.25])
    [-0.075, 0.175, 0.8]
    >>> spread_apart([0.0, 0.0], [0.5], low=0.0, high=2.0)
    [0.25, 0.75]
    """
    offsets = [0.0, *accumulate(between)]  # of each above the first, if all stood as close as they may
    groups: list[tuple[float, int]] = []  # each: where its first would stand without its offset, and how many there are
    for height, offset in zip(heights, offsets, strict=True):
        start, size = height - offset, 1
        while groups and start < groups[-1][0]:
            first, before = groups.pop()
            start, size = (first * before + start * size) / (before + size), before + size
        groups.append((start, size))
    least, most = low, high - offsets[-1]
    if between:
        least, most = least + between[0] / 2, most - between[-1] / 2
    starts = [max(min(start, most), least) for start, size in groups for _ in range(size)]
    return [round(start + offset, 12) for start, offset in zip(starts, offsets, strict=True)]


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.wrap(_unbroken(name), MAX_NAME))


def _unbroken(words: str) -> str:
    """These words with spaces that no line is broken at: around "=", after "seed" and before units."""
    return _NO_BREAK.sub("\u00a0", words)

"""Draw charts with matplotlib: on a user's axes, on a new figure with the caption below, or into a file."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from math import floor, log10
from typing import Any

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, Formatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from matchbandit.errors import MatchbanditError
from matchbandit.figures.chart import MAX_MARKERS, AxisRule, Chart, Series
from matchbandit.figures.style import GREY, Marker, Style, spread_apart, styles_of
from matchbandit.formatting import power_of_ten, short

Point = tuple[float, float]
HEIGHT = 3.1
"""Of the axes of a figure of our own, in inches."""
MAX_LEGEND_LINES = 3
"""Lines in the legend; if there are more, each is named at its end."""
MAX_NAME, MAX_LEGEND_NAME = 30, 60
"""Characters of a name beside the axes before it is wrapped, and of one in the legend before it is cut."""
_MARKERS: dict[Marker, str] = {
    "circle": "o", "square": "s", "diamond": "D", "triangle": "^", "triangle-down": "v", "triangle-left": "<",
    "triangle-right": ">", "plus": "P", "cross": "X", "hexagon": "h", "star": "*", "pentagon": "p",
}  # fmt: skip
_SIZES = {"*": 7.5, "P": 6.0, "X": 6.0, "h": 5.8, "p": 5.8, "D": 4.6}
"""Of markers that appear smaller or larger than others of the same size."""
_DASHES: dict[str, Any] = {"solid": "-", "dashed": (0, (4.5, 1.8)), "dotted": (0, (1.2, 1.6))}
_INK, _FRAME = "#222222", "#888888"
_STYLE: dict[str, Any] = {
    "figure.figsize": (6.0, HEIGHT / 0.77), "savefig.dpi": 200,  # on a phone, 360 pixels wide, the text is readable
    "figure.constrained_layout.use": True, "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.08,
    "font.family": "DejaVu Sans", "font.size": 9.5, "text.color": _INK, "text.parse_math": False,
    "figure.titlesize": 11.0, "figure.titleweight": "bold", "axes.labelcolor": GREY, "axes.edgecolor": _FRAME,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "legend.frameon": False, "legend.borderaxespad": 0.0, "legend.borderpad": 0.0,
    "grid.color": "#dddddd", "grid.linewidth": 0.6,
    "xtick.color": _FRAME, "ytick.color": _FRAME, "xtick.labelcolor": _INK, "ytick.labelcolor": _INK,
    "svg.hashsalt": "matchbandit", "pdf.fonttype": 42,  # without the salt, names inside the file differ
}  # fmt: skip
"""Of figures of our own; on users' axes their settings apply."""
_METADATA: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
_NO_BREAK = re.compile(r" (?==)|(?<==) |(?<=seed|orem) (?=\d)|(?<=\d) (?=%|runs?\b|rounds?\b|players?\b)")
"""Spaces at which lines are not broken."""


def plot(chart: Chart, ax: Axes | None = None) -> Axes:
    """Draw a chart on these axes, or with its caption on a new figure of pyplot, and return the axes."""
    if ax is None:
        from matplotlib import pyplot as plt  # noqa: PLC0415  # files are drawn without its state

        with mpl_style.context([_STYLE], after_reset=True):
            return _compose(chart, plt.figure())
    if not isinstance(ax, Axes):
        raise MatchbanditError(f"plot draws on one Axes; got {type(ax).__name__}. Give one of them, such as axes[0].")
    with rc_context({"text.parse_math": False}):  # a name may hold $
        entries = _draw(chart, ax)
        if entries:
            ax.legend(entries.values(), entries)
    ax.set_title(chart.title, parse_math=False)
    ax.set_ylabel(chart.x_label if chart.categories else chart.y_label, parse_math=False)
    return ax


def encode(chart: Chart, kind: str) -> bytes:
    """Return the chart as a png, pdf or svg file: the same bytes for the same chart, whatever the user's settings."""
    file = BytesIO()
    with mpl_style.context([_STYLE], after_reset=True):
        figure = Figure()
        _compose(chart, figure)
        figure.savefig(file, format=kind, metadata=_METADATA[kind])
    return file.getvalue()


def _compose(chart: Chart, figure: Figure) -> Axes:
    """Fill a figure with a chart and its caption; the height of the axes follows from the names beside them."""
    ax = figure.add_subplot()
    ax.grid(axis="x" if chart.categories else "y")
    entries = _draw(chart, ax)
    up = chart.x_label if chart.categories else chart.y_label
    ax.set_ylabel(up, rotation="horizontal", ha="left", va="bottom")
    ax.yaxis.set_label_coords(0, 1, ax.transAxes + ScaledTranslation(0, 6 / 72, figure.dpi_scale_trans))
    above = ax.transAxes + ScaledTranslation(0, (20 if up else 8) / 72, figure.dpi_scale_trans)
    for columns in range(len(entries), 0, -1):  # as many as fit
        legend = ax.legend(
            entries.values(), entries, ncols=columns, loc="lower left", bbox_to_anchor=(0, 1), bbox_transform=above
        )
        if legend.get_window_extent().width < 0.87 * figure.bbox.width:
            break
    right = 0.98 * figure.bbox.width
    _fit(figure.suptitle(_unbroken(chart.title), x=0.02, ha="left"), right)
    if chart.caption:
        _fit(figure.supxlabel(_unbroken(chart.caption), x=0.02, ha="left", fontsize=8.5, color=GREY), right)
    names = chart.categories or [text.get_text() for text in ax.texts if getattr(text, "arrow_patch", None)]
    space, least = (0.15, 0.8) if chart.categories else (0.0, HEIGHT)
    height = max(least, sum(space + _height(name) for name in names))
    figure.set_figheight(height + 2)
    figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]  # the style sets it
    figure.set_figheight((height + 2) * (1 - ax.get_position().height) + height)
    return ax


def _draw(chart: Chart, ax: Axes) -> dict[str, Any]:
    """Draw all but title, y label and caption, and return the handles of the names that a legend has to show."""
    flat, styles = bool(chart.categories), styles_of(chart)
    red, green, blue, alpha = to_rgba(ax.get_facecolor())
    if alpha > 0.5 and red + green + blue < 1.5:
        styles = tuple(replace(style, colour=style.dark) for style in styles)
    along, measured = ("y", "x") if flat else ("x", "y")
    for name, is_log in ((along, chart.x_log), (measured, chart.y_log)):
        if is_log:
            getattr(ax, f"set_{name}scale")("log", nonpositive="mask")
    logs = {name: getattr(ax, f"get_{name}scale")() == "log" for name in "xy"}  # shared axes may be so already
    chart = replace(chart, x_log=logs[along], y_log=logs[measured])
    handles = [_draw_series(chart, ax, line, style) for line, style in zip(chart.series, styles, strict=True)]
    _set_limits(chart, ax)
    for number, rule in enumerate(chart.rules):
        _draw_rule(ax, rule, number, upright=(rule.axis == "x") != flat)
    has_zeros = chart.y_log and any((line.y <= 0).any() for line in chart.series)
    _number(getattr(ax, f"{measured}axis"), log=chart.y_log, zero=chart.y_floor if has_zeros else None)
    if flat:
        _name_rows(chart, ax, styles)
    else:
        _number(ax.xaxis, log=chart.x_log, ticks=chart.x_ticks)
    ax.set_xlabel(chart.y_label if flat else chart.x_label, parse_math=False)
    return _name_series(chart, ax, handles, styles)


def _draw_series(chart: Chart, ax: Axes, line: Series, style: Style) -> Any:
    """Draw a line or a set of points, and return what stands for it in a legend."""
    least = chart.y_floor if chart.y_log else -np.inf  # what is below it has no position
    up = np.maximum(line.y, least)
    band = None if line.low is None or line.high is None else np.maximum([line.low, line.high], least)
    x, y = (up, line.x) if chart.categories else (line.x, up)
    marker, face = _MARKERS[style.marker], ax.get_facecolor() if line.is_hollow else style.colour
    look: dict[str, Any] = {"color": style.colour, "marker": marker, "markerfacecolor": face, "markeredgewidth": 1.1}
    look["markersize"] = _SIZES.get(marker, 5.0) * (1.2 if line.is_bold else 1.0)
    if line.kind == "reference":
        return ax.plot(x, y, color=style.colour, linestyle=_DASHES[style.dash], linewidth=1.0, zorder=2)[0]
    if line.kind == "cloud":
        look |= {"marker": "o", "markersize": 3.2, "alpha": 0.4, "markeredgewidth": 0.6, "linestyle": "none"}
        return ax.plot(x, y, **look, zorder=2)[0]
    if line.kind == "points":
        bars = None if band is None else np.array([up - band[0], band[1] - up]).clip(min=0)
        look["xerr" if chart.categories else "yerr"] = bars
        look["markerfacecolor"] = "none" if line.is_hollow else style.colour  # what lies below is seen
        return ax.errorbar(x, y, **look, linestyle="none", capsize=2.5, elinewidth=1.1, zorder=4)
    if band is not None:
        pale = 0.14 if len(chart.series) <= 6 else 0.09
        ax.fill_between(x, *band, color=style.colour, alpha=pale, linewidth=0, zorder=1)
    if len(x) > MAX_MARKERS and np.isfinite(y).any():  # matplotlib cannot space the markers of no point
        look["markevery"] = 0.03 + 0.037 * (chart.series.index(line) % 4), 0.17
    return ax.plot(x, y, **look, linestyle=_DASHES[style.dash], linewidth=2.6 if line.is_bold else 1.6, zorder=3)[0]


def _set_limits(chart: Chart, ax: Axes) -> None:
    """Show all that is drawn, linear axes of values from 0 on, and categories from top to bottom."""
    flat, is_linear = bool(chart.categories), not chart.y_log
    x_from_zero = not flat and not chart.x_log and chart.x_starts_at_zero
    ax.update_datalim([(0, 0)], updatex=is_linear if flat else x_from_zero, updatey=is_linear and not flat)
    for line in ax.lines:
        line.sticky_edges.x.append(0.0)  # no margin below 0
        line.sticky_edges.y.append(0.0)
    ax.margins(0.05 if flat else 0.03, 0.05)
    ax.autoscale_view()
    if chart.y_range is not None:
        (ax.set_xlim if flat else ax.set_ylim)(*chart.y_range)
    if flat:
        ax.set_ylim(len(chart.categories) - 0.5, -0.5)


def _draw_rule(ax: Axes, rule: AxisRule, number: int, *, upright: bool) -> None:
    """Draw a rule and its label: at the top of an upright one, each lower than the one before; else at the right."""
    (ax.axvline if upright else ax.axhline)(rule.at, color="#777777", lw=0.9, linestyle=(0, (3, 2)), zorder=1.5)
    ax.autoscale_view()
    look: dict[str, Any] = {"color": GREY, "fontsize": "small", "zorder": 5, "in_layout": False}
    look |= {"textcoords": "offset points", "path_effects": [withStroke(linewidth=1.5, foreground=ax.get_facecolor())]}
    if upright:
        transform = ax.get_xaxis_transform()
        is_left = (transform - ax.transAxes).transform((rule.at, 1))[0] < 0.5
        offset, align = (3 if is_left else -3, -2 - 11 * number), ("left" if is_left else "right", "top")
    else:
        transform, is_above = ax.get_yaxis_transform(), number % 2 == 0
        offset, align = (-2, 2 if is_above else -2), ("right", "bottom" if is_above else "top")
    at = (rule.at, 1) if upright else (1, rule.at)
    ax.annotate(rule.label, at, offset, transform, ha=align[0], va=align[1], **look)


def _number(axis: Axis, *, log: bool, ticks: Sequence[float] | None = None, zero: float | None = None) -> None:
    """Set ticks and their numbers; `zero` is where a logarithmic axis shows 0."""
    if ticks is not None:
        axis.set_major_locator(FixedLocator(sorted(ticks)))
    elif log:
        low, high = sorted(axis.get_view_interval())
        per_decade = (1, 2, 5) if high < 100 * low else (1, 3) if high < 3000 * low else (1,)
        axis.set_major_locator(LogLocator(subs=per_decade))
        if zero is not None:
            least = zero * (high / low) ** 0.06
            axis.set_major_locator(FixedLocator([zero, *(tick for tick in axis.get_majorticklocs() if tick > least)]))
    else:
        axis.set_major_locator(MaxNLocator(min(axis.get_tick_space(), 7), steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(_Numbers(zero, powers=log and max(axis.get_view_interval()) >= 1e6))
    axis.set_minor_formatter(NullFormatter())


class _Numbers(Formatter):
    """Numbers at ticks; along x without those that would overlap the one before."""

    def __init__(self, zero: float | None, *, powers: bool) -> None:
        self.zero, self.powers = zero, powers

    def __call__(self, x: float, pos: int | None = None) -> str:
        if self.powers and x >= 1e4:
            return power_of_ten(x, floor(log10(x) + 1e-12))
        return "0" if x == self.zero else short(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Format the numbers of all ticks."""
        texts, right = [self(value) for value in values], -np.inf
        axis: Any = self.axis
        if axis.axis_name == "y":
            return texts
        character = 0.6 * axis.get_major_ticks(1)[0].label1.get_size() * axis.axes.figure.dpi / 72
        for at, x in enumerate(axis.axes.transData.transform([(value, 1.0) for value in values])[:, 0]):
            half = character * (len(texts[at]) + 1) / 2
            if x >= axis.axes.bbox.x0 - 1:  # the others are not shown
                texts[at], right = (texts[at], x + half) if x - half > right else ("", right)
        return texts


def _name_rows(chart: Chart, ax: Axes, styles: Sequence[Style]) -> None:
    """Name the categories at the y axis, in the colour of the series where each has a row of its own."""
    ax.set_yticks(range(len(chart.categories)), [_wrapped(name) for name in chart.categories], parse_math=False)
    ax.tick_params(axis="y", length=0)
    if not chart.has_shared_categories:
        pairs = zip(chart.series, styles, strict=True)
        colours = {round(line.x[0]): style.colour for line, style in pairs if len(line.x)}
        for at, label in enumerate(ax.get_yticklabels()):
            label.set_color(colours.get(at, GREY))


def _name_series(chart: Chart, ax: Axes, handles: Sequence[Any], styles: Sequence[Style]) -> dict[str, Any]:
    """Name many lines at their ends, and return the handles of all other series for a legend."""
    if chart.categories and not chart.has_shared_categories:
        return {}
    drawn = zip(chart.series, handles, styles, strict=True)
    named = [(line, handle, style) for line, handle, style in drawn if line.label and line.kind != "cloud"]
    ends: list[tuple[Point, Series, Style]] = []
    if not chart.categories and len({line.label for line, _, _ in named if line.kind != "points"}) > MAX_LEGEND_LINES:
        lines = [(_end(ax, handle), line, style) for line, handle, style in named if line.kind != "points"]
        ends = [(end, line, style) for end, line, style in lines if end is not None]
        _name_ends(ax, ends)
    entries: dict[str, Any] = {}
    for line, handle, style in named:
        if line not in [line for _, line, _ in ends]:
            label = line.label if len(line.label) <= MAX_LEGEND_NAME else f"{line.label[: MAX_LEGEND_NAME - 2]} …"
            if line.kind == "points" and label in entries:  # one name for the points of several policies
                marker, face = _MARKERS[style.marker], "none" if line.is_hollow else GREY
                entries[label] = Line2D([], [], color=GREY, marker=marker, markerfacecolor=face, linestyle="")
            entries.setdefault(label, handle)
    says_nothing_new = len(entries) == 1 and next(iter(entries)) in f"{chart.title}\n{chart.y_label}"
    return {} if says_nothing_new else entries


def _end(ax: Axes, line: Line2D) -> Point | None:
    """The last point of a line that is shown, if it is at the right of the axes."""
    points = np.asarray(line.get_xydata())
    at = (ax.transData - ax.transAxes).transform(points)
    shown = np.flatnonzero(((at >= -1e-9) & (at <= 1 + 1e-9)).all(axis=1))
    return tuple(points[shown[-1]]) if len(shown) and at[shown[-1], 0] >= 0.9 else None


def _name_ends(ax: Axes, ends: Sequence[tuple[Point, Series, Style]]) -> None:
    """Write the names of lines in the right margin, apart from each other, and join them with the lines' ends."""
    ends = sorted(ends, key=lambda one: one[0][1])
    tall = [_height(line.label) for _, line, _ in ends]
    height = max(ax.bbox.height / ax.figure.dpi, sum(tall))
    gaps = [(one + other) / 2 / height for one, other in pairwise(tall)]
    heights = [float((ax.transData - ax.transAxes).transform(end)[1]) for end, _, _ in ends]
    places = spread_apart(heights, gaps, low=0, high=1)
    margin = ax.transAxes + ScaledTranslation(14 / 72, 0, ax.figure.dpi_scale_trans)
    for (end, line, style), place in zip(ends, places, strict=True):
        joint: dict[str, Any] = {"arrowstyle": "-", "color": style.colour, "linewidth": 0.6, "alpha": 0.7}
        joint |= {"relpos": (0, 0.5), "patchA": None, "shrinkA": 2, "shrinkB": 4}
        look: dict[str, Any] = {"color": style.colour, "weight": "bold" if line.is_bold else None, "va": "center"}
        ax.annotate(
            _wrapped(line.label), end, (1, place), textcoords=margin, arrowprops=joint, annotation_clip=False, **look
        )


def _fit(text: Text, right: float) -> None:
    """Break the lines of a text so that they end at the left of this position, in pixels."""
    parts = text.get_text().split("\n")
    for length in range(110, 20, -1):
        text.set_text("\n".join(textwrap.fill(part, length, break_on_hyphens=False) for part in parts))
        if text.get_window_extent().x1 <= right:
            break


def _height(name: str) -> float:
    """The height of a name, in inches."""
    return 0.02 * float(rcParams["font.size"]) * (1 + _wrapped(name).count("\n"))


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.wrap(_unbroken(name), MAX_NAME))


def _unbroken(words: str) -> str:
    """These words with spaces that no line is broken at: around "=", after "seed" and "Theorem", and before units."""
    return _NO_BREAK.sub("\u00a0", words)

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
from matplotlib import rc_context
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator, Formatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox, IdentityTransform, ScaledTranslation

from matchbandit.figures.chart import MAX_MARKERS, Chart, Numbers, Series
from matchbandit.figures.style import GREY, Marker, Style, spread_apart, styles_of
from matchbandit.formatting import grouped, power_of_ten, short

HEIGHT, LINE_HEIGHT = 3.1, 0.19
"""Of the axes of a figure of our own, and of a line of text beside them, in inches."""
MAX_LEGEND_LINES = 3
"""Lines in the legend; if there are more, each is named at its end."""
MAX_NAME, MAX_LEGEND_NAME = 30, 60
"""Characters of a name beside the axes before it is wrapped, and of one in the legend before it is cut."""
ZERO_HEIGHT = 0.035
"""Of the markers of zeros above the foot of a logarithmic axis, as a share of its length."""
_MARKERS: dict[Marker, str] = {
    "circle": "o", "square": "s", "diamond": "D", "triangle": "^", "triangle-down": "v", "triangle-left": "<",
    "triangle-right": ">", "plus": "P", "cross": "X", "hexagon": "h", "star": "*", "pentagon": "p",
}  # fmt: skip
_SIZES = {"*": 7.5, "P": 6.0, "X": 6.0, "h": 5.8, "p": 5.8, "D": 4.6}
"""Of markers that appear smaller or larger than others of the same size."""
_DASHES: dict[str, Any] = {"solid": "-", "dashed": (0, (4.5, 1.8)), "dotted": (0, (1.2, 1.6))}
_INK, _FRAME = "#222222", "#888888"
_STYLE: dict[str, Any] = {
    "figure.figsize": (6.0, HEIGHT + 2), "savefig.dpi": 200,  # on a phone, 360 pixels wide, the text is readable
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
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
}
_NO_BREAK = re.compile(r" (?==)|(?<==) |(?<=seed|orem) (?=\d)|(?<=\d) (?=%|runs?\b|rounds?\b|players?\b)")
"""Spaces at which lines are not broken."""


def plot(chart: Chart, ax: Axes | None = None) -> Axes:
    """Draw a chart on these axes, or with its caption on a new figure of pyplot, and return the axes."""
    if ax is None:
        from matplotlib import pyplot as plt  # noqa: PLC0415  # files are drawn without its state

        with mpl_style.context([_STYLE], after_reset=True):
            return _compose(chart, plt.figure())
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
    figure.suptitle(_unbroken(chart.title), x=0.02, ha="left", wrap=True)
    if chart.caption:
        figure.supxlabel(_unbroken(chart.caption), x=0.02, ha="left", fontsize=8.5, color=GREY, wrap=True)
    names = chart.categories or [text.get_text() for text in ax.texts if isinstance(text, _EndLabel)]
    tall = sum((0.15 if chart.categories else 0.0) + LINE_HEIGHT * (1 + _wrapped(name).count("\n")) for name in names)
    height = max(0.8 if chart.categories else HEIGHT, tall)
    figure.set_figheight(height + 2)
    figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]  # the style sets it
    figure.set_figheight((height + 2) * (1 - ax.get_position().height) + height)
    return ax


def _draw(chart: Chart, ax: Axes) -> dict[str, Any]:
    """Draw all but title, y label and caption, and return the handles of the names that a legend has to show."""
    before = ax.dataLim.frozen() if ax.has_data() else None
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
    _set_limits(chart, ax, before)
    _set_ticks(chart, ax, styles)
    ax.set_xlabel(chart.y_label if flat else chart.x_label, parse_math=False)
    for rule in chart.rules:
        _draw_rule(ax, rule.at, rule.label, upright=(rule.axis == "x") != flat)
    pairs = zip(chart.series, styles, strict=True)
    named = [(line, style) for line, style in pairs if line.label and line.kind in ("line", "reference")]
    if flat or len({line.label for line, _ in named}) <= MAX_LEGEND_LINES:
        return _legend_entries(chart, handles, ("line", "reference", "points"))
    for line, style in named:
        _label_end(chart, ax, line, style)
    return _legend_entries(chart, handles, ("points",))


def _draw_series(chart: Chart, ax: Axes, line: Series, style: Style) -> Any:
    """Draw a line or a set of points, and return what stands for it in a legend."""
    x, y = (line.y, line.x) if chart.categories else (line.x, line.y)
    marker, face = _MARKERS[style.marker], ax.get_facecolor() if line.is_hollow else style.colour
    look: dict[str, Any] = {"color": style.colour, "marker": marker, "markerfacecolor": face, "markeredgewidth": 1.1}
    look["markersize"] = _SIZES.get(marker, 5.0) * (1.2 if line.is_bold else 1.0)
    zeros = line.x[line.y <= 0] if chart.y_log else np.zeros(0)
    if len(zeros):
        _mark_zeros(chart, ax, zeros, look)
    if line.kind == "reference":
        return ax.plot(x, y, color=style.colour, linestyle=_DASHES[style.dash], linewidth=1.0, zorder=2)[0]
    if line.kind == "cloud":
        look |= {"marker": "o", "markersize": 3.2, "alpha": 0.4, "markeredgewidth": 0.6, "linestyle": "none"}
        return ax.plot(x, y, **look, zorder=2)[0]
    if line.kind == "points":
        bars = None if line.low is None or line.high is None else np.array([line.y - line.low, line.high - line.y])
        look["xerr" if chart.categories else "yerr"] = None if bars is None else bars.clip(min=0)
        look["markerfacecolor"] = "none" if line.is_hollow else style.colour  # what lies below is seen
        return ax.errorbar(x, y, **look, linestyle="none", capsize=2.5, elinewidth=1.1, zorder=4)
    if line.low is not None and line.high is not None:
        pale = 0.14 if len(chart.series) <= 6 else 0.09
        low = np.maximum(line.low, 1e-99) if chart.y_log else line.low  # a band from 0 ends at the foot
        ax.fill_between(x, low, line.high, color=style.colour, alpha=pale, linewidth=0, zorder=1)
    if len(x) > MAX_MARKERS and len(zeros) < len(x):  # matplotlib cannot space the markers of no point
        look["markevery"] = 0.03 + 0.037 * (chart.series.index(line) % 4), 0.17
    return ax.plot(x, y, **look, linestyle=_DASHES[style.dash], linewidth=2.6 if line.is_bold else 1.6, zorder=3)[0]


def _mark_zeros(chart: Chart, ax: Axes, positions: Numbers, look: dict[str, Any]) -> None:
    """Mark values that have no position on a logarithmic axis at its foot, beside the label "0"."""
    foot = np.full(len(positions), ZERO_HEIGHT)
    look = look | {"markersize": 4.7, "linestyle": "none", "clip_on": False, "zorder": 5}
    if chart.categories:
        ax.plot(foot, positions, **look | {"marker": "<"}, transform=ax.get_yaxis_transform())
        at, offset, align = (ZERO_HEIGHT, 0.0), (0.0, -6.5), {"ha": "center", "va": "top"}
    else:
        ax.plot(positions, foot, **look | {"marker": "v"}, transform=ax.get_xaxis_transform())
        at, offset, align = (0.0, ZERO_HEIGHT), (-6.5, 0.0), {"ha": "right", "va": "center"}
    if "0" not in [text.get_text() for text in ax.texts]:
        ax.annotate("0", at, offset, ax.transAxes, "offset points", **align)  # type: ignore[arg-type]


def _set_limits(chart: Chart, ax: Axes, before: Bbox | None) -> None:
    """Let the axes show all means, bands and rules, but nothing far below the means of a logarithmic axis.

    Limits follow from the data's, so that axes can be shared, and drawn on again.
    """
    bands = [band for line in chart.series for band in (line.low, line.high) if band is not None]
    rules = {name: np.array([rule.at for rule in chart.rules if rule.axis == name]) for name in ("x", "y")}
    x = _drawable([*(line.x for line in chart.series), rules["x"]], log=chart.x_log)
    means = _drawable([line.y for line in chart.series], log=chart.y_log)
    y = _drawable([means, rules["y"], *bands], log=chart.y_log)
    left, right, low, high = float(x.min()), float(x.max()), float(y.min()), float(y.max())
    if not chart.x_log and 0 < left < 0.06 * right and chart.x_ticks is None:
        left = 0.0
    low = max(low, float(means.min()) / 3) if chart.y_log else min(low, 0.0)
    if _has_zeros(chart):
        low /= max(high / low, 10.0) ** (3 * ZERO_HEIGHT)
    box = Bbox([[low, left], [high, right]] if chart.categories else [[left, low], [right, high]])
    ax.dataLim.set(box if before is None else Bbox.union([before, box]))
    for line in ax.lines:
        line.sticky_edges.x.append(0.0)  # no margin below 0
        line.sticky_edges.y.append(0.0)
    ax.margins(0.05 if chart.categories else 0.03, 0.05)
    ax.autoscale_view()
    if chart.y_range is not None:
        (ax.set_xlim if chart.categories else ax.set_ylim)(*chart.y_range)
    if chart.categories:
        ax.set_ylim(len(chart.categories) - 0.5, -0.5)


def _has_zeros(chart: Chart) -> bool:
    return chart.y_log and any((line.y <= 0).any() for line in chart.series)


def _drawable(values: Sequence[Numbers], *, log: bool) -> Numbers:
    """The values that have a position on an axis; if none has, two that have."""
    together = np.concatenate([*values, np.zeros(0)])
    shown = together[np.isfinite(together) & ((together > 0) | (not log))]
    return shown if len(shown) else np.array([1.0, 10.0] if log else [0.0, 1.0])


def _set_ticks(chart: Chart, ax: Axes, styles: Sequence[Style]) -> None:
    along, measured = (ax.yaxis, ax.xaxis) if chart.categories else (ax.xaxis, ax.yaxis)
    _number(measured, log=chart.y_log)
    if _has_zeros(chart):
        least = ax.transData.inverted().transform(ax.transAxes.transform([2.5 * ZERO_HEIGHT] * 2))
        shown = [tick for tick in measured.get_majorticklocs() if tick > least[0 if chart.categories else 1]]
        measured.set_major_locator(FixedLocator(shown))
    if not chart.categories:
        _number(along, log=chart.x_log, ticks=chart.x_ticks)
        return
    ax.set_yticks(range(len(chart.categories)), [_wrapped(name) for name in chart.categories], parse_math=False)
    ax.tick_params(axis="y", length=0)
    if not chart.has_shared_categories:
        colours = {
            round(line.x[0]): style.colour for line, style in zip(chart.series, styles, strict=True) if len(line.x)
        }
        for at, label in enumerate(ax.get_yticklabels()):
            label.set_color(colours.get(at, GREY))


def _number(axis: Axis, *, log: bool, ticks: Sequence[float] | None = None) -> None:
    """Set ticks and their numbers."""
    if ticks is not None:
        axis.set_major_locator(FixedLocator(sorted(ticks)))
    elif log:
        low, high = sorted(axis.get_view_interval())
        finer = {1.0: (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), 1.5: (1.0, 2.0, 5.0), 2.5: (1.0, 3.0)}
        subs = next((subs for decades, subs in finer.items() if log10(high / low) < decades), (1.0,))
        axis.set_major_locator(LogLocator(subs=subs))
    else:
        axis.set_major_locator(MaxNLocator(min(axis.get_tick_space(), 7), steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(_Numbers(log=log, ends_first=ticks is not None))
    axis.set_minor_formatter(NullFormatter())


class _Numbers(Formatter):
    """Numbers in one notation for all of an axis; along x without those that would overlap another."""

    def __init__(self, *, log: bool, ends_first: bool) -> None:
        self.log, self.ends_first = log, ends_first

    def __call__(self, x: float, pos: int | None = None) -> str:
        return short(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Format the numbers of all ticks."""
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        shown = [at for at, value in enumerate(values) if low - 1e-9 * high <= value <= high + 1e-9 * high]
        texts, order = dict(zip(shown, tick_labels([values[at] for at in shown], log=self.log), strict=True)), shown
        if axis.axis_name == "x":
            size = axis.get_major_ticks(1)[0].label1.get_size() * axis.axes.figure.dpi / 72
            centres = {at: axis.axes.transData.transform((values[at], 1.0))[0] for at in shown}
            wide = {at: 0.3 * size * (len(texts[at]) + 1.2) for at in shown}
            order = []
            for at in [*shown[:1], *shown[:0:-1]] if self.ends_first else shown:
                if all(abs(centres[at] - centres[other]) > wide[at] + wide[other] for other in order):
                    order.append(at)
        return [texts[at] if at in order else "" for at in range(len(values))]


def tick_labels(ticks: Sequence[float], *, log: bool = False) -> list[str]:
    """Return the numbers at these ticks, in one notation for all of an axis."""
    largest, smallest = max((abs(t) for t in ticks), default=0.0), min((abs(t) for t in ticks if t), default=1.0)
    if log and (largest >= 1e6 or smallest < 1e-3):
        return [short(t) if 1e-3 <= t < 1e4 else power_of_ten(t, floor(log10(t) + 1e-12)) for t in ticks]
    if largest >= 1e6 or 0 < largest < 1e-3:
        return [power_of_ten(t, floor(log10(largest) + 1e-12)) for t in ticks]
    return [grouped(t) for t in ticks]


def _legend_entries(chart: Chart, handles: Sequence[Any], kinds: Sequence[str]) -> dict[str, Any]:
    """The handle of each name among these kinds of series; of a name in several colours a grey one."""
    entries: dict[str, Any] = {}
    colours: dict[str, set[Any]] = {}
    for line, handle in zip(chart.series, handles, strict=True):
        if not line.label or line.kind not in kinds or (chart.categories and not chart.has_shared_categories):
            continue
        label = line.label if len(line.label) <= MAX_LEGEND_NAME else f"{line.label[: MAX_LEGEND_NAME - 2]} …"
        drawn = handle if isinstance(handle, Line2D) else handle.lines[0]
        colours.setdefault(label, set()).add(drawn.get_color())
        if label not in entries:
            entries[label] = handle
        elif len(colours[label]) > 1:
            entries[label] = Line2D([], [])
            entries[label].update_from(drawn)
            entries[label].set(color=GREY, marker="o", markeredgecolor=GREY)
    says_nothing_new = len(entries) == 1 and next(iter(entries)) in f"{chart.title}\n{chart.y_label}"
    return {} if says_nothing_new else entries


def _label_end(chart: Chart, ax: Axes, line: Series, style: Style) -> None:
    """Write the name of a line in the margin, or beside its end if that is well inside the axes."""
    foot = ax.transData.inverted().transform(ax.transAxes.transform((0.5, ZERO_HEIGHT)))[1]
    y = np.full(len(line.y), foot) if chart.y_log and (line.y <= 0).all() else line.y  # zeros are marked at the foot
    at = ax.transAxes.inverted().transform(ax.transData.transform(np.column_stack([line.x, y])))
    shown = np.flatnonzero(((at >= -1e-9) & (at <= 1 + 1e-9)).all(axis=1))
    if not len(shown):
        return
    end = line.x[shown[-1]], y[shown[-1]]
    look: dict[str, Any] = {"color": style.colour, "weight": "bold" if line.is_bold else None}
    if at[shown[-1], 0] >= 0.9:
        ax.add_artist(_EndLabel(_wrapped(line.label), end, **look))
        return
    heights = sorted(range(-100, 101, 5), key=abs)
    spots = [(dx, dy, across, 0.5) for dy in heights for dx, across in ((6, 0.0), (-6, 1.0), (0, 0.5))]
    ax.add_artist(_InsideLabel(_wrapped(line.label), end, spots, ground=ax.get_facecolor(), **look))


def _draw_rule(ax: Axes, at: float, label: str, *, upright: bool) -> None:
    """Draw a rule, and write its label where it hides least along it."""
    (ax.axvline if upright else ax.axhline)(at, color="#777777", lw=0.9, linestyle=(0, (3, 2)), zorder=1.5)
    spots = [(-dx, dy, 1.0, up) for dx in range(0, 301, 30) for dy, up in ((2, 0.0), (-2, 1.0))]
    if upright:
        spots = [(dx, -dy, across, 1.0) for dy in range(2, 222, 11) for dx, across in ((3, 0.0), (-3, 1.0))]
    look = {"xycoords": ax.get_xaxis_transform() if upright else ax.get_yaxis_transform(), "color": GREY}
    if label:
        ax.add_artist(_InsideLabel(label, (at, 1) if upright else (1, at), spots, ground=ax.get_facecolor(), **look))


class _EndLabel(Annotation):
    """The name of a line in the right margin, joined with its end; apart from the others, whatever the size."""

    def __init__(self, name: str, end: tuple[float, float], color: str, **look: Any) -> None:
        joint = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "alpha": 0.7, "shrinkA": 2, "shrinkB": 4}
        joint |= {"relpos": (0, 0.5), "patchA": None}
        look |= {"color": color, "arrowprops": joint, "va": "center", "clip_on": False}
        super().__init__(name, end, (0, 0), textcoords="offset pixels", annotation_clip=False, **look)
        self.set_transform(IdentityTransform())  # else (0, 0) counts as data, which a logarithmic axis does not have

    def update_positions(self, renderer: Any) -> None:
        """Move it between the others; matplotlib calls this before it measures or draws."""
        ax: Any = self.axes
        ends = [text for text in ax.texts if isinstance(text, _EndLabel)]
        x, heights = ax.transData.transform([end.xy for end in ends]).T
        order, pixel = np.argsort(heights, kind="stable"), ax.figure.dpi / 72
        tall = [(1.22 * float(end.get_fontsize()) * (1 + end.get_text().count("\n")) + 2) * pixel for end in ends]
        box = ax.get_window_extent()
        gaps = [(tall[one] + tall[other]) / 2 for one, other in pairwise(order)]
        places = spread_apart(heights[order].tolist(), gaps, low=box.y0, high=box.y1)
        own = ends.index(self)
        self.set_position((box.x1 + 14 * pixel - x[own], places[order.tolist().index(own)] - heights[own]))
        super().update_positions(renderer)


class _InsideLabel(Annotation):
    """A name inside the axes: at that of its spots where it hides least and overlaps no other.

    Spots are offsets in points, and the share of its width and of its height that is left of and below them.
    """

    def __init__(self, name: str, at: Any, spots: Sequence[tuple[float, ...]], *, ground: Any, **look: Any) -> None:
        halo = [withStroke(linewidth=2.5, foreground=ground)]
        super().__init__(
            name, at, (0, 0), textcoords="offset pixels", fontsize="small", path_effects=halo, va="bottom", **look
        )
        self.spots = spots
        self.set_in_layout(False)

    def update_positions(self, renderer: Any) -> None:
        """Move it to the best spot; matplotlib calls this before it measures or draws."""
        super().update_positions(renderer)
        ax: Any = self.axes
        pixel, own = ax.figure.dpi / 72, Text.get_window_extent(self, renderer)
        others = [text for text in ax.texts if isinstance(text, _InsideLabel)]
        taken = [Text.get_window_extent(text, renderer) for text in others[: others.index(self)]]
        origin = own.min - np.array(self.get_position())
        paths = [line.get_transform().transform_path(line.get_path()) for line in ax.lines]
        lines = np.concatenate([path.interpolated(300 // (len(path) + 1) + 1).vertices for path in paths])
        room = ax.get_window_extent().padded(-3 * pixel)
        boxes = []
        for number, (dx, dy, across, up) in enumerate(self.spots):
            wanted = origin + np.array([dx, dy]) * pixel - own.size * np.array([across, up])
            corner = np.clip(wanted, room.min, np.maximum(room.max - own.size, room.min))
            box = Bbox([corner, corner + own.size]).padded(1.5 * pixel)
            hidden = int(((lines >= box.min) & (lines <= box.max)).all(axis=1).sum())
            overlaps = sum(box.overlaps(other) for other in taken)
            boxes.append((1e6 * overlaps + 20 * hidden + np.abs(corner - wanted).sum() + number, *(corner - origin)))
        self.set_position(min(boxes)[1:])
        super().update_positions(renderer)


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.wrap(_unbroken(name), MAX_NAME))


def _unbroken(words: str) -> str:
    """These words with spaces that no line is broken at: around "=", after "seed" and "Theorem", and before units."""
    return _NO_BREAK.sub("\u00a0", words)

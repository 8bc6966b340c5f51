"""Render a playback as one picture: the main panel and the regret over time, the decisions, and four moments.

This module imports matplotlib; `playback_files` imports it when a picture is drawn.
"""

from collections.abc import Sequence
from math import log, sqrt
from textwrap import wrap

import numpy as np
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, NullFormatter

from matchbandit.figures.axes import even_ticks, log_ticks, tick_labels, unlabelled_log_ticks
from matchbandit.figures.matplotlib_renderer import DPI, Picture
from matchbandit.figures.panels import (
    DecisionsPanel,
    GridPanel,
    Playback,
    RowMark,
    RowsPanel,
    TimeMark,
    TimePanel,
    blend,
    last_at,
)
from matchbandit.figures.style import GREY, spread_apart
from matchbandit.formatting import grouped, short

PALE, INK = "#c9cdd3", "#1b1b1b"
WIDTH_IN = 9.6
SMALL, TINY = 8.0, 7.0
"""Font sizes, in points."""
LETTER_WIDTH = 0.0092
"""The width of a tiny letter as a share of the time axis: a label is drawn where it has room."""
MAX_NAMED_ROWS, MAX_NUMBERED_CELLS = 40, 12
"""With more rows, every other name is left out; with more cells, their numbers."""
MAX_DECISIONS = 8
_HALO = [withStroke(linewidth=2.5, foreground="white")]
_SHAPES = {"cross": "x", "tick": "|", "dot": "o"}


def render_picture(playback: Playback) -> Picture:
    """Return the whole picture."""
    with mpl_style.context([{"font.family": "DejaVu Sans", "text.parse_math": False}], after_reset=True):
        return _render(playback)


def _render(playback: Playback) -> Picture:
    moments, decisions = playback.moments, playback.decisions
    n_decision_rows = (
        0 if decisions is None else sum(len(d.rows) + 0.6 for d in decisions.most_important(MAX_DECISIONS))
    )
    heights = {
        "story": 0.2 * (len(playback.story.rows) or 14) + 0.7,
        "regret": 1.1,
        "decisions": 0.17 * n_decision_rows + 0.5 if decisions else 0.0,
        "estimates": max(1.2, 0.15 * len(playback.estimates.frames[0]) + 0.5),
        "plays": 2.0,
    }
    heights = {name: height for name, height in heights.items() if height}
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.07, hspace=0.03)
    picture = Picture(figsize=(WIDTH_IN, sum(heights.values()) + 1.9), dpi=DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(picture)
    grid = picture.add_gridspec(len(heights), len(moments), height_ratios=list(heights.values()))
    row = {name: k for k, name in enumerate(heights)}
    for name, panel in (("story", playback.story), ("regret", playback.regret)):
        axes = picture.add_subplot(grid[row[name], :])
        _time_panel(axes, panel, last_at(playback.frames))
    picture.axes[0].set_title(playback.story.title, loc="left", fontsize=10, pad=14 if playback.story.dividers else 6)
    picture.axes[1].set_xlabel("round", fontsize=SMALL)
    if decisions is not None:
        _decisions_panel(picture.add_subplot(grid[row["decisions"], :]), decisions)
    for column, (place, before) in enumerate(zip(moments, (0, *moments), strict=False)):
        axes = picture.add_subplot(grid[row["estimates"], column])
        _rows_panel(axes, playback.estimates, place, named=column == 0)
        axes.set_title(f"after {_round_text(playback.frames[place].round)} rounds", fontsize=9)
        axes = picture.add_subplot(grid[row["plays"], column])
        _grid_panel(axes, playback.plays, playback.played_between(before, place), place, named=column == 0)
    picture.suptitle(playback.title, x=0.01, ha="left", fontsize=13)
    picture.supxlabel("\n".join(wrap(_caption(playback), 160)), x=0.01, ha="left", fontsize=SMALL, color=GREY)
    return picture


def _round_text(played: int) -> str:
    return short(played) if played >= 10**6 else grouped(played)


def _caption(playback: Playback) -> str:
    return (
        f"{playback.caption}. The four moments: {playback.estimates.note} "
        f"Last row: pairs played since the moment before. {playback.plays.note}"
    )


# --- panels over time


def _time_panel(axes: Axes, panel: TimePanel, last: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(1, last)
    ticks = log_ticks(1, last, 8)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_ticklabels(tick_labels(ticks, log=True))
    axes.xaxis.set_minor_locator(FixedLocator(unlabelled_log_ticks(1, last)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylabel(panel.y_label, fontsize=SMALL)
    _y_axis(axes, panel, last)
    _dividers(axes, panel, last)
    _spans(axes, panel, last)
    for curve in panel.curves:
        colour = INK if curve.neutral else curve.colour
        style = "--" if curve.dashed else "-"
        x, y = zip(*curve.points, strict=True) if curve.points else ((), ())
        axes.plot(x, y, style, color=colour, linewidth=2.2 if curve.bold else 1.3, label=curve.name)
        if curve.band:
            at, low, high = np.array(curve.band).T
            axes.fill_between(at, low, high, color=colour, alpha=0.13, linewidth=0)
    for curve in panel.curves:
        if curve.is_threshold and curve.points:
            axes.annotate(curve.label, curve.points[0], xytext=(3, 3), textcoords="offset points", fontsize=TINY)
    for value, _ in panel.truths:
        axes.plot([1.005], [value], "<", transform=axes.get_yaxis_transform(), color=INK, markersize=4, clip_on=False)
    for mark in panel.marks:
        _time_mark(axes, mark, panel, last)
    _end_labels(axes, panel)


def _y_axis(axes: Axes, panel: TimePanel, last: int) -> None:
    if panel.rows:
        every = 1 if len(panel.rows) <= MAX_NAMED_ROWS else 2
        axes.set_yticks(
            [-y for y, name in enumerate(panel.rows) if name],
            [name if y % every == 0 else "" for y, name in enumerate(panel.rows) if name],
        )
        axes.set_ylim(-len(panel.rows) + 0.2, 0.8)
        return
    low, high = panel.y_range or (0.0, 1.0)
    if panel.y_log:
        axes.set_yscale("symlog", linthresh=1, linscale=0.3)
        axes.set_ylim(0, 1.5 * high)
        ticks = [0.0, *log_ticks(1, last, 6)]
        labels = ["0", *tick_labels(ticks[1:], log=True)]
        axes.yaxis.set_minor_locator(FixedLocator([]))
    else:
        axes.set_ylim(low, high)
        ticks = even_ticks(low, high, 5)
        labels = tick_labels(ticks)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_ticklabels(labels)


def _dividers(axes: Axes, panel: TimePanel, last: int) -> None:
    began = 1.0
    for end, name in panel.dividers:
        if end < last:
            axes.axvline(end, color=GREY, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
        if name and end / began > last**0.08:
            axes.annotate(name, (sqrt(began * end), 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
                          textcoords="offset points", fontsize=TINY, color=GREY, ha="center")  # fmt: skip
        began = end


def _spans(axes: Axes, panel: TimePanel, last: int) -> None:
    for y, name in enumerate(panel.rows):
        if name and any(span.kind == "bar" for span in panel.spans):
            axes.plot([1, last], [-y, -y], color=PALE, linewidth=0.6, zorder=0)
    for span in panel.spans:
        x, top, bottom = [span.start, span.end], 0.4 - span.first, -0.4 - span.last
        if span.kind == "bar":
            axes.plot(x, [-span.first] * 2, color=span.colour, linewidth=3.2, solid_capstyle="butt")
        elif span.kind == "border":
            axes.plot(x, [-span.last - 0.5] * 2, color=INK, linewidth=2.4, linestyle=(0, (1, 1)), zorder=3)
        else:
            size = (span.end - span.start, top - bottom)
            axes.add_patch(Rectangle((span.start, bottom), *size, facecolor=span.colour, alpha=0.28, edgecolor="none"))
            axes.add_patch(
                Rectangle((span.start, bottom), *size, facecolor="none", edgecolor=span.colour, linewidth=1.2)
            )


def _time_mark(axes: Axes, mark: TimeMark, panel: TimePanel, last: int) -> None:
    y = -mark.y if panel.rows else mark.y
    if mark.shape == "dot":
        axes.plot([mark.round], [y], "o", color=mark.colour or GREY, markersize=5, markeredgecolor=INK,
                  markeredgewidth=0.8, zorder=3)  # fmt: skip
    else:
        axes.plot([mark.round], [y], _SHAPES[mark.shape], color=INK, markersize=6, zorder=3)
    if mark.label and log(mark.free_until / mark.round) > LETTER_WIDTH * len(mark.label) * log(last):
        axes.annotate(mark.label, (mark.round, y), xytext=(6, 0), textcoords="offset points", fontsize=TINY,
                      va="center", path_effects=_HALO)  # fmt: skip


def _end_labels(axes: Axes, panel: TimePanel) -> None:
    """Write names to the right of where curves end, apart from each other."""
    labelled = [curve for curve in panel.curves if curve.label and curve.points and not curve.is_threshold]
    truth_of = {text.split(":")[0]: value for value, text in panel.truths}
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [truth_of.get(curve.name, curve.points[-1][1]) for curve in labelled]
    heights = [float(to_axes.transform((1.0, y))[1]) for y in ends]
    order = sorted(range(len(heights)), key=heights.__getitem__)
    spread = spread_apart([heights[k] for k in order], 0.066, low=-0.03, high=1.03)
    for k, height in zip(order, spread, strict=True):
        curve = labelled[k]
        axes.annotate(curve.label, (1, height), xycoords="axes fraction", xytext=(9, 0), textcoords="offset points",
                      fontsize=TINY, va="center", color=INK if curve.neutral else curve.colour,
                      annotation_clip=False)  # fmt: skip


# --- panels of one moment


def _row_marks(axes: Axes, rows: Sequence[RowMark], heights: Sequence[float], *, hollow: bool) -> None:
    for mark, y in zip(rows, heights, strict=True):
        colour = mark.colour if mark.active else PALE
        if mark.low is not None and mark.high is not None:
            axes.plot([mark.low, mark.high], [y, y], color=colour, linewidth=2.6, solid_capstyle="butt")
        if mark.estimate is not None:
            inside, size = ("white", 4.4) if hollow else (colour, 3.4)
            axes.plot([mark.estimate], [y], "o", color=colour, markerfacecolor=inside, markersize=size)
        if mark.tick is not None:
            axes.plot([mark.tick], [y], "|", color=INK, markersize=7)


def _x_axis(axes: Axes, low: float, high: float, most: int) -> None:
    axes.set_xlim(low, high + 0.05 * (high - low))
    ticks = even_ticks(low, high, most)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_ticklabels(tick_labels(ticks))
    axes.tick_params(labelsize=TINY, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def _rows_panel(axes: Axes, panel: RowsPanel, frame: int, *, named: bool) -> None:
    rows = panel.frames[frame]
    heights = [-float(k) for k in range(len(rows))]
    _row_marks(axes, rows, heights, hollow=panel.hollow)
    _x_axis(axes, *panel.x_range, 5)
    every = 1 if len(rows) <= MAX_NAMED_ROWS else 2
    axes.set_yticks(heights, [mark.name if named and k % every == 0 else "" for k, mark in enumerate(rows)])
    axes.set_ylim(-len(rows) + 0.3, 0.7)


def _decisions_panel(axes: Axes, panel: DecisionsPanel) -> None:
    """Draw the intervals of the most important decisions below each other, with a heading beside each."""
    chosen = panel.most_important(MAX_DECISIONS)
    more = len(panel.decisions) - len(chosen)
    rows, heights, y = [], [], 0.0
    for decision in chosen:
        top = y
        for mark in decision.rows:
            rows.append(mark)
            heights.append(y)
            y -= 1
        axes.annotate(decision.heading, (1, (top + y + 1) / 2), xycoords=("axes fraction", "data"), xytext=(6, 0),
                      textcoords="offset points", fontsize=TINY, va="center", annotation_clip=False)  # fmt: skip
        y -= 0.6
    _row_marks(axes, rows, heights, hollow=False)
    _x_axis(axes, *panel.x_range, 7)
    axes.set_yticks(heights, [mark.name for mark in rows])
    axes.set_ylim(y + 0.9, 0.7)
    axes.set_xlabel(panel.x_label, fontsize=TINY)
    others = f" ({len(chosen)} of {grouped(len(panel.decisions))} are shown)" if more else ""
    axes.set_title(f"{panel.title}{others}. {panel.note}", loc="left", fontsize=9)


def _grid_panel(axes: Axes, panel: GridPanel, shares: Sequence[float], frame: int, *, named: bool) -> None:
    table = np.zeros((len(panel.rows), len(panel.columns)))
    for cells, share in zip(panel.cells, shares, strict=True):
        for row, column in cells:
            table[row, column] = sqrt(share)
    axes.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="equal")
    for pair in panel.outlined[frame]:
        for row, column in panel.cells[pair]:
            corner = (column - 0.5, row - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=blend(1), linewidth=1.4))
    dots = [cell for pair in panel.best for cell in panel.cells[pair]]
    if max(table.shape) <= MAX_NUMBERED_CELLS:
        axes.plot([column + 0.3 for _, column in dots], [row - 0.3 for row, _ in dots], "o", color=INK, markersize=2.6,
                  markeredgecolor="white", markeredgewidth=0.4)  # fmt: skip
    few = max(table.shape) <= MAX_NUMBERED_CELLS
    axes.set_xticks(range(len(panel.columns)) if few else [], panel.columns if few else [])
    axes.set_yticks(range(len(panel.rows)) if few else [], panel.rows if few else [])
    axes.tick_params(labelsize=TINY, length=0)
    if named:
        axes.set_ylabel(panel.row_label, fontsize=SMALL)
    axes.set_xlabel(panel.column_label, fontsize=SMALL)

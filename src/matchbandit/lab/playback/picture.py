"""Draw a recording as one picture: what happened over time, what decided, and four moments. It imports matplotlib."""

from io import BytesIO

from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from matchbandit.formatting import grouped, short
from matchbandit.lab.playback import panels
from matchbandit.lab.playback.panels import RowsPanel, TimePanel
from matchbandit.lab.playback.record import Recording
from matchbandit.lab.playback.snapshots import Row

INK, GREY = "#1b1b1b", "#6b6b6b"
WIDTH_IN, DPI = 9.6, 144
TITLE, SMALL, TINY = 9.0, 8.0, 7.0
"""Font sizes, in points."""
LETTER_WIDTH = 0.0092
"""The width of a tiny letter as a share of the time axis: a label is drawn where it has room."""
MAX_DECISIONS, MAX_NUMBERED = 8, 12
"""Decisions that are drawn; with more rows or columns, cells have no numbers."""
SHAPES = {"cross": "x", "tick": "|", "dot": "o"}
HALO = [withStroke(linewidth=2.5, foreground="white")]


def draw(recording: Recording) -> Figure:
    """Return the whole picture."""
    with style.context([{"font.family": "DejaVu Sans", "text.parse_math": False}], after_reset=True):
        return _draw(recording)


def encode(figure: Figure, kind: str) -> bytes:
    """Return a figure as PNG or SVG; the same figure gives the same bytes."""
    metadata = {"svg": {"Date": None}, "png": {"Software": None}}[kind]
    with style.context([{"svg.hashsalt": "matchbandit", "svg.fonttype": "path"}], after_reset=True):
        target = BytesIO()
        figure.savefig(target, format=kind, metadata=metadata)
    return target.getvalue()


def _draw(recording: Recording) -> Figure:
    moments, last = panels.moments(recording), panels.last_round(recording)
    story, regret, estimates = panels.story(recording), panels.regret(recording), panels.estimates(recording)
    chosen = panels.most_important(recording, MAX_DECISIONS)
    decided, decision_rows = panels.decisions(recording), panels.stack(recording, chosen)
    n_rows = 1 + max((row["y"] for row in estimates.rows), default=0)
    heights = {
        "story": 0.2 * (len(story.names) or 14) + 0.7,
        "regret": 1.1 if regret else 0.0,
        "decisions": 0.17 * (decision_rows[-1]["y"] + 1.6) + 0.5 if decided else 0.0,
        "estimates": max(1.2, 0.15 * n_rows + 0.5),
        "plays": 2.0,
    }
    heights = {name: height for name, height in heights.items() if height}
    figure = Figure(figsize=(WIDTH_IN, sum(heights.values()) + 1.9), dpi=DPI, facecolor="white",
                    layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.07, hspace=0.03))  # fmt: skip
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(heights), len(moments), height_ratios=list(heights.values()))
    row = {name: k for k, name in enumerate(heights)}
    for name, panel in (("story", story), ("regret", regret)):
        if panel is not None:
            axes = figure.add_subplot(grid[row[name], :])
            _draw_time(axes, panel, last)
    axes.set_xlabel("round", fontsize=SMALL)
    figure.axes[0].set_title(story.title, loc="left", fontsize=10, pad=14 if story.dividers else 6)
    if decided is not None:
        axes = figure.add_subplot(grid[row["decisions"], :])
        _draw_decisions(axes, recording, decided, chosen, decision_rows)
    for column, (moment, before) in enumerate(zip(moments, (0, *moments), strict=False)):
        axes = figure.add_subplot(grid[row["estimates"], column])
        _draw_rows(axes, estimates, [one for one in estimates.rows if one["frame"] == moment], n_rows, has_names=column == 0)
        at = recording.frames[moment].round
        axes.set_title(f"after {short(at) if at >= 10**6 else grouped(at)} rounds", fontsize=TITLE)
        _draw_plays(figure.add_subplot(grid[row["plays"], column]), recording, before, moment)
    figure.suptitle(recording.title, x=0.01, ha="left", fontsize=13)
    best = " Dot: the best answer." if recording.best else ""
    caption = (
        f"{recording.caption}. The four moments: {estimates.note} Last row: pairs played since the moment before; "
        f"the stronger the colour, the more often. Outlined: the recommendation.{best}"
    )
    figure.supxlabel("\n".join(wrap(caption, 160)), x=0.01, ha="left", fontsize=SMALL, color=GREY)
    return figure


def _draw_time(axes: Axes, panel: TimePanel, last: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(1, last)
    axes.xaxis.set_major_locator(LogLocator(10, numticks=16))
    axes.xaxis.set_major_formatter(FuncFormatter(_number))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylabel(panel.y_label, fontsize=SMALL)
    if panel.names:
        named = [y for y, name in enumerate(panel.names) if name]
        axes.set_yticks(named, [panel.names[y] for y in named])
    elif panel.y_log:
        axes.set_yscale("function", functions=(np.log1p, np.expm1))
        axes.set_yticks([0, *(10.0**power for power in range(len(str(int(panel.y_range[1])))))])
    else:
        axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(_number)) if not panel.names else None
    axes.set_ylim(*((len(panel.names) - 0.2, -0.8) if panel.names else panel.y_range))
    for row in panel.dividers:
        axes.axvline(row["round"], color=GREY, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
        if row["room"] > LETTER_WIDTH * len(row["text"]):
            axes.annotate(row["text"], (row["centre"], 1), (0, 2), ("data", "axes fraction"), "offset points", fontsize=TINY,
                          color=GREY, ha="center")  # fmt: skip
    for row in panel.spans:
        if row["kind"] == "border":
            axes.plot([row["start"], row["end"]], [row["top"]] * 2, color=INK, linewidth=2.4, linestyle=(0, (1, 1)), zorder=3)
            continue
        corner, size = (row["start"], row["top"]), (row["end"] - row["start"], row["bottom"] - row["top"])
        for colour, face, alpha in (("none", row["colour"], 0.28 if row["kind"] == "box" else 1.0), (row["colour"], "none", 1.0)):
            axes.add_patch(Rectangle(corner, *size, facecolor=face, edgecolor=colour, alpha=alpha, linewidth=1.0))
    curves: dict[str, list[Row]] = {}
    for row in panel.points:
        curves.setdefault(row["curve"], []).append(row)
    for rows in curves.values():
        at, colour = [row["round"] for row in rows], _colour(rows[0])
        axes.plot(at, [row["y"] for row in rows], "--" if rows[0]["dashed"] else "-", color=colour, linewidth=rows[0]["width"])
        low, high = (np.array([row[end] for row in rows], dtype=float) for end in ("low", "high"))
        axes.fill_between(at, low, high, color=colour, alpha=0.13, linewidth=0)
    for row in panel.marks:
        axes.plot([row["round"]], [row["y"]], SHAPES[row["shape"]], color=_colour(row), markersize=5.5, zorder=3,
                  markeredgecolor=INK)  # fmt: skip
        if row["label"] and row["room"] > LETTER_WIDTH * len(row["label"]):
            axes.annotate(row["label"], (row["round"], row["y"]), (6, 0), textcoords="offset points", fontsize=TINY, va="center",
                          path_effects=HALO)  # fmt: skip
    for row in panel.truths:
        axes.plot([1.005], [row["y"]], "<", transform=axes.get_yaxis_transform(), color=INK, markersize=4, clip_on=False)
    for row in panel.labels:
        axes.annotate(row["text"], (1, row["share"]), (9, 0), "axes fraction", "offset points", fontsize=TINY, va="center",
                      color=_colour(row), annotation_clip=False)  # fmt: skip


def _draw_rows(axes: Axes, panel: RowsPanel, rows: list[Row], n_rows: float, *, has_names: bool = True) -> None:
    for row in rows:
        if row["low"] is not None and row["high"] is not None:
            axes.plot([row["low"], row["high"]], [row["y"]] * 2, color=row["colour"], linewidth=2.6, solid_capstyle="butt")
        if row["estimate"] is not None:
            inside, size = ("white", 4.4) if panel.is_hollow else (row["colour"], 3.4)
            axes.plot([row["estimate"]], [row["y"]], "o", color=row["colour"], markerfacecolor=inside, markersize=size)
        if row["tick"] is not None:
            axes.plot([row["tick"]], [row["y"]], "|", color=INK, markersize=7)
    low, high = panel.x_range
    axes.set_xlim(low, high + 0.05 * (high - low))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_yticks([row["y"] for row in rows], [row["name"] if has_names else "" for row in rows])
    axes.set_ylim(n_rows - 0.3, -0.7)
    axes.tick_params(labelsize=TINY, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_decisions(axes: Axes, recording: Recording, panel: RowsPanel, chosen: list[Row], rows: list[Row]) -> None:
    """Draw the numbers of the most important decisions below each other, with a heading beside each."""
    _draw_rows(axes, RowsPanel("", "", "", panels.extent(rows), rows), rows, rows[-1]["y"] + 1)
    for one in chosen:
        own = [row["y"] for row in rows if row["text"] == one["text"]]
        window = f", window {one['window']}" if one["window"] is not None else ""
        on = f" on {one['on']}" if one["kind"] == "elimination" else ""
        heading = f"after {grouped(recording.frames[one['frame']].round)} rounds{on}{window}"
        axes.annotate(heading, (1, sum(own) / len(own)), (6, 0), ("axes fraction", "data"), "offset points", fontsize=TINY,
                      va="center", annotation_clip=False)  # fmt: skip
    axes.set_xlabel(panel.x_label, fontsize=TINY)
    few = f" ({len(chosen)} of {grouped(len(recording.decisions))} are shown)" if len(chosen) < len(recording.decisions) else ""
    axes.set_title(f"{panel.title}{few}. {panel.note}", loc="left", fontsize=TITLE)


def _draw_plays(axes: Axes, recording: Recording, before: int, moment: int) -> None:
    """Draw the table of pairs: how often each was played after one frame and up to another."""
    graph, rounds = recording.names.graph, max(1, recording.frames[moment].round - recording.frames[before].round)
    table, outlined = np.zeros(graph.shape), recording.frames[moment].recommendation
    for row in recording.pairs:
        if before < row["frame"] <= moment:
            table[row["left"], row["right"]] += row["played"]
    if not graph.is_bipartite:
        table, outlined = table + table.T, [*outlined, *(pair[::-1] for pair in outlined)]
    axes.imshow(np.sqrt(table / rounds), cmap="Blues", vmin=0, vmax=1, aspect="equal")
    for left, right in outlined:
        axes.add_patch(Rectangle((right - 0.5, left - 0.5), 1, 1, fill=False, edgecolor="#d75e00", linewidth=1.4))
    is_small = max(graph.shape) <= MAX_NUMBERED
    for left, right in (recording.best if graph.is_bipartite else [*recording.best, *(pair[::-1] for pair in recording.best)]) if is_small else ():
        axes.plot([right + 0.3], [left - 0.3], "o", color=INK, markersize=2.6, markeredgecolor="white", markeredgewidth=0.4)
    axes.set_xticks(range(graph.shape[1]) if is_small else [])
    axes.set_yticks(range(graph.shape[0]) if is_small else [])
    axes.tick_params(labelsize=TINY, length=0)
    axes.set_ylabel("" if before else "rows" if graph.is_bipartite else "players", fontsize=SMALL)
    axes.set_xlabel("columns" if graph.is_bipartite else "players", fontsize=SMALL)


def _colour(row: Row) -> str:
    return INK if row["colour"] == panels.INK else str(row["colour"])


def _number(value: float, _: Any = None) -> str:
    return short(value)

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
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from matchbandit.formatting import grouped, short
from matchbandit.lab.playback import panels
from matchbandit.lab.playback.frames import Row
from matchbandit.lab.playback.panels import INK, Panel
from matchbandit.lab.playback.record import Recording

BLACK, GREY = "#1b1b1b", "#6b6b6b"
WIDTH_IN, DPI = 9.6, 144
SMALL, TINY = 8.0, 7.0
"""Font sizes, in points."""
LETTER_WIDTH = 0.0092
"""The width of a tiny letter as a share of the time axis: a label is drawn where it has room."""
MAX_DECISIONS, MAX_NUMBERED = 8, 12
"""Decisions that are drawn; with more columns, they have no names."""
LINES: dict[str, Row] = {
    "line": {"linewidth": 1.3},
    "dashed": {"linewidth": 1.3, "linestyle": "--"},
    "bold": {"linewidth": 2.2},
}
MARKERS = {
    "cross": ("x", 5.5, BLACK, BLACK),
    "dash": ("|", 5.5, BLACK, BLACK),
    "truth": ("|", 7.0, BLACK, BLACK),
    "certified": ("o", 5.5, None, BLACK),
    "dot": ("o", 3.4, None, None),
    "ring": ("o", 4.4, "white", None),
    "best": ("o", 2.6, BLACK, "white"),
}
"""The marker, its size, and the colours of its inside and its edge if not that of the row."""
LABELS: dict[str, Row] = {
    "beside": {"xytext": (6, 0), "va": "center", "path_effects": [withStroke(linewidth=2.5, foreground="white")]},
    "above": {"xytext": (0, 2), "ha": "center", "xycoords": ("data", "axes fraction")},
    "side": {"xytext": (9, 0), "va": "center", "xycoords": ("axes fraction", "data"), "annotation_clip": False},
}


ARROW = LABELS["side"] | {"xytext": (1, 0)}


def draw(recording: Recording) -> Figure:
    """Return the whole picture."""
    with style.context([{"font.family": "DejaVu Sans", "text.parse_math": False}], after_reset=True):
        return _draw(recording)


def encode(figure: Figure, kind: str) -> bytes:
    """Return a figure as PNG or SVG; the same figure gives the same bytes."""
    target = BytesIO()
    with style.context([{"svg.hashsalt": "matchbandit", "svg.fonttype": "path"}], after_reset=True):
        figure.savefig(target, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return target.getvalue()


def _draw(recording: Recording) -> Figure:
    moments = panels.moments(recording)
    estimates, plays = panels.estimates(recording), panels.plays(recording, moments)
    decided = panels.decisions(recording, MAX_DECISIONS, at_once=False)
    wide = [panel for panel in (panels.story(recording), panels.regret(recording), decided) if panel is not None]
    heights = [_height(panel) for panel in wide] + [max(1.2, 0.15 * estimates.y_range[0] + 0.5), 2.0]
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.07, hspace=0.03)
    figure = Figure(figsize=(WIDTH_IN, sum(heights) + 1.9), dpi=DPI, facecolor="white", layout=layout)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(heights), len(moments), height_ratios=heights)
    for row, panel in enumerate(wide):
        axes = figure.add_subplot(grid[row, :])
        _draw_panel(axes, panel)
        title = f"{panel.title}. {panel.note}" if panel is decided else panel.title if row == 0 else ""
        axes.set_title(
            title, loc="left", fontsize=10 if row == 0 else 9, pad=14 if dict(panel.layers).get("above") else 6
        )
        axes.set_xlabel(panel.x_label if row or len(wide) == 1 else "", fontsize=SMALL)
    for column, moment in enumerate(moments):
        for row, panel in ((-2, estimates), (-1, plays)):
            axes = figure.add_subplot(grid[row, column])
            _draw_panel(axes, panel, moment, has_names=column == 0)
            axes.set_xlabel(panel.x_label, fontsize=SMALL)
        at = recording.frames[moment].round
        figure.axes[-2].set_title(f"after {short(at) if at >= 10**6 else grouped(at)} rounds", fontsize=9)
    figure.suptitle(recording.title, x=0.01, ha="left", fontsize=13)
    caption = (
        f"{recording.caption}. The four moments: {estimates.note} Last row: plays since the moment before. {plays.note}"
    )
    figure.supxlabel("\n".join(wrap(caption, 160)), x=0.01, ha="left", fontsize=SMALL, color=GREY)
    return figure


def _height(panel: Panel) -> float:
    if panel.y_label == "regret":
        return 1.1
    return (
        0.2 * len(panel.y_names) + 0.7
        if panel.y_names
        else 3.5
        if panel.is_over_rounds
        else 0.17 * panel.y_range[0] + 0.6
    )


def _draw_panel(axes: Axes, panel: Panel, moment: int | None = None, *, has_names: bool = True) -> None:
    axes.tick_params(labelsize=SMALL if panel.is_over_rounds else TINY, length=0 if panel.x_names else 2)
    axes.set_xlim(*panel.x_range)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    if panel.is_over_rounds:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if panel.is_log:
        axes.set_yscale("function", functions=(np.log1p, np.expm1))
        axes.set_yticks([0, *(10.0**power for power in range(len(str(int(panel.y_range[1])))))])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    is_named = max(len(panel.x_names), len(panel.y_names) if panel.x_names else 0) <= MAX_NUMBERED
    if panel.x_names:
        axes.set_aspect("equal")
        axes.set_xticks(range(len(panel.x_names)) if is_named else [], panel.x_names if is_named else [])
    else:
        axes.spines[["top", "right"]].set_visible(False)
    layers = [
        (kind, [row for row in rows if moment is None or "frame" not in row or row["frame"] <= moment < row["until"]])
        for kind, rows in panel.layers
    ]
    names = {row["y"]: row["label"] for kind, rows in layers if kind == "name" for row in rows}
    names |= {y: name for y, name in enumerate(panel.y_names) if name and (is_named or not panel.x_names)}
    if names or panel.y_names:
        axes.set_yticks(list(names), list(names.values()) if has_names else [""] * len(names))
    axes.set_ylim(*panel.y_range)
    axes.set_ylabel(panel.y_label if has_names else "", fontsize=SMALL)
    for kind, rows in layers:
        _draw_layer(axes, kind, rows)
    for artist in (
        *axes.patches,
        *axes.lines,
        *axes.collections,
    ):  # within the axes: measuring hundreds of them takes seconds
        artist.set_in_layout(False)


def _draw_layer(axes: Axes, kind: str, rows: list[Row]) -> None:
    """Draw a layer at once where its marks are many, else row by row."""
    if kind in LINES or kind == "band":
        for curve in dict.fromkeys(row["curve"] for row in rows):
            own = [row for row in rows if row["curve"] == curve]
            x, y, colour = [row["x"] for row in own], [row["y"] for row in own], _colour(own[0])
            if kind == "band":
                axes.fill_between(x, y, [row["y2"] for row in own], color=colour, alpha=0.13, linewidth=0)
            else:
                axes.plot(x, y, color=colour, **LINES[kind])
    elif kind == "cell":
        table = np.zeros((round(axes.get_ylim()[0] + 0.5), round(axes.get_xlim()[1] + 0.5)))
        for row in rows:
            table[round(row["y"] + 0.5), round(row["x"] + 0.5)] = row["shade"]
        axes.imshow(table, cmap="Blues", vmin=0, vmax=1)
    elif kind == "interval":
        y, low, high = ([row[key] for row in rows] for key in ("y", "x", "x2"))
        axes.hlines(y, low, high, colors=[_colour(row) for row in rows], linewidth=2.6)
    else:
        for row in rows:
            _draw_row(axes, kind, row, _colour(row))


def _draw_row(axes: Axes, kind: str, row: Row, colour: str) -> None:
    if kind in ("bar", "box"):
        axes.add_patch(_rectangle(row, facecolor=colour, alpha=1.0 if kind == "bar" else 0.28, linewidth=0))
    if kind in ("box", "outline"):
        axes.add_patch(_rectangle(row, facecolor="none", edgecolor=colour, linewidth=1.3, zorder=2))
    elif kind == "border":
        axes.plot([row["x"], row["x2"]], [row["y"]] * 2, color=colour, linewidth=2.4, linestyle=(0, (1, 1)))
    elif kind == "divider":
        axes.axvline(row["x"], color=GREY, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
    elif kind in MARKERS:
        marker, size, inside, edge = MARKERS[kind]
        style: Row = {"markersize": size, "markerfacecolor": inside or colour, "markeredgecolor": edge or colour}
        axes.plot([row["x"]], [row["y"]], marker, markeredgewidth=0.4 if kind == "best" else 1.0, zorder=3, **style)
    elif kind == "arrow":
        axes.annotate("◂", (1, row["y"]), fontsize=SMALL, textcoords="offset points", **ARROW)
    elif kind in LABELS and row.get("room", 1.0) > LETTER_WIDTH * len(row["label"]):
        place = row.get("x", 1), row.get("y", 1)
        axes.annotate(row["label"], place, color=colour, fontsize=TINY, textcoords="offset points", **LABELS[kind])


def _rectangle(row: Row, **style: Any) -> Rectangle:
    return Rectangle((row["x"], row["y"]), row["x2"] - row["x"], row["y2"] - row["y"], **style)


def _colour(row: Row) -> str:
    return BLACK if row.get("colour", INK) == INK else str(row["colour"])

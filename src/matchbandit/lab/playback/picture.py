"""Draw a recording as one picture: what happened over time, what decided, and four moments. It imports matplotlib."""

from io import BytesIO
from textwrap import wrap

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from matchbandit.figures.style import GREY
from matchbandit.formatting import grouped, short
from matchbandit.lab.playback import panels
from matchbandit.lab.playback.frames import Row
from matchbandit.lab.playback.panels import INK, Panel
from matchbandit.lab.playback.record import Recording

BLACK = "#1b1b1b"
WIDTH_IN, DPI = 9.6, 144
SMALL, TINY = 8.0, 7.0
"""Font sizes, in points."""
LETTER_WIDTH = 0.0092
"""The width of a tiny letter as a share of the time axis: a label is drawn where it has room."""
MAX_NUMBERED = 12
"""With more columns, they have no names."""
LINES: dict[str, Row] = {"line": {"linestyle": "-"}, "dashed": {"linestyle": "--"}}
AREAS: dict[str, Row] = {
    "bar": {"linewidth": 0},
    "box": {"linewidth": 1.3, "alpha": 0.28},
    "cell": {"linewidth": 0, "color": "#08519c"},
    "outline": {"linewidth": 1.3, "fill": False, "zorder": 2},
}
MARKERS: dict[str, Row] = {
    "cross": {"marker": "x", "markersize": 5.5},
    "truth": {"marker": "|", "markersize": 7.0, "color": BLACK},
    "dot": {"marker": "o", "markersize": 3.8},
    "ring": {"marker": "o", "markersize": 4.4, "markerfacecolor": "white", "clip_on": False},
    "best": {"marker": "o", "markersize": 2.6, "color": BLACK, "markeredgecolor": "white", "markeredgewidth": 0.4},
}
LABELS: dict[str, Row] = {
    "beside": {"xytext": (6, 0), "path_effects": [withStroke(linewidth=2.5, foreground="white")]},
    "side": {"xytext": (9, 0), "xycoords": ("axes fraction", "data"), "annotation_clip": False},
}


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
    small = [plays] if estimates is None else [estimates, plays]
    over_time = (panels.story(recording), panels.regret(recording), panels.decisions(recording))
    wide = [panel for panel in over_time if panel is not None]
    heights = [*map(_height, wide), *(max(1.2, 0.15 * panel.y_range[0] + 0.5) for panel in small[:-1]), 2.0]
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.07, hspace=0.03)
    figure = Figure(figsize=(WIDTH_IN, sum(heights) + 1.9), dpi=DPI, facecolor="white", layout=layout)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(heights), len(moments), height_ratios=heights)
    for row, panel in enumerate(wide):
        axes = figure.add_subplot(grid[row, :])
        _draw_panel(axes, panel, moments[-1])
        axes.set_title(f"{panel.title}{f'. {panel.note}' if panel.note else ''}", loc="left", fontsize=9)
    for column, moment in enumerate(moments):
        for row, panel in enumerate(small, len(wide)):
            axes = figure.add_subplot(grid[row, column])
            _draw_panel(axes, panel, moment, has_names=column == 0)
        at = recording.frames[moment].round
        figure.axes[-len(small)].set_title(f"after {short(at) if at >= 10**6 else grouped(at)} rounds", fontsize=9)
    figure.suptitle(recording.title, x=0.01, ha="left", fontsize=13)
    last_row = f"Last row: plays since the moment before. {plays.note}"
    known = "" if estimates is None else f"The four moments: {estimates.note} "
    caption = f"{recording.caption}. {known}{last_row}"
    figure.supxlabel("\n".join(wrap(caption, 160)), x=0.01, ha="left", fontsize=SMALL, color=GREY)
    return figure


def _height(panel: Panel) -> float:
    if "name" in panel.layers:
        return 0.2 * panel.y_range[0] + 0.6
    return 1.1 if panel.y_label == "regret" else 3.5


def _draw_panel(axes: Axes, panel: Panel, moment: int, *, has_names: bool = True) -> None:
    """Draw the rows of a frame; only the first of several charts in a row has names at its left."""
    layers = {
        kind: [row for row in rows if "frame" not in row or row["frame"] <= moment < row["until"]]
        for kind, rows in panel.layers.items()
    }
    axes.set(xlim=panel.x_range, ylim=panel.y_range)
    axes.tick_params(labelsize=SMALL if panel.is_over_rounds else TINY, length=0 if panel.x_names else 2)
    if panel.is_over_rounds:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.yaxis,) if panel.is_over_rounds else (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    names = {row["y"]: row["label"] for row in layers.get("name", [])}
    if panel.x_names:
        is_named = max(len(panel.x_names), len(names)) <= MAX_NUMBERED
        axes.set_aspect("equal")
        axes.set_xticks(range(len(panel.x_names)) if is_named else [], panel.x_names if is_named else [])
        names = names if is_named else {}
    else:
        axes.spines[["top", "right"]].set_visible(False)
    if "name" in layers:
        axes.set_yticks(list(names), list(names.values()) if has_names else [""] * len(names))
    axes.set_xlabel(panel.x_label, fontsize=SMALL)
    axes.set_ylabel(panel.y_label if has_names else "", fontsize=SMALL)
    for kind, rows in layers.items():
        _draw_layer(axes, kind, rows)
    for artist in (*axes.patches, *axes.lines, *axes.collections):
        artist.set_in_layout(False)  # they are within the axes, and measuring hundreds of them takes seconds


def _draw_layer(axes: Axes, kind: str, rows: list[Row]) -> None:
    if kind in LINES or kind == "band":
        for curve in dict.fromkeys(row["curve"] for row in rows):
            own = [row for row in rows if row["curve"] == curve]
            x, y = [row["x"] for row in own], [row["y"] for row in own]
            if kind == "band":
                axes.fill_between(x, y, [row["y2"] for row in own], color=_colour(own[0]), alpha=0.13, linewidth=0)
            else:
                axes.plot(x, y, color=_colour(own[0]), linewidth=1.3, **LINES[kind])
    for row in rows:
        if kind == "divider":
            axes.axvline(row["x"], color=GREY, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
        elif kind == "interval":
            axes.plot([row["x"], row["x2"]], [row["y"]] * 2, color=_colour(row), linewidth=2.6)
        elif kind in AREAS:
            corner, size = (row["x"], row["y"]), (row["x2"] - row["x"], row["y2"] - row["y"])
            area: Row = {"color": _colour(row), "alpha": row.get("shade")} | AREAS[kind]
            axes.add_patch(Rectangle(corner, *size, **area))
        elif kind in MARKERS:
            look: Row = {"color": _colour(row), "linestyle": "", "zorder": 3} | MARKERS[kind]
            axes.plot([row["x"]], [row["y"]], **look)
        elif kind in LABELS and row.get("room", 1.0) > LETTER_WIDTH * len(row["label"]):
            font: Row = {"color": _colour(row), "fontsize": TINY, "va": "center", "textcoords": "offset points"}
            axes.annotate(row["label"], (row.get("x", 1), row["y"]), **font | LABELS[kind])


def _colour(row: Row) -> str:
    return BLACK if row.get("colour", INK) == INK else str(row["colour"])

"""Draw the panels of a recording in Vega-Lite; the page sets their parameter `frame`."""

from dataclasses import replace
from math import isfinite
from typing import Any

from matchbandit.figures.vega_lite import BASE, GRID, INK, MUTED, TICK_TEXT, themed
from matchbandit.formatting import grouped
from matchbandit.lab.playback import panels
from matchbandit.lab.playback.panels import Panel
from matchbandit.lab.playback.record import Recording
from matchbandit.lab.playback.sentences import regret_text

Json = dict[str, Any]
HEIGHT, SMALL_HEIGHT, ROW_HEIGHT = 280, 120, 19
MAX_DECISIONS = 4
"""Drawn at one moment."""
LETTER_WIDTH = 6.2
"""Of a label in pixels: it is drawn where it has room."""
HAS_ROOM = {"filter": f"datum.room * width > {LETTER_WIDTH} * length(datum.label)"}
SMALL = {"fontSize": 11}
MARKS: dict[str, tuple[Json, str]] = {
    "divider": ({"type": "rule", "color": MUTED, "strokeDash": [2, 2]}, "x"),
    "now": ({"type": "rule", "color": MUTED, "strokeWidth": 1.5}, "x"),
    "above": ({"type": "text", "color": MUTED, "y": -7} | SMALL, "x label"),
    "bar": ({"type": "rect"}, "x x2 y y2 color tooltip"),
    "box": ({"type": "rect", "fillOpacity": 0.28, "strokeWidth": 1.2}, "x x2 y y2 fill stroke tooltip"),
    "border": ({"type": "rule", "strokeWidth": 2.4, "strokeDash": [2, 2], "color": INK}, "x x2 y tooltip"),
    "cross": ({"type": "point", "shape": "M-1-1L1 1M-1 1L1-1", "size": 45, "stroke": INK, "opacity": 1}, "x y tooltip"),
    "dash": ({"type": "point", "shape": "M0-1L0 1", "size": 45, "stroke": INK, "opacity": 1}, "x y tooltip"),
    "certified": ({"type": "point", "size": 45, "stroke": INK, "opacity": 1}, "x y fill tooltip"),
    "beside": ({"type": "text", "align": "left", "dx": 7, "color": INK} | SMALL, "x y label"),
    "band": ({"type": "area", "opacity": 0.13}, "x y y2 detail color"),
    "line": ({"type": "line", "strokeWidth": 1.3}, "x y detail color tooltip"),
    "dashed": ({"type": "line", "strokeWidth": 1.3, "strokeDash": [5, 3]}, "x y detail color tooltip"),
    "bold": ({"type": "line", "strokeWidth": 2.4}, "x y detail color tooltip"),
    "side": ({"type": "text", "align": "left", "dx": 10, "x": {"expr": "width"}} | SMALL, "y label color"),
    "arrow": ({"type": "text", "align": "left", "text": "◂", "color": INK, "x": {"expr": "width"}}, "y tooltip"),
    "name": ({"type": "text", "align": "right", "dx": -6, "x": 0, "color": INK} | SMALL, "y label"),
    "interval": ({"type": "rule", "strokeWidth": 4}, "x x2 y color tooltip"),
    "dot": ({"type": "point", "filled": True, "size": 40, "opacity": 1}, "x y color tooltip"),
    "ring": ({"type": "point", "fill": themed("#ffffff", "#14171b"), "size": 40, "opacity": 1}, "x y color tooltip"),
    "truth": ({"type": "tick", "orient": "vertical", "thickness": 1.5, "height": 13, "color": INK}, "x y tooltip"),
    "grid": ({"type": "rect", "fillOpacity": 0, "stroke": GRID}, "x x2 y y2"),
    "cell": ({"type": "rect", "color": themed("#08519c", "#6baed6")}, "x x2 y y2 opacity tooltip"),
    "outline": ({"type": "rect", "fillOpacity": 0, "strokeWidth": 2}, "x x2 y y2 stroke"),
    "best": ({"type": "point", "filled": True, "size": 22, "color": INK, "opacity": 1}, "x y tooltip"),
}
"""The mark of each kind of layer, and the channels that it has."""
COLOUR = {
    "condition": {"test": "datum.colour == 'ink'", "value": INK},
    "field": "colour",
    "type": "nominal",
    "scale": None,
}


def context(recording: Recording) -> Json:
    """Return what the template of the page shows."""
    described = {
        "story": panels.story(recording),
        "decisions": panels.decisions(recording, MAX_DECISIONS, at_once=True),
        "estimates": panels.estimates(recording),
        "plays": panels.plays(recording, range(len(recording.frames))),
        "evidence": panels.evidence(recording),
        "regret": panels.regret(recording),
    }
    frames = [
        {"round": grouped(frame.round), "regret": "" if frame.regret is None else regret_text(frame.regret),
         "window": frame.window, "sentence": frame.sentence, "isEvent": frame.is_event,
         "decided": [one["text"] for one in frame.decisions]}
        for frame in recording.frames
    ]  # fmt: skip
    now = [{"frame": k, "until": k + 1, "x": max(1, frame.round)} for k, frame in enumerate(recording.frames)]
    drawn = [
        (
            name,
            panel.title,
            panel.note,
            specification(replace(panel, layers=[("now", now), *panel.layers]) if panel.is_over_rounds else panel),
        )
        for name, panel in described.items()
        if panel is not None
    ]
    return {
        "title": recording.title,
        "lead": recording.lead,
        "caption": recording.caption,
        "frames": frames,
        "panels": drawn,
    }


def specification(panel: Panel) -> Json:
    """Return a panel in Vega-Lite; its tables are by column, which is shorter, and playback.js makes rows of them."""
    (left, last), (low, high) = panel.x_range, panel.y_range
    powers = [10**power for power in range(len(str(int(last))))]
    y_names = [{"y": y, "label": name} for y, name in enumerate(panel.y_names)]
    axes: dict[str, Json] = {
        "x": {
            "title": panel.x_label or None,
            "tickCount": 5,
            "grid": not (panel.is_over_rounds or panel.x_names),
            "labelExpr": TICK_TEXT,
        },
        "y": {"title": panel.y_label or None, "tickCount": 4, "labelExpr": TICK_TEXT},
    }
    if panel.is_over_rounds:
        axes["x"]["values"] = powers
    if panel.is_log:
        axes["y"]["values"] = [0, *powers]
    if panel.x_names:
        angle = -45 if max(map(len, panel.x_names)) > 2 else 0
        more = {
            "values": list(range(len(panel.x_names))),
            "labelExpr": f"{list(panel.x_names)}[datum.value]",
            "labelAngle": angle,
        }
        axes["x"] |= more | {"ticks": False, "domain": False}
    has_y_axis = not panel.y_names and not any(kind == "name" for kind, _ in panel.layers)
    x_scale = {"domain": [left, last], "nice": False, "clamp": True} | ({"type": "log"} if panel.is_over_rounds else {})
    y_scale = {"domain": [low, high], "nice": False, "clamp": True} | ({"type": "symlog"} if panel.is_log else {})
    channels: Json = {
        "x": {"field": "x", "type": "quantitative", "scale": x_scale, "axis": axes["x"]},
        "y": {"field": "y", "type": "quantitative", "scale": y_scale, "axis": axes["y"] if has_y_axis else None},
        "x2": {"field": "x2"},
        "y2": {"field": "y2"},
        **dict.fromkeys(("color", "fill", "stroke"), COLOUR),
        "detail": {"field": "curve"},
        "opacity": {"field": "shade", "type": "quantitative", "scale": None},
        "tooltip": {"field": "text"},
        "label": {"field": "label"},
    }
    layers, tables = [], {}
    for number, (kind, rows) in enumerate([("name", y_names), *panel.layers]):
        if rows:
            mark, used = MARKS[kind]
            table, keys = (
                f"{kind}{number}",
                [
                    key
                    for key in (
                        "x",
                        "x2",
                        "y",
                        "y2",
                        "frame",
                        "until",
                        "colour",
                        "text",
                        "label",
                        "room",
                        "shade",
                        "curve",
                    )
                    if key in rows[0]
                ],
            )
            tables[table] = {key: [_rounded(row[key]) for row in rows] for key in keys}
            transforms = [{"filter": "datum.frame <= frame && frame < datum.until"}] * ("frame" in keys) + [
                HAS_ROOM
            ] * ("room" in keys and "label" in used)
            encoding = {"text" if key == "label" else key: channels[key] for key in used.split()}
            layers.append({"data": {"name": table}, "transform": transforms, "mark": mark, "encoding": encoding})
    height = (
        ROW_HEIGHT * round(low + 0.4)
        if panel.y_names or not has_y_axis
        else SMALL_HEIGHT
        if panel.y_label == "regret"
        else HEIGHT
    )
    return BASE | {
        "params": [*BASE["params"], {"name": "frame", "value": 0}],
        "height": height,
        "layer": layers,
        "datasets": tables,
    }


def _rounded(value: Any) -> Any:
    """Round a number to what is visible; None if it is not finite."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.5g}") if isfinite(value) else None

"""Describe the panels of a recording in Vega-Lite, and write their rows into the page."""

import json
from base64 import b64encode
from dataclasses import replace
from math import isfinite
from typing import Any
from zlib import compress

from matchbandit.figures.vega_lite import BASE, GRID, INK, MUTED, TICK_TEXT, themed
from matchbandit.formatting import grouped
from matchbandit.lab.playback import panels
from matchbandit.lab.playback.frames import Row
from matchbandit.lab.playback.panels import Layer, Panel
from matchbandit.lab.playback.record import Recording
from matchbandit.lab.playback.sentences import regret_text

Json = dict[str, Any]
HEIGHT, SMALL_HEIGHT, ROW_HEIGHT = 280, 120, 19
MAX_DECISIONS = 4
"""Drawn at one moment."""
KEYS = ("x", "x2", "y", "y2", "frame", "until", "colour", "text", "label", "room", "shade", "curve")
MAX_NAMED = 24
"""Columns that are all named."""
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
    drawn = {name: panel for name, panel in described.items() if panel is not None}
    now = [{"frame": k, "until": k + 1, "x": max(1, frame.round)} for k, frame in enumerate(recording.frames)]
    for name in ("story", "regret"):
        if name in drawn:
            drawn[name] = replace(drawn[name], layers=[("now", now), *drawn[name].layers])
    tables = {name: [_columns(rows) for _, rows in _layers(panel)] for name, panel in drawn.items()}
    packed = b64encode(compress(json.dumps(tables, allow_nan=False).encode())).decode()
    frames = [
        {"round": grouped(frame.round), "regret": "" if frame.regret is None else regret_text(frame.regret),
         "window": frame.window, "sentence": frame.sentence, "isEvent": frame.is_event,
         "decided": [one["text"] for one in frame.decisions]}
        for frame in recording.frames
    ]  # fmt: skip
    texts = {"title": recording.title, "lead": recording.lead, "caption": recording.caption}
    specs = [(name, panel.title, panel.note, specification(panel)) for name, panel in drawn.items()]
    return {**texts, "panels": specs, "frames": frames, "tables": packed}


def specification(panel: Panel) -> Json:
    """Return a panel in Vega-Lite; the rows of its layers are in the tables "0", "1", …, which the page fills."""
    (_, last), (low, high) = panel.x_range, panel.y_range
    powers = [10**power for power in range(len(str(int(last))))]
    x_axis: Json = {"title": panel.x_label or None, "tickCount": 5, "labelExpr": TICK_TEXT}
    y_axis: Json = {"title": panel.y_label or None, "tickCount": 4, "labelExpr": TICK_TEXT}
    x_scale: Json = {"domain": list(panel.x_range), "nice": False, "clamp": True}
    y_scale: Json = {"domain": [low, high], "nice": False, "clamp": True}
    if panel.is_over_rounds:
        x_axis |= {"values": powers, "grid": False}
        x_scale["type"] = "log"
    if panel.is_log:
        y_axis["values"] = [0, *powers]
        y_scale["type"] = "symlog"
    if panel.x_names:
        angle = -45 if max(map(len, panel.x_names)) > 2 else 0
        x_axis |= {"values": [*range(len(panel.x_names))], "labelExpr": f"{[*panel.x_names]}[datum.value]"}
        x_axis |= {"labelAngle": angle, "labelOverlap": len(panel.x_names) > MAX_NAMED, "ticks": False}
        x_axis |= {"domain": False, "grid": False}
    has_names = any(kind == "name" for kind, _ in _layers(panel))
    channels: Json = {
        "x": {"field": "x", "type": "quantitative", "scale": x_scale, "axis": x_axis},
        "y": {"field": "y", "type": "quantitative", "scale": y_scale, "axis": None if has_names else y_axis},
        **{key: {"field": key} for key in ("x2", "y2", "label")},
        **dict.fromkeys(("color", "fill", "stroke"), COLOUR),
        "detail": {"field": "curve"},
        "opacity": {"field": "shade", "type": "quantitative", "scale": None},
        "tooltip": {"field": "text"},
    }
    layers = []
    for number, (kind, _) in enumerate(_layers(panel)):
        mark, used = MARKS[kind]
        encoding = {"text" if key == "label" else key: channels[key] for key in used.split()}
        transform = [HAS_ROOM] if kind in ("beside", "above") else []
        layers.append({"data": {"name": str(number)}, "transform": transform, "mark": mark, "encoding": encoding})
    height = SMALL_HEIGHT if panel.y_label == "regret" else HEIGHT
    return BASE | {"height": ROW_HEIGHT * round(low + 0.4) if has_names else height, "layer": layers}


def _layers(panel: Panel) -> list[Layer]:
    """Return the layers that have rows; names of rows are a layer of their own."""
    names = [{"y": y, "label": name} for y, name in enumerate(panel.y_names)]
    return [(kind, rows) for kind, rows in [("name", names), *panel.layers] if rows]


def _columns(rows: list[Row]) -> Json:
    """Return a table by column, with numbers rounded to what is visible."""

    def rounded(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return float(f"{value:.5g}") if isfinite(value) else None

    return {key: [rounded(row[key]) for row in rows] for key in KEYS if key in rows[0]}

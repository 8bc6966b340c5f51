"""Describe the panels of a recording in Vega-Lite, and write their rows into the page."""

import json
from base64 import b64encode
from math import isfinite
from typing import Any
from zlib import compress

from matchbandit.figures.vega_lite import BASE, GRID, INK, MUTED, TICK_TEXT, themed
from matchbandit.formatting import grouped
from matchbandit.lab.playback import panels
from matchbandit.lab.playback.frames import Row
from matchbandit.lab.playback.panels import Panel
from matchbandit.lab.playback.record import Recording
from matchbandit.lab.playback.sentences import regret_text

Json = dict[str, Any]
HEIGHT, SMALL_HEIGHT, ROW_HEIGHT, CELL_SIZE = 280, 120, 19, 28
MAX_SQUARES = 10
"""Columns of a heat map with square cells: more would be wider than a phone, and share the width there is."""
KEYS = ("x", "x2", "y", "y2", "frame", "until", "colour", "text", "label", "room", "shade", "curve")
MAX_NAMED = 24
"""Columns that are all named."""
HAS_ROOM = {"filter": "datum.room * width > 6.2 * length(datum.label)"}
"""A letter is 6.2 pixels wide: a label is drawn where it has room."""
LABEL: Json = {"type": "text", "align": "left", "fontSize": 11}
POINT: Json = {"type": "point", "opacity": 1}
MARKS: dict[str, tuple[Json, str]] = {
    "divider": ({"type": "rule", "color": MUTED, "strokeDash": [2, 2]}, "x"),
    "now": ({"type": "rule", "color": MUTED, "strokeWidth": 1.5}, "x"),
    "bar": ({"type": "rect"}, "x x2 y y2 color tooltip"),
    "box": ({"type": "rect", "fillOpacity": 0.28, "strokeWidth": 1.2}, "x x2 y y2 fill stroke tooltip"),
    "cross": (POINT | {"shape": "M-1-1L1 1M-1 1L1-1", "size": 45}, "x y color tooltip"),
    "beside": (LABEL | {"dx": 7}, "x y label color"),
    "band": ({"type": "area", "opacity": 0.13}, "x y y2 detail color"),
    "line": ({"type": "line", "strokeWidth": 1.5}, "x y detail color tooltip"),
    "dashed": ({"type": "line", "strokeWidth": 1.5, "strokeDash": [5, 3]}, "x y detail color tooltip"),
    "side": (LABEL | {"dx": 10, "x": {"expr": "width"}}, "y label color"),
    "name": (LABEL | {"align": "right", "dx": -6, "x": 0, "color": INK}, "y label"),
    "interval": ({"type": "rule", "strokeWidth": 4}, "x x2 y color tooltip"),
    "dot": (POINT | {"filled": True, "size": 40}, "x y color tooltip"),
    "ring": (POINT | {"fill": themed("#ffffff", "#14171b"), "size": 40}, "x y color tooltip"),
    "truth": ({"type": "tick", "orient": "vertical", "thickness": 1.5, "height": 13, "color": INK}, "x y tooltip"),
    "grid": ({"type": "rect", "fillOpacity": 0, "stroke": GRID}, "x x2 y y2"),
    "cell": ({"type": "rect", "color": themed("#08519c", "#6baed6")}, "x x2 y y2 opacity tooltip"),
    "outline": ({"type": "rect", "fillOpacity": 0, "strokeWidth": 2}, "x x2 y y2 stroke"),
    "best": (POINT | {"filled": True, "size": 22, "color": INK}, "x y"),
}
"""The mark of each kind of layer, and the channels that it has."""
COLOUR = {"condition": {"test": "datum.colour == 'ink'", "value": INK}, "field": "colour", "scale": None}


def context(recording: Recording) -> Json:
    """Return what the template of the page shows."""
    described = {
        "story": panels.story(recording),
        "decisions": panels.decisions(recording),
        "estimates": panels.estimates(recording),
        "plays": panels.plays(recording, range(len(recording.frames))),
        "regret": panels.regret(recording),
    }
    drawn = {name: panel for name, panel in described.items() if panel is not None}
    now = [{"frame": k, "until": k + 1, "x": max(1, frame.round)} for k, frame in enumerate(recording.frames)]
    tables, specs = {}, []
    for name, panel in drawn.items():
        every = {"now": now} | panel.layers if panel.is_over_rounds else panel.layers
        layers = {kind: rows for kind, rows in every.items() if rows}
        tables[name] = {kind: _columns(rows) for kind, rows in layers.items()}
        specs.append((name, panel.title, panel.note, specification(panel, list(layers))))
    frames = [
        {"round": grouped(frame.round), "regret": "" if frame.regret is None else regret_text(frame.regret),
         "window": frame.window, "sentence": frame.sentence, "isEvent": frame.is_event,
         "decided": [one["text"] for one in frame.decisions]}
        for frame in recording.frames
    ]  # fmt: skip
    texts = {"title": recording.title, "lead": recording.lead, "caption": recording.caption}
    packed = b64encode(compress(json.dumps(tables, allow_nan=False).encode())).decode()
    return {**texts, "panels": specs, "frames": frames, "tables": packed}


def specification(panel: Panel, kinds: list[str]) -> Json:
    """Describe a panel with these layers, whose rows the page adds."""
    x_axis: Json = {"title": panel.x_label or None, "tickCount": 5, "labelExpr": TICK_TEXT}
    y_axis: Json = {"title": panel.y_label or None, "tickCount": 4, "labelExpr": TICK_TEXT}
    x_scale, y_scale = (
        {"domain": list(ends), "nice": False, "clamp": True, "type": "linear"}
        for ends in (panel.x_range, panel.y_range)
    )
    if panel.is_over_rounds:
        x_axis |= {"values": [10**power for power in range(len(str(int(panel.x_range[1]))))], "grid": False}
        x_scale["type"] = "log"
    if panel.x_names:
        x_axis |= {"values": [*range(len(panel.x_names))], "labelExpr": f"{[*panel.x_names]}[datum.value]"}
        x_axis |= {"labelAngle": -45 if max(map(len, panel.x_names)) > 2 else 0, "ticks": False, "domain": False}
        x_axis |= {"labelOverlap": len(panel.x_names) > MAX_NAMED, "grid": False}
    channels: Json = {
        "x": {"field": "x", "type": "quantitative", "scale": x_scale, "axis": x_axis},
        "y": {"field": "y", "type": "quantitative", "scale": y_scale, "axis": None if "name" in kinds else y_axis},
        **{key: {"field": key} for key in ("x2", "y2")},
        **dict.fromkeys(("color", "fill", "stroke"), COLOUR | {"type": "nominal"}),
        "detail": {"field": "curve"},
        "opacity": {"field": "shade", "type": "quantitative", "scale": None},
        "tooltip": {"field": "text"},
        "label": {"field": "label"},
    }
    layers = []
    for kind in kinds:
        mark, used = MARKS[kind]
        encoding = {"text" if key == "label" else key: channels[key] for key in used.split()}
        transform = [HAS_ROOM] if kind == "beside" else []
        layers.append({"data": {"name": kind}, "transform": transform, "mark": mark, "encoding": encoding})
    rows = round(panel.y_range[0] + 0.4)
    size: Json = {"height": ROW_HEIGHT * rows if "name" in kinds else HEIGHT}
    if panel.y_label == "regret":
        size = {"height": SMALL_HEIGHT}
    elif 0 < len(panel.x_names) <= MAX_SQUARES:
        size = {"width": CELL_SIZE * len(panel.x_names), "height": CELL_SIZE * rows}
    return BASE | size | {"layer": layers}


def _columns(rows: list[Row]) -> Json:
    """Return a table by column, with numbers rounded to what is visible."""

    def rounded(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return float(f"{value:.5g}") if isfinite(value) else None

    return {key: [rounded(row[key]) for row in rows] for key in KEYS if key in rows[0]}

"""Describe the panels of a recording in Vega-Lite; a page sets their parameter `frame`."""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite, log10, sqrt
from typing import Any

from matchbandit.figures.vega_lite import BASE, GRID, INK, MUTED, TICK_TEXT, themed
from matchbandit.formatting import grouped
from matchbandit.lab.playback import panels
from matchbandit.lab.playback.panels import RowsPanel, TimePanel
from matchbandit.lab.playback.record import Recording
from matchbandit.lab.playback.sentences import regret_text
from matchbandit.lab.playback.snapshots import Row

Json = dict[str, Any]
HEIGHT, SMALL_HEIGHT, ROW_HEIGHT = 280, 120, 18
LETTER_WIDTH = 6.2
"""Of a label in pixels: it is drawn where it has room."""
SHAPES = {"cross": "M-1-1L1 1M-1 1L1-1", "tick": "M0-1L0 1", "dot": "circle"}
COLOUR = {"condition": {"test": "datum.colour == 'ink'", "value": INK}, "field": "colour", "type": "nominal", "scale": None}
NOW = {"filter": "datum.frame <= frame && frame < datum.until"}


def context(recording: Recording) -> Json:
    """Return what the template of the page shows."""
    wide = {"story": panels.story(recording), "regret": panels.regret(recording)}
    narrow = {"estimates": panels.estimates(recording), "decisions": panels.decisions(recording), "evidence": panels.evidence(recording)}
    specs = {name: time_spec(recording, panel, SMALL_HEIGHT if name == "regret" else HEIGHT) for name, panel in wide.items() if panel}
    specs |= {name: rows_spec(panel) for name, panel in narrow.items() if panel}
    titles = {name: (panel.title, getattr(panel, "note", "")) for name, panel in (wide | narrow).items() if panel}
    best = " Dot: the best answer." if recording.best else ""
    titles["plays"] = "Pairs played since the frame before", f"The stronger the colour, the more often. Outlined: the recommendation.{best}"
    specs["plays"] = plays_spec(recording)
    order = [name for name in ("story", "decisions", "estimates", "plays", "evidence", "regret") if name in specs]
    made: dict[int, list[str]] = {}
    for one in recording.decisions:
        made.setdefault(one["frame"], []).append(one["text"])
    frames = [
        {"round": grouped(frame.round), "regret": "" if frame.regret is None else regret_text(frame.regret),
         "window": frame.window, "sentence": frame.sentence, "isEvent": frame.is_event, "decided": made.get(number, [])}
        for number, frame in enumerate(recording.frames)
    ]  # fmt: skip
    return {
        "title": recording.title,
        "lead": recording.lead,
        "caption": recording.caption,
        "frames": frames,
        "panels": [(name, *titles[name], _finite(specs[name])) for name in order],
    }


def time_spec(recording: Recording, panel: TimePanel, height: int) -> Json:
    """Return a panel over the rounds, with a rule at the frame."""
    last = panels.last_round(recording)
    powers = [10**power for power in range(int(log10(last)) + 1)]
    axis = {"values": powers, "labelExpr": TICK_TEXT, "grid": False, "title": "round"}
    scale = {"type": "log", "domain": [1, last], "nice": False}
    low, high = (len(panel.names) - 0.4, -0.6) if panel.names else panel.y_range
    y_axis = None if panel.names else {"title": panel.y_label, "grid": True, "tickCount": 4, "labelExpr": TICK_TEXT}
    y_scale = {"domain": [low, high], "nice": False, "clamp": True} | ({"type": "symlog"} if panel.y_log else {})
    if panel.y_log and y_axis:
        y_axis["values"] = [0, *powers]
    x = {"field": "round", "type": "quantitative", "axis": axis, "scale": scale}
    y = {"field": "y", "type": "quantitative", "axis": y_axis, "scale": y_scale}
    text = {"tooltip": {"field": "text"}}
    frames = [{"frame": number, "until": number + 1, "round": max(1, frame.round)} for number, frame in enumerate(recording.frames)]
    names = [{"y": at, "name": name} for at, name in enumerate(panel.names)]
    right = {"x": {"value": {"expr": "width"}}}
    share = {"y": {"field": "pixels", "type": "quantitative", "scale": None}}
    has_room = {"filter": f"datum.room * width > {LETTER_WIDTH} * length(datum.{{}})"}
    span = {"x": x | {"field": "start"}, "x2": {"field": "end"}, "y": y | {"field": "top"}, "y2": {"field": "bottom"}} | text
    line = {"x": x, "y": y, "detail": {"field": "curve"}, "color": COLOUR, "tooltip": {"field": "curve"}}
    mark = {"x": x, "y": y} | text
    layers = [
        _layer("frames", {"type": "rule", "color": MUTED, "strokeWidth": 1.5}, {"x": x}, NOW),
        _layer("dividers", {"type": "rule", "color": MUTED, "strokeDash": [2, 2]}, {"x": x}),
        _layer("dividers", {"type": "text", "color": MUTED, "y": -6, "fontSize": 10}, {"x": x | {"field": "centre"}, "text": {"field": "text"}},
               {"filter": has_room["filter"].format("text")}),
        _layer("names", {"type": "text", "align": "right", "dx": -6, "x": 0, "color": INK}, {"y": y, "text": {"field": "name"}}),
        _layer("spans", {"type": "rect"}, span | {"color": COLOUR}, {"filter": "datum.kind == 'bar'"}),
        _layer("spans", {"type": "rect", "fillOpacity": 0.28, "strokeWidth": 1.2}, span | {"fill": COLOUR, "stroke": COLOUR}, {"filter": "datum.kind == 'box'"}),
        _layer("spans", {"type": "rule", "strokeWidth": 2.4, "strokeDash": [2, 2], "color": INK},
               {key: value for key, value in span.items() if key != "y2"}, {"filter": "datum.kind == 'border'"}),
        _layer("points", {"type": "area", "opacity": 0.13}, {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"},
               "detail": {"field": "curve"}, "color": COLOUR}, {"filter": "isValid(datum.low) && isValid(datum.high)"}),
        *(_layer("points", {"type": "line", "strokeWidth": width, "strokeDash": [5, 3] if dashed else [1, 0]}, line,
                 {"filter": f"datum.width == {width} && datum.dashed == {str(dashed).lower()}"})
          for width, dashed in sorted({(row["width"], row["dashed"]) for row in panel.points})),
        *(_layer("marks", {"type": "point", "shape": SHAPES[shape], "size": 45, "stroke": INK, "opacity": 1, "filled": False},
                 mark | ({"fill": COLOUR} if shape == "dot" else {}), {"filter": f"datum.shape == '{shape}'"})
          for shape in sorted({row["shape"] for row in panel.marks})),
        _layer("marks", {"type": "text", "align": "left", "dx": 7, "fontSize": 10, "color": INK}, mark | {"text": {"field": "label"}},
               {"filter": has_room["filter"].format("label")}),
        _layer("truths", {"type": "text", "align": "left", "text": "◂", "color": INK}, right | {"y": y} | text),
        _layer("labels", {"type": "text", "align": "left", "dx": 10, "fontSize": 11}, right | share | {"text": {"field": "text"}, "color": COLOUR},
               {"calculate": "(1 - datum.share) * height", "as": "pixels"}),
    ]  # fmt: skip
    tables = {"frames": frames, "names": names, "spans": panel.spans, "points": panel.points, "marks": panel.marks,
              "truths": panel.truths, "labels": panel.labels, "dividers": panel.dividers}  # fmt: skip
    return _spec(len(panel.names) * ROW_HEIGHT if panel.names else height, layers, tables)


def rows_spec(panel: RowsPanel) -> Json:
    """Return a panel of intervals, each in a row of its own."""
    rows = 1 + max(row["y"] for row in panel.rows)
    x = {"type": "quantitative", "scale": {"domain": list(panel.x_range), "nice": False, "clamp": True},
         "axis": {"title": panel.x_label or None, "tickCount": 4, "grid": True}}  # fmt: skip
    y = {"field": "y", "type": "quantitative", "axis": None, "scale": {"domain": [rows - 0.4, -0.6], "nice": False}}
    common = {"y": y, "tooltip": [{"field": key, "title": key} for key in ("name", "estimate", "low", "high", "text")]}
    estimate = {"type": "point", "size": 40, "opacity": 1} | ({"fill": themed("#ffffff", "#14171b")} if panel.is_hollow else {"filled": True})
    layers = [
        _layer("rows", {"type": "text", "align": "right", "dx": -6, "x": 0, "color": INK}, {"y": y, "text": {"field": "name"}}, NOW),
        _layer("rows", {"type": "rule", "strokeWidth": 4}, common | {"x": x | {"field": "low"}, "x2": {"field": "high"}, "color": COLOUR}, NOW),
        _layer("rows", estimate, common | {"x": x | {"field": "estimate"}, "color": COLOUR}, NOW),
        _layer("rows", {"type": "tick", "thickness": 1.5, "height": 13, "color": INK}, common | {"x": x | {"field": "tick"}}, NOW),
    ]
    return _spec(rows * ROW_HEIGHT, layers, {"rows": panel.rows})


def plays_spec(recording: Recording) -> Json:
    """Return the table of pairs: how often each was played since the frame before; both ways round for players."""
    graph, names = recording.names.graph, recording.names
    sides = (graph.shape[0], graph.shape[1])
    ticks = [[str(k) if names.given is None else names.given[side][k] for k in range(n)] for side, n in zip((0, -1), sides, strict=True)]
    both = (("left", "right"),) if graph.is_bipartite else (("left", "right"), ("right", "left"))
    rows = [
        {"frame": row["frame"], "until": row["frame"] + 1, "row": row[a], "column": row[b], "shade": sqrt(row["share"]),
         "recommended": row["recommended"], "text": f"{names.pair((row['left'], row['right']))}: {row['share']:.1%} of the rounds"}
        for row in recording.pairs if row["played"] or row["recommended"] for a, b in both
    ]  # fmt: skip
    best = [{"row": pair[a == "right"], "column": pair[b == "right"]} for pair in recording.best for a, b in both]
    axis = {"domain": False, "ticks": False, "labelOverlap": True, "labelLimit": 80}
    x, y = (
        {"field": key, "type": "ordinal", "scale": {"domain": list(range(n))},
         "axis": axis | {"title": title, "labelExpr": f"{of_side}[datum.value]", "labelAngle": 0 if names.given is None or key == "row" else -45}}
        for key, n, of_side, title in zip(("column", "row"), sides[::-1], ticks[::-1], _titles(recording), strict=True)
    )  # fmt: skip
    at = {"x": x, "y": y}
    layers = [
        _layer("grid", {"type": "rect", "fillOpacity": 0, "stroke": GRID}, at),
        _layer("rows", {"type": "rect", "color": themed("#08519c", "#6baed6")}, at | {"tooltip": {"field": "text"},
               "opacity": {"field": "shade", "type": "quantitative", "scale": {"domain": [0, 1], "range": [0, 1]}, "legend": None}}, NOW),
        _layer("rows", {"type": "rect", "fillOpacity": 0, "stroke": "#d75e00", "strokeWidth": 2}, at, NOW, {"filter": "datum.recommended"}),
        _layer("best", {"type": "point", "filled": True, "size": 22, "color": INK, "opacity": 1}, at),
    ]  # fmt: skip
    grid = [{"row": row[a == "right"], "column": row[b == "right"]} for row in graph.pairs.tolist() for a, b in both]
    return _spec(max(120, min(24, 420 // max(sides)) * sides[0]), layers, {"rows": rows, "best": best, "grid": grid})


def _titles(recording: Recording) -> tuple[str, str]:
    if recording.names.given is not None:
        return "", ""
    return ("column", "row") if recording.names.graph.is_bipartite else ("player", "player")


def _layer(table: str, mark: Json, encoding: Json, *transforms: Json) -> Json:
    return {"data": {"name": table}, "transform": [*transforms], "mark": mark, "encoding": encoding}


def _spec(height: int, layers: list[Json], tables: dict[str, list[Row]]) -> Json:
    """Return a specification; its tables are written by column, which is shorter, and playback.js makes rows of them."""
    columns = {name: {key: [row[key] for row in rows] for key in rows[0]} for name, rows in tables.items() if rows}
    drawn = [layer for layer in layers if layer["data"]["name"] in columns]
    return BASE | {"params": [*BASE["params"], {"name": "frame", "value": 0}], "height": height, "layer": drawn, "datasets": columns}


def _finite(value: Any) -> Any:
    """Round numbers to what is visible; None for those that are not finite."""
    if isinstance(value, float):
        return float(f"{value:.5g}") if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value

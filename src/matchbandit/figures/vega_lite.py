"""Charts as Vega-Lite specifications, for pages and for notebooks; light and dark."""

from math import isfinite
from textwrap import fill
from typing import Any, Literal

import numpy as np

from matchbandit.figures.chart import MAX_MARKERS, Chart, point_text, position_text
from matchbandit.figures.style import styles_of
from matchbandit.formatting import power_of_ten

Json = dict[str, Any]
HEIGHT, ROW_HEIGHT, MARKERS_OF_LONG_LINES = 340, 44, 9
DASHES = {"dashed": [7, 4], "dotted": [2, 3]}
SHAPES = {
    "triangle": "triangle-up",
    "plus": "cross",
    "cross": "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z",
    "hexagon": "M0,-1L.87,-.5L.87,.5L0,1L-.87,.5L-.87,-.5Z",
    "star": "M0,-1L.24,-.32L.95,-.31L.38,.12L.59,.81L0,.4L-.59,.81L-.38,.12L-.95,-.31L-.24,-.32Z",
    "pentagon": "M0,-1L.95,-.31L.59,.81L-.59,.81L-.95,-.31Z",
}
"""Markers that Vega calls otherwise, or does not have."""
_POWERS = " ".join(power_of_ten(10.0**power, power) for power in range(-15, 19))
_EXPONENT = "floor(log(abs(datum.value)) / LN10 + 1e-9)"
TICK_TEXT = (
    "datum.value == 0 || abs(datum.value) >= 1e-3 && abs(datum.value) < 1e6 ? format(datum.value, ',.6~f') : "
    f"replace(format(datum.value / pow(10, {_EXPONENT}), '.4~g') + '·', /^1·/, '') + "
    f"split('{_POWERS}', ' ')[{_EXPONENT} + 15]"
)
"""Numbers at ticks, as `formatting.short` writes them."""
_RATIO = "domain('%s')[1] / domain('%s')[0]"
_DIGIT = f"round(datum.value / pow(10, {_EXPONENT}))"
IS_ROUND = f"indexof({_RATIO} > 200 ? [1] : {_RATIO} > 4 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9], {_DIGIT}) >= 0"
"""Which ticks of a logarithmic axis have a number and a grid line: powers of ten, and others where these are few."""
IN_RANGE = {"filter": "datum.x > x_floor"}


def themed(light: str, dark: str) -> Json:
    """Return a colour that depends on the parameter `dark` of a specification."""
    return {"expr": f"dark ? '{dark}' : '{light}'"}


INK, MUTED, GRID = themed("#1b1f24", "#e4e8ec"), themed("#57606a", "#a3adb8"), themed("#e6e9ed", "#2a3038")
PAPER = themed("#ffffff", "#14171b")
BASE: Json = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "width": "container",
    "background": "transparent",
    "params": [{"name": "dark", "value": False}],
    "config": {
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "title": {"anchor": "start", "color": INK},
        "axis": {
            "domainColor": MUTED, "gridColor": GRID, "labelColor": MUTED, "tickColor": MUTED, "titleColor": INK,
            "titleFontWeight": "normal", "labelFontSize": 12, "titleFontSize": 12, "labelOverlap": "greedy",
        },
        "axisY": {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -12},
        "legend": {
            # By the container: by the width of the axes, which follows from the legend, a row may be cut off.
            "orient": "bottom", "columns": {"expr": "max(1, floor((containerSize()[0] || width) / 260))"},
            "labelColor": INK, "title": None,
            "labelLimit": 300, "labelFontSize": 12, "symbolSize": 90, "symbolStrokeWidth": 2, "symbolOpacity": 1,
        },
    },
}  # fmt: skip
"""What the specifications of pages share: the parameter `dark`, and colours that follow it."""


def specification(chart: Chart) -> Json:
    """Return a chart as a Vega-Lite specification, as wide as its container.

    `usermeta.axes` holds, for the channels x and y, a linear axis, and a logarithmic one where the data allow it: the
    parts of the `channel`, and the `floor`, the value of the parameter x_floor or y_floor.
    """
    flat = bool(chart.categories)
    measured = "x" if flat else "y"
    axes = {} if flat else {"x": _axis(chart, "x", chart.x_label)}
    axes[measured] = _axis(chart, "y", chart.y_label)
    logs = {"x": chart.x_log} | {measured: chart.y_log}
    shown = {name: axis["log" if logs[name] and "log" in axis else "linear"] for name, axis in axes.items()}
    floors = [{"name": f"{name}_floor", "value": axis["floor"]} for name, axis in shown.items()]
    raised = "isValid(datum.{0}) ? max(datum.{0}, {1}_floor) : null"
    about = _about(chart)
    source = {"data": {"values": about}, "key": "number", "fields": [*about[0]][1:] if about else []}
    transform = [
        {"lookup": "number", "from": source},
        {"calculate": "dark ? datum.dark : datum.light", "as": "colour"},
        *({"calculate": raised.format(name, measured), "as": name} for name in ("y", "low", "high")),
        *([] if flat else [IN_RANGE]),
    ]
    channels = {
        name: {"field": "y" if flat else name, "type": "quantitative"} | shown[name]["channel"] for name in axes
    }
    if flat:
        axis = {"labelExpr": "split(datum.label, '\\n')", "labelLimit": 200}
        scale = {"domain": [fill(name, 24) for name in chart.categories]}
        channels["y"] = {"field": "row", "type": "nominal", "title": None, "scale": scale, "axis": axis}
    if chart.has_shared_categories:
        channels["yOffset"] = {"field": "key", "scale": {"domain": list(dict.fromkeys(x.key for x in chart.series))}}
    marks = {"encoding": channels, "layer": _marks(chart, measured)}
    return BASE | {
        "title": chart.title,
        "description": f"{chart.y_label} over {chart.x_label}: {', '.join(x.label for x in chart.series if x.label)}",
        "height": max(ROW_HEIGHT * len(chart.categories), 120) if flat else HEIGHT,
        "params": [*BASE["params"], *floors],
        "usermeta": {"axes": axes},
        "data": {"values": _rows(chart)},
        "transform": transform,
        "layer": [marks, *_rules(chart), *([] if flat else [_hover(chart)])],
    }


def _axis(chart: Chart, field: Literal["x", "y"], title: str) -> Json:
    """A linear axis, and a logarithmic one if there are positive values; its bands end below the least mean."""
    is_x, values, channel = field == "x", chart.finite(field), "x" if chart.categories else field
    axis: Json = {"labelExpr": TICK_TEXT, "grid": not is_x}
    linear: Json = {"zero": not is_x, "nice": not is_x, "padding": 10 if is_x else 0}
    log: Json = {"type": "log", "nice": False, "padding": 10}
    if is_x and chart.x_starts_at_zero:
        ends = [values.max(), *(rule.at for rule in chart.rules if rule.axis == "x")]
        linear = {"zero": True, "nice": False, "domainMax": _number(1.02 * max(ends))}
    if not is_x and chart.y_range is not None:
        (log if chart.y_log else linear)["domain"] = [_number(end) for end in chart.y_range]
    if is_x and chart.x_ticks is not None:
        axis["values"] = [_number(tick) for tick in chart.x_ticks]
        log_axis = axis
    else:
        test = IS_ROUND.replace("%s", channel)
        log_axis = axis | {"tickCount": 8, "labelExpr": f"{test} ? ({TICK_TEXT}) : ''"}
        log_axis["gridOpacity"] = {"condition": {"test": test, "value": 1}, "value": 0}
        axis["tickCount"] = {"expr": "max(3, width / 90)"} if channel == "x" else 6
    kinds = {"linear": {"channel": {"title": title, "scale": linear, "axis": axis}, "floor": -1e300}}
    if (values > 0).any():
        floor = 0 if is_x else _number(chart.y_floor)
        kinds["log"] = {"channel": {"title": title, "scale": log, "axis": log_axis}, "floor": floor}
    return kinds


def _looks(chart: Chart) -> Json:
    """Strokes, fills and shapes of all series, with one legend."""
    styles, has_legend = styles_of(chart), not chart.categories or chart.has_shared_categories
    legend = {"values": [name for name, line in zip(chart.names, chart.series, strict=True) if line.label]}
    strokes = [themed(style.colour, style.dark) for style in styles]
    pairs = [*zip(chart.series, styles, strict=True)]
    bare = () if chart.categories else ("reference",)
    values: dict[str, list[Any]] = {
        "stroke": strokes,
        "fill": [PAPER if line.is_hollow else colour for line, colour in zip(chart.series, strokes, strict=True)],
        "shape": ["stroke" if x.kind in bare else SHAPES.get(look.marker, look.marker) for x, look in pairs],
    }
    look: Json = {"field": "series", "type": "nominal", "title": None, "legend": legend if has_legend else None}
    return {
        channel: look | {"scale": {"domain": [*chart.names], "range": values}} for channel, values in values.items()
    }


def _marks(chart: Chart, measured: str) -> list[Json]:
    """Bands, lines, bars and markers; a choice in the legend dims all other series."""
    flat, looks = bool(chart.categories), _looks(chart)

    def layer(test: str, mark: str, opacity: float, encoding: Json, **properties: Any) -> Json:
        dimmed = {"condition": {"param": "chosen", "value": opacity}, "value": opacity / 8}
        mark_of = {"type": mark, "clip": True, **properties}
        return {"transform": [{"filter": test}], "mark": mark_of, "encoding": {"opacity": dimmed, **encoding}}

    # Not by the scale of the markers, which has the colour of the page for hollow ones.
    area = {"color": {"field": "colour", "scale": None}, "detail": {"field": "number"}}
    outline = {"stroke": looks["stroke"]}
    ends = {measured: {"field": "low"}, f"{measured}2": {"field": "high"}}
    dashes = [{"test": f"datum.dash == '{name}'", "value": pattern} for name, pattern in DASHES.items()]
    weights = [{"test": "datum.bold", "value": 3.2}, {"test": "datum.kind == 'reference'", "value": 1.3}]
    drawn = {"strokeWidth": {"condition": weights, "value": 2}, "strokeDash": {"condition": dashes, "value": [1, 0]}}
    tip = [{"field": "row", "title": chart.x_label}, {"field": "series"}, {"field": "text", "title": chart.y_label}]
    markers = layer("datum.marker", "point", 1, looks | {"tooltip": tip if flat else None}, size=64, strokeWidth=1.8)
    chosen = {"type": "point", "fields": ["series"], "toggle": "true"}
    # A wheel alone moves the page, and so does a finger.
    turn, drag = "wheel![event.ctrlKey || event.metaKey]", "pointerdown[event.pointerType == 'mouse']"
    moves = {"zoom": turn, "translate": f"[{drag}, window:pointerup] > window:pointermove!"}
    zoom = {"type": "interval", "encodings": ["x"] if flat else ["x", "y"], **moves}
    params = {"zoom": {"select": zoom, "bind": "scales"}, "chosen": {"select": chosen, "bind": "legend"}}
    markers["params"] = [{"name": name, **parameter} for name, parameter in params.items()]
    barred = "isValid(datum.low)" if flat else "datum.kind == 'points' && isValid(datum.low)"
    bars = layer(barred, "rule", 1, outline | ends, strokeWidth=1.4)
    cloud = layer("datum.kind == 'cloud'", "circle", 0.4, area, size=14)
    if flat:
        return [bars, cloud, markers]
    band = layer("datum.kind == 'line' && isValid(datum.low)", "area", 0.16, area | ends)
    line = layer("datum.kind == 'line' || datum.kind == 'reference'", "line", 1, outline | drawn)
    return [band, line, bars, cloud, markers]


def _hover(chart: Chart) -> Json:
    """A vertical line at the position nearest to the pointer, which tells the values of all series there."""
    named = [(name, x) for name, x in zip(chart.names, chart.series, strict=True) if x.label and x.kind != "cloud"]
    rows: dict[float, Json] = {}
    for number, (_, line) in enumerate(named):
        for at, x in enumerate(line.x.tolist()):
            row = rows.setdefault(x, {"x": _number(x), "position": position_text(x)})
            row[f"s{number}"] = point_text(line, at)
    texts = [{"field": f"s{number}", "title": name, "type": "nominal"} for number, (name, _) in enumerate(named)]
    select = {"type": "point", "encodings": ["x"], "nearest": True, "on": "pointermove", "clear": "pointerout"}
    return {
        "data": {"values": [rows[x] for x in sorted(rows)]},
        "transform": [IN_RANGE],
        "params": [{"name": "nearest", "select": select}],
        "mark": {"type": "rule", "color": MUTED},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": chart.x_label},
            "opacity": {"condition": {"param": "nearest", "empty": False, "value": 0.7}, "value": 0},
            "tooltip": [{"field": "position", "title": chart.x_label, "type": "nominal"}, *texts],
        },
    }


def _rules(chart: Chart) -> list[Json]:
    """Labelled positions on the axes; the labels of upright rules are below each other."""
    layers: list[Json] = []
    for number, rule in enumerate(chart.rules):
        at, text = _number(rule.at), dict[str, Any](type="text", text=rule.label, color=MUTED)
        if (rule.axis == "x") != bool(chart.categories):  # beside the rule, where there is more room
            is_left = f"scale('x', {at}) > width / 2"
            text |= {"align": {"expr": f"{is_left} ? 'right' : 'left'"}, "dx": {"expr": f"{is_left} ? -4 : 4"}}
            position: Json = {"x": {"datum": at}}
            aside: Json = {"y": {"value": 14 * number + 8}}
        else:
            text |= {"align": "right", "dx": -4, "dy": -7}
            position, aside = {"y": {"datum": at}}, {"x": {"value": "width"}}
        line = {"type": "rule", "color": MUTED, "clip": True}
        drawn = [{"mark": line, "encoding": position}, {"mark": text, "encoding": position | aside}]
        layers.append({"data": {"values": [{}]}, "layer": drawn})
    return layers


def _about(chart: Chart) -> list[Json]:
    """What is the same in all rows of a series."""
    rows = zip(chart.series, chart.names, styles_of(chart), strict=True)
    return [
        {"number": number, "series": name, "kind": line.kind, "key": line.key, "bold": line.is_bold}
        | {"dash": style.dash, "light": style.colour, "dark": style.dark}
        for number, (line, name, style) in enumerate(rows)
    ]


def _rows(chart: Chart) -> list[Json]:
    """One row for each point of each series; in rows of categories with what it is called."""
    rows: list[Json] = []
    bare = ("cloud",) if chart.categories else ("cloud", "reference")
    for number, line in enumerate(chart.series):
        numbers = {"x": line.x, "y": line.y, "low": line.low, "high": line.high}
        few = len(line.x) <= MAX_MARKERS or line.kind == "points"
        spread = np.linspace(0, len(line.x) - 1, len(line.x) if few else MARKERS_OF_LONG_LINES).round()
        marked = spread[:0] if line.kind in bare else spread
        for at in range(len(line.x)):
            row: Json = {"number": number} | ({"marker": True} if at in marked else {})
            row |= {field: _number(values[at]) for field, values in numbers.items() if values is not None}
            if chart.categories:
                row |= {"row": fill(chart.categories[int(line.x[at])], 24), "text": point_text(line, at)}
            rows.append(row)
    return rows


def _number(value: float) -> float | None:
    """To seven digits, and none if it is not finite, which JSON cannot say."""
    return float(f"{value:.7g}") if isfinite(value) else None

"""Charts as Vega-Lite specifications, for pages and for notebooks; light and dark."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from matchbandit.figures.chart import MAX_MARKERS, Chart, Numbers, Series, point_text, position_text
from matchbandit.figures.style import styles_of

Json = dict[str, Any]
PAPER, PAPER_DARK = "#ffffff", "#14171b"
HEIGHT, ROW_HEIGHT = 340, 44
DASHES = {"solid": [1, 0], "dashed": [7, 4], "dotted": [2, 3]}
SHAPES = {
    "triangle": "triangle-up",
    "plus": "cross",
    "cross": "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z",
    "hexagon": "M0,-1L.87,-.5L.87,.5L0,1L-.87,.5L-.87,-.5Z",
    "star": "M0,-1L.24,-.32L.95,-.31L.38,.12L.59,.81L0,.4L-.59,.81L-.38,.12L-.95,-.31L-.24,-.32Z",
    "pentagon": "M0,-1L.95,-.31L.59,.81L-.59,.81L-.95,-.31Z",
}
"""Markers that Vega calls otherwise, or does not have."""
_POWERS = [f"10{str(power).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}" for power in range(-15, 19)]
_EXPONENT = "floor(log(abs(datum.value)) / LN10 + 1e-9)"
TICK_TEXT = (
    "datum.value == 0 || abs(datum.value) >= 1e-3 && abs(datum.value) < 1e6 ? format(datum.value, ',.6~f') : "
    f"replace(format(datum.value / pow(10, {_EXPONENT}), '.4~g') + '·', /^1·/, '') + {_POWERS}[{_EXPONENT} + 15]"
)
"""Numbers at ticks, as `formatting.short` writes them."""


def themed(light: str, dark: str) -> Json:
    """Return a colour that depends on the parameter `dark` of a specification."""
    return {"expr": f"dark ? '{dark}' : '{light}'"}


INK, MUTED, GRID = themed("#1b1f24", "#e4e8ec"), themed("#57606a", "#a3adb8"), themed("#e6e9ed", "#2a3038")
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
            "titleFontWeight": "normal", "labelFontSize": 12, "titleFontSize": 12, "labelOverlap": True,
        },
        "axisY": {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -12},
        "legend": {
            "orient": "bottom", "columns": {"expr": "max(1, floor(width / 240))"}, "labelColor": INK, "title": None,
            "labelLimit": 300, "labelFontSize": 12, "symbolSize": 90, "symbolStrokeWidth": 2, "rowPadding": 4,
        },
    },
}  # fmt: skip
"""What the specifications of pages share: the parameter `dark`, and colours that follow it."""


def specification(chart: Chart) -> Json:
    """Return a chart as a Vega-Lite specification, as wide as its container.

    `usermeta.axes` holds for the channels x and y what a linear axis is made of, and a logarithmic one where the data
    allow it: `scale`, `axis`, and `floor`, the value of the parameter x_floor or y_floor.
    """
    measured = "x" if chart.categories else "y"
    axes = {measured: _axis(chart, is_x=False)} | ({} if chart.categories else {"x": _axis(chart, is_x=True)})
    logs = {"x": chart.x_log} | {measured: chart.y_log}
    chosen = {name: axis["log" if logs[name] and "log" in axis else "linear"] for name, axis in axes.items()}
    labels = [line.label or f"({number})" for number, line in enumerate(chart.series)]
    names = [f"{line.key}: {x}" if labels.count(x) > 1 else x for line, x in zip(chart.series, labels, strict=True)]
    floored = {name: f"max(datum.{name}, {measured}_floor)" for name in ("y", "low", "high")}
    calculated = [{"calculate": f"isValid(datum.{name}) ? {x} : null", "as": name} for name, x in floored.items()]
    in_range = [] if chart.categories else [{"filter": "datum.x > x_floor"}]
    floors = [{"name": f"{name}_floor", "value": axis["floor"]} for name, axis in chosen.items()]
    marks = {"encoding": _positions(chart, chosen, names), "layer": _marks(chart, names, measured)}
    hover = [] if chart.categories else [_hover(chart, names, in_range)]
    return BASE | {
        "title": chart.title,
        "description": f"{chart.y_label} over {chart.x_label}: {', '.join(x.label for x in chart.series if x.label)}",
        "height": max(ROW_HEIGHT * len(chart.categories), 120) if chart.categories else HEIGHT,
        "params": [*BASE["params"], *floors],
        "usermeta": {"axes": axes},
        "data": {"values": [row for x, name in zip(chart.series, names, strict=True) for row in _rows(chart, x, name)]},
        "transform": [*calculated, *in_range],
        "layer": [*_rules(chart), marks, *hover],
    }


def _positions(chart: Chart, axes: Json, names: Sequence[str]) -> Json:
    """The channels x and y."""
    shown = {
        name: {"type": "quantitative", "scale": axis["scale"], "axis": axis["axis"]} for name, axis in axes.items()
    }
    if not chart.categories:
        fields = {"x": chart.x_label, "y": chart.y_label}
        return {name: {"field": name, "title": title, **shown[name]} for name, title in fields.items()}
    row = {"field": "position", "type": "nominal", "title": None, "scale": {"domain": list(chart.categories)}}
    offset = {"yOffset": {"field": "series", "scale": {"domain": list(names)}}} if chart.has_shared_categories else {}
    return {"x": {"field": "y", "title": chart.y_label, **shown["x"]}, "y": row, **offset}


def _marks(chart: Chart, names: list[str], measured: str) -> list[Json]:
    """Bands, lines, bars and markers; one legend shows their colours and shapes, and dims all but the chosen series."""
    styles, lines = styles_of(chart), chart.series
    has_legend = not chart.categories or chart.has_shared_categories
    legend = {"values": [name for name, x in zip(names, lines, strict=True) if x.label]} if has_legend else None

    def look(values: list[Any], legend: Json | None) -> Json:
        scale = {"domain": names, "range": values}
        return {"field": "series", "type": "nominal", "title": None, "scale": scale, "legend": legend}

    def strength(value: float) -> Json:
        return {"condition": {"param": "chosen", "value": value}, "value": value / 8}

    colours = [themed(style.colour, style.dark) for style in styles]
    paper = themed(PAPER, PAPER_DARK)
    colour = look(colours, legend)
    dash = look([DASHES[style.dash] for style in styles], None)
    shape = look([SHAPES.get(style.marker, style.marker) for style in styles], legend)
    fill = look([paper if x.is_hollow else colour for x, colour in zip(lines, colours, strict=True)], legend)
    width = {"condition": [{"test": "datum.bold", "value": 3.2}, {"test": "datum.kind == 'reference'", "value": 1.3}]}
    ends = {measured: {"field": "low"}, f"{measured}2": {"field": "high"}}
    tip = [{"field": "series"}, {"field": "text", "title": chart.y_label}] if chart.categories else None
    joined, barred = "datum.kind == 'line' || datum.kind == 'reference'", "datum.kind == 'points'"
    layers: list[tuple[str, str | Json, Json]] = [
        ("datum.kind == 'line' && isValid(datum.low)", "area", {**ends, "opacity": strength(0.16)}),
        (joined, "line", {"strokeDash": dash, "strokeWidth": width | {"value": 2}, "opacity": strength(1)}),
        (f"({barred}) && isValid(datum.low)", {"type": "rule", "strokeWidth": 1.4}, {**ends, "opacity": strength(1)}),
        ("datum.kind == 'cloud'", {"type": "circle", "size": 14}, {"opacity": strength(0.4)}),
        (
            "datum.has_marker",
            {"type": "point", "size": 64, "strokeWidth": 1.8},
            {"shape": shape, "fill": fill, "opacity": strength(1), "tooltip": tip},
        ),
    ]
    if chart.categories:  # rows are not joined
        barred = "datum.kind != 'cloud'"
        layers = [(f"({barred}) && isValid(datum.low)", *layers[2][1:]), *layers[3:]]
    drawn: list[Json] = [
        {
            "transform": [{"filter": test}],
            "mark": {"clip": True, **(mark if isinstance(mark, dict) else {"type": mark})},
            "encoding": {"color": colour, **channels},
        }
        for test, mark, channels in layers
    ]
    scroll = "wheel![event.ctrlKey || event.metaKey]"  # a plain wheel moves the page
    drawn[-1]["params"] = [
        {"name": "zoom", "select": {"type": "interval", "zoom": scroll}, "bind": "scales"},
        {"name": "chosen", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"},
    ]
    return drawn


def _hover(chart: Chart, names: list[str], in_range: list[Json]) -> Json:
    """A vertical line at the position nearest to the pointer, with the values of all series there."""
    rows: dict[float, Json] = {}
    named = [(name, x) for name, x in zip(names, chart.series, strict=True) if x.label and x.kind != "cloud"]
    for number, (_, line) in enumerate(named):
        for at, x in enumerate(line.x.tolist()):
            row = rows.setdefault(x, {"x": _number(x), "position": position_text(x)})
            row[f"s{number}"] = point_text(line, at)
    texts = [{"field": f"s{number}", "title": name, "type": "nominal"} for number, (name, _) in enumerate(named)]
    nearest = {
        "type": "point",
        "encodings": ["x"],
        "nearest": True,
        "on": "pointermove,pointerdown",
        "clear": "pointerout",
    }
    return {
        "data": {"values": [rows[x] for x in sorted(rows)]},
        "transform": in_range,
        "params": [{"name": "nearest", "select": nearest}],
        "mark": {"type": "rule", "color": MUTED, "strokeWidth": 1},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": chart.x_label},
            "opacity": {"condition": {"param": "nearest", "empty": False, "value": 0.7}, "value": 0},
            "tooltip": [{"field": "position", "title": chart.x_label, "type": "nominal"}, *texts],
        },
    }


def _rules(chart: Chart) -> list[Json]:
    """Labelled positions on the axes; labels of vertical rules below each other, so that none covers another."""
    layers = []
    for number, rule in enumerate(sorted(chart.rules, key=lambda rule: rule.axis)):
        is_upright = (rule.axis == "x") != bool(chart.categories)
        at = {"x" if is_upright else "y": {"datum": _number(rule.at)}}
        aside = {"y": {"value": 14 * number + 8}} if is_upright else {"x": {"value": "width"}}
        text = {"type": "text", "text": rule.label, "color": MUTED, "align": "left" if is_upright else "right"}
        text |= {"dx": 4} if is_upright else {"dx": -4, "dy": -7}
        line = {"type": "rule", "color": MUTED, "strokeWidth": 1, "clip": True}
        layers.append({"layer": [{"mark": line, "encoding": at}, {"mark": text, "encoding": at | aside}]})
    return layers


def _rows(chart: Chart, line: Series, name: str) -> list[Json]:
    """One row for each point: its numbers, what it is, and in rows of categories what it is called."""
    count = len(line.x)
    few = np.linspace(0, count - 1, min(count, MAX_MARKERS if count <= MAX_MARKERS else 9)).round().tolist()
    marked = set(range(count) if line.kind == "points" else few if line.kind == "line" or chart.categories else [])
    numbers = {"x": line.x, "y": line.y, "low": line.low, "high": line.high}
    rows = []
    for at in range(count):
        row: Json = {"series": name, "kind": line.kind, "has_marker": at in marked and line.kind != "cloud"}
        row |= {field: _number(float(values[at])) for field, values in numbers.items() if values is not None}
        if chart.categories:
            row |= {"position": chart.categories[int(line.x[at])], "text": point_text(line, at)}
        rows.append(row | ({"bold": True} if line.is_bold else {}))
    return rows


def _axis(chart: Chart, *, is_x: bool) -> Json:
    """An axis of each kind that the data allow, wide enough for all means and bands, and starting at 0 where it can."""
    rules = np.array([rule.at for rule in chart.rules if rule.axis == ("x" if is_x else "y")], dtype=np.float64)
    means = _finite([x.x if is_x else x.y for x in chart.series])
    ends = [] if is_x else [end for x in chart.series for end in (x.low, x.high) if end is not None]
    values = _finite([means, rules, *ends])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    spare = 0.05 * (high - low) or max(abs(high) / 2, 0.5)
    start = 0.0 if low >= 0 and (not is_x or low < 0.06 * high) else low - spare
    ticks: Json = {
        "labelExpr": TICK_TEXT,
        "tickCount": {"expr": "max(3, width / 90)"} if is_x or chart.categories else 6,
    }
    ticks["grid"] = not is_x
    if is_x and chart.x_ticks is not None:
        ticks["values"] = [_number(x) for x in chart.x_ticks]
    domain = (start, high + spare) if is_x or chart.y_range is None or chart.y_log else chart.y_range
    linear = {"type": "linear", "domain": [_number(x) for x in domain], "nice": False, "zero": False}
    kinds = {"linear": {"scale": linear, "axis": ticks, "floor": -1e300}}
    positive, above = values[values > 0], means[means > 0]
    if len(above):
        low, high = max(float(positive.min()), float(above.min()) / 3), float(positive.max())
        spare = max((high / low) ** 0.05, 1.15)
        has_zeros = not is_x and len(above) < len(means)
        domain = low / (spare**3 if has_zeros else spare), high * spare
        if not is_x and chart.y_range is not None and chart.y_log:
            domain = chart.y_range
        log = {"type": "log", "domain": [_number(x) for x in domain], "nice": False}
        kinds["log"] = {"scale": log, "axis": ticks, "floor": 0 if is_x else _number(domain[0])}
    return kinds


def _finite(parts: Sequence[Numbers]) -> Numbers:
    values: Numbers = np.concatenate([np.zeros(0), *parts])
    return np.extract(np.isfinite(values), values)


def _number(value: float) -> float | None:
    """To seven digits, and none if it is not finite, which JSON cannot say."""
    return float(f"{value:.7g}") if isfinite(value) else None

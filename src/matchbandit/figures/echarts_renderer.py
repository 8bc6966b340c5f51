"""A chart as JSON data for `script/chart.js`, which draws it on a page with Apache ECharts."""

from colorsys import hls_to_rgb, rgb_to_hls
from math import isfinite
from typing import Any

from matchbandit.figures.axes import x_limits, y_limits
from matchbandit.figures.chart import Chart, Line, Numbers
from matchbandit.figures.style import Style, styles_of

PAPER = {"light": "#ffffff", "dark": "#14171b"}
"""The background of a page, as in `page.css`."""
MIN_CONTRAST = 4.5
"""Of text on its background (WCAG 2, level AA)."""


def chart_data(chart: Chart) -> dict[str, Any]:
    """Return all that is drawn: numbers to seven digits, null for those that are not finite.

    Lines have the style that they have in pictures, and one for dark pages; text in a line's colour has enough
    contrast to be read.
    """
    has_percentiles = "5–95 %" in chart.caption or not chart.caption
    return {
        "name": chart.name,
        "title": chart.title,
        "description": describe(chart),
        "xLabel": chart.x_label,
        "yLabel": chart.y_label,
        "xLog": chart.x_log,
        "yLog": chart.y_log,
        "xTicks": None if chart.x_ticks is None else [_rounded(value) for value in chart.x_ticks],
        "xRange": [_rounded(value) for value in x_limits(chart)],
        "yRange": [_rounded(value) for value in y_limits(chart)],
        "isCropped": chart.y_range is not None,
        "rows": list(chart.rows),
        "middle": "mean" if has_percentiles or "mean" in chart.caption.lower() else "value",
        "range": "5–95 %" if has_percentiles else "range",
        "marks": [{"at": _rounded(mark.at), "label": mark.label, "axis": mark.axis} for mark in chart.marks],
        "lines": [_line_data(line, style) for line, style in zip(chart.lines, styles_of(chart), strict=True)],
    }


def describe(chart: Chart) -> str:
    """Describe the chart in words, for screen readers."""
    names = ", ".join(line.label for line in chart.lines if line.label)
    about = f"{chart.title}. " if chart.title else ""
    axes = (
        f"{chart.y_label} against {chart.x_label}" if not chart.rows else f"{chart.y_label} of {', '.join(chart.rows)}"
    )
    return f"Chart. {about}{axes}{f': {names}' if names else ''}. Arrow keys show values, plus and minus zoom."


def _line_data(line: Line, style: Style) -> dict[str, Any]:
    has_range = line.low is not None and line.high is not None
    return {
        "label": line.label,
        "kind": line.kind,
        "x": _numbers(line.x),
        "y": _numbers(line.y),
        "low": _numbers(line.low) if has_range else None,
        "high": _numbers(line.high) if has_range else None,
        "dash": style.dash,
        "marker": None if line.kind == "reference" else style.marker,
        "hollow": line.hollow,
        "strong": line.strong,
        "light": {"stroke": style.colour, "text": readable(style.colour, PAPER["light"])},
        "dark": {"stroke": style.dark, "text": readable(style.dark, PAPER["dark"])},
    }


def _numbers(values: Numbers | None) -> list[float | None]:
    return [] if values is None else [_rounded(float(value)) for value in values]


def _rounded(value: float) -> float | None:
    if not isfinite(value):
        return None
    number = float(f"{value:.7g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def readable(colour: str, background: str) -> str:
    """Return the colour, or the nearest darker or lighter one in which text on that background can be read.

    >>> readable("#000000", "#ffffff"), readable("#e69f00", "#ffffff")
    ('#000000', '#996a00')
    """
    hue, lightness, saturation = rgb_to_hls(*_channels(colour))
    step = -0.01 if luminance(background) > 0.5 else 0.01
    while contrast(colour, background) < MIN_CONTRAST:
        lightness += step
        red, green, blue = (round(255 * channel) for channel in hls_to_rgb(hue, lightness, saturation))
        colour = f"#{red:02x}{green:02x}{blue:02x}"
    return colour


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2).

    >>> round(contrast("#ffffff", "#000000"), 6)
    21.0
    """
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, from 0 to 1 (WCAG 2)."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue

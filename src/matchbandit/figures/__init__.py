"""Typed data in, pictures and pages out. What is drawn is a `Chart`; matplotlib is imported when something is drawn."""

from importlib import import_module
from typing import Any

from matchbandit.figures.chart import Chart, Line, Mark
from matchbandit.figures.picture import draw, draw_to
from matchbandit.figures.style import Style, style_of, styles_of

__all__ = ["Chart", "Line", "Mark", "Style", "draw", "draw_to", "style_of", "styles_of"]


def __getattr__(name: str) -> Any:
    """Former names, until the paper's figures are charts."""
    if name == "DRAWINGS":
        rooms = [import_module(f"matchbandit.figures.{room}") for room in ("pair_selection", "matching_selection")]
        return {**rooms[0].DRAWINGS, **rooms[1].DRAWINGS}
    if name == "draw_bounds":
        return import_module("matchbandit.figures.bounds").draw_bounds
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

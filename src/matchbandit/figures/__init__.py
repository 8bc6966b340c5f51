"""Rows into pictures and a page. Nothing here knows how the rows were made."""

from matchbandit.figures import beyond
from matchbandit.figures.drawing import draw
from matchbandit.figures.pair_selection import DRAWINGS

__all__ = ["DRAWINGS", "beyond", "draw"]

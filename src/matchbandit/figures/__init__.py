"""Rows into pictures and a page. Nothing here knows how the rows were made."""

from matchbandit.figures import beyond
from matchbandit.figures.drawing import draw
from matchbandit.figures.matching_selection import DRAWINGS as MATCHING_DRAWINGS
from matchbandit.figures.pair_selection import DRAWINGS as PAIR_DRAWINGS

DRAWINGS = {**PAIR_DRAWINGS, **MATCHING_DRAWINGS}

__all__ = ["DRAWINGS", "beyond", "draw"]

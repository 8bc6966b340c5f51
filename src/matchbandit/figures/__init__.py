"""Numbers into pictures and a page; matplotlib is imported when something is drawn."""

from matchbandit.figures import beyond
from matchbandit.figures.bounds import draw_bounds
from matchbandit.figures.drawing import draw
from matchbandit.figures.matching_selection import DRAWINGS as MATCHING_DRAWINGS
from matchbandit.figures.pair_selection import DRAWINGS as PAIR_DRAWINGS

DRAWINGS = {**PAIR_DRAWINGS, **MATCHING_DRAWINGS}

__all__ = ["DRAWINGS", "beyond", "draw", "draw_bounds"]

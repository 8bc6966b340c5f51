"""Rows into pictures and a page. Nothing here knows how the rows were made."""

from matchbandit.figures.pair_selection import draw

__all__ = ["draw"]

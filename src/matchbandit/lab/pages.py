"""Pages of charts and tables: one HTML file that needs no network, under a strict content-security policy."""

from dataclasses import dataclass
from typing import Literal

Tone = Literal["good", "part", "bad", "plain"]


@dataclass(frozen=True)
class Badge:
    """A verdict in a cell: a word with a sign, so that it does not depend on colour alone."""

    text: str
    tone: Tone = "plain"


Cell = str | Badge


@dataclass(frozen=True)
class Table:
    """Text and numbers in rows; the first cell of a row is its head."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    group_by: str = ""
    """The head of a column whose equal neighbours form a group of rows, with a headline of its own."""

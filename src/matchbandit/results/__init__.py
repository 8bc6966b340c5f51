"""Rows of numbers, in memory, on disk and back."""

from typing import TYPE_CHECKING, Any

from matchbandit.results.about import About
from matchbandit.results.comparison import Comparison, Standing, concat
from matchbandit.results.files import (
    details_file,
    load,
    load_identification,
    load_runs,
    read_rows,
    results_file,
    writable_file,
)
from matchbandit.results.identification import Identification
from matchbandit.results.rows import Curve, Row, Rows, rows_of
from matchbandit.results.runs import Played, PlayedEdges, Runs, Split

if TYPE_CHECKING:
    from matchbandit.results.plotting import plot as plot

Found = Identification
"""The name until version 0.3; it goes with the next one."""
load_found = load_identification

__all__ = [
    "About",
    "Comparison",
    "Curve",
    "Found",
    "Identification",
    "Played",
    "PlayedEdges",
    "Row",
    "Rows",
    "Runs",
    "Split",
    "Standing",
    "concat",
    "details_file",
    "load",
    "load_found",
    "load_identification",
    "load_runs",
    "read_rows",
    "results_file",
    "rows_of",
    "writable_file",
]


def __getattr__(name: str) -> Any:
    if name == "plot":  # figures are not needed for numbers
        from matchbandit.results.plotting import plot  # noqa: PLC0415

        return plot
    raise AttributeError(f"module 'matchbandit.results' has no attribute {name!r}")

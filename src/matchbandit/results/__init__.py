"""Rows of numbers, in memory, on disk and back."""

from matchbandit.results.about import RunInfo
from matchbandit.results.comparison import Comparison, Standing, concat
from matchbandit.results.files import (
    details_file,
    load,
    load_identification,
    load_runs,
    results_file,
    writable_file,
)
from matchbandit.results.identification import Identification
from matchbandit.results.plotting import plot
from matchbandit.results.rows import Curve, Rows
from matchbandit.results.runs import Played, PlayedEdges, Runs, Split

Found = Identification
"""The name until version 0.3; it goes with the next one."""
load_found = load_identification

__all__ = [
    "Comparison",
    "Curve",
    "Found",
    "Identification",
    "Played",
    "PlayedEdges",
    "Rows",
    "RunInfo",
    "Runs",
    "Split",
    "Standing",
    "concat",
    "details_file",
    "load",
    "load_found",
    "load_identification",
    "load_runs",
    "plot",
    "results_file",
    "writable_file",
]

"""Results of simulations and identifications: in memory, as tables, on disk, as charts."""

from matchbandit.results.comparison import Comparison, Standing, concat
from matchbandit.results.files import details_file, load, load_runs, results_file, writable_file
from matchbandit.results.plotting import plot
from matchbandit.results.result import Identification, Played, PlayedEdges, Runs, Split
from matchbandit.results.rows import Curve, Rows
from matchbandit.results.run_info import RunInfo

__all__ = [
    "Comparison",
    "Curve",
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
    "load_runs",
    "plot",
    "results_file",
    "writable_file",
]

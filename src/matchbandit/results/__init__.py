"""Results of simulations and identifications: in memory, as tables, on disk, as charts."""

from matchbandit.results.comparison import Comparison, Standing, concat
from matchbandit.results.files import details_file, load, results_file
from matchbandit.results.plotting import plot
from matchbandit.results.result import Identification, Played, PlayedEdges, Runs, Split
from matchbandit.results.rows import Curve, Rows
from matchbandit.results.run_info import RunInfo
from matchbandit.results.statistics import PairedDifference, Summary, paired_difference, summarize

__all__ = [
    "Comparison",
    "Curve",
    "Identification",
    "PairedDifference",
    "Played",
    "PlayedEdges",
    "Rows",
    "RunInfo",
    "Runs",
    "Split",
    "Standing",
    "Summary",
    "concat",
    "details_file",
    "load",
    "paired_difference",
    "plot",
    "results_file",
    "summarize",
]

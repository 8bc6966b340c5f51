"""The built-in studies: what each consists of, and where it is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from matchbandit.figures import Chart
from matchbandit.results import Rows
from matchbandit.studies.claims import Claim
from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.study import Study

FILES = (
    "over_time",
    "over_gap",
    "over_u1",
    "over_n",
    "over_mu",
    "practical",
    "windows",
    "growth",
    "identification",
    "comparison",
    "evaluations",
    "click_models",
)
"""The modules of this package that have an `ENTRY`, in the order in which their figures are drawn."""


def rows_in(folder: StudyFolder) -> Rows:
    """All rows of a study, as they are stored."""
    return folder.rows()


@dataclass(frozen=True)
class Entry:
    """A study of ours: what is played, what its rows say, how they are drawn. One file, and one line in `registry`."""

    name: str
    figures: tuple[str, ...]
    """The names of its charts."""
    studies: Callable[[int | None], tuple[Study, ...]]
    """The studies to play, with this number of runs per point, or each with its default."""
    claims: Callable[[Rows], list[Claim]]
    """What the rows of all its studies say, each claim with the figure that shows it."""
    charts: Callable[[Rows], tuple[Chart, ...]]
    rows: Callable[[StudyFolder], Rows] = rows_in
    """The rows that claims and charts are made of."""
    beside: tuple[str, ...] = ()
    """Studies that are shown beside, and that no verdict rests on: they may have fewer runs than a verdict needs."""
    is_default: bool = True
    """Is it played when no figure is named? Not if it takes several minutes."""
    is_of_paper: bool = False
    """Are its figures the paper's? Then the time is compared with that of the authors' code."""


@cache
def entries() -> dict[str, Entry]:
    """The studies by name."""
    all_entries: list[Entry] = [import_module(f"matchbandit.studies.{file}").ENTRY for file in FILES]
    return {entry.name: entry for entry in all_entries}


def figures() -> dict[str, Entry]:
    """The figures by name, each with the study that draws it.

    >>> figures()["fig1-bottom"].name
    'over-gap'
    """
    return {figure: entry for entry in entries().values() for figure in entry.figures}

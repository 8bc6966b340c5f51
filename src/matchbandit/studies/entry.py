"""What a built-in study consists of."""

from collections.abc import Callable
from dataclasses import dataclass

from matchbandit.figures import Chart
from matchbandit.results import Rows
from matchbandit.studies.claims import Claim
from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.study import Study


def rows_in(folder: StudyFolder) -> Rows:
    """All rows of a study, as they are kept."""
    return folder.rows()


@dataclass(frozen=True)
class Entry:
    """A study of ours: what is played, what its rows say, how they are drawn. One file, and one line in `registry`."""

    name: str
    figures: tuple[str, ...]
    """The names of its charts."""
    studies: Callable[[int | None], tuple[Study, ...]]
    """What is played, with so many runs a point, or with its own number; made when it is needed."""
    claims: Callable[[Rows], list[Claim]]
    """What the rows of all its studies say, each claim with the figure that shows it."""
    charts: Callable[[Rows], tuple[Chart, ...]]
    rows: Callable[[StudyFolder], Rows] = rows_in
    """The rows that claims and charts are made of."""
    beside: tuple[str, ...] = ()
    """Studies that are shown beside, and that no verdict rests on: they may have fewer runs than a verdict needs."""
    is_of_paper: bool = False
    """Are its figures the paper's? Then the time is compared with that of the authors' code."""

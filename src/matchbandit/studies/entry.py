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
    """A study of ours: what is played, what its rows say, and how they are drawn. One file each, one line in `registry`."""

    name: str
    figures: tuple[str, ...]
    """The names of its charts."""
    studies: Callable[[], tuple[Study, ...]]
    """What is played, each with the runs that it has unless told otherwise; made when it is needed."""
    claims: Callable[[Rows], list[Claim]]
    """What the rows of all its studies say, each claim with the figure that shows it."""
    charts: Callable[[Rows], tuple[Chart, ...]]
    rows: Callable[[StudyFolder], Rows] = rows_in
    """The rows that claims and charts are made of."""

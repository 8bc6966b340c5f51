"""`matchbandit reproduce`: the paper's figures and claims, and further figures."""

from typing import Annotated

import typer

from matchbandit.cli.completion import FIGURES, OTHER_CHARTS, PAPER_CHARTS, complete_from
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import Seed, Workers, integer
from matchbandit.cli.run import stopped
from matchbandit.formatting import duration
from matchbandit.progress import bar

NAMES = f"Of the paper: {', '.join(PAPER_CHARTS)}. Further ones: {', '.join(OTHER_CHARTS)}."
GROUPS = f"Several at once: {', '.join(FIGURES)}. By default all but click-models, which takes minutes."
COMPLETE = complete_from((*PAPER_CHARTS, *OTHER_CHARTS, *FIGURES))
RUNS = "Runs per point; by default 100 for the paper's figures, 20 for the others."
FOLDER = "Folder for figures, page and finished parts; a seed other than 0 has a separate folder within, such as seed-1."
Figure = Annotated[list[str] | None, typer.Argument(metavar="[FIGURE]...", help=f"{NAMES} {GROUPS}", show_default=False, autocompletion=COMPLETE)]


@prints_output
def reproduce(
    figure: Figure = None,
    runs: Annotated[int | None, typer.Option(help=RUNS, show_default=False, **integer("--runs"))] = None,
    out: Annotated[str, typer.Option(metavar="DIR", help=FOLDER)] = "reproduction",
    seed: Seed = 0,
    workers: Workers = None,
) -> Output:
    """Draw the paper's figures and check its claims.

    The published numbers are drawn over ours.
    """

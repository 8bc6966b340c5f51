"""`matchbandit reproduce`: the paper's figures and claims, and further figures."""

from typing import Annotated

import typer

from matchbandit.cli.completion import OTHER_FIGURES, PAPER_FIGURES, STUDIES, complete_from
from matchbandit.cli.interruption import exit_if_stopped
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import Seed, Workers, argument, integer, optional
from matchbandit.progress import bar

NAMES = f"Of the paper: {', '.join(PAPER_FIGURES)}. Further ones: {', '.join(OTHER_FIGURES)}. Or all of a study: "
DEFAULT = f"{', '.join(STUDIES)}. By default all but click-models, which takes minutes."
COMPLETE = complete_from((*PAPER_FIGURES, *OTHER_FIGURES, *STUDIES))
RUNS = "Runs per point; by default 100 for the paper's figures, 20 for the others."
FOLDER = (
    "Folder for figures, page and finished parts; a seed other than 0 has a separate folder within, such as seed-1."
)


@prints_output
def reproduce(
    figure: Annotated[list[str] | None, argument("[FIGURE]...", NAMES + DEFAULT, autocompletion=COMPLETE)] = None,
    runs: Annotated[int | None, optional(RUNS, integer("--runs"))] = None,
    out: Annotated[str, typer.Option(metavar="DIR", help=FOLDER)] = "reproduction",
    seed: Seed = 0,
    workers: Workers = None,
) -> Output:
    """Draw the paper's figures and check its claims.

    The published numbers are drawn over ours.
    """
    from matchbandit.lab.paper.reproduce import reproduce as reproduce_figures

    stopped = f"stopped; finished parts are in {out}. The same command continues from there."
    with exit_if_stopped(stopped), bar("reproducing") as advance:

        def show(text: str, done: int, total: int) -> None:
            if not done:  # how long it will take
                typer.echo(text, err=True)
            advance(text, done, total)

        made = reproduce_figures(figure or (), runs=runs, seed=seed, out=out, workers=workers, progress=show)
    data = made.describe()
    lines = "\n  ".join(["\npictures:", *data["pictures"]]) + f"\n{made.times_text}\npage:\n  {made.page}"

    def print_text() -> None:
        print_table([*data["claims"][0]], [[*claim.values()] for claim in data["claims"]])
        typer.echo(lines)

    return Output(data, print_text)

"""`matchbandit reproduce`: the paper's figures and claims, and further figures."""

from typing import Annotated

import typer

from matchbandit.cli.completion import OTHER_FIGURES, PAPER_FIGURES, STUDIES, complete_from
from matchbandit.cli.interruption import exit_if_stopped
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import Seed, Workers, argument, integer, optional
from matchbandit.progress import bar

COMPLETE = complete_from((*PAPER_FIGURES, *OTHER_FIGURES, *STUDIES))
FIGURES = f"Of the paper: {', '.join(PAPER_FIGURES)}. Further ones: {', '.join(OTHER_FIGURES)}. Or all of a study: "
FIGURES += f"{', '.join(STUDIES)}. By default all but click-models, which takes minutes."
RUNS = "Runs per point; by default 100 for the paper's figures, 20 for the others."
OUT = "Folder for figures, page and finished parts; a seed other than 0 has a separate folder within, such as seed-1."


@prints_output
def reproduce(
    figure: Annotated[list[str] | None, argument("[FIGURE]...", FIGURES, autocompletion=COMPLETE)] = None,
    runs: Annotated[int | None, optional(RUNS, integer("--runs"))] = None,
    out: Annotated[str, typer.Option(metavar="DIR", help=OUT)] = "reproduction",
    seed: Seed = 0,
    workers: Workers = None,
) -> Output:
    """Draw the paper's figures and check its claims.

    The published numbers are drawn over ours.
    """
    from matchbandit.lab.paper import reproduce as paper

    stopped = f"stopped; finished parts are in {out}. The same command continues from there."
    with exit_if_stopped(stopped), bar("reproducing") as advance:

        def show(text: str, done: int, total: int) -> None:
            if not done:  # how long it will take
                typer.echo(text, err=True)
            advance(text, done, total)

        made = paper.reproduce(figure or (), runs=runs, seed=seed, out=out, workers=workers, progress=show)

    def print_text() -> None:
        claims = made.describe()["claims"]
        print_table([*claims[0]], [[*claim.values()] for claim in claims])
        pictures = "".join(f"\n  {picture}" for picture in made.pictures)
        typer.echo(f"\npictures:{pictures}\n{made.times_text}\npage:\n  {made.page}")

    return Output(made.describe(), print_text)

"""`matchbandit reproduce`: the paper's figures and claims, and further studies."""

import signal
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.completion import OTHER_FIGURES, PAPER_FIGURES, STUDIES, complete_from
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import Seed, Workers, integer
from matchbandit.cli.run import AllowOtherVersions, stoppable
from matchbandit.progress import bar

if TYPE_CHECKING:
    from matchbandit.studies.reproduce import Reproduction


@prints_output
def reproduce(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...",
            help=f"Of the paper: {', '.join(PAPER_FIGURES)}. Further ones: {', '.join(OTHER_FIGURES)}. "
            f"Or all of a study: {', '.join(STUDIES)}. By default all but click-models, which takes minutes.",
            show_default=False,
            autocompletion=complete_from((*PAPER_FIGURES, *OTHER_FIGURES, *STUDIES)),
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Runs per point; by default 100 for the paper's figures, 20 for the others.",
            show_default=False,
            **integer("--runs"),
        ),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Folder for figures, page and finished parts; a seed other than 0 has a separate folder within, "
            "such as seed-1.",
        ),
    ] = "reproduction",
    seed: Seed = 0,
    workers: Workers = None,
    allow_other_versions: AllowOtherVersions = False,
) -> Output:
    """Draw the paper's figures and check its claims.

    The published numbers are drawn over ours.
    """
    from dataclasses import asdict

    from matchbandit.studies import reproduce as run_studies

    stopped_by = [signal.SIGINT]
    try:
        with stoppable(stopped_by), bar("reproducing") as advance:
            result = run_studies(
                figure or (),
                runs=runs,
                seed=seed,
                out=out,
                workers=workers,
                progress=advance,
                allow_other_versions=allow_other_versions,
            )
    except KeyboardInterrupt:
        typer.echo(f"stopped; finished parts are in {out}. The same command continues from there.", err=True)
        raise typer.Exit(128 + stopped_by[-1]) from None
    data = {
        "claims": [asdict(claim) for claim in result.claims],
        "pictures": [str(picture) for picture in result.pictures],
        "page": str(result.page),
        "seconds": result.seconds,
        "authors_seconds": result.authors_seconds,
    }
    return Output(data, lambda: _print(result))


def _print(result: "Reproduction") -> None:
    from matchbandit.formatting import duration

    heads = ("where", "claim", "measured", "threshold", "verdict")
    print_table(heads, [tuple(getattr(claim, head) for head in heads) for claim in result.claims])
    typer.echo("\npictures:")
    for picture in result.pictures:
        typer.echo(f"  {picture}")
    seconds = f"computed in {duration(result.seconds)} of one core"
    if result.authors_seconds:
        authors = duration(result.authors_seconds)
        seconds += f"; the authors' code would take {authors} for the paper's figures among these"
    typer.echo(seconds)
    typer.echo(f"page:\n  {result.page}")

"""`matchbandit reproduce`: the paper's figures and claims, and ours beyond it."""

import json
import signal
from typing import Annotated

import typer

from matchbandit.cli.options import Json, Seed, Workers, table
from matchbandit.cli.parsing import whole, whole_if
from matchbandit.cli.run import stoppable
from matchbandit.progress import bar


def reproduce(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            help="Of the paper: fig1-top, fig1-bottom, delta-ratio, u1-regret, u1-ratio, fig2, fig2-scaled, fig3-top, "
            "fig3-bottom; beyond it: practical, windows, growth, click-models, identification, "
            "comparison, evaluations; or a study, such as over-gap. By default all.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option(help="Runs a point; by default 100 for the paper's figures, 20 beyond.", show_default=False),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            help="The folder for pictures and page, and for the parts of each study, which are kept; "
            "all of another seed than 0 goes into a folder of its own within, such as seed-1."
        ),
    ] = "reproduction",
    seed: Seed = "0",
    workers: Workers = None,
    allow_other_versions: Annotated[
        bool, typer.Option("--allow-other-versions", help="Go on with parts that other versions have made.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Draw the paper's figures and judge its claims.

    The published numbers are laid over.
    """
    from dataclasses import asdict

    from matchbandit.formatting import duration
    from matchbandit.studies import reproduce as redo

    stopped_by = [signal.SIGINT]
    try:
        with stoppable(stopped_by), bar("reproducing") as advance:
            made = redo(
                figure or (),
                runs=whole_if("--runs", runs),
                seed=whole("--seed", seed),
                out=out,
                workers=whole_if("--workers", workers),
                progress=advance,
                allow_other_versions=allow_other_versions,
            )
    except KeyboardInterrupt:
        typer.echo(f"stopped; finished parts are kept in {out}, the same command goes on from there.", err=True)
        raise typer.Exit(128 + stopped_by[-1]) from None
    if as_json:
        told = {"claims": [asdict(claim) for claim in made.claims], "pictures": [str(p) for p in made.pictures]}
        told |= {"page": str(made.page), "seconds": made.seconds, "authors_seconds": made.authors_seconds}
        typer.echo(json.dumps(told))
        return
    heads = ("where", "claim", "measured", "threshold", "verdict")
    table(heads, [tuple(getattr(claim, head) for head in heads) for claim in made.claims])
    typer.echo("\npictures:")
    for picture in made.pictures:
        typer.echo(f"  {picture}")
    typer.echo(f"computed in {duration(made.seconds)} of one core", nl=not made.authors_seconds)
    if made.authors_seconds:
        typer.echo(
            f"; the authors' code would take {duration(made.authors_seconds)} for the paper's figures among these"
        )
    typer.echo(f"page:\n  {made.page}")

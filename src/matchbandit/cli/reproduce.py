"""`matchbandit reproduce`: the paper's figures and claims."""

import json
from typing import Annotated

import typer

from matchbandit.cli.options import Json, Seed, Workers, table
from matchbandit.cli.parsing import whole, whole_if
from matchbandit.progress import bar


def reproduce(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            help="fig1-top, fig1-bottom, u1-regret, u1-ratio, delta-ratio, fig2, fig3-top, fig3-bottom (default: "
            "these); practical, windows, growth, identification, comparison, evaluations."
        ),
    ] = None,
    runs: Annotated[str, typer.Option(help="Runs a point; those of random instances each on a fresh one.")] = "100",
    out: Annotated[
        str,
        typer.Option(
            help="The folder for pictures and page. Runs of the paper's figures and of practical are kept there."
        ),
    ] = "reproduction",
    seed: Seed = "0",
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Draw the paper's figures with the published numbers laid over, and judge its claims."""
    from dataclasses import asdict

    from matchbandit.experiments import kept_of
    from matchbandit.experiments import reproduce as redo

    try:
        with bar("reproducing") as advance:
            made = redo(
                figure or (),
                runs=whole("--runs", runs),
                seed=whole("--seed", seed),
                out=out,
                workers=whole_if("--workers", workers),
                progress=advance,
            )
    except KeyboardInterrupt:
        typer.echo(f"stopped; {kept_of(figure or (), out)}", err=True)
        raise typer.Exit(130) from None
    if as_json:
        claims = [asdict(claim) for claim in made.claims]
        typer.echo(json.dumps({"claims": claims, "pictures": [str(p) for p in made.pictures], "page": str(made.page)}))
        return
    table(("where", "claim", "measured", "verdict"), [(c.where, c.claim, c.measured, c.verdict) for c in made.claims])
    typer.echo("\npictures:")
    for picture in made.pictures:
        typer.echo(f"  {picture}")
    typer.echo(f"page:\n  {made.page}")

"""`matchbandit report`: a study's folder as one page."""

import json
from typing import Annotated

import typer

from matchbandit.cli.options import Json


def report(
    folder: Annotated[str, typer.Argument(help="What `run` or `reproduce` has filled.", show_default=False)],
    out: Annotated[
        str | None,
        typer.Option(help="The page; by default report.html (or reproduce's index.html) there.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write charts, numbers, settings, times and versions of a study on one HTML page that needs no network."""
    from matchbandit.studies.report import report as write

    page = write(folder, out)
    typer.echo(json.dumps({"page": str(page)}) if as_json else f"page:\n  {page}")

"""`matchbandit report`: a study's folder as one page."""

import json
from pathlib import Path
from typing import Annotated

import typer

from matchbandit.cli.options import Json
from matchbandit.errors import MatchbanditError


def report(
    folder: Annotated[str, typer.Argument(help="What `run` or `reproduce` has filled.", show_default=False)],
    out: Annotated[
        str | None,
        typer.Option(
            help="The page, or a folder for it; by default report.html (or reproduce's index.html) there.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a study's charts and numbers on one HTML page.

    Settings, times and versions are there as well. The page needs no network.
    """
    _refuse_no_study(Path(folder))
    from matchbandit.studies.report import report as write

    page = write(folder, out)
    typer.echo(json.dumps({"page": str(page)}) if as_json else f"page:\n  {page}")


def _refuse_no_study(folder: Path) -> None:
    """Refuse what holds no study, before anything heavy is imported."""
    if not folder.is_dir():
        raise MatchbanditError(f"there is no folder {str(folder)!r}. matchbandit run study.toml --out makes one.")
    if not (folder / "manifest.json").exists() and not any(folder.glob("*/manifest.json")):
        raise MatchbanditError(
            f"{str(folder)!r} is not the folder of a study: it has no manifest.json. "
            f"Give the folder that matchbandit run or reproduce has filled."
        )

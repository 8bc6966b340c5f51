"""`matchbandit report`: a study's folder as one page."""

from pathlib import Path
from typing import Annotated

import typer

from matchbandit.cli.output import Output, prints_output
from matchbandit.errors import MatchbanditError


@prints_output
def report(
    folder: Annotated[str, typer.Argument(help="The folder that `run` or `reproduce` wrote.", show_default=False)],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The page, or a folder for it; by default report.html in the folder.",
            show_default=False,
        ),
    ] = None,
) -> Output:
    """Write the charts and numbers of a study on one HTML page.

    It also has settings, times and versions, and works offline.
    """
    _refuse_other_folder(Path(folder))
    from matchbandit.studies.report import report as write

    page = write(folder, out)
    return Output({"page": str(page)}, f"page:\n  {page}")


def _refuse_other_folder(folder: Path) -> None:
    """Refuse a folder without a study, before anything heavy is imported."""
    if not folder.is_dir():
        raise MatchbanditError(f"there is no folder {str(folder)!r}. `matchbandit run STUDY.toml` creates one.")
    if not (folder / "manifest.json").exists() and not any(folder.glob("*/manifest.json")):
        raise MatchbanditError(
            f"{str(folder)!r} is not the folder of a study: it has no manifest.json. "
            f"Give the folder that matchbandit run or reproduce wrote."
        )

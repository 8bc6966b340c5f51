"""`matchbandit report`: the folder of a study as one page."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from matchbandit.cli.output import Output, prints_output
from matchbandit.errors import MatchbanditError


@prints_output
def report(
    folder: Annotated[str, Argument(help="The folder that `run` wrote.", show_default=False)],
    out: Annotated[str, Option(metavar="FILE", help="The page; by default report.html in the folder.")] = "",
    x: Annotated[str, Option(metavar="NAME", help="What is swept along the x axis, or round.")] = "",
    plot: Annotated[str, Option(metavar="FILE", help="Also save the first chart: .png, .pdf or .svg.")] = "",
) -> Output:
    """Write the charts and results of a study on one page.

    It also has settings, times and versions, and works offline.
    """
    if not Path(folder, "study.json").is_file():  # said before anything heavy is imported
        raise MatchbanditError(
            f"{folder!r} is not the folder of a study: it has no study.json. `matchbandit run STUDY.toml` creates one."
        )
    from matchbandit.lab.studies.report import report as write
    from matchbandit.lab.studies.report import save_chart

    files = {"page": write(folder, out or None, x=x or None)}
    files |= {"plot": save_chart(folder, plot, x=x or None)} if plot else {}
    text = "\n".join(f"{name}:\n  {path}" for name, path in files.items())
    return Output({name: str(path) for name, path in files.items()}, text)

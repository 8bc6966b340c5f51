"""`matchbandit report`: the folder of a study as one page."""

from typing import Annotated

from typer import Argument, Option

from matchbandit.cli.output import Output, prints_output


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
    from matchbandit.lab.studies import report as reports

    files = {"page": reports.report(folder, out or None, x=x or None)}
    files |= {"plot": reports.save_chart(folder, plot, x=x or None)} if plot else {}
    text = "\n".join(f"{name}:\n  {path}" for name, path in files.items())
    return Output({name: str(path) for name, path in files.items()}, text)

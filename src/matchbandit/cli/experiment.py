"""What `simulate` and `identify` share: run with progress, save the results and print them, also after Ctrl-C."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from matchbandit.cli.output import Output, format_options
from matchbandit.formatting import fixed, plural
from matchbandit.progress import bar

if TYPE_CHECKING:
    from matchbandit.results import RunInfo

STATISTICS = {"mean": "mean {}", "se": "s.e.", "p5": "5 %", "p95": "95 %"}
"""The statistics of a summary in the order of their columns, with their heads."""


def run_experiment(
    title: str,
    play: Callable[[Callable[[int, int], None]], Any],
    *,
    save: str | None,
    describe: Callable[[Any], dict[str, Any]],
    print_result: Callable[[Any], None],
) -> Output:
    """Play, with a function to report progress to; `describe` returns the data of the result, and the other prints it.

    The date is not printed, so that the same command prints the same text on any day; files have it.
    """
    from matchbandit.results import details_file, results_file
    from matchbandit.simulation import Interrupted

    if save is not None:
        results_file(save)
    exit_code = 0
    try:
        with bar(title) as advance:
            result = play(lambda done, total: advance("runs", done, total))
    except Interrupted as interrupted:
        if interrupted.finished is None:
            typer.echo("stopped before a run was finished.", err=True)
            raise typer.Exit(130) from None
        result, exit_code = interrupted.finished, 130
        typer.echo(f"stopped after {result.about.runs} of {result.about.interrupted_of} runs.", err=True)
    if save is not None:
        result.save(save)

    def print_text() -> None:
        typer.echo(_heading(result.about))
        print_result(result)
        if save is not None:
            typer.echo(f"runs saved in {save}, details in {details_file(save)}")

    about = {key: value for key, value in result.about.items() if key != "date"}
    return Output({**about, **describe(result)}, print_text, exit_code)


def statistics_of(summary: dict[str, Any], what: str) -> dict[str, str]:
    """Return the keys of the statistics in a summary, each with the head of its column."""
    return {key: head.format(what) for key, head in STATISTICS.items() if key in summary}


def format_statistic(value: float | None, decimals: int = 1) -> str:
    """Format a statistic; the standard error of a single run is None."""
    return "–" if value is None else fixed(value, decimals)


def _heading(about: "RunInfo") -> str:
    options = format_options(about.options)
    name = f"{about.policy} ({options})" if options else about.policy
    return f"{name}, {plural(about.runs, 'run')}, engine {about.engine}"

"""What `simulate` and `identify` share: play with progress, keep what came of it, print it, also after Ctrl-C."""

import json
from collections.abc import Callable
from typing import Any

import typer

from matchbandit.cli.options import as_printed, as_typed
from matchbandit.formatting import plural
from matchbandit.progress import bar


def play_and_report(
    title: str,
    play: Callable[[Callable[[int, int], None]], Any],
    *,
    save: str | None,
    data: Callable[[Any], dict[str, Any]] | None,
    report: Callable[[Any], None],
) -> None:
    """Play, given a function to report progress to; with `data` print that as JSON, else call `report`."""
    from matchbandit.results import details_file, results_file
    from matchbandit.simulation import Interrupted

    if save is not None:
        results_file(save)
    stopped = False
    try:
        with bar(title) as advance:
            result = play(lambda finished, total: advance("runs", finished, total))
    except Interrupted as interrupted:
        if interrupted.finished is None:
            typer.echo("stopped before a run was finished.", err=True)
            raise typer.Exit(130) from None
        result, stopped = interrupted.finished, True
    if save is not None:
        result.save(save)
    if data is not None:
        typer.echo(json.dumps({**as_printed(result.about), **data(result)}))
    else:
        _heading(result.about)
        report(result)
        if save is not None:
            typer.echo(f"these runs are kept in {save}, and their details in {details_file(save)}")
    if stopped:
        typer.echo(f"stopped after {result.about.runs} of {result.about.interrupted_of} runs.", err=True)
        raise typer.Exit(130)


def _heading(about: Any) -> None:
    options = ", ".join(f"{key}={as_typed(value)}" for key, value in about.options.items())
    name = f"{about.policy} ({options})" if options else about.policy
    typer.echo(f"{name}, {plural(about.runs, 'run')}, engine {about.engine}")

"""`matchbandit run`: play a study from a file."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.options import Json, Workers, table
from matchbandit.cli.parsing import whole_if
from matchbandit.formatting import plural

if TYPE_CHECKING:
    from matchbandit.studies import Study
    from matchbandit.studies.folder import StudyFolder


def run(
    study: Annotated[str, typer.Argument(help="A study file, such as gaps.toml.", show_default=False)],
    out: Annotated[
        str | None, typer.Option(help="The folder of the results; by default the study's name.", show_default=False)
    ] = None,
    workers: Workers = None,
    dask: Annotated[
        str | None, typer.Option(help="Run on dask: the address of a scheduler, tcp://host:8786, or local.")
    ] = None,
    part_runs: Annotated[
        str | None, typer.Option(help="Runs of a part, at most 2000; finished parts are kept.", show_default=False)
    ] = None,
    allow_other_versions: Annotated[
        bool, typer.Option("--allow-other-versions", help="Go on with parts that other versions have made.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Play all runs of a study file and keep them.

    The same command goes on where it was stopped.
    """
    from matchbandit.studies import Study
    from matchbandit.studies.runner import run_study

    stopped_by = [signal.SIGINT]
    try:
        with stoppable(stopped_by):
            wanted = Study.from_toml(study)
            folder = run_study(
                wanted,
                wanted.name if out is None else out,
                workers=whole_if("--workers", workers),
                dask=dask,
                progress=True,
                part_runs=whole_if("--part-runs", part_runs),
                allow_other_versions=allow_other_versions,
            )
            results = _results(wanted, folder)
    except KeyboardInterrupt as stopped:
        typer.echo(f"stopped{f': {stopped}' if str(stopped) else '.'}", err=True)
        raise typer.Exit(128 + stopped_by[-1]) from None
    if as_json:
        told = {"study": wanted.name, "folder": str(folder.path), "parts": len(folder.parts)}
        told |= {"runs": folder.runs, "seconds": folder.seconds}
        typer.echo(json.dumps({**told, "goal": wanted.goal, "results": results}))
    else:
        _report(wanted, folder, results)


@contextmanager
def stoppable(stopped_by: list[signal.Signals]) -> Iterator[None]:
    """Let TERM and HUP stop what is done as Ctrl-C does, unless they are ignored, as after nohup."""

    def stop(number: int, _frame: Any) -> None:
        stopped_by.append(signal.Signals(number))
        raise KeyboardInterrupt

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _results(study: "Study", folder: "StudyFolder") -> list[dict[str, Any]]:
    """For each point the mean, 5 % and 95 % percentile over its runs: of the regret at the end, or of the rounds."""
    import numpy as np

    told = []
    for point in study.points:
        rows = folder.last_rows_of(point.key)
        values = rows["regret" if study.goal == "regret" else "rounds"]
        low, high = np.percentile(values, [5, 95])
        entry = {"policy": point.spec.name, "label": point.label, "place": point.place, **point.describe()}
        entry |= {"runs": len(values), "mean": float(values.mean()), "p5": float(low), "p95": float(high)}
        if study.goal == "identification":
            entry |= {name: int(rows[name].sum()) for name in ("identified", "correct")}
        told.append({**entry, "settings": point.settings})
    return told


def _report(study: "Study", folder: "StudyFolder", results: list[dict[str, Any]]) -> None:
    places = ("place",) if any(entry["place"] for entry in results) else ()
    what = "mean regret" if study.goal == "regret" else "mean rounds"
    errors = ("correct",) if study.goal == "identification" else ()
    lines = [
        (
            entry["label"],
            *(entry[head] for head in places),
            _number(entry["mean"]),
            f"{_number(entry['p5'])} to {_number(entry['p95'])}",
            *(f"{entry[head]} of {entry['runs']}" for head in errors),
        )
        for entry in results
    ]
    table(("policy", *places, what, "5–95 %", *errors), lines)
    parts = plural(len(folder.parts), "part")
    typer.echo(
        f"{plural(study.runs, 'run')} each, kept in {folder.path} ({parts}, {folder.seconds:.1f} s of computing)"
    )
    typer.echo(f"next: matchbandit report {folder.path}")


def _number(value: float) -> str:
    return f"{value:,.1f}".replace(",", " ")

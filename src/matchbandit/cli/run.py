"""`matchbandit run`: run a study from a file."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.experiment import format_statistic, statistics_of
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import Workers, integer
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import duration, plural

if TYPE_CHECKING:
    from matchbandit.lab.studies.folder import StudyFolder
    from matchbandit.lab.studies.study import Study

Out = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Folder for the results; by default the study's name.", show_default=False),
]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on dask: the address of a scheduler, tcp://host:8786, or local."),
]
PartRuns = Annotated[
    int | None,
    typer.Option(
        help="Runs per part, at most 2,000; finished parts are saved.", show_default=False, **integer("--part-runs")
    ),
]


@prints_output
def run(
    study: Annotated[str, typer.Argument(help="A study file, such as gaps.toml.", show_default=False)],
    out: Out = None,
    workers: Workers = None,
    dask: Dask = None,
    part_runs: PartRuns = None,
) -> Output:
    """Run a study file and save its results.

    After an interruption, the same command continues where it stopped.
    """
    stopped_by = [signal.SIGINT]
    try:
        with stoppable(stopped_by):
            loaded = _load(study)
            path = loaded.name if out is None else out
            folder = loaded.run(path, workers=workers, dask=dask, part_runs=part_runs, progress=True)
            results, seconds = _results(folder), sum(part["seconds"] for part in folder.metadata)
    except KeyboardInterrupt as stopped:
        typer.echo(f"stopped{f': {stopped}' if str(stopped) else '.'}", err=True)
        raise typer.Exit(128 + stopped_by[-1]) from None
    data = {"study": loaded.name, "folder": str(folder.path), "runs": sum(entry["runs"] for entry in results)}
    data |= {"seconds": seconds, "goal": loaded.goal, "results": results}
    return Output(data, lambda: _print(folder, results, seconds))


def _load(path: str) -> "Study":
    """Read the study; each mistake is a line of its own."""
    from matchbandit.lab.studies.study import Study

    try:
        return Study.from_toml(path)
    except MatchbanditError as error:
        *lines, last = str(error).split("\n")
        for line in lines:
            typer.echo(f"error: {line}", err=True)
        raise type(error)(last) from error.__cause__


@contextmanager
def stoppable(stopped_by: list[signal.Signals]) -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt the block as Ctrl-C does, unless they are ignored, as after nohup."""

    def stop(number: int, _frame: Any) -> None:
        stopped_by.append(signal.Signals(number))
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _results(folder: "StudyFolder") -> list[dict[str, Any]]:
    """Summarize the final regret, or the rounds, of each point over its runs."""
    from matchbandit.results import summarize

    results = []
    by_point = {values["point"]: rows for values, rows in folder.runs().split("point")}
    for point in folder.study.points:
        rows = by_point[point.key]
        values = rows["regret" if "regret" in rows else "rounds"]
        entry = {"policy": point.policy["name"], "label": point.label, "position": point.position, "point": point.key}
        entry |= {"sweep": point.sweep, "runs": len(rows), **summarize(values)._asdict()}
        results.append(entry | {name: int(rows[name].sum()) for name in ("identified", "correct") if name in rows})
    return results


def _print(folder: "StudyFolder", results: list[dict[str, Any]], seconds: float) -> None:
    goal = folder.study.goal
    statistics = statistics_of(results[0], goal if goal == "regret" else "rounds")
    extra = [*(["position"] if any(entry["position"] for entry in results) else [])]
    counts = [name for name in ("correct",) if name in results[0]]
    rows = [
        (
            *(entry[name] for name in ("label", *extra)),
            *(format_statistic(entry[key]) for key in statistics),
            *(f"{entry[name]} of {entry['runs']}" for name in counts),
        )
        for entry in results
    ]
    right = (*statistics.values(), *counts)
    print_table(("policy", *extra, *right), rows, right=right)
    typer.echo(f"{plural(folder.study.runs, 'run')} each, saved in {folder.path} ({duration(seconds)} of computing)")
    typer.echo(f"next: matchbandit report {folder.path}")

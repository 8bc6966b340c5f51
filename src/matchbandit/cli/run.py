"""`matchbandit run`: run a study from a file."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.experiment import format_statistic, statistics_of
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import Workers, integer
from matchbandit.formatting import duration, plural

if TYPE_CHECKING:
    from matchbandit.studies import Study
    from matchbandit.studies.folder import StudyFolder

AllowOtherVersions = Annotated[
    bool, typer.Option("--allow-other-versions", help="Continue with parts that other versions computed.")
]


@prints_output
def run(
    study: Annotated[str, typer.Argument(help="A study file, such as gaps.toml.", show_default=False)],
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder for the results; by default the study's name.", show_default=False),
    ] = None,
    workers: Workers = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on dask: the address of a scheduler, tcp://host:8786, or local."),
    ] = None,
    part_runs: Annotated[
        int | None,
        typer.Option(
            help="Runs per part, at most 2,000; finished parts are saved.",
            show_default=False,
            **integer("--part-runs"),
        ),
    ] = None,
    allow_other_versions: AllowOtherVersions = False,
) -> Output:
    """Run a study file and save its results.

    After an interruption, the same command continues where it stopped.
    """
    from matchbandit.studies import Study
    from matchbandit.studies.runner import run_study

    stopped_by = [signal.SIGINT]
    try:
        with stoppable(stopped_by):
            loaded = Study.from_toml(study)
            folder = run_study(
                loaded,
                loaded.name if out is None else out,
                workers=workers,
                dask=dask,
                progress=True,
                part_runs=part_runs,
                allow_other_versions=allow_other_versions,
            )
            results = _results(loaded, folder)
    except KeyboardInterrupt as stopped:
        typer.echo(f"stopped{f': {stopped}' if str(stopped) else '.'}", err=True)
        raise typer.Exit(128 + stopped_by[-1]) from None
    data = {
        "study": loaded.name,
        "folder": str(folder.path),
        "parts": len(folder.parts),
        "runs": folder.runs,
        "seconds": folder.seconds,
        "goal": loaded.goal,
        "results": results,
    }
    return Output(data, lambda: _print(loaded, folder, results))


@contextmanager
def stoppable(stopped_by: list[signal.Signals]) -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt the block as Ctrl-C does, unless they are ignored, as after nohup."""

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
    """Summarize the final regret, or the rounds, of each point over its runs."""
    from matchbandit.results.statistics import summarize

    results = []
    for point in study.points:
        rows = folder.last_rows_of(point.key)
        values = rows["regret" if study.goal == "regret" else "rounds"]
        entry = {"policy": point.spec.name, "label": point.label, "point": point.place, **point.describe()}
        entry |= {"runs": len(values), **summarize(values)._asdict()}
        if study.goal == "identification":
            entry |= {name: int(rows[name].sum()) for name in ("identified", "correct")}
        results.append({**entry, "settings": point.settings})
    return results


def _print(study: "Study", folder: "StudyFolder", results: list[dict[str, Any]]) -> None:
    has_points = any(entry["point"] for entry in results)
    statistics = statistics_of(results[0], study.goal if study.goal == "regret" else "rounds")
    counts = ("correct",) if study.goal == "identification" else ()
    rows = [
        (
            entry["label"],
            *([entry["point"]] if has_points else []),
            *(format_statistic(entry[key]) for key in statistics),
            *(f"{entry[head]} of {entry['runs']}" for head in counts),
        )
        for entry in results
    ]
    heads = ("policy", *(["point"] if has_points else []))
    print_table((*heads, *statistics.values(), *counts), rows, right=(*statistics.values(), *counts))
    parts = plural(len(folder.parts), "part")
    typer.echo(
        f"{plural(study.runs, 'run')} each, saved in {folder.path} ({parts}, {duration(folder.seconds)} of computing)"
    )
    typer.echo(f"next: matchbandit report {folder.path}")

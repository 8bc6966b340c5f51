"""`matchbandit run`: run a study from a file."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.experiment import format_statistic, statistics_of
from matchbandit.cli.interruption import exit_if_stopped
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import Workers, integer, optional
from matchbandit.formatting import duration, plural

if TYPE_CHECKING:
    from matchbandit.lab.studies.folder import StudyFolder

OUT = "Folder for the results; by default the study's name."
DASK = "Run on dask: the address of a scheduler, tcp://host:8786, or local."
PART_RUNS = "Runs per part, at most 2,000; finished parts are saved."


@prints_output
def run(
    study: Annotated[str, typer.Argument(help="A study file, such as gaps.toml.", show_default=False)],
    out: Annotated[str | None, typer.Option(metavar="DIR", help=OUT, show_default=False)] = None,
    workers: Workers = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help=DASK)] = None,
    part_runs: Annotated[int | None, optional(PART_RUNS, integer("--part-runs"))] = None,
) -> Output:
    """Run a study file and save its results.

    After an interruption, the same command continues where it stopped.
    """
    from matchbandit.lab.studies.study import Study

    with exit_if_stopped():
        loaded = Study.from_toml(study)
        path = loaded.name if out is None else out
        folder = loaded.run(path, workers=workers, dask=dask, part_runs=part_runs, progress=True)
        results, seconds = _results(folder), sum(part["seconds"] for part in folder.metadata)
    data = {"study": loaded.name, "folder": str(folder.path), "runs": sum(entry["runs"] for entry in results)}
    data |= {"seconds": seconds, "goal": loaded.goal, "results": results}
    return Output(data, lambda: _print(folder, results, seconds))


def _results(folder: "StudyFolder") -> list[dict[str, Any]]:
    """Summarize the final regret, or the rounds, of each point over its runs."""
    from matchbandit.results import summarize

    results = []
    by_point = {values["point"]: rows for values, rows in folder.runs().split("point")}
    for point in folder.study.points:
        rows = by_point[point.key]
        entry = {"policy": point.policy["name"], "label": point.label, "position": point.position, "point": point.key}
        entry |= {"sweep": point.sweep, "runs": len(rows)}
        entry |= summarize(rows["regret" if "regret" in rows else "rounds"])._asdict()
        results.append(entry | {name: int(rows[name].sum()) for name in ("identified", "correct") if name in rows})
    return results


def _print(folder: "StudyFolder", results: list[dict[str, Any]], seconds: float) -> None:
    goal = folder.study.goal
    statistics = statistics_of(results[0], goal if goal == "regret" else "rounds")
    names = ["label", *(["position"] if any(entry["position"] for entry in results) else [])]
    counts = [name for name in ("correct",) if name in results[0]]
    rows = [
        [entry[name] for name in names]
        + [format_statistic(entry[key]) for key in statistics]
        + [f"{entry[name]} of {entry['runs']}" for name in counts]
        for entry in results
    ]
    right = (*statistics.values(), *counts)
    print_table(("policy", *names[1:], *right), rows, right=right)
    typer.echo(f"{plural(folder.study.runs, 'run')} each, saved in {folder.path} ({duration(seconds)} of computing)")
    typer.echo(f"next: matchbandit report {folder.path}")

"""Calls of the product for studies: their rows, the claims about them, and what their charts show."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matchbandit as mb
from contract.adapter.vocabulary import REWARDS, error_name
from matchbandit.lab.paper.figures import FIGURES
from matchbandit.lab.replay import propose as propose_next
from matchbandit.lab.studies.charts import charts_of
from matchbandit.lab.tables import RunTable
from matchbandit.placement import bounds_chart, placement_of

VERDICTS = {"holds": "holds", "partly holds": "holds in part", "does not hold": "fails", "not judged": "not judged"}
COLUMNS = {"drift_step": "drift.step"}
"""Names of columns that 1.0.0 wrote in another way."""
DEPTHS = {"u": 1, "v": 1, "means": 2, "clusters": 2, "best": 1}
"""How deeply lists of a setting are nested that is no sweep; numbers and texts have none."""
ENDS = ("horizon", "delta", "epsilon", "budget")


def study_of(settings: dict[str, Any]) -> Any:
    """The study that these settings describe, in which a list in place of a single value is a sweep."""
    problems = settings["problem"] if isinstance(settings["problem"], list) else [settings["problem"]]
    policies = [{"name": each} if isinstance(each, str) else each for each in settings["policies"]]
    swept = {}
    for policy in policies:
        swept |= {f"{policy['name']}.{option}": values for option, values in _sweeps(policy)}
    for problem in problems:
        swept |= dict(_sweeps(problem)) | {
            f"drift.{name}": values for name, values in _sweeps(problem.get("drift", {}))
        }
    swept |= {name: settings[name] for name in ENDS if isinstance(settings.get(name), list)}
    fixed = {name: value for name, value in settings.items() if name not in swept}
    problems = [_without_sweeps(problem) for problem in problems]
    return mb.Study(
        **{
            **fixed,
            "problem": problems if len(problems) > 1 else problems[0],
            "policies": [_without_sweeps(policy) for policy in policies],
            "sweep": swept,
        }
    )


def _sweeps(table: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The settings of a problem or a policy of which there are several values."""
    for name, value in table.items():
        if _nesting(value) > DEPTHS.get(name, 0):
            yield name, value


def _nesting(value: Any) -> int:
    return 1 + max(map(_nesting, value), default=0) if isinstance(value, list) else 0


def _without_sweeps(table: dict[str, Any]) -> dict[str, Any]:
    swept = dict(_sweeps(table))
    return {
        name: _without_sweeps(value) if isinstance(value, dict) else value
        for name, value in table.items()
        if name not in swept
    }


def by_label(labels: Iterable[str]) -> list[int]:
    """Numbers of rows or points in the order of 1.0.0: all problems of a policy with its options, then of the next."""
    labels = list(labels)
    order = {label: at for at, label in enumerate(dict.fromkeys(labels))}
    return sorted(range(len(labels)), key=lambda at: order[labels[at]])


def columns_of(runs: RunTable, names: list[str]) -> Any:
    """These columns of a table of runs, with a row for each checkpoint if there are any."""
    rows = runs.over_rounds() if "regrets" in runs else runs
    rows = rows.select(by_label(rows["label"]))
    return {name: rows[COLUMNS.get(name, name)] for name in names}


def runs_of(tables: list[list[dict[str, Any]]]) -> RunTable:
    """A table of runs: in each group, the runs at each place along an axis, and what is the same for all of them."""
    return RunTable.concat([_runs_in(group) for table in tables for group in table])


def _runs_in(group: dict[str, Any]) -> RunTable:
    constant = dict(group["constant"])
    options = json.loads(constant.pop("options", "{}"))
    policy = constant["policy"]
    constant |= {f"{policy}.{name}": value for name, value in options.items()}
    constant["label"] = ", ".join([policy, *(f"{name} = {value}" for name, value in options.items())])
    at, values = group["at"], group["runs"]
    runs = range(len(next(iter(values.values()))[0]))
    if group["axis"] == "round":
        curves = [[each[run] for each in values["regret"]] for run in runs]
        rows = [{"run": run, "rounds": at, "regrets": curve, "regret": curve[-1]} for run, curve in enumerate(curves)]
    else:
        checkpoint = [constant.pop("round")] if "round" in constant else []
        rows = [
            {
                group["axis"]: place,
                "run": run,
                **{name: each[k][run] for name, each in values.items()},
                **({"rounds": checkpoint, "regrets": [values["regret"][k][run]]} if checkpoint else {}),
            }
            for k, place in enumerate(at)
            for run in runs
        ]
    return RunTable({name: [row[name] for row in rows] for name in rows[0]}).with_columns(constant)


def claims_of(figure: Any, runs: RunTable) -> Any:
    """The claims of a figure, each with the chart that shows it and its verdict, however few runs there are."""
    return [verdict_of(claim, verdict) for claim, verdict in figure.judge(runs).items()]


def verdict_of(claim: Any, verdict: Any) -> Any:
    """The chart that shows a claim, and its verdict as a code."""
    return {"figure": claim.chart, "verdict": VERDICTS[verdict.outcome]}


def charts_of_figure(figure: Any, runs: RunTable) -> Any:
    """What the charts of a figure show."""
    return {chart.name: chart_of(chart) for chart in figure.charts(runs)}


def chart_of(chart: Any) -> Any:
    """The numbers that a chart shows, and on which axes."""
    return {
        "logarithmic": [chart.x_log, chart.y_log],
        "rows": chart.categories,
        "marks": [rule.at for rule in chart.rules],
        "lines": [series_of(series) for series in chart.series],
    }


def series_of(series: Any) -> Any:
    """The numbers of a curve, or of the points, of a chart."""
    return {name: getattr(series, name) for name in ("key", "kind", "x", "y", "low", "high")}


def figure(entry: str, studies: list[dict[str, Any]], columns: dict[str, list[str]]) -> Any:
    """The rows of a figure's studies at these settings, the claims about them, and its charts."""
    figure = FIGURES[entry]
    with TemporaryDirectory() as folder:
        tables = {each["name"]: study_of(each).run(Path(folder, each["name"]), workers=1).runs() for each in studies}
        tables = {name: figure.prepare(runs) for name, runs in tables.items()}
        runs = RunTable.concat(tables.values())
        return {
            "rows": {name: columns_of(table, columns[name]) for name, table in tables.items()},
            "claims": claims_of(figure, runs),
            "charts": charts_of_figure(figure, runs),
        }


def figure_points(entry: str, policies: list[str]) -> Any:
    """What a figure plays by default, as far as it is of these policies."""
    figure = FIGURES[entry]
    studies = {}
    for study in figure.studies():
        points = [study.points[at] for at in by_label(point.label for point in study.points)]
        points = [point for point in points if point.policy["name"] in policies]
        problems = [point.build()[0].describe() for point in points]
        studies[study.name] = {
            "runs": study.runs,
            "seed": study.seed,
            "stop": study.stop,
            "checkpoints": study.checkpoints,
            "points": [[point.policy["name"], point.sweep, point.horizon, point.delta] for point in points],
            "problems": [*{str(problem): problem for problem in problems}.values()],
        }
    return {
        "figures": figure.chart_names,
        "is_default": figure.is_default,
        "is_of_paper": figure.is_of_paper,
        "studies": studies,
    }


def verdicts(entry: str, tables: list[list[dict[str, Any]]]) -> Any:
    """The claims of a figure about these rows, and its charts of them."""
    figure, runs = FIGURES[entry], runs_of(tables)
    return {"claims": claims_of(figure, runs), "charts": charts_of_figure(figure, runs)}


def judgements(entry: str, series: dict[str, list[list[dict[str, Any]]]]) -> Any:
    """The verdicts on the claims of a figure about each of these rows."""
    return {
        label: [claim["verdict"] for claim in claims_of(FIGURES[entry], runs_of(tables))]
        for label, tables in series.items()
    }


def reproduce(figures: list[str], runs: int, seed: int) -> Any:
    """The claims, charts and pictures of whole figures."""
    with TemporaryDirectory() as folder:
        reproduction = mb.reproduce(figures, runs=runs, seed=seed, out=folder, workers=1)
        return {
            "claims": [verdict_of(claim, verdict) for claim, verdict in reproduction.verdicts.items()],
            "charts": {chart.name: chart_of(chart) for chart in reproduction.charts},
            "pictures": [picture.name for picture in reproduction.pictures if picture.is_file()],
            "page": reproduction.page.is_file(),
        }


def study(study: dict[str, Any], columns: list[str], part_runs: int) -> Any:
    """The rows of a study that was interrupted after one run of each point, and its charts."""
    settings = study_of(study)
    names = {new: old for old, new in COLUMNS.items()}
    sweeps: dict[str, list[Any]] = {}
    for point in settings.points:
        for name, value in point.sweep.items():
            values = sweeps.setdefault(names.get(name, name), [])
            if value not in values:
                values.append(value)
    with TemporaryDirectory() as folder:
        study_of({**study, "runs": 1}).run(folder, workers=1)
        study_folder = settings.run(folder, workers=1, part_runs=part_runs)
        runs = study_folder.runs()
        charts = charts_of(settings, runs)
        return {
            "points": len(settings.points),
            "sweeps": sweeps,
            "labels": [point.label for point in settings.points],
            "rows": columns_of(runs, columns),
            "results": [result.summary() for result in study_folder.results()],
            "charts": {_old_name(chart.name): chart_of(chart) for chart in charts},
        }


def _old_name(chart: str) -> str:
    for old, new in COLUMNS.items():
        chart = chart.replace(new, old)
    return chart


def study_refusals(studies: list[dict[str, Any]]) -> Any:
    """The error's class for each of these settings, when the study is made or before it is played."""
    return [error_name(lambda settings: study_of(settings).check(), each) for each in studies]


def policy_of(policy: dict[str, Any]) -> Any:
    """The policy with its options."""
    return mb.policy(policy["name"], **{name: value for name, value in policy.items() if name != "name"})


def replay(
    log: list[list[Any]],
    rewards: dict[str, Any],
    policies: list[dict[str, Any]],
    pairs: list[list[str]],
    **options: Any,
) -> Any:
    """What a log says about policies: their rewards, differences, ranks, and what it says about products."""
    kind, *parameters = rewards.values()
    comparison = mb.replay(
        mb.PastResults.from_rows([tuple(row) for row in log]),
        [policy_of(policy) for policy in policies],
        rewards=REWARDS[kind](*parameters),
        workers=1,
        **options,
    )
    return {
        "labels": comparison.labels,
        "rounds": comparison.horizon,
        "selection": comparison.selection,
        "product": comparison.product,
        "drift": comparison.drift,
        "frequencies": comparison.frequencies,
        "summary": comparison.summary(),
        "differences": [comparison.difference(*pair)._asdict() for pair in pairs],
        "charts": {what: chart_of(comparison.chart(what)) for what in ("differences", "rewards", "rounds")},
    }


def propose(log: list[list[Any]], rewards: dict[str, Any], policy: dict[str, Any], **options: Any) -> Any:
    """What a policy would propose after a log."""
    kind, *parameters = rewards.values()
    proposal = propose_next(
        mb.PastResults.from_rows([tuple(row) for row in log]),
        policy_of(policy),
        rewards=REWARDS[kind](*parameters),
        **options,
    )
    return {
        "pairs": proposal.pairs,
        "best": proposal.best,
        "shares": [[*pair, share] for pair, share in proposal.shares.items()],
        "seen": [[*pair, *seen] for pair, seen in proposal.seen.items()],
    }


def placement(
    strengths: dict[str, list[float]],
    rewards: dict[str, Any],
    policies: list[dict[str, Any]],
    goal: dict[str, Any],
    settings: dict[str, Any],
) -> Any:
    """Measurements of policies on one problem, and the bounds around them."""
    kind, *parameters = rewards.values()
    problem_class = mb.Bipartite if "v" in strengths else mb.Monopartite
    problem = problem_class(**strengths, rewards=REWARDS[kind](*parameters))
    if "horizon" in goal:
        results = [mb.simulate(problem, policy_of(each), **goal, **settings) for each in policies]
    else:
        results = [mb.identify(problem, policy_of(each), **goal, **settings) for each in policies]
    bounds = mb.bounds(problem, **goal)
    placements = [placement_of(result, bounds).describe() for result in results]
    sources = ("lower_source", "upper_source")
    chart = bounds_chart(problem, results, **goal)
    return {
        "placements": [{name: value for name, value in each.items() if name not in sources} for each in placements],
        "chart": {name: value for name, value in chart_of(chart).items() if name != "lines"},
        "measured": [series_of(line) for line in chart.series if line.kind == "line"],
        "bounds": [series_of(line) for line in chart.series if line.kind != "line"],
    }


KINDS: dict[str, Any] = {
    "replay": replay,
    "propose": propose,
    "placement": placement,
    "figure": figure,
    "figure-points": figure_points,
    "verdicts": verdicts,
    "judgements": judgements,
    "reproduce": reproduce,
    "study": study,
    "study-refusals": study_refusals,
}

"""Calls of the product for studies: their rows, the claims about them, and what their charts show."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import matchbandit as mb
from contract.adapter.vocabulary import REWARDS, error_name
from matchbandit.placement import bounds_chart, placement_of
from matchbandit.studies import propose as propose_next
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS
from matchbandit.studies.registry import entries

VERDICTS = {HOLDS: "holds", PARTLY_HOLDS: "holds in part", FAILS: "fails"}


def study_of(study: dict[str, Any]) -> Any:
    """The study that these settings describe."""
    return mb.Study(**study)


def columns_of(rows: Any, names: list[str]) -> Any:
    """These columns of a table of rows; those of options have the policy's name before them."""
    return {
        name: rows.with_option(name.split(".")[1])[name.split(".")[1]] if "." in name else rows[name] for name in names
    }


def rows_of(groups: list[dict[str, Any]]) -> Any:
    """A table of rows: in each group, the runs at each place along an axis, and what is the same for all of them."""
    rows = [
        {
            **group["constant"],
            group["axis"]: place,
            "run": run,
            **{name: values[at][run] for name, values in group["runs"].items()},
        }
        for group in groups
        for at, place in enumerate(group["at"])
        for run in range(len(next(iter(group["runs"].values()))[at]))
    ]
    return mb.Rows.from_table(pa.Table.from_pylist(rows))


def claim_of(claim: Any) -> Any:
    """The figure that shows a claim, and its verdict as a code."""
    return {"figure": claim.where, "verdict": VERDICTS.get(claim.verdict, "not judged")}


def chart_of(chart: Any) -> Any:
    """The numbers that a chart shows, and on which axes."""
    return {
        "logarithmic": [chart.x_log, chart.y_log],
        "rows": chart.rows,
        "marks": [mark.at for mark in chart.marks],
        "lines": [line_of(line) for line in chart.lines],
    }


def line_of(line: Any) -> Any:
    """The numbers of a line of a chart."""
    return {name: getattr(line, name) for name in ("key", "kind", "x", "y", "low", "high")}


def figure(entry: str, studies: list[dict[str, Any]], columns: dict[str, list[str]]) -> Any:
    """The rows of a figure's studies at these settings, the claims about them, and its charts."""
    study_entry = entries()[entry]
    with TemporaryDirectory() as folder:
        tables = {
            study["name"]: study_entry.rows(study_of(study).run(Path(folder, study["name"]), workers=1))
            for study in studies
        }
        rows = mb.Rows.together([*tables.values()])
        return {
            "rows": {name: columns_of(table, columns[name]) for name, table in tables.items()},
            "claims": [claim_of(claim) for claim in study_entry.claims(rows)],
            "charts": {chart.name: chart_of(chart) for chart in study_entry.charts(rows)},
        }


def figure_points(entry: str, policies: list[str]) -> Any:
    """What a figure plays by default, as far as it is of these policies."""
    study_entry = entries()[entry]
    studies = {}
    for study in study_entry.studies(None):
        points = [point for point in study.points if point.spec.name in policies]
        studies[study.name] = {
            "runs": study.runs,
            "seed": study.seed,
            "stop": study.stop,
            "checkpoints": study.checkpoints,
            "points": [[point.spec.name, point.settings, point.horizon, point.delta] for point in points],
            "problems": [*{str(problem): problem for problem in (p.problem.describe() for p in points)}.values()],
        }
    return {
        "figures": study_entry.figures,
        "is_default": study_entry.is_default,
        "is_of_paper": study_entry.is_of_paper,
        "studies": studies,
    }


def verdicts(entry: str, tables: list[list[dict[str, Any]]]) -> Any:
    """The claims of a figure about these rows, and its charts of them."""
    study_entry = entries()[entry]
    rows = mb.Rows.together([rows_of(table) for table in tables])
    return {
        "claims": [claim_of(claim) for claim in study_entry.claims(rows)],
        "charts": {chart.name: chart_of(chart) for chart in study_entry.charts(rows)},
    }


def judgements(entry: str, series: dict[str, list[list[dict[str, Any]]]]) -> Any:
    """The verdicts on the claims of a figure about each of these rows."""
    study_entry = entries()[entry]
    return {
        label: [claim_of(claim)["verdict"] for claim in study_entry.claims(mb.Rows.together([*map(rows_of, tables)]))]
        for label, tables in series.items()
    }


def reproduce(figures: list[str], runs: int, seed: int) -> Any:
    """The claims, charts and pictures of whole figures."""
    with TemporaryDirectory() as folder:
        reproduction = mb.reproduce(figures, runs=runs, seed=seed, out=folder, workers=1)
        return {
            "claims": [claim_of(claim) for claim in reproduction.claims],
            "charts": {chart.name: chart_of(chart) for chart in reproduction.charts},
            "pictures": [picture.name for picture in reproduction.pictures if picture.is_file()],
            "page": reproduction.page.is_file(),
        }


def study(study: dict[str, Any], columns: list[str], part_runs: int) -> Any:
    """The rows of a study that was interrupted after one run of each point, and its charts."""
    settings = study_of(study)
    with TemporaryDirectory() as folder:
        study_of({**study, "runs": 1}).run(folder, workers=1)
        study_folder = settings.run(folder, workers=1, part_runs=part_runs)
        rows = study_folder.rows()
        results = study_folder.results()
        return {
            "points": len(settings.points),
            "sweeps": settings.sweeps,
            "labels": [point.label for point in settings.points],
            "rows": columns_of(rows, columns),
            "results": [result.summary() for result in results],
            "charts": {chart.name: chart_of(chart) for chart in settings.charts(rows)},
        }


def study_refusals(studies: list[dict[str, Any]]) -> Any:
    """The error's class for each of these settings."""
    return [error_name(study_of, each) for each in studies]


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
        "measured": [line_of(line) for line in chart.lines if line.kind == "line"],
        "bounds": [line_of(line) for line in chart.lines if line.kind != "line"],
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

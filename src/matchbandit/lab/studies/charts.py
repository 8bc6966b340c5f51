"""The charts of a study: over what is swept, over the rounds, or by policy."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from matchbandit.errors import unknown
from matchbandit.figures.chart import Chart
from matchbandit.formatting import grouped, plural
from matchbandit.lab.studies.study import Point, Study, value_text
from matchbandit.lab.tables import RunTable
from matchbandit.policies.capabilities import Goal
from matchbandit.results.plotting import CORRECT_SHARE, answers_remark, build_chart, is_wide, policy_line
from matchbandit.results.proofs import unmet_assumption

MIN_CHECKPOINTS = 5
"""Checkpoints that make a curve over the rounds."""
MIN_OPTION_VALUES = 3
"""An option with as many values gets an axis; the values of others are lines."""
MAX_TICKS = 12
MAX_VARIANTS_PER_COLOUR = 3
"""Variants of a policy that share its colour; more get a colour each."""
UNNAMED = ("family", "problem", "task", "rewards")
SIGNS = {"delta": "δ", "epsilon": "ε"}
X_LABELS = {"horizon": "horizon T", "delta": "1/δ", "epsilon": "ε", "budget": "budget, in rounds"}
OVER = {"round": "over the rounds", "horizon": "over the horizon", "budget": "over the budget", "policy": "by policy"}
Y_LABELS = {"regret": "regret", "rounds": "rounds until the answer", "correct": CORRECT_SHARE}


@dataclass(frozen=True)
class Panel:
    """The runs of one chart, what is along its x axis, and the settings that are fixed in it but vary in the study."""

    study: Study
    runs: RunTable
    x: str
    fixed: Mapping[str, Any]


def charts_of(study: Study, runs: RunTable, x: str | None = None) -> tuple[Chart, ...]:
    """Build the charts of a study: a line for each policy with its options, over what is swept, or over the rounds.

    Parameters
    ----------
    study : Study
    runs : RunTable
        Its runs, as `StudyFolder.runs` returns them.
    x : str, optional
        What is swept along the x axis, or "round"; by default the numbers with the most values, and one more chart
        shows the curves over the rounds at the middle of them. Other sweeps give further charts, and so do policies
        that play, or seek, pairs and those that play matchings.

    Returns
    -------
    tuple of Chart
    """
    panels = swept_panels(study, runs, x)
    curves = round_panels(panels[:1]) if x is None else []
    return build_charts([*panels, *curves[len(curves) // 2 :][:1]])


def swept_panels(study: Study, runs: RunTable, x: str | None = None) -> list[Panel]:
    """Split the runs into those of each chart over what is swept; over the rounds or by policy where nothing is."""
    positions, options = sweep_keys(study)
    known: dict[str, None] = {}
    panels = []
    for problem, of_problem in runs.split(*(["problem"] if "problem" in positions else [])):
        tasks = list(of_problem.split("task"))
        for task, part in tasks:
            values = {
                key: [value for value in part.distinct(key) if value is not None] for key in (*positions, *options)
            }
            sizes = {key: len(each) for key, each in values.items() if len(each) > 1 and all(map(_is_number, each))}
            has_curves = "regrets" in part and max(map(len, part["rounds"])) > 1
            wide = [key for key in positions if key in sizes]
            wide = wide or [key for key in options if sizes.get(key, 0) >= MIN_OPTION_VALUES]
            axis = x or max(wide, key=sizes.__getitem__, default="round" if has_curves else "policy")
            known |= dict.fromkeys([*sizes, *(["round"] if has_curves else [])])
            if x is None or x in sizes or (x == "round" and has_curves):
                fixed = problem | (task if len(tasks) > 1 else {})
                others = [key for key in positions if key not in ("problem", axis) and len(values[key]) > 1]
                panels += [Panel(study, one, axis, fixed | more) for more, one in part.split(*others)]
    if not panels:
        raise unknown("x", x or "", known)
    return panels


def round_panels(panels: Iterable[Panel]) -> list[Panel]:
    """Split the runs of charts into those at each value along the axis, where checkpoints are enough for curves."""
    return [
        Panel(panel.study, part, "round", {**panel.fixed, panel.x: at})
        for panel in panels
        if panel.x in sweep_keys(panel.study)[0] and "regrets" in panel.runs
        for at, part in sorted((values[panel.x], part) for values, part in panel.runs.split(panel.x))
        if max(map(len, part["rounds"])) >= MIN_CHECKPOINTS
    ]


def build_charts(panels: Iterable[Panel]) -> tuple[Chart, ...]:
    """Build the chart of each panel; no two have the same name."""
    charts = [_chart(panel) for panel in panels]
    names = [chart.name for chart in charts]
    numbers = [f"-{names[:at].count(name) + 1}" if names.count(name) > 1 else "" for at, name in enumerate(names)]
    return tuple(replace(chart, name=chart.name + number) for chart, number in zip(charts, numbers, strict=True))


def sweep_keys(study: Study) -> tuple[list[str], list[str]]:
    """Return what varies in a study: settings and parameters of the problem, and options such as "pair-elim.growth"."""
    policies = {table["name"] for table in study.policies}
    keys = dict.fromkeys(key for point in study.points for key in point.sweep)
    options = [key for key in keys if key.rpartition(".")[0] in policies]
    return [key for key in keys if key not in options], options


def measured_column(study: Study) -> str:
    """Return what ranks policies; with a fixed budget whether answers are correct, for all take equally long."""
    point = study.points[0]
    return "regret" if point.horizon is not None else "rounds" if point.budget is None else "correct"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Format settings for titles and captions: `spiked, gap = 0.5, δ = 0.05`."""
    names = {key: f"{SIGNS.get(key, key)} = " for key in settings} | {key: "" for key in UNNAMED}
    return ", ".join(f"{names[key]}{value_text(value)}" for key, value in settings.items())


def _is_at(point: Point, fixed: Mapping[str, Any]) -> bool:
    """Whether a point has these values of what varies; lists are tuples in tables."""
    values = {key: (point.sweep.get(key), value) for key, value in fixed.items() if key != "task"}
    return all(np.array_equal(a, b) if isinstance(a, list) else a == b for a, b in values.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _chart(panel: Panel) -> Chart:
    """Build one chart: a line for each policy with its options."""
    study, x, column = panel.study, panel.x, measured_column(panel.study)
    goal: Goal = "regret" if column == "regret" else "identification"
    point = next(point for point in study.points if _is_at(point, panel.fixed))
    options = [key for key in sweep_keys(study)[1] if key != x]
    variants = {_label(values): runs for values, runs in panel.runs.split("policy", *options)}
    policies = [runs["policy"][0] for runs in variants.values()]
    lines = []
    for at, (label, policy) in enumerate(zip(variants, policies, strict=True)):
        kind, *numbers = _numbers(panel, column, variants[label])
        numbers = [np.array([float(at)]), *numbers[1:]] if x == "policy" else numbers
        key = policy if policies.count(policy) <= MAX_VARIANTS_PER_COLOUR else label
        lines.append(policy_line(label, policy, *numbers, goal=goal, key=key, kind=kind, problem=_described(point)))
    positions = np.unique(np.concatenate([line.x for line in lines]))
    x_log = x in ("round", "delta") or (x != "policy" and is_wide(positions))
    whose = f" of {lines[0].label}" if len(lines) == 1 and x != "policy" else ""  # one line has no name beside it
    title = f"{study.name}: {Y_LABELS[column]}{whose} {OVER.get(x, f'over {X_LABELS.get(x, x)}')}"
    return build_chart(
        lines,
        name=re.sub(r"[^\w.-]+", "-", f"{study.name}-over-{x}"),
        title=", ".join([title, *filter(None, [settings_text(panel.fixed)])]),
        x_label=X_LABELS.get(x, x),
        goal=goal,
        description=_description(panel, point, variants.values()),
        remarks=_remarks(panel, point, variants),
        y_label=Y_LABELS[column],
        y_log=False if column == "correct" else None,
        x_log=x_log,
        x_ticks=tuple(positions.tolist()) if x != "policy" and not x_log and len(positions) <= MAX_TICKS else None,
        categories=tuple(variants) if x == "policy" else (),
    )


def _label(values: Mapping[str, Any]) -> str:
    """Return a policy's name and those of its options that vary: `pair-elim, growth = 4`."""
    options = {key.rpartition(".")[2]: value for key, value in values.items() if key != "policy" and value is not None}
    return ", ".join([values["policy"], *(f"{key} = {value_text(value)}" for key, value in options.items())])


def _numbers(panel: Panel, column: str, runs: RunTable) -> tuple[Any, ...]:
    """Return kind, x, mean, 5 and 95 % of the runs of a policy; a level where it has nothing along the axis."""
    if panel.x == "round":
        regrets = np.stack(list(runs["regrets"]))
        x, y, (low, high) = np.array(runs["rounds"][0]), regrets.mean(axis=0), np.percentile(regrets, (5, 95), axis=0)
    else:
        x, y, _, low, high, _ = runs.curve(panel.x, y=column)
    if not len(x):
        return "reference", panel.runs.curve(panel.x, y=column).x[[0, -1]], np.full(2, runs[column].mean())
    if panel.x == "delta":  # the smaller δ, the harder: that is to the right
        x, y, low, high = 1 / x[::-1], y[::-1], low[::-1], high[::-1]
    has_band = column != "correct" and (panel.x == "policy" or len(panel.runs.distinct("run")) > 1)
    x = x if panel.x == "policy" else x.astype(np.float64)
    return "points" if panel.x == "policy" else "line", x, y, *((low, high) if has_band else ())


def _description(panel: Panel, point: Point, parts: Iterable[RunTable]) -> str:
    """Describe the instance, what is played, the runs and the seed."""
    settings = {**point.problem, **{f"drift.{key}": value for key, value in point.problem.get("drift", {}).items()}}
    settings |= {key: getattr(point, key) for key in ("horizon", "delta", "epsilon", "budget")}
    settings["rewards"] = f"{settings.pop('rewards', 'bernoulli')} rewards"
    omitted = (panel.x, "drift", *(key for key, value in settings.items() if value is None or value is False))
    known = settings_text({key: value for key, value in settings.items() if key not in omitted})
    counts = [len(one) for part in parts for _, one in part.split(*([panel.x] if panel.x in panel.runs else []))]
    fewest = f"{grouped(min(counts))} to " if min(counts) < max(counts) else ""
    return f"{known}; {panel.runs['task'][0]}; {fewest}{plural(max(counts), 'run')}, seed {point.seed}"


def _described(point: Point) -> dict[str, Any]:
    """Return the means of a problem as its `describe()` gives them; empty where they are products by definition."""
    problem = point.problem
    return {"matrix": problem["means"], "players": problem.get("players", False)} if "means" in problem else {}


def _remarks(panel: Panel, point: Point, variants: Mapping[str, RunTable]) -> Iterator[str]:
    """Say how many answers were wrong or missing, what does not hold, and where other policies are."""
    if "identified" in panel.runs:
        answers = {label: (runs["identified"], runs["correct"]) for label, runs in variants.items()}
        counts = {label: (sum(there & ~right), sum(~there), len(there)) for label, (there, right) in answers.items()}
        yield answers_remark(counts)
    unmet = unmet_assumption((runs["policy"][0], _described(point)) for runs in variants.values())
    yield f"{unmet[:1].upper()}{unmet[1:]}." if unmet else ""
    if "task" in panel.fixed:
        yield f"Policies that {'seek' if 'identified' in panel.runs else 'play'} something else are in another chart."
    if panel.study.stop:
        yield "Runs end when a cluster splits; the regret shown is the regret at that round."

"""The charts of a study: over what is swept, over the rounds, or by policy."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from matchbandit.errors import unknown
from matchbandit.figures.chart import Chart
from matchbandit.formatting import grouped, plural
from matchbandit.lab.studies.study import SYMBOLS, Point, Study, value_text
from matchbandit.lab.tables import RunTable
from matchbandit.policies.capabilities import Goal
from matchbandit.results.plotting import CORRECT_SHARE, answers_remark, build_chart, is_wide, policy_line, unmet_remark

MIN_CHECKPOINTS = 5
"""Checkpoints that make a curve over the rounds."""
MIN_OPTION_VALUES = 3
"""An option with as many values gets an axis; the values of others are lines."""
MAX_TICKS = 12
MAX_VARIANTS_PER_COLOUR = 3
"""Variants of a policy that share its colour; more get a colour each."""
SELF_EXPLAINING = ("family", "problem", "task", "rewards")
"""Settings whose values are shown without their names."""
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

    @property
    def title(self) -> str:
        """What is fixed in it."""
        return settings_text(self.fixed)

    def curves(self) -> "list[Panel]":
        """Split the runs into those at each value along the axis, where checkpoints are enough for curves."""
        if self.x not in sweep_keys(self.study)[0] or "regrets" not in self.runs:
            return []
        parts = sorted((values[self.x], part) for values, part in self.runs.split(self.x))
        enough = [(at, part) for at, part in parts if max(map(len, part["rounds"])) >= MIN_CHECKPOINTS]
        return [Panel(self.study, part, "round", {**self.fixed, self.x: at}) for at, part in enough]


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
    curves = panels[0].curves() if x is None else []
    return build_charts([*panels, *curves[len(curves) // 2 :][:1]])


def swept_panels(study: Study, runs: RunTable, x: str | None = None) -> list[Panel]:
    """Split the runs into those of each chart over what is swept; over the rounds or by policy where nothing is."""
    settings, options = sweep_keys(study)
    apart = [*(["problem"] if "problem" in settings else []), *(["task"] if len(runs.distinct("task")) > 1 else [])]
    known: dict[str, None] = {}
    panels = []
    for fixed, part in runs.split(*apart):
        sizes = {key: len(set(part.distinct(key)) - {None}) for key in (*settings, *options)}
        swept = [key for key in settings if sizes[key] > 1 and key not in apart]
        has_curves = "regrets" in part and max(map(len, part["rounds"])) > 1
        numbers = {key: size for key, size in sizes.items() if size > 1 and part[key].dtype.kind in "if"}
        wide = [key for key in swept if key in numbers]
        wide = wide or [key for key in options if numbers.get(key, 0) >= MIN_OPTION_VALUES]
        axis = x or max(wide, key=numbers.__getitem__, default="round" if has_curves else "policy")
        known |= dict.fromkeys([*numbers, *(["round"] if has_curves else [])])
        if x is None or x in numbers or (x == "round" and has_curves):
            others = [key for key in swept if key != axis]
            panels += [Panel(study, one, axis, fixed | more) for more, one in part.split(*others)]
    if not panels:
        raise unknown("x", x or "", known)
    return panels


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
    names = {key: "" if key in SELF_EXPLAINING else f"{SYMBOLS.get(key, key)} = " for key in settings}
    return ", ".join(f"{names[key]}{value_text(value)}" for key, value in settings.items())


def _chart(panel: Panel) -> Chart:
    study, x, column = panel.study, panel.x, measured_column(panel.study)
    goal: Goal = "regret" if column == "regret" else "identification"
    point = next(point for point in study.points if point.key == panel.runs["point"][0])
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
        title=", ".join([title, *filter(None, [panel.title])]),
        x_label=X_LABELS.get(x, x),
        goal=goal,
        description=_description(panel, point, variants.values()),
        remarks=_remarks(panel, point, variants),
        y_label=Y_LABELS[column],
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
    yield unmet_remark((runs["policy"][0], _described(point)) for runs in variants.values())
    if "task" in panel.fixed:
        yield f"Policies that {'seek' if 'identified' in panel.runs else 'play'} something else are in another chart."
    if panel.study.stop:
        yield "Runs end when a cluster splits; the regret shown is the regret at that round."

"""Build the charts of a study from its rows."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.figures import Chart, Line
from matchbandit.formatting import grouped, plural
from matchbandit.policies import CATALOGUE, Policy
from matchbandit.policies.capabilities import Goal
from matchbandit.results import Rows
from matchbandit.results.comparison import task_text
from matchbandit.results.plotting import CORRECT_SHARE, answers_remark, build_chart, is_wide, policy_line
from matchbandit.studies.normalize import END_KEYS
from matchbandit.studies.points import SIGNS, value_text

MIN_CHECKPOINTS = 5
"""Checkpoints that make a curve over the rounds."""
MIN_OPTION_VALUES = 3
"""An option with as many values gets an axis; the values of others are lines."""
MAX_TICKS = 12
MAX_VARIANTS_PER_COLOUR = 3
"""Variants of a policy that share its colour; more get a colour each."""
MAX_TEXT = 40
"""Letters of a value in a title or caption."""
STOP_REMARK = "Runs end when a cluster splits; the regret shown is the regret at that round."
_NOT_SETTINGS = (
    "study", "policy", "options", "run", "seed", "round", "regret", "rounds", "pairs", "identified", "correct",
)  # fmt: skip
_AXES = {"horizon": "horizon T", "delta": "1/δ", "epsilon": "ε", "budget": "budget, in rounds"}
_OVER = {
    "round": "over the rounds", "horizon": "over the horizon", "delta": "over 1/δ", "epsilon": "over ε",
    "budget": "over the budget", "policy": "by policy",
}  # fmt: skip


@dataclass(frozen=True)
class StudyCharts:
    """The charts of a study, each with the settings that are fixed in it but vary in the study."""

    over_sweep: tuple[tuple[str, Chart], ...]
    """Over what is swept; over the rounds, or by policy, where nothing is."""
    over_rounds: tuple[tuple[str, Chart], ...]
    """The curves at each value of the sweep, where there are enough checkpoints."""


@dataclass(frozen=True)
class _ChartData:
    """Rows that make one chart, the column of its x axis, and the settings that are fixed in it but vary elsewhere."""

    rows: Rows
    x: str
    fixed: Mapping[str, Any]
    is_option: bool = False

    @property
    def fixed_text(self) -> str:
        return ", ".join(_setting(key, value) for key, value in self.fixed.items() if value is not None)


@dataclass(frozen=True)
class _Variant:
    """A policy with its options, and its rows in a chart."""

    policy: str
    options: Mapping[str, Any]
    rows: Rows


def charts_of(rows: Rows, *, name: str, x: str | None = None, stop: str | None = None) -> tuple[Chart, ...]:
    """Build the charts of a study: one line for each policy with its options, over what is swept, or over the rounds.

    Parameters
    ----------
    rows : Rows
        Of the whole study.
    name : str
        Of the study.
    x : str, optional
        The column or the option of the x axis; by default the numeric sweep with the most values, and one more chart
        shows the curves over the rounds at the middle of it. Other sweeps give further charts. Policies that play
        pairs and those that play matchings, or that seek them, are in different charts.
    stop : str, optional
        Of the study: captions then say that runs end early.
    """
    data = _over_sweep(rows, name, x)
    if x is None:
        curves = list(_over_rounds(data[0]))
        data += curves[len(curves) // 2 :][:1]
    return tuple(_with_unique_names([_chart(each, name, stop) for each in data]))


def first_chart(rows: Rows, *, name: str, x: str | None = None, stop: str | None = None) -> Chart:
    """Build the first of `charts_of` alone."""
    return _chart(_over_sweep(rows, name, x)[0], name, stop)


def study_charts(rows: Rows, *, name: str, stop: str | None = None) -> StudyCharts:
    """Build the charts over what is swept, and the curves over the rounds at every point of the sweep."""
    data = _over_sweep(rows, name, None)
    curves = [curve for each in data for curve in _over_rounds(each)]
    charts = [*_with_unique_names([_chart(each, name, stop) for each in (*data, *curves)])]
    labels = [each.fixed_text or chart.title for each, chart in zip((*data, *curves), charts, strict=True)]
    options = list(zip(labels, charts, strict=True))
    return StudyCharts(tuple(options[: len(data)]), tuple(options[len(data) :]))


def _over_sweep(rows: Rows, name: str, x: str | None) -> list[_ChartData]:
    """The rows of each chart over what is swept."""
    if not len(rows):
        raise MatchbanditError(f"the study {name} has no rows yet. Run it first.")
    columns = [column for column in rows.names if column not in _NOT_SETTINGS]
    texts = [column for column in columns if not _is_numeric(rows, column)]
    numbers = [column for column in columns if column not in texts]
    if x is not None:
        x = _checked_axis(rows, x, numbers)
    data = [
        each
        for part, fixed in _split(rows, texts, {})
        for complete, missing in _by_missing(part, [column for column in numbers if column not in END_KEYS])
        for part_of_task, task in _by_task(complete)
        for each in _by_numbers(part_of_task, {**fixed, **missing, **task}, numbers, x)
    ]
    if not data:
        raise MatchbanditError(f"{x} does not vary where all else is the same. Choose another x.")
    return data


def _over_rounds(data: _ChartData) -> Iterator[_ChartData]:
    """The curves of the same policies at each value of what is swept, if there are checkpoints enough."""
    if data.is_option or data.x in ("round", "policy") or "round" not in data.rows.names:
        return
    for value in sorted(data.rows.distinct(data.x)):
        rows = data.rows.where(**{data.x: value})
        if len(rows.distinct("round")) >= MIN_CHECKPOINTS:
            yield _ChartData(rows, "round", {**data.fixed, data.x: value})


def _is_numeric(rows: Rows, column: str) -> bool:
    values = [value for value in rows.distinct(column) if value is not None]
    return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _split(rows: Rows, columns: Sequence[str], fixed: Mapping[str, Any]) -> list[tuple[Rows, dict[str, Any]]]:
    """The rows of each combination of values in these columns, with the values where there is more than one."""
    parts: list[tuple[Rows, dict[str, Any]]] = [(rows, dict(fixed))]
    for column in columns:
        split = []
        for part, known in parts:
            values = part.distinct(column)
            if len(values) == 1:
                split.append((part, known))
            else:
                split += [(part.where(**{column: value}), {**known, column: value}) for value in values]
        parts = split
    return parts


def _by_missing(rows: Rows, columns: Sequence[str]) -> list[tuple[Rows, dict[str, Any]]]:
    """The rows that have a number in these columns, and apart those of problems without it, which no axis can show."""
    parts: list[tuple[Rows, dict[str, Any]]] = [(rows, {})]
    for column in columns:
        split = []
        for part, missing in parts:
            values = part.distinct(column)
            if None not in values or len(values) == 1:
                split.append((part, missing))
                continue
            present = [part.where(**{column: value}) for value in values if value is not None]
            split += [(Rows.together(present), missing), (part.where(**{column: None}), {**missing, column: "none"})]
        parts = split
    return parts


def _by_task(rows: Rows) -> list[tuple[Rows, dict[str, Any]]]:
    """The rows of each task, and the task if there is more than one.

    Policies of which nothing is known join the others, if those have one task.
    """
    groups: dict[str | None, list[Rows]] = {}
    for policy in rows.distinct("policy"):
        mine = rows.where(policy=policy)
        for text in mine.distinct("options"):
            task = task_in(policy, text, regret="regret" in rows.names)
            groups.setdefault(task, []).append(mine.where(options=text))
    if len([task for task in groups if task is not None]) <= 1:
        return [(rows, {})]
    return [(Rows.together(parts), {"task": task}) for task, parts in groups.items()]


def task_in(policy: str, options: str, *, regret: bool) -> str | None:
    """What a policy with these options, as rows have them, plays in a round, or seeks; None if it is unknown.

    >>> task_in("uts", "{}", regret=True), task_in("pair-select", "{}", regret=False)
    ('one pair per round', 'the best matching')
    """
    kind = CATALOGUE.get(policy) or _user_policies().get(policy)
    chosen = json.loads(options).get("selection")
    if kind is not None:
        chosen = chosen or kind.capabilities.selections[0]
        chosen = chosen if regret else kind.capabilities.answers or chosen
    return None if chosen is None else task_text(chosen, regret=regret)


def _user_policies() -> dict[str, type[Policy]]:
    """User-defined policies that are imported, by name; of several with one name the last."""
    kinds = Policy.__subclasses__()
    for kind in kinds:  # it grows while it is read
        kinds += kind.__subclasses__()
    return {kind.name: kind for kind in kinds if hasattr(kind, "name") and hasattr(kind, "capabilities")}


def _by_numbers(rows: Rows, fixed: Mapping[str, Any], numbers: Sequence[str], x: str | None) -> Iterator[_ChartData]:
    """The charts of rows in which only numbers vary."""
    counts = {column: len(rows.distinct(column)) for column in numbers}
    swept = [column for column, count in counts.items() if count > 1]
    options = {} if x in numbers or x == "round" else _numeric_options(rows)
    axis = x
    if axis is None:
        widest = max(options, key=lambda option: options[option], default=None)
        if swept:
            axis = max(swept, key=lambda column: counts[column])
        elif widest is not None and options[widest] >= MIN_OPTION_VALUES:
            axis = widest
        else:
            axis = "round" if "round" in rows.names and len(rows.distinct("round")) > 1 else "policy"
    is_option = axis in options and axis not in numbers
    if x is not None and not is_option and (x not in rows.names or rows.distinct(x) == [None]):
        return  # problems of another kind have it
    rows = rows.with_option(axis) if is_option else rows
    for part, known in _split(rows, [column for column in swept if column != axis], fixed):
        yield _ChartData(part, axis, known, is_option)


def _numeric_options(rows: Rows) -> dict[str, int]:
    """The options that vary and are numbers, and how many values the policy with the most has."""
    counts: dict[str, int] = {}
    for policy in rows.distinct("policy"):
        tables = [json.loads(text) for text in rows.where(policy=policy).distinct("options")]
        for option in tables[0]:
            values = {json.dumps(table.get(option)) for table in tables}
            plain = [json.loads(value) for value in values]
            if len(values) > 1 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in plain):
                counts[option] = max(counts.get(option, 0), len(values))
    return counts


def _checked_axis(rows: Rows, x: str, numbers: Sequence[str]) -> str:
    """The column or option that is meant; `pair-elim.growth` is growth."""
    option = x.rpartition(".")[2]
    known = [*(["round"] if "round" in rows.names else []), *numbers, *_numeric_options(rows)]
    if x in known or option in known:
        return x if x in known else option
    if x in rows.names:
        raise MatchbanditError(f"x must be a sweep of numbers; {x} is not one. Use one of {', '.join(known)}.")
    raise unknown("x", x, known)


def _chart(data: _ChartData, name: str, stop: str | None) -> Chart:
    """One chart: a line for each policy with its options."""
    rows, x = data.rows, data.x
    goal: Goal = "regret" if "regret" in rows.names else "identification"
    variants = _variants(data)
    labels = _labels(variants)
    lines = [
        _line(data, variant, label, key, goal)
        for variant, label, key in zip(variants, labels, _keys(variants, labels), strict=True)
    ]
    if x == "policy":
        lines = [replace(line, x=np.array([float(at)]), kind="points") for at, line in enumerate(lines)]
    x_values = np.concatenate([line.x for line in lines])
    x_log = x in ("round", "delta") or (x != "policy" and is_wide(x_values))
    ticks = sorted(set(x_values.tolist()))
    column = _measured(rows)
    measured = {"regret": "regret", "rounds": "rounds until the answer", "correct": CORRECT_SHARE}[column]
    fixed = f", {data.fixed_text}" if data.fixed_text else ""
    whose = f" of {labels[0]}" if len(labels) == 1 and x != "policy" else ""  # one line has no name beside it
    return build_chart(
        lines,
        name=re.sub(r"[^\w.-]+", "-", f"{name}-over-{x}"),
        title=f"{name}: {measured}{whose} {_OVER.get(x, f'over {x}')}{fixed}",
        x_label=_AXES.get(x, x),
        goal=goal,
        description=_description(data, variants),
        remarks=[*_remarks(data, variants, labels, goal), *([STOP_REMARK] if stop else [])],
        y_label=measured,
        y_log=False if column == "correct" else None,
        x_log=x_log,
        x_ticks=tuple(ticks) if x != "policy" and not x_log and len(ticks) <= MAX_TICKS else None,
        rows=tuple(labels) if x == "policy" else (),
    )


def _measured(rows: Rows) -> str:
    """The column that is drawn; with a fixed budget whether answers are correct, for all take equally long."""
    if "regret" in rows.names:
        return "regret"
    return "correct" if "budget" in rows.names and None not in rows.distinct("budget") else "rounds"


def _variants(data: _ChartData) -> list[_Variant]:
    """Every policy with its options, but for the one along which the chart is drawn."""
    variants = []
    for policy in data.rows.distinct("policy"):
        mine = data.rows.where(policy=policy)
        groups: dict[str, list[Rows]] = {}
        for text in mine.distinct("options"):
            options = json.loads(text)
            if data.is_option:
                options.pop(data.x, None)
            groups.setdefault(json.dumps(options), []).append(mine.where(options=text))
        variants += [
            _Variant(policy, json.loads(text), parts[0] if len(parts) == 1 else Rows.together(parts))
            for text, parts in groups.items()
        ]
    return variants


def _labels(variants: Sequence[_Variant]) -> list[str]:
    """The name of each: its policy, and those options that tell it from others of that policy here."""
    labels = []
    for variant in variants:
        kin = [other.options for other in variants if other.policy == variant.policy]
        differ = [key for key in variant.options if any(other.get(key) != variant.options[key] for other in kin)]
        labels.append(", ".join([variant.policy, *(f"{key} = {value_text(variant.options[key])}" for key in differ)]))
    return labels


def _keys(variants: Sequence[_Variant], labels: Sequence[str]) -> list[str]:
    """Whose colour each takes: its policy's, as long as few share it."""
    policies = [variant.policy for variant in variants]
    pairs = zip(policies, labels, strict=True)
    return [policy if policies.count(policy) <= MAX_VARIANTS_PER_COLOUR else label for policy, label in pairs]


def _line(data: _ChartData, variant: _Variant, label: str, key: str, goal: Goal) -> Line:
    """Mean and 5–95 % of the runs of a policy."""
    rows, line = variant.rows, partial(policy_line, label, variant.policy, goal=goal, key=key)
    column = _measured(data.rows)
    curve = rows.curve(data.x, y=column)
    if not len(curve.x):  # it has no such option, or no ε: a level to compare with
        values = data.rows.curve(data.x).x.astype(np.float64)
        mean = float(rows.at_end()[column].mean())
        return line(values[[0, -1]], np.full(2, mean), kind="reference")
    x, y, low, high = curve.x, curve.mean, curve.p5, curve.p95
    if data.x == "policy":
        return line(np.zeros(1), y) if column == "correct" else line(np.zeros(1), y, low, high)
    x = x.astype(np.float64)
    if data.x == "delta":  # the smaller δ, the harder: that is to the right
        x, y, low, high = 1 / x[::-1], y[::-1], low[::-1], high[::-1]
    no_band = column == "correct" or len(data.rows.distinct("run")) == 1
    return line(x, y) if no_band else line(x, y, low, high)


def _description(data: _ChartData, variants: Sequence[_Variant]) -> str:
    """The instance, what is played, the runs and the seed."""
    rows, regret = data.rows, "regret" in data.rows.names
    known = [column for column in rows.names if column not in (*_NOT_SETTINGS, data.x) and column != "rewards"]
    settings = [
        _setting(column, value)
        for column in known
        for value in rows.distinct(column)[:1]
        if value not in (None, "") and not (column == "players" and not value)
    ]
    fewest, runs = _runs_per_point(data, variants)
    counted = f"{f'{grouped(fewest)} to ' if fewest < runs else ''}{plural(runs, 'run')}"
    settings.append(_setting("rewards", rows.distinct("rewards")[0]))
    tasks = {
        task_in(variant.policy, text, regret=regret)
        for variant in variants
        for text in variant.rows.distinct("options")
    }
    only_task = [task for task in tasks if task is not None and len(tasks) == 1]
    return f"{'; '.join([', '.join(settings), *only_task])}; {counted}, seed {rows.distinct('seed')[0]}"


def _remarks(data: _ChartData, variants: Sequence[_Variant], labels: Sequence[str], goal: Goal) -> Iterator[str]:
    """How many answers were wrong or missing, and where other policies are."""
    if goal == "identification":
        counts = {}
        for variant, label in zip(variants, labels, strict=True):
            identified, correct = variant.rows["identified"], variant.rows["correct"]
            counts[label] = (int((identified & ~correct).sum()), int((~identified).sum()), len(correct))
        yield answers_remark(counts)
    if "task" in data.fixed:
        yield f"Policies that {'play' if goal == 'regret' else 'seek'} something else are in another chart."


def _runs_per_point(data: _ChartData, variants: Sequence[_Variant]) -> tuple[int, int]:
    """The fewest and the most runs of a policy at a point: in an unfinished study they may differ."""
    counts = []
    for variant in variants:
        ends = variant.rows.at_end()
        points = [ends]
        if data.x not in ("round", "policy"):
            points = [ends.where(**{data.x: value}) for value in ends.distinct(data.x)]
        counts += [len(each) for each in points]
    return min(counts), max(counts)


def _setting(key: str, value: Any) -> str:
    """Format a setting; long lists are cut."""
    text = value_text(value, MAX_TEXT)
    if key == "family":
        return f"family {text}" if text else "no family"
    if key == "rewards":
        return f"{text} rewards"
    return text if key == "task" else f"{SIGNS.get(key, key)} = {text}"


def _with_unique_names(charts: Sequence[Chart]) -> Iterator[Chart]:
    """The charts, each with a file name that no other has."""
    names = [chart.name for chart in charts]
    for at, chart in enumerate(charts):
        earlier = names[:at].count(chart.name)
        yield replace(chart, name=f"{chart.name}-{earlier + 1}") if names.count(chart.name) > 1 else chart

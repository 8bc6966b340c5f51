"""Charts of results, and the builder that charts of bounds and of studies share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.figures import Chart, Series
from matchbandit.figures.chart import Dash, Kind, Numbers
from matchbandit.formatting import short
from matchbandit.policies.capabilities import Goal
from matchbandit.results.comparison import run_labels, task_of
from matchbandit.results.proofs import breaks_assumption, is_proved, unmet_assumption
from matchbandit.results.result import Identification, Result, Runs
from matchbandit.rewards import rewards_from

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE_RATIO = 30
"""Positive numbers that differ by more than this factor are drawn on a logarithmic axis."""
MAX_LINES = 12
"""Lines of a picture over the rounds or over 1/δ: the names of more would overlap."""
CORRECT_SHARE = "share of correct answers"
"""What is drawn of identifications with a fixed budget, whose rounds say nothing."""
MAX_SINGLE_RUNS = 200
"""Runs of a policy that are drawn one by one."""


def plot(
    results: Any,
    ax: "Axes | None" = None,
    *,
    title: str | None = None,
    x_log: bool | None = None,
    y_log: bool | None = None,
) -> "Axes":
    """Draw results of `simulate`, `identify` or `compare`: means with their 5–95 % range.

    Parameters
    ----------
    results : Runs, Identification, Comparison, or a list
        Runs are drawn as regret over the rounds. Identifications as rounds until the answer: a row for each policy, or,
        if a policy was asked at several δ, over 1/δ.
    ax : matplotlib.axes.Axes, optional
        By default the axes of a new figure of pyplot, with a caption.
    title : str, optional
        By default what is measured.
    x_log, y_log : bool, optional
        Logarithmic axes; by default where the numbers call for them.

    Returns
    -------
    matplotlib.axes.Axes
        `ax.figure.savefig` writes a file. `results.chart()` is the same as data, with a `save` of its own.
    """
    return chart_of(results, title=title, x_log=x_log, y_log=y_log).plot(ax)


def chart_of(
    results: Any,
    *,
    name: str = "results",
    title: str | None = None,
    x_log: bool | None = None,
    y_log: bool | None = None,
) -> Chart:
    """Return what `plot` draws, as data."""
    single = _single_results(results)
    if all(isinstance(result, Runs) for result in single):
        chart = _regret_chart([result for result in single if isinstance(result, Runs)])
    elif all(isinstance(result, Identification) for result in single):
        chart = _rounds_chart([result for result in single if isinstance(result, Identification)])
    else:
        raise MatchbanditError("regret and rounds until an answer do not share a picture. Draw two.")
    settings: dict[str, Any] = {"title": title, "x_log": x_log, "y_log": y_log}
    return replace(chart, name=name, **{key: value for key, value in settings.items() if value is not None})


def policy_line(
    label: str,
    policy: str,
    x: Numbers,
    mean: Numbers,
    low: Numbers | None = None,
    high: Numbers | None = None,
    *,
    goal: Goal,
    key: str | None = None,
    kind: Kind = "line",
    problem: Mapping[str, Any] | None = None,
) -> Series:
    """Return the line of a policy with its band, in the policy's colour; empty markers if nothing is proved of it here.

    Dashes say so too, where a problem is given, as its `describe()` gives it, that breaks the policy's assumption.
    """
    dash: Dash | None = "dashed" if problem is not None and breaks_assumption(policy, problem) else None
    is_hollow = not is_proved(policy, goal, problem)
    return Series(label, x, mean, low, high, key=key or policy, kind=kind, dash=dash, is_hollow=is_hollow)


def bound_line(label: str, x: Numbers, y: Numbers, *, explicit: bool, policy: str = "") -> Series:
    """Return the thin line of a bound: dashed if its constants are explicit, else dotted."""
    return Series(label, x, y, key=policy, kind="reference", dash="dashed" if explicit else "dotted")


def build_chart(
    lines: Sequence[Series],
    *,
    title: str,
    x_label: str,
    goal: Goal,
    description: str,
    name: str = "results",
    remarks: Iterable[str] = (),
    y_label: str | None = None,
    y_log: bool | None = None,
    **settings: Any,
) -> Chart:
    """Build a chart of regret, of rounds until the answer, or of something else that `y_label` names.

    Parameters
    ----------
    lines: sequence of Series
        As `policy_line` and `bound_line` give them.
    title, x_label: str
        Of the chart. Over x_label "round" curves begin near 0: only their ends decide on a logarithmic y axis.
    goal: {"regret", "identification"}
        What is measured.
    description: str
        The instance, the runs and the seed: the first sentence of the caption, without its full stop.
    name: str
        The file name of the chart, without a suffix.
    remarks: iterable of str
        The last sentences of the caption, after those on bands and on empty markers.
    y_label: str, optional
        By default "regret" or "rounds until the answer". Shares of correct answers have a linear axis from 0 to 1.
    y_log: bool, optional
        By default rounds are drawn on a logarithmic axis, and regret if it is wide.
    **settings
        Further fields of `Chart`.

    Returns
    -------
    Chart
    """
    over_rounds = x_label == "round"
    if y_label == CORRECT_SHARE:  # with room for markers at its ends
        y_log, settings["y_range"] = False, (-0.04, 1.04)
    if y_log is None:
        heights = np.concatenate([line.y[-1:] if over_rounds else line.y for line in lines])
        y_log = goal == "identification" or is_wide(heights[heights != 0])  # the axis marks zeros at its foot
    sentences = [f"{description}."]
    if any(line.low is not None for line in lines):
        is_points = any(line.kind == "points" for line in lines)
        sentences.append(f"{'Points: mean; bars' if is_points else 'Lines: mean; bands'}: 5–95 % of the runs.")
    if any(line.is_hollow and line.label for line in lines):
        sentences.append(f"Empty markers: no proof of its {'regret' if goal == 'regret' else 'answers'}.")
    return Chart(
        name=name,
        title=title,
        x_label=x_label,
        y_label=y_label or ("regret" if goal == "regret" else "rounds until the answer"),
        series=tuple(lines),
        caption=" ".join([*sentences, *filter(None, remarks)]),
        y_log=y_log,
        **settings,
    )


def is_wide(values: Any) -> bool:
    """Are the values positive, and so far apart that a linear axis would hide the small ones?"""
    return bool(len(values) and values.min() > 0 and values.max() > WIDE_RATIO * values.min())


def answers_remark(counts: Mapping[str, tuple[int, int, int]]) -> str:
    """Say how many answers were wrong or missing, given wrong answers, missing answers and runs by label.

    >>> answers_remark({"clucb": (1, 0, 4), "pair-elim": (0, 2, 4)})
    'Wrong answers: clucb 1 of 4. Without an answer in time: pair-elim 2 of 4.'
    """
    wrong = [f"{label} {n} of {runs}" for label, (n, _, runs) in counts.items() if n]
    missing = [f"{label} {n} of {runs}" for label, (_, n, runs) in counts.items() if n]
    remark = f"Wrong answers: {'; '.join(wrong)}." if wrong else "No answer was wrong."
    return f"{remark} Without an answer in time: {'; '.join(missing)}." if missing else remark


def unmet_remark(policies: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Say which policies assume what their problem does not have, as a sentence; empty if none does."""
    unmet = unmet_assumption(policies)
    return f"{unmet[:1].upper()}{unmet[1:]}." if unmet else ""


def _single_results(results: Any) -> list[Result]:
    """The single results, in their order."""
    if isinstance(results, Result) or not isinstance(results, Iterable) or isinstance(results, str | Mapping):
        results = [results]
    single = list(results)
    if not single:
        raise MatchbanditError("there is nothing to draw: the list of results is empty.")
    for one in single:
        if not isinstance(one, Result):
            raise MatchbanditError(f"what is drawn are results of simulate, identify or compare; got {one!r}.")
    return single


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int | float):
        return short(float(value))
    return _numbers(value) if isinstance(value, list | tuple) else str(value)


def _numbers(values: Sequence[Any]) -> str:
    """A list in short.

    >>> _numbers([0.9, 0.5, 0.1]), _numbers(list(range(12)))
    ('(0.9, 0.5, 0.1)', '(0, 1, 2, 3, …, 11)')
    """
    if any(isinstance(one, list | tuple) for one in values):
        return f"{len(values)}×{len(values[0])} numbers"
    texts = [_value(one) for one in values]
    return f"({', '.join(texts if len(texts) <= 8 else [*texts[:4], '…', texts[-1]])})"


def instance_of(problem: Mapping[str, Any]) -> str:
    """Format a described problem or family for a caption.

    >>> from matchbandit.problems import Monopartite, family
    >>> instance_of(Monopartite([0.9, 0.4]).describe())
    'u = (0.9, 0.4), bernoulli rewards'
    >>> instance_of(family("staircase", n=2, gap=0.1).describe())
    'staircase, n = 2, gap = 0.1, bernoulli rewards'
    """
    if "family" in problem:
        parts = [problem["family"], *(f"{key} = {_value(value)}" for key, value in problem["parameters"].items())]
    elif "matrix" in problem:
        rows = problem["matrix"]
        parts = [f"means of {len(rows)} players" if problem["players"] else f"{len(rows)}×{len(rows[0])} means"]
    else:
        parts = [f"{key} = {_numbers(problem[key])}" for key in ("u", "v") if key in problem]
    if "rewards" in problem:
        parts.append(f"{rewards_from(problem['rewards']).notation} rewards")
    return ", ".join(parts)


def about_runs(results: Sequence[Result]) -> str:
    """Format the instance, the number of runs and the seed for a caption."""
    instances = list(dict.fromkeys(instance_of(result.about.problem) for result in results))
    runs, seeds = sorted({len(result) for result in results}), sorted({result.about.seed for result in results})
    many = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    parts = [
        instances[0] if len(instances) == 1 else f"{len(instances)} instances",
        f"{many} run{'s' if runs[-1] > 1 else ''}",
        f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}",
    ]
    return "; ".join(parts)


def _remarks(results: Sequence[Result]) -> list[str]:
    """What keeps their numbers from being compared or believed: other questions, or an assumption that is not met."""
    labels: dict[str, list[str]] = {}
    for result, label in zip(results, run_labels([result.about for result in results]), strict=True):
        labels.setdefault(task_of(result), []).append(label)  # type: ignore[arg-type]  # there is no third kind
    tasks = "; ".join(f"{task} for {', '.join(names)}" for task, names in labels.items())
    other = f"Not the same question: {tasks}." if len(labels) > 1 else ""
    return [other, unmet_remark((result.about.policy, result.about.problem) for result in results)]


def _line(label: str, result: Result, x: Any, *bands: Numbers, goal: Goal, kind: Kind = "line") -> Series:
    """The line of a result, or of several of the same policy."""
    about = result.about
    return policy_line(label, about.policy, np.array(x, float), *bands, goal=goal, kind=kind, problem=about.problem)


def _regret_chart(results: list[Runs]) -> Chart:
    lines = []
    for result, label in zip(results, run_labels([result.about for result in results]), strict=True):
        summary = result.summary()
        mean, low, high = (np.array(summary[key]) for key in ("mean", "p5", "p95"))
        band = (low, high) if len(result) > 1 else ()
        lines.append(_line(label, result, result.rounds, mean, *band, goal="regret"))
    return build_chart(
        _few(lines),
        title=f"Regret of {lines[0].label}" if len(lines) == 1 else "Regret over the rounds",
        x_label="round",
        goal="regret",
        description=about_runs(results),
        remarks=_remarks(results),
        x_log=all(_is_geometric(line.x) for line in lines),
    )


def _few(lines: Sequence[Series]) -> Sequence[Series]:
    """The lines, refused if there are too many to read."""
    if len(lines) > MAX_LINES:
        raise MatchbanditError(
            f"a picture holds {MAX_LINES} distinguishable lines; these results make {len(lines)}. "
            f"Draw some of them, as results.select(policy=…) gives them."
        )
    return lines


def _is_geometric(x: Any) -> bool:
    """Are the checkpoints closer together at first, so that a linear axis would crowd them?"""
    return len(x) > 2 and bool(x[0] > 0 and x[len(x) // 2] < 0.25 * x[-1])


def _rounds_chart(results: list[Identification]) -> Chart:
    """Rounds over 1/δ if some policy has several; correct answers over the budget, if all have one; else rows."""
    abouts = [result.about for result in results]
    if all(about.budget is not None for about in abouts):
        return _budget_chart(results, _groups(results, "budget", [float(about.budget or 0) for about in abouts]))
    deltas = [about.options.get("delta") for about in abouts]
    if None not in deltas:
        groups = _groups(results, "delta", [1 / float(delta or 1) for delta in deltas])
        if any(len({x for x, _ in group}) > 1 for group in groups.values()):
            return _delta_chart(results, groups)
    return _category_chart(results)


Groups = dict[str, list[tuple[float, Identification]]]
"""By label: the results of a policy that differ in one setting, and where they are along x, from left to right."""


def _groups(results: Sequence[Identification], setting: str, positions: Sequence[float]) -> Groups:
    groups: Groups = {}
    labels = run_labels([result.about for result in results], omit=setting)
    for label, x, result in sorted(zip(labels, positions, results, strict=True), key=lambda one: one[1]):
        groups.setdefault(label, []).append((x, result))
    return {label: groups[label] for label in dict.fromkeys(labels)}


def _budget_chart(results: list[Identification], groups: Groups) -> Chart:
    """The share of correct answers over the budget."""
    lines = []
    for label, group in groups.items():
        shares = np.array([result.correct.mean() for _, result in group])
        kind: Kind = "line" if len(group) > 1 else "points"
        x = [x for x, _ in group]
        lines.append(_line(label, group[0][1], x, shares, goal="identification", kind=kind))
    return build_chart(
        _few(lines),
        title=f"Correct answers of {lines[0].label}" if len(lines) == 1 else "Correct answers",
        x_label="budget, in rounds",
        y_label=CORRECT_SHARE,
        goal="identification",
        description=about_runs(results),
        remarks=_remarks(results),
        x_log=is_wide(np.concatenate([line.x for line in lines])),
    )


def _delta_chart(results: list[Identification], groups: Groups) -> Chart:
    lines = []
    for label, group in groups.items():
        bands = _rounds_of([result for _, result in group])
        lines.append(_line(label, group[0][1], [x for x, _ in group], *bands, goal="identification"))
    return build_chart(
        _few(lines),
        title=f"Rounds until the answer of {lines[0].label}" if len(lines) == 1 else "Rounds until the answer",
        x_label="1/δ",
        goal="identification",
        description=about_runs(results),
        remarks=[_answers_of(results), *_remarks(results)],
        x_log=True,
    )


def _category_chart(results: list[Identification]) -> Chart:
    """Every run a pale point, the mean and the 5–95 % range over them."""
    lines, labels = [], run_labels([result.about for result in results])
    for at, (result, label) in enumerate(zip(results, labels, strict=True)):
        shown = np.arange(min(len(result), MAX_SINGLE_RUNS))
        beside = at + 0.5 * (shown * 0.6180339887 % 1.0 - 0.5)  # evenly spread, and the same each time
        for identified in (True, False):
            chosen = result.identified[shown] == identified
            if chosen.any():
                y = result.rounds[shown][chosen].astype(np.float64)
                key = result.about.policy
                lines.append(Series("", beside[chosen], y, key=key, kind="cloud", is_hollow=not identified))
        lines.append(_line(label, result, [at], *_rounds_of([result]), goal="identification", kind="points"))
    precisions = {(result.about.options.get("delta"), result.about.epsilon or None) for result in results}
    delta, epsilon = precisions.pop() if len(precisions) == 1 else (None, None)
    same = "".join(f"; {sign} = {value:g}" for sign, value in (("δ", delta), ("ε", epsilon)) if value is not None)
    single = f"the first {MAX_SINGLE_RUNS} runs" if max(map(len, results)) > MAX_SINGLE_RUNS else "single runs"
    return build_chart(
        lines,
        title="Rounds until the answer",
        x_label="",
        goal="identification",
        description=f"{about_runs(results)}{same}",
        remarks=[f"Pale: {single}.", _answers_of(results), *_remarks(results)],
        y_log=is_wide(np.concatenate([result.rounds for result in results])),
        categories=tuple(labels),
    )


def _rounds_of(results: Sequence[Identification]) -> list[Numbers]:
    """Mean, 5 % and 95 % percentile of the rounds of each result."""
    summaries = [result.summary()["rounds"] for result in results]
    return [np.array([summary[key] for summary in summaries]) for key in ("mean", "p5", "p95")]


def _answers_of(results: list[Identification]) -> str:
    counts = {}
    for result, label in zip(results, run_labels([result.about for result in results]), strict=True):
        summary = result.summary()
        counts[label] = (summary["wrong"], summary["runs"] - summary["identified"], summary["runs"])
    return answers_remark(counts)

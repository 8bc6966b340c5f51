"""Results as charts: regret over the rounds, or rounds until the answer."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.figures import Chart, Line, draw, draw_to
from matchbandit.figures.ticks import short
from matchbandit.policies import CATALOGUE
from matchbandit.policies.capabilities import Goal
from matchbandit.results.comparison import Comparison, task_of
from matchbandit.results.result import Identification, Result, Runs
from matchbandit.rewards import rewards_from

if TYPE_CHECKING:
    from matchbandit.figures.painting import Picture

APART = 30
"""Means that differ by more than so many times are drawn on a logarithmic axis."""
MOST_LINES = 12
"""Of a picture over the rounds or over 1/δ: the names of more would lie over each other."""
MOST_SINGLE_RUNS = 200
"""Of a policy that are drawn one by one."""


def plot(
    results: Any,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    x_log: bool | None = None,
    y_log: bool | None = None,
) -> "Picture":
    """Draw results of `simulate`, `identify` or `compare`, one or a list of them: means with their 5–95 % range.

    Parameters
    ----------
    results: Runs, Identification, Comparison, or a list
        Runs are drawn as regret over the rounds. Identifications as rounds until the answer: a row for each policy, or,
        if a policy was asked at several δ, over 1/δ.
    path: str or Path, optional
        Where to keep the picture: .png (with a .pdf beside it), .pdf or .svg.
    title: str, optional
        Instead of what is measured.
    x_log, y_log: bool, optional
        Logarithmic axes. Left alone, they are chosen by the numbers.

    Returns
    -------
    Picture
        A matplotlib figure, which notebooks show; its `chart` holds the numbers.
    """
    chart = chart_of(results, title=title, x_log=x_log, y_log=y_log)
    if path is not None:
        draw_to(chart, path)
    return draw(chart)


def chart_of(
    results: Any,
    *,
    name: str = "results",
    title: str | None = None,
    x_log: bool | None = None,
    y_log: bool | None = None,
) -> Chart:
    """What `plot` draws, as numbers."""
    given = _listed(results)
    if all(isinstance(result, Runs) for result in given):
        made = _regret([result for result in given if isinstance(result, Runs)])
    elif all(isinstance(result, Identification) for result in given):
        made = _rounds([result for result in given if isinstance(result, Identification)])
    else:
        raise MatchbanditError("regret and rounds until an answer do not share a picture. Draw two.")
    chosen: dict[str, Any] = {"title": title, "x_log": x_log, "y_log": y_log}
    return replace(made, name=name, **{key: value for key, value in chosen.items() if value is not None})


def _listed(results: Any) -> list[Result]:
    """The single results, in their order."""
    given = [results] if isinstance(results, Result) else results
    given = list(given) if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else [given]
    if not given:
        raise MatchbanditError("there is nothing to draw: the list of results is empty.")
    for one in given:
        if not isinstance(one, Result):
            raise MatchbanditError(f"what is drawn are results of simulate, identify or compare; got {one!r}.")
    return given


def labels_of(results: Sequence[Result]) -> list[str]:
    """A name for each of these results, as `Comparison` has it: the policy, and in what it differs from others."""
    return list(Comparison(tuple(results)).labels)  # type: ignore[arg-type]  # there is no third kind of result


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
    told = [_value(one) for one in values]
    return f"({', '.join(told if len(told) <= 8 else [*told[:4], '…', told[-1]])})"


def instance_of(problem: Mapping[str, Any]) -> str:
    """A problem or a family in words, given what its `describe()` gave.

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
        parts.append(f"{rewards_from(problem['rewards']).typed} rewards")
    return ", ".join(parts)


def about_runs(results: Sequence[Result]) -> str:
    """The instance, the number of runs and the seed, as a caption says them."""
    instances = list(dict.fromkeys(instance_of(result.about.problem) for result in results))
    runs, seeds = sorted({len(result) for result in results}), sorted({result.about.seed for result in results})
    many = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    parts = [
        instances[0] if len(instances) == 1 else f"{len(instances)} instances",
        f"{many} run{'s' if runs[-1] > 1 else ''}",
        f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}",
    ]
    return "; ".join(parts)


def _apart(results: Sequence[Result]) -> str:
    """Who plays, or seeks, what, if that is not the same for all: their numbers do not compare."""
    who: dict[str, list[str]] = {}
    for result, label in zip(results, labels_of(results), strict=True):
        who.setdefault(task_of(result), []).append(label)  # type: ignore[arg-type]  # as above
    told = "; ".join(f"{question} for {', '.join(labels)}" for question, labels in who.items())
    return f" Not the same question: {told}." if len(who) > 1 else ""


def _few(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines, refused if there are too many to read."""
    if len(lines) > MOST_LINES:
        raise MatchbanditError(
            f"a picture holds {MOST_LINES} lines that can be told apart; these results make {len(lines)}. "
            f"Draw some of them, as results.select(policy=…) gives them; a study's by study.plot(folder, x=…)."
        )
    return tuple(lines)


def _proved(result: Result, goal: Goal) -> bool:
    """Has its policy a proof for this goal? Of a policy of one's own nothing is known."""
    return result.about.policy not in CATALOGUE or goal in CATALOGUE[result.about.policy].capabilities.proved


def _regret(results: list[Runs]) -> Chart:
    lines = []
    for result, label in zip(results, labels_of(results), strict=True):
        told = result.summary()
        mean, low, high = (np.array(told[key]) for key in ("mean", "p5", "p95"))
        band: dict[str, Any] = {"low": low, "high": high} if len(result) > 1 else {}
        x = result.rounds.astype(np.float64)
        lines.append(Line(label, x, mean, **band, key=result.about.policy, hollow=not _proved(result, "regret")))
    last = np.array([line.y[-1] for line in lines])
    words = [f"{about_runs(results)}."]
    if max(len(result) for result in results) > 1:
        words.append("Lines: mean of the runs; bands: 5–95 %.")
    words += ["Empty markers: no proof of its regret."] * any(line.hollow for line in lines)
    return Chart(
        name="results",
        title=f"Regret of {lines[0].label}" if len(lines) == 1 else "Regret over the rounds",
        x_label="round",
        y_label="regret",
        lines=_few(lines),
        caption=" ".join(words) + _apart(results),
        x_log=all(_geometric(line.x) for line in lines),
        y_log=bool(last.min() > 0 and last.max() > APART * last.min()),
    )


def _geometric(x: Any) -> bool:
    """Do the checkpoints lie closer together at first, so that a linear axis would crowd them?"""
    return len(x) > 2 and bool(x[0] > 0 and x[len(x) // 2] < 0.25 * x[-1])


def _rounds(results: list[Identification]) -> Chart:
    """Rounds over 1/δ if some policy was asked at several; else a row for each policy."""
    asked = [result.about.options.get("delta") for result in results]
    alike: dict[str, list[tuple[float, Identification]]] = {}
    for result, label, delta in zip(results, _without_delta(results), asked, strict=True):
        alike.setdefault(label, []).append((1 / delta if delta else np.nan, result))
    if None not in asked and any(len({x for x, _ in group}) > 1 for group in alike.values()):
        return _over_delta(results, alike)
    return _in_rows(results)


def _without_delta(results: list[Identification]) -> list[str]:
    labels = labels_of(results)
    return [", ".join(part for part in label.split(", ") if not part.startswith("delta = ")) for label in labels]


def _over_delta(results: list[Identification], alike: dict[str, list[tuple[float, Identification]]]) -> Chart:
    lines = []
    for label, group in alike.items():
        told = [(x, result.summary()["rounds"]) for x, result in sorted(group, key=lambda pair: pair[0])]
        x = np.array([x for x, _ in told])
        mean, low, high = (np.array([rounds[key] for _, rounds in told]) for key in ("mean", "p5", "p95"))
        first = group[0][1]
        hollow = not _proved(first, "identification")
        lines.append(Line(label, x, mean, low, high, key=first.about.policy, hollow=hollow))
    unproved = " Empty markers: no proof of its answers." if any(line.hollow for line in lines) else ""
    remarks = f"{unproved}{_not_well(results)}{_apart(results)}"
    return Chart(
        name="results",
        title=f"Rounds until the answer of {lines[0].label}" if len(lines) == 1 else "Rounds until the answer",
        x_label="1/δ",
        y_label="rounds",
        lines=_few(lines),
        caption=f"{about_runs(results)}. Lines: mean of the runs; bands: 5–95 %.{remarks}",
        x_log=True,
        y_log=True,
    )


def _in_rows(results: list[Identification]) -> Chart:
    """Every run a pale point, the mean and the 5–95 % range over them."""
    lines, labels = [], labels_of(results)
    for at, (result, label) in enumerate(zip(results, labels, strict=True)):
        shown = np.arange(min(len(result), MOST_SINGLE_RUNS))
        beside = at + 0.5 * (shown * 0.6180339887 % 1.0 - 0.5)  # spread evenly, and the same each time
        for done in (True, False):
            of_these = result.identified[shown] == done
            if of_these.any():
                y = result.rounds[shown][of_these].astype(np.float64)
                cloud = Line("", beside[of_these], y, key=result.about.policy, kind="cloud", hollow=not done)
                lines.append(cloud)
        told = result.summary()["rounds"]
        mean, low, high = (np.array([told[key]]) for key in ("mean", "p5", "p95"))
        hollow = not _proved(result, "identification")
        place = np.array([float(at)])
        lines.append(Line(label, place, mean, low, high, key=result.about.policy, kind="points", hollow=hollow))
    spread = [result.rounds for result in results]
    single = f"the first {MOST_SINGLE_RUNS} runs" if max(map(len, results)) > MOST_SINGLE_RUNS else "single runs"
    deltas = {result.about.options.get("delta") for result in results}
    asked = f"; δ = {deltas.copy().pop():g}" if len(deltas) == 1 and None not in deltas else ""
    unproved = " Empty: no proof of its answers." if any(line.hollow and line.label for line in lines) else ""
    remarks = f"{unproved}{_not_well(results)}{_apart(results)}"
    return Chart(
        name="results",
        title="Rounds until the answer",
        x_label="",
        y_label="rounds",
        lines=tuple(lines),
        rows=tuple(labels),
        caption=f"{about_runs(results)}{asked}. Mean and 5–95 %; pale: {single}.{remarks}",
        y_log=bool(min(map(np.min, spread)) > 0 and max(map(np.max, spread)) > APART * min(map(np.min, spread))),
    )


def _not_well(results: list[Identification]) -> str:
    """Wrong answers, and runs that have none: their rounds are where they were stopped."""
    wrong, none = [], []
    for result, label in zip(results, labels_of(results), strict=True):
        told = result.summary()
        wrong += [f"{label} {told['wrong']} of {told['runs']}"] * (told["wrong"] > 0)
        none += [f"{label} {told['runs'] - told['identified']} of {told['runs']}"] * (told["identified"] < told["runs"])
    words = f" Wrong answers: {'; '.join(wrong)}." if wrong else ""
    return words + (f" Stopped without an answer: {'; '.join(none)}." if none else "")

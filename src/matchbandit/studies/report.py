"""Write the report of a study: charts, results with paired differences, settings, times and versions on one page."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.figures.page import Badge, Cell, ChartChoice, Page, Section, Table, write_page
from matchbandit.formatting import duration, grouped, plural
from matchbandit.results import PairedDifference, Rows, paired_difference, summarize
from matchbandit.results.comparison import task_text
from matchbandit.studies.charts import StudyCharts, study_charts
from matchbandit.studies.folder import StudyFolder, date_text
from matchbandit.studies.points import MAX_TEXT, SIGNS, value_text

MAX_CHARTS = 12
"""Charts over sweeps that are shown one below the other; of more, the reader chooses one."""
MAX_OPTIONS = 100
"""Charts to choose from: each makes the page larger."""
MAX_DIFFERENCES = 300
"""Rows of the table of differences between policies."""
NOT_DISTINGUISHABLE = "not distinguishable from the best"


def report(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Write a study's settings, charts, numbers, times and versions to one HTML page.

    The page needs no network: it can be sent and opened anywhere, on a phone too.

    Parameters
    ----------
    folder : str or path
        What `matchbandit run` or `Study.run` has filled; of a study that is not finished it shows what there is. Or
        what `matchbandit reproduce` has: then the page has the paper's figures and claims.
    out : str or path, optional
        The page, or a folder for it; by default `report.html` in that folder, or `index.html`, where `reproduce` has
        put it.

    Returns
    -------
    Path
        The page.
    """
    from matchbandit.studies.reproduce import reproduced_studies, reproduction_page  # noqa: PLC0415  # it plays studies

    path = Path(folder)
    reproduced = reproduced_studies(path)
    page = reproduction_page(reproduced) if reproduced else study_page(StudyFolder.open(path))
    target = path if out is None else Path(out)
    return write_page(page, target / ("index.html" if reproduced else "report.html") if target.is_dir() else target)


def study_page(folder: StudyFolder) -> Page:
    """Build the page of a study, as far as it has been played."""
    folder.check_files()
    study = folder.study
    results = _policy_results(folder)
    runs, planned = sum(result.runs for result in results), study.runs * len(folder.manifest["points"])
    goal = "regret" if study.goal == "regret" else "rounds until the answer"
    goal = goal if study.budget is None else "answers within a fixed budget"
    lead = f"{goal.capitalize()}: {plural(len(results), 'point')}, {plural(runs, 'run')}, seed {study.seed}."
    missing = [] if runs >= planned else [_missing(folder, results, planned - runs)]
    return Page(
        f"Study {study.name}",
        lead if not missing else f"{lead} Not finished: {grouped(runs)} of {grouped(planned)} runs are there.",
        (
            *missing,
            _charts(study_charts(folder.rows(), name=study.name, stop=study.stop)),
            *_results(results),
            Section("Settings", tables=(_settings(study.describe()),), code=as_toml(study.describe())),
            _times(folder, results),
            _versions(folder),
        ),
        (f"Made by matchbandit from {plural(len(folder.parts), 'part')} of the study {study.name}.",),
    )


def _charts(charts: StudyCharts) -> Section:
    """The charts over what is swept, all or one to choose, and the curves at the point that the reader chooses."""
    swept, curves = charts.over_sweep, charts.over_rounds
    choices = [
        ChartChoice(label, options[:MAX_OPTIONS])
        for label, options in (("Chart", swept if len(swept) > MAX_CHARTS else ()), ("Curves at", curves))
        if options
    ]
    omitted = sum(max(0, len(options) - MAX_OPTIONS) for options in (swept, curves))
    text = f"{plural(omitted, 'chart')} more can be drawn in Python: see Study.charts." if omitted else ""
    shown = tuple(chart for _, chart in swept) if len(swept) <= MAX_CHARTS else ()
    return Section("Charts", (text,) if text else (), charts=shown, choices=tuple(choices))


@dataclass(frozen=True)
class _PolicyResult:
    """The runs of a policy with its options at one point of the sweep."""

    key: str
    label: str
    point: str
    """What distinguishes the problem, horizon or δ from others of the study; empty if nothing does."""
    rows: Rows
    """The last row of each run."""
    seconds: float
    task: str
    """What a round plays, or what is sought: only policies with the same task are compared."""
    is_regret: bool
    has_budget: bool

    @property
    def runs(self) -> int:
        return len(self.rows)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The number of each run that ranks it, the lower the better."""
        if self.has_budget:
            return (~self.rows["correct"]).astype(np.float64)
        return self.rows["regret" if self.is_regret else "rounds"].astype(np.float64)

    def minus(self, other: "_PolicyResult") -> PairedDifference:
        return paired_difference(self.rows["run"], self.scores, other.rows["run"], other.scores)


def _policy_results(folder: StudyFolder) -> list[_PolicyResult]:
    """The results that are there, named by what varies among them; from rows alone, without any module of the user."""
    rows_of = {key: folder.last_rows_of(key) for key in dict.fromkeys(part.key for part in folder.parts)}
    if not rows_of:
        raise MatchbanditError(f"{str(folder.path)!r} holds no finished part yet. Run the study first.")
    settings = {key: _constant_columns(rows) for key, rows in rows_of.items()}
    columns = next(iter(settings.values()))
    varying = [name for name in columns if len({repr(each.get(name)) for each in settings.values()}) > 1]
    results = []
    for key, rows in rows_of.items():
        policy, options = settings[key]["policy"], json.loads(settings[key]["options"])
        variants = [json.loads(each["options"]) for each in settings.values() if each["policy"] == policy]
        differing = {name: value for name, value in options.items() if any(v.get(name) != value for v in variants)}
        label = ", ".join([policy, *(f"{name} = {_text(value)}" for name, value in differing.items())])
        point = {name: settings[key][name] for name in varying if name not in ("policy", "options")}
        parts = [part for part in folder.parts if part.key == key]
        about, is_regret = parts[0].metadata["about"], "regret" in rows.names
        selection = about["selection"] if is_regret else about.get("answers", about["selection"])
        results.append(
            _PolicyResult(
                key=key,
                label=label,
                point=", ".join(name_and_value(name, value) for name, value in point.items() if value is not None),
                rows=rows,
                seconds=sum(part.seconds for part in parts),
                task=task_text(selection, regret=is_regret),
                is_regret=is_regret,
                has_budget=about.get("budget") is not None,
            )
        )
    return results


def _constant_columns(rows: Rows) -> dict[str, Any]:
    """The columns that have one value in all rows of a point."""
    measured = ("run", "seed", "round", "regret", "rounds", "pairs", "identified", "correct")
    return {name: rows.distinct(name)[0] for name in rows.names if name not in measured}


def name_and_value(name: str, value: Any) -> str:
    """A setting in words.

    >>> name_and_value("gap", 0.5), name_and_value("delta", 0.05), name_and_value("family", "spiked")
    ('gap = 0.5', 'δ = 0.05', 'spiked')
    """
    if name == "family":
        return _text(value) or "no family"
    return f"{SIGNS.get(name, name)} = {_text(value)}"


def _results(results: Sequence[_PolicyResult]) -> Iterator[Section]:
    """Means and ranges with the best policy of each point, and the differences between all policies of a point."""
    groups: dict[tuple[str, str], list[_PolicyResult]] = {}
    for result in results:
        groups.setdefault((result.task, result.point), []).append(result)
    has_rivals = any(len(group) > 1 for group in groups.values())
    has_points, has_tasks = any(result.point for result in results), len({result.task for result in results}) > 1
    one = results[0]
    measured = "mean regret" if one.is_regret else "share wrong" if one.has_budget else "mean rounds"
    heads = [
        "policy",
        *([("plays" if one.is_regret else "seeks")] if has_tasks else []),
        *(["point"] if has_points else []),
        *(["verdict"] if has_rivals else []),
        f"{measured} ± s.e.",
        *(["more than the best (95 % interval)"] if has_rivals else []),
        "5–95 %",
        "runs",
        *(() if one.is_regret else ("right", "wrong", "not identified")),
    ]
    lines: list[tuple[Cell, ...]] = []
    ranked = [sorted(group, key=lambda result: float(result.scores.mean())) for group in groups.values()]
    for group in ranked:
        for result in group:
            summary, (verdict, difference) = summarize(result.scores), _verdict(result, group)
            line: list[Cell] = [_unbroken(result.label)]
            line += [result.task] if has_tasks else []
            line += [_unbroken(result.point)] if has_points else []
            line += [verdict, summary.mean_text, difference] if has_rivals else [summary.mean_text]
            line += [summary.range_text, grouped(result.runs)]
            line += [] if result.is_regret else [grouped(count) for count in _answers(result)]
            lines.append(tuple(line))
    caption = "Results by policy and point" if has_points else "Results by policy"
    yield Section("Results", tuple(_remarks(results, has_rivals)), tables=(Table(tuple(heads), tuple(lines), caption),))
    if any(len(group) > 2 for group in groups.values()):
        yield _differences(groups, has_points=has_points)


def _verdict(result: _PolicyResult, group: Sequence[_PolicyResult]) -> tuple[Cell, str]:
    """A badge for the best policy of a point, which is first, and for what may be as good; the difference to it."""
    if result is group[0]:
        return Badge("best", "good") if len(group) > 1 else "", "–"
    difference = result.minus(group[0])
    return "" if difference.is_distinguishable else Badge(NOT_DISTINGUISHABLE, "part"), difference.text


def _differences(groups: Mapping[tuple[str, str], Sequence[_PolicyResult]], *, has_points: bool) -> Section:
    """The paired differences between any two policies of a point."""
    pairs = [(point, *pair) for (_, point), group in groups.items() for pair in combinations(group, 2)]
    rows: list[tuple[Cell, ...]] = []
    for point, one, other in pairs[:MAX_DIFFERENCES]:
        difference = one.minus(other)
        verdict = "" if difference.is_distinguishable else Badge("not distinguishable", "part")
        names = [_unbroken(text) for text in (one.label, other.label, *([point] if has_points else []))]
        rows.append((*names, grouped(difference.runs), difference.text, verdict))
    points = ["point"] if has_points else []
    heads = ("policy", "minus", *points, "runs in common", "difference (95 % interval)", "verdict")
    omitted = len(pairs) - len(rows)
    text = "The first policy minus the second, run by run."
    text += f" The table ends after {grouped(MAX_DIFFERENCES)} of {grouped(len(pairs))} pairs." if omitted else ""
    return Section("Differences between policies", (text,), tables=(Table(heads, tuple(rows), "Paired differences"),))


def _unbroken(text: str) -> str:
    """The text with spaces at which a narrow column does not break: within "gap = 0.5"."""
    return text.replace(" = ", "\u00a0=\u00a0")


def _answers(result: _PolicyResult) -> tuple[int, int, int]:
    """How many answers are right, wrong and missing."""
    identified, correct = result.rows["identified"], result.rows["correct"]
    return int((identified & correct).sum()), int((identified & ~correct).sum()), int((~identified).sum())


def _remarks(results: Sequence[_PolicyResult], has_rivals: bool) -> Iterator[str]:
    """What a reader must know to read the results."""
    one = results[0]
    measured = "Regret at the horizon" if one.is_regret else "Rounds until the answer"
    measured = "Share of wrong answers" if one.has_budget else measured
    text = f"{measured}: mean ± its standard error, and the 5 % and 95 % percentiles of the runs."
    if not one.is_regret and not one.has_budget and any(_answers(result)[2] for result in results):
        text += " Runs without an answer count with the rounds after which they were stopped: their means are too low."
    yield text
    if not one.is_regret and not one.has_budget and has_rivals:
        yield "The best policy has the fewest rounds, right or wrong: see how many of its answers were wrong."
    if has_rivals:
        yield (
            "Runs of the same number play the same instance, so policies are compared run by run: the interval is the "
            "95 % confidence interval of the mean difference over the runs that both have (Student's t, one degree of "
            "freedom less than runs). It holds for each comparison on its own, not for all at once. The best policy of "
            "a point has the lowest mean; where the interval of the difference to it contains 0, or where two runs in "
            f"common are lacking, a policy is {NOT_DISTINGUISHABLE}."
        )
    tasks = list(dict.fromkeys(result.task for result in results))
    if len(tasks) > 1:
        yield f"Some policies are for {' and others for '.join(tasks)}: only those of the same kind are compared."


def _missing(folder: StudyFolder, results: Sequence[_PolicyResult], runs: int) -> Section:
    """What has not been played yet."""
    study, keys = folder.study, {result.key for result in results}
    started = [result for result in results if result.runs < study.runs]
    rows = [(one.label, one.point or "–", f"{study.runs - one.runs} of {study.runs}") for one in started]
    absent = [key for key in folder.manifest["points"] if key not in keys]
    try:
        names = {point.key: (point.label, point.place or "–") for point in study.points} if absent else {}
    except MatchbanditError:  # a user-defined module is not installed here
        names = {}
    rows += [(*names.get(key, ("a policy", "–")), f"{study.runs} of {study.runs}") for key in absent]
    table = Table(("policy", "point", "runs missing"), tuple(rows), "Not played yet")
    text = f"{plural(runs, 'run')} of this study are missing. The same matchbandit run continues where it stopped."
    return Section("What is missing", (text,), tables=(table,))


def _settings(described: Mapping[str, Any]) -> Table:
    names = {
        "horizon": "horizon T",
        "delta": "error probability δ",
        "epsilon": "share ε of the optimum that an answer may lack",
        "budget": "budget, in rounds",
        "runs": "runs per point",
        "max_rounds": "maximum rounds",
    }
    rows = []
    for key, value in described.items():
        each = value if isinstance(value, list) and key in ("problem", "policies") else [value]
        text = str(value) if key == "seed" else "; ".join(_setting(part) for part in each)
        rows.append((names.get(key, key), text))
    return Table(("setting", "value"), tuple(rows), "What was played; several values of a setting are a sweep")


def _setting(value: Any) -> str:
    """A value, or a table of them, in words."""
    if isinstance(value, Mapping):
        name = value.get("name") or value.get("family") or ""
        others = [f"{key} = {_setting(each)}" for key, each in value.items() if key not in ("name", "family")]
        return f"{name}: {', '.join(others)}" if name and others else name or ", ".join(others)
    if isinstance(value, list):
        texts = [f"[{_setting(each)}]" if isinstance(each, list) else _setting(each) for each in value]
        return value_text(", ".join(texts), MAX_TEXT)
    return _text(value)


def _times(folder: StudyFolder, results: Sequence[_PolicyResult]) -> Section:
    manifest = folder.manifest
    rows = [
        (
            result.label,
            result.point or "–",
            grouped(result.runs),
            duration(result.seconds),
            duration(result.seconds / result.runs),
        )
        for result in results
    ]
    words = f"Begun {date_text(manifest['begun'])}, last changed {date_text(manifest['updated'])}; computed in "
    words += f"{duration(folder.seconds)} of one process, in {plural(len(folder.parts), 'part')}."
    heads = ("policy", "point", "runs", "computed in", "per run")
    return Section("Times", (words,), tables=(Table(heads, tuple(rows), "Seconds of one process"),))


def _versions(folder: StudyFolder) -> Section:
    """What made the parts, and a word where not all that say it were made by the same."""
    counts: dict[str, dict[str, int]] = {}
    for part in folder.parts:
        for name, value in part.made_with.items():
            there = counts.setdefault(name, {})
            there[value] = there.get(value, 0) + 1
    differ = any(len(values) > 1 for values in counts.values())
    rows: list[tuple[Cell, ...]] = []
    for name, values in counts.items():
        texts = [_short_hash(value) for value in values]
        if len(texts) > 1:
            texts = [f"{value} ({plural(n, 'part')})" for value, n in zip(texts, values.values(), strict=True)]
        verdict = Badge("differs", "part") if len(texts) > 1 else Badge("the same")
        rows.append((name, "; ".join(texts), *([verdict] if differ else [])))
    heads = ("version of", "version", *(["among parts"] if differ else []))
    warning = "Parts of this study were made by different versions: compare with care."
    return Section("Versions", (warning,) if differ else (), tables=(Table(heads, tuple(rows), "What computed it"),))


def _short_hash(value: str) -> str:
    """The first eight digits of a fingerprint; a version as it is.

    >>> _short_hash("0123456789abcdef"), _short_hash("2.0.1")
    ('01234567', '2.0.1')
    """
    return value[:8] if re.fullmatch("[0-9a-f]{16,}", value) else value


def as_toml(described: Mapping[str, Any]) -> str:
    """A study as it would stand in a file.

    >>> policies = ["uts", {"name": "pair-elim", "growth": 4.0}]
    >>> print(as_toml({"name": "gaps", "policies": policies, "problem": {"gap": [0.5, 0.6]}}))
    name = "gaps"
    policies = ["uts", {name = "pair-elim", growth = 4.0}]
    <BLANKLINE>
    [problem]
    gap = [0.5, 0.6]
    """
    problems = described["problem"] if isinstance(described["problem"], list) else [described["problem"]]
    head = "[[problem]]" if isinstance(described["problem"], list) else "[problem]"
    lines = [f"{key} = {_toml(value)}" for key, value in described.items() if key != "problem"]
    for problem in problems:
        lines += ["", head, *(f"{_toml_key(key)} = {_toml(value)}" for key, value in problem.items())]
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(f'{_toml_key(key)} = {_toml(each)}' for key, each in value.items() if each is not None)}}}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(key: str) -> str:
    return key if key.replace("_", "a").replace("-", "a").isalnum() and key.isascii() else json.dumps(key)


def _text(value: Any) -> str:
    return value_text(value, MAX_TEXT)

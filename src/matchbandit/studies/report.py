"""What a study's folder holds, or the paper's figures and claims, on one page."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.figures import Chart
from matchbandit.figures.page import Badge, Cell, Page, Section, Table, Tone, write_page
from matchbandit.formatting import duration, grouped, plural, short
from matchbandit.results import Rows
from matchbandit.results.comparison import task_text
from matchbandit.studies.claims import FAILS, HOLDS, IN_PART, Claim
from matchbandit.studies.folder import StudyFolder, listed, part_files, today
from matchbandit.studies.point import LONGEST_WORDS, SIGNS, in_words
from matchbandit.studies.published import published
from matchbandit.studies.registry import entries

_TONES: dict[str, Tone] = {HOLDS: "good", IN_PART: "part", FAILS: "bad"}


@dataclass(frozen=True)
class FigureReport:
    """A figure with its claims, what it was drawn from, and how long that took."""

    name: str
    title: str
    charts: tuple[Chart, ...]
    claims: tuple[Claim, ...]
    studies: tuple[str, ...]
    """Whose rows it shows; figures of the same studies share their seconds."""
    runs: int
    """A point."""
    seconds: float
    authors_seconds: float | None = None
    """How long the authors' code would take for the same runs."""


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
    path = Path(folder)
    reproduced = _reproduced(path)
    page = reproduction_page(reproduced) if reproduced else study_page(StudyFolder.open(path))
    place = path if out is None else Path(out)
    return write_page(page, place / ("index.html" if reproduced else "report.html") if place.is_dir() else place)


# ---- any study


def study_page(folder: StudyFolder) -> Page:
    """The page of a study, as far as it has been played."""
    _refuse_damage(folder)
    study = folder.study
    points = _points(folder)
    there, wanted = sum(point.runs for point in points), study.runs * len(folder.manifest["points"])
    goal = "regret" if study.goal == "regret" else "rounds until the answer"
    goal = goal if study.budget is None else "answers within a fixed budget"
    lead = f"{goal.capitalize()}: {plural(len(points), 'point')}, {plural(there, 'run')}, seed {study.seed}."
    missing = [] if there >= wanted else [_missing(folder, points, wanted - there)]
    return Page(
        f"Study {study.name}",
        lead if not missing else f"{lead} Not finished: {grouped(there)} of {grouped(wanted)} runs are there.",
        (
            *missing,
            Section("Charts", charts=study.charts(folder.rows())),
            Section("Results", _remarks(points), tables=(_results(points, study.goal == "regret"),)),
            Section("Settings", tables=(_settings(study.describe()),), code=as_toml(study.describe())),
            _times(folder, points),
            _versions(folder),
        ),
        (f"Made by matchbandit from {plural(len(folder.parts), 'part')} of the study {study.name}.",),
    )


@dataclass(frozen=True)
class _Point:
    """What is there of a policy at a place."""

    key: str
    label: str
    place: str
    rows: Rows
    """At the ends of runs."""
    seconds: float
    question: str
    """What a round plays, or what is sought: policies of different ones are no rivals."""

    @property
    def runs(self) -> int:
        return len(self.rows)


def _refuse_damage(folder: StudyFolder) -> None:
    """Refuse a folder of which some file is damaged or half there, and say how it is mended."""
    wrong = [words for part in part_files(folder.path) for words in [part.damage()] if words is not None]
    if wrong:
        raise MatchbanditError(
            f"in {str(folder.path)!r}, {listed(wrong)}. Run the study again with the same --out: "
            f"what is damaged is played again, the rest is kept."
        )


def _points(folder: StudyFolder) -> list[_Point]:
    """The points that have runs, named by what varies among them; rows say it, no module of the user's is needed."""
    rows_of = {key: folder.rows_of(key).at_end() for key in dict.fromkeys(part.key for part in folder.parts)}
    if not rows_of:
        raise MatchbanditError(f"{str(folder.path)!r} holds no finished part yet. Run the study first.")
    told = {key: _told(rows) for key, rows in rows_of.items()}
    varying = [name for name in next(iter(told.values())) if len({repr(each.get(name)) for each in told.values()}) > 1]
    made = []
    for key, rows in rows_of.items():
        options = json.loads(told[key]["options"])
        kin = [json.loads(each["options"]) for each in told.values() if each["policy"] == told[key]["policy"]]
        own = {name: value for name, value in options.items() if any(other.get(name) != value for other in kin)}
        label = ", ".join([told[key]["policy"], *(f"{name} = {_words(value)}" for name, value in own.items())])
        place = {name: told[key][name] for name in varying if name not in ("policy", "options")}
        words = [name_and_value(name, value) for name, value in place.items() if value is not None]
        seconds = sum(part.seconds for part in folder.parts if part.key == key)
        about = next(part.metadata["about"] for part in folder.parts if part.key == key)
        is_regret = "regret" in rows.names
        selection = about["selection"] if is_regret else about.get("answers", about["selection"])
        question = task_text(selection, regret=is_regret)
        made.append(_Point(key, label, ", ".join(words), rows, seconds, question))
    return made


def _told(rows: Rows) -> dict[str, Any]:
    """What all rows of a point say of where they come from."""
    own = ("run", "seed", "round", "regret", "rounds", "pairs", "identified", "correct")
    return {name: rows.distinct(name)[0] for name in rows.names if name not in own}


def name_and_value(name: str, value: Any) -> str:
    """A setting in words.

    >>> name_and_value("gap", 0.5), name_and_value("delta", 0.05), name_and_value("family", "spiked")
    ('gap = 0.5', 'δ = 0.05', 'spiked')
    """
    if name == "family":
        return _words(value) or "given"
    return f"{SIGNS.get(name, name)} = {_words(value)}"


def _results(points: Sequence[_Point], is_regret: bool) -> Table:
    """Mean and range of each point; of identifications also how many answers were right."""
    column = "regret" if is_regret else "rounds"
    has_places = any(point.place for point in points)
    differ = len({point.question for point in points}) > 1
    answers = () if is_regret else ("right", "wrong", "not identified")
    lines = []
    for point in points:
        values = point.rows[column].astype(np.float64)
        low, high = np.percentile(values, [5, 95])
        line = [
            point.label,
            *([point.question] if differ else []),
            *([point.place] if has_places else []),
            grouped(point.runs),
        ]
        line += [short(float(values.mean())), f"{short(float(low))} to {short(float(high))}"]
        if not is_regret:
            identified, correct = point.rows["identified"], point.rows["correct"]
            line += [
                grouped(n) for n in ((identified & correct).sum(), (identified & ~correct).sum(), (~identified).sum())
            ]
        lines.append(tuple(line))
    question = (("plays" if is_regret else "seeks"),) if differ else ()
    heads = ("policy", *question, *(("place",) if has_places else ()), "runs", f"mean {column}", "5–95 %", *answers)
    return Table(heads, tuple(lines), "Results by policy and place")


def _remarks(points: Sequence[_Point]) -> tuple[str, ...]:
    """What one must know to read the results."""
    if "identified" not in points[0].rows.names:
        return ("Regret at the horizon: its mean, and the 5 % and 95 % percentiles of the runs.", *_no_rivals(points))
    without = sum(int((~point.rows["identified"]).sum()) for point in points)
    words = "Rounds until the answer: their mean, and the 5 % and 95 % percentiles of the runs."
    if without:
        words += (
            " Runs without an answer count with the rounds after which they were given up: their means are too low."
        )
    return (words, *_no_rivals(points))


def _no_rivals(points: Sequence[_Point]) -> tuple[str, ...]:
    questions = list(dict.fromkeys(point.question for point in points))
    words = f"Some policies are for {' and others for '.join(questions)}: compare only those of the same."
    return (words,) if len(questions) > 1 else ()


def _missing(folder: StudyFolder, points: Sequence[_Point], runs: int) -> Section:
    """What has not been played yet."""
    study, there = folder.study, {point.key: point for point in points}
    started = [point for point in points if point.runs < study.runs]
    rows = [(point.label, point.place or "–", f"{study.runs - point.runs} of {study.runs}") for point in started]
    absent = [key for key in folder.manifest["points"] if key not in there]
    try:
        named = {point.key: (point.label, point.place or "–") for point in study.points} if absent else {}
    except MatchbanditError:  # a module of the user's own is not here
        named = {}
    rows += [(*named.get(key, ("a policy", "–")), f"{study.runs} of {study.runs}") for key in absent]
    table = Table(("policy", "place", "runs missing"), tuple(rows), "Not played yet")
    words = f"{plural(runs, 'run')} of this study are missing. The same matchbandit run goes on where it stopped."
    return Section("What is missing", (words,), tables=(table,))


def _settings(described: Mapping[str, Any]) -> Table:
    names = {
        "horizon": "horizon T",
        "delta": "error probability δ",
        "epsilon": "share ε of the optimum that an answer may lack",
        "budget": "budget, in rounds",
        "runs": "runs a point",
        "max_rounds": "most rounds",
    }
    rows = []
    for key, value in described.items():
        each = value if isinstance(value, list) and key in ("problem", "policies") else [value]
        words = "; ".join(_setting(part) for part in each)
        rows.append((names.get(key, key), words))
    return Table(("setting", "value"), tuple(rows), "What was played; several values of a setting are a sweep")


def _setting(value: Any) -> str:
    """A value, or a table of them, in words."""
    if isinstance(value, Mapping):
        name = value.get("name") or value.get("family") or ""
        others = [f"{key} = {_setting(each)}" for key, each in value.items() if key not in ("name", "family")]
        return f"{name}: {', '.join(others)}" if name and others else name or ", ".join(others)
    if isinstance(value, list):
        told = [f"[{_setting(each)}]" if isinstance(each, list) else _setting(each) for each in value]
        return in_words(", ".join(told), LONGEST_WORDS)
    return grouped(value) if isinstance(value, int) and not isinstance(value, bool) else _words(value)


def _times(folder: StudyFolder, points: Sequence[_Point]) -> Section:
    manifest = folder.manifest
    rows = [
        (
            point.label,
            point.place or "–",
            grouped(point.runs),
            duration(point.seconds),
            duration(point.seconds / point.runs),
        )
        for point in points
    ]
    words = f"Begun {_date(manifest['begun'])}, last changed {_date(manifest['updated'])}; computed in "
    words += f"{duration(folder.seconds)} of one process, in {plural(len(folder.parts), 'part')}."
    heads = ("policy", "place", "runs", "computed in", "a run")
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
        told = [_short_hash(value) for value in values]
        if len(told) > 1:
            told = [f"{value} ({plural(n, 'part')})" for value, n in zip(told, values.values(), strict=True)]
        verdict = Badge("differs", "part") if len(told) > 1 else Badge("the same")
        rows.append((name, "; ".join(told), *([verdict] if differ else [])))
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


# ---- the paper


def reproduction_report(
    figures: Sequence[FigureReport],
    *,
    settings: Mapping[str, object],
    versions: Mapping[str, str],
    source: str,
    date: str | None = None,
) -> Page:
    """The paper's figures with their claims and verdicts, times beside the authors', settings and versions.

    `date` is when it was computed, as ISO 8601 says it; by default now.
    """
    claims = [claim for figure in figures for claim in figure.claims]
    told = {**settings, "date": _date(today() if date is None else date)}
    return Page(
        "The paper's figures, reproduced",
        f"{plural(len(figures), 'figure')}: {_tally(claims)}",
        (
            _summary(figures),
            *(_figure(figure) for figure in figures),
            Section("Times", _total_times(figures), tables=(_times_of(figures),)),
            Section(
                "Settings, versions, source",
                (f"Published numbers: {source}",),
                tables=(
                    Table(("setting", "value"), tuple((key, str(value)) for key, value in told.items()), "Settings"),
                    Table(("version of", "version"), tuple(versions.items()), "Versions"),
                ),
            ),
        ),
        ("Lines and bands are ours; published numbers are hollow points.",),
    )


def reproduction_page(kept: Mapping[str, StudyFolder]) -> Page:
    """The page of what `reproduce` has left: the figures of all studies that are finished, by the studies' names."""
    from matchbandit.studies.reproduce import reports_of  # noqa: PLC0415  # it makes pages itself

    for folder in kept.values():
        _refuse_damage(folder)
    finished = {name: folder for name, folder in kept.items() if folder.is_complete}
    reports: list[FigureReport] = []
    shown: list[str] = []
    for entry in entries().values():
        names = [study.name for study in entry.studies(None)]
        if all(name in finished for name in names):
            own = [name for name in names if name not in shown]
            studies = tuple(finished[name].study for name in names)
            reports += reports_of(entry, entry.figures, studies, finished, own=own)
            shown += own
    if not reports:
        raise MatchbanditError(
            f"no figure is finished in {_place_of(kept)!r} yet. matchbandit reproduce goes on there."
        )
    made = [finished[name].manifest for name in shown]
    versions = {
        name: " and ".join(dict.fromkeys(each["versions"][name] for each in made)) for name in made[0]["versions"]
    }
    left = [name for name in kept if name not in shown]
    return reproduction_report(
        reports,
        settings={"seed": made[0]["study"]["seed"], **({"not finished": ", ".join(left)} if left else {})},
        versions=versions,
        source=published()["source"],
        date=max(each["updated"] for each in made),
    )


def _reproduced(path: Path) -> dict[str, StudyFolder]:
    """The studies of ours that `reproduce` has left in a folder, those of the smallest seed; none if it has not."""
    if not path.is_dir() or (path / "manifest.json").exists():
        return {}
    opened = [StudyFolder.open(file.parent) for file in sorted(path.glob("*/manifest.json"))]
    ours = {} if not opened else {study.name for entry in entries().values() for study in entry.studies(None)}
    found = [folder for folder in opened if folder.study.name in ours]
    least = min((folder.study.seed for folder in found), default=0)
    return {folder.study.name: folder for folder in found if folder.study.seed == least}


def _place_of(kept: Mapping[str, StudyFolder]) -> str:
    return str(next(iter(kept.values())).path.parent)


def _summary(figures: Sequence[FigureReport]) -> Section:
    claims = [claim for figure in figures for claim in figure.claims]
    words = f"{_tally(claims).capitalize()} A verdict is reached by the threshold that stands beside it."
    not_in_full = [claim for claim in claims if claim.verdict in (IN_PART, FAILS)]
    tables = [_overview(figures)]
    if not_in_full:
        tables.append(_claims(not_in_full, "Claims that do not hold in full", with_figure=True))
    return Section("Summary", (words,), tables=tuple(tables))


def _tally(claims: Sequence[Claim]) -> str:
    """How many hold, hold in part, do not, or were not judged.

    >>> _tally([Claim("", "", "", "", verdict) for verdict in ("holds", "holds", "does not hold")])
    '2 claims hold, 1 does not.'
    """
    counts = [sum(claim.verdict == verdict for claim in claims) for verdict in _TONES]
    others = len(claims) - sum(counts)
    forms = [("holds", "hold"), ("holds in part", "hold in part"), ("does not", "do not")]
    told = [f"{n} {one if n == 1 else many}" for n, (one, many) in zip(counts, forms, strict=True) if n]
    told += [f"{others} not judged"] if others else []
    if not told:
        return "without claims."
    number, words = told[0].split(" ", 1)
    return ", ".join([f"{number} claim{'' if number == '1' else 's'} {words}", *told[1:]]) + "."


def _overview(figures: Sequence[FigureReport]) -> Table:
    rows = [
        (
            figure.title,
            *_counts(figure.claims),
            duration(figure.seconds),
            _speed_up(figure.seconds, figure.authors_seconds),
        )
        for figure in figures
    ]
    return Table(("figure", "hold", "in part", "do not", "computed in", "times faster"), tuple(rows), "Figures")


def _counts(claims: Sequence[Claim]) -> Iterator[Cell]:
    for verdict, tone in _TONES.items():
        n = sum(claim.verdict == verdict for claim in claims)
        yield Badge(str(n), tone) if n else "–"


def _figure(figure: FigureReport) -> Section:
    words = f"{figure.name}: {plural(figure.runs, 'run')} a point of {', '.join(figure.studies)}, "
    words += f"computed in {duration(figure.seconds)}"
    if figure.authors_seconds is None:
        words += "; the authors' code does not do this."
    else:
        words += f"; the authors' code would take {duration(figure.authors_seconds)}, "
        words += f"{_speed_up(figure.seconds, figure.authors_seconds)} as long."
    tables = (_claims(figure.claims, "Claims, with what was measured and what had to be"),) if figure.claims else ()
    return Section(figure.title, (words,), figure.charts, tables)


def _claims(claims: Sequence[Claim], caption: str, *, with_figure: bool = False) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            claim.claim,
            Badge(claim.verdict, _TONES.get(claim.verdict, "plain")),
            *([claim.where] if with_figure else []),
            claim.measured,
            claim.threshold,
        )
        for claim in claims
    ]
    return Table(
        ("claim", "verdict", *(["figure"] if with_figure else []), "measured", "threshold"), tuple(rows), caption
    )


def _times_of(figures: Sequence[FigureReport]) -> Table:
    rows: list[tuple[str, ...]] = []
    for figure in _once(figures):
        theirs = "–" if figure.authors_seconds is None else duration(figure.authors_seconds)
        speed_up = _speed_up(figure.seconds, figure.authors_seconds)
        rows.append((", ".join(figure.studies), grouped(figure.runs), duration(figure.seconds), theirs, speed_up))
    heads = ("studies", "runs a point", "computed in", "the authors' code", "times faster")
    return Table(heads, tuple(rows), "Times of one process, beside the authors' code for the same runs")


def _total_times(figures: Sequence[FigureReport]) -> tuple[str, ...]:
    each = _once(figures)
    compared = [figure for figure in each if figure.authors_seconds is not None]
    words = [f"All of it was computed in {duration(sum(figure.seconds for figure in each))} of one process."]
    if compared:
        ours = sum(figure.seconds for figure in compared)
        theirs = sum(figure.authors_seconds or 0.0 for figure in compared)
        words.append(
            f"Where the authors' code can do it, {duration(ours)} stand against {duration(theirs)}: "
            f"{_speed_up(ours, theirs)} as long."
        )
    return tuple(words)


def _once(figures: Sequence[FigureReport]) -> list[FigureReport]:
    """One figure for each set of studies: those that share them share their seconds."""
    return list({figure.studies: figure for figure in reversed(figures)}.values())[::-1]


# ---- words


def _speed_up(ours: float, theirs: float | None) -> str:
    return "–" if theirs is None or ours <= 0 else f"{short(theirs / ours)} ×"


def _date(text: str) -> str:
    """A date and time of ISO 8601, as one reads it."""
    return text.replace("T", " ").replace("+00:00", " UTC")


def _words(value: Any) -> str:
    return in_words(value, LONGEST_WORDS)

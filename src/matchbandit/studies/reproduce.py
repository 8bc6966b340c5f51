"""The paper's figures from scratch, and ours beyond it: studies, pictures with the published numbers, verdicts."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError, check_int, unknown
from matchbandit.extras import need
from matchbandit.figures import Chart, draw_to
from matchbandit.figures.page import Badge, Cell, Page, Section, Table, Tone, write_page
from matchbandit.formatting import duration, grouped, plural
from matchbandit.results import Rows
from matchbandit.results.files import write_atomically
from matchbandit.simulation.parallel import core_count
from matchbandit.studies.claims import ENOUGH_RUNS, FAILS, HOLDS, PARTLY_HOLDS, Claim, not_judged
from matchbandit.studies.folder import StudyFolder, current_time, date_text
from matchbandit.studies.parts import MAX_PART_RUNS
from matchbandit.studies.processes import compile_points
from matchbandit.studies.published import authors_seconds, published
from matchbandit.studies.registry import Entry, entries
from matchbandit.studies.registry import figures as all_figures
from matchbandit.studies.runner import check_size, run_study
from matchbandit.studies.study import Study
from matchbandit.studies.versions import versions

Progress = Callable[[str, int, int], None]
MIN_PARTS = 16
"""Of each study: fewer than the runner would make, for every part is read again by each later call."""
_TONES: dict[str, Tone] = {HOLDS: "good", PARTLY_HOLDS: "part", FAILS: "bad"}
DRAWN = ".pictures.json"
"""Beside the pictures: what each was drawn from, so that it is not drawn again."""


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` has made."""

    claims: list[Claim]
    pictures: list[Path]
    page: Path
    charts: tuple[Chart, ...]
    """What the pictures show, as numbers."""
    seconds: float
    """How long one core computed the runs that are shown, in this call or in one before."""
    authors_seconds: float
    """How long the authors' code would take on one core for the runs of the paper's figures among these."""


@dataclass(frozen=True)
class FigureReport:
    """A figure with its claims, the studies it was drawn from, and how long they took."""

    name: str
    title: str
    charts: tuple[Chart, ...]
    claims: tuple[Claim, ...]
    studies: tuple[str, ...]
    """The studies whose rows it shows; figures of the same studies share their seconds."""
    runs: int
    """Runs per point."""
    seconds: float


def reproduce(
    figures: Sequence[str] | str = (),
    *,
    runs: int | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] = "reproduction",
    workers: int | None = None,
    progress: Progress | None = None,
    allow_other_versions: bool = False,
) -> Reproduction:
    """Draw the paper's figures and ours beyond it into the folder `out`, and judge the claims.

    Every run of a random family plays an instance of its own, drawn from the seed; policies share their instances.
    Each finished part is kept in `out`, so that an interrupted call is continued by the next. More runs are added to
    those that are there; of fewer, the first of those that are there are shown.

    Parameters
    ----------
    figures : names, optional
        Figures, such as "fig1-top", or studies, such as "over-gap", which stands for all its figures; by default
        all but "click-models", which takes minutes.
    runs : int, optional
        Runs per point; by default 100 for the paper's figures, 20 for others, 5 or 10 where no verdict needs them.
    seed : int, default 0
        The root of all randomness. Every seed but 0 has a folder of its own for all of it: `out`/seed-1.
    out : str or path
        The folder for pictures, the page, and the parts of each study.
    workers : int, optional
        Processes; by default one on each core.
    progress : callable, optional
        It is called with the name of the study at work, the runs done and their total.
    allow_other_versions : bool, default False
        Continue with parts of other versions of matchbandit, NumPy or numba.

    Returns
    -------
    Reproduction
        Figures, claims with their verdicts, and the page.
    """
    chosen = _chosen([figures] if isinstance(figures, str) else figures)
    runs = None if runs is None else check_int("runs", runs, minimum=1)
    seed = check_int("seed", seed, minimum=0)
    workers = check_int("workers", core_count() if workers is None else workers, minimum=1)
    need("matplotlib", "drawing")
    need("pyarrow", "keeping results")
    folder = _folder(out, seed)
    plan = {entry.name: _seeded(entry.studies(runs), seed) for entry in chosen}
    needed = {study.name: study for studies in plan.values() for study in studies}
    for study in needed.values():
        check_size(study)
    total, done = sum(study.runs * len(study.points) for study in needed.values()), 0
    folders: dict[str, StudyFolder] = {}
    incomplete = [study for name, study in needed.items() if not _is_complete(study, folder / name)]
    compile_points(
        [point for study in incomplete for point in study.points], lambda *_: None
    )  # before time is estimated
    for name, study in needed.items():
        runs_of_study = study.runs * len(study.points)
        folders[name] = run_study(
            study,
            folder / name,
            workers=workers,
            progress=_overall(progress, name, done, total),
            part_runs=_part_runs(study),
            allow_other_versions=allow_other_versions,
        )
        done += runs_of_study
    if progress:
        progress("drawing", total, total)
    owner = {study.name: entry for entry in reversed(chosen) for study in plan[entry.name]}
    reports = [
        report
        for entry, names in chosen.items()
        for report in reports_of(
            entry, names, plan[entry.name], folders, own=[name for name in needed if owner[name] is entry]
        )
    ]
    charts = tuple(chart for report in reports for chart in report.charts)
    pictures = _pictures(charts, folder)
    theirs = sum(_authors_seconds(entry, plan[entry.name]) for entry in chosen)
    page = reproduction_report(
        reports,
        settings={"runs": "the default of each study" if runs is None else runs, "seed": seed, "workers": workers},
        versions=versions(),
        source=published()["source"],
        authors_seconds=theirs,
    )
    return Reproduction(
        [claim for report in reports for claim in report.claims],
        pictures,
        write_page(page, folder / "index.html"),
        charts,
        sum(folder.seconds for folder in folders.values()),
        theirs,
    )


def _chosen(names: Sequence[str]) -> dict[Entry, list[str]]:
    """The studies of these figures, each with those of its figures that are wanted; by default the quick ones."""
    known, studies = all_figures(), entries()
    for name in names:
        if name not in known and name not in studies:
            raise unknown("figure", name, [*known, *(study for study in studies if study not in known)])
    chosen: dict[Entry, list[str]] = {}
    for figure, entry in known.items():
        if (not names and entry.is_default) or figure in names or entry.name in names:
            chosen.setdefault(entry, []).append(figure)
    return chosen


def _seeded(studies: tuple[Study, ...], seed: int) -> tuple[Study, ...]:
    return tuple(study if study.seed == seed else study.with_(seed=seed) for study in studies)


def _overall(progress: Progress | None, name: str, before: int, total: int) -> Callable[[int, int], None] | None:
    """Progress within a study as progress of all."""
    return None if progress is None else lambda now, _: progress(name, before + now, total)


def _part_runs(study: Study) -> int:
    return min(MAX_PART_RUNS, ceil(study.runs / ceil(MIN_PARTS / len(study.points))))


def _is_complete(study: Study, path: Path) -> bool:
    """Are all runs of all points of this study there?"""
    try:
        folder = StudyFolder.open(path).first_runs(study.runs)
        return folder.study == study and folder.is_complete
    except MatchbanditError:  # nothing there, or nothing that can be read: the runner says so
        return False


def reports_of(
    entry: Entry,
    wanted: Sequence[str],
    studies: tuple[Study, ...],
    folders: Mapping[str, StudyFolder],
    *,
    own: Sequence[str],
) -> list[FigureReport]:
    """The figures of a study: charts, the claims that they show, and how long the studies `own` took."""
    rows = Rows.together([entry.rows(folders[study.name]) for study in studies])
    claims, charts = entry.claims(rows), {chart.name: chart for chart in entry.charts(rows)}
    runs = min(study.runs for study in studies if study.name not in entry.beside)
    if runs < ENOUGH_RUNS:
        claims = not_judged(claims)
    return [
        FigureReport(
            name=name,
            title=charts[name].title,
            charts=(charts[name],),
            claims=tuple(claim for claim in claims if claim.where == name),
            studies=tuple(study.name for study in studies),
            runs=runs,
            seconds=sum(folders[study.name].seconds for study in studies if study.name in own),
        )
        for name in wanted
    ]


def _authors_seconds(entry: Entry, studies: Sequence[Study]) -> float:
    """How long the authors' code would take for these studies; 0 if their figures are not the paper's."""
    return sum(authors_seconds(study) or 0.0 for study in studies) if entry.is_of_paper else 0.0


def _pictures(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Draw what has changed since it was drawn last."""
    try:
        stored = json.loads((folder / DRAWN).read_bytes())
    except (OSError, ValueError):
        stored = {}
    digests = stored if isinstance(stored, dict) else {}
    paths = []
    for chart in charts:
        path, digest = folder / f"{chart.name}.png", digest_of(chart)
        if not path.is_file() or digests.get(chart.name) != digest:
            draw_to(chart, path)
            digests[chart.name] = digest
            write_atomically(folder / DRAWN, json.dumps(digests, indent=1).encode())
        paths.append(path)
    return paths


def digest_of(chart: Chart) -> str:
    """A short name for what a chart shows and for what draws it: the same chart is drawn the same."""
    digest = blake2b(digest_size=16)
    for source in sorted(Path(str(files("matchbandit.figures"))).glob("*.py")):
        digest.update(source.read_bytes())
    digest.update(version("matplotlib").encode())
    digest.update(repr(_plain(chart)).encode())
    return digest.hexdigest()


def _plain(part: Any) -> Any:
    """Data that prints all that it holds."""
    if is_dataclass(part):
        return [(field.name, _plain(getattr(part, field.name))) for field in fields(part)]
    if isinstance(part, np.ndarray):
        return part.tolist()
    return [_plain(each) for each in part] if isinstance(part, tuple) else part


def _folder(out: str | os.PathLike[str], seed: int) -> Path:
    """Where everything of a seed goes."""
    if not os.fspath(out):
        raise MatchbanditError("the folder for what is made needs a name; got ''.")
    folder = Path(out) if seed == 0 else Path(out, f"seed-{seed}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or "it cannot be made"
        raise MatchbanditError(f"cannot write into the folder {os.fspath(out)!r}: {why}. Choose another.") from None
    return folder


def reproduction_report(
    figures: Sequence[FigureReport],
    *,
    settings: Mapping[str, object],
    versions: Mapping[str, str],
    source: str,
    authors_seconds: float = 0.0,
    date: str | None = None,
) -> Page:
    """Build the page of the paper's figures: charts, claims with their verdicts, times, settings and versions.

    `date` is when it was computed, in ISO 8601; by default now.
    """
    claims = [claim for figure in figures for claim in figure.claims]
    rows = {**settings, "date": date_text(current_time() if date is None else date)}
    return Page(
        "The paper's figures, reproduced",
        f"{plural(len(figures), 'figure')}: {_tally(claims)}",
        (
            _summary(figures),
            *(_figure(figure) for figure in figures),
            _times(figures, authors_seconds),
            Section(
                "Settings, versions, source",
                (f"Published numbers: {source}",),
                tables=(
                    Table(("setting", "value"), tuple((key, str(value)) for key, value in rows.items()), "Settings"),
                    Table(("version of", "version"), tuple(versions.items()), "Versions"),
                ),
            ),
        ),
        ("Lines and bands are ours; published numbers are hollow points.",),
    )


def reproduction_page(folders: Mapping[str, StudyFolder]) -> Page:
    """Build the page of what `reproduce` has written: the figures of all studies that are finished.

    Of a study that was interrupted, the first runs count if an earlier or later call finished fewer runs.
    """
    for folder in folders.values():
        folder.check_files()
    shown_runs = {name: folder.first_runs(_finished_runs(folder)) for name, folder in folders.items()}
    finished = {name: folder for name, folder in shown_runs.items() if folder.is_complete}
    reports: list[FigureReport] = []
    shown: list[str] = []
    authors = 0.0
    for entry in entries().values():
        names = [study.name for study in entry.studies(None)]
        if all(name in finished for name in names):
            own = [name for name in names if name not in shown]
            studies = tuple(finished[name].study for name in names)
            reports += reports_of(entry, entry.figures, studies, finished, own=own)
            authors += _authors_seconds(entry, studies)
            shown += own
    if not reports:
        parent = next(iter(folders.values())).path.parent
        raise MatchbanditError(f"no figure is finished in {str(parent)!r} yet. matchbandit reproduce continues there.")
    manifests = [finished[name].manifest for name in shown]
    recorded = [each["versions"] for each in manifests]
    versions = {name: " and ".join(dict.fromkeys(each[name] for each in recorded)) for name in recorded[0]}
    unfinished = [name for name in folders if name not in shown]
    return reproduction_report(
        reports,
        settings={
            "seed": manifests[0]["study"]["seed"],
            **({"not finished": ", ".join(unfinished)} if unfinished else {}),
        },
        versions=versions,
        source=published()["source"],
        authors_seconds=authors,
        date=max(each["updated"] for each in manifests),
    )


def _finished_runs(folder: StudyFolder) -> int:
    """The runs of each point that some call has finished; all of them if the folder is complete."""
    return folder.study.runs if folder.is_complete else folder.manifest.get("finished_runs", 0) or folder.study.runs


def reproduced_studies(path: Path) -> dict[str, StudyFolder]:
    """The studies that `reproduce` has written into a folder, those of the smallest seed; empty if there are none."""
    if not path.is_dir() or (path / "manifest.json").exists():
        return {}
    opened = [StudyFolder.open(file.parent) for file in sorted(path.glob("*/manifest.json"))]
    names = {study.name for entry in entries().values() for study in entry.studies(None)} if opened else set()
    known = [folder for folder in opened if folder.study.name in names]
    seed = min((folder.study.seed for folder in known), default=0)
    return {folder.study.name: folder for folder in known if folder.study.seed == seed}


def _summary(figures: Sequence[FigureReport]) -> Section:
    claims = [claim for figure in figures for claim in figure.claims]
    text = f"{_tally(claims).capitalize()} Each verdict follows from the threshold beside it."
    not_in_full = [claim for claim in claims if claim.verdict in (PARTLY_HOLDS, FAILS)]
    rows = [(figure.title, *_counts(figure.claims), duration(figure.seconds)) for figure in figures]
    tables = [Table(("figure", "hold", "partly", "do not", "computed in"), tuple(rows), "Figures")]
    if not_in_full:
        tables.append(_claims(not_in_full, "Claims that do not hold in full", with_figure=True))
    return Section("Summary", (text,), tables=tuple(tables))


def _tally(claims: Sequence[Claim]) -> str:
    """Count the claims that hold, partly hold, do not, or were not judged.

    >>> _tally([Claim("", "", "", "", verdict) for verdict in ("holds", "holds", "does not hold")])
    '2 claims hold, 1 does not.'
    """
    counts = [sum(claim.verdict == verdict for claim in claims) for verdict in _TONES]
    others = len(claims) - sum(counts)
    forms = [("holds", "hold"), ("partly holds", "partly hold"), ("does not", "do not")]
    texts = [(n, one if n == 1 else many) for n, (one, many) in zip(counts, forms, strict=True) if n]
    texts += [(others, "not judged")] if others else []
    if not texts:
        return "without claims."
    (first, verb), *rest = texts
    return ", ".join([f"{plural(first, 'claim')} {verb}", *(f"{n} {text}" for n, text in rest)]) + "."


def _counts(claims: Sequence[Claim]) -> Iterator[Cell]:
    for verdict, tone in _TONES.items():
        n = sum(claim.verdict == verdict for claim in claims)
        yield Badge(str(n), tone) if n else "–"


def _figure(figure: FigureReport) -> Section:
    text = f"{figure.name}: {plural(figure.runs, 'run')} per point of {', '.join(figure.studies)}, "
    text += f"computed in {duration(figure.seconds)}."
    tables = (_claims(figure.claims, "Claims, with what was measured and the threshold"),) if figure.claims else ()
    return Section(figure.title, (text,), figure.charts, tables)


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


def _times(figures: Sequence[FigureReport], authors_seconds: float) -> Section:
    """The time of each set of studies once, for figures of the same studies share it."""
    each = list({figure.studies: figure for figure in reversed(figures)}.values())[::-1]
    text = [f"All of it was computed in {duration(sum(figure.seconds for figure in each))} of one process."]
    if authors_seconds:
        text.append(f"The authors' code would take {duration(authors_seconds)} for the paper's figures among these.")
    rows = [(", ".join(figure.studies), grouped(figure.runs), duration(figure.seconds)) for figure in each]
    heads = ("studies", "runs per point", "computed in")
    return Section("Times", tuple(text), tables=(Table(heads, tuple(rows), "Times of one process"),))

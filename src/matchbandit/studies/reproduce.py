"""The paper's figures from scratch, and ours beyond it: studies, pictures with the published numbers, verdicts."""

import json
import os
from collections.abc import Callable, Sequence
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
from matchbandit.figures.page import write_page
from matchbandit.results import Rows
from matchbandit.results.files import write_atomically
from matchbandit.simulation.parallel import core_count
from matchbandit.studies.claims import ENOUGH_RUNS, Claim, not_judged
from matchbandit.studies.entry import Entry
from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.on_processes import compile_here
from matchbandit.studies.parts import MOST_RUNS
from matchbandit.studies.published import authors_seconds, published
from matchbandit.studies.registry import entries
from matchbandit.studies.registry import figures as all_figures
from matchbandit.studies.report import FigureReport, reproduction_report
from matchbandit.studies.runner import refuse_too_many_runs, run_study
from matchbandit.studies.study import Study
from matchbandit.studies.versions import versions

Progress = Callable[[str, int, int], None]
LEAST_PARTS = 16
"""Of each study: fewer than the runner would make, for every part is read again by each later call."""
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
        Figures, such as "fig1-top", or studies, such as "over-gap", which stands for all its figures; by default all.
    runs : int, optional
        Runs a point; by default 100 for the paper's figures, and 20 for those beyond (5 or 10 for what is only beside).
    seed : int, default 0
        The root of all randomness. Every seed but 0 has a folder of its own for all of it: `out`/seed-1.
    out : str or path
        The folder for pictures, the page, and the parts of each study.
    workers : int, optional
        Processes; by default one on each core.
    progress : callable, optional
        It is called with the name of the study at work, the runs done and their total.
    allow_other_versions : bool, default False
        Go on with parts that other versions of matchbandit, NumPy or numba have made.

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
        refuse_too_many_runs(study)
    total, done = sum(study.runs * len(study.points) for study in needed.values()), 0
    kept: dict[str, StudyFolder] = {}
    incomplete = [study for name, study in needed.items() if not _is_complete(study, folder / name)]
    compile_here([point for study in incomplete for point in study.points], lambda *_: None)  # before time is estimated
    for name, study in needed.items():
        mine = study.runs * len(study.points)
        kept[name] = _played(
            study,
            folder / name,
            workers=workers,
            progress=_told(progress, name, done, mine, total),
            allow_other_versions=allow_other_versions,
        )
        done += mine
    if progress:
        progress("drawing", total, total)
    owner = {study.name: entry for entry in reversed(chosen) for study in plan[entry.name]}
    reports = [
        report
        for entry, names in chosen.items()
        for report in reports_of(
            entry, names, plan[entry.name], kept, own=[name for name in needed if owner[name] is entry]
        )
    ]
    charts = tuple(chart for report in reports for chart in report.charts)
    pictures = _pictures(charts, folder)
    page = reproduction_report(
        reports,
        settings={"runs": "each study's own" if runs is None else runs, "seed": seed, "workers": workers},
        versions=versions(),
        source=published()["source"],
    )
    return Reproduction(
        [claim for report in reports for claim in report.claims],
        pictures,
        write_page(page, folder / "index.html"),
        charts,
        sum(_seconds(kept[name], study.runs) for name, study in needed.items()),
        sum(_authors(entry, plan[entry.name]) or 0.0 for entry in chosen),
    )


def _chosen(names: Sequence[str]) -> dict[Entry, list[str]]:
    """The studies that are wanted, each with those of its figures that are."""
    known, studies = all_figures(), entries()
    for name in names:
        if name not in known and name not in studies:
            raise unknown("figure", name, [*known, *(study for study in studies if study not in known)])
    chosen: dict[Entry, list[str]] = {}
    for figure, entry in known.items():
        if not names or figure in names or entry.name in names:
            chosen.setdefault(entry, []).append(figure)
    return chosen


def _seeded(studies: tuple[Study, ...], seed: int) -> tuple[Study, ...]:
    return tuple(study if study.seed == seed else study.with_(seed=seed) for study in studies)


def _told(
    progress: Progress | None, name: str, before: int, mine: int, total: int
) -> Callable[[int, int], None] | None:
    """Progress within a study as progress of all."""
    return None if progress is None else lambda now, _: progress(name, before + min(now, mine), total)


def _played(study: Study, path: Path, **how: Any) -> StudyFolder:
    """The folder of a study, played; one that has more runs of all its points already is taken as it is."""
    part_runs = min(MOST_RUNS, ceil(study.runs / ceil(LEAST_PARTS / len(study.points))))
    in_force = StudyFolder.open(path).study if _is_complete(study, path) else study
    return run_study(in_force, path, part_runs=part_runs, **how)


def _is_complete(study: Study, path: Path) -> bool:
    """Are all runs of all points of this study there, or more?"""
    try:
        there = StudyFolder.open(path)
        return there.study.runs >= study.runs and there.study.with_(runs=study.runs) == study and there.is_complete
    except MatchbanditError:  # nothing there, or nothing that can be read: the runner says so
        return False


def reports_of(
    entry: Entry,
    wanted: Sequence[str],
    studies: tuple[Study, ...],
    kept: dict[str, StudyFolder],
    *,
    own: Sequence[str],
) -> list[FigureReport]:
    """The figures of a study: charts, the claims that they show, and how long its own parts took."""
    rows = Rows.together([_first_runs(entry.rows(kept[study.name]), study.runs) for study in studies])
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
            seconds=sum(_seconds(kept[study.name], study.runs) for study in studies if study.name in own),
            authors_seconds=_authors(entry, studies),
        )
        for name in wanted
    ]


def _seconds(folder: StudyFolder, runs: int) -> float:
    """How long so many runs of a study took; of one that has more, their share."""
    return folder.seconds * min(1.0, runs / folder.study.runs)


def _authors(entry: Entry, studies: tuple[Study, ...]) -> float | None:
    times = [authors_seconds(study) for study in studies] if entry.is_of_paper else []
    return sum(time for time in times if time is not None) if times else None


def _first_runs(rows: Rows, runs: int) -> Rows:
    """The rows of the first runs, if there are more."""
    if (rows["run"] < runs).all():
        return rows
    table = rows.to_frame("arrow")
    return Rows.from_table(table.filter(need("pyarrow.compute", "rows of results").less(table["run"], runs)))


def _pictures(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Draw what has changed since it was drawn last."""
    try:
        before = json.loads((folder / DRAWN).read_bytes())
    except (OSError, ValueError):
        before = {}
    drawn = before if isinstance(before, dict) else {}
    made = []
    for chart in charts:
        path, digest = folder / f"{chart.name}.png", digest_of(chart)
        there = path.is_file() and path.with_suffix(".pdf").is_file()
        if not there or drawn.get(chart.name) != digest:
            draw_to(chart, path)
            drawn[chart.name] = digest
            write_atomically(folder / DRAWN, json.dumps(drawn, indent=1).encode())
        made.append(path)
    return made


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

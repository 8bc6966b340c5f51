"""Run a study: every part is kept as soon as it is finished, and the next call goes on where one has stopped."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError, check_int
from matchbandit.extras import need
from matchbandit.policies import PlannedPolicy
from matchbandit.progress import StudyProgress, in_notebook, study_bar
from matchbandit.results.tables import parameter_types
from matchbandit.simulation.limits import refuse_too_large
from matchbandit.simulation.parallel import pass_on
from matchbandit.studies.changes import changes
from matchbandit.studies.folder import (
    PartFile,
    StudyFolder,
    add_columns,
    claimed,
    keep,
    listed,
    part_files,
    read_manifest,
    remove_damaged,
    remove_empty,
    this_process,
    today,
    write_manifest,
)
from matchbandit.studies.on_dask import connected, refuse_no_address
from matchbandit.studies.on_processes import play_on_processes
from matchbandit.studies.parts import MOST_RUNS, Finished, Part, plan
from matchbandit.studies.point import Point
from matchbandit.studies.study import Study
from matchbandit.studies.versions import fingerprints, other_versions, versions
from matchbandit.user_code import UserCodeError

if TYPE_CHECKING:
    import pyarrow as pa


BYTES_PER_PART = 500
"""What a part that is still to be played takes in memory; the results of others are on disk."""


def refuse_too_many_runs(study: Study) -> None:
    """Refuse runs that no machine could plan or play."""
    rounds = 0
    if study.horizon is not None:
        one_by_one = [point for point in study.points if not issubclass(point.spec.kind, PlannedPolicy)]
        rounds = sum(point.horizon or 0 for point in one_by_one) // len(study.points)
    refuse_too_large(
        study.runs,
        numbers_per_run=0,
        rounds_per_run=rounds,
        points=len(study.points),
        bytes_per_run=BYTES_PER_PART / MOST_RUNS,
    )


class StoppedStudy(KeyboardInterrupt):
    """Ctrl-C in a study: what was finished is kept."""


Progress = Callable[[int, int], None] | bool | None


def run_study(
    study: Study,
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress = None,
    part_runs: int | None = None,
    allow_other_versions: bool = False,
) -> StudyFolder:
    """Play all runs of all points of a study into the folder `out`, but for those that are there already.

    Parameters
    ----------
    study : Study
        What to play.
    out : str or path
        The folder: `manifest.json`, `rows/*.parquet`, `details/*.parquet`.
    workers : int, optional
        Processes; by default one on each core. With `dask="local"`, dask's.
    dask : str, optional
        The address of a dask scheduler, or "local" for one of its own.
    progress : bool or callable, optional
        True shows a bar, False nothing; by default a notebook shows one. A function is called with the number of runs
        done and their total.
    part_runs : int, optional
        Runs of a part, at most 2000: what a stop can cost. By default such that there are 256 parts, if each has
        50 runs, and at least 64.
    allow_other_versions : bool, default False
        Go on with parts that other versions of matchbandit, NumPy, numba or modules of yours have made.

    Returns
    -------
    StudyFolder
        The runs of this study; if the folder holds more runs of each point, the first of them.

    The numbers depend on none of these. A change of the study to which some part would no longer belong is refused,
    but for fewer runs: those that are there are used, and the others stay in the folder.
    """
    need("pyarrow", "keeping results")
    workers = None if workers is None else check_int("workers", workers, minimum=1)
    if part_runs is not None:
        part_runs = check_int("part_runs", part_runs, minimum=1, maximum=MOST_RUNS)
    if dask is not None:
        refuse_no_address(dask)
    points = study.points
    refuse_too_many_runs(study)
    is_new = not Path(out).exists()
    columns, own, now = _columns(points), fingerprints(points), versions()
    with claimed(out) as folder, _shown(study.name, progress) as show:
        before = read_manifest(folder) or {}
        there = part_files(folder)
        _refuse_orphans(study, before.get("study"), there)
        _refuse_twice(there)
        kept = _whole_parts(folder, there, {**now, **own}, allow_other_versions)
        for part in kept:
            add_columns(part, columns)
        described = {
            "study": {**study.describe(), "runs": _largest_runs(study, before, kept)},
            "points": [point.key for point in points],
            "versions": now,
            "own": own,
            "begun": before.get("begun", today()),
            "finished_runs": before.get("finished_runs", 0),
        }
        ledger = _Ledger(folder, described, kept, study.runs, len(points), show)
        ledger.write(running=True)
        intervals = {point.key: [part.interval for part in kept if part.key == point.key] for point in points}
        planned = partial(plan, points, intervals, study.runs, part_runs)
        try:
            if not planned():
                ledger.tick(0)
            elif dask is None:
                parts = ledger.plan(planned())
                play_on_processes(parts, columns, own, workers=workers, keep=ledger.keep, tick=ledger.tick)
            else:
                ledger.tick(0, f"connecting to {dask}")
                with connected(dask, workers, allow_other_versions=allow_other_versions) as cluster:
                    parts = ledger.plan(planned(cluster.threads))
                    cluster.play(parts, columns, own, keep=ledger.keep, tick=ledger.tick)
        except (MatchbanditError, KeyboardInterrupt) as error:
            if ledger.has_begun:
                with suppress(MatchbanditError):  # a full disk has no room for it either
                    ledger.write()
            elif not before:
                remove_empty(folder, itself=is_new)
            if isinstance(error, MatchbanditError):
                kind = UserCodeError if isinstance(error, UserCodeError) else MatchbanditError
                raise kind(f"{error} {ledger.left_over()}".rstrip()) from error
            raise StoppedStudy(ledger.left_over()) from None
        ledger.write(finished=True)
    return StudyFolder.open(out).first_runs(study.runs)


def _largest_runs(study: Study, before: Mapping[str, Any], kept: Sequence[PartFile]) -> int:
    """The runs of the study that the folder holds: more than requested if there are parts of a larger study."""
    if all(part.interval[1] <= study.runs for part in kept):
        return study.runs
    return max(int(before.get("study", {}).get("runs", 0)), *(part.interval[1] for part in kept))


class _Ledger:
    """What is finished, on disk and in numbers."""

    def __init__(
        self,
        folder: Path,
        described: dict[str, Any],
        kept: Sequence[PartFile],
        runs: int,
        points: int,
        show: Callable[[StudyProgress], None],
    ) -> None:
        self._folder, self._described, self._show = folder, described, show
        self._earlier = self._runs = sum(part.runs_below(runs) for part in kept)
        self._parts = self._total_parts = len(kept)
        self._seconds = sum(part.seconds for part in kept)
        self._runs_beyond = sum(part.runs for part in kept) - self._runs
        self._runs_per_point, self._total_runs = runs, runs * points
        self._said: set[str] = set()

    def plan(self, parts: list[Part]) -> list[Part]:
        """Note what is to be played."""
        self._total_parts = self._parts + len(parts)
        return parts

    def keep(self, part: Finished) -> None:
        """Write a part, and count it."""
        pass_on(part.messages, self._said)
        keep(self._folder, part)
        self._runs += part.runs
        self._parts += 1
        self._seconds += part.seconds

    def tick(self, under_way: int, doing: str = "") -> None:
        """Show how far it is."""
        done = self._runs + under_way
        self._show(StudyProgress(done, self._total_runs, self._parts, self._total_parts, self._earlier, doing))

    def write(self, *, running: bool = False, finished: bool = False) -> None:
        """Write the manifest."""
        counts: dict[str, Any] = {"parts": self._parts, "runs": self._runs + self._runs_beyond}
        counts["seconds"] = round(self._seconds, 3)
        if finished:
            counts["finished_runs"] = max(self._described["finished_runs"], self._runs_per_point)
        at_work = {"running": this_process()} if running else {}
        write_manifest(self._folder, {**self._described, "updated": today(), **counts, **at_work})

    @property
    def has_begun(self) -> bool:
        """Are there parts, or has it come so far as to plan them?"""
        return self._total_parts > 0

    def left_over(self) -> str:
        """What remains after an error, and how to go on."""
        if not self.has_begun:
            return ""
        kept, total = len(part_files(self._folder)), self._total_parts
        return f"{kept} of {total} parts are kept in {str(self._folder)!r}; the same command goes on from there."


def _whole_parts(
    folder: Path, there: Sequence[PartFile], now: Mapping[str, str], allow_other_versions: bool
) -> list[PartFile]:
    """The parts that are whole; others are named and removed, unless all is refused for what made them."""
    wrong = {part: part.damage() for part in there}
    whole = [part for part in there if wrong[part] is None]
    if not allow_other_versions:
        others = dict.fromkeys(words for part in whole for words in other_versions(part.made_with, now))
        if others:
            raise MatchbanditError(
                f"the parts in {str(folder)!r} were made by others: {listed([*others])}. Go on all the same with "
                f"--allow-other-versions (allow_other_versions=True), or choose another folder (--out)."
            )
    removed = remove_damaged(folder, wrong)
    if removed:
        warnings.warn(f"in {str(folder)!r}, {listed(removed)}; played again.", stacklevel=3)
    return whole


def _refuse_orphans(study: Study, before: Mapping[str, Any] | None, there: Sequence[PartFile]) -> None:
    """Refuse a study that no longer has a place for some part, and name what has changed."""
    keys = {point.key for point in study.points}
    orphans = [part for part in there if part.key not in keys]
    renamed = before is not None and there and before.get("name") != study.name
    if not orphans and not renamed:
        return
    differing = changes(before, study.describe()) if before is not None else []
    if not differing:
        differing = [f"rows/{part.path.name} belongs to another" for part in orphans]
    folder = (orphans or there)[0].path.parent.parent
    raise MatchbanditError(
        f"{str(folder)!r} holds parts of another study: {listed(differing)}. "
        f"Undo that, or choose another folder (--out)."
    )


def _refuse_twice(there: Sequence[PartFile]) -> None:
    """Refuse two parts that hold the same run."""
    ordered = sorted(there, key=lambda part: (part.key, part.first))
    for one, next_one in pairwise(ordered):
        if one.key == next_one.key and next_one.first < one.first + one.runs:
            raise MatchbanditError(
                f"{str(one.path)!r} and {next_one.path.name!r} hold the same runs. Remove one of them."
            )


def _columns(points: Iterable[Point]) -> "dict[str, pa.DataType]":
    """A column for each parameter of any problem of the study; whole numbers and others together are numbers."""
    pa = need("pyarrow", "keeping results")
    columns: dict[str, Any] = {}
    for point in points:
        for name, kind in parameter_types(point.problem.describe()).items():
            before = columns.setdefault(name, kind)
            if before != kind:
                if {before, kind} != {pa.int64(), pa.float64()}:
                    raise MatchbanditError(
                        f"the column {name!r} would be {before} for one problem and {kind} for another. "
                        f"Rename the parameter, or make two studies."
                    )
                columns[name] = pa.float64()
    return columns


@contextmanager
def _shown(title: str, progress: Progress) -> Iterator[Callable[[StudyProgress], None]]:
    """Where to show the progress; by default in a notebook only."""
    if progress is True or (progress is None and in_notebook()):
        with study_bar(title) as show:
            yield show
    elif callable(progress):
        yield lambda now: progress(now.runs, now.total_runs)
    else:
        yield lambda _: None

"""Run a study: every part is written as soon as it is finished, and the next call continues where one has stopped."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError, check_int, warn_user
from matchbandit.extras import need
from matchbandit.progress import StudyProgress, in_notebook, study_bar
from matchbandit.results.tables import parameter_types
from matchbandit.simulation.limits import refuse_too_large
from matchbandit.simulation.parallel import pass_on
from matchbandit.simulation.play import count_single_rounds
from matchbandit.studies.changes import changes
from matchbandit.studies.dask_cluster import check_address, connect
from matchbandit.studies.folder import (
    PartFile,
    StudyFolder,
    add_columns,
    current_time,
    first_few,
    lock_folder,
    part_files,
    process_info,
    read_manifest,
    remove_damaged,
    remove_empty,
    write_manifest,
    write_part,
)
from matchbandit.studies.parts import MAX_PART_RUNS, FinishedPart, Part, plan
from matchbandit.studies.points import Point
from matchbandit.studies.processes import play_in_processes
from matchbandit.studies.study import Study
from matchbandit.studies.versions import fingerprints, other_versions, versions
from matchbandit.user_code import UserCodeError

if TYPE_CHECKING:
    import pyarrow as pa


BYTES_PER_PART = 500
"""What a part that is still to be played takes in memory; the results of others are on disk."""


def check_size(study: Study) -> None:
    """Refuse a number of runs that no machine could plan or play."""
    rounds = 0
    if study.horizon is not None:
        counts = [count_single_rounds(point.problem, point.spec.kind, point.horizon or 0) for point in study.points]
        rounds = sum(counts) // len(counts)
    refuse_too_large(
        study.runs,
        numbers_per_run=0,
        rounds_per_run=rounds,
        points=len(study.points),
        bytes_per_run=BYTES_PER_PART / MAX_PART_RUNS,
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
        Continue with parts of other versions of matchbandit, NumPy, numba or user-defined modules.

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
        part_runs = check_int("part_runs", part_runs, minimum=1, maximum=MAX_PART_RUNS)
    if dask is not None:
        check_address(dask)
    points = study.points
    check_size(study)
    is_new = not Path(out).exists()
    columns, user_code, now = _columns(points), fingerprints(points), versions()
    with lock_folder(out) as folder, _progress_display(study.name, progress) as show:
        before = read_manifest(folder) or {}
        files = part_files(folder)
        _check_orphans(study, before.get("study"), files)
        _check_overlaps(files)
        valid = _valid_parts(folder, files, {**now, **user_code}, allow_other_versions)
        for part in valid:
            add_columns(part, columns)
        manifest = {
            "study": {**study.describe(), "runs": _largest_runs(study, before, valid)},
            "points": [point.key for point in points],
            "versions": now,
            "own": user_code,
            "begun": before.get("begun", current_time()),
            "finished_runs": before.get("finished_runs", 0),
        }
        state = _RunState(folder, manifest, valid, study.runs, len(points), show)
        state.write(running=True)
        intervals = {point.key: [part.interval for part in valid if part.key == point.key] for point in points}
        planned = partial(plan, points, intervals, study.runs, part_runs)
        try:
            if not planned():
                state.tick(0)
            elif dask is None:
                parts = state.plan(planned())
                play_in_processes(parts, columns, user_code, workers=workers, keep=state.keep, tick=state.tick)
            else:
                state.tick(0, f"connecting to {dask}")
                with connect(dask, workers, allow_other_versions=allow_other_versions) as cluster:
                    parts = state.plan(planned(cluster.threads))
                    cluster.play(parts, columns, user_code, keep=state.keep, tick=state.tick)
        except (MatchbanditError, KeyboardInterrupt) as error:
            if state.has_begun:
                with suppress(MatchbanditError):  # a full disk has no room for it either
                    state.write()
            elif not before:
                remove_empty(folder, itself=is_new)
            if isinstance(error, MatchbanditError):
                kind = UserCodeError if isinstance(error, UserCodeError) else MatchbanditError
                raise kind(f"{error} {state.kept_text()}".rstrip()) from error
            raise StoppedStudy(state.kept_text()) from None
        state.write(finished=True)
    return StudyFolder.open(out).first_runs(study.runs)


def _largest_runs(study: Study, before: Mapping[str, Any], valid: Sequence[PartFile]) -> int:
    """The runs of the study that the folder holds: more than requested if there are parts of a larger study."""
    if all(part.interval[1] <= study.runs for part in valid):
        return study.runs
    return max(int(before.get("study", {}).get("runs", 0)), *(part.interval[1] for part in valid))


class _RunState:
    """What is finished, on disk and in numbers."""

    def __init__(
        self,
        folder: Path,
        manifest: dict[str, Any],
        valid: Sequence[PartFile],
        runs: int,
        points: int,
        show: Callable[[StudyProgress], None],
    ) -> None:
        self._folder, self._manifest, self._show = folder, manifest, show
        self._earlier = self._runs = sum(part.runs_below(runs) for part in valid)
        self._parts = self._total_parts = len(valid)
        self._seconds = sum(part.seconds for part in valid)
        self._runs_beyond = sum(part.runs for part in valid) - self._runs
        self._runs_per_point, self._total_runs = runs, runs * points
        self._warned: set[str] = set()

    def plan(self, parts: list[Part]) -> list[Part]:
        """Count the parts that are to be played, and return them."""
        self._total_parts = self._parts + len(parts)
        return parts

    def keep(self, part: FinishedPart) -> None:
        """Write a part, and count it."""
        pass_on(part.messages, self._warned)
        write_part(self._folder, part)
        self._runs += part.runs
        self._parts += 1
        self._seconds += part.seconds

    def tick(self, under_way: int, doing: str = "") -> None:
        """Show the progress."""
        done = self._runs + under_way
        self._show(StudyProgress(done, self._total_runs, self._parts, self._total_parts, self._earlier, doing))

    def write(self, *, running: bool = False, finished: bool = False) -> None:
        """Write the manifest."""
        counts: dict[str, Any] = {"parts": self._parts, "runs": self._runs + self._runs_beyond}
        counts["seconds"] = round(self._seconds, 3)
        if finished:
            counts["finished_runs"] = max(self._manifest["finished_runs"], self._runs_per_point)
        at_work = {"running": process_info()} if running else {}
        write_manifest(self._folder, {**self._manifest, "updated": current_time(), **counts, **at_work})

    @property
    def has_begun(self) -> bool:
        """Are there parts, or has it come so far as to plan them?"""
        return self._total_parts > 0

    def kept_text(self) -> str:
        """Say what is on disk after an error, and how to continue."""
        if not self.has_begun:
            return ""
        parts, total = len(part_files(self._folder)), self._total_parts
        return f"{parts} of {total} parts are kept in {str(self._folder)!r}; the same command goes on from there."


def _valid_parts(
    folder: Path, files: Sequence[PartFile], now: Mapping[str, str], allow_other_versions: bool
) -> list[PartFile]:
    """The parts that are whole; others are named and removed, unless all is refused for what made them."""
    damage = {part: part.damage() for part in files}
    valid = [part for part in files if damage[part] is None]
    if not allow_other_versions:
        differences = dict.fromkeys(text for part in valid for text in other_versions(part.made_with, now))
        if differences:
            raise MatchbanditError(
                f"the parts in {str(folder)!r} were made by other versions: {first_few([*differences])}. Continue with "
                f"--allow-other-versions (allow_other_versions=True), or choose another folder (--out)."
            )
    removed = remove_damaged(folder, damage)
    if removed:
        warn_user(f"in {str(folder)!r}, {first_few(removed)}; played again.")
    return valid


def _check_orphans(study: Study, before: Mapping[str, Any] | None, files: Sequence[PartFile]) -> None:
    """Refuse a study that no longer has a place for some part, and name what has changed."""
    keys = {point.key for point in study.points}
    orphans = [part for part in files if part.key not in keys]
    renamed = before is not None and files and before.get("name") != study.name
    if not orphans and not renamed:
        return
    changed = changes(before, study.describe()) if before is not None else []
    if not changed:
        changed = [f"rows/{part.path.name} belongs to another" for part in orphans]
    folder = (orphans or files)[0].path.parent.parent
    raise MatchbanditError(
        f"{str(folder)!r} holds parts of another study: {first_few(changed)}. "
        f"Undo that, or choose another folder (--out)."
    )


def _check_overlaps(files: Sequence[PartFile]) -> None:
    """Refuse two parts that hold the same run."""
    ordered = sorted(files, key=lambda part: (part.key, part.first))
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
def _progress_display(title: str, progress: Progress) -> Iterator[Callable[[StudyProgress], None]]:
    """Where to show the progress; by default in a notebook only."""
    if progress is True or (progress is None and in_notebook()):
        with study_bar(title) as show:
            yield show
    elif callable(progress):
        yield lambda now: progress(now.runs, now.total_runs)
    else:
        yield lambda _: None

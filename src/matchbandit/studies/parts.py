"""A part of a study: some runs of one point, played in one go, as two files in memory."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from math import ceil
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.results.files import encode_parquet
from matchbandit.results.tables import details_table, metadata_of, rows_table
from matchbandit.simulation.engines import choose_engine
from matchbandit.simulation.parallel import recorded_warnings
from matchbandit.simulation.play import Job, build_first, compile_first
from matchbandit.studies.points import Point
from matchbandit.studies.versions import fingerprints, versions
from matchbandit.user_code import UserCodeError, summarize_error

if TYPE_CHECKING:
    import pyarrow as pa

MAX_PART_RUNS = 2000
"""No part has more: what a crash can cost."""
MIN_PARTS_PER_STUDY = 64
"""As many parts as a study has at least, if it has the runs: they keep workers busy until the end."""
TARGET_PARTS, MIN_PART_RUNS = 256, 50
"""As many parts as a study has, so that a stop costs little, unless they would have fewer runs than this: keeping a
part takes a hundredth of a second, and a run may take a thousandth."""

Interval = tuple[int, int]
"""The first run, and the one after the last."""


@dataclass(frozen=True)
class Part:
    """The runs `first` … `last` of a point."""

    point: Point
    first: int
    runs: int

    @property
    def last(self) -> int:
        """The number of its last run."""
        return self.first + self.runs - 1

    @property
    def name(self) -> str:
        """The name of its files: policy, key of the point, first and last run."""
        policy = re.sub(r"[^A-Za-z0-9._]+", "-", self.point.spec.name)[:60].strip("-.") or "policy"
        return f"{policy}-{self.point.key}-{self.first:09}-{self.last:09}.parquet"


class FinishedPart(NamedTuple):
    """A part that was played, as the bytes of its two files."""

    name: str
    runs: int
    rows: bytes
    details: bytes
    seconds: float
    made_with: dict[str, str]
    """Versions, and fingerprints of own modules, where it was played."""
    messages: list[Warning]
    """What its runs warned of."""


def plan(
    points: Sequence[Point],
    intervals: Mapping[str, Iterable[Interval]],
    runs: int,
    part_runs: int | None,
    threads: int = 0,
) -> list[Part]:
    """Plan the parts that are still to be played: all runs of all points but those in `intervals`, which are there.

    Parts of `part_runs` runs; by default such that there are 256 in all, or as many as have 50 runs, but at least 64,
    or four for each thread. First parts of all points come first, so that what one sees early, and the time left, is
    of all of them.
    """
    if part_runs is None:
        small, large = (
            ceil(runs / ceil(wanted / max(1, len(points))))
            for wanted in (max(TARGET_PARTS, 4 * threads), max(MIN_PARTS_PER_STUDY, 4 * threads))
        )
        part_runs = min(MAX_PART_RUNS, max(1, small, min(large, MIN_PART_RUNS)))
    parts = [
        (first, at, Part(point, first, min(part_runs, end - first)))
        for at, point in enumerate(points)
        for start, end in _gaps(sorted(intervals.get(point.key, ())), runs)
        for first in range(start, end, part_runs)
    ]
    return [part for _, _, part in sorted(parts, key=lambda each: each[:2])]


def _gaps(intervals: Sequence[Interval], runs: int) -> list[Interval]:
    """What lies between the intervals, up to the last run; intervals may go beyond it.

    >>> _gaps([(0, 5), (7, 9)], 12), _gaps([(2, 6), (30, 40)], 12)
    ([(5, 7), (9, 12)], [(0, 2), (6, 12)])
    """
    ends = [0, *(end for _, end in intervals)]
    starts = [*(min(start, runs) for start, _ in intervals), runs]
    return [(end, start) for end, start in zip(ends, starts, strict=True) if end < start]


def play_part(
    part: Part,
    columns: Mapping[str, Any],
    user_code: Mapping[str, str],
    on_progress: Callable[[int, int], None] | None = None,
) -> FinishedPart:
    """Play a part in this process; `user_code` has the fingerprints that the user's modules must have here."""
    now = fingerprints([part.point])
    differing = [name for name in user_code if now.get(name, user_code[name]) != user_code[name]]
    if differing:
        raise MatchbanditError(
            f"a worker has another version of your {differing[0]} than this process. "
            f"Restart the workers, or install the same on all."
        )
    try:
        _compile_once(part.point)
        start = thread_time()
        with recorded_warnings() as messages:
            result = part.point.play(part.first, part.runs, progress=on_progress)
    except MatchbanditError:
        raise
    except Exception as error:
        if not part.point.user_modules:
            raise
        message = summarize_error(error, *part.point.user_modules)
        raise UserCodeError(f"{part.point.title}, runs {part.first} to {part.last}: {message}.") from error
    seconds = thread_time() - start
    details = encode_parquet(details_table(result), metadata_of(result))
    made_with = {**versions(), **now}
    metadata = {
        **metadata_of(result),
        "study": part.point.study,
        "point": part.point.describe(),
        "key": part.point.key,
        "first_run": part.first,
        "runs": part.runs,
        "versions": versions(),
        "own": now,
        "seconds": seconds,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "details": digest_of(details),
    }
    rows = with_checksum(rows_table(result, study=part.point.study, columns=columns), metadata)
    return FinishedPart(part.name, part.runs, rows, details, seconds, made_with, messages)


def compilation_key(point: Point) -> tuple[object, ...]:
    """Points for which this is equal run the same compiled code."""
    return point.spec.kind, type(point.problem.graph), point.problem.rewards.describe()["name"], point.engine


def compiled_job(point: Point) -> Job | None:
    """The first round of its compiled loop; None if it has none."""
    job = Job(point.problem, point.spec, np.array([1]), point.seed, point.engine, point.known_rounds, point.stop)
    job = replace(job, engine=choose_engine(point.engine, build_first(job).policy))
    return job if job.engine == "loop" else None


_compiled_here: set[tuple[object, ...]] = set()
"""What this process has compiled, or read, before it played a part."""


def _compile_once(point: Point) -> None:
    """Compile what a part needs before its clock starts: a worker may be the first on its machine."""
    if compilation_key(point) not in _compiled_here:
        job = compiled_job(point)
        if job is not None:
            with recorded_warnings():
                compile_first(job)
        _compiled_here.add(compilation_key(point))


def digest_of(data: bytes) -> str:
    """Length and hash of a file: any damage to it shows."""
    return f"{len(data)}-{_hash(data)}"


def with_checksum(table: "pa.Table", metadata: Mapping[str, Any]) -> bytes:
    """Encode the table as a Parquet file with a hash of itself: Parquet has checksums of pages, but not of the rest."""
    data = encode_parquet(table, {**metadata, _CHECKSUM_KEY: _BLANK_CHECKSUM})
    return data.replace(_BLANK_CHECKSUM.encode(), _hash(data).encode())


def has_valid_checksum(data: bytes, metadata: Mapping[str, Any]) -> bool:
    """Return whether this file is what `with_checksum` returned, to the last bit."""
    checksum = str(metadata.get(_CHECKSUM_KEY))
    blank = data.replace(checksum.encode(), _BLANK_CHECKSUM.encode())
    return len(checksum) == len(_BLANK_CHECKSUM) and len(blank) == len(data) and _hash(blank) == checksum


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


_CHECKSUM_KEY, _BLANK_CHECKSUM = "seal", "not sealed yet".ljust(32, ".")
"""The key in the metadata, and the text that is hashed in its place: both are part of the file format."""

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
from matchbandit.studies.point import Point
from matchbandit.studies.versions import fingerprints, versions
from matchbandit.user_code import UserCodeError, summarize_error

if TYPE_CHECKING:
    import pyarrow as pa

MOST_RUNS = 2000
"""No part has more: what a crash can cost."""
ENOUGH_PARTS = 64
"""As many parts as a study has at least, if it has the runs: they keep workers busy until the end."""
WANTED_PARTS, LEAST_RUNS = 256, 50
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


class Finished(NamedTuple):
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
    points: Sequence[Point], kept: Mapping[str, Iterable[Interval]], runs: int, part_runs: int | None, threads: int = 0
) -> list[Part]:
    """The parts that are still to be played: all runs of all points but those that are kept.

    Parts of `part_runs` runs; by default such that there are 256 in all, or as many as have 50 runs, but at least 64,
    or four for each thread. First parts of all points come first, so that what one sees early, and the time left, is
    of all of them.
    """
    if part_runs is None:
        small, large = (
            ceil(runs / ceil(wanted / max(1, len(points))))
            for wanted in (max(WANTED_PARTS, 4 * threads), max(ENOUGH_PARTS, 4 * threads))
        )
        part_runs = min(MOST_RUNS, max(1, small, min(large, LEAST_RUNS)))
    parts = [
        (first, at, Part(point, first, min(part_runs, end - first)))
        for at, point in enumerate(points)
        for start, end in _gaps(sorted(kept.get(point.key, ())), runs)
        for first in range(start, end, part_runs)
    ]
    return [part for _, _, part in sorted(parts, key=lambda each: each[:2])]


def _gaps(kept: Sequence[Interval], runs: int) -> list[Interval]:
    """What lies between the intervals, up to the last run; intervals may go beyond it.

    >>> _gaps([(0, 5), (7, 9)], 12), _gaps([(2, 6), (30, 40)], 12)
    ([(5, 7), (9, 12)], [(0, 2), (6, 12)])
    """
    ends = [0, *(end for _, end in kept)]
    starts = [*(min(start, runs) for start, _ in kept), runs]
    return [(end, start) for end, start in zip(ends, starts, strict=True) if end < start]


def play_part(
    part: Part, columns: Mapping[str, Any], own: Mapping[str, str], tell: Callable[[int, int], None] | None = None
) -> Finished:
    """Play a part in this process; `own` are the fingerprints that the user's modules must have here."""
    now = fingerprints([part.point])
    differing = [name for name in own if now.get(name, own[name]) != own[name]]
    if differing:
        raise MatchbanditError(
            f"a worker has another version of your {differing[0]} than this process. "
            f"Restart the workers, or install the same on all."
        )
    try:
        _compile_once(part.point)
        began = thread_time()
        with recorded_warnings() as messages:
            result = part.point.play(part.first, part.runs, tell=tell)
    except MatchbanditError:
        raise
    except Exception as error:
        if not part.point.own_modules:
            raise
        told = summarize_error(error, *part.point.own_modules)
        raise UserCodeError(f"{part.point.title}, runs {part.first} to {part.last}: {told}.") from error
    seconds = thread_time() - began
    details = encode_parquet(details_table(result), metadata_of(result))
    made_with = {**versions(), **now}
    kept = {
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
    rows = sealed(rows_table(result, study=part.point.study, columns=columns), kept)
    return Finished(part.name, part.runs, rows, details, seconds, made_with, messages)


def compiles_as(point: Point) -> tuple[object, ...]:
    """Points for which this is equal run the same compiled code."""
    return point.spec.kind, type(point.problem.graph), point.problem.rewards.describe()["name"], point.engine


def loop_of(point: Point) -> Job | None:
    """The first round of its compiled loop; None if it has none."""
    job = Job(point.problem, point.spec, np.array([1]), point.seed, point.engine, point.known_rounds, point.stop)
    job = replace(job, engine=choose_engine(point.engine, build_first(job).policy))
    return job if job.engine == "loop" else None


_compiled_here: set[tuple[object, ...]] = set()
"""What this process has compiled, or read, before it played a part."""


def _compile_once(point: Point) -> None:
    """Compile what a part needs before its clock starts: a worker may be the first on its machine."""
    if compiles_as(point) not in _compiled_here:
        job = loop_of(point)
        if job is not None:
            with recorded_warnings():
                compile_first(job)
        _compiled_here.add(compiles_as(point))


def digest_of(data: bytes) -> str:
    """Length and hash of a file: any damage to it shows."""
    return f"{len(data)}-{_hash(data)}"


def sealed(table: "pa.Table", metadata: Mapping[str, Any]) -> bytes:
    """The table as a Parquet file that says a hash of itself: pages have check sums of their own, the rest has none."""
    data = encode_parquet(table, {**metadata, "seal": _UNSEALED})
    return data.replace(_UNSEALED.encode(), _hash(data).encode())


def is_whole(data: bytes, metadata: Mapping[str, Any]) -> bool:
    """Is this file what was `sealed`, to the last bit?"""
    seal = str(metadata.get("seal"))
    plain = data.replace(seal.encode(), _UNSEALED.encode())
    return len(seal) == len(_UNSEALED) and len(plain) == len(data) and _hash(plain) == seal


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


_UNSEALED = "not sealed yet".ljust(32, ".")

"""Parts of a study on processes of this machine."""

import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from typing import Any

from matchbandit.simulation.parallel import fork_context, signals_held, worker_count, worker_processes
from matchbandit.simulation.play import compile_first
from matchbandit.studies.parts import FinishedPart, Part, compilation_key, compiled_job, play_part
from matchbandit.studies.points import Point

POLL_S = 0.2
"""Seconds between two looks at how far the runs have come."""

_counts: Any = None
"""In a worker: the runs done of each part, shared with the parent. It has no lock, which a killed worker could keep."""


def play_in_processes(
    parts: Sequence[Part],
    columns: Mapping[str, Any],
    user_code: Mapping[str, str],
    *,
    workers: int | None,
    keep: Callable[[FinishedPart], None],
    tick: Callable[[int, str], None],
) -> None:
    """Play the parts; `keep` gets each as it is finished, `tick` the runs under way and what is done meanwhile."""
    compile_points([part.point for part in parts], tick)
    if multiprocessing.current_process().daemon:  # it may not have children
        for part in parts:
            keep(play_part(part, columns, user_code, lambda done, _: tick(done, "")))
            tick(0, "")
        return
    counts: Any = fork_context().RawArray("q", len(parts))
    number = worker_count(workers, len(parts))
    waiting = iter(enumerate(parts))
    under_way: dict[Future[FinishedPart], int] = {}
    with worker_processes(number, _share, counts) as pool:
        while True:
            with signals_held():
                for at, part in islice(waiting, 2 * number - len(under_way)):
                    under_way[pool.submit(_play, at, part, columns, user_code)] = at
            if not under_way:
                return
            for done in wait(under_way, timeout=POLL_S, return_when=FIRST_COMPLETED).done:
                finished = done.result()
                counts[under_way.pop(done)] = 0
                keep(finished)
            tick(sum(counts[at] for at in under_way.values()), "")


def compile_points(points: Iterable[Point], tick: Callable[[int, str], None]) -> None:
    """Compile what the points need before workers start: they then find it, and nobody says so twice."""
    seen = set()
    for point in points:
        if compilation_key(point) in seen:
            continue
        seen.add(compilation_key(point))
        job = compiled_job(point)
        if job is not None:
            tick(0, f"compiling {point.spec.name}")
            compile_first(job)
            tick(0, f"compiled {point.spec.name}")  # the rate counts from here


def _share(counts: Any) -> None:
    global _counts  # noqa: PLW0603  # a worker has one
    _counts = counts


def _play(at: int, part: Part, columns: Mapping[str, Any], user_code: Mapping[str, str]) -> FinishedPart:
    def on_progress(done: int, _total: int) -> None:
        _counts[at] = done

    return play_part(part, columns, user_code, on_progress)

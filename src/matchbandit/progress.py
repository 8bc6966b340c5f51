"""How far long work has come: a bar on a terminal, else a plain line now and then; always on stderr."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

Advance = Callable[[str, int, int], None]
"""Called with what is at work, how much of it is done, and the total."""
FIRST_LINE_S, MAX_WAIT_S = 2.0, 300.0
"""Seconds until the first plain line, and at most between two."""
MIN_RUNS_FOR_ESTIMATE = 3
"""With fewer runs done, the time left is not estimated."""


@contextmanager
def bar(title: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Advance]:
    """Show progress while the block runs: call what it gives with what is at work, how much is done, and the total."""
    if not sys.stderr.isatty():
        yield _lines(title, clock)
        return
    from rich.console import Console  # noqa: PLC0415  # only for a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)
        yield lambda what, done, total: bars.update(task, description=f"{title}: {what}", completed=done, total=total)


@contextmanager
def stage(words: str) -> Iterator[None]:
    """Say what is done while a block runs that cannot count: a spinner on a terminal, else a line after two seconds."""
    if not sys.stderr.isatty():
        timer = threading.Timer(FIRST_LINE_S, lambda: print(words, file=sys.stderr, flush=True))  # noqa: T201
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        return
    from rich.console import Console  # noqa: PLC0415  # only for a terminal
    from rich.progress import Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bars.add_task(words, total=None)
        yield


class StudyProgress(NamedTuple):
    """Runs and parts of a study that are done."""

    runs: int
    total_runs: int
    parts: int
    total_parts: int
    earlier_runs: int = 0
    """Runs that an earlier call has left: they count as done, but not for the rate."""
    activity: str = ""
    """What is done while no run is: "compiling escb"."""


@contextmanager
def study_bar(title: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[StudyProgress], None]]:
    """Show how far a study has come while the block runs: call its value with a `StudyProgress`, also when none moved.

    The rate counts from when runs are played: what was compiled before says nothing of what is left.
    """
    began: float | None = None

    def words_at(now: StudyProgress) -> str:
        nonlocal began
        if began is None or now.activity:
            began = clock()
        return describe_progress(now, clock() - began)

    if not sys.stderr.isatty():
        yield _study_lines(title, clock, words_at)
        return
    from rich.console import Console  # noqa: PLC0415  # only for a terminal
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(f"{title}: looking at what is there", total=None)
        yield lambda now: bars.update(
            task, description=f"{title}: {words_at(now)}", completed=now.runs, total=now.total_runs
        )


def describe_progress(now: StudyProgress, seconds: float) -> str:
    """How far it has come, how fast in these seconds, and what that leaves.

    >>> describe_progress(StudyProgress(120, 400, 12, 40, earlier_runs=50), 2)
    '120 of 400 runs, 12 of 40 parts, 35 runs a second, 8 s left'
    >>> describe_progress(StudyProgress(0, 400, 0, 40, activity="compiling escb"), 2)
    '0 of 400 runs, 0 of 40 parts, compiling escb'
    """
    words = [f"{now.runs} of {now.total_runs} runs", f"{now.parts} of {now.total_parts} parts"]
    new = now.runs - now.earlier_runs
    if now.activity:
        words.append(now.activity)
    elif new > 0 and seconds > 0:
        rate = new / seconds
        words.append(f"{rate:.3g} runs a second" if rate < 1000 else f"{rate:.0f} runs a second")
        if new >= MIN_RUNS_FOR_ESTIMATE:
            words.append(f"{_duration((now.total_runs - now.runs) / rate)} left")
    return ", ".join(words)


def _study_lines(
    title: str, clock: Callable[[], float], words_at: Callable[[StudyProgress], str]
) -> Callable[[StudyProgress], None]:
    """The words at times that grow further apart, also when nothing has moved; none when all is done."""
    is_due = _now_and_then(clock)

    def advance(now: StudyProgress) -> None:
        words = words_at(now)
        if now.runs < now.total_runs and is_due():
            print(f"{title}: {words}", file=sys.stderr, flush=True)  # noqa: T201

    return advance


def _lines(title: str, clock: Callable[[], float]) -> Advance:
    """A line now and then; none when all is done, for then the result speaks.

    The rate counts from the first call: the time before it was spent on compiling, or on what was done before.
    """
    first: tuple[float, int] | None = None
    is_due = _now_and_then(clock)

    def advance(what: str, done: int, total: int) -> None:
        nonlocal first
        first = first or (clock(), done)
        if not (0 < done < total and is_due()):
            return
        seconds, new = clock() - first[0], done - first[1]
        words = f"{title}: {done} of {total} {what}"
        if new > 0 and seconds > 0:
            rate = new / seconds
            words += f", {rate:.3g} a second, {_duration((total - done) / rate)} left"
        print(words, file=sys.stderr, flush=True)  # noqa: T201

    return advance


def _now_and_then(clock: Callable[[], float]) -> Callable[[], bool]:
    """True after two seconds, then after four more, eight, …"""
    wait = FIRST_LINE_S
    due = clock() + wait

    def is_due() -> bool:
        nonlocal wait, due
        if clock() < due:
            return False
        wait = min(2 * wait, MAX_WAIT_S)
        due = clock() + wait
        return True

    return is_due


def _duration(seconds: float) -> str:
    """A time in words.

    >>> _duration(7), _duration(200), _duration(9000), _duration(1e6)
    ('7 s', '3 min', '2.5 h', '11.6 days')
    """
    for most, unit, length in ((90, "s", 1), (5400, "min", 60)):
        if seconds < most:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"

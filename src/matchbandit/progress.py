"""Show the progress of long work: a bar on a terminal or in a notebook, else a line on stderr now and then."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

from matchbandit.formatting import duration, grouped, short

Advance = Callable[[str, int, int], None]
"""Called with what is counted ("runs"), how much of it is done, and the total."""
Show = Callable[[str, int, int | None], None]
"""Shows a text, with how much is done and the total, None if it is unknown."""
FIRST_LINE_S, MAX_WAIT_S = 2.0, 300.0
"""Seconds until the first plain line, and at most between two."""
NOTEBOOK_UPDATE_S = 0.2
"""Seconds between two updates of a notebook's bar."""
MIN_RUNS_FOR_ESTIMATE = 3
"""With fewer runs done, the time left is not estimated."""


@contextmanager
def bar(title: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Advance]:
    """Show progress while the block runs: call its value with what is counted, how much is done, and the total."""
    if in_notebook():
        with _notebook_bar(clock) as show:
            yield lambda what, done, total: show(f"{title}: {grouped(done)} of {grouped(total)} {what}", done, total)
    elif sys.stderr.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with _terminal_bar(title, *columns) as show:
            yield lambda what, done, total: show(f"{title}: {what}", done, total)
    else:
        yield _lines(title, clock)


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Show a text while a block runs that cannot be counted: with a spinner on a terminal, else after two seconds."""
    if sys.stderr.isatty():
        from rich.progress import SpinnerColumn, TextColumn  # noqa: PLC0415  # only for a terminal

        with _terminal_bar(text, SpinnerColumn(), TextColumn("{task.description}")):
            yield
        return
    timer = threading.Timer(FIRST_LINE_S, lambda: print(text, file=sys.stderr, flush=True))  # noqa: T201
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class StudyProgress(NamedTuple):
    """Runs and parts of a study that are done."""

    runs: int
    total_runs: int
    parts: int
    total_parts: int
    earlier_runs: int = 0
    """Runs of earlier calls: they count as done, but not for the rate."""
    activity: str = ""
    """What is done while no run is: "compiling escb"."""


@contextmanager
def study_bar(title: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[StudyProgress], None]]:
    """Show the progress of a study while the block runs: call its value with a `StudyProgress`, also if none was made.

    The rate counts from when runs are played: the time of compiling says nothing about the time left.
    """
    began: float | None = None

    def describe(now: StudyProgress) -> str:
        nonlocal began
        if began is None or now.activity:
            began = clock()
        return f"{title}: {describe_progress(now, clock() - began)}"

    if in_notebook():
        with _notebook_bar(clock) as show:
            yield lambda now: show(describe(now), now.runs, now.total_runs)
    elif sys.stderr.isatty():
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
        with _terminal_bar(f"{title}: reading the folder", *columns) as show:
            yield lambda now: show(describe(now), now.runs, now.total_runs)
    else:
        yield _study_lines(clock, describe)


def describe_progress(now: StudyProgress, seconds: float) -> str:
    """Describe what is done, how fast it was in these seconds, and the time left.

    >>> describe_progress(StudyProgress(120, 400, 12, 40, earlier_runs=50), 2)
    '120 of 400 runs, 12 of 40 parts, 35 runs per second, 8 s left'
    >>> describe_progress(StudyProgress(0, 400, 0, 40, activity="compiling escb"), 2)
    '0 of 400 runs, 0 of 40 parts, compiling escb'
    """
    counts = ((now.runs, now.total_runs, "runs"), (now.parts, now.total_parts, "parts"))
    facts = [f"{grouped(done)} of {grouped(total)} {noun}" for done, total, noun in counts]
    new = now.runs - now.earlier_runs
    if now.activity:
        facts.append(now.activity)
    elif new > 0 and seconds > 0:
        rate = new / seconds
        facts.append(f"{_two_digits(rate)} runs per second")
        if new >= MIN_RUNS_FOR_ESTIMATE:
            facts.append(_time_left((now.total_runs - now.runs) / rate))
    return ", ".join(facts)


def in_notebook() -> bool:
    """Does this process serve a notebook, whose cells can show a bar?"""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def _notebook_bar(clock: Callable[[], float]) -> Iterator[Show]:
    """A bar below the cell that is running; its last state stays there."""
    display: Any = import_module("IPython.display").display
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    next_update = clock()

    def show(text: str, done: int, total: int | None) -> None:
        nonlocal next_update
        if done != total and clock() < next_update:
            return
        next_update = clock() + NOTEBOOK_UPDATE_S
        share = "" if total is None else f' value="{done}" max="{total}"'
        html = f'<progress{share} style="width: 12em; vertical-align: middle"></progress> {escape(text)}'
        handle.update({"text/plain": text, "text/html": html}, raw=True)

    yield show


@contextmanager
def _terminal_bar(text: str, *columns: Any) -> Iterator[Show]:
    """A bar of rich on stderr, which vanishes at the end."""
    from rich.console import Console  # noqa: PLC0415  # only for a terminal
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(text, total=None)
        yield lambda text, done, total: bars.update(task, description=text, completed=done, total=total)


def _study_lines(
    clock: Callable[[], float], describe: Callable[[StudyProgress], str]
) -> Callable[[StudyProgress], None]:
    """Print lines at growing intervals, also when nothing has moved; none when all is done."""
    is_due = _growing_intervals(clock)

    def advance(now: StudyProgress) -> None:
        text = describe(now)
        if now.runs < now.total_runs and is_due():
            print(text, file=sys.stderr, flush=True)  # noqa: T201

    return advance


def _lines(title: str, clock: Callable[[], float]) -> Advance:
    """Print lines at growing intervals; none when all is done: the result follows then.

    The rate counts from the first call: the time before it was spent on compiling, or on earlier work.
    """
    first: tuple[float, int] | None = None
    is_due = _growing_intervals(clock)

    def advance(what: str, done: int, total: int) -> None:
        nonlocal first
        first = first or (clock(), done)
        if not (0 < done < total and is_due()):
            return
        seconds, new = clock() - first[0], done - first[1]
        text = f"{title}: {grouped(done)} of {grouped(total)} {what}"
        if new > 0 and seconds > 0:
            rate = new / seconds
            text += f", {_two_digits(rate)} per second, {_time_left((total - done) / rate)}"
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    return advance


def _growing_intervals(clock: Callable[[], float]) -> Callable[[], bool]:
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


def _two_digits(value: float) -> str:
    return short(float(f"{value:.2g}"))


def _time_left(seconds: float) -> str:
    return f"{duration(round(seconds) if seconds < 100 else seconds)} left"

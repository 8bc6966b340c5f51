"""How far long work has come: a bar on a terminal, else a plain line now and then; always on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[str, int, int], None]
"""Called with what is at work, how much of it is done, and the total."""
FIRST_LINE, LONGEST_WAIT = 2.0, 300.0
"""Seconds until the first plain line, and at most between two."""


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


def _lines(title: str, clock: Callable[[], float]) -> Advance:
    """A line after two seconds, then after four more, eight, …; none when all is done, for then the result speaks."""
    begun, wait = clock(), FIRST_LINE
    due = begun + wait

    def advance(what: str, done: int, total: int) -> None:
        nonlocal wait, due
        now = clock()
        if now < due or not 0 < done < total:
            return
        wait = min(2 * wait, LONGEST_WAIT)
        due = now + wait
        rate = done / (now - begun)
        left = _duration((total - done) / rate)
        print(f"{title}: {done} of {total} {what}, {rate:.3g} a second, {left} left", file=sys.stderr, flush=True)  # noqa: T201

    return advance


def _duration(seconds: float) -> str:
    """A time in words.

    >>> _duration(7), _duration(200), _duration(9000), _duration(1e6)
    ('7 s', '3 min', '2.5 h', '11.6 days')
    """
    for most, unit, length in ((90, "s", 1), (5400, "min", 60)):
        if seconds < most:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"

"""Refuse calls that no machine could finish, before any work is done."""

import os

from matchbandit.errors import MatchbanditError
from matchbandit.formatting import byte_size, duration, grouped, short

DEFAULT_MEMORY_BYTES = 2**33
"""Memory of a machine that does not say what it has."""
BYTES_PER_RUN = 200
"""Of Python objects, besides the numbers of a run."""
SECONDS_PER_RUN = 1e-5
"""A run takes longer than this: building a policy alone takes several times as long."""
SECONDS_PER_ROUND = 1e-8
"""A round of the compiled loop, the fastest engine that plays every round, takes longer than this."""
MAX_SECONDS = 100 * 31_557_600
"""A century on one core."""
_LARGEST = 10**300
"""Beyond it, floats overflow."""


def refuse_too_large(
    runs: int, *, numbers_per_run: float, rounds_per_run: int = 0, points: int = 1, bytes_per_run: float = BYTES_PER_RUN
) -> None:
    """Refuse runs whose results this machine cannot hold, or that would take more than a century at the very least.

    Parameters
    ----------
    runs : int
    numbers_per_run : float
        Numbers of 8 bytes that a run leaves in memory: regret at checkpoints, plays, …
    rounds_per_run : int, default 0
        Rounds that are played one by one; 0 where the engine leaps over them.
    points : int, default 1
        Of a study; or policies, in a comparison. Each has all the runs.
    bytes_per_run : float
        What a run leaves in memory besides.
    """
    memory = machine_memory()
    bytes_each = points * (8 * numbers_per_run + bytes_per_run)
    seconds_each = points * max(SECONDS_PER_RUN, min(rounds_per_run, _LARGEST) * SECONDS_PER_ROUND)
    count = float(min(runs, _LARGEST))
    if count * bytes_each <= memory and count * seconds_each <= MAX_SECONDS:
        return
    most = int(min(memory / bytes_each, MAX_SECONDS / seconds_each))
    text = grouped(runs) if runs < 10**16 else short(count)
    each = f" for each of {grouped(points)}" if points > 1 else ""
    fix = (
        f"Use at most runs={grouped(_round_down(most))}."
        if most
        else "Even a single run is too large: use a shorter horizon, fewer checkpoints or a smaller problem."
    )
    raise MatchbanditError(
        f"runs={text}{each} would need at least {byte_size(count * bytes_each)} of memory, where this machine has "
        f"{byte_size(memory)}, and {duration(count * seconds_each)} of computing. {fix}"
    )


def machine_memory() -> int:
    """The bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return DEFAULT_MEMORY_BYTES


def _round_down(number: int) -> int:
    """Keep two digits.

    >>> _round_down(123_456), _round_down(7)
    (120000, 7)
    """
    unit = int(10 ** max(0, len(str(number)) - 2))
    return number // unit * unit

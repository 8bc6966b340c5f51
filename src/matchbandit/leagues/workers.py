"""Slow decisions in other processes, which leave this one to quick requests."""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

from matchbandit.leagues.deciding import Draft, Inputs, decide
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.state import CachedLeague

SLOW_ITEMS = 100
"""Policies that solve a maximum-weight matching take longer than 50 ms with more items."""
TIMEOUT_S = 20.0


def is_slow(inputs: Inputs) -> bool:
    """Should another process decide?"""
    return not inputs.state.league.any_size and len(inputs.constraints.present) > SLOW_ITEMS


def decide_elsewhere(inputs: Inputs) -> Draft:
    """Decide in another process; what takes too long is refused."""
    try:
        return _pool().submit(_decide, inputs).result(TIMEOUT_S)
    except TimeoutError:
        raise LeagueError("store-busy", f"the decision took longer than {TIMEOUT_S:g} s.") from None


@cache
def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=os.nice, initargs=(10,))


def _decide(inputs: Inputs) -> Draft:
    return decide(inputs, CachedLeague())

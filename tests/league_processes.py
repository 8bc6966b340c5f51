"""Processes that are killed in the middle of a write.

They are forked from a process that has imported matchbandit once, so that a test can afford many of them.
"""

import multiprocessing
import os
import signal
import sys
from multiprocessing.connection import Connection

from league_writes import WRITES

from matchbandit.leagues import Store

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["matchbandit.leagues.service.app", "warm_leagues"])


def _write(url: str, name: str, last: int | None, pipe: Connection) -> None:
    n_calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")
        if n_calls == last:
            os.kill(os.getpid(), signal.SIGKILL)

    with Store(url) as store:
        sys.setprofile(count)
        WRITES[name](store, "key")
        sys.setprofile(None)
    pipe.send(n_calls)


def write(url: str, name: str, last: int | None = None) -> int | None:
    """Execute one of `WRITES` in a process that is killed at the call of its `last` function.

    Returns the number of functions that were called, None if it was killed.
    """
    here, there = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_write, args=(url, name, last, there), daemon=True)
    process.start()
    there.close()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return here.recv() if process.exitcode == 0 else None

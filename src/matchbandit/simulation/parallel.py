"""Runs side by side in as many processes as wanted."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for_any
from typing import TypeVar

from matchbandit.errors import MatchbanditError

Outcome = TypeVar("Outcome")
PARTS_A_WORKER, WORKERS_A_CORE = 64, 4
_PR_SET_PDEATHSIG = 1


def each_run(
    play: Callable[[int], Outcome], runs: int, workers: int | None
) -> Generator[tuple[int, Outcome], None, None]:
    """Number and outcome of every run, in the order in which they finish.

    `workers` are processes, None for one on each core; more than four on a core are not started. A process that may not
    have children of its own, such as a worker of a `multiprocessing.Pool`, plays all runs itself.
    """
    shown: set[str] = set()
    cores = os.cpu_count() or 1
    workers = min(cores if workers is None else workers, runs, WORKERS_A_CORE * cores)
    if workers == 1 or multiprocessing.current_process().daemon:
        for run in range(runs):
            outcomes, messages = _play_some(play, [run])
            _pass_on(messages, shown)
            yield from outcomes
        return
    # Where it exists, fork spares a script its `if __name__ == "__main__"`; what is forked takes no locks of threads.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    parts = min(runs, PARTS_A_WORKER * workers)
    chunks = [range(runs * part // parts, runs * (part + 1) // parts) for part in range(parts)]
    pool = ProcessPoolExecutor(workers, context, initializer=_follow, initargs=(os.getpid(),))
    try:
        with _interrupts_held():
            open_parts = {pool.submit(_play_some, play, chunk) for chunk in chunks}
        while open_parts:
            finished, open_parts = wait(open_parts, return_when=FIRST_COMPLETED)
            for part in finished:
                outcomes, messages = part.result()
                _pass_on(messages, shown)
                yield from outcomes
    except BaseException as error:
        for worker in list((pool._processes or {}).values()):
            worker.terminate()
        if isinstance(error, BrokenProcessPool):
            raise MatchbanditError(
                "a worker process was killed, perhaps for want of memory. Take fewer workers, or fewer runs."
            ) from None
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _follow(parent: int) -> None:
    """Begin a worker: Ctrl-C is its parent's to answer, and it ends when the parent does, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a handler of the parent's is not for its workers
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended before that call
            os._exit(1)
    else:
        threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_any([parent.sentinel])
        os._exit(1)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while workers start, and from them for good: it is this process that answers it.

    Python runs hooks around a fork that would swallow it, and a worker is not yet deaf to it when it begins.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _pass_on(messages: list[Warning], shown: set[str]) -> None:
    """Warn of what runs have warned of, each once."""
    for message in messages:
        if str(message) not in shown:
            shown.add(str(message))
            warnings.warn(message, stacklevel=3)


def _play_some(play: Callable[[int], Outcome], runs: Sequence[int]) -> tuple[list[tuple[int, Outcome]], list[Warning]]:
    """The outcomes of these runs, and what they warned of: it is the calling process that shows it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        outcomes = [(run, play(run)) for run in runs]
    return outcomes, [warning.message for warning in caught if isinstance(warning.message, Warning)]

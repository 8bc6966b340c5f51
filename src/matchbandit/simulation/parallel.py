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
from multiprocessing.context import BaseContext
from typing import TypeVar

from matchbandit.errors import MatchbanditError

Outcome = TypeVar("Outcome")
PARTS_A_WORKER, WORKERS_A_CORE = 64, 4
_PR_SET_PDEATHSIG = 1
_STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def run_parallel(
    play: Callable[[int], Outcome], runs: int, workers: int | None
) -> Generator[tuple[int, Outcome], None, None]:
    """Number and outcome of every run, in the order in which they finish.

    `workers` are processes, None for one on each core; more than four on a core are not started. A process that may not
    have children of its own, such as a worker of a `multiprocessing.Pool`, plays all runs itself.
    """
    shown: set[str] = set()
    workers = worker_count(workers, runs)
    if workers == 1:
        for run in range(runs):
            outcomes, messages = _play_some(play, [run])
            pass_on(messages, shown)
            yield from outcomes
        return
    parts = min(runs, PARTS_A_WORKER * workers)
    chunks = [range(runs * part // parts, runs * (part + 1) // parts) for part in range(parts)]
    with worker_processes(workers) as pool:
        with signals_held():
            open_parts = {pool.submit(_play_some, play, chunk) for chunk in chunks}
        while open_parts:
            finished, open_parts = wait(open_parts, return_when=FIRST_COMPLETED)
            for part in finished:
                outcomes, messages = part.result()
                pass_on(messages, shown)
                yield from outcomes


def core_count() -> int:
    """The cores that this process may use: a batch system may leave it few of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_count(workers: int | None, tasks: int) -> int:
    """How many processes share these tasks: None is one on each core, and more than four on a core are not started.

    It is 1 in a process that may not have children of its own: that one does all by itself.
    """
    cores = core_count()
    if multiprocessing.current_process().daemon:
        return 1
    return min(cores if workers is None else workers, tasks, WORKERS_A_CORE * cores)


@contextmanager
def worker_processes(
    workers: int, begin: Callable[..., None] | None = None, *args: object
) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with this one, however it ends, and at once when the block does; `begin(*args)` starts each.

    Submit within `signals_held()`. One that is killed from outside is an error in words.
    """
    pool = ProcessPoolExecutor(workers, fork_context(), initializer=_follow, initargs=(os.getpid(), begin, args))
    try:
        yield pool
    except BaseException as error:
        for worker in list((pool._processes or {}).values()):
            worker.kill()
        if isinstance(error, BrokenProcessPool):
            raise MatchbanditError(
                "a worker process was killed, perhaps for want of memory. Take fewer workers, or fewer runs."
            ) from None
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def fork_context() -> BaseContext:
    """Where it exists, fork spares a script its `if __name__ == "__main__"`; what is forked takes no locks of threads.

    What workers share with this process is to be made from the same context.
    """
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


def _follow(parent: int, begin: Callable[..., None] | None, args: tuple[object, ...]) -> None:
    """Begin a worker: signals are its parent's to answer, and it ends when the parent does, however that ends.

    A terminal or a batch system may send them to all processes at once: a worker that ended first would look killed.
    """
    for stopping in _STOPPING:
        signal.signal(stopping, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended before that call
            os._exit(1)
    else:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*args)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_any([parent.sentinel])
        os._exit(1)


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold Ctrl-C and its kin back while workers start, and from them for good: it is this process that answers.

    Python runs hooks around a fork that would swallow it, and a worker is not yet deaf to it when it begins.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def pass_on(messages: list[Warning], shown: set[str]) -> None:
    """Warn of what runs have warned of, each once."""
    for message in messages:
        if str(message) not in shown:
            shown.add(str(message))
            warnings.warn(message, stacklevel=3)


def _play_some(play: Callable[[int], Outcome], runs: Sequence[int]) -> tuple[list[tuple[int, Outcome]], list[Warning]]:
    """The outcomes of these runs, and what they warned of."""
    return with_warnings(lambda: [(run, play(run)) for run in runs])


def with_warnings(work: Callable[[], Outcome]) -> tuple[Outcome, list[Warning]]:
    """What came of the work, and what it warned of: it is the calling process that shows it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", ResourceWarning)  # what the parent left open is none of the runs' business
        outcome = work()
    return outcome, [warning.message for warning in caught if isinstance(warning.message, Warning)]

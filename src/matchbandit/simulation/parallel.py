"""Runs side by side in as many processes as wanted."""

import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

Outcome = TypeVar("Outcome")


def each_run(play: Callable[[int], Outcome], runs: int, workers: int) -> Generator[tuple[int, Outcome], None, None]:
    """Number and outcome of every run, in the order in which they finish."""
    shown: set[str] = set()
    if min(workers, runs) == 1:
        for run in range(runs):
            outcomes, messages = _play_some(play, [run])
            _pass_on(messages, shown)
            yield from outcomes
        return
    # Where it exists, fork spares a script its `if __name__ == "__main__"`; what is forked takes no locks of threads.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    before = set(multiprocessing.active_children())
    chunks = np.array_split(np.arange(runs), min(runs, 64 * workers))
    quiet = (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(min(workers, runs), context, initializer=signal.signal, initargs=quiet)
    try:
        with _interrupts_held():
            open_parts = {pool.submit(_play_some, play, chunk.tolist()) for chunk in chunks}
        while open_parts:
            finished, open_parts = wait(open_parts, return_when=FIRST_COMPLETED)
            for part in finished:
                outcomes, messages = part.result()
                _pass_on(messages, shown)
                yield from outcomes
    except BaseException:
        for worker in set(multiprocessing.active_children()) - before:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


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

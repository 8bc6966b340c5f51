"""Play runs in worker processes or in this one, each with a single BLAS thread."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import product
from multiprocessing.connection import wait as wait_for_any
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, Protocol, TypeVar

from matchbandit.errors import MatchbanditError, warn_user

Outcome = TypeVar("Outcome")
Outcome_co = TypeVar("Outcome_co", covariant=True)
CHUNKS_PER_WORKER, MAX_WORKERS_PER_CORE = 64, 4
_PR_SET_PDEATHSIG = 1
_STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class PlayRun(Protocol[Outcome_co]):
    """Plays the run of this number; `start` is its first state, if that was built before."""

    def __call__(self, run: int, start: Any = None) -> Outcome_co:
        """Play it."""


def run_parallel(
    play: PlayRun[Outcome], numbers: range, workers: int | None, start: Any = None
) -> Generator[tuple[int, Outcome], None, None]:
    """Number and outcome of every run, in the order in which they finish; their warnings are shown once.

    `workers` are processes, None for one on each core; more than four on a core are not started. A process that may not
    have child processes, such as a worker of a `multiprocessing.Pool`, plays all runs itself. There the first run
    starts from `start`.
    """
    shown: set[str] = set()
    workers = worker_count(workers, len(numbers))
    if workers == 1:
        with one_blas_thread():
            for run in numbers:
                with recorded_warnings() as messages:
                    outcome = play(run, start) if run == numbers.start else play(run)
                pass_on(messages, shown)
                yield run, outcome
        return
    n_chunks = min(len(numbers), CHUNKS_PER_WORKER * workers)
    bounds = [len(numbers) * chunk // n_chunks for chunk in range(n_chunks + 1)]
    with worker_processes(workers) as pool:
        with signals_held():
            open_chunks = {pool.submit(_play_chunk, play, numbers[bounds[k] : bounds[k + 1]]) for k in range(n_chunks)}
        while open_chunks:
            finished, open_chunks = wait(open_chunks, return_when=FIRST_COMPLETED)
            for chunk in finished:
                outcomes, messages = chunk.result()
                pass_on(messages, shown)
                yield from outcomes


def _play_chunk(play: PlayRun[Outcome], runs: Sequence[int]) -> tuple[list[tuple[int, Outcome]], list[Warning]]:
    """The outcomes of these runs, and their warnings."""
    with recorded_warnings() as messages:
        outcomes = [(run, play(run)) for run in runs]
    return outcomes, messages


# --- worker processes ---


def core_count() -> int:
    """The cores that this process may use: a batch system may leave it few of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_count(workers: int | None, tasks: int) -> int:
    """How many processes share these tasks: None is one on each core, and more than four on a core are not started.

    It is 1 in a process that may not have child processes.
    """
    cores = core_count()
    if multiprocessing.current_process().daemon:
        return 1
    return min(cores if workers is None else workers, tasks, MAX_WORKERS_PER_CORE * cores)


@contextmanager
def worker_processes(
    workers: int, begin: Callable[..., None] | None = None, *args: object
) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with this one, however it ends, and at once when the block does; `begin(*args)` starts each.

    Submit within `signals_held()`. One that is killed from outside is reported as a `MatchbanditError`.
    """
    pool = ProcessPoolExecutor(workers, fork_context(), initializer=begin_worker, initargs=(os.getpid(), begin, args))
    try:
        with one_blas_thread():  # workers inherit it, forked or spawned
            yield pool
    except BaseException as error:
        for worker in list((pool._processes or {}).values()):
            worker.kill()
        if isinstance(error, BrokenProcessPool):
            raise MatchbanditError(
                "a worker process was killed, perhaps because memory ran out. Use fewer workers, or fewer runs."
            ) from None
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def fork_context() -> BaseContext:
    """Fork where it exists, so that scripts need no `if __name__ == "__main__"`.

    What workers share with this process is to be made from the same context.
    """
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


def begin_worker(parent: int, begin: Callable[..., None] | None, args: tuple[object, ...]) -> None:
    """Ignore signals, which the parent answers, and end when the parent does, however that ends.

    A terminal or a batch system may send them to all processes at once: a worker that ended first would look killed.
    """
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
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
    """Block SIGINT, SIGTERM and SIGHUP while workers start, and in workers for good: this process handles them.

    Python runs hooks around a fork that would swallow it, and a worker does not ignore it yet when it starts.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- BLAS threads ---


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread within the block: threads of matrices this small wait for each other.

    OpenBLAS, which NumPy and SciPy bring along, is configured where it is loaded (Linux only). A library that is loaded
    within the block, or by a worker that is started there, reads the environment.
    """
    before = {path: get() for path, (get, _) in _loaded_openblas().items()}
    unset = [name for name in _BLAS_VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    _set_blas_threads(dict.fromkeys(before, 1))
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)
        loaded_since = _loaded_openblas().keys() - before.keys()
        _set_blas_threads(before | dict.fromkeys(loaded_since, max(before.values(), default=1)))


def _set_blas_threads(numbers: Mapping[str, int]) -> None:
    """Set the number of threads of each library."""
    libraries = _loaded_openblas()
    for path, number in numbers.items():
        _, set_threads = libraries[path]
        set_threads(number)


def _loaded_openblas() -> dict[str, tuple[Callable[[], int], Callable[[int], None]]]:
    """For each OpenBLAS that is loaded, how to get and to set its number of threads; none if the system lists none."""
    return _openblas_among(len(sys.modules))  # libraries come with modules


@lru_cache(maxsize=1)
def _openblas_among(n_modules: int) -> dict[str, tuple[Callable[[], int], Callable[[int], None]]]:
    """`_loaded_openblas`, read again when other modules were imported: that takes a millisecond."""
    try:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    paths = {line[line.index("/") :] for line in mapped.splitlines() if "openblas" in line and "/" in line}
    libraries = ((path, _thread_functions(path)) for path in sorted(paths))
    return {path: functions for path, functions in libraries if functions is not None}


@cache
def _thread_functions(path: str) -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """The functions of an OpenBLAS that get and set its number of threads; None if it has none."""
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for prefix, suffix in product(("", "scipy_"), ("", "64_")):
        names = [f"{prefix}openblas_{verb}_num_threads{suffix}" for verb in ("get", "set")]
        if all(hasattr(library, name) for name in names):
            return library[names[0]], library[names[1]]
    return None


# --- warnings ---


@contextmanager
def recorded_warnings() -> Iterator[list[Warning]]:
    """The warnings of the block, for the calling process to show; the list is complete when it has ended."""
    messages: list[Warning] = []
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", ResourceWarning)  # files that the parent left open
        yield messages
    messages += [record.message for record in records if isinstance(record.message, Warning)]


def pass_on(messages: list[Warning], shown: set[str]) -> None:
    """Warn of what runs have warned of, each once."""
    for message in messages:
        if str(message) not in shown:
            shown.add(str(message))
            warn_user(message)

import multiprocessing
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.simulation import parallel
from matchbandit.simulation.parallel import (
    core_count,
    recorded_warnings,
    run_parallel,
    signals_held,
    worker_count,
    worker_processes,
)

LONGEST = 60
"""Seconds until a test that waits for an event gives up."""

PARENT = """
import os, sys, time
from matchbandit.simulation.parallel import run_parallel

def play(run, start=None):  # says who it is, and plays for ever
    os.write(1, f"{os.getpid()}\\n".encode())
    time.sleep(1e6)

list(run_parallel(play, range(2), 2))
"""


def square(run, start=None):
    return run * run


def in_this_process(run, start=None):
    return os.getpid()


def kill_itself(run, start=None):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork beside pytest's threads
        yield


@pytest.mark.parametrize("workers", [1, 2, 3, None])
@pytest.mark.parametrize("runs", [1, 2, 7, 300])
@pytest.mark.sampled(5)
def test_every_run_is_played_once(runs, workers):
    played = list(run_parallel(square, range(runs), workers))
    assert sorted(played) == [(run, run * run) for run in range(runs)]


def test_no_workers_named_is_one_for_each_core(monkeypatch):
    monkeypatch.setattr(parallel, "core_count", lambda: 1)
    assert [pid for _, pid in run_parallel(in_this_process, range(3), None)] == [os.getpid()] * 3
    monkeypatch.setattr(parallel, "core_count", lambda: 2)
    assert os.getpid() not in [pid for _, pid in run_parallel(in_this_process, range(3), None)]


def test_only_cores_that_this_process_may_use_count(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 128)
    assert core_count() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert core_count() == 128


def test_a_huge_number_of_runs_is_not_listed_and_of_workers_not_started(monkeypatch):
    monkeypatch.setattr(parallel, "core_count", lambda: 1)
    one = run_parallel(square, range(10**12), 1)
    assert next(one) == (0, 0)
    one.close()
    pids = {pid for _, pid in run_parallel(in_this_process, range(1000), 10**9)}
    assert 1 <= len(pids) <= 4


def test_a_worker_of_a_pool_plays_by_itself():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pid, played = pool.apply(play_in_pool)
    assert played == [(0, pid), (1, pid), (2, pid)]
    assert pid != os.getpid()


def play_in_pool():
    return os.getpid(), list(run_parallel(in_this_process, range(3), 2))


def test_simulate_works_within_a_pool():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        within = pool.apply(simulate_in_pool)
    assert within == simulate_in_pool()


def simulate_in_pool():
    slots = mb.Bipartite([0.9, 0.3], [0.8, 0.4])
    return mb.simulate(slots, "pair-elim", horizon=1000, runs=4, seed=1, workers=2).regret.tolist()


def test_a_worker_that_is_killed_is_named():
    with pytest.raises(MatchbanditError, match="a worker process was killed"):
        list(run_parallel(kill_itself, range(4), 2))
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.sampled(1)
def test_workers_end_with_their_parent(deadly):
    # The workers hold the pipe's other end: it closes when the last of them has ended, and only then.
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    workers = [int(parent.stdout.readline()) for _ in range(2)]
    assert parent.pid not in workers
    assert len(set(workers)) == 2
    parent.send_signal(deadly)
    rest, _ = parent.communicate(timeout=LONGEST)
    assert rest == ""
    assert parent.returncode != 0


def ignored_signals():
    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


def test_workers_leave_signals_to_their_parent():
    """A batch system sends them to all processes at once: a worker that ended first would look killed."""
    with worker_processes(1) as pool:
        with signals_held():
            future = pool.submit(ignored_signals)
        assert future.result() == [signal.SIG_IGN] * 3


def begin(place):
    os.environ["MATCHBANDIT_TEST_PLACE"] = place


def place():
    return os.environ["MATCHBANDIT_TEST_PLACE"]


def test_a_worker_begins_with_what_it_is_given():
    with worker_processes(1, begin, "here") as pool:
        assert pool.submit(place).result() == "here"
    assert "MATCHBANDIT_TEST_PLACE" not in os.environ


def test_an_error_in_the_block_ends_the_workers_at_once():
    def leave():
        with worker_processes(2) as pool:
            pool.submit(time.sleep, 1e6)
            pool.submit(time.sleep, 1e6)
            raise KeyError("enough")

    with pytest.raises(KeyError):
        leave()
    assert multiprocessing.active_children() == []


def test_signals_are_held_while_workers_start_and_come_afterwards():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it

    def start():
        with signals_held():
            signal.raise_signal(signal.SIGINT)
            seen.append("held")

    seen = []
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == ["held"]


def test_workers_are_no_more_than_there_is_to_do(monkeypatch):
    monkeypatch.setattr(parallel, "core_count", lambda: 2)
    assert [worker_count(workers, 5) for workers in (None, 1, 3, 100)] == [2, 1, 3, 5]
    assert worker_count(100, 1000) == 8


def test_warnings_of_runs_are_recorded_but_not_files_that_others_left_open():
    with recorded_warnings() as messages:
        warnings.warn("mind this", UserWarning, stacklevel=1)
        warnings.warn("a file", ResourceWarning, stacklevel=1)
    assert [str(message) for message in messages] == ["mind this"]


def blas_threads(run, start=None):
    import scipy.linalg  # loads a library of its own  # noqa: F401

    loaded = parallel._loaded_openblas()
    assert loaded
    return [get() for get, _ in loaded.values()]


@pytest.fixture
def two_threads(monkeypatch):
    """Two threads for each BLAS library, and no environment that says otherwise."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = {path: get() for path, (get, _) in parallel._loaded_openblas().items()}
    if not before:
        pytest.skip("this system does not list the libraries that a process has loaded")
    parallel._set_blas_threads(dict.fromkeys(before, 2))
    yield
    parallel._set_blas_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("workers", [1, 2])
def test_runs_have_one_blas_thread_and_the_caller_has_as_many_as_before(workers):
    """Two workers with two threads each took three times the CPU time of one thread each."""
    outcomes = [threads for _, threads in run_parallel(blas_threads, range(3), workers)]
    assert all(set(threads) == {1} for threads in outcomes)
    assert {get() for get, _ in parallel._loaded_openblas().values()} == {2}
    assert "OPENBLAS_NUM_THREADS" not in os.environ


@pytest.mark.usefixtures("two_threads")
def test_an_error_leaves_the_threads_of_the_caller():
    with pytest.raises(KeyError), parallel.one_blas_thread():
        raise KeyError
    assert {get() for get, _ in parallel._loaded_openblas().values()} == {2}

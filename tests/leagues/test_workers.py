"""The worker process: its time limit, its queue, crashes, and programs without a guard."""

import os
import subprocess
import sys
import time
from threading import Event, Thread
from typing import Any

import pytest
from worker_tasks import crash_once, refuse

from matchbandit.leagues import LeagueError, Store, workers
from matchbandit.leagues.workers import WorkerPool

MESSAGE = "it takes too long. Do something else."


@pytest.fixture
def pool():
    opened = WorkerPool(60.0)
    yield opened
    opened.close()


def run(pool: WorkerPool, task: Any, *arguments: Any) -> Any:
    return pool.run(task, *arguments, too_slow=MESSAGE)


def test_run_computes_in_one_other_process_of_low_priority(pool):
    process = run(pool, os.getpid)
    assert process != os.getpid()
    assert run(pool, os.getpid) == process
    assert run(pool, os.getpriority, os.PRIO_PROCESS, 0) >= min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)


def test_run_passes_errors_on(pool):
    process = run(pool, os.getpid)
    with pytest.raises(LeagueError, match="no") as caught:
        run(pool, refuse, "infeasible")
    assert (caught.value.code, caught.value.field) == ("infeasible", "pairs")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(pool, divmod, 1, 0)
    assert run(pool, os.getpid) == process


def test_run_of_a_task_beyond_the_time_limit_is_refused_and_kills_the_worker(pool):
    process = run(pool, os.getpid)
    pool.timeout = 0.2
    with pytest.raises(LeagueError, match=MESSAGE) as caught:
        run(pool, time.sleep, 3600)
    assert caught.value.code == "too-slow"
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    pool.timeout = 60.0
    assert run(pool, os.getpid) not in (process, os.getpid())


def test_run_after_a_crash_is_tried_once_more(pool, tmp_path):
    process = run(pool, os.getpid)
    assert run(pool, crash_once, str(tmp_path / "marker")) not in (process, os.getpid())
    with pytest.raises(LeagueError, match="ended early twice") as caught:
        run(pool, os.abort)
    assert caught.value.code == "too-slow"
    assert run(pool, os.getpid)


def test_run_with_a_full_queue_is_refused_and_others_come_in_order(pool, monkeypatch):
    monkeypatch.setattr(workers, "MAX_WAITING", 2)
    entered, leave, order = Event(), Event(), list[int]()
    compute = pool._compute

    def slow_compute(task: Any, arguments: tuple[Any, ...], too_slow: str) -> tuple[bool, Any]:
        entered.set()
        assert leave.wait(60)
        order.append(arguments[0])
        return compute(task, arguments, too_slow)

    monkeypatch.setattr(pool, "_compute", slow_compute)
    threads = []
    for k in range(3):
        threads.append(Thread(target=run, args=(pool, abs, k)))
        threads[-1].start()
        while len(pool._queue) <= k:
            time.sleep(0.001)
    assert entered.wait(60)
    with pytest.raises(LeagueError) as caught:
        run(pool, abs, 3)
    assert caught.value.code == "workers-busy"
    leave.set()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2]
    assert run(pool, abs, 4) == 4


def test_run_that_is_interrupted_leaves_the_pool_usable(pool, monkeypatch):
    def interrupt(*_: Any) -> tuple[bool, Any]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pool, "_compute", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(pool, abs, 1)
    assert run(pool, abs, -2) == 2


def test_ask_decides_the_same_in_a_worker(sqlite_url, monkeypatch):
    players = [f"p{k}" for k in range(8)]
    with Store(sqlite_url) as store:
        here, there = (store.create(slug, players=players, policy="cts-beta", seed=3) for slug in ("a", "b"))
        # the name of a league is part of its random streams
        pairs = [pair.ids for pair in here.ask().pairs]
        with store.database.writing() as connection:
            connection.exec_driver_sql("UPDATE mb_league SET stream = 'a' WHERE slug = 'b'")
        monkeypatch.setattr("matchbandit.leagues.deciding.SLOW_PAIRS", 1)
        assert store.workers._worker is None
        assert [pair.ids for pair in there.ask().pairs] == pairs
        assert store.workers._worker is not None
        process = store.workers._worker[0]
    assert process.poll() is not None  # it ends with the store


def test_ask_beyond_the_time_limit_names_the_policy_and_the_alternative(sqlite_url):
    with Store(sqlite_url, decision_timeout=0.01) as store:
        league = store.create("club", players=[f"p{k}" for k in range(800)], policy="cts-beta")
        with pytest.raises(LeagueError) as caught:
            league.ask()
        assert caught.value.code == "too-slow"
        assert "cts-beta takes longer than the time limit to pair 800 items. Use rank1-thompson" in str(caught.value)
        league.configure(policy="rank1-thompson")
        assert len(league.ask().pairs) == 400


@pytest.mark.slow
def test_a_script_without_a_guard_may_ask_a_slow_policy(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "print('started')\n"
        "from matchbandit.leagues import Store\n"
        f"store = Store('sqlite:///{tmp_path}/store.db')\n"
        "league = store.create('club', players=[f'p{k}' for k in range(120)], policy='cts-beta')\n"
        "print(len(league.ask().pairs))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.split() == ["started", "60"], done.stderr

"""Slow computations in worker processes: the same results, a time limit, and an end."""

import os
import time
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from eventually import until
from small_league import SmallLeague

from matchbandit.live import compute
from matchbandit.live.compute import ComputeError, WorkerPool, blossom_seconds, decision_seconds
from matchbandit.live.deciding import Decider
from matchbandit.live.errors import LeagueError
from matchbandit.live.model import LeagueModel, assess_fit
from matchbandit.live.store import Store


def names(n):
    return [f"p{k}" for k in range(n)]


def sleep(seconds):
    time.sleep(seconds)
    return os.getpid()


def fail(_):
    raise ZeroDivisionError("names must not leave the worker")


def kill(_):
    os._exit(1)


def run(pool, task, argument, seconds=0.1):
    return pool.run(task, argument, what="a test", seconds=seconds, hint="Wait.")


@pytest.fixture(scope="module", autouse=True)
def importable():
    """Workers get the path of this process, and unpickle functions of this module by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2])
        yield


@pytest.fixture(scope="module")
def pool():
    workers = WorkerPool(size=1, time_limit=60.0, max_waiting=1)
    yield workers
    processes = [worker.process for worker in workers._idle]
    workers.close()
    assert [process.poll() is None for process in processes] == [False]


def asked(policy, n, **settings):
    club = SmallLeague(players=names(n), policy=policy, seed=3, **settings)
    for _ in range(2):
        proposal = club.ask()
        club.tell(proposal["number"], [(a, b, 1) for a, b in proposal["pairs"]])
    return club


@pytest.mark.parametrize(("policy", "n", "rules"), [("cts-beta", 30, False), ("rank1-thompson", 31, True)])
@pytest.mark.slow
def test_a_worker_decides_what_the_calling_thread_would(pool, monkeypatch, policy, n, rules):
    club = asked(policy, n)
    if rules:
        club.do("exclude", [(1, k) for k in range(2, n + 1)])
    inputs = club.decider.prepare(club.state, club.directory, club.now)
    monkeypatch.setattr(compute, "QUICK_S", 0.0)
    elsewhere = pool.decide(None, inputs)  # a decider that is not even there
    assert elsewhere == club.decider.decide(inputs) == Decider().decide(inputs)


def test_quick_decisions_stay_in_the_calling_thread():
    club = asked("rank1-thompson", 30)
    pool = WorkerPool()
    inputs = club.decider.prepare(club.state, club.directory, club.now)
    assert pool.is_quick(inputs)
    assert pool.decide(club.decider, inputs) == club.decider.decide(inputs)
    assert not pool._idle


def test_a_worker_tests_the_fit_as_the_calling_thread_would(pool, monkeypatch):
    model = LeagueModel(asked("rank1-thompson", 30).state)
    monkeypatch.setattr(compute, "QUICK_S", 0.0)
    calls = []
    model._assess = lambda inputs: (calls.append(inputs), pool.fit(inputs))[1]
    assert model.fit() == assess_fit(calls[0])


def test_a_slow_fit_is_computed_once_for_all_who_wait():
    model = LeagueModel(asked("rank1-thompson", 6).state)
    started, answers = [], []

    def assess(inputs):
        started.append(inputs)
        until(lambda: len(waiting) == 8)
        return assess_fit(inputs)

    model._assess = assess
    waiting = []
    threads = [Thread(target=lambda: (waiting.append(1), answers.append(model.fit()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(started) == 1
    assert answers == [answers[0]] * 8


def test_what_takes_too_long_is_refused_before_it_starts():
    club = SmallLeague(players=names(2000), policy="cts-beta")
    inputs = club.decider.prepare(club.state, club.directory, club.now)
    with pytest.raises(LeagueError, match=r"cts-beta for 2,000 items takes about 110 s.*rank1-thompson") as refusal:
        WorkerPool().decide(club.decider, inputs)
    assert refusal.value.code == "compute-limit"
    club = SmallLeague(players=names(3000), record_propensity=10_000)
    with pytest.raises(LeagueError, match="Set record_propensity below 10000"):
        WorkerPool().decide(club.decider, club.decider.prepare(club.state, club.directory, club.now))


def test_estimates_grow_with_the_league_and_count_the_shadow():
    assert [round(blossom_seconds(n), 4) for n in (1, 100, 800, 1200)] == [0.0024, 0.008, 4.0, 17.3]
    seconds = []
    for n, policy in ((200, "rank1-thompson"), (200, "cts-beta"), (400, "cts-beta")):
        club = SmallLeague(players=names(n), policy=policy)
        seconds.append(decision_seconds(club.decider.prepare(club.state, club.directory, club.now)))
    assert seconds == sorted(seconds)
    assert seconds[0] < 0.01 < seconds[1] < 0.1 < seconds[2]
    shadowed = SmallLeague(players=names(400), shadow="cts-beta")
    inputs = shadowed.decider.prepare(shadowed.state, shadowed.directory, shadowed.now)
    assert decision_seconds(inputs) > 0.1 > decision_seconds(replace(inputs, config={**inputs.config, "shadow": None}))


def test_many_rules_of_one_player_are_slow_and_few_of_each_are_quick():
    ring, star = SmallLeague(players=names(1000)), SmallLeague(players=names(1000))
    ring.do("exclude", [(k, k + 1) for k in range(1, 1000)])
    star.do("exclude", [(1, k) for k in range(2, 1001)])
    light, heavy = (
        decision_seconds(club.decider.prepare(club.state, club.directory, club.now)) for club in (ring, star)
    )
    assert light < compute.QUICK_S < heavy


@pytest.mark.slow
def test_the_time_limit_ends_the_worker_and_another_one_goes_on():
    pool = WorkerPool(size=1, time_limit=60.0)
    try:
        first = run(pool, sleep, 0.0)  # which also imports this module there
        pool.time_limit = 0.5
        with pytest.raises(LeagueError, match=r"a test took longer than 0.5 s. Wait.") as refusal:
            run(pool, sleep, 60.0)
        assert refusal.value.code == "compute-limit"
        pool.time_limit = 60.0
        assert run(pool, sleep, 0.0) != first
    finally:
        pool.close()


@pytest.mark.slow
def test_failures_come_back_without_what_they_quote(pool):
    with pytest.raises(ComputeError, match=r"ZeroDivisionError at .*test_compute\.py") as failure:
        run(pool, fail, None)
    assert "names" not in str(failure.value)
    assert failure.value.__cause__ is None
    with pytest.raises(LeagueError, match="ended early"):
        run(pool, kill, None)
    assert run(pool, sleep, 0.0)


def test_an_error_of_a_league_keeps_its_code(pool, monkeypatch):
    club = SmallLeague(players=names(14), policy="escb")
    inputs = club.decider.prepare(club.state, club.directory, club.now)
    monkeypatch.setattr(compute, "QUICK_S", 0.0)
    with pytest.raises(LeagueError) as here:
        Decider().decide(inputs)
    with pytest.raises(LeagueError) as there:
        pool.decide(None, inputs)
    assert (there.value.code, str(there.value)) == (here.value.code, str(here.value))


def test_too_many_that_wait_are_refused_at_once(pool):
    threads = [Thread(target=run, args=(pool, sleep, 0.3)) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: len(pool._queue) == 1)
    with pytest.raises(LeagueError) as refusal:
        run(pool, sleep, 0.0)
    assert refusal.value.code == "compute-busy"
    for thread in threads:
        thread.join()
    assert run(pool, sleep, 0.0)


@pytest.mark.slow
def test_idle_workers_end_and_a_closed_pool_computes_nothing():
    pool = WorkerPool(size=1, idle_seconds=0.2)
    run(pool, sleep, 0.0)
    process = pool._idle[0].process
    until(lambda: process.poll() is not None)
    pool.end_idle()
    assert not pool._idle
    pool.close()
    with pytest.raises(LeagueError, match="no free worker"):
        run(pool, sleep, 0.0)


@pytest.mark.slow
def test_a_league_asks_the_pool_of_its_store(pool, monkeypatch, tmp_path):
    drafts = []
    for k, workers in enumerate((None, pool)):
        monkeypatch.setattr(compute, "QUICK_S", 0.05 if workers is None else 0.0)
        with Store(f"sqlite:///{tmp_path}/{k}.db", compute=workers) as store:
            league = store.create("club", players=names(20), policy="cts-beta", seed=1)
            league.ask()
            drafts.append(league.events(after=league.about()["n_events"] - 1)[0].data)
    assert drafts[0] == drafts[1]


@pytest.mark.slow
def test_a_slow_decision_that_is_overtaken_again_and_again_is_not_made_under_the_lock(monkeypatch, tmp_path):
    monkeypatch.setattr(compute, "QUICK_S", -1.0)
    overtaken = []

    class Overtaking(WorkerPool):
        def decide(self, decider, inputs):
            overtaken.append(league.exclude([(1, 2 + len(overtaken))]))
            return decider.decide(inputs)

    with Store(f"sqlite:///{tmp_path}/store.db", compute=Overtaking()) as store:
        league = store.create("club", players=names(8), seed=1)
        with pytest.raises(LeagueError, match="changed by others during 3 decisions") as refusal:
            league.ask()
        assert refusal.value.code == "compute-busy"
        assert len(overtaken) == 3
        assert league.about()["n_proposals"] == 0

import time

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.policies.rounds import compiled_loop
from matchbandit.simulation.simulate import Job


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Binomial(3)])
def test_the_compiled_loop_plays_exactly_what_ask_and_tell_play(law):
    problem = mb.Bipartite([0.9, 0.4, 0.3], [0.2, 0.8, 0.5, 0.1], rewards=law)
    slow, fast = (
        mb.simulate(problem, "uts", horizon=3000, runs=3, seed=4, engine=engine, checkpoints=range(1, 3001))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


def test_after_the_loop_the_policy_is_where_ask_and_tell_would_have_left_it():
    job = Job(mb.Bipartite([0.9, 0.4], [0.2, 0.8]), mb.policy("uts"), np.array([2000]), 4, "step")
    slow, _ = job.play(0)
    job = Job(job.problem, job.spec, job.checkpoints, 4, "loop")
    fast, _ = job.play(0)
    assert slow.state() == fast.state()


def test_long_stretches_are_cut_so_that_they_can_be_interrupted(monkeypatch):
    from matchbandit.simulation import loop

    whole = mb.simulate(mb.Bipartite([0.9, 0.4], [0.2, 0.8]), "uts", horizon=5000, seed=1, checkpoints=[5000])
    monkeypatch.setattr(loop, "_LONGEST_CALL", 7)
    cut = mb.simulate(mb.Bipartite([0.9, 0.4], [0.2, 0.8]), "uts", horizon=5000, seed=1, checkpoints=[5000])
    assert cut.regret.tolist() == whole.regret.tolist()


def test_the_compiled_loop_is_at_least_20_times_faster_than_ask_and_tell():
    problem = mb.family("spiked", n=8, u1=0.9, gap=0.75).draw(1)

    def rate(engine, horizon):
        mb.simulate(problem, "uts", horizon=100, engine=engine)
        start = time.perf_counter()
        mb.simulate(problem, "uts", horizon=horizon, engine=engine, checkpoints=[horizon])
        return horizon / (time.perf_counter() - start)

    assert rate("loop", 200_000) > 20 * rate("step", 5000)


def test_the_loop_of_each_policy_is_cached_beside_its_own_file():
    from matchbandit.policies.pair.uts import Uts

    assert "uts" in compiled_loop(Uts)._cache.cache_path or compiled_loop(Uts).py_func.__module__.endswith("uts")
    assert compiled_loop(Uts) is compiled_loop(Uts)

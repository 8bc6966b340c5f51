import time

import numpy as np
import pytest
from numba import njit

import matchbandit as mb
from matchbandit.policies.pair.uts import Uts
from matchbandit.policies.round_policy import compiled_loop
from matchbandit.simulation.play import Job


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
    job = Job(mb.Bipartite([0.9, 0.4], [0.2, 0.8]), mb.policy("uts"), np.array([2000]), 4, "step", 2000)
    slow, _ = job.play(0)
    job = Job(job.problem, job.spec, job.checkpoints, 4, "loop", 2000)
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


@njit
def always_last(arrays, rng, edges):
    edges[0] = len(arrays.plays) - 1


@njit
def forget(arrays, rng, edges, rewards):
    arrays.plays[edges[0]] += 1


class Last(Uts):
    """Shares a file with Forgetting, and shares its update with Uts."""

    choose = staticmethod(always_last)


class Forgetting(Uts):
    update = staticmethod(forget)


@pytest.mark.parametrize("kind", [Last, Forgetting, Uts])
def test_policies_that_share_functions_or_files_do_not_share_a_loop(kind):
    problem = mb.Bipartite([0.9, 0.4], [0.3, 0.8])
    slow, fast = (mb.simulate(problem, mb.policy(kind), horizon=500, seed=2, engine=e) for e in ("step", "loop"))
    assert slow.plays.tolist() == fast.plays.tolist()
    assert compiled_loop(kind) is compiled_loop(kind)


def test_the_name_of_a_loop_changes_with_the_source_of_its_functions(tmp_path):
    from matchbandit.policies.round_policy import _fingerprint

    (tmp_path / "a.py").write_text("x = 1")
    before = _fingerprint({str(tmp_path / "a.py")})
    (tmp_path / "a.py").write_text("x = 2")
    assert _fingerprint({str(tmp_path / "a.py")}) != before

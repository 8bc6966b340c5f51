import numpy as np
import pytest
from numba import njit

import matchbandit as mb
from matchbandit.policies.pair.uts import Uts
from matchbandit.simulation.play import Job


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Binomial(3)])
@pytest.mark.slow
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
    from matchbandit.simulation import engines

    whole = mb.simulate(mb.Bipartite([0.9, 0.4], [0.2, 0.8]), "uts", horizon=5000, seed=1, checkpoints=[5000])
    monkeypatch.setattr(engines, "MAX_ROUNDS_PER_CALL", 7)
    cut = mb.simulate(mb.Bipartite([0.9, 0.4], [0.2, 0.8]), "uts", horizon=5000, seed=1, checkpoints=[5000])
    assert cut.regret.tolist() == whole.regret.tolist()


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
@pytest.mark.sampled(1)
def test_policies_that_share_functions_or_files_do_not_share_a_loop(kind):
    problem = mb.Bipartite([0.9, 0.4], [0.3, 0.8])
    slow, fast = (mb.simulate(problem, mb.policy(kind), horizon=500, seed=2, engine=e) for e in ("step", "loop"))
    assert slow.plays.tolist() == fast.plays.tolist()


def choose_far_out(arrays, rng, edges):
    edges[0] = 10**6 if arrays.plays.sum() >= 5 else 0


def choose_below(arrays, rng, edges):
    edges[0] = -1 if arrays.plays.sum() >= 5 else 0


@pytest.mark.parametrize("wrong", [choose_far_out, choose_below])
@pytest.mark.parametrize("decorate", [njit, lambda function: function])
@pytest.mark.parametrize("engine", ["loop", "step"])
@pytest.mark.filterwarnings("ignore:the functions of uts are plain Python")
@pytest.mark.sampled(1)
def test_an_edge_that_does_not_exist_is_refused_by_name(wrong, decorate, engine):
    """It gave a regret of 0, and then aborted the process."""
    kind = type("Wrong", (Uts,), {"choose": staticmethod(decorate(wrong))})
    problem = mb.Bipartite([0.9, 0.4], [0.3, 0.8])
    with pytest.raises(mb.MatchbanditError, match=r"uts chose the edge (1000000|-1) in round 6; .* has 4 pairs"):
        mb.simulate(problem, mb.policy(kind), horizon=500, engine=engine)


def plain_last(arrays, rng, edges):
    edges[0] = len(arrays.plays) - 1
    assert isinstance(arrays.plays, np.ndarray)


@pytest.mark.slow
def test_plain_python_works_slowly_and_with_a_word():
    """It passed check_policy and died in simulate."""
    kind = type("Plain", (Uts,), {"choose": staticmethod(plain_last)})
    problem = mb.Bipartite([0.9, 0.4], [0.3, 0.8])
    with pytest.warns(UserWarning, match="the functions of uts are plain Python"):
        plain = mb.simulate(problem, mb.policy(kind), horizon=300, seed=2)
    compiled = mb.simulate(problem, mb.policy(Last), horizon=300, seed=2)
    assert plain.about["engine"] == "loop"
    assert plain.plays.tolist() == compiled.plays.tolist()
    mb.check_policy(kind)


def choose_nothing(arrays, rng, edges):
    return 1


def choose_twice(arrays, rng, edges):
    for k in range(len(edges)):
        edges[k] = 0


@pytest.mark.parametrize("engine", ["loop", "step"])
@pytest.mark.slow
def test_a_choice_that_is_not_written_down_is_refused(engine):
    """It played the first pair for ever."""
    kind = type("Returning", (Uts,), {"choose": staticmethod(njit(choose_nothing))})
    with pytest.raises(mb.MatchbanditError, match="uts chose the edge -1 in round 1"):
        mb.simulate(mb.Bipartite([0.9, 0.4], [0.3, 0.8]), mb.policy(kind), horizon=500, engine=engine)


@pytest.mark.parametrize("problem", [mb.Monopartite([0.9, 0.8, 0.3, 0.2]), mb.Bipartite([0.9, 0.4], [0.3, 0.8])])
@pytest.mark.parametrize("engine", ["loop", "step"])
@pytest.mark.sampled(1)
def test_rounds_that_are_no_matchings_are_refused(engine, problem):
    """They had a negative regret."""
    kind = type("Twice", (mb.CATALOGUE["cucb"],), {"choose": staticmethod(njit(choose_twice))})
    with pytest.raises(
        mb.MatchbanditError, match=r"(player|row) 0 was in 2 pairs in 1 rounds: these are not matchings"
    ):
        mb.simulate(problem, mb.policy(kind), horizon=500, engine=engine)


@pytest.mark.parametrize("start", [[1, 2], {"a": 1}, "text"])
def test_a_field_that_a_state_cannot_keep_is_refused(start):
    kind = type("Odd", (Uts,), {"start": lambda self: Uts.start(self)._replace(sums=start)})
    with pytest.raises(mb.MatchbanditError, match=r"the field sums of uts is a .*, which cannot be stored"):
        mb.policy(kind).build(mb.bipartite(2, 2))

"""Runs that end at the first split, the history of splits, and what policies warn of."""

import warnings

import numpy as np
import pytest
from reference.tape import Tape

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.simulation.engines import has_split, is_done, jump, step, stop_condition
from matchbandit.simulation.score import Score

SIX = mb.Monopartite([1.0, 1.0, 0.5, 0.5, 0.0, 0.0])
FOUR = mb.Monopartite([0.9, 0.9, 0.1, 0.1])
CLUSTERS = ["adaptive-matching", "simple-adaptive-matching", "exploration-first"]
UNEQUAL = mb.Monopartite([1.0, 0.2, 0.2, 0.0])


def both(problem, name, engine="auto", **more):
    """The same runs, once to the horizon and once to the first split."""
    call = {"horizon": 1200, "runs": 1 if engine == "step" else 3, "seed": 1, "engine": engine, **more}
    return (mb.simulate(problem, name, **call, stop=stop) for stop in (None, "first-split"))


@pytest.mark.parametrize("engine", ["step", "jump"])
@pytest.mark.parametrize("name", CLUSTERS)
def test_a_run_ends_exactly_at_its_first_split(name, engine):
    whole, stopped = both(SIX, name, engine)
    first = [splits[0] for splits in whole.splits]
    assert stopped.ended.tolist() == [at for at, _ in first]
    assert all(0 < at < 1200 for at in stopped.ended)
    assert stopped.splits == [[split] for split in first]
    assert (whole.ended == 1200).all()
    assert (stopped.plays.sum(axis=(1, 2)) == 3 * stopped.ended).all()
    assert stopped.about["stop"] == "first-split"
    assert "stop" not in whole.about


@pytest.mark.parametrize("engine", ["step", "jump"])
def test_checkpoints_before_the_split_are_as_ever_and_later_ones_repeat_its_regret(engine):
    checkpoints = [1, 100, 250, 1150, 1199]
    whole, stopped = both(SIX, "adaptive-matching", engine, checkpoints=checkpoints)
    for run, ended in enumerate(stopped.ended):
        before = stopped.rounds <= ended
        assert before.tolist() == [True, True, True, False, False, False]
        assert stopped.regret[run][before].tolist() == whole.regret[run][before].tolist()
        edges = stopped.plays_by_edge[run]
        now = SIX.regret_of_plays(edges, int(ended), selection="matching")
        assert stopped.regret[run][~before].tolist() == [now] * 3
        assert now > stopped.regret[run][before][-1]
    assert stopped.final.tolist() == stopped.regret[:, -1].tolist()


def test_the_regret_at_the_end_is_that_of_an_unstopped_run_read_at_that_round():
    _, stopped = both(SIX, "adaptive-matching", "step", runs=1)
    at = int(stopped.ended[0])
    whole, again = both(SIX, "adaptive-matching", "step", runs=1, checkpoints=[at])
    assert again.ended.tolist() == [at]
    assert again.regret[0].tolist() == [whole.regret[0, 0]] * 2 == [stopped.final[0]] * 2
    assert whole.splits[0][0] == again.splits[0][0]


@pytest.mark.parametrize("name", ["adaptive-matching", "exploration-first"])
def test_step_and_jump_stop_at_the_same_round_on_the_same_tape(name):
    scores = []
    for engine in (step, jump):
        policy = mb.policy(name).build(SIX.graph, horizon=2000, seed=1)
        score = Score(SIX, "matching", np.array([100, 1500, 2000]))
        engine(policy, Tape.bernoulli(SIX.means, 2000, 3), score, has_split)
        scores.append(score)
        assert len(policy.splits) == 1
        assert policy.splits[0][0] == policy.rounds == score.round
    slow, fast = scores
    assert slow.round == fast.round < 1500
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.regret[1] == slow.regret[2] > slow.regret[0]


@pytest.mark.parametrize("engine", ["step", "jump"])
def test_without_a_split_the_horizon_ends_a_run(engine):
    whole, stopped = both(FOUR, "simple-adaptive-matching", engine, horizon=100)
    assert (stopped.ended == 100).all()
    assert not any(stopped.splits)
    assert stopped.regret.tolist() == whole.regret.tolist()
    assert stopped.plays.tolist() == whole.plays.tolist()


def test_clusters_to_start_from_are_no_split():
    spec = mb.policy("adaptive-matching", clusters=[[0, 1], [2, 3, 4, 5]])
    _, stopped = both(mb.Monopartite([1.0, 1.0, 0.9, 0.9, 0.0, 0.0]), spec)
    assert all(at > 0 for at in stopped.ended)
    assert [clusters for ((_, clusters),) in stopped.splits] == [[[0, 1], [2, 3], [4, 5]]] * 3


def test_workers_do_not_change_where_runs_end():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork beside pytest's threads
        call = {"horizon": 2000, "runs": 5, "seed": 1, "stop": "first-split"}
        one, two = (mb.simulate(SIX, "adaptive-matching", **call, workers=w) for w in (1, 2))
    assert one.ended.tolist() == two.ended.tolist()
    assert one.splits == two.splits
    assert one.regret.tolist() == two.regret.tolist()
    assert len(set(one.ended.tolist())) > 1


def test_the_splits_of_a_run_are_those_of_its_policy():
    runs = mb.simulate(SIX, "adaptive-matching", horizon=2000, runs=3, seed=1)
    for splits in runs.splits:
        rounds = [at for at, _ in splits]
        assert rounds == sorted(rounds)
        assert splits[-1][1] == [[0, 1], [2, 3], [4, 5]]
        for _, clusters in splits:
            assert sorted(item for cluster in clusters for item in cluster) == list(range(6))


@pytest.mark.parametrize(("problem", "name"), [(FOUR, "uniform"), (FOUR, "cucb"), (mb.Bipartite([0.9], [0.5]), "uts")])
def test_policies_without_clusters_have_no_splits(problem, name):
    runs = mb.simulate(problem, name, horizon=50, runs=3)
    assert runs.splits == [[], [], []]
    assert runs.ended.tolist() == [50, 50, 50]


@pytest.mark.parametrize("name", ["uniform", "cucb", "rank1-thompson"])
def test_a_policy_without_clusters_cannot_stop_at_a_split_and_is_named(name):
    touched = []
    with pytest.raises(MatchbanditError, match=rf"^{name} has no clusters that split; stop='first-split' is for"):
        mb.simulate(FOUR, name, horizon=50, stop="first-split", progress=lambda *told: touched.append(told))
    assert not touched


@pytest.mark.parametrize("stop", ["first-splt", "never", "", 3, ["first-split"]])
def test_an_unknown_stop_is_refused(stop):
    with pytest.raises(MatchbanditError, match="unknown stop"):
        mb.simulate(SIX, "adaptive-matching", horizon=50, stop=stop)


def test_a_misspelt_stop_is_guessed():
    with pytest.raises(MatchbanditError, match="did you mean 'first-split'"):
        mb.simulate(SIX, "adaptive-matching", horizon=50, stop="first-splt")


def test_conditions_by_hand():
    clusters = mb.policy("adaptive-matching").build(SIX.graph, horizon=100)
    assert stop_condition(None, clusters) is is_done
    until = stop_condition("first-split", clusters)
    assert not until(clusters)
    assert clusters.splits == []
    clusters.history.append([7, [[0, 1], [2, 3, 4, 5]], []])
    assert until(clusters)
    assert clusters.splits == [(7, [[0, 1], [2, 3, 4, 5]])]
    assert mb.policy("uniform").build(SIX.graph).splits == []


def test_checkpoints_after_an_early_end_repeat_the_regret_of_that_moment():
    score = Score(FOUR, "matching", np.array([2, 5, 9]))
    worst = FOUR.graph.edges([(0, 2), (1, 3)])
    score.count(2, worst, 2)
    score.count(1, worst, 1)
    loss = 0.81 + 0.01 - 2 * 0.09
    assert np.allclose(score.regret, [2 * loss, 3 * loss, 3 * loss])
    assert not score.finished


WARNS = "simple-adaptive-matching assumes players in equal pairs"


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_policy_warns_of_is_shown_by_the_calling_process(workers):
    call = {"horizon": 20_000, "runs": 6, "seed": 1}
    with pytest.warns(UserWarning, match=WARNS) as told:
        runs = mb.simulate(UNEQUAL, "simple-adaptive-matching", **call, workers=workers)
    assert {str(w.message) for w in told if w.category is UserWarning} == {str(told.pop(UserWarning).message)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quiet = mb.simulate(UNEQUAL, "simple-adaptive-matching", **call)
    assert runs.regret.tolist() == quiet.regret.tolist()
    assert runs.plays.tolist() == quiet.plays.tolist()
    assert runs.splits == quiet.splits
    assert len(runs.final) == 6


def test_a_warning_of_a_worker_keeps_its_kind_and_can_be_made_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match=WARNS):
            mb.simulate(UNEQUAL, "simple-adaptive-matching", horizon=20_000, runs=6, seed=1, workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_equal_pairs_warn_of_nothing(workers):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        mb.simulate(FOUR, "simple-adaptive-matching", horizon=20_000, runs=4, seed=1, workers=workers)
    assert told == []


@pytest.mark.parametrize("workers", [1, 2])
def test_what_every_run_warns_of_is_shown_once(workers):
    spec = mb.policy("simple-adaptive-matching", clusters=[[0], [1, 2, 3]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        mb.simulate(mb.Monopartite([0.9, 0.8, 0.2, 0.1]), spec, horizon=50, runs=6, workers=workers)
    assert ["odd size" in str(warning.message) for warning in caught] == [True]

import pickle
from dataclasses import replace

import numpy as np
import pytest
from reference.made import assert_same, found, made_about, made_runs

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.graphs import bipartite, monopartite
from matchbandit.results import Runs


@pytest.fixture
def runs():
    return made_runs(bipartite(2, 3))


def test_unless_told_otherwise_all_runs_went_to_the_horizon_and_had_no_clusters():
    runs = made_runs(monopartite(4))
    assert runs.ended.tolist() == [2**62] * 3
    assert runs.splits == [[], [], []]
    assert runs.eliminations == [[], [], []]


def test_runs_say_what_they_are(runs):
    slots = mb.simulate(mb.Bipartite([0.9, 0.3], [0.8, 0.4]), mb.policy("uts"), horizon=10, runs=2)
    assert repr(slots).startswith("<Runs: uts(")
    assert "on bipartite 2×2, bernoulli rewards; runs 2, rounds 10, final regret " in repr(slots)
    assert "(5–95 %: " in repr(slots)
    html = replace(runs, about=replace(runs.about, policy="<b>x</b>"))._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "<th>final regret</th>" in html


def test_plays_stand_at_their_pairs():
    plays = np.array([[1, 2, 3, 4, 5, 6]])
    slots = Runs(made_about(bipartite(2, 3)), np.array([5]), np.zeros((1, 1)), plays, np.zeros((1, 6)))
    assert slots.plays.tolist() == [[[1, 2, 3], [4, 5, 6]]]
    plays = np.array([[1, 2, 3], [4, 5, 6]])
    players = Runs(made_about(monopartite(3)), np.array([5]), np.zeros((2, 1)), plays, np.zeros((2, 3)))
    assert players.plays.tolist() == [[[0, 1, 2], [0, 0, 3], [0, 0, 0]], [[0, 4, 5], [0, 0, 6], [0, 0, 0]]]


@pytest.mark.parametrize(("graph", "shape"), [(bipartite(4, 2), (3, 4, 2)), (monopartite(6), (3, 6, 6))], ids=str)
def test_plays_are_a_matrix_for_each_run_and_keep_every_play(graph, shape):
    runs = made_runs(graph)
    assert runs.plays.shape == shape
    assert runs.plays.dtype == np.int64
    assert np.array_equal(np.sort(runs.plays[runs.plays > 0]), np.sort(runs.plays_by_edge.ravel()))


def test_sums_of_rewards_stand_where_the_plays_do():
    plays, sums = np.array([[1, 0, 3], [4, 5, 6]]), np.array([[0.5, 0.0, 2.0], [3.0, -1.0, 6.0]])
    players = Runs(made_about(monopartite(3)), np.array([5]), np.zeros((2, 1)), plays, reward_sums=sums)
    assert players.sums_by_edge is sums
    assert players.sums.tolist() == [[[0, 0.5, 0], [0, 0, 2], [0, 0, 0]], [[0, 3, -1], [0, 0, 6], [0, 0, 0]]]
    assert players.played[0].pairs.tolist() == [[0, 1], [1, 2]]
    assert players.played[0].sums.tolist() == [0.5, 2.0]


def many_players():
    """Two runs on a graph with more pairs than are counted."""
    played = [(np.array([0, 4]), np.array([3, 1])), (np.array([7]), np.array([4]))]
    sums = [np.array([2.0, 0.5]), np.array([1.0])]
    about = made_about(monopartite(2000), runs=2)
    return Runs(about, np.array([4]), np.array([[1.0], [2.0]]), played, reward_sums=sums)


def test_of_large_graphs_only_what_was_played_is_known():
    runs = many_players()
    assert runs.played[0].pairs.tolist() == [[0, 1], [0, 5]]
    assert runs.played[1].counts.tolist() == [4]
    assert [run.sums.tolist() for run in runs.played] == [[2.0, 0.5], [1.0]]
    for ask in (lambda: runs.plays, lambda: runs.plays_by_edge, lambda: runs.sums, lambda: runs.sums_by_edge):
        with pytest.raises(MatchbanditError, match=r"has 1,999,000 pairs, and above 1,000,000 .* Use runs\.played"):
            ask()


def test_any_runs_can_be_changed_in_one_part():
    for runs in (made_runs(bipartite(2, 3)), many_players()):
        other = replace(runs, about=replace(runs.about, seed=8))
        assert other.about.seed == 8
        assert other.counted is runs.counted
        assert other.regret is runs.regret
    assert [pair.counts.tolist() for pair in replace(many_players(), splits=[]).played] == [[3, 1], [4]]


def test_final_and_summary_by_hand():
    regret = np.column_stack([np.zeros(21), np.random.default_rng(1).permutation(21)])
    runs = Runs(made_about(), np.array([1, 9]), regret, np.zeros((21, 1), dtype=np.int64), np.zeros((21, 1)))
    assert runs.final.tolist() == regret[:, 1].tolist()
    assert len(runs) == 21
    se = pytest.approx([0, ((21**2 - 1) / 12 * 21 / 20 / 21) ** 0.5])  # of 0 … 20, whose variance is (n² − 1)/12
    assert runs.summary() == {"mean": [0.0, 10.0], "se": se, "p5": [0.0, 1.0], "p95": [0.0, 19.0]}
    one = Runs(made_about(), np.array([1, 9]), regret[:1], np.zeros((1, 1), np.int64), np.zeros((1, 1)))
    assert one.summary()["se"] == [None] * 2


def test_runs_can_be_pickled(runs):
    assert_same(pickle.loads(pickle.dumps(runs)), runs)


def test_what_is_right_wrong_and_not_identified_by_hand():
    result = found([10, 20, 30, 40], identified=[1, 1, 1, 0], correct=[1, 1, 0, 0], first_run=5)
    summary = result.summary()
    assert (summary["runs"], summary["identified"], summary["correct"], summary["wrong"]) == (4, 3, 2, 1)
    assert summary["rounds"]["mean"] == 25
    assert result.run_numbers == [5, 6, 7, 8]
    assert len(result) == 4

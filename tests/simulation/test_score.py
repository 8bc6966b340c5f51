import numpy as np
import pytest

import matchbandit as mb
from matchbandit.simulation import score as scores
from matchbandit.simulation.score import Score

SMALL = [
    (mb.Monopartite([0.9, 0.2, 0.5, 0.7]), "matching"),
    (mb.Monopartite([0.9, 0.2, 0.5, 0.7, 0.6]), "matching"),
    (mb.Monopartite([0.9, 0.2, 0.5, 0.7]), "pair"),
    (mb.Bipartite([0.9, 0.3], [0.8, 0.4, 0.1]), "matching"),
    (mb.Means([[0, 0.9, 0.2], [0.9, 0, 0.5], [0.2, 0.5, 0]], players=True), "matching"),
    (mb.Means([[0.9, 0.2], [0.8, 0.7]]), "pair"),
]


def count_only_played(monkeypatch):
    monkeypatch.setattr("matchbandit.graphs.MAX_COUNTED_PAIRS", 0)


def matchings(problem, selection, rng):
    """Random rounds."""
    graph = problem.graph
    size = 1 if selection == "pair" else graph.matching_size
    while True:
        one, other = (rng.permutation(n) for n in graph.shape)
        pairs = (
            one[: 2 * size].reshape(-1, 2) if graph.kind == "monopartite" else np.stack([one[:size], other[:size]], 1)
        )
        yield graph.edges(pairs)


@pytest.mark.parametrize(("problem", "selection"), SMALL, ids=str)
def test_played_pairs_alone_give_the_same_score(problem, selection, monkeypatch):
    checkpoints = np.array([1, 7, 40, 60])
    dense = Score(problem, selection, checkpoints)
    count_only_played(monkeypatch)
    monkeypatch.setattr(scores, "LATEST", 5)
    sparse = Score(problem, selection, checkpoints)
    assert dense.lists_all
    assert not sparse.lists_all
    rounds = matchings(problem, selection, np.random.default_rng(1))
    sums = np.zeros(problem.graph.n_pairs)
    for at, edges in enumerate(next(rounds) for _ in range(41)):
        sums[edges] += at
        for score in (dense, sparse):
            score.count(1, edges, 1, np.full(len(edges), float(at)))
    for score in (dense, sparse):  # several at once, an edge named twice; and rewards that come later
        score.count(4, np.concatenate([edges, edges]), np.repeat([1, 3], len(edges)), np.full(2 * len(edges), 100.0))
        score.count(0, edges, 0, np.full(len(edges), 0.5))
    sums[edges] += 200.5
    assert dense.sums.tolist() == sums.tolist()
    assert sparse.sums.tolist() == sums[sparse.played[0]].tolist()
    np.testing.assert_allclose(sparse.regret, dense.regret, rtol=1e-12, atol=1e-12)
    for found, expected in zip(sparse.played, dense.played, strict=True):
        assert np.array_equal(found, expected)
    assert np.array_equal(dense.played[1], dense.plays[dense.plays > 0])
    with pytest.raises(ValueError, match="too many pairs"):
        _ = sparse.plays


@pytest.mark.parametrize(("problem", "selection"), SMALL, ids=str)
def test_means_of_edges_are_those_of_the_list(problem, selection, monkeypatch):
    edges = np.arange(problem.graph.n_pairs)[::-1]
    listed = problem.means_of(edges)
    count_only_played(monkeypatch)
    assert np.array_equal(problem.means_of(edges), listed)
    assert np.array_equal(listed, problem.means[edges])


def test_rounds_that_are_no_matchings_are_refused_among_played_pairs_too(monkeypatch):
    count_only_played(monkeypatch)
    score = Score(mb.Monopartite([0.9, 0.2, 0.5, 0.7]), "matching", np.array([1]))
    with pytest.raises(mb.MatchbanditError, match="player 0 was in 2 pairs in 1 rounds"):
        score.count(1, np.array([0, 1]), 1)


@pytest.mark.parametrize("policy", ["cucb", "adaptive-matching", "rank1-thompson"])
def test_every_engine_counts_played_pairs(policy, monkeypatch):
    players = mb.Monopartite([0.9, 0.8, 0.6, 0.3])
    every = mb.simulate(players, policy, horizon=300, runs=2, seed=4)
    count_only_played(monkeypatch)
    only_played = mb.simulate(players, policy, horizon=300, runs=2, seed=4)
    np.testing.assert_allclose(only_played.regret, every.regret, rtol=1e-12, atol=1e-12)
    for one, other in zip(only_played.played, every.played, strict=True):
        assert np.array_equal(one.pairs, other.pairs)
        assert np.array_equal(one.counts, other.counts)
        assert np.array_equal(one.sums, other.sums)


def test_a_hundred_thousand_players_end_to_end(tmp_path):
    u = np.random.default_rng(0).uniform(0.1, 0.9, 100_000)
    done = mb.simulate(mb.Monopartite(u), "rank1-thompson", horizon=3, checkpoints=[1, 2])
    assert done.about.engine == "step"
    (played,) = done.played
    assert played.counts.sum() == 150_000
    assert np.bincount(played.pairs.ravel(), np.repeat(played.counts, 2)).tolist() == [3] * 100_000
    value = (u[played.pairs].prod(axis=1) * played.counts).sum()
    ranked = np.sort(u)[::-1]
    assert done.final[0] == pytest.approx(3 * (ranked[::2] * ranked[1::2]).sum() - value)
    refusal = r"^monopartite with 100000 players has 4,999,950,000 pairs, and above 1,000,000 .* Use runs\.played"
    for ask in (lambda: done.plays, lambda: done.plays_by_edge):
        with pytest.raises(mb.MatchbanditError, match=refusal):
            ask()
    done.save(tmp_path / "many.parquet")
    back = mb.load(tmp_path / "many.parquet")
    assert np.array_equal(back.played[0].pairs, played.pairs)
    assert np.array_equal(back.played[0].counts, played.counts)
    assert np.array_equal(back.played[0].sums, played.sums)
    assert np.array_equal(back.regret, done.regret)
    assert back.about == done.about
    with pytest.raises(mb.MatchbanditError, match=refusal):
        _ = back.plays


def test_an_odd_number_of_many_players():
    u = np.random.default_rng(0).uniform(0.1, 0.9, 2001)
    done = mb.simulate(mb.Monopartite(u), "rank1-thompson", horizon=4)
    met = np.bincount(done.played[0].pairs.ravel(), np.repeat(done.played[0].counts, 2), minlength=2001)
    assert sorted(met)[:5] == [3, 3, 3, 3, 4]
    assert (np.diff(done.regret[0]) > 0).all()


def test_only_policies_of_any_size_take_many_players():
    players = mb.Monopartite(np.full(100_000, 0.5))
    with pytest.raises(mb.MatchbanditError, match="rank1-thompson, which keeps only the pairs that were played"):
        mb.simulate(players, "uniform", horizon=2)
    with pytest.raises(mb.MatchbanditError, match="rank1-thompson, which keeps only the pairs that were played"):
        mb.identify(players, "matching-id", delta=0.1)
    with pytest.raises(mb.MatchbanditError, match="of memory, where this machine has"):
        mb.simulate(players, "rank1-thompson", horizon=10**9)

"""Going on as before: the likeliest mixture of matchings, never above the best."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

from matchbandit.graphs import bipartite, monopartite
from matchbandit.lab.replay.as_before import agreement, draw_matchings, pair_frequencies
from matchbandit.past_results import PairTotals
from matchbandit.solvers.best import best_matching


def tally_of(graph, counts):
    """Counts by edge as a log would give them."""
    names = tuple(tuple(f"{side}{k}" for k in range(n)) for side, n in enumerate(graph.side_sizes))
    played = np.flatnonzero(counts)
    counts = np.asarray(counts)[played]
    return PairTotals(graph, names, graph.pairs[played], counts, 0.0 * counts)


def matchings_of(graph):
    """All largest matchings, by brute force: each order of all items, read in twos or side by side."""
    n, m = graph.shape
    orders = np.array(list(permutations(range(max(n, m)))))
    if not graph.is_bipartite:
        lists = orders[:, : n // 2 * 2].reshape(len(orders), -1, 2)
    else:
        here = np.broadcast_to(np.arange(min(n, m)), (len(orders), min(n, m)))
        there = orders[:, : min(n, m)]
        lists = np.stack([here, there] if n <= m else [there, here], axis=2)
    return np.array(sorted({tuple(sorted(graph.edges(pairs).tolist())) for pairs in lists}))


@pytest.mark.slow
@pytest.mark.parametrize("selection", ["pair", "matching"])
@pytest.mark.parametrize("graph", [monopartite(5), monopartite(13), bipartite(2, 5), bipartite(9, 7)], ids=str)
def test_pair_frequencies_earn_no_more_than_the_best_whatever_the_means(graph, selection):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        counts = rng.integers(1, 100, graph.n_pairs) ** 2 * (rng.random(graph.n_pairs) < rng.random())
        counts[rng.integers(graph.n_pairs)] = 500
        x = pair_frequencies(tally_of(graph, counts), selection, seed % 7)
        assert x.sum() == pytest.approx(1 if selection == "pair" else graph.matching_size)
        for means in (rng.random(graph.n_pairs), counts / counts.max(), (counts > 0) * 1.0):
            best = means.max() if selection == "pair" else means[best_matching(graph, means)].sum()
            assert x @ means <= best * (1 + 1e-9)


@pytest.mark.parametrize("graph", [monopartite(5), monopartite(6), bipartite(2, 4), bipartite(4, 3)], ids=str)
def test_pair_frequencies_are_the_likeliest_of_all_mixtures(graph):
    counts = np.random.default_rng(1).integers(1, 20, graph.n_pairs) ** 2
    shares, matchings = counts / counts.sum(), matchings_of(graph)
    member = (matchings[:, :, None] == np.arange(graph.n_pairs)).any(axis=1).astype(float)
    x = pair_frequencies(tally_of(graph, counts), "matching")
    mixture = linprog(np.zeros(len(member)), A_eq=member.T, b_eq=x, bounds=(0, 1))
    assert mixture.status == 0, "x is no mixture of matchings"
    # Of any other mixture y, Σ share log(y/x) ≤ log Σ share y/x ≤ log max_k Σ_{e ∈ k} share_e/x_e.
    assert np.log((member @ (shares / x)).max()) < 2e-5


@pytest.mark.parametrize("graph", [monopartite(7), monopartite(12), bipartite(3, 5), bipartite(8, 8)], ids=str)
def test_pair_frequencies_of_a_log_of_matchings_repeat_it(graph):
    rng, counts = np.random.default_rng(1), np.zeros(graph.n_pairs, dtype=np.int64)
    for rounds in (30, 15, 5):  # three matchings, so often each
        weights = rng.random(graph.n_pairs)
        counts[best_matching(graph, weights)] += rounds
    x = pair_frequencies(tally_of(graph, counts), "matching")
    np.testing.assert_allclose(x, counts / 50, atol=0.01)
    assert agreement(tally_of(graph, counts), x) > 0.99


def test_draw_matchings_takes_pairs_one_by_one_by_their_counts():
    # ab 3, bc 1, cd 1. First ab (3/5) or cd (1/5), then the other; or bc (1/5), and who is left are a and d.
    drawn = draw_matchings(tally_of(monopartite(4), [3, 0, 0, 1, 0, 1]), 4000, 1).tolist()
    assert np.mean([0 in edges for edges in drawn]) == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 4000))
    assert {tuple(sorted(edges)) for edges in drawn} == {(0, 5), (2, 3)}
    one_pair = draw_matchings(tally_of(bipartite(2, 3), [1, 0, 0, 0, 0, 0]), 4000, 1).tolist()
    assert all(0 in edges for edges in one_pair)  # and row 1 gets column 1 or 2 by lot
    assert np.mean([4 in edges for edges in one_pair]) == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 4000))

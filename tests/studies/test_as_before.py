"""Going on as before: a mixture of matchings, as near to the log as can be, never above the best."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import matchbandit as mb
from matchbandit.graphs import bipartite, monopartite
from matchbandit.past_results import PairTotals
from matchbandit.solvers.best import best_matching
from matchbandit.studies.as_before import agreement, draw_matchings, pair_frequencies

GRAPHS = [monopartite(4), monopartite(5), monopartite(13), bipartite(2, 5), bipartite(4, 3), bipartite(9, 7)]


def tally_of(graph, counts):
    """Counts by edge as a log would give them."""
    names = tuple(tuple(f"{side}{k}" for k in range(n)) for side, n in enumerate(graph.shape))
    played = np.flatnonzero(counts)
    counts = np.asarray(counts)[played]
    return PairTotals(graph, names[: 2 if graph.kind == "bipartite" else 1], graph.pairs[played], counts, 0.0 * counts)


def some_matchings(graph):
    """All largest matchings, by brute force: each order of all items, read in twos or side by side."""
    n, m = graph.shape
    found = set()
    for order in permutations(range(max(n, m))):
        if graph.kind == "monopartite":
            pairs = np.array(order[: n // 2 * 2]).reshape(-1, 2)
        elif n <= m:
            pairs = np.array(list(enumerate(order[:n])))
        else:
            pairs = np.array([(i, j) for j, i in enumerate(order[:m])])
        found.add(tuple(sorted(graph.edges(pairs).tolist())))
    return [list(edges) for edges in sorted(found)]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    graph=st.sampled_from(GRAPHS),
    selection=st.sampled_from(["pair", "matching"]),
    seed=st.integers(0, 10**6),
    density=st.floats(0.02, 1),
)
@pytest.mark.slow
def test_no_means_make_it_better_than_the_best(graph, selection, seed, density):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 100, graph.n_pairs) ** 2 * (rng.random(graph.n_pairs) < density)
    counts[rng.integers(graph.n_pairs)] = 500
    x = pair_frequencies(tally_of(graph, counts), selection, seed % 7)
    size = 1 if selection == "pair" else graph.matching_size
    assert x.sum() == pytest.approx(size)
    assert (x >= 0).all()
    for means in (rng.random(graph.n_pairs), counts / counts.max(), (counts > 0) * 1.0):
        best = means.max() if selection == "pair" else means[best_matching(graph, means)].sum()
        assert x @ means <= best * (1 + 1e-9)


@pytest.mark.parametrize(
    "graph", [monopartite(4), monopartite(5), monopartite(6), bipartite(2, 4), bipartite(4, 3)], ids=str
)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_likeliest_of_all_mixtures(graph, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 20, graph.n_pairs) ** 2
    shares = counts / counts.sum()
    member = np.zeros((len(listed := some_matchings(graph)), graph.n_pairs))
    for row, edges in zip(member, listed, strict=True):
        row[edges] = 1
    x = pair_frequencies(tally_of(graph, counts), "matching")
    mixture = linprog(np.zeros(len(member)), A_eq=member.T, b_eq=x, bounds=(0, 1))
    assert mixture.status == 0, "x is no mixture of matchings"
    # Of any other mixture y, Σ share log(y/x) ≤ log Σ share y/x ≤ log max_k Σ_{e ∈ k} share_e/x_e.
    assert np.log((member @ (shares / x)).max()) < 2e-5


@pytest.mark.parametrize(
    "graph", [monopartite(8), monopartite(7), monopartite(12), bipartite(3, 5), bipartite(8, 8)], ids=str
)
def test_a_log_of_matchings_is_repeated_as_it_was(graph):
    rng = np.random.default_rng(1)
    counts = np.zeros(graph.n_pairs, dtype=np.int64)
    for rounds in (30, 15, 5):  # three matchings, so often each
        one, other = (
            rng.permutation(n)[: graph.matching_size * (2 if graph.kind == "monopartite" else 1)] for n in graph.shape
        )
        pairs = one.reshape(-1, 2) if graph.kind == "monopartite" else np.stack([one, other], axis=1)
        counts[graph.edges(pairs)] += rounds
    tally = tally_of(graph, counts)
    x = pair_frequencies(tally, "matching")
    np.testing.assert_allclose(x, counts / 50, atol=0.01)
    assert agreement(tally, x) > 0.99


def test_pairs_are_drawn_one_by_one_by_their_counts():
    # ab 3, bc 1, cd 1. First ab (3/5) or cd (1/5), then the other; or bc (1/5), and who is left are a and d.
    graph = monopartite(4)
    drawn = draw_matchings(tally_of(graph, [3, 0, 0, 1, 0, 1]), 4000, 1)
    with_ab = np.array([0 in edges for edges in drawn.tolist()])
    assert abs(with_ab.mean() - 0.8) < 4 * np.sqrt(0.16 / 4000)
    assert {tuple(sorted(edges)) for edges in drawn.tolist()} == {(0, 5), (2, 3)}
    one_pair = draw_matchings(tally_of(bipartite(2, 3), [1, 0, 0, 0, 0, 0]), 4000, 1)
    with_second = np.array([4 in edges for edges in one_pair.tolist()])  # row 1, by lot, with column 1 or 2
    assert all(0 in edges for edges in one_pair.tolist())
    assert abs(with_second.mean() - 0.5) < 4 * np.sqrt(0.25 / 4000)


def test_the_same_seed_gives_the_same_mixture():
    tally = tally_of(monopartite(14), np.random.default_rng(3).integers(0, 9, 91))
    first, again, other = (pair_frequencies(tally, "matching", seed) for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()


def test_pairs_are_drawn_by_their_shares():
    log = mb.PastResults.from_rows([("a", "b", 3, 1), ("b", "c", 1, 1)])
    assert pair_frequencies(log.tally, "pair").tolist() == [0.75, 0, 0.25]

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.combinatorial import best_value, total
from reference.combinatorial import matchings_of as largest_matchings_of

from matchbandit import MatchbanditError, bipartite, monopartite
from matchbandit.solvers import all_matchings, best_matching, count_matchings, sorted_across, sorted_pairing

# A few round values besides the arbitrary ones, so that ties are common.
strength = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)


def matchings_of(players):
    """All sets of disjoint pairs of these players, of any size."""
    if len(players) < 2:
        return [[]]
    first, *others = players
    alone = matchings_of(others)
    paired = [[(first, j), *rest] for j in others for rest in matchings_of([k for k in others if k != j])]
    return alone + paired


def matchings_across(n_rows, n_columns):
    """All largest sets of disjoint pairs of a row and a column."""
    if n_rows > n_columns:
        return [[(i, j) for j, i in matching] for matching in matchings_across(n_columns, n_rows)]
    return [list(enumerate(columns)) for columns in permutations(range(n_columns), n_rows)]


def test_brute_force_lists_as_many_matchings_as_there_are():
    assert len([m for m in matchings_of(list(range(6))) if len(m) == 3]) == 15
    assert len([m for m in matchings_of(list(range(7))) if len(m) == 3]) == 105
    assert len(matchings_across(3, 5)) == len(matchings_across(5, 3)) == 60


@settings(deadline=None, derandomize=True)
@given(st.lists(strength, min_size=2, max_size=7))
def test_the_sorted_pairing_is_the_best_of_all_matchings(u):
    pairs = sorted_pairing(u)
    assert pairs.shape == (len(u) // 2, 2)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(set(pairs.ravel().tolist())) == 2 * len(pairs)
    value = sum(u[i] * u[j] for i, j in pairs.tolist())
    best = max(sum(u[i] * u[j] for i, j in matching) for matching in matchings_of(list(range(len(u)))))
    assert abs(value - best) < 1e-12


@settings(deadline=None, derandomize=True)
@given(st.lists(strength, min_size=1, max_size=5), st.lists(strength, min_size=1, max_size=5))
def test_the_pairing_across_is_the_best_of_all_matchings(u, v):
    pairs = sorted_across(u, v)
    size = min(len(u), len(v))
    assert pairs.shape == (size, 2)
    assert len(set(pairs[:, 0].tolist())) == len(set(pairs[:, 1].tolist())) == size
    value = sum(u[i] * v[j] for i, j in pairs.tolist())
    best = max(sum(u[i] * v[j] for i, j in matching) for matching in matchings_across(len(u), len(v)))
    assert abs(value - best) < 1e-12


@settings(deadline=None, derandomize=True)
@given(st.lists(strength, min_size=2, max_size=7), st.lists(strength, min_size=1, max_size=7))
def test_the_pairs_come_best_first(u, v):
    within = [u[i] * u[j] for i, j in sorted_pairing(u).tolist()]
    across = [u[i] * v[j] for i, j in sorted_across(u, v).tolist()]
    assert within == sorted(within, reverse=True)
    assert across == sorted(across, reverse=True)


def test_among_equals_the_lower_index_comes_first():
    assert sorted_pairing([0.5] * 5).tolist() == [[0, 1], [2, 3]]
    assert sorted_pairing([0.5, 0.9, 0.5, 0.9, 0.5, 0.1]).tolist() == [[1, 3], [0, 2], [4, 5]]
    assert sorted_across([0.5] * 40, [0.5] * 20).tolist() == [[i, i] for i in range(20)]
    assert sorted_across([0.2, 0.7, 0.7], [0.3, 0.1, 0.3]).tolist() == [[1, 0], [2, 2], [0, 1]]


@pytest.mark.parametrize("n", [17, 100, 1000])
def test_among_many_equals_the_order_is_that_of_the_indices(n):
    u, v = np.random.default_rng(n).choice([0.1, 0.5, 0.9], size=(2, n))
    rows, columns = sorted(range(n), key=lambda i: -u[i]), sorted(range(n), key=lambda j: -v[j])
    assert sorted_across(u, v).tolist() == [[i, j] for i, j in zip(rows, columns, strict=True)]
    assert sorted_pairing(u).tolist() == [sorted(rows[k : k + 2]) for k in range(0, n - 1, 2)]


def test_of_an_odd_number_of_players_the_weakest_stays_alone():
    assert sorted_pairing([0.1, 0.5, 0.9]).tolist() == [[1, 2]]
    assert sorted_pairing([0.3, 0.9, 0.1, 0.8, 0.2]).tolist() == [[1, 3], [0, 4]]


def test_the_longer_side_loses_its_weakest():
    assert sorted_across([0.4], [0.1, 0.9, 0.5]).tolist() == [[0, 1]]
    assert sorted_across([0.1, 0.9, 0.5], [0.4]).tolist() == [[1, 0]]


def test_whole_numbers_are_strengths_too():
    counts = np.array([0, 200, 7, 100], dtype=np.uint8)
    assert sorted_pairing(counts).tolist() == [[1, 3], [0, 2]]
    assert sorted_across(counts, [1, 2]).tolist() == [[1, 1], [3, 0]]


# All matchings

SMALL = [*map(monopartite, range(2, 9)), *(bipartite(n, m) for n in range(1, 5) for m in range(1, 6))]
ENUMERATED = [*SMALL, monopartite(9), monopartite(10), bipartite(6, 6), bipartite(2, 32), bipartite(1, 1000)]
LARGE = [*map(monopartite, (11, 12, 13, 14)), bipartite(7, 7), bipartite(8, 9), bipartite(9, 8), bipartite(3, 11)]
names = {"ids": str}


@pytest.mark.parametrize("graph", SMALL, **names)
def test_all_matchings_are_those_of_brute_force(graph):
    ours = [graph.pairs[edges].tolist() for edges in all_matchings(graph)]
    theirs = [sorted(map(list, matching)) for matching in largest_matchings_of(graph)]
    assert sorted(ours) == sorted(theirs)
    assert count_matchings(graph) == len(theirs)
    assert (np.diff(all_matchings(graph), axis=1) > 0).all()


def test_as_many_matchings_as_the_formulas_say():
    assert [count_matchings(monopartite(n)) for n in range(2, 12)] == [1, 3, 3, 15, 15, 105, 105, 945, 945, 10395]
    shapes = [(1, 1), (1, 1000), (2, 3), (3, 2), (6, 6), (7, 7)]
    assert [count_matchings(bipartite(*shape)) for shape in shapes] == [1, 1000, 6, 6, 720, 5040]


def test_too_many_matchings_are_refused_and_the_list_cannot_be_changed():
    for n in (11, 3000):
        with pytest.raises(MatchbanditError, match=f"monopartite with {n} players has more than the 1000 matchings"):
            all_matchings(monopartite(n))
    with pytest.raises(ValueError, match="read-only"):
        all_matchings(monopartite(4))[0, 0] = 1


# The best matching for given weights


def weights_on(graph, kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "positive":
        return rng.random(graph.n_pairs)
    if kind == "negative":
        return -rng.exponential(size=graph.n_pairs)
    if kind == "mixed":
        return rng.normal(size=graph.n_pairs)
    if kind == "tied":
        return rng.integers(-2, 3, graph.n_pairs).astype(float)
    return rng.normal(size=graph.n_pairs) * 10.0 ** rng.integers(-6, 6, graph.n_pairs)  # uneven


def check_best(graph, weights, value):
    before = weights.copy()
    edges = best_matching(graph, weights)
    pairs = graph.pairs[edges]
    sides = [pairs.ravel()] if graph.kind == "monopartite" else [pairs[:, 0], pairs[:, 1]]
    assert len(edges) == graph.matching_size
    assert all(len(set(side.tolist())) == len(side) for side in sides)
    assert (np.diff(edges) > 0).all()
    assert weights[edges].sum() == pytest.approx(value, rel=0, abs=1e-11 * max(1.0, np.abs(weights).max()))
    assert (weights == before).all()


@pytest.mark.parametrize("kind", ["positive", "negative", "mixed", "tied", "uneven"])
@pytest.mark.parametrize("graph", ENUMERATED, **names)
@pytest.mark.sampled(40)
def test_where_matchings_are_few_the_best_is_that_of_brute_force(graph, kind):
    weights = weights_on(graph, kind, seed=1)
    table = dict(zip(map(tuple, graph.pairs.tolist()), weights.tolist(), strict=True))
    check_best(graph, weights, max(total(matching, table) for matching in largest_matchings_of(graph)))


@pytest.mark.parametrize("kind", ["positive", "negative", "mixed", "tied", "uneven"])
@pytest.mark.parametrize("graph", LARGE, **names)
def test_where_they_are_many_the_best_is_that_of_dynamic_programming(graph, kind):
    for seed in range(3):
        weights = weights_on(graph, kind, seed)
        check_best(graph, weights, best_value(graph, dict(zip(map(tuple, graph.pairs.tolist()), weights, strict=True))))


@pytest.mark.parametrize("graph", [monopartite(6), monopartite(7), bipartite(3, 5), bipartite(4, 2)], **names)
def test_dynamic_programming_agrees_with_brute_force(graph):
    table = dict(zip(map(tuple, graph.pairs.tolist()), weights_on(graph, "mixed", 3).tolist(), strict=True))
    assert best_value(graph, table) == pytest.approx(max(total(m, table) for m in largest_matchings_of(graph)))


@pytest.mark.parametrize("graph", [monopartite(4), monopartite(12), bipartite(2, 2), bipartite(8, 9)], **names)
def test_light_pairs_are_not_left_out_and_weights_may_all_be_0(graph):
    assert len(best_matching(graph, np.full(graph.n_pairs, -1.0))) == graph.matching_size
    assert len(best_matching(graph, np.zeros(graph.n_pairs))) == graph.matching_size


def test_among_equal_matchings_the_first_is_taken():
    assert best_matching(monopartite(4), np.zeros(6)).tolist() == [0, 5]
    assert best_matching(bipartite(2, 2), np.array([0.0, 1.0, 1.0, 2.0])).tolist() == [0, 3]

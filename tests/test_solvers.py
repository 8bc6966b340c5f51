from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.solvers import sorted_across, sorted_pairing

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

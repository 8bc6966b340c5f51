from collections import Counter
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.schedules import latin_design, round_robin


@pytest.mark.parametrize("n", range(2, 21, 2))
def test_in_a_round_robin_each_pair_meets_exactly_once(n):
    rounds = round_robin(n)
    assert rounds.shape == (n - 1, n // 2, 2)
    assert np.issubdtype(rounds.dtype, np.integer)
    met = Counter(map(tuple, rounds.reshape(-1, 2).tolist()))
    assert met == Counter(combinations(range(n), 2))


@pytest.mark.parametrize("n", range(2, 21, 2))
def test_each_round_of_a_round_robin_is_a_perfect_matching(n):
    for pairs in round_robin(n):
        assert sorted(pairs.ravel().tolist()) == list(range(n))


def test_the_last_player_keeps_the_seat_and_the_others_move_on_by_one():
    rounds = round_robin(8)
    assert rounds[:, 0].tolist() == [[k, 7] for k in range(7)]
    for earlier, later in pairwise(rounds):
        moved = np.sort(np.where(earlier == 7, 7, (earlier + 1) % 7), axis=1)
        assert moved.tolist() == later.tolist()


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 3, 19])
def test_an_odd_number_or_none_is_refused_with_its_value(n):
    with pytest.raises(MatchbanditError, match=rf"needs an even number of players; got {n}\. Leave one out or add one"):
        round_robin(n)


shapes = [(1, 1), (1, 4), (4, 1), (2, 3), (3, 2), (4, 4), (5, 3), (3, 5), (7, 6), (6, 10)]


@pytest.mark.parametrize(("n_rows", "n_columns"), shapes)
def test_in_a_latin_design_each_row_meets_each_column_exactly_once(n_rows, n_columns):
    rounds = latin_design(n_rows, n_columns)
    assert rounds.shape == (max(n_rows, n_columns), min(n_rows, n_columns), 2)
    assert np.issubdtype(rounds.dtype, np.integer)
    met = Counter(map(tuple, rounds.reshape(-1, 2).tolist()))
    assert met == Counter(product(range(n_rows), range(n_columns)))


@pytest.mark.parametrize(("n_rows", "n_columns"), shapes)
def test_each_round_of_a_latin_design_is_a_largest_matching(n_rows, n_columns):
    size = min(n_rows, n_columns)
    for pairs in latin_design(n_rows, n_columns):
        assert len(set(pairs[:, 0].tolist())) == len(set(pairs[:, 1].tolist())) == size

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from matchbandit.solvers.assignment import solve_assignment

shapes = st.tuples(st.integers(1, 6), st.integers(1, 6))
# Few different numbers, so that ties are common; sums of thirds and sevenths, so that they are tied up to rounding.
TIED = st.sampled_from([-np.inf, -1.0, 0.0, 1 / 3, 3 / 7, 2 / 3, 16 / 21, 1.0, 2.0])
ANY = st.floats(-1e6, 1e6)


@st.composite
def tables(draw):
    shape, numbers = draw(shapes), draw(st.sampled_from([TIED, ANY, st.one_of(TIED, ANY)]))
    return np.array(draw(st.lists(numbers, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))).reshape(shape)


def solve(table):
    """The edges; None if there is no assignment without −∞."""
    edges = np.full(min(table.shape), -1, dtype=np.int64)
    return edges if solve_assignment(np.ascontiguousarray(table).ravel(), *table.shape, edges) else None


@settings(max_examples=500, deadline=None, derandomize=True)
@given(table=tables())
def test_it_finds_what_scipy_finds_ties_and_infinities_included(table):
    edges = solve(table)
    try:
        rows, columns = linear_sum_assignment(table, maximize=True)
    except ValueError:
        assert edges is None
    else:
        assert edges.tolist() == (rows * table.shape[1] + columns).tolist()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(table=tables())
def test_nothing_is_heavier(table):
    short, long = sorted(table.shape)
    tall = table if table.shape[0] == short else table.T
    weights = [tall[range(short), chosen].sum() for chosen in permutations(range(long), short)]
    edges = solve(table)
    if edges is None:
        assert max(weights) == -np.inf
        return
    rows, columns = np.divmod(edges, table.shape[1])
    assert len(set(rows.tolist())) == len(set(columns.tolist())) == short
    assert (np.diff(edges) > 0).all()
    assert table.ravel()[edges].sum() == pytest.approx(max(weights), rel=1e-9, abs=1e-9)


def test_of_equal_weights_it_takes_the_diagonal():
    assert solve(np.ones((3, 4))).tolist() == [0, 5, 10]
    assert solve(np.ones((4, 3))).tolist() == [0, 4, 8]


@pytest.mark.parametrize("shape", [(8, 8), (20, 35), (35, 20), (60, 60)])
def test_large_tables(shape):
    rng = np.random.default_rng(1)
    for table in (rng.random(shape), rng.integers(0, 5, shape).astype(float), rng.standard_normal(shape) * 1e-9):
        rows, columns = linear_sum_assignment(table, maximize=True)
        assert solve(table).tolist() == (rows * shape[1] + columns).tolist()

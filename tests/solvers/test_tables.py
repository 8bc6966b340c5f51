import numpy as np
import pytest
from reference.allowed import heaviest

from matchbandit.solvers.tables import heaviest_cells, heaviest_cells_of_products


@pytest.mark.parametrize("seed", range(120))
def test_products_are_matched_as_brute_force_does(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, size=2)
    x, y = (rng.random(k) * rng.choice([0.1, 1.0]) if seed % 3 else rng.integers(0, 3, k) / 2 for k in (n, m))
    fine = rng.random((n, m)) > rng.choice([0.1, 0.5, 0.9])
    weights = np.outer(x, y)
    cells = np.argwhere(fine)
    count, total = heaviest([(i, n + j) for i, j in cells.tolist()], weights[fine])
    for chosen in (heaviest_cells_of_products(x, y, fine), heaviest_cells(weights, fine)):
        i, j = chosen.T
        assert fine[i, j].all()
        assert len(set(i.tolist())) == len(set(j.tolist())) == len(chosen) == count
        assert weights[i, j].sum() == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("shape", [(60, 60), (40, 70), (70, 40), (10, 200), (200, 10)])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.6])
def test_large_tables_of_products_are_matched_as_any_table_is(shape, share):
    rng = np.random.default_rng(1)
    x, y, fine = rng.random(shape[0]), 0.2 * rng.random(shape[1]), rng.random(shape) >= share
    weights = np.outer(x, y)
    quick, plain = heaviest_cells_of_products(x, y, fine), heaviest_cells(weights, fine)
    assert len(quick) == len(plain)
    assert fine[tuple(quick.T)].all()
    assert weights[tuple(quick.T)].sum() == pytest.approx(weights[tuple(plain.T)].sum(), abs=1e-9)


def test_a_row_that_may_meet_the_last_column_only_gets_it():
    fine = np.ones((3, 9), dtype=bool)
    fine[1, :8] = False
    chosen = heaviest_cells_of_products(np.array([0.2, 0.9, 0.5]), np.linspace(1, 0.1, 9), fine)
    assert sorted(chosen.tolist()) == [[0, 1], [1, 8], [2, 0]]

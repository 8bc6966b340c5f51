import numpy as np
import pytest

from matchbandit import monopartite
from matchbandit.allowed import Allowed
from matchbandit.solvers import heaviest_allowed
from matchbandit.solvers.neighbours import far_pairs, match_near


def in_window(fine, width):
    """The rows that `match_near` takes, from a table of who may meet whom."""
    n = len(fine)
    return np.array([[d < i and fine[i, i - 1 - d] for d in range(width)] for i in range(n)]).reshape(n, width)


def weight(x, mate):
    first = np.flatnonzero(mate > np.arange(len(mate)))
    return len(first), (x[first] * x[mate[first]]).sum()


def test_all_may_meet_sorts():
    x = np.array([0.9, 0.7, 0.6, 0.5, 0.1])
    near = match_near(x, in_window(np.ones((5, 5), dtype=bool), 2))
    assert near.exact
    assert near.mate.tolist() == [1, 0, 3, 2, -1]


def test_nobody_and_one():
    for n in (0, 1):
        assert match_near(np.ones(n), np.zeros((n, 3), dtype=bool)).mate.tolist() == [-1] * n


def test_equal_strengths_need_nobody_far_away():
    near = match_near(np.full(30, 0.5), in_window(np.ones((30, 30), dtype=bool), 2))
    assert near.exact
    assert (near.mate >= 0).all()
    none = match_near(np.zeros(8), in_window(np.ones((8, 8), dtype=bool), 2))
    assert none.exact


@pytest.mark.parametrize("seed", range(60))
def test_what_is_proved_is_true_and_what_is_not_can_be_mended(seed):
    """Against a blossom algorithm on all pairs, with windows so narrow that far pairs matter."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    graph = monopartite(n)
    x = np.sort(rng.random(n) ** rng.choice([0.5, 1.0, 4.0]))[::-1]
    fine = np.triu(rng.random((n, n)) > rng.choice([0.02, 0.2, 0.5]), 1)
    fine |= fine.T
    i, j = graph.pairs.T
    allowed = Allowed(graph, only=np.flatnonzero(fine[i, j]))
    products = x[i] * x[j]
    best = heaviest_allowed(allowed, products).edges
    for width in (1, 2, 4):
        near = match_near(x, in_window(fine, width))
        assert weight(x, near.mate) <= (len(best), products[best].sum() + 1e-9)
        if near.exact:
            assert weight(x, near.mate) == (len(best), pytest.approx(products[best].sum(), abs=1e-9))
        else:  # with the far pairs that are named, the heaviest is among what is left
            far = far_pairs(x, width, near)
            kept = (j - i <= width) | np.isin(i * n + j, far[:, 0] * n + far[:, 1])
            some = heaviest_allowed(Allowed(graph, only=np.flatnonzero(kept & fine[i, j])), products).edges
            assert len(some) == len(best)
            assert products[some].sum() == pytest.approx(products[best].sum(), abs=1e-9)


def test_most_is_proved_when_few_are_forbidden():
    rng = np.random.default_rng(0)
    proved = 0
    for _ in range(40):
        fine = rng.random((100, 100)) > 0.05
        proved += match_near(np.sort(rng.random(100))[::-1], in_window(np.tril(fine) | np.tril(fine).T, 8)).exact
    assert proved >= 36

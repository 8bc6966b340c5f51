import numpy as np
import pytest
from reference.allowed import heaviest

from matchbandit.solvers.augmenting import enlarge


def as_lists(n, pairs):
    """Where the partners of each item begin, and the partners."""
    partners = [sorted({b for a, b in pairs if a == i} | {a for a, b in pairs if b == i}) for i in range(n)]
    start = np.concatenate([[0], np.cumsum([len(of) for of in partners])]).astype(np.int64)
    return start, np.array([b for of in partners for b in of], dtype=np.int64)


@pytest.mark.parametrize("seed", range(80))
def test_the_matching_is_as_large_as_can_be(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < rng.choice([0.15, 0.3, 0.5])][:16]
    mate = np.full(n, -1, dtype=np.int64)
    if pairs and seed % 2:  # from a matching that is there already
        i, j = pairs[int(rng.integers(len(pairs)))]
        mate[i], mate[j] = j, i
    enlarge(*as_lists(n, pairs), mate)
    matched = [(i, int(j)) for i, j in enumerate(mate) if i < j]
    assert all(pair in pairs and mate[pair[1]] == pair[0] for pair in matched)
    assert len(matched) == heaviest(pairs, [0.0] * len(pairs))[0]


def test_two_triangles_on_a_bridge_need_a_blossom():
    pairs = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)]
    mate = np.array([-1, 2, 1, 4, 3, -1])
    enlarge(*as_lists(6, pairs), mate)
    assert (mate >= 0).all()

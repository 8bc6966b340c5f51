"""The best matching when the weight of a pair is the product of its items' strengths: sort, then pair."""

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.graphs import Pairs


def _strongest_first(strengths: ArrayLike) -> Pairs:
    return np.argsort(-np.asarray(strengths, dtype=float), kind="stable")


def sorted_across(rows: ArrayLike, columns: ArrayLike) -> Pairs:
    """Strongest row with strongest column, and so on until a side is used up; ties: the lower index first.

    >>> sorted_across([.1, .9], [.5, .2, .8]).tolist()
    [[1, 2], [0, 0]]
    """
    i, j = _strongest_first(rows), _strongest_first(columns)
    size = min(len(i), len(j))
    return np.stack([i[:size], j[:size]], axis=1)


def sorted_pairing(strengths: ArrayLike) -> Pairs:
    """The two strongest together, then the next two; the weakest of an odd number stays alone.

    >>> sorted_pairing([.1, .9, .5, .8]).tolist()
    [[1, 3], [0, 2]]
    """
    order = _strongest_first(strengths)
    return np.sort(order[: len(order) // 2 * 2].reshape(-1, 2), axis=1)

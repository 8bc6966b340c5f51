"""The heaviest cells of a table, no two in a row or a column: rows and columns matched, but for what is not allowed."""

import numpy as np
from numpy.typing import NDArray

from matchbandit.graphs import Pairs
from matchbandit.rewards import Floats

MOST_PADDED = 4
"""Times as many columns as rows, or the other way round: up to so many, a table of products is made square."""


def heaviest_cells(weights: Floats, fine: NDArray[np.bool_]) -> Pairs:
    """As many cells as possible that are fine, and of those the greatest sum of weights, as rows and columns.

    >>> heaviest_cells(np.array([[3.0, 2.0], [2.0, 0.0]]), np.array([[False, True], [True, True]])).tolist()
    [[0, 1], [1, 0]]
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  # only large or constrained matchings need it

    if not fine.any():
        return np.zeros((0, 2), dtype=np.int64)
    low, high = float(weights[fine].min()), float(weights[fine].max())
    table = np.where(fine, weights, low - (high - low + 1.0) * (min(fine.shape) + 1))  # worth less than all others
    chosen = np.stack(linear_sum_assignment(table, maximize=True), axis=1)
    return np.asarray(chosen[fine[chosen[:, 0], chosen[:, 1]]])


def heaviest_cells_of_products(x: Floats, y: Floats, fine: NDArray[np.bool_]) -> Pairs:
    """The same where the cell (i, j) weighs x_i y_j, which are not negative; far quicker.

    With both sides sorted and equally long (items of strength 0 are added, who may meet all), the best would be the
    diagonal. That has prices a_i + b_j ≥ x_i y_j, with equality on the diagonal:
    a_i − a_(i+1) = (x_i − x_(i+1)) (y_i + y_(i+1))/2, and b with x and y exchanged. As every row and column is matched,
    the least sum of a_i + b_j − x_i y_j is the greatest of x_i y_j; and it is sparse: most rows keep their own column.
    """
    if len(x) > len(y):
        return heaviest_cells_of_products(y, x, fine.T)[:, ::-1]
    if not fine.any():
        return np.zeros((0, 2), dtype=np.int64)
    rows, columns = np.argsort(-x, kind="stable"), np.argsort(-y, kind="stable")
    # Of the best n + f columns, f the most that a row must not meet, n are fine for each row, and one of these is free.
    columns = columns[: len(x) + int((~fine).sum(axis=1).max())]
    fine = fine[np.ix_(rows, columns)]
    size = len(columns)
    if size > MOST_PADDED * len(rows):
        chosen = heaviest_cells(np.outer(x[rows], y[columns]), fine)
    else:
        from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

        u, v = np.concatenate([x[rows], np.zeros(size - len(rows))]), y[columns]
        costs = _prices(u, v)[:, None] + _prices(v, u)[None, :] + u[-1] * v[-1]
        worth = np.outer(u, v)
        worth[: len(rows)][~fine] = -(float(costs.max()) + 1.0) * (size + 1)  # less than all others cost
        costs -= worth
        chosen = np.stack(linear_sum_assignment(costs), axis=1)[: len(rows)]
        chosen = chosen[fine[chosen[:, 0], chosen[:, 1]]]
    return np.stack([rows[chosen[:, 0]], columns[chosen[:, 1]]], axis=1)


def _prices(u: Floats, v: Floats) -> Floats:
    """By how much each price is above the last one: Σ (u_k − u_(k+1)) (v_k + v_(k+1))/2 from here on."""
    steps = (u[:-1] - u[1:]) * (v[:-1] + v[1:]) / 2
    return np.append(np.cumsum(steps[::-1])[::-1], 0.0)

"""The heaviest assignment of rows to columns, in compiled code."""

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.graphs import Edges
from matchbandit.rewards import Floats


@compiled
def solve_assignment(weights: Floats, n_rows: int, n_columns: int, edges: Edges) -> bool:  # noqa: PLR0912  # one compiles quicker
    """Write down the edges of the heaviest assignment, in rising order; False if every one has a weight of −∞.

    Shortest augmenting paths, one row (or column, if there are fewer) after the other, without an initial guess:
    [Crouse2016], in the order of scipy's `linear_sum_assignment`, so that ties are decided alike and scipy's choice is
    found to the bit. O(n² m) for n ≤ m.

    Parameters
    ----------
    weights : array of float, shape (n_rows · n_columns,)
        By edge: row by row. −∞ where an edge must not be used; never NaN or +∞.
    n_rows, n_columns : int
        The shape of the table.
    edges : array of int, shape (min(n_rows, n_columns),)
        The edges, written here.

    Returns
    -------
    bool
        Is there an assignment without an edge of −∞?
    """
    # The shorter side is assigned: item i of it meets item j of the longer one on the edge i · across + j · along.
    size, longer, across, along = n_rows, n_columns, n_columns, 1
    if n_columns < n_rows:
        size, longer, across, along = n_columns, n_rows, 1, n_columns
    prices, offers, distances = np.zeros(longer), np.zeros(size), np.empty(longer)
    partner, mate = np.full(longer, -1), np.full(size, -1)  # of the longer side, and of the shorter one
    previous, unreached = np.empty(longer, dtype=np.int64), np.empty(longer, dtype=np.int64)
    for start in range(size):
        for j in range(longer):
            unreached[j], distances[j] = longer - 1 - j, np.inf
        n_unreached, i, sink, reached = longer, start, -1, 0.0
        while sink < 0:
            nearest, place = np.inf, -1
            for k in range(n_unreached):
                j = unreached[k]
                distance = reached - weights[i * across + j * along] - offers[i] - prices[j]
                if distance < distances[j]:
                    distances[j], previous[j] = distance, i
                if distances[j] < nearest or (distances[j] == nearest and partner[j] < 0):
                    nearest, place = distances[j], k
            if nearest == np.inf:
                return False
            j, reached = unreached[place], nearest
            n_unreached -= 1
            unreached[place], unreached[n_unreached] = unreached[n_unreached], j  # those reached stand at the end
            if partner[j] < 0:
                sink = j
            else:
                i = partner[j]
        offers[start] += reached
        for k in range(n_unreached, longer):
            j = unreached[k]
            if partner[j] >= 0:
                offers[partner[j]] += reached - distances[j]
            prices[j] -= reached - distances[j]
        while True:
            i = previous[sink]
            partner[sink] = i
            mate[i], sink = sink, mate[i]
            if i == start:
                break
    column = partner if n_columns < n_rows else mate  # of each row
    k = 0
    for i in range(n_rows):
        if column[i] >= 0:
            edges[k] = i * n_columns + column[i]
            k += 1
    return True

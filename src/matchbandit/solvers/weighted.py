"""The best matching for given weights of the pairs."""

from functools import lru_cache
from typing import Any

import numpy as np

from matchbandit.graphs import Edges, Graph
from matchbandit.rewards import Floats
from matchbandit.solvers.enumeration import MAX_MATCHINGS, all_matchings, count_matchings

_SCALE = 2.0**40
"""The blossom solver takes whole weights: those of real ones are rounded to 2^-40 of the largest."""


def best_matching(graph: Graph, weights: Floats) -> Edges:
    """The edges of the largest matching with the greatest sum of weights, in rising order; weights may be negative.

    Enumerated where that is quick; else by assignment (rows and columns) or a blossom algorithm (players).

    >>> from matchbandit.graphs import monopartite
    >>> best_matching(monopartite(4), np.array([9., 5., 1., 1., 5., 0.])).tolist()
    [1, 4]
    """
    if count_matchings(graph) <= MAX_MATCHINGS:
        matchings = all_matchings(graph)
        return np.asarray(matchings[int(np.argmax(weights[matchings].sum(axis=1)))])
    if graph.is_bipartite:
        from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  # only large graphs need it

        rows, columns = linear_sum_assignment(weights.reshape(graph.shape), maximize=True)
        return np.sort(rows * graph.shape[1] + columns)
    return _blossom(graph, weights)


def _blossom(graph: Graph, weights: Floats) -> Edges:
    import rustworkx as rx  # noqa: PLC0415  # only large graphs of players need it

    whole = whole_weights(weights)
    matched = rx.max_weight_matching(_numbered(graph), max_cardinality=True, weight_fn=whole.__getitem__)
    return np.sort(graph.edges(np.array(sorted(matched))))


def whole_weights(weights: Floats) -> list[int]:
    """The weights as whole numbers, for the blossom solver."""
    largest = float(np.abs(weights).max()) or 1.0
    return np.rint(weights * (_SCALE / largest)).astype(np.int64).tolist()  # type: ignore[no-any-return]


@lru_cache(maxsize=64)
def _numbered(graph: Graph) -> Any:
    """The graph as the blossom solver takes it, each edge with its number, built once: a call looks weights up."""
    import rustworkx as rx  # noqa: PLC0415

    players = rx.PyGraph()
    players.add_nodes_from(range(graph.n_items))
    players.add_edges_from([(i, j, edge) for edge, (i, j) in enumerate(graph.pairs.tolist())])
    return players

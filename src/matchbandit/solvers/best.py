"""The best largest matching of a graph for given weights: enumerated, by assignment, by blossoms, or by sorting."""

from functools import lru_cache
from itertools import combinations, permutations
from math import perm, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Graph, Pairs
from matchbandit.rewards import Floats
from matchbandit.solvers.assignment import solve_assignment

MAX_MATCHINGS = 1000
"""Graphs with more matchings are not enumerated: 10 players have 945, 6 × 6 rows and columns 720."""
_SCALE = 2.0**40
"""The blossom solver takes whole weights: those of real ones are rounded to 2^-40 of the largest."""


def count_matchings(graph: Graph) -> int:
    """How many largest matchings there are: (n − 1)!! of n players, M!/(M − N)! of N rows and M ≥ N columns.

    >>> from matchbandit.graphs import bipartite, monopartite
    >>> count_matchings(monopartite(10)), count_matchings(monopartite(5)), count_matchings(bipartite(2, 3))
    (945, 15, 6)
    """
    if graph.is_bipartite:
        return perm(max(graph.shape), min(graph.shape))
    return prod(range(1, graph.n_items + graph.n_items % 2, 2))


@lru_cache(maxsize=64)
def all_matchings(graph: Graph) -> Edges:
    """The edges of every largest matching, in rising order within each, shape (matchings, pairs a matching).

    >>> from matchbandit.graphs import monopartite
    >>> all_matchings(monopartite(4)).tolist()
    [[0, 5], [1, 4], [2, 3]]
    """
    if count_matchings(graph) > MAX_MATCHINGS:
        raise MatchbanditError(f"{graph} has more than the {MAX_MATCHINGS} matchings that are enumerated.")
    lists = _assignments(graph) if graph.is_bipartite else _pairings(tuple(range(graph.n_items)))
    matchings = np.sort([graph.edges(np.array(pairs)) for pairs in lists], axis=1)
    matchings.setflags(write=False)
    return matchings


def _assignments(graph: Graph) -> list[list[tuple[int, int]]]:
    rows, columns = graph.shape
    if rows <= columns:
        return [list(enumerate(chosen)) for chosen in permutations(range(columns), rows)]
    return [[(i, j) for j, i in enumerate(chosen)] for chosen in permutations(range(rows), columns)]


def _pairings(items: tuple[int, ...]) -> list[list[tuple[int, int]]]:
    """All ways to put an even number of items into pairs; of an odd number one stays alone."""
    if not items:
        return [[]]
    if len(items) % 2:
        return [pairs for rest in combinations(items, len(items) - 1) for pairs in _pairings(rest)]
    first, *others = items
    return [[(first, other), *rest] for other in others for rest in _pairings(tuple(k for k in others if k != other))]


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
        edges = np.empty(graph.matching_size, dtype=np.int64)
        solve_assignment(np.ascontiguousarray(weights, dtype=np.float64), *graph.shape, edges)
        return edges
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


@lru_cache(maxsize=4)  # 200 players need 3 MB, 800 need 50
def _numbered(graph: Graph) -> Any:
    """The graph as the blossom solver takes it, each edge with its number, built once: a call looks weights up."""
    import rustworkx as rx  # noqa: PLC0415

    players = rx.PyGraph()
    players.add_nodes_from(range(graph.n_items))
    players.add_edges_from([(i, j, edge) for edge, (i, j) in enumerate(graph.pairs.tolist())])
    return players


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

"""All matchings of a small graph, one by one."""

from functools import lru_cache
from itertools import combinations, permutations
from math import perm, prod

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Graph

MAX_MATCHINGS = 1000
"""Graphs with more matchings are not enumerated: 10 players have 945, 6 × 6 rows and columns 720."""


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
        raise MatchbanditError(
            f"{graph} has {count_matchings(graph)} matchings, more than the {MAX_MATCHINGS} that are enumerated."
        )
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

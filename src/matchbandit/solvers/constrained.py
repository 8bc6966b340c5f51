"""The heaviest matching of what is allowed: as many pairs as possible, then the greatest weight."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.allowed import Allowed
from matchbandit.compiled import compiled
from matchbandit.graphs import Edges, Pairs
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers.weighted import whole_weights

LARGEST_EXACT = 300
"""Players who hang together: up to so many, the heaviest matching is found exactly; beyond, among near neighbours."""
BLOCK = 60
"""Near neighbours that are matched at once,"""
KEPT = 40
"""of whom so many keep their partners; the others are matched again with the next ones."""
MOST_CELLS = 20_000_000
"""Of a table of rows and columns that is solved at once."""


class Chosen(NamedTuple):
    """A matching of what is allowed."""

    edges: Edges
    """In rising order."""
    exact: bool
    """It is proved that none is heavier, up to rounding."""


def heaviest_allowed(allowed: Allowed, weights: Floats) -> Chosen:
    """The matching of allowed pairs with the most pairs, and of those the greatest sum of weights, given by edge.

    >>> from matchbandit.graphs import monopartite
    >>> heaviest_allowed(Allowed(monopartite(4), forbidden=[0]), np.array([9., 5., 1., 1., 5., 0.])).edges.tolist()
    [1, 4]
    """
    edges = allowed.edges
    return _heaviest(allowed, edges, weights[edges], None)


def heaviest_of_products(allowed: Allowed, strengths: Floats) -> Chosen:
    """The same where the weight of a pair is the product of its items' strengths, which are not negative."""
    edges = allowed.edges
    return _heaviest(allowed, edges, strengths[allowed.ends(edges)].prod(axis=1), strengths)


def _heaviest(allowed: Allowed, edges: Edges, weights: Floats, strengths: Floats | None) -> Chosen:
    """The heaviest matching of these edges; near neighbours are those of similar strength, or average weight."""
    if not len(edges):
        return Chosen(edges, True)
    ends = allowed.ends(edges)
    chosen, exact = [], True
    for part in _components(ends):
        found, proved = _of_component(allowed, ends[part], weights[part], strengths)
        chosen.append(edges[part[found]])
        exact &= proved
    return Chosen(np.sort(np.concatenate(chosen)), exact)


def _components(ends: Pairs) -> list[NDArray[np.int64]]:
    """The places of the pairs of each connected component."""
    from scipy.sparse import coo_array  # noqa: PLC0415  # only constrained matchings need it
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    size = int(ends.max()) + 1
    table = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(size, size))
    of_item = connected_components(table, directed=False)[1]
    of_pair = of_item[ends[:, 0]]
    if (of_pair == of_pair[0]).all():
        return [np.arange(len(ends))]
    order = np.argsort(of_pair, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of_pair[order])) + 1)


def _of_component(
    allowed: Allowed, ends: Pairs, weights: Floats, strengths: Floats | None
) -> tuple[NDArray[np.int64], bool]:
    """The places of the chosen pairs of a connected component; is it proved that none is heavier?"""
    items, local = np.unique(ends, return_inverse=True)
    local = local.reshape(ends.shape)
    if allowed.graph.kind == "bipartite":
        n_rows = int(np.searchsorted(items, allowed.graph.shape[0]))
        if n_rows * (len(items) - n_rows) <= MOST_CELLS:
            return _assignment(local - np.array([0, n_rows]), weights, (n_rows, len(items) - n_rows)), True
    if len(items) <= LARGEST_EXACT:
        return _blossom(local, weights), True
    if strengths is None:
        totals = np.bincount(local.ravel(), np.repeat(weights, 2))
        order = np.argsort(-totals / np.bincount(local.ravel()), kind="stable")
    else:
        order = np.argsort(-strengths[items], kind="stable")
    return _near_neighbours(local, weights, order), False


def _assignment(cells: Pairs, weights: Floats, shape: tuple[int, int]) -> NDArray[np.int64]:
    """The places of the heaviest cells, no two in a row or column; others than these cost more than all are worth."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    low, high = float(weights.min()), float(weights.max())
    table = np.full(shape, low - (high - low + 1.0) * (min(shape) + 1))
    place = np.full(shape, -1, dtype=np.int64)
    table[cells[:, 0], cells[:, 1]] = weights
    place[cells[:, 0], cells[:, 1]] = np.arange(len(cells))
    chosen = place[linear_sum_assignment(table, maximize=True)]
    return np.asarray(chosen[chosen >= 0])


def _blossom(ends: Pairs, weights: Floats) -> NDArray[np.int64]:
    """The places of the pairs of the heaviest of the largest matchings."""
    if len(ends) == 1:
        return np.zeros(1, dtype=np.int64)
    import rustworkx as rx  # noqa: PLC0415

    players = rx.PyGraph()
    players.extend_from_weighted_edge_list(
        list(zip(ends[:, 0].tolist(), ends[:, 1].tolist(), whole_weights(weights), strict=True))
    )
    matched = rx.max_weight_matching(players, max_cardinality=True, weight_fn=int)
    size = int(ends.max()) + 1
    pairs = np.sort(np.array(sorted(matched)), axis=1)
    low, high = ends.min(axis=1), ends.max(axis=1)
    return np.flatnonzero(np.isin(low * size + high, pairs[:, 0] * size + pairs[:, 1]))


def _near_neighbours(ends: Pairs, weights: Floats, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of the pairs of a matching of near neighbours in this order, with as many pairs as possible.

    Blocks of neighbours are matched exactly; the first keep their partners, the others go on to the next block. Who is
    left over in the end is matched by augmenting paths.
    """
    from scipy.sparse import coo_array  # noqa: PLC0415

    n = len(order)
    both = np.concatenate([ends, ends[:, ::-1]])
    places = np.tile(np.arange(1, len(ends) + 1), 2)
    table = coo_array((places, (both[:, 0], both[:, 1])), shape=(n, n)).tocsr()
    mate = np.full(n, -1, dtype=np.int64)
    waiting = np.zeros(0, dtype=np.int64)
    following = 0
    while following < n:
        waiting = waiting[-KEPT:]
        block = np.concatenate([waiting, order[following : following + BLOCK - len(waiting)]])
        following += BLOCK - len(waiting)
        inside = table[block][:, block].tocoo()
        upper = inside.row < inside.col
        pairs, at = np.stack([inside.row, inside.col], axis=1)[upper], inside.data[upper] - 1
        if len(pairs):
            found = pairs[_blossom(pairs.astype(np.int64), weights[at])]
            if following < n:
                found = found[found.max(axis=1) < KEPT]
            mate[block[found[:, 0]]] = block[found[:, 1]]
            mate[block[found[:, 1]]] = block[found[:, 0]]
        waiting = block[mate[block] < 0]
    enlarge(table.indptr.astype(np.int64), table.indices.astype(np.int64), mate)
    chosen = np.flatnonzero(mate[ends[:, 0]] == ends[:, 1])
    return chosen


@compiled
def enlarge(start: Counts, partners: Counts, mate: Counts) -> None:  # noqa: PLR0912, PLR0915  # compiles quicker
    """Make a matching as large as possible, by Edmonds' augmenting paths from whoever has no mate yet.

    Item i may meet partners[start[i]] … partners[start[i + 1] − 1]; mate[i] is −1 where there is none.
    """
    n = len(mate)
    parent, base, queue = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    used, blossom, seen = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for root in range(n):
        if mate[root] >= 0:
            continue
        for i in range(n):
            used[i], parent[i], base[i] = 0, -1, i
        used[root], queue[0] = 1, root
        first, last, end = 0, 1, -1
        while first < last and end < 0:
            v = queue[first]
            first += 1
            for k in range(start[v], start[v + 1]):
                to = partners[k]
                if base[v] == base[to] or mate[v] == to:
                    continue
                if to == root or (mate[to] >= 0 and parent[mate[to]] >= 0):
                    # An odd cycle: shrink it to the base that both have in common.
                    for i in range(n):
                        seen[i], blossom[i] = 0, 0
                    a = v
                    while True:
                        a = base[a]
                        seen[a] = 1
                        if mate[a] < 0:
                            break
                        a = parent[mate[a]]
                    b = to
                    while True:
                        b = base[b]
                        if seen[b] == 1:
                            break
                        b = parent[mate[b]]
                    for side in range(2):
                        x, child = (v, to) if side == 0 else (to, v)
                        while base[x] != b:
                            blossom[base[x]] = 1
                            blossom[base[mate[x]]] = 1
                            parent[x] = child
                            child = mate[x]
                            x = parent[mate[x]]
                    for i in range(n):
                        if blossom[base[i]] == 1:
                            base[i] = b
                            if used[i] == 0:
                                used[i] = 1
                                queue[last] = i
                                last += 1
                elif parent[to] < 0:
                    parent[to] = v
                    if mate[to] < 0:
                        end = to
                        break
                    used[mate[to]] = 1
                    queue[last] = mate[to]
                    last += 1
        while end >= 0:
            before = parent[end]
            following = mate[before]
            mate[end], mate[before] = before, end
            end = following


def heaviest_allowed_pair(allowed: Allowed, weights: Floats) -> Edges:
    """The one allowed pair with the greatest weight, given by edge (ties: the first); none if nothing is allowed."""
    edges = allowed.edges
    return edges[[int(np.argmax(weights[edges]))]] if len(edges) else edges


def heaviest_pair_of_products(allowed: Allowed, strengths: Floats) -> Edges:
    """The same where the weight of a pair is the product of its items' strengths."""
    edges = allowed.edges
    return edges[[int(np.argmax(strengths[allowed.ends(edges)].prod(axis=1)))]] if len(edges) else edges

"""The heaviest matching of what is allowed: as many pairs as possible, then the greatest weight."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.allowed import Allowed, Items
from matchbandit.graphs import Edges, Pairs
from matchbandit.rewards import Counts, Floats
from matchbandit.solvers.augmenting import enlarge
from matchbandit.solvers.best import whole_weights
from matchbandit.solvers.neighbours import Near, far_pairs, match_near

MAX_EXACT_PLAYERS = 300
"""In a connected component of up to this many players the heaviest matching is found for certain; in larger ones among
near neighbours, which for products is often certain, too."""
EXACT_WIDTHS, BEYOND_WIDTH = (6, 8), 8
"""How far apart neighbours are in the order of strengths: tried in turn up to that size, and beyond it."""
BLOCK_SIZE, N_SETTLED = 60, 40
"""Players that are matched at once, and how many of them keep their partners; the others are matched again with the
next ones."""
MAX_SWAPS = 20
"""Players without a partner among near neighbours are swapped in, if there are no more than this."""
MAX_TABLE_CELLS = 20_000_000
"""The largest table of rows × columns that is solved as one assignment problem."""
MAX_PADDED_RATIO = 4
"""A table of products is padded to a square if one side has at most this many times the items of the other."""

Places = NDArray[np.int64]


class Matching(NamedTuple):
    """A matching of allowed pairs."""

    edges: Edges
    """In rising order."""
    exact: bool
    """It is proved that none is heavier, up to rounding."""


def heaviest_allowed(allowed: Allowed, weights: Floats) -> Matching:
    """The matching of allowed pairs with the most pairs, and of those the greatest sum of weights, given by edge.

    Rows and columns by assignment. Players component by component: by a blossom algorithm up to 300 that are connected;
    beyond, in blocks of neighbours in the order of their average weights.

    >>> from matchbandit.graphs import monopartite
    >>> heaviest_allowed(Allowed(monopartite(4), forbidden=[0]), np.array([9., 5., 1., 1., 5., 0.])).edges.tolist()
    [1, 4]
    """
    if _fits_one_table(allowed):
        table = weights.reshape(allowed.graph.shape)
        return _match_table(allowed, lambda rows, columns, fine: heaviest_cells(table[np.ix_(rows, columns)], fine))
    parts = _components(allowed, allowed.edges)
    return _join([_match_component(allowed, part, weights[part], None) for part in parts])


def heaviest_of_products(allowed: Allowed, strengths: Floats) -> Matching:
    """The same where the weight of a pair is the product of its items' strengths, which are not negative.

    For players, near neighbours in the order of strengths come first: mostly none else are needed for the proof that
    nothing is heavier, and all pairs need not be listed.
    """
    if _fits_one_table(allowed):
        x, y = np.split(strengths, [allowed.graph.n_rows])
        return _match_table(allowed, lambda rows, columns, fine: heaviest_cells_of_products(x[rows], y[columns], fine))
    if allowed.graph.is_bipartite:
        return _heaviest_of_edges(allowed, allowed.edges, strengths)
    if allowed.only is None:
        return _match_players(allowed, allowed.items, None, strengths)
    parts = _components(allowed, allowed.edges)
    return _join([_match_players(allowed, np.unique(allowed.graph.ends(p)), p, strengths) for p in parts])


def _heaviest_of_edges(allowed: Allowed, edges: Edges, strengths: Floats) -> Matching:
    """The heaviest matching of these edges by products, component by component."""
    parts = _components(allowed, edges)
    return _join([_match_component(allowed, part, _products(allowed, part, strengths), strengths) for part in parts])


def _products(allowed: Allowed, edges: Edges, strengths: Floats) -> Floats:
    return np.asarray(strengths[allowed.graph.ends(edges)].prod(axis=1))


def _join(parts: list[Matching]) -> Matching:
    edges = np.concatenate([np.zeros(0, dtype=np.int64), *(part.edges for part in parts)])
    return Matching(np.sort(edges), all(part.exact for part in parts))


def _components(allowed: Allowed, edges: Edges) -> list[Edges]:
    """The edges of each connected component."""
    if not len(edges):
        return []
    from scipy.sparse import coo_array  # noqa: PLC0415  # only constrained matchings need it
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    ends = allowed.graph.ends(edges)
    size = int(ends.max()) + 1
    table = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(size, size))
    of_pair = connected_components(table, directed=False)[1][ends[:, 0]]
    order = np.argsort(of_pair, kind="stable")
    return np.split(edges[order], np.flatnonzero(np.diff(of_pair[order])) + 1)


def _match_component(allowed: Allowed, edges: Edges, weights: Floats, strengths: Floats | None) -> Matching:
    """The heaviest matching of a connected component."""
    items, local = np.unique(allowed.graph.ends(edges), return_inverse=True)
    local = local.reshape(-1, 2)
    n_rows = int(np.searchsorted(items, allowed.graph.n_rows))
    if allowed.graph.is_bipartite:
        shape = n_rows, len(items) - n_rows
        if n_rows * shape[1] <= MAX_TABLE_CELLS:
            table, place = np.zeros(shape), np.full(shape, -1, dtype=np.int64)
            table[local[:, 0], local[:, 1] - n_rows] = weights
            place[local[:, 0], local[:, 1] - n_rows] = np.arange(len(edges))
            i, j = heaviest_cells(table, place >= 0).T
            return Matching(edges[place[i, j]], True)
    if len(items) <= MAX_EXACT_PLAYERS:
        return Matching(edges[_blossom(local, weights)], True)
    if strengths is None:
        standing = np.bincount(local.ravel(), np.repeat(weights, 2)) / np.bincount(local.ravel())
    else:
        standing = strengths[items]
    order = np.argsort(-standing, kind="stable")
    if allowed.graph.is_bipartite:  # the best of each side, then the second of each, whatever their scales
        is_row = order < n_rows
        order = order[np.argsort(np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)), kind="stable")]
    return Matching(edges[_match_blocks(local, weights, order)], False)


def _match_table(allowed: Allowed, cells: Callable[[Items, Items, NDArray[np.bool_]], Pairs]) -> Matching:
    """The heaviest matching of the rows and columns that are there: `cells` finds it, given them and who may meet."""
    n_rows, n_columns = allowed.graph.shape
    there = allowed.is_present
    rows, columns = np.flatnonzero(there[:n_rows]), np.flatnonzero(there[n_rows:])
    fine = np.ones(allowed.graph.shape, dtype=np.bool_)
    if allowed.forbidden is not None:
        fine.ravel()[np.asarray(allowed.forbidden)] = False
    chosen = cells(rows, columns, fine[np.ix_(rows, columns)])
    return Matching(np.sort(rows[chosen[:, 0]] * n_columns + columns[chosen[:, 1]]), True)


def _fits_one_table(allowed: Allowed) -> bool:
    """True if bipartite, not limited to listed pairs, and small enough for one table."""
    return allowed.graph.is_bipartite and allowed.only is None and allowed.graph.n_pairs <= MAX_TABLE_CELLS


def _blossom(ends: Pairs, weights: Floats) -> Places:
    """The places of the pairs of the heaviest of the largest matchings."""
    import rustworkx as rx  # noqa: PLC0415

    size = int(ends.max()) + 1
    players = rx.PyGraph()
    players.add_nodes_from(range(size))
    players.add_edges_from(list(zip(ends[:, 0].tolist(), ends[:, 1].tolist(), whole_weights(weights), strict=True)))
    matched = np.sort(list(rx.max_weight_matching(players, max_cardinality=True, weight_fn=int)), axis=1)
    return np.flatnonzero(np.isin(_encode(np.sort(ends, axis=1), size), _encode(matched, size)))


def _encode(pairs: Pairs, size: int) -> NDArray[np.int64]:
    return np.asarray(pairs[:, 0] * size + pairs[:, 1])


# --- rows and columns ---


def heaviest_cells(weights: Floats, fine: NDArray[np.bool_]) -> Pairs:
    """As many cells as possible that are fine, and of those the greatest sum of weights, as rows and columns.

    >>> heaviest_cells(np.array([[3.0, 2.0], [2.0, 0.0]]), np.array([[False, True], [True, True]])).tolist()
    [[0, 1], [1, 0]]
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  # only large or constrained matchings need it

    if not fine.any():
        return np.zeros((0, 2), dtype=np.int64)
    low, high = float(weights[fine].min()), float(weights[fine].max())
    table = np.where(fine, weights, low - (high - low + 1.0) * (min(fine.shape) + 1))  # below any feasible total
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
    if size > MAX_PADDED_RATIO * len(rows):
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


# --- many players ---


def _match_players(allowed: Allowed, items: Items, edges: Edges | None, strengths: Floats) -> Matching:
    """The heaviest matching of these players; `edges` has all that are allowed, if they are listed."""
    order = items[np.argsort(-strengths[items], kind="stable")]
    x, few = strengths[order], len(order) <= MAX_EXACT_PLAYERS
    for width in EXACT_WIDTHS if few else (BEYOND_WIDTH,):
        may_meet = _may_meet(allowed, order, width)
        near = match_near(x, may_meet)
        if near.exact:
            return Matching(_edges_of(allowed, order, near.mate), True)
    _swap_in(allowed, order, x, near.mate)
    if few:
        return Matching(_match_with_far_pairs(allowed, order, x, may_meet, near), True)
    _enlarge_near(allowed, order, may_meet, near.mate)
    if (near.mate < 0).sum() <= len(order) % 2:
        return Matching(_edges_of(allowed, order, near.mate), False)
    return _heaviest_of_edges(allowed, allowed.edges if edges is None else edges, strengths)


def _match_with_far_pairs(allowed: Allowed, order: Items, x: Floats, may_meet: NDArray[np.bool_], near: Near) -> Edges:
    """The heaviest matching, by a blossom algorithm on the near pairs and those far ones that may be in it."""
    later, back = np.nonzero(may_meet)
    far = far_pairs(x, may_meet.shape[1], near)
    far = far[allowed.allows(allowed.graph.edges(order[far]))]
    places = np.concatenate([np.stack([later - 1 - back, later], axis=1), far])
    if not len(places):
        return np.zeros(0, dtype=np.int64)
    chosen = places[_blossom(places, x[places].prod(axis=1))]
    return np.sort(allowed.graph.edges(order[chosen]))


def _may_meet(allowed: Allowed, order: Items, width: int) -> NDArray[np.bool_]:
    """May each item meet the one before in this order, the one before that, and so on?"""
    n = len(order)
    later = np.repeat(np.arange(n), width)
    back = np.tile(np.arange(1, width + 1), n)
    there = np.flatnonzero(back <= later)
    fine = np.zeros(n * width, dtype=np.bool_)
    if len(there):
        pairs = np.stack([order[later[there]], order[later[there] - back[there]]], axis=1)
        fine[there] = allowed.allows(allowed.graph.edges(pairs))
    return fine.reshape(n, width)


def _edges_of(allowed: Allowed, order: Items, mate: Counts) -> Edges:
    first = np.flatnonzero(mate > np.arange(len(mate)))
    return np.sort(allowed.graph.edges(np.stack([order[first], order[mate[first]]], axis=1)))


def _swap_in(allowed: Allowed, order: Items, x: Floats, mate: Counts) -> None:
    """Match those who are alone, two at a time: with each other, or with the two of a pair, if that costs least."""
    alone = np.flatnonzero(mate < 0).tolist()
    while 2 <= len(alone) <= MAX_SWAPS:
        one = alone.pop(0)
        fine = _partners(allowed, order, one)
        for other in alone:
            a = np.flatnonzero((mate >= 0) & fine & _partners(allowed, order, other)[mate])
            gains = x[one] * x[a] + x[other] * x[mate[a]] - x[a] * x[mate[a]]
            if fine[other] and (not len(a) or x[one] * x[other] >= gains.max()):
                mate[one], mate[other] = other, one
            elif len(a):
                best = int(a[int(np.argmax(gains))])
                with_other = int(mate[best])
                mate[one], mate[best], mate[other], mate[with_other] = best, one, with_other, other
            else:
                continue
            alone.remove(other)
            break


def _enlarge_near(allowed: Allowed, order: Items, may_meet: NDArray[np.bool_], mate: Counts) -> None:
    """Match those who are alone by augmenting paths through near pairs, and any pairs of their own."""
    alone = np.flatnonzero(mate < 0)
    if 2 <= len(alone) <= MAX_SWAPS:
        later, back = np.nonzero(may_meet)
        place, partner = np.nonzero(np.stack([_partners(allowed, order, i) for i in alone.tolist()]))
        near = np.stack([later - 1 - back, later], axis=1)
        _enlarge(np.concatenate([near, np.stack([alone[place], partner], axis=1)]), mate)


def _enlarge(pairs: Pairs, mate: Counts) -> None:
    """Make the matching as large as these pairs allow."""
    from scipy.sparse import coo_array  # noqa: PLC0415

    first, second = np.concatenate([pairs, pairs[:, ::-1]]).T
    table = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(len(mate), len(mate))).tocsr()
    enlarge(table.indptr.astype(np.int64), table.indices.astype(np.int64), mate)


def _partners(allowed: Allowed, order: Items, place: int) -> NDArray[np.bool_]:
    """Whom the item at this place of the order may meet, by their places."""
    fine = np.zeros(len(order), dtype=np.bool_)
    others = np.flatnonzero(np.arange(len(order)) != place)
    pairs = np.stack([np.full(len(others), order[place]), order[others]], axis=1)
    fine[others] = allowed.allows(allowed.graph.edges(pairs))
    return fine


def _match_blocks(ends: Pairs, weights: Floats, order: NDArray[np.int64]) -> Places:
    """The places of the pairs of a matching of near neighbours in this order, with as many pairs as possible.

    Blocks of neighbours are matched for certain; the first keep their partners, the others go on to the next block. Who
    is left over in the end comes in by augmenting paths.
    """
    from scipy.sparse import coo_array  # noqa: PLC0415

    n = len(order)
    both = np.concatenate([ends, ends[:, ::-1]])
    places = np.tile(np.arange(1, len(ends) + 1), 2)
    table = coo_array((places, (both[:, 0], both[:, 1])), shape=(n, n)).tocsr()
    mate, waiting, following = np.full(n, -1, dtype=np.int64), np.zeros(0, dtype=np.int64), 0
    while following < n:
        waiting = waiting[-N_SETTLED:]
        more = BLOCK_SIZE - len(waiting)
        block = np.concatenate([waiting, order[following : following + more]])
        following += more
        inside = table[block][:, block].tocoo()
        upper = inside.row < inside.col
        pairs, at = np.stack([inside.row, inside.col], axis=1)[upper].astype(np.int64), inside.data[upper] - 1
        if len(pairs):
            matched = pairs[_blossom(pairs, weights[at])]
            if following < n:
                matched = matched[matched.max(axis=1) < N_SETTLED]
            first, second = block[matched].T
            mate[first], mate[second] = second, first
        waiting = block[mate[block] < 0]
    _enlarge(ends, mate)
    return np.flatnonzero(mate[ends[:, 0]] == ends[:, 1])


# --- one pair ---


def heaviest_allowed_pair(allowed: Allowed, weights: Floats, *, tie: float = 0.0) -> Edges:
    """The allowed pair with the greatest weight, given by edge, as one edge; none if none is allowed.

    Ties: the first; weights that differ by no more than `tie` are tied.
    """
    edges = allowed.edges
    if not len(edges):
        return edges
    inside = weights[edges]
    return edges[[int(np.argmax(inside >= inside.max() - tie))]]


def heaviest_pair_of_products(allowed: Allowed, strengths: Floats) -> Edges:
    """The same where the weight of a pair is the product of its items' strengths, which are not negative."""
    if allowed.only is None and not allowed.graph.is_bipartite:
        return _strongest_pair(allowed, strengths)
    edges = allowed.edges
    return edges[[int(np.argmax(_products(allowed, edges, strengths)))]] if len(edges) else edges


def _strongest_pair(allowed: Allowed, strengths: Floats) -> Edges:
    """Of players, without a list of all pairs: the first partner of each, as long as a better pair can come."""
    order = allowed.items[np.argsort(-strengths[allowed.items], kind="stable")]
    x, best, edge = strengths[order], -1.0, np.zeros(0, dtype=np.int64)
    for i in range(len(order) - 1):
        if x[i] * x[i + 1] <= best:
            break
        later = _partners(allowed, order, i)[i + 1 :]
        j = i + 1 + int(np.argmax(later))
        if later.any() and x[i] * x[j] > best:
            best, edge = float(x[i] * x[j]), allowed.graph.edges(np.array([[order[i], order[j]]]))
    return edge

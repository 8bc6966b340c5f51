"""What a policy decides from counts alone: pairs, and the weights by which they were chosen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchbandit.allowed import Allowed
from matchbandit.graphs import Edges, Graph, Pairs, Selection
from matchbandit.rewards import Floats
from matchbandit.solvers import (
    best_matching,
    heaviest_allowed,
    heaviest_allowed_pair,
    heaviest_of_products,
    heaviest_pair_of_products,
)

UNPLAYED = 1.0
"""The value of a pair that has not been played, where each must be played once: the greatest mean there is."""
MAX_ITEMS_BOUNDED = 100
"""Players with a weight for each pair: up to this number, the bound is the optimum without rules; beyond, a sum that is
found at once and is no less."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Pairs for one round, the heaviest first, and how they compare with what the rules did not allow."""

    pairs: Pairs
    """Shape (k, 2): as many as possible, and of those matchings the one with the greatest weight."""
    values: Floats
    """The draw or the index of each pair, whose sum was maximised; 1 for an unplayed pair of an opening."""
    exact: bool
    """It is proved that nothing allowed is heavier, up to rounding."""
    bound: float
    """The weight of the heaviest matching of those present, were all pairs of theirs allowed, or a little more: the
    value cannot be above. In an opening, that of the decision itself."""
    opening: bool = False
    """Some of the pairs are there because they were never played, which comes first; not for their weight."""

    @property
    def value(self) -> float:
        """The sum of the values."""
        return float(self.values.sum())


def ordered_decision(
    graph: Graph, edges: Edges, values: Floats, *, exact: bool = True, bound: float | None = None, opening: bool = False
) -> Decision:
    """The decision with its pairs in order: the heaviest first (ties: the first pair)."""
    by_edge = np.argsort(edges, kind="stable")
    order = by_edge[np.argsort(-values[by_edge], kind="stable")]
    values = values[order]
    total = float(values.sum())
    return Decision(graph.pairs_of(edges[order]), values, exact, total if bound is None else max(bound, total), opening)


def by_products(allowed: Allowed, drawn: Floats, selection: Selection) -> Decision:
    """The heaviest allowed pair or matching where a pair weighs the product of its items' drawn strengths.

    Strengths that were drawn below 0 count as 0: two of them are no good pair.
    """
    graph, strengths = allowed.graph, np.maximum(drawn, 0.0)
    best = _sorted(allowed, drawn, selection)
    edges, exact = best, True
    if not allowed.has_no_pair_rules:
        if selection == "pair":
            edges = heaviest_pair_of_products(allowed, strengths)
        else:
            edges, exact = heaviest_of_products(allowed, strengths)
    values, most = (strengths[allowed.graph.ends(of)].prod(axis=1) for of in (edges, best))
    return ordered_decision(graph, edges, values, exact=exact, bound=float(most.sum()))


def _sorted(allowed: Allowed, drawn: Floats, selection: Selection) -> Edges:
    """The best pair or matching of those present, were all their pairs allowed: by sorting (ties: the lower index)."""
    graph, items = allowed.graph, allowed.items
    order = items[np.argsort(-drawn[items], kind="stable")]
    if graph.is_bipartite:
        rows, columns = order[order < graph.n_rows], order[order >= graph.n_rows]
        size = min(len(rows), len(columns), 1 if selection == "pair" else len(order))
        ends = np.stack([rows[:size], columns[:size]], axis=1)
    else:
        size = min(len(order) // 2, 1 if selection == "pair" else len(order))
        ends = order[: 2 * size].reshape(-1, 2)
    return graph.edges_between(ends)


def by_weights(allowed: Allowed, weights: Floats, unplayed: NDArray[np.bool_]) -> Decision:
    """The heaviest allowed matching for weights by edge; as many unplayed pairs as possible before all else."""
    graph = allowed.graph
    if not allowed.is_unrestricted and unplayed[allowed.edges].any():
        inside = allowed.edges
        values = np.where(unplayed, UNPLAYED, weights)
        spread = float(np.ptp(values[inside]))
        first = values + unplayed * ((spread + 1.0) * (graph.matching_size + 1))  # worth more than all the others
        edges, exact = heaviest_allowed(allowed, first)
        return ordered_decision(graph, edges, values[edges], exact=exact, opening=bool(unplayed[edges].any()))
    if allowed.is_unrestricted:
        edges = best_matching(graph, weights)
        return ordered_decision(graph, edges, weights[edges])
    edges, exact = heaviest_allowed(allowed, weights)
    bound = None if allowed.has_no_pair_rules and exact else _most(allowed.without_pair_rules, weights)
    return ordered_decision(graph, edges, weights[edges], exact=exact, bound=bound)


def _most(allowed: Allowed, weights: Floats) -> float:
    """No less than the weight of any matching of those present: that of the heaviest, or half of what all want."""
    if allowed.graph.is_bipartite or len(allowed.items) <= MAX_ITEMS_BOUNDED:
        return float(weights[heaviest_allowed(allowed, weights).edges].sum())
    edges = allowed.edges
    greatest = np.full(allowed.graph.n_items, -np.inf)
    for ends in allowed.graph.ends(edges).T:
        np.maximum.at(greatest, ends, weights[edges])
    best = np.sort(greatest[allowed.items])[::-1]
    return float(best[: len(best) // 2 * 2].sum() / 2)


def best_pair(allowed: Allowed, indices: Floats, unplayed: NDArray[np.bool_], *, tie: float = 0.0) -> Decision:
    """The allowed pair with the greatest index, by edge (ties: the first); before that the first unplayed one."""
    graph = allowed.graph
    first = allowed.edges[unplayed[allowed.edges]][:1]
    if len(first):
        return ordered_decision(graph, first, np.full(1, UNPLAYED), opening=True)
    edges = heaviest_allowed_pair(allowed, indices, tie=tie)
    bound = heaviest_allowed_pair(allowed.without_pair_rules, indices)
    return ordered_decision(graph, edges, indices[edges], bound=float(indices[bound].sum()))

"""Whether pairs obey rules, and what they weigh, computed without the product."""

import numpy as np
from numpy.typing import NDArray

from contract.inputs import Items, Pairs, Rules, all_pairs


def violation(pairs: Pairs, items: Items, rules: Rules) -> str:
    """The first rule that these pairs break, or "none"."""
    busy: set[int] = set()
    columns_from = items.get("rows", 0)
    forbidden = set() if rules.forbidden is None else {tuple(pair) for pair in rules.forbidden.tolist()}
    only = None if rules.only is None else {tuple(pair) for pair in rules.only.tolist()}
    for i, j in pairs.tolist():
        ends = {i, j + columns_from}
        if len(ends) < 2 or not all(0 <= end < sum(items.values()) for end in ends):
            return f"({i}, {j}) is no pair"
        if ends & busy:
            return f"({i}, {j}) has an item that is in another pair"
        if rules.present is not None and not rules.present[list(ends)].all():
            return f"({i}, {j}) has an item that is absent"
        pair = (i, j) if columns_from else (min(i, j), max(i, j))
        if pair in forbidden or (only is not None and pair not in only):
            return f"({i}, {j}) is not allowed"
        busy |= ends
    return "none"


def total_weight(pairs: Pairs, items: Items, weights: NDArray[np.float64]) -> float:
    """The sum of the weights of these pairs; `weights` are of all pairs, in the order of edges."""
    matrix = _matrix(items, weights)
    return float(sum(matrix[i, j] for i, j in pairs.tolist()))


def _matrix(items: Items, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of each pair, by its two items; of players in either order."""
    if "players" not in items:
        return weights.reshape(items["rows"], items["columns"])
    i, j = all_pairs(items).T
    matrix = np.zeros((items["players"], items["players"]))
    matrix[i, j] = matrix[j, i] = weights
    return matrix

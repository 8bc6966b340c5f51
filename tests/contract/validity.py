"""Whether pairs obey rules, and what they weigh, found without the product."""

import numpy as np
from numpy.typing import NDArray

from contract.inputs import Items, Pairs, Rules


def violation(pairs: Pairs, items: Items, rules: Rules) -> str:
    """The first rule that these pairs break, or "none"."""
    seen: set[int] = set()
    columns_from = items.get("rows", 0)
    forbidden = set() if rules.forbidden is None else {tuple(pair) for pair in rules.forbidden.tolist()}
    only = None if rules.only is None else {tuple(pair) for pair in rules.only.tolist()}
    for i, j in pairs.tolist():
        ends = {i, j + columns_from}
        if len(ends) < 2 or not all(0 <= end < sum(items.values()) for end in ends):
            return f"({i}, {j}) is no pair"
        if ends & seen:
            return f"({i}, {j}) has an item that is in another pair"
        if rules.present is not None and not rules.present[list(ends)].all():
            return f"({i}, {j}) has an item that is absent"
        pair = (i, j) if columns_from else (min(i, j), max(i, j))
        if pair in forbidden or (only is not None and pair not in only):
            return f"({i}, {j}) is not allowed"
        seen |= ends
    return "none"


def total_weight(pairs: Pairs, matrix: NDArray[np.float64]) -> float:
    """The sum of the weights of these pairs; of players the matrix is symmetric."""
    return float(sum(matrix[i, j] for i, j in pairs.tolist()))


def matrix_of(items: Items, pairs: Pairs, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix of weights of pairs."""
    shape = (items["players"],) * 2 if "players" in items else (items["rows"], items["columns"])
    matrix = np.zeros(shape)
    matrix[pairs[:, 0], pairs[:, 1]] = weights
    if "players" in items:
        matrix[pairs[:, 1], pairs[:, 0]] = weights
    return matrix

"""One radius for a whole matching, rather than one for each of its pairs."""

from math import log, sqrt

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.errors import unknown
from matchbandit.graphs import Edges
from matchbandit.policies.matching.index import Arrays
from matchbandit.rewards import Floats

TIE = 1e-10
"""Matchings whose indices differ by less are tied: rounding must not decide between equals."""

EXPLORATIONS = ("log", "full")


def log_log_weight(exploration: str, size: int) -> float:
    """What log log t is multiplied by in f: nothing in "log", 4 m in "full"."""
    if not isinstance(exploration, str) or exploration not in EXPLORATIONS:
        raise unknown("exploration", exploration, EXPLORATIONS)
    return 4.0 * size if exploration == "full" else 0.0


@compiled
def growth(t: int, weight: float) -> float:
    """log t + weight · log log t, with log log t at least 0."""
    log_t = log(t)
    return float(log_t + weight * log(log_t)) if log_t > 1.0 else float(log_t)


@compiled
def joint_bounds(arrays: Arrays, level: float, bounds: Floats) -> None:
    """Σ μ_e + sqrt(level · Σ 1/n_e) for every matching."""
    means, inverses = arrays.sums / arrays.plays, 1.0 / arrays.plays
    matchings = arrays.matchings
    for k in range(matchings.shape[0]):
        value, spread = 0.0, 0.0
        for i in range(matchings.shape[1]):
            edge = matchings[k, i]
            value += means[edge]
            spread += inverses[edge]
        bounds[k] = value + sqrt(level * spread)


@compiled
def first_greatest(values: Floats) -> int:
    """The place of the greatest value (ties: the first)."""
    best = 0
    for k in range(1, len(values)):
        if values[k] > values[best] + TIE:
            best = k
    return best


@compiled
def widest(arrays: Arrays, level: float, edges: Edges) -> None:
    """Write down the matching with the greatest Σ μ_e + sqrt(level · Σ 1/n_e) (ties: the first)."""
    bounds = np.empty(len(arrays.matchings))
    joint_bounds(arrays, level, bounds)
    edges[:] = arrays.matchings[first_greatest(bounds)]

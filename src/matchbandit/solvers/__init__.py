"""Given all the weights, which matching is best."""

from matchbandit.solvers.best import (
    MAX_MATCHINGS,
    all_matchings,
    best_matching,
    count_matchings,
    sorted_across,
    sorted_pairing,
)
from matchbandit.solvers.constrained import (
    heaviest_allowed,
    heaviest_allowed_pair,
    heaviest_of_products,
    heaviest_pair_of_products,
)

__all__ = [
    "MAX_MATCHINGS",
    "all_matchings",
    "best_matching",
    "count_matchings",
    "heaviest_allowed",
    "heaviest_allowed_pair",
    "heaviest_of_products",
    "heaviest_pair_of_products",
    "sorted_across",
    "sorted_pairing",
]

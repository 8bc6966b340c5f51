"""Given all the weights, which matching is best."""

from matchbandit.solvers.enumeration import MOST_MATCHINGS, all_matchings, count_matchings
from matchbandit.solvers.sorted import sorted_across, sorted_pairing
from matchbandit.solvers.weighted import best_matching

__all__ = [
    "MOST_MATCHINGS",
    "all_matchings",
    "best_matching",
    "count_matchings",
    "sorted_across",
    "sorted_pairing",
]

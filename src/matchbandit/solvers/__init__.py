"""Given all the weights, which matching is best."""

from matchbandit.solvers.sorted import sorted_across, sorted_pairing

__all__ = ["sorted_across", "sorted_pairing"]

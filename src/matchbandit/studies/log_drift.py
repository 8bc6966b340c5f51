"""Do the results of a log change as time goes by? A permutation test, exact whatever the means are."""

import numpy as np

from matchbandit.past_results import PastResults
from matchbandit.rewards import Floats
from matchbandit.seeding import stream

SHUFFLES = 199
MOST_ROWS = 20_000
"""The last of the log, which are tested."""
LEAST_ROWS = 50


def drift_in(log: PastResults, seed: int = 0) -> float | None:
    """The p-value of rewards that do not change with time, by the order of the rows; None where it cannot be told.

    Of each item i the trend D_i = Σ_k w_k r_k is taken, over its rows, where w_k is the place of the row in the log,
    from −1/2 to 1/2, and r_k its reward minus its pair's average. The statistic is Σ_i D_i². If nothing changes, the
    rewards of a pair can be shuffled among its meetings: the p-value is the share of shuffles with as large a
    statistic, the log itself among them. Rows that stand for several meetings have no place in time.
    """
    if len(log) < LEAST_ROWS or (log.counts > 1).any():
        return None
    tally, kept = log.tally, slice(-MOST_ROWS, None)
    left, right = ({name: k for k, name in enumerate(names)} for names in (tally.names[0], tally.names[-1]))
    i = np.array([left[name] for name in log.first[kept]])
    j = np.array([right[name] for name in log.second[kept]])
    _, pair = np.unique(tally.graph.edges(np.stack([i, j], axis=1)), return_inverse=True)
    if len(tally.names) > 1:
        j = j + len(left)
    rewards = log.rewards[kept]
    off = rewards - (np.bincount(pair, rewards) / np.bincount(pair))[pair]
    if not off.any():
        return None
    place = np.linspace(-0.5, 0.5, len(off))
    order = np.argsort(pair, kind="stable")
    rng = stream(seed, "drift")

    def statistic(left_over: Floats) -> float:
        trends = np.bincount(np.concatenate([i, j]), np.tile(place * left_over, 2))
        return float((trends**2).sum())

    observed, as_large = statistic(off), 1
    for _ in range(SHUFFLES):
        shuffled = np.empty_like(off)
        # Both orders go pair by pair: the rows of a pair get each other's rewards.
        shuffled[order] = off[np.lexsort((rng.random(len(off)), pair))]
        as_large += statistic(shuffled) >= observed * (1 - 1e-12)
    return as_large / (SHUFFLES + 1)

"""Test whether the results of a log change over time: a permutation test, exact for any means."""

import numpy as np

from matchbandit.past_results import PastResults
from matchbandit.rewards import Floats
from matchbandit.seeding import stream

SHUFFLES = 199
MAX_ROWS = 20_000
"""Rows that are tested, the last ones of the log."""
MIN_ROWS = 50


def drift_in(log: PastResults, seed: int = 0) -> float | None:
    """Return the p-value of rewards that do not change over time; None if the log cannot be tested.

    Each item i has the trend D_i = Σ_k w_k r_k over its rows, where w_k is the position of the row in the log, from
    −1/2 to 1/2, and r_k its reward minus the average of its pair. The statistic is Σ_i D_i². If nothing changes, the
    rewards of a pair can be shuffled among its meetings: the p-value is the share of shuffles with at least this
    statistic, the log itself among them. Rows that stand for several meetings have no position in time.
    """
    if len(log) < MIN_ROWS or (log.counts > 1).any():
        return None
    tally, tested = log.tally, slice(-MAX_ROWS, None)
    left, right = ({name: k for k, name in enumerate(names)} for names in (tally.names[0], tally.names[-1]))
    i = np.array([left[name] for name in log.first[tested]])
    j = np.array([right[name] for name in log.second[tested]])
    _, pair = np.unique(tally.graph.edges(np.stack([i, j], axis=1)), return_inverse=True)
    if len(tally.names) > 1:
        j = j + len(left)
    rewards = log.rewards[tested]
    residuals = rewards - (np.bincount(pair, rewards) / np.bincount(pair))[pair]
    if not residuals.any():
        return None
    position = np.linspace(-0.5, 0.5, len(residuals))
    order = np.argsort(pair, kind="stable")
    rng = stream(seed, "drift")

    def statistic(values: Floats) -> float:
        trends = np.bincount(np.concatenate([i, j]), np.tile(position * values, 2))
        return float((trends**2).sum())

    observed, n_as_large = statistic(residuals), 1
    for _ in range(SHUFFLES):
        shuffled = np.empty_like(residuals)
        # Both orders go pair by pair: the rows of a pair get each other's rewards.
        shuffled[order] = residuals[np.lexsort((rng.random(len(residuals)), pair))]
        n_as_large += statistic(shuffled) >= observed * (1 - 1e-12)
    return n_as_large / (SHUFFLES + 1)

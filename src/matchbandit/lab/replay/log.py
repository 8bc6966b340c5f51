"""What a log must have to be replayed, and whether its results change over time."""

import os

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.past_results import PastResults, read_results
from matchbandit.rewards import Counts, Floats, RewardDistribution, check_rewards
from matchbandit.seeding import stream

Log = PastResults | str | os.PathLike[str]

MIN_RESULTS_PER_ITEM = 3
"""On average. With fewer results the prior would determine the answer."""
SHUFFLES = 199
MAX_TESTED_ROWS, MIN_TESTED_ROWS = 20_000, 50
"""Rows that are tested for a drift: the last ones of the log."""


def read_log(log: Log) -> PastResults:
    """Return a log that is given itself or as a file."""
    return log if isinstance(log, PastResults) else read_results(log)


def check_log(log: PastResults, whole: PastResults) -> None:
    """Refuse a log, or the part of the whole log that would be replayed, by which policies cannot be compared."""
    tally, n_items = log.tally, log.tally.graph.n_items
    if len(tally.pairs) == 1:
        a, b = tally.named(tally.pairs)[0]
        raise MatchbanditError(
            f"{log.source} has one pair only, {a} and {b}: there is nothing to choose. Give results of others, too."
        )
    if 2 * log.n_results < MIN_RESULTS_PER_ITEM * n_items:
        most = "" if log is whole else f" of {whole.tally.graph.n_items}, those that met each other most"
        raise MatchbanditError(
            f"{log.source} has {log.n_results} results of {n_items} items{most}: too little to compare policies by. "
            f"Give at least {-(-MIN_RESULTS_PER_ITEM * n_items // 2)} results, or the results of fewer items."
        )


def reward_distribution(log: PastResults, rewards: RewardDistribution | None) -> RewardDistribution:
    """Return the distribution, if the rewards fit it; by default Bernoulli, if all rewards are 0 or 1."""
    distribution = check_rewards(rewards)
    if rewards is None:
        odd = (log.rewards != np.rint(log.rewards)) | (log.rewards < 0) | (log.rewards > log.counts)
        if odd.any():
            k, freedom = int(np.argmax(odd)), len(log) - len(log.tally.pairs)
            spread = ""
            if (log.counts == 1).all() and freedom:
                sd = np.sqrt((_residuals(log.rewards, log.row_pairs) ** 2).sum() / freedom)
                spread = f"; those of the same pair differ by a standard deviation of {sd:.2g}"
            raise MatchbanditError(
                f"{log.where(k)}: the reward {log.rewards[k]:g} is neither 0 nor 1. Say what the rewards are: "
                f"rewards=Binomial(trials) for shares of a number of trials, rewards=Gaussian(sd) for numbers around "
                f"means in [0, 1]{spread}."
            )
    log.refuse_outside(distribution)
    return distribution


def drift_p_value(log: PastResults, seed: int = 0) -> float | None:
    """Return the p-value of rewards that do not change over time; None if the log cannot be tested.

    Each item i has the trend D_i = Σ_k w_k r_k over its rows, where w_k is the position of the row in the log, from
    −1/2 to 1/2, and r_k its reward minus the average of its pair. The statistic is Σ_i D_i². If nothing changes, the
    rewards of a pair can be shuffled among its meetings: the p-value is the share of shuffles with at least this
    statistic, the log itself among them. Rows that stand for several meetings have no position in time.
    """
    if len(log) < MIN_TESTED_ROWS or (log.counts > 1).any():
        return None
    pair = log.row_pairs[-MAX_TESTED_ROWS:]
    residuals = _residuals(log.rewards[-MAX_TESTED_ROWS:], pair)
    if not residuals.any():
        return None
    ends = log.tally.graph.items_of(log.tally.pairs)[pair].T.ravel()
    position = np.linspace(-0.5, 0.5, len(pair))
    order = np.argsort(pair, kind="stable")
    rng = stream(seed, "drift")

    def statistic(values: Floats) -> float:
        return float((np.bincount(ends, np.tile(position * values, 2)) ** 2).sum())

    observed, n_as_large = statistic(residuals), 1
    for _ in range(SHUFFLES):
        shuffled = np.empty_like(residuals)
        # Both orders go pair by pair: the rows of a pair get each other's rewards.
        shuffled[order] = residuals[np.lexsort((rng.random(len(pair)), pair))]
        n_as_large += statistic(shuffled) >= observed * (1 - 1e-12)
    return n_as_large / (SHUFFLES + 1)


def _residuals(rewards: Floats, pair: Counts) -> Floats:
    """Rewards of single meetings minus the averages of their pairs."""
    return np.asarray(rewards - (np.bincount(pair, rewards) / np.maximum(np.bincount(pair), 1))[pair])

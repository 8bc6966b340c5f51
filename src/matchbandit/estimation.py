"""Estimate strengths and pair means from a log of past results, by name and with intervals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError, check_float
from matchbandit.extras import make_frame
from matchbandit.graphs import Pairs
from matchbandit.past_results import PastResults, read_results
from matchbandit.rewards import Floats, RewardDistribution, check_rewards
from matchbandit.strengths import Posterior, clip_outliers


def estimates(results: Any, *, rewards: RewardDistribution | None = None, level: float = 0.9) -> Any:
    """Estimate the strength of each item and the mean of each played pair of a log.

    The means are taken to be products of strengths, which `product_fit` tests. An estimate is the mode of a posterior
    in which the items of a side share a level: where results are few or rewards are rare, it lies between the average
    of the item and that of the others.

    Parameters
    ----------
    results : PastResults, path or data frame
        The log, or anything that `read_results` takes.
    rewards : distribution, optional
        Of the rewards; by default Bernoulli. Fractions in [0, 1] then count as shares of a success, and their intervals
        are rather too wide than too narrow.
    level : float, default 0.9
        The probability with which each interval holds the truth.

    Returns
    -------
    data frame
        Of pandas or Polars, as `runs.to_frame()` chooses it, with one row for each item, the strongest of each side
        first, and one for each played pair, the best first:

        - `kind`: "item" or "pair";
        - `side`: of an item, as the log names it; "players" where all items are on one side; missing for a pair;
        - `item`, `partner`: the names; `partner` is missing for an item;
        - `plays`, `mean`: how often the item or pair was played, and what its plays paid on average;
        - `estimate`, `low`, `high`: of the strength or the pair's mean, in [0, 1].

    Notes
    -----
    Results of two sides do not show their common scale: rows twice as strong and columns half as strong have the same
    pair means. The prior divides it between the sides, and the intervals of items leave it out, so that they compare
    items of the same side. The intervals of pairs do not depend on it.

    With more than 400 items (for pairs: 2000) the standard deviations behind the intervals are estimated from draws, to
    about a tenth.

    Examples
    --------
    >>> import matchbandit as mb
    >>> log = mb.PastResults.from_rows([("ann", "bob", 40, 32), ("ann", "cem", 40, 18), ("bob", "cem", 40, 16)])
    >>> frame = mb.estimates(log)
    >>> [(item, round(strength, 2)) for item, strength in zip(frame["item"][:3], frame["estimate"][:3])]
    [('ann', 0.91), ('bob', 0.86), ('cem', 0.49)]
    """
    log = results if isinstance(results, PastResults) else read_results(results)
    if not 0.0 < check_float("level", level) < 1.0:
        raise MatchbanditError(f"level must lie between 0 and 1; got {level!r}. Use 0.9 for intervals of 90 %.")
    distribution = check_rewards(rewards)
    log.refuse_outside(distribution)
    tally = log.tally
    edges = tally.graph.edges(tally.pairs)
    order = np.argsort(edges)
    counts, sums = tally.counts[order].astype(np.float64), tally.sums[order]
    fitted_sums = clip_outliers(distribution.noise, counts, sums)
    posterior = Posterior.fit(tally.graph, distribution, edges[order], counts, fitted_sums)
    ends = tally.graph.items_of(tally.pairs[order])
    items = _columns(posterior.strengths, posterior.item_intervals(level), *_totals(ends, counts, sums))
    pairs = _columns(posterior.pair_means(ends), posterior.pair_intervals(ends, level), counts, sums)

    sides = ["players"] if len(tally.names) == 1 else log.sides or ("rows", "columns")
    names = [(side, name) for side, group in zip(sides, tally.names, strict=True) for name in group]
    by_side = np.repeat(np.arange(len(sides)), [len(group) for group in tally.names])
    item_order = np.lexsort((-items["estimate"], by_side))
    pair_order = np.argsort(-pairs["estimate"], kind="stable")
    item_names = [names[k] for k in item_order.tolist()]
    pair_names = tally.named(tally.pairs[order][pair_order])
    return make_frame(
        {
            "kind": ["item"] * len(item_names) + ["pair"] * len(pair_names),
            "side": [side for side, _ in item_names] + [None] * len(pair_names),
            "item": [name for _, name in item_names] + [first for first, _ in pair_names],
            "partner": [None] * len(item_names) + [second for _, second in pair_names],
            **{name: np.concatenate([items[name][item_order], pairs[name][pair_order]]) for name in items},
        }
    )


def _totals(ends: Pairs, counts: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Plays and sums of rewards of each item."""
    items = ends.ravel()
    plays, paid = (np.bincount(items, np.repeat(values, 2)) for values in (counts, sums))
    return plays.astype(np.float64), paid.astype(np.float64)


def _columns(
    estimate: Floats, interval: tuple[Floats, Floats], counts: Floats, sums: Floats
) -> dict[str, NDArray[Any]]:
    return {
        "plays": counts.astype(np.int64),
        "mean": sums / counts,
        "estimate": estimate,
        "low": interval[0],
        "high": interval[1],
    }

"""Results that were logged: how often pairs were played and what they paid, checked and by edge."""

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError, check_float, check_int
from matchbandit.graphs import Edges, Graph
from matchbandit.rewards import Counts, Floats, RewardDistribution

MOST_PLAYS = 2**53
"""Of a logged pair: floats hold them exactly."""


def by_edge(
    graph: Graph, rewards: RewardDistribution, pairs: ArrayLike, counts: ArrayLike, sums: ArrayLike
) -> tuple[Edges, Counts, Floats]:
    """The edges that were played, each once, how often and what they paid; a pair that comes twice is added up."""
    edges = graph.edges(pairs) if np.size(pairs) else np.zeros(0, dtype=np.int64)
    try:
        plays, paid = np.asarray(counts, dtype=np.float64), np.asarray(sums, dtype=np.float64)
    except (TypeError, ValueError):
        raise MatchbanditError(f"counts and sums must be numbers; got {counts!r} and {sums!r}.") from None
    if plays.shape != edges.shape or paid.shape != edges.shape:
        raise MatchbanditError(
            f"{len(edges)} logged pairs need a count and a sum each; got shapes {plays.shape} and {paid.shape}."
        )
    with np.errstate(invalid="ignore"):  # 0 · ∞ is no number, and found below
        fine = (plays >= 0) & (plays <= MOST_PLAYS) & (plays == np.floor(plays)) & np.isfinite(paid)
        fine &= ~rewards.impossible(paid, plays)
    for k in np.flatnonzero(~fine).tolist():  # what is wrong is looked at more closely
        pair, total = graph.pairs_of(edges[k : k + 1])[0].tolist(), float(paid[k])
        n = check_int(f"the count of the pair {pair}", float(plays[k]), minimum=0, maximum=MOST_PLAYS)
        check_float(f"the sum of the pair {pair}", total)
        raise MatchbanditError(rewards.refusal(total, n, pair=f"the pair {pair}"))
    played = plays > 0
    known, places = np.unique(edges[played], return_inverse=True)
    total_counts = np.bincount(places, plays[played], minlength=len(known)).astype(np.int64)
    return known, total_counts, np.bincount(places, paid[played], minlength=len(known)).astype(np.float64)

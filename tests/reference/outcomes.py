"""Drawn outcomes against the exact law of all outcomes, and when items left."""

from collections import Counter

import numpy as np
from scipy.stats import chisquare


def agrees(drawn, law):
    """The p-value of the drawn outcomes under this law; outcomes too rare for the test are put together."""
    n = len(drawn)
    seen = Counter(drawn)
    assert set(seen) <= set(law)
    common = [outcome for outcome in law if n * law[outcome] >= 10]
    rest = n - sum(seen[o] for o in common)
    observed = [seen[o] for o in common]
    expected = [n * law[o] for o in common]
    if n - sum(expected) > 1e-6 * n:
        observed.append(rest)
        expected.append(n - sum(expected))
    if len(observed) == 1:
        return 1.0
    return chisquare(observed, np.array(expected) * n / sum(expected)).pvalue


def out_at(policy, side):
    """The round after which each row or column left; −1 while it is active."""
    ledger = policy.rows if side == "row" else policy.columns
    left = {gone.item: gone.round for gone in policy.eliminations if gone.side == side}
    return [-1 if item in ledger.active else left[item] for item in range(len(ledger.dominators))]

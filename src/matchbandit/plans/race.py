"""Random opponents, drawn all at once: who reaches a target count first, when, and with which counts.

Every sweep draws one opponent o with chance p_o. Playing on until some opponent has come up `need_o` times is a race;
its outcome is drawn here without playing it (see docs/engines.md).
"""

import numpy as np

from matchbandit.rewards import Counts, Floats


def race(chances: Floats, needs: Counts | None, most: int, rng: np.random.Generator) -> Counts:
    """How often each opponent comes up until one has met its need, in at most `most` draws.

    All chances are positive. Without needs all draws are made.
    """
    counts = rng.multinomial(most, chances)
    if needs is None or (counts < needs).all():
        return counts  # counts only grow, so nobody had met a need before
    while True:
        # Independent Poisson streams arrive in the same order as the draws: the need_o-th arrival of o comes at
        # a Gamma(need_o) time, and given that, the need_o − 1 arrivals before it are uniform in time.
        times = rng.standard_gamma(needs) / chances
        first = int(np.argmin(times))
        counts = rng.binomial(needs - 1, times[first] / times)
        counts[first] = needs[first]
        if counts.sum() <= most:  # it is known that somebody wins within `most` draws
            return counts


def undecided(chances: Floats, needs: Counts | None, draws: int, rng: np.random.Generator) -> Counts:
    """How often each opponent comes up in so many draws, given that none has met its need by then."""
    while True:
        counts = rng.multinomial(draws, chances)
        if needs is None or (counts < needs).all():
            return counts

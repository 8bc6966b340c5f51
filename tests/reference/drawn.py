"""Random problems for tests of theory: every law, uneven shapes, strengths in any order."""

import numpy as np

import matchbandit as mb

LAWS = (mb.Bernoulli(), mb.Gaussian(sd=0.5), mb.Binomial(trials=7), mb.Gaussian(sd=2.0))


def rows_and_columns(rng, *, law=None, most=(3, 4)):
    """At least two of each, no two closer than 0.02."""
    shape = [int(rng.integers(2, end + 1)) for end in most]
    return mb.Bipartite(*(apart(rng, n) for n in shape), rewards=law or rng.choice(LAWS))


def players(rng, n, *, law=None):
    """n players, no two closer than 0.02."""
    return mb.Monopartite(apart(rng, n), rewards=law or rng.choice(LAWS))


def apart(rng, n):
    """n strengths in [0.05, 0.97], in any order, no two closer than 0.02."""
    while True:
        strengths = rng.uniform(0.05, 0.97, n)
        if n == 1 or np.diff(np.sort(strengths)).min() >= 0.02:
            return strengths

"""The leap against the exact law, worked out over all sequences of draws."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from reference.outcomes import agrees
from scipy.stats import ks_2samp

from matchbandit.plans.race import race, undecided

CASES = [
    ([0.5, 0.5], [1, 1], 4),
    ([0.5, 0.5], [2, 3], 3),
    ([0.25, 0.75], [2, 4], 6),
    ([0.2, 0.3, 0.5], [2, 2, 3], 5),
    ([0.1, 0.9], [3, 8], 7),  # often nobody wins
    ([1.0], [3], 5),
]


def law_of_race(chances, needs, most):
    """The probability of each outcome, by playing every sequence of draws."""
    law = Counter()
    for sequence in product(range(len(chances)), repeat=most):
        counts, p = [0] * len(chances), 1.0
        for opponent in sequence:
            p *= chances[opponent]
        for opponent in sequence:
            counts[opponent] += 1
            if counts[opponent] == needs[opponent]:
                break
        law[tuple(counts)] += p
    return law


@pytest.mark.parametrize(("chances", "needs", "most"), CASES)
def test_a_race_has_exactly_the_law_of_drawing_one_by_one(chances, needs, most):
    rng = np.random.default_rng(1)
    drawn = [tuple(race(np.array(chances), np.array(needs), most, rng).tolist()) for _ in range(20_000)]
    assert agrees(drawn, law_of_race(chances, needs, most)) > 1e-3


@pytest.mark.parametrize(("chances", "needs", "most"), CASES[1:4])
def test_undecided_counts_have_the_law_of_draws_without_a_winner(chances, needs, most):
    draws = 3
    law = law_of_race(chances, needs, draws)
    open_ones = {c: p for c, p in law.items() if all(a < b for a, b in zip(c, needs, strict=True))}
    law = {c: p / sum(open_ones.values()) for c, p in open_ones.items()}
    rng = np.random.default_rng(2)
    drawn = [tuple(undecided(np.array(chances), np.array(needs), draws, rng).tolist()) for _ in range(20_000)]
    assert agrees(drawn, law) > 1e-3


def test_without_needs_all_draws_are_made():
    rng = np.random.default_rng(3)
    assert race(np.array([0.3, 0.7]), None, 10**12, rng).sum() == 10**12
    assert undecided(np.array([0.3, 0.7]), None, 10**12, rng).sum() == 10**12


def test_a_race_of_many_draws_ends_when_it_does_one_by_one():
    chances, needs, most = np.array([0.2, 0.3, 0.5]), np.array([40, 55, 95]), 220
    rng = np.random.default_rng(4)
    leapt = np.array([race(chances, needs, most, rng) for _ in range(3000)])
    played = np.zeros_like(leapt)
    for k in range(len(played)):
        counts = np.cumsum(rng.choice(3, size=most, p=chances)[:, None] == np.arange(3), axis=0)
        hit = np.flatnonzero((counts >= needs).any(axis=1))
        played[k] = counts[hit[0] if len(hit) else -1]
    for k in range(3):
        assert ks_2samp(leapt[:, k], played[:, k]).pvalue > 1e-3
    assert ks_2samp(leapt.sum(axis=1), played.sum(axis=1)).pvalue > 1e-3
    winners = [(x == needs).sum(axis=0) for x in (leapt, played)]
    assert np.abs(winners[0] - winners[1]).max() < 4 * np.sqrt(2 * 3000 * 0.25)


def test_a_race_over_10_to_the_12_draws_is_drawn_at_once():
    rng = np.random.default_rng(5)
    counts = race(np.array([0.25, 0.75]), np.array([10**12, 10**12]), 10**14, rng)
    assert counts[1] == 10**12
    assert abs(counts[0] - 10**12 / 3) < 10**8

from collections import Counter
from itertools import product

import numpy as np
import pytest
from reference.outcomes import agrees
from scipy.stats import ks_2samp

from matchbandit.plans import Sweeps, Tally
from matchbandit.plans.sweeps import SweepSide, draw_race, draw_unfinished_race


def plan(row_heirs, column_heirs, row_needs, column_needs, limit):
    n_pairs = len(row_heirs) * len(column_heirs)
    return Sweeps(
        edges=np.tile(np.arange(n_pairs), 2),
        rows=SweepSide(np.array(row_heirs), None if row_needs is None else np.array(row_needs)),
        columns=SweepSide(np.array(column_heirs), None if column_needs is None else np.array(column_needs)),
        limit=limit,
    )


def law_of_leap(of, most):
    """The probability of (sweeps, counts), by playing every sequence of the two opponents sweep by sweep."""
    law = Counter()
    most = min(most, of.limit)
    rows, columns = of.rows, of.columns
    opponents = list(product(range(len(columns.active)), range(len(rows.active))))
    for sequence in product(opponents, repeat=most):
        p = np.prod([columns.chances[c] * rows.chances[r] for c, r in sequence])
        tally = Tally.empty(len(of.edges))
        counts = tally.counts.reshape(of.shape)
        for c, r in sequence:
            counts[0, rows.active, columns.active[c]] += 1
            counts[1, rows.active[r], columns.active] += 1
            tally.sweeps += 1
            if of.due(tally):
                break
        law[tally.sweeps, tuple(tally.counts.tolist())] += p
    return law


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "of",
    [
        plan([0, 1], [0, 1], [2, 2], [2, 3], 4),
        plan([0, 1], [0, 0, 2], [3, 1], [2, 2], 4),
        plan([0, 0], [0, 1], None, [2, 2], 4),
        plan([0, 1], [0, 1], [4, 4], [4, 4], 4),
        plan([1, 1, 1], [0, 1], [2], None, 3),
        plan([0, 1], [0, 1], [1, 1], [3, 3], 4),
    ],
)
@pytest.mark.parametrize("most", [pytest.param(2, marks=pytest.mark.slow), 10])
def test_a_leap_has_exactly_the_law_of_playing_sweep_by_sweep(of, most):
    law = law_of_leap(of, most)
    rng = np.random.default_rng(7)
    nothing = Tally.empty(len(of.edges))
    drawn = []
    for _ in range(6000):
        sweeps, counts = of.leap(nothing, most, rng)
        drawn.append((sweeps, tuple(counts.tolist())))
    assert agrees(drawn, law) > 1e-3


@pytest.mark.slow
def test_two_leaps_with_a_stop_between_them_have_the_law_of_one():
    of = plan([0, 1], [0, 1], [2, 3], [2, 3], 4)
    law = law_of_leap(of, 10)
    rng = np.random.default_rng(8)
    drawn = []
    for _ in range(6000):
        tally = Tally.empty(len(of.edges))
        for most in (1, 1, 10):
            sweeps, counts = of.leap(tally, most, rng)
            tally.add(Tally(sweeps, counts, np.zeros(len(counts))))
            if of.due(tally):
                break
        drawn.append((tally.sweeps, tuple(tally.counts.tolist())))
    assert agrees(drawn, law) > 1e-3


def test_a_sweep_plays_all_active_rows_then_all_active_columns_with_weights_kept():
    of = plan([0, 1, 1], [0, 0, 0, 3], None, None, 10)
    assert of.length == 4
    rng, n = np.random.default_rng(9), 8000
    opponents = Counter()
    for number in range(n):
        cells = np.array(np.unravel_index(of.sweep(number, rng).ravel(), of.shape)).T.tolist()
        (_, r0, c0), (_, r1, c1), (_, r2, c2), (_, r3, c3) = cells
        assert [cell[0] for cell in cells] == [0, 0, 1, 1]
        assert (r0, r1) == (0, 1)
        assert (c2, c3) == (0, 3)
        assert c0 == c1
        assert r2 == r3
        opponents["column", c0] += 1
        opponents["row", r2] += 1
    for opponent, p in {("column", 0): 3 / 4, ("column", 3): 1 / 4, ("row", 0): 1 / 3, ("row", 1): 2 / 3}.items():
        assert abs(opponents[opponent] / n - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_a_stretch_of_10_to_the_15_sweeps_loses_no_count():
    of = plan([0, 1], [0, 1, 2], None, None, 2**60)
    sweeps, counts = of.leap(Tally.empty(12), 10**15 + 7, np.random.default_rng(1))
    assert sweeps == 10**15 + 7
    assert counts.sum() == (10**15 + 7) * 5


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


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("chances", "needs", "most"), CASES)
def test_a_race_has_exactly_the_law_of_drawing_one_by_one(chances, needs, most):
    rng = np.random.default_rng(1)
    drawn = [tuple(draw_race(np.array(chances), np.array(needs), most, rng).tolist()) for _ in range(20_000)]
    assert agrees(drawn, law_of_race(chances, needs, most)) > 1e-3


@pytest.mark.parametrize(("chances", "needs", "most"), CASES[1:4])
def test_undecided_counts_have_the_law_of_draws_without_a_winner(chances, needs, most):
    draws = 3
    law = law_of_race(chances, needs, draws)
    open_ones = {c: p for c, p in law.items() if all(a < b for a, b in zip(c, needs, strict=True))}
    law = {c: p / sum(open_ones.values()) for c, p in open_ones.items()}
    rng = np.random.default_rng(2)
    drawn = [
        tuple(draw_unfinished_race(np.array(chances), np.array(needs), draws, rng).tolist()) for _ in range(20_000)
    ]
    assert agrees(drawn, law) > 1e-3


def test_without_needs_all_draws_are_made():
    rng = np.random.default_rng(3)
    assert draw_race(np.array([0.3, 0.7]), None, 10**12, rng).sum() == 10**12
    assert draw_unfinished_race(np.array([0.3, 0.7]), None, 10**12, rng).sum() == 10**12


def test_a_race_of_many_draws_ends_when_it_does_one_by_one():
    chances, needs, most = np.array([0.2, 0.3, 0.5]), np.array([40, 55, 95]), 220
    rng = np.random.default_rng(4)
    leapt = np.array([draw_race(chances, needs, most, rng) for _ in range(3000)])
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
    counts = draw_race(np.array([0.25, 0.75]), np.array([10**12, 10**12]), 10**14, rng)
    assert counts[1] == 10**12
    assert abs(counts[0] - 10**12 / 3) < 10**8

"""Does a log change as time goes by? The test is exact: its p-values are even where nothing changes."""

import numpy as np
import pytest

from matchbandit.past_results import PastResults
from matchbandit.studies.log_drift import drift_in


def rows(means, rng, rounds=15):
    """Every pair of four players in turn; `means(progress)` is a table of what they pay."""
    made = []
    for k in range(rounds):
        table = means(k / rounds)
        made += [(f"p{i}", f"p{j}", float(rng.random() < table[i, j])) for i in range(4) for j in range(i)]
    return PastResults.from_rows(made)


def test_p_values_are_even_where_nothing_changes():
    rng = np.random.default_rng(1)
    still = rng.uniform(0.1, 0.9, (4, 4))
    p = np.array([drift_in(rows(lambda _: still, rng), seed) for seed in range(80)])
    assert p.min() >= 1 / 200
    for level in (0.1, 0.5, 0.8):
        assert np.mean(p <= level) == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 80))


def test_an_item_that_gets_better_is_found():
    rng = np.random.default_rng(2)

    def better(progress):
        table = np.full((4, 4), 0.3)
        table[:, 0] = table[0, :] = 0.1 + 0.8 * progress
        return table

    found = [drift_in(rows(better, rng, rounds=40), seed) for seed in range(5)]
    assert max(found) < 0.05


def test_nothing_is_said_where_nothing_can_be():
    rng = np.random.default_rng(3)
    flat = np.full((4, 4), 1.0)
    assert drift_in(rows(lambda _: flat, rng)) is None  # all are 1
    assert drift_in(PastResults.from_rows([("a", "b", 1), ("b", "c", 0)])) is None  # too few
    counted = [("a", "b", 9, 4)] * 60
    assert drift_in(PastResults.from_rows(counted)) is None  # meetings without a place in time


def test_two_sides_are_not_mixed_up():
    rng = np.random.default_rng(4)
    falling = [(f"r{k % 3}", f"c{(k // 3) % 3}", float(rng.random() < (0.9 - 0.8 * k / 180 if k % 3 == 0 else 0.5)))
               for k in range(180)]  # fmt: skip
    assert drift_in(PastResults.from_rows(falling, kind="sides")) < 0.05

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


def test_pairs_may_meet_at_other_times_and_vary_by_other_amounts():
    """Who meets first and last, and varies, is no trend beside who meets in between, and never varies."""
    rng = np.random.default_rng(5)
    p = []
    for seed in range(100):
        coin = [("a", "b", float(rng.random() < 0.5)) for _ in range(20)]
        p.append(drift_in(PastResults.from_rows([*coin[:10], *[("b", "c", 1.0)] * 100, *coin[10:]]), seed))
    assert np.mean(np.array(p) <= 0.2) == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 100))


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
    """The first row falls as the first column rises: added up by number, nothing would change."""
    rng = np.random.default_rng(4)
    changing = []
    for k in range(360):
        row, column, progress = k % 3, (k // 3) % 3, k / 360
        mean = 0.5 if (row == 0) == (column == 0) else 0.9 - 0.8 * progress if row == 0 else 0.1 + 0.8 * progress
        changing.append((f"r{row}", f"c{column}", float(rng.random() < mean)))
    assert drift_in(PastResults.from_rows(changing, kind="sides")) < 0.02

"""Do results change as time goes by? The test is exact: its p-values are even where nothing changes."""

import numpy as np
import pytest

from matchbandit.lab.replay.log import drift_p_value
from matchbandit.past_results import PastResults


def rows(means, rng, rounds=15):
    """Every pair of four players in turn; `means(progress)` is a table of what they pay."""
    tables = [means(k / rounds) for k in range(rounds)]
    pairs = [(i, j) for i in range(4) for j in range(i)]
    made = [(f"p{i}", f"p{j}", float(rng.random() < table[i, j])) for table in tables for i, j in pairs]
    return PastResults.from_rows(made)


def test_drift_p_values_are_uniform_where_nothing_changes():
    rng = np.random.default_rng(1)
    still = rng.uniform(0.1, 0.9, (4, 4))
    p = np.array([drift_p_value(rows(lambda _: still, rng), seed) for seed in range(80)])
    assert p.min() >= 1 / 200
    for level in (0.1, 0.5, 0.8):
        assert np.mean(p <= level) == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 80))


def test_drift_p_values_are_uniform_where_pairs_meet_at_other_times():
    """Who meets first and last, and varies, is no trend beside who meets in between, and never varies."""
    rng, p = np.random.default_rng(5), []
    for seed in range(100):
        coins = [("a", "b", float(rng.random() < 0.5)) for _ in range(20)]
        p.append(drift_p_value(PastResults.from_rows([*coins[:10], *[("b", "c", 1.0)] * 100, *coins[10:]]), seed))
    assert np.mean(np.array(p) <= 0.2) == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 100))


def test_drift_p_value_of_an_item_that_improves_is_small():
    rng = np.random.default_rng(2)

    def improving(progress):
        table = np.full((4, 4), 0.3)
        table[:, 0] = table[0, :] = 0.1 + 0.8 * progress
        return table

    assert max(drift_p_value(rows(improving, rng, rounds=40), seed) for seed in range(5)) < 0.05


def test_drift_p_value_keeps_two_sides_apart():
    """The first row falls as the first column rises: added up by number, nothing would change."""
    rng, changing = np.random.default_rng(4), []
    for k in range(360):
        row, column, progress = k % 3, (k // 3) % 3, k / 360
        mean = 0.5 if (row == 0) == (column == 0) else 0.9 - 0.8 * progress if row == 0 else 0.1 + 0.8 * progress
        changing.append((f"r{row}", f"c{column}", float(rng.random() < mean)))
    assert drift_p_value(PastResults.from_rows(changing, kind="sides")) < 0.02


def test_drift_p_value_is_none_where_nothing_can_be_said():
    for log in ([("a", "b", 1), ("b", "c", 1)] * 40, [("a", "b", 1), ("b", "c", 0)], [("a", "b", 9, 4)] * 60):
        assert drift_p_value(PastResults.from_rows(log)) is None  # all equal; too few; rows without a place in time

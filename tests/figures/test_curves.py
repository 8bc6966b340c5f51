import numpy as np

from matchbandit.figures.curves import curve, final, ratio
from matchbandit.results import Row

ROWS = [
    Row("s", policy, x, run, at, scale * x * at + run)
    for policy, scale in (("a", 1.0), ("b", 3.0))
    for x in (2.0, 1.0)
    for run in range(11)
    for at in (10, 100)
] + [Row("other", "a", 1.0, 0, 1000, 0.0)]


def test_a_curve_over_places_takes_the_last_round():
    ours = curve(ROWS, "s", "a")
    assert ours.x.tolist() == [1.0, 2.0]
    assert ours.mean.tolist() == [105.0, 205.0]
    assert ours.p5.tolist() == [100.5, 200.5]
    assert ours.p95.tolist() == [109.5, 209.5]


def test_a_curve_over_rounds_takes_all_of_them():
    ours = curve([r for r in ROWS if r.x == 1.0], "s", "b", along="round")
    assert ours.x.tolist() == [10, 100]
    assert ours.mean.tolist() == [35.0, 305.0]


def test_final_values_are_in_the_order_of_runs():
    assert final(ROWS[::-1], "s", "a", 1.0).tolist() == [100.0 + run for run in range(11)]


def test_a_ratio_is_of_means_and_its_range_of_runs():
    gain = ratio(ROWS, "s", "b", "a")
    assert np.allclose(gain.mean, [305 / 105, 605 / 205])
    runs = (300.0 + np.arange(11)) / (100.0 + np.arange(11))
    assert np.allclose([gain.p5[0], gain.p95[0]], np.percentile(runs, [5, 95]))

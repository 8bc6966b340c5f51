from math import sqrt

import numpy as np
import pytest

from matchbandit.results import paired_difference, summarize
from matchbandit.results.statistics import average_out_noise, simultaneous_bands, standard_error


def test_a_summary_by_hand():
    summary = summarize([1, 2, 3, 6])
    assert (summary.mean, summary.se) == (3, pytest.approx(sqrt((4 + 1 + 0 + 9) / 3) / 2))
    assert (summary.p5, summary.p95) == (pytest.approx(1.15), pytest.approx(5.55))
    assert (summary.mean_text, summary.range_text) == ("3 ± 1.1", "1.15 to 5.55")


def test_a_single_run_has_no_standard_error():
    assert summarize([7]).se is None
    assert summarize([7]).mean_text == "7"
    assert standard_error([[1.0, 2.0]]) == [None, None]


def test_equal_numbers_have_the_standard_error_0():
    regret = 153_300.1  # whose mean over ten runs is rounded
    assert np.std([regret] * 10) > 0
    assert summarize([regret] * 10).se == 0
    assert standard_error([[regret, 1.0]] * 9 + [[regret, 11.0]]) == [0, 1]


def test_the_interval_is_students_over_the_runs_that_both_have():
    paired = paired_difference([0, 1, 2, 9], [4, 6, 11, 0], [7, 2, 1, 0], [50, 5, 4, 3])
    assert (paired.runs, paired.mean) == (3, 3)  # 1, 2 and 6
    assert paired.se == pytest.approx(sqrt(7 / 3))
    t = 4.302652729911275  # the 97.5 % quantile with two degrees of freedom, from tables
    assert paired.interval == pytest.approx((3 - t * sqrt(7 / 3), 3 + t * sqrt(7 / 3)))
    assert not paired.is_distinguishable
    assert paired.text == "3 (−3.572 to 9.572)"


def test_without_common_runs_nothing_is_distinguishable():
    apart, one = paired_difference([0, 1], [1, 2], [2, 3], [10, 20]), paired_difference([0], [1], [0], [9])
    assert (apart.mean, apart.interval, apart.text) == (None, None, "no runs in common")
    assert (one.mean, one.interval, one.text) == (-8, None, "−8")
    assert not apart.is_distinguishable
    assert not one.is_distinguishable


def test_a_constant_difference_is_distinguishable_from_zero_only():
    assert paired_difference([0, 1], [3, 4], [0, 1], [1, 2]).is_distinguishable
    assert not paired_difference([0, 1], [1, 2], [0, 1], [1, 2]).is_distinguishable


def test_the_interval_covers_the_true_difference_in_95_percent_of_samples():
    rng, samples, runs = np.random.default_rng(3), 2000, 5
    common = rng.normal(0, 50, (samples, runs))  # the luck of an instance, which pairing removes
    ours, theirs = common + rng.normal(2, 1, (samples, runs)), common + rng.normal(0, 2, (samples, runs))
    intervals = [paired_difference(range(runs), *both).interval for both in _pairs(ours, theirs, runs)]
    covered = np.mean([low <= 2 <= high for low, high in intervals])
    assert abs(covered - 0.95) <= 4 * sqrt(0.95 * 0.05 / samples)  # ± 2 standard errors would cover 0.88
    t = 2.7764451051977987
    width = 2 * t * sqrt((1 + 4) / runs)  # for the true variance; pairing leaves nothing of the common 50²
    assert np.mean([high - low for low, high in intervals]) == pytest.approx(0.94 * width, rel=0.05)


def _pairs(ours, theirs, runs):
    return [(a, range(runs), b) for a, b in zip(ours, theirs, strict=True)]


def test_average_out_noise_keeps_the_variance_between_draws():
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, 400)[:, None] + rng.normal(0, 1.5, (400, 2))
    assert values.mean(axis=1).std() > 1.35
    assert average_out_noise(values).std() == pytest.approx(1, rel=0.2)
    noise = average_out_noise(rng.normal(5, 3, (400, 2)))
    assert noise.std() < 0.6
    assert noise.mean() == pytest.approx(5, abs=0.5)
    assert average_out_noise(np.full((4, 2), 7.0)).tolist() == [7.0] * 4


@pytest.mark.parametrize("quantities", [1, 3, 10])
def test_simultaneous_bands_hold_together_in_nine_cases_of_ten(quantities):
    rng, times = np.random.default_rng(4), 400
    mix, held = rng.normal(size=(quantities, quantities)), 0
    for _ in range(times):
        drawn = np.exp(0.5 * mix @ rng.normal(size=(quantities, 101)))  # skewed and correlated
        bands = simultaneous_bands(drawn[:, 1:])
        held += all(low <= x <= high for (_, low, high), x in zip(bands, drawn[:, 0], strict=True))
    assert held / times == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / times))

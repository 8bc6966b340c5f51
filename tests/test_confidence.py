from math import ceil, exp, inf, isclose, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.confidence import NEVER, Checks
from matchbandit.errors import MatchbanditError

growths = st.floats(1.01, 10)
log_betas = st.floats(0.3, 60) | st.sampled_from([log(2), log(4), log(16), log(2e6), log(1e15)])


def schedule(growth, log_beta, beyond):
    """All k_l = ceil(4 g^l log β), l = 1, 2, …, up to the first that lies beyond."""
    listed = []
    while not listed or listed[-1] <= beyond:
        listed.append(ceil(4 * growth ** (len(listed) + 1) * log_beta))
    return listed


@settings(deadline=None, derandomize=True)
@given(growths, log_betas, st.integers(0, 200) | st.integers(0, 10**6) | st.integers(0, 10**15))
def test_the_next_check_is_at_the_smallest_scheduled_count_above(growth, log_beta, count):
    assert Checks(growth, log_beta).following(count) == schedule(growth, log_beta, count)[-1]


@settings(deadline=None, derandomize=True)
@given(growths, log_betas, st.integers(0, 10**6) | st.integers(0, 10**15))
def test_the_radius_is_that_of_the_largest_scheduled_count_reached(growth, log_beta, more):
    checks = Checks(growth, log_beta)
    count = schedule(growth, log_beta, 0)[0] + more
    reached = max(k for k in schedule(growth, log_beta, count) if k <= count)
    assert isclose(checks.radius(count), sqrt(log_beta / reached), rel_tol=1e-12)


@settings(deadline=None, derandomize=True)
@given(growths, log_betas, st.data())
def test_on_and_just_before_a_scheduled_count(growth, log_beta, data):
    checks = Checks(growth, log_beta)
    listed = schedule(growth, log_beta, 10**15)
    k = data.draw(st.sampled_from(listed[:-1]))
    above = min(j for j in listed if j > k)
    below = max([j for j in listed if j < k], default=None)
    assert checks.following(k - 1) == k
    assert checks.following(k) == checks.following(above - 1) == above
    assert checks.radius(k) == checks.radius(above - 1)
    assert isclose(checks.radius(k), sqrt(log_beta / k), rel_tol=1e-12)
    if below is not None:
        assert isclose(checks.radius(k - 1), sqrt(log_beta / below), rel_tol=1e-12)


def test_checks_of_the_paper_by_hand():
    # g = 4, β = e²: k = 4·4·2, 4·16·2, 4·64·2 and the radii are 1/4, 1/8, 1/16.
    checks = Checks(growth=4, log_beta=2.0)
    assert [checks.following(count) for count in (0, 31, 32, 127, 128)] == [32, 32, 128, 128, 512]
    assert [checks.radius(count) for count in (32, 127, 128, 511, 512)] == [0.25, 0.25, 0.125, 0.125, 0.0625]


def test_a_scheduled_count_is_rounded_up():
    # 4·2·log 3 = 8.79 and 4·4·log 3 = 17.58.
    checks = Checks(growth=2, log_beta=log(3))
    assert [checks.following(count) for count in (0, 8, 9)] == [9, 9, 18]
    assert checks.radius(17) == sqrt(log(3) / 9)


def test_counts_that_several_levels_share_are_checked_once():
    # 4·1.01^l·0.3 stays between 1 and 2 for many l.
    checks, count = Checks(growth=1.01, log_beta=0.3), 0
    for k in sorted(set(schedule(1.01, 0.3, 300))):
        assert checks.following(count) == k
        count = k


@settings(deadline=None, derandomize=True)
@given(st.floats(0.01, 60), st.integers(0, 10**15))
def test_growth_one_checks_every_count_from_four_log_beta_on(log_beta, count):
    checks = Checks(growth=1, log_beta=log_beta)
    assert checks.following(count) == max(count + 1, ceil(4 * log_beta))
    first = ceil(4 * log_beta)
    assert checks.following(first) == first + 1
    assert isclose(checks.radius(first + count), sqrt(log_beta / (first + count)), rel_tol=1e-12)


def test_growth_just_above_one_is_close_to_every_chance():
    assert [Checks(1 + 1e-9, 1.0).following(count) for count in (0, 4, 5, 100)] == [5, 5, 6, 101]


@pytest.mark.parametrize("growth", [1, 1.01, 4, 1e6])
@pytest.mark.parametrize("log_beta", [0, 0.0, -1.0])
def test_without_confidence_to_win_nothing_is_ever_checked(growth, log_beta):
    checks = Checks(growth, log_beta)
    assert checks.following(0) == checks.following(10**15) == NEVER


@pytest.mark.parametrize("growth", [1.01, 4, 1e6])
def test_a_check_that_no_count_reaches_is_never(growth):
    checks = Checks(growth, 700.0)
    last = max(k for k in schedule(growth, 700.0, NEVER) if k < NEVER)
    assert checks.following(last - 1) == last
    assert checks.following(last) == NEVER


@settings(deadline=None, derandomize=True)
@given(growths | st.just(1), log_betas, st.floats(0.01, 10), st.integers(10**4, 10**12))
def test_the_radius_scales_with_two_sigma_and_the_schedule_does_not(growth, log_beta, sigma, count):
    unit, scaled = Checks(growth, log_beta), Checks(growth, log_beta, sigma)
    assert isclose(scaled.radius(count), 2 * sigma * unit.radius(count), rel_tol=1e-12)
    assert scaled.following(count) == unit.following(count)


@pytest.mark.parametrize("growth", [1, 1.05, 4])
def test_an_average_leaves_its_interval_as_rarely_as_hoeffding_says(growth):
    # At a check, P(|mean − W| > radius) ≤ 2 exp(−2 k radius²) = 2 / β².
    log_beta = log(4)
    checks = Checks(growth, log_beta)
    n, repeats = checks.following(40), 200_000
    means = np.random.default_rng(3).binomial(n, 0.5, size=repeats) / n
    outside = (np.abs(means - 0.5) > checks.radius(n)).mean()
    bound = 2 * exp(-2 * log_beta)
    assert outside < bound + 4 * sqrt(bound * (1 - bound) / repeats)
    assert outside > bound / 20


@pytest.mark.parametrize("growth", [0.99, 0, -4, 1e6 + 1, inf, -inf, nan, "4", None, True])
def test_a_bad_growth_is_refused_with_its_value(growth):
    with pytest.raises(MatchbanditError, match=r"^growth must .*got ") as refusal:
        Checks(growth, 1.0)
    assert repr(growth) in str(refusal.value)


@pytest.mark.parametrize("growth", [1, 1e6, np.float64(4)])
def test_a_growth_at_either_bound_is_taken(growth):
    assert Checks(growth, 1.0).following(0) == ceil(4 * growth)

"""Checks with β_l = c l, by which all checks of all averages together fail with probability δ."""

from math import ceil, exp, isclose, log, pi, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.confidence import Checks, check_delta
from matchbandit.errors import MatchbanditError

growths = st.sampled_from([1.05, 1.5, 2.0, 4.0]) | st.floats(1.01, 10)
numbers = st.integers(1, 5000)
deltas = st.floats(1e-6, 0.99)
counts = st.integers(0, 200) | st.integers(0, 10**6) | st.integers(0, 10**12)
examples = settings(deadline=None, derandomize=True)


def listed(growth, n_averages, delta, beyond):
    """(k_l, log β_l) for l = 1, 2, … up to the first k_l that lies beyond."""
    c = pi * sqrt(n_averages / (3 * delta))
    schedule = []
    while not schedule or schedule[-1][0] <= beyond:
        level = len(schedule) + 1
        log_beta = log(c) + log(level)
        schedule.append((ceil(4 * growth**level * log_beta), log_beta))
    return schedule


@examples
@given(growths, numbers, deltas, counts)
def test_the_next_check_is_at_the_smallest_scheduled_count_above(growth, n_averages, delta, count):
    checks = Checks.fixed_confidence(growth, n_averages, delta, 0.5)
    assert checks.following(count) == listed(growth, n_averages, delta, count)[-1][0]


@examples
@given(growths, numbers, deltas, counts, st.sampled_from([0.1, 0.5, 2.0]))
def test_the_radius_is_that_of_the_largest_scheduled_count_reached(growth, n_averages, delta, more, sigma):
    checks = Checks.fixed_confidence(growth, n_averages, delta, sigma)
    count = listed(growth, n_averages, delta, 0)[0][0] + more
    k, log_beta = max(entry for entry in listed(growth, n_averages, delta, count) if entry[0] <= count)
    assert isclose(checks.radius(count), 2 * sigma * sqrt(log_beta / k), rel_tol=1e-12)


@examples
@given(growths, numbers, deltas)
def test_the_scheduled_counts_are_those_listed_and_never_fall(growth, n_averages, delta):
    checks = Checks.fixed_confidence(growth, n_averages, delta, 0.5)
    scheduled = [checks.scheduled(level) for level in range(1, 40)]
    assert scheduled == [k for k, _ in listed(growth, n_averages, delta, scheduled[-1])[:39]]
    assert scheduled == sorted(scheduled)


@pytest.mark.parametrize(("growth", "n_averages", "delta", "sigma"), [(4.0, 12, 0.5, 0.5), (1.05, 60, 0.05, 0.2)])
def test_all_checks_together_fail_with_probability_delta(growth, n_averages, delta, sigma):
    # An average of k samples, each σ-sub-Gaussian, leaves ± r with probability at most 2 exp(−k r² / 2σ²) = 2 β_l^−2.
    # Over l and the K averages: 2 K Σ 1/(c l)² = 2 K / c² · π²/6 = δ. The tail of Σ 1/l² beyond L is 1/L to order L^−2.
    checks = Checks.fixed_confidence(growth, n_averages, delta, sigma)
    few = 200 if growth == 4.0 else 500
    failures = []
    for level in range(1, few + 1):
        k = checks.scheduled(level)
        radius = 2 * sigma * sqrt((checks.log_beta + log(level)) / k)
        if k < 2**62:
            assert isclose(checks.radius(k), radius, rel_tol=1e-12)
        failures.append(2 * exp(-k * radius**2 / (2 * sigma**2)))
    tail = 2 * exp(-2 * checks.log_beta) * (1 / few - 1 / (2 * few**2))
    assert isclose(n_averages * (sum(failures) + tail), delta, rel_tol=1e-6)


def test_by_hand_the_schedule_of_12_averages_at_one_half():
    # c = π sqrt(12 / 1.5) = 8.886: 16 log c = 34.95, 64 log 2c = 184.2, 256 log 3c = 840.5, 1024 log 4c = 3656.5.
    checks = Checks.fixed_confidence(4.0, 12, 0.5, 0.5)
    assert [checks.following(count) for count in (0, 34, 35, 184, 185, 840, 841)] == [35, 35, 185, 185, 841, 841, 3657]
    assert isclose(checks.radius(100), sqrt(log(pi * sqrt(8)) / 35))
    assert isclose(checks.radius(185), sqrt(log(2 * pi * sqrt(8)) / 185))


def test_a_smaller_delta_and_more_averages_look_later():
    settings_of = [(4, 0.2), (40, 0.2), (40, 0.002)]
    first = [Checks.fixed_confidence(4.0, n, delta, 0.5).following(0) for n, delta in settings_of]
    assert first == sorted(set(first))


def test_every_chance_is_refused_by_level_and_allowed_otherwise():
    with pytest.raises(MatchbanditError, match=r"growth 1 \(every chance\) is for regret only; with delta take 4"):
        Checks.fixed_confidence(1.0, 4, 0.1, 0.5)
    with pytest.raises(MatchbanditError, match="for regret only"):
        Checks(1, 2.0, by_level=True)
    assert Checks(1.0, 2.0).following(8) == 9


@pytest.mark.parametrize("delta", [1e-300, 0.05, 0.5, 1 - 1e-12])
def test_a_delta_between_0_and_1_is_taken(delta):
    assert check_delta(delta) == delta


@pytest.mark.parametrize("delta", [0, 1, 0.0, 1.0, -0.1, 1.01, float("nan"), float("inf")])
def test_a_delta_outside_is_refused_with_its_value(delta):
    with pytest.raises(MatchbanditError, match="delta must"):
        check_delta(delta)


@pytest.mark.parametrize("delta", ["0.1", None, [0.1], True])
def test_a_delta_that_is_no_number_is_refused(delta):
    with pytest.raises(MatchbanditError, match="delta"):
        check_delta(delta)

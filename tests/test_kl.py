"""Kullback–Leibler divergences and bounds against the slow and precise ones in tests/reference."""

from math import exp, inf, isclose, log

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import kl

from matchbandit.kl import (
    bernoulli_kl,
    bernoulli_kl_at_logs,
    bernoulli_kl_split,
    kl_lower,
    kl_upper,
)

means = st.one_of(st.sampled_from([0.0, 1e-12, 1e-6, 0.3, 0.5, 0.999, 1 - 1e-12, 1.0]), st.floats(1e-12, 1 - 1e-12))
budgets = st.floats(-10, 2).map(lambda exponent: 10**exponent)


def test_the_divergence_at_the_ends():
    assert bernoulli_kl(0.0, 0.0) == bernoulli_kl(1.0, 1.0) == 0
    assert bernoulli_kl(0.0, 1.0) == bernoulli_kl(1.0, 0.0) == bernoulli_kl(0.3, 0.0) == bernoulli_kl(0.3, 1.0) == inf
    assert isclose(bernoulli_kl(0.0, 0.75), log(4))
    assert isclose(bernoulli_kl(1.0, 0.25), log(4))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(p=means, q=st.floats(1e-3, 1 - 1e-3))
def test_the_divergence_is_the_precise_one(p, q):
    assert bernoulli_kl(p, q) == pytest.approx(kl.kl(p, q), rel=1e-9, abs=1e-15)
    assert bernoulli_kl_split(p, q, 1 - q) == pytest.approx(bernoulli_kl(p, q), rel=1e-15, abs=1e-300)
    assert bernoulli_kl_at_logs(np.array([p]), np.log([q]))[0] == pytest.approx(kl.kl(p, q), rel=1e-9, abs=1e-14)


def test_nothing_is_lost_where_q_or_what_it_lacks_to_1_is_tiny():
    assert bernoulli_kl_split(0.5, 1.0, 1e-30) == pytest.approx(0.5 * log(0.5) + 0.5 * log(0.5e30))
    assert bernoulli_kl_at_logs(np.array([0.5]), np.array([-60.0]))[0] == pytest.approx(log(0.5) + 30)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(mean=means, budget=budgets)
@example(mean=1e-12, budget=1e-10)
@example(mean=1 - 1e-12, budget=1e-10)
@example(mean=1e-12, budget=1e2)
@example(mean=1 - 1e-12, budget=1e2)
@example(mean=0.5, budget=1e-10)
@example(mean=0.5, budget=1e2)
def test_the_bounds_are_the_precise_ones(mean, budget):
    assert abs(kl_upper(mean, budget) - kl.upper_bound(mean, 1, budget)) < 1e-9
    assert abs(kl_lower(mean, budget) - kl.lower_bound(mean, 1, budget)) < 1e-9


@settings(max_examples=200, deadline=None, derandomize=True)
@given(mean=st.floats(1e-12, 1 - 1e-12), budget=budgets)
def test_the_bounds_enclose_the_mean_within_0_and_1(mean, budget):
    assert 0 <= kl_lower(mean, budget) <= mean + 1e-15
    assert mean <= kl_upper(mean, budget) <= 1


@settings(max_examples=300, deadline=None, derandomize=True)
@given(mean=means, budget=budgets)
def test_the_divergence_passes_the_budget_at_the_bounds(mean, budget):
    upper, lower = kl_upper(mean, budget), kl_lower(mean, budget)
    assert kl.kl(mean, max(upper - 1e-9, mean)) <= budget or upper <= mean + 1e-9
    assert kl.kl(mean, min(lower + 1e-9, mean)) <= budget or lower >= mean - 1e-9
    assert upper + 1e-9 >= 1 or kl.kl(mean, upper + 1e-9) >= budget
    assert lower - 1e-9 <= 0 or kl.kl(mean, lower - 1e-9) >= budget


@settings(max_examples=300, deadline=None, derandomize=True)
@given(misses=st.integers(1, 20), plays=st.sampled_from([50, 100, 1000, 100_000]), level=st.floats(0.5, 30))
def test_a_mean_with_few_misses_in_many_plays_has_bounds_that_are_not_1_and_0(misses, plays, level):
    upper, lower = kl_upper(1 - misses / plays, level / plays), kl_lower(misses / plays, level / plays)
    assert abs(upper - kl.upper_bound(1 - misses / plays, plays, level)) < 1e-9
    assert abs(lower - kl.lower_bound(misses / plays, plays, level)) < 1e-9


@pytest.mark.parametrize("budget", [1e-10, 0.1, 1.0, 3.0])
def test_closed_forms_at_0_1_and_one_half(budget):
    # kl(0, q) = −log(1 − q); kl(1, q) = −log q; kl(1/2, q) = −log(4 q (1 − q))/2.
    assert kl_upper(0.0, budget) == pytest.approx(1 - exp(-budget), abs=1e-12)
    assert kl_lower(1.0, budget) == pytest.approx(exp(-budget), abs=1e-12)
    assert kl_upper(1.0, budget) == 1.0
    assert kl_lower(0.0, budget) == 0.0
    half_width = (1 - exp(-2 * budget)) ** 0.5 / 2
    assert kl_upper(0.5, budget) == pytest.approx(0.5 + half_width, abs=1e-9)
    assert kl_lower(0.5, budget) == pytest.approx(0.5 - half_width, abs=1e-9)


def test_without_a_budget_the_bounds_are_the_mean():
    for mean in (0.0, 0.2, 0.5, 1.0):
        assert kl_upper(mean, 0.0) == mean
        assert kl_lower(mean, 0.0) == pytest.approx(mean, abs=1e-15)


def test_the_bounds_are_narrower_than_hoeffdings_near_the_ends():
    budget = log(100) / 50
    assert kl_upper(0.02, budget) - 0.02 < 0.75 * (budget / 2) ** 0.5
    assert 0.98 - kl_lower(0.98, budget) < 0.75 * (budget / 2) ** 0.5

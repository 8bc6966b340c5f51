from itertools import pairwise
from math import log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchbandit.figures.axes import even_ticks, log_ticks, tick_labels
from matchbandit.formatting import grouped, power_of_ten, short


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(2, 12))
def test_even_ticks_are_even_inside_and_few(low, width, most):
    high = low + width
    ticks = even_ticks(low, high, most)
    assert 1 <= len(ticks) <= most
    slack = 1e-6 * max(abs(low), abs(high), 1e-9)
    assert low - slack <= ticks[0] <= ticks[-1] <= high + slack
    steps = [b - a for a, b in pairwise(ticks)]
    assert all(abs(step - steps[0]) <= slack for step in steps)


@given(st.floats(-8, 8), st.floats(0.01, 16), st.integers(2, 10))
def test_log_ticks_are_inside_rise_and_are_few(start, decades, most):
    low, high = 10**start, 10 ** (start + decades)
    ticks = log_ticks(low, high, most)
    assert 1 <= len(ticks) <= most
    assert sorted(set(ticks)) == ticks
    assert low * (1 - 1e-6) <= ticks[0]
    assert ticks[-1] <= high * (1 + 1e-6)
    if decades > 3:
        assert all(abs(log10(t) - round(log10(t))) < 1e-9 for t in ticks)


@pytest.mark.parametrize("most", [1, 2])
def test_there_is_always_a_tick(most):
    assert even_ticks(3.0, 3.0, most) == [3.0]
    assert log_ticks(3.01, 3.02, most)


@given(st.floats(1e-300, 1e300).map(lambda x: float(f"{x:.4g}")))
def test_a_short_number_reads_back(value):
    text = short(value).replace(",", "").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    times, dot, raised = text.partition("·10") if "·" in text else ("1", "", text.removeprefix("10"))
    read = float(times) * 10.0 ** int(raised) if dot or value >= 1e6 or value < 1e-3 else float(text)
    assert read == pytest.approx(value, rel=1e-9)


def test_numbers_are_in_groups_with_a_real_minus():
    assert grouped(-1234567.5) == "−1,234,567.5"
    assert power_of_ten(-1e6, 6) == "−10⁶"
    assert short(float("nan")) == "–"
    assert short(0.9995) == "0.9995"
    assert short(99_999.9) == "100,000"


def test_the_numbers_of_an_axis_are_written_in_one_manner():
    assert tick_labels([0.0, 5e5, 1e6, 1.5e6]) == ["0", "0.5·10⁶", "10⁶", "1.5·10⁶"]
    assert tick_labels([0.0, 1e4, 2e4]) == ["0", "10,000", "20,000"]
    assert tick_labels([1.0, 1e3, 1e6], log=True) == ["1", "1,000", "10⁶"]
    assert tick_labels([10.0, 1e4, 1e5], log=True) == ["10", "10,000", "100,000"]
    assert tick_labels([1e-4, 1.0], log=True) == ["10⁻⁴", "1"]

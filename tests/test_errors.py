import re
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError, check_float, check_int, unknown


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0),
        (2e6, 2_000_000),
        (np.float64(2e6), 2_000_000),
        (np.float32(3), 3),
        (np.int8(7), 7),
        (np.uint64(2**63), 2**63),
        (2**53 + 1, 2**53 + 1),
        (10**400, 10**400),
        (Fraction(6, 2), 3),
    ],
)
def test_a_whole_number_of_any_type_becomes_a_plain_int(value, number):
    got = check_int("n", value, minimum=0)
    assert got == number
    assert type(got) is int


@pytest.mark.parametrize(
    "value",
    [
        2.5,
        -0.5,
        True,
        False,
        np.True_,
        nan,
        inf,
        -inf,
        np.float64("nan"),
        np.float64("inf"),
        np.float32("-inf"),
        "3",
        b"3",
        None,
        [3],
        np.array([3]),
        3 + 0j,
        Fraction(5, 2),
    ],
    ids=repr,
)
def test_what_is_no_whole_number_is_refused_with_its_value(value):
    with pytest.raises(MatchbanditError) as refusal:
        check_int("rounds", value, minimum=-10)
    assert str(refusal.value).startswith("rounds ")
    assert repr(value) in str(refusal.value)


@pytest.mark.parametrize(("value", "fits"), [(0, False), (1, True), (5, True), (6, False), (-1, False), (5.0, True)])
def test_both_bounds_are_included(value, fits):
    if fits:
        assert check_int("n", value, minimum=1, maximum=5) == value
    else:
        with pytest.raises(MatchbanditError, match=f"^n .*1 and 5.*{value}"):
            check_int("n", value, minimum=1, maximum=5)


def test_without_an_upper_bound_only_the_lower_one_is_named():
    assert check_int("n", 10**30, minimum=2) == 10**30
    with pytest.raises(MatchbanditError, match=r"^n .*at least 2.* 1"):
        check_int("n", 1, minimum=2)


@pytest.mark.parametrize("value", [0, 4, -1.5, np.float32(0.5), np.int64(3), Fraction(1, 4)])
def test_a_real_number_of_any_type_becomes_a_plain_float(value):
    got = check_float("growth", value)
    assert got == value
    assert type(got) is float


@pytest.mark.parametrize(
    "value", [True, np.True_, nan, inf, -inf, np.float64("nan"), np.float32("inf"), "4", None, 1 + 0j, [4.0]], ids=repr
)
def test_what_is_no_real_number_is_refused_with_its_value(value):
    with pytest.raises(MatchbanditError) as refusal:
        check_float("growth", value)
    assert str(refusal.value).startswith("growth ")
    assert repr(value) in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "nearest"), [("par-elim", "pair-elim"), ("UTS", "uts"), ("Pair-Elm", "pair-elim"), ("rows", "Rows")]
)
def test_a_name_nearly_right_gets_the_nearest_known_one(name, nearest):
    error = unknown("policy", name, ["uts", "pair-elim-mono", "pair-elim", "Rows", "ROWS"])
    assert isinstance(error, MatchbanditError)
    assert re.search(f"policy '{name}'.*{nearest!r}.* uts, pair-elim-mono, pair-elim", str(error))


@pytest.mark.parametrize("name", ["xyz", None])
def test_a_name_far_from_all_gets_the_list_alone(name):
    told = str(unknown("policy", name, iter(["uts"])))
    assert f"'{name}'" in told
    assert "uts" in told
    assert "'uts'" not in told


def test_a_name_where_none_is_known_is_named():
    assert "'growth'" in str(unknown("option", "growth", []))


def test_a_mistake_of_the_caller_is_a_value_error():
    assert issubclass(MatchbanditError, ValueError)


def test_a_warning_of_a_simulation_names_the_line_of_the_caller():
    players = mb.Monopartite([1, 0.2, 0.2, 0])
    with pytest.warns(UserWarning, match="assumes players in equal pairs") as warned:
        mb.simulate(players, "simple-adaptive-matching", horizon=20_000, runs=4, seed=1)
    assert {warning.filename for warning in warned} == {__file__}

"""What is a value and what a sweep, by brute force and by hand."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

import matchbandit as mb
from matchbandit.studies.normalize import (
    MAX_POINTS,
    SettingError,
    annotations_of,
    as_annotated,
    combinations,
    depth_of,
    nesting,
    values_of,
)


@pytest.mark.parametrize(
    ("annotation", "default", "depth"),
    [
        (float, 4.0, 0),
        (str, "log", 0),
        (bool, False, 0),
        (float | None, None, 0),
        (Literal["pair", "matching"] | None, None, 0),
        (Sequence[int], (0, 1), 1),
        (list[float] | None, None, 1),
        (tuple[float, ...], (), 1),
        (Iterable[str], (), 1),
        (NDArray[np.float64], None, 1),
        (ArrayLike, None, 1),
        (list, None, 1),
        (Sequence[Sequence[int]] | None, None, 2),
        (float | list[float], 1.0, 1),
        (None, (0, 1), 1),
        (Any, [[1]], 2),
        (None, 0.5, 0),
    ],
)
def test_the_depth_of_a_setting_is_that_of_its_annotation_or_else_of_its_default(annotation, default, depth):
    assert depth_of(annotation, default) == depth


@pytest.mark.parametrize(
    ("value", "depth", "values"),
    [
        (0.5, 0, [0.5]),
        ([0.5], 0, [0.5]),
        ([0.5, 0.6], 0, [0.5, 0.6]),
        ([0.9, 0.3], 1, [[0.9, 0.3]]),
        ([[0.9, 0.3], [0.8]], 1, [[0.9, 0.3], [0.8]]),
        ([[0.9, 0.3], [0.8, 0.1]], 2, [[[0.9, 0.3], [0.8, 0.1]]]),
        ([[[0.9]], [[0.8]]], 2, [[[0.9]], [[0.8]]]),
        ([], 1, [[]]),
        (None, 2, [None]),
    ],
)
def test_a_list_deeper_than_the_setting_is_a_sweep(value, depth, values):
    assert values_of("it", value, depth, ()) == values


@pytest.mark.parametrize(("value", "depth"), [([], 0), ([[0.5]], 0), ([[[0.5]]], 1)])
def test_an_empty_or_too_deep_sweep_is_refused_at_its_place(value, depth):
    with pytest.raises(SettingError) as refused:
        values_of("gap", value, depth, ("problem", "gap"))
    assert refused.value.path == ("problem", "gap")
    assert "gap" in str(refused.value)


@given(st.recursive(st.floats(0, 1), lambda inner: st.lists(inner, max_size=3), max_leaves=12))
def test_nesting_is_the_length_of_the_longest_way_down(value):
    def longest(inside):
        return max([1, *(1 + longest(each) for each in inside)]) if isinstance(inside, list) else 0

    assert nesting(value) == longest(value)


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(), min_size=1, max_size=3), max_size=4))
def test_combinations_are_the_product_in_the_order_written(swept):
    found = combinations(swept, ())
    assert [tuple(one.values()) for one in found] == list(product(*swept.values()))
    assert all(list(one) == list(swept) for one in found)


def test_more_points_than_anyone_looks_through_are_refused():
    with pytest.raises(SettingError, match="20,001 points"):
        combinations({"n": range(MAX_POINTS + 1)}, ("problem",))


@pytest.mark.parametrize(
    ("value", "annotation", "kept"),
    [
        (8.0, int, 8),
        (2.5, int, 2.5),
        (4, float, 4.0),
        (4, float | None, 4.0),
        (4, int | float, 4.0),
        (None, float | None, None),
        (True, float, True),
        ("x", int, "x"),
        ([[1.0, 2], [3]], Sequence[Sequence[int]], [[1, 2], [3]]),
        (4, None, 4),
        (2**60 + 1, float, 2**60 + 1),
    ],
)
def test_numbers_become_what_the_annotation_says(value, annotation, kept):
    found = as_annotated(value, annotation)
    assert found == kept
    assert type(found) is type(kept)
    if isinstance(kept, list):
        assert all(type(each) is int for row in found for each in row)


def test_annotations_that_name_what_is_not_there_are_left_out():
    def odd(a: "Nowhere", b: int) -> None:  # noqa: F821
        pass

    assert annotations_of(odd).get("b") is int
    assert "a" not in annotations_of(odd)


@pytest.mark.parametrize("name", mb.CATALOGUE)
def test_defaults_of_the_catalogue_are_values_not_sweeps(name):
    hints = annotations_of(mb.CATALOGUE[name].__init__)
    for option, default in mb.CATALOGUE[name].option_defaults().items():
        plain = list(default) if isinstance(default, tuple) else default
        assert len(values_of(option, plain, depth_of(hints.get(option), default), ())) == 1

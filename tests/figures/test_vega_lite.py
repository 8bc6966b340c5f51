import json
from typing import Any

import numpy as np
import pytest
from chart_examples import ALL, in_rows, over_gap, over_time, with_little

from matchbandit.figures import Chart, Series
from matchbandit.figures.style import DASHES, MARKERS, POLICIES, style_of
from matchbandit.figures.vega_lite import themed


def marks(spec: dict[str, Any], kind: str) -> dict[str, Any]:
    """The layer of the marks of a kind."""
    (layer,) = (layer for layer in spec["layer"][0]["layer"] if layer["mark"]["type"] == kind)
    return dict(layer)


def about(chart: Chart) -> dict[str, dict[str, Any]]:
    """What the specification says of each series."""
    (lookup,) = (step for step in chart.vega_lite()["transform"] if "lookup" in step)
    return {row["series"]: row for row in lookup["from"]["data"]["values"]}


def rows(chart: Chart, name: str) -> list[dict[str, Any]]:
    number = about(chart)[name]["number"]
    return [row for row in chart.vega_lite()["data"]["values"] if row["number"] == number]


@pytest.mark.parametrize("chart", [*(example() for example in ALL), *with_little()], ids=lambda chart: chart.name)
def test_specification_is_json_of_finite_numbers(chart: Chart) -> None:
    spec = chart.vega_lite()
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec
    assert spec["width"] == "container"


def test_rows_hold_the_numbers_to_seven_digits_and_null_for_others() -> None:
    x, y = np.array([1.0, 2e6, 3.0]), np.array([1 / 3, 123456.789, np.nan])
    first, second, third = rows(Chart("a", "A", "x", "y", (Series("uts", x, y, y / 2, y * 2),)), "uts")
    assert [first[name] for name in ("x", "y", "low", "high")] == [1, 0.3333333, 0.1666667, 0.6666667]
    assert (second["x"], second["y"]) == (2e6, 123456.8)
    assert third["y"] is None


def test_series_have_the_style_of_pictures_light_and_dark() -> None:
    spec = over_gap().vega_lite()
    scale = marks(spec, "point")["encoding"]["stroke"]["scale"]
    for name, colour in zip(scale["domain"][:-1], scale["range"], strict=False):
        assert colour == themed(style_of(name).colour, style_of(name).dark)
    fills = marks(over_time().vega_lite(), "point")["encoding"]["fill"]["scale"]["range"]
    assert [fill == themed("#ffffff", "#14171b") for fill in fills] == [False, False, True]  # hollow
    assert about(over_gap())["rank1-thompson"]["dash"] == "dashed"
    assert "lower bound" in marks(spec, "point")["encoding"]["stroke"]["legend"]["values"]


def test_every_marker_has_a_shape_of_its_own_and_every_dash_a_pattern() -> None:
    x = np.array([1.0, 2.0])
    series = [Series(key, x, x, key=key) for key in POLICIES]
    spec = Chart("a", "A", "x", "y", tuple(series)).vega_lite()
    shapes = marks(spec, "point")["encoding"]["shape"]["scale"]["range"]
    assert len({*shapes}) == len({style.marker for style in POLICIES.values()}) == len(MARKERS)
    patterns = marks(spec, "line")["encoding"]["strokeDash"]
    assert len({str(value) for value in (patterns["value"], *(x["value"] for x in patterns["condition"]))}) == len(
        DASHES
    )


def test_long_lines_have_few_markers_and_short_ones_one_at_each_point() -> None:
    assert sum("marker" in row for row in rows(over_time(), "Rank1Elim")) == 9
    assert sum("marker" in row for row in rows(over_time(), "published")) == 10
    assert sum("marker" in row for row in rows(over_gap(), "uts")) == 8
    assert not any("marker" in row for row in rows(over_gap(), "lower bound"))


def test_floor_of_a_logarithmic_axis_is_a_third_of_the_least_positive_mean() -> None:
    spec = over_gap().vega_lite()
    floors = {parameter["name"]: parameter["value"] for parameter in spec["params"]}
    assert floors["y_floor"] == pytest.approx(12.5 / 3 / 2.5)  # the bound's last value is 5
    assert floors["x_floor"] < 0
    assert spec["usermeta"]["axes"]["y"]["linear"]["floor"] < 0
    assert spec["usermeta"]["axes"]["x"]["log"]["floor"] == 0
    assert {"calculate": "isValid(datum.low) ? max(datum.low, y_floor) : null", "as": "low"} in spec["transform"]


def test_logarithmic_axis_is_only_offered_where_values_are_positive() -> None:
    offered = {
        chart.name: {name: [*kinds] for name, kinds in chart.vega_lite()["usermeta"]["axes"].items()}
        for chart in with_little()
    }
    assert offered["zero-True"] == {"x": ["linear", "log"], "y": ["linear"]}
    assert offered["below-False"] == {"x": ["linear"], "y": ["linear"]}
    assert offered["level-False"] == {"x": ["linear", "log"], "y": ["linear", "log"]}


def test_y_range_limits_the_axis_for_which_it_was_chosen() -> None:
    x = np.array([1.0, 2.0])
    for is_log in (False, True):
        chart = Chart("a", "A", "x", "y", (Series("a", x, x),), y_log=is_log, y_range=(0.5, 1.5))
        scales = {kind: axis["channel"]["scale"] for kind, axis in chart.vega_lite()["usermeta"]["axes"]["y"].items()}
        assert scales["log" if is_log else "linear"]["domain"] == [0.5, 1.5]
        assert "domain" not in scales["linear" if is_log else "log"]


def test_categories_are_rows_from_top_to_bottom_and_values_run_to_the_right() -> None:
    spec = in_rows().vega_lite()
    position = spec["layer"][0]["encoding"]
    assert position["y"]["scale"]["domain"] == ["spiked", "a family with a name as\nlong as they come", "uniform"]
    assert (position["x"]["field"], position["x"]["scale"]["type"]) == ("y", "log")
    assert [*spec["usermeta"]["axes"]] == ["x"]
    assert {row["row"] for row in spec["data"]["values"]} == {*position["y"]["scale"]["domain"]}

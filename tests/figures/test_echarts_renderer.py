import json

import numpy as np
import pytest

from matchbandit.figures.chart import Chart, Line, Mark
from matchbandit.figures.echarts_renderer import MIN_CONTRAST, PAPER, chart_data, contrast, describe
from matchbandit.figures.style import POLICIES, style_of


def chart(*lines: Line, **more: object) -> Chart:
    return Chart("one", "Regret", "round", "regret", lines, **more)  # type: ignore[arg-type]


def test_the_numbers_are_those_of_the_chart_to_seven_digits() -> None:
    x, y = np.array([1.0, 2e6]), np.array([1 / 3, 123456.789])
    (line,) = chart_data(chart(Line("uts", x, y, y / 2, y * 2, key="uts")))["lines"]
    assert line["x"] == [1, 2_000_000]
    assert line["y"] == [0.3333333, 123456.8]
    assert line["low"] == [0.1666667, 61728.39]
    assert line["high"] == [0.6666667, 246913.6]


def test_what_is_not_finite_is_null_and_all_of_it_is_json() -> None:
    x = np.array([1.0, 2.0, 3.0])
    line = Line("a", x, np.array([np.nan, np.inf, 1.0]), np.array([-np.inf, 0, 0]), np.array([1.0, 1, np.nan]))
    data = chart_data(chart(line, Line("b", np.array([]), np.array([])), marks=(Mark(2.0, "here"),)))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["lines"][0]["y"] == [None, None, 1]
    assert data["lines"][0]["low"] == [None, 0, 0]
    assert data["lines"][0]["high"] == [1, 1, None]
    assert data["lines"][1]["low"] is None
    assert data["marks"] == [{"at": 2, "label": "here", "axis": "x"}]


def test_lines_look_as_in_print() -> None:
    x = np.array([1.0, 2.0])
    own, dotted, bound = chart_data(
        chart(
            Line("UTS", x, x, key="uts", strong=True),
            Line("KL", x, x, key="kl-ucb", dash="dotted"),
            Line("b", x, x, kind="reference"),
        )
    )["lines"]
    look = style_of("uts")
    assert (own["light"]["stroke"], own["dark"]["stroke"]) == (look.colour, look.dark)
    assert (own["dash"], own["marker"]) == (look.dash, look.marker)
    assert dotted["dash"] == "dotted"
    assert (own["strong"], dotted["strong"]) == (True, False)
    assert bound["marker"] is None


@pytest.mark.parametrize("policy", POLICIES)
def test_words_in_a_policys_colour_can_be_read_and_its_line_be_seen(policy: str) -> None:
    x = np.array([1.0, 2.0])
    (line,) = chart_data(chart(Line(policy, x, x, key=policy)))["lines"]
    for scheme, paper in PAPER.items():
        assert contrast(line[scheme]["text"], paper) >= MIN_CONTRAST
        assert contrast(line[scheme]["stroke"], paper) >= 3


def test_a_range_is_called_what_the_caption_calls_it() -> None:
    x = np.array([1.0, 2.0])
    line = Line("uts", x, x, x, x)
    assert chart_data(chart(line))["range"] == "5–95 %"
    assert chart_data(chart(line, caption="Mean and 5–95 % of 20 runs."))["range"] == "5–95 %"
    told = chart_data(chart(line, caption="Bars: two standard errors."))
    assert (told["middle"], told["range"]) == ("value", "range")


def test_a_chart_is_told_in_words() -> None:
    x = np.array([1.0, 2.0])
    assert describe(chart(Line("uts", x, x), Line("", x, x, kind="cloud"), Line("kl-ucb", x, x))).startswith(
        "Chart. Regret. regret against round: uts, kl-ucb."
    )
    assert "regret of small, large" in describe(chart(Line("uts", x, x), rows=("small", "large")))

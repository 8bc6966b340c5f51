import numpy as np
import pytest
from matplotlib.figure import Figure

from matchbandit.figures import draw
from matchbandit.figures.evidence import Growth, Trace, evidence

ROUNDS = [10, 20, 30, 40]
GROWTH = Growth(
    ROUNDS,
    [
        Trace("1 above 2", True, [0.5, 1.0, 2.5, 4.5], 40),
        Trace("0 above 2", True, [1.0, 4.2, 4.0, 9.0], 20),
        Trace("0 above 3", True, [0.0, 0.1, 0.0, 0.2], None),
        Trace("2 above 1", False, [-0.1, -0.5, -0.4, -0.6], None),
    ],
    4.0,
    "enough: 4",
)


@pytest.fixture(scope="module")
def axes():
    axes = Figure().add_subplot()
    evidence(axes, GROWTH)
    return axes


def test_evidence_is_drawn_until_its_certificate_and_pale_after_it(axes):
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    assert lines["_0 above 2"].get_xdata().tolist() == [10, 20]
    assert lines["_0 above 2"].get_ydata().tolist() == [1.0, 4.2]
    assert lines["_1 above 2"].get_xdata().tolist() == ROUNDS
    assert lines["_0 above 3"].get_xdata().tolist() == ROUNDS
    pale = [line for line in axes.get_lines() if line.get_alpha() == 0.25]
    assert [line.get_xdata().tolist() for line in pale] == [[20, 30, 40], [40], [40]]


def test_moments_are_marked_and_named_and_the_threshold_is_a_line(axes):
    dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert [(float(x), float(y)) for dot in dots for x, y in dot.get_xydata()] == [(20, 4.2), (40, 4.5)]
    named = {text.get_text(): text.xy for text in axes.texts if hasattr(text, "xy")}
    assert named["0 above 2"] == (20, 4.2)
    assert named["1 above 2"] == (40, 4.5)
    assert "0 above 3" not in named
    assert [line.get_ydata() for line in axes.get_lines() if line.get_linestyle() == "--"] == [[4.0, 4.0]]
    (enough,) = [text for text in axes.texts if text.get_text() == "enough: 4"]
    assert enough.get_position() == (10.0, 4.0)  # in the middle of the widest gap between moments, the first of equals


def test_what_is_false_is_told_by_its_line_and_by_words(axes):
    (false,) = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    assert np.allclose(false.get_ydata(), GROWTH.traces[3].log_evidence)
    assert any(text.get_text().endswith("never certified here: 2 above 1") for text in axes.texts)


def test_a_picture_whose_lines_are_named_has_no_legend(tmp_path):
    assert draw("evidence", lambda axes: evidence(axes, GROWTH), tmp_path).stat().st_size > 10_000

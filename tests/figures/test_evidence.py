from matchbandit.figures import draw
from matchbandit.figures.evidence import Growth, Trace, evidence

ROUNDS = [10, 20, 30, 40]
GROWTH = Growth(
    ROUNDS,
    [
        Trace("1 above 2", True, [0.5, 1.0, 2.5, 4.5], 40),
        Trace("2 above 1", False, [-0.1, -0.5, -0.4, -0.6], None),
        Trace("0 above 3", True, [0.0, 0.1, 0.0, 0.2], None),
        Trace("0 above 2", True, [1.0, 4.2, 4.0, 9.0], 20),
    ],
    4.0,
    "enough: 4",
)
CHART = evidence(GROWTH, title="Evidence")


def test_evidence_is_drawn_until_its_certificate():
    lines = {line.label: line for line in CHART.lines if line.label}
    assert list(lines) == ["0 above 2", "1 above 2", "0 above 3", "2 above 1: not true"]  # as they were certified
    assert (lines["0 above 2"].x.tolist(), lines["0 above 2"].y.tolist()) == ([10, 20], [1.0, 4.2])
    assert lines["1 above 2"].x.tolist() == ROUNDS
    assert lines["0 above 3"].y.tolist() == [0.0, 0.1, 0.0, 0.2]


def test_moments_are_points_and_the_threshold_is_a_mark():
    points = [(line.x.tolist(), line.y.tolist(), line.key) for line in CHART.lines if line.kind == "points"]
    assert points == [([20], [4.2], "0 above 2"), ([40], [4.5], "1 above 2")]
    (enough,) = CHART.marks
    assert (enough.at, enough.label, enough.axis) == (4.0, "enough: 4", "y")


def test_what_is_false_is_a_broken_reference():
    (false,) = [line for line in CHART.lines if line.kind == "reference"]
    assert (false.label, false.dash) == ("2 above 1: not true", "dotted")
    assert false.y.tolist() == [-0.1, -0.5, -0.4, -0.6]


def test_names_stand_beside_the_ends_of_their_lines():
    picture = draw(CHART)
    (axes,) = picture.axes
    box = axes.get_window_extent()
    renderer = picture.canvas.get_renderer()
    (name,) = [text for text in picture.texts if text.get_text() == "0 above 2"]
    place = name.get_window_extent(renderer)
    end = axes.transData.transform((20, 4.2))
    assert box.x0 < place.x0 < place.x1 < box.x1  # inside: this line ends early
    assert abs((place.y0 + place.y1) / 2 - end[1]) < 120
    assert place.x0 - 60 < end[0] < place.x1 + 60

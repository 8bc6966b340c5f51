import numpy as np

from matchbandit.figures import Chart, Line
from matchbandit.figures.chart import MAX_ROWS


def line(label, x, y, low=None, high=None, **more):
    parts = (None if part is None else np.array(part, dtype=float) for part in (x, y, low, high))
    return Line(label, *parts, **more)


def chart(*lines, **more):
    return Chart("name", "Title", "round", "regret", lines, **more)


def test_the_table_has_a_row_for_each_place_and_a_column_for_each_named_line():
    one = line("a", [1, 2, 4], [10, 20, 40], [9, 18, 36], [11, 22, 44.5])
    other = line("b", [2, 3], [0.123456, 1e7])
    unnamed = line("", [1, 9], [5, 5])
    heads, rows = chart(one, other, unnamed).numbers()
    assert heads == ("round", "a", "b")
    assert rows == (
        ("1", "10 (9 to 11)", ""),
        ("2", "20 (18 to 22)", "0.1235"),
        ("3", "", "10⁷"),
        ("4", "40 (36 to 44.5)", ""),
    )


def test_long_curves_are_told_at_some_places_and_at_all_published_ones():
    x = np.arange(1.0, 1001.0)
    published = line("published", [77, 1000], [1, 2], kind="points", hollow=True)
    _, rows = chart(line("ours", x, x), published).numbers()
    places = [row[0] for row in rows]
    assert len(places) == MAX_ROWS + 1
    assert places[0] == "1"
    assert places[-1] == "1,000"
    assert "77" in places
    assert [row[2] for row in rows if row[2]] == ["1", "2"]


def test_a_label_of_several_lines_is_told_with_whose_it_is():
    lines = [line("published", [1], [k], key=key, kind="points") for k, key in enumerate(("uts", "escb"))]
    assert chart(*lines).numbers()[0] == ("round", "uts: published", "escb: published")


def test_whole_places_are_told_in_full():
    _, rows = chart(line("a", [65_536, 123_456.5, 2e9], [1, 2, 3])).numbers()
    assert [row[0] for row in rows] == ["65,536", "123,500", "2·10⁹"]


def test_a_chart_of_rows_tells_each_row_once_and_not_the_single_runs():
    cloud = line("", [0.1, -0.1], [3, 5], kind="cloud")
    points = [line(name, [at], [at + 4], [3], [9], kind="points") for at, name in enumerate(("a", "b"))]
    heads, rows = chart(cloud, *points, rows=("a", "b")).numbers()
    assert heads == ("round", "regret")
    assert rows == (("a", "4 (3 to 9)"), ("b", "5 (3 to 9)"))


def test_an_empty_chart_has_an_empty_table():
    assert chart().numbers() == (("round",), ())

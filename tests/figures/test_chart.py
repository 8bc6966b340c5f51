import numpy as np
import pytest

import matchbandit as mb
from matchbandit.figures import Chart, Series, picture_file
from matchbandit.figures.chart import MAX_ROWS


def line(label, x, y, low=None, high=None, **more):
    parts = (None if part is None else np.array(part, dtype=float) for part in (x, y, low, high))
    return Series(label, *parts, **more)


def chart(*series, **more):
    return Chart("name", "Title", "round", "regret", series, **more)


def test_numbers_have_a_row_for_each_position_and_a_column_for_each_named_line():
    one = line("a", [1, 2, 4], [10, 20, 40], [9, 18, 36], [11, 22, 44.5])
    other = line("b", [2, 3], [0.123456, 1e7])
    heads, rows = chart(one, other, line("", [1, 9], [5, 5])).numbers()
    assert heads == ("round", "a", "b")
    assert rows == (
        ("1", "10 (9 to 11)", ""),
        ("2", "20 (18 to 22)", "0.1235"),
        ("3", "", "10⁷"),
        ("4", "40 (36 to 44.5)", ""),
    )


def test_numbers_of_long_curves_are_thinned_but_keep_ends_and_published_points():
    x = np.arange(1, 1001.0)
    published = line("published", [33, 777], [1, 2], kind="points")
    _, rows = chart(line("a", x, x), published).numbers()
    positions = [float(row[0].replace(",", "")) for row in rows]
    assert (positions[0], positions[-1]) == (1, 1000)
    assert {33.0, 777.0} <= set(positions)
    assert len(rows) <= MAX_ROWS + 2


def test_numbers_of_categories_have_their_names():
    rows = chart(
        line("", [0.1, -0.1], [1, 2], kind="cloud"), line("a", [0], [3], [2], [4], kind="points"),
        line("b", [1], [5], kind="points"), categories=("a", "b"),
    )  # fmt: skip
    assert rows.numbers() == (("round", "regret"), (("a", "3 (2 to 4)"), ("b", "5")))
    shared = chart(line("p", [0, 1], [1, 2], kind="points"), line("q", [1], [3], kind="points"), categories=("a", "b"))
    assert shared.has_shared_categories
    assert shared.numbers() == (("round", "p", "q"), (("a", "1", ""), ("b", "2", "3")))


def test_numbers_distinguish_lines_with_the_same_label_by_their_keys():
    heads, _ = chart(*(line("published", [1], [2], key=key) for key in ("uts", "escb"))).numbers()
    assert heads == ("round", "uts: published", "escb: published")


@pytest.mark.parametrize(
    ("name", "words"),
    [("a.jpg", "written as .png, .pdf or .svg; got"), ("a", "written as"), ("nowhere/a.png", "there is no folder")],
)
def test_picture_file_that_cannot_be_written_is_refused(tmp_path, name, words):
    with pytest.raises(mb.MatchbanditError, match=words):
        picture_file(tmp_path / name)


def test_repr_of_charts_and_series_is_one_short_line():
    one = line("a", range(1000), range(1000), range(1000), range(1000))
    assert repr(chart(one)) == "<Chart 'Title': 1 series>"
    assert len(repr(one)) < 120

import pytest

import matchbandit as mb
from matchbandit.lab.playback.sentences import Names, comparison_text
from matchbandit.policies.explanation import Elimination

NAMES = Names(mb.bipartite(6, 4))
GONE = Elimination(12288, "row", 5, 1, 3, None, 0.12, (0.07, 0.17), 0.41, (0.36, 0.46))


def test_comparison_text_says_who_leaves_and_why():
    text = "row 5 is eliminated by row 1 on column 3: [0.07, 0.17] lies below [0.36, 0.46]"
    assert comparison_text(GONE, NAMES, "is eliminated by") == text
    stays = GONE._replace(window=2, on="all opponents")
    assert "row 1 on all opponents for window 2: [" in comparison_text(stays, NAMES, "loses a comparison to")


@pytest.mark.parametrize(("high", "text"), [(0.7123, "0.7123] lies below [0.7124"), (0.7129, "0.71] lies below [0.72")])
def test_comparison_text_intervals_do_not_overlap_as_printed(high, text):
    near = GONE._replace(interval=(0.69, high), by_interval=(0.7124 if high < 0.7124 else 0.7151, 0.7342))
    assert text in comparison_text(near, NAMES, "is eliminated by")


def test_names_that_both_sides_have_say_the_side():
    names = Names(mb.bipartite(2, 2), (("1", "2"), ("1", "3")))
    assert (names.item("row", 0), names.item("column", 0)) == ("row 1", "column 1")
    assert names.pairs([[1, 1]]) == "(row 2, column 3)"

import pytest

import matchbandit as mb
from matchbandit.lab.playback.sentences import Names, elimination_text
from matchbandit.policies.explanation import Elimination

NAMES = Names(mb.bipartite(6, 4))
GONE = Elimination(12288, "row", 5, 1, 3, None, 0.12, (0.07, 0.17), 0.41, (0.36, 0.46))


def test_elimination_text_says_who_leaves_and_why():
    assert elimination_text(GONE, NAMES, leaves=True) == (
        "row 5 is eliminated by row 1 on column 3: 0.12 ± 0.05 lies below 0.41 ± 0.05"
    )
    stays = GONE._replace(window=2, on="all opponents", interval=(0.1, 0.5))
    assert elimination_text(stays, NAMES, leaves=False).startswith(
        "row 5 loses a comparison for window 2 to row 1 on all opponents: 0.12 (0.10"
    )


@pytest.mark.parametrize(
    ("low", "text"),
    [
        (0.6905, "0.7014 ± 0.0109 lies below 0.7233 ± 0.0109"),
        (0.4, "0.7014 (0.4000 to 0.7123) lies below 0.7233 ± 0.0109"),
    ],
)
def test_elimination_text_intervals_do_not_overlap_as_printed(low, text):
    near = GONE._replace(estimate=0.7014, interval=(low, 0.7123), by_estimate=0.7233, by_interval=(0.7124, 0.7342))
    assert elimination_text(near, NAMES, leaves=True).endswith(text)


def test_names_that_both_sides_have_say_the_side():
    names = Names(mb.bipartite(2, 2), (("1", "2"), ("1", "3")))
    assert (names.item("row", 0), names.item("column", 0)) == ("row 1", "column 1")
    assert names.pairs([[1, 1]]) == "(row 2, column 3)"

from html.parser import HTMLParser

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.theory import Assumption, Bound, Bounds, characteristic_time, graves_lai, report

SLOTS = mb.Bipartite([0.9, 0.3], [0.8, 0.4])


GENERAL = mb.Means([[0.1, 0.2], [0.3, 0.4]])


def test_a_report_holds_what_quantities_and_bounds_give():
    told = report(SLOTS, horizon=1000, delta=0.05)
    assert told.bounds == mb.bounds(SLOTS, horizon=1000, delta=0.05)
    assert told.quantities == mb.quantities(SLOTS)
    assert [bound for group in told.groups.values() for bound in group if bound.name == "pair-elim-regret"]
    assert sum(map(len, told.groups.values())) == len(told.bounds)
    assert set(told.binds) == {"every δ-correct policy", "every consistent policy"}
    assert told.left_out == []


def test_groups_are_named_by_what_they_are_on():
    assert list(report(SLOTS, delta=0.05).groups) == [
        "rounds until the best pair is known, playing pairs",
        "rounds until the best matching is known, playing pairs",
        "rounds until the best matching is known, playing matchings",
    ]


@pytest.mark.parametrize(
    ("u", "of", "names", "why"),
    [
        ([0.9, 0.5, 0.5, 0.3], {"delta": 0.1}, ["model-pair"], "there is more than one best pair"),
        ([0.9, 0.5, 0.5, 0.3], {"horizon": 10}, ["model-matching-regret"], "there is more than one best matching"),
        (np.linspace(0.9, 0.1, 12), {"horizon": 10}, ["model-matching-regret"], "the problem is too large for it when"),
        ([0.9, 0.5, 0.3], {"delta": 0.1}, ["order", "matching-id-rounds"], "an odd number of players"),
        ([0.9, 0.5], {"horizon": 10}, ["adaptive-matching-regret"], "two players have only one matching"),
    ],
)
def test_what_is_left_out_is_named_with_the_reason(u, of, names, why):
    told = report(mb.Monopartite(u), **of)
    given = {bound.name for bound in told.bounds}
    for name in names:
        assert name not in given
        (line,) = [line for line in told.not_given if name in line.replace(",", " ").replace(".", " ").split()]
        assert why in line


def test_an_assumption_is_worded_as_it_is_tested():
    def together(u):
        return next(b for b in mb.bounds(mb.Monopartite(u), horizon=100) if b.name == "split-together")

    # Players 3 and 4 differ, yet with the best two apart they only meet each other: nothing tells them apart.
    (unmet,) = together([0.9, 0.8, 0.4, 0.3]).unmet
    assert "a further player is above 0, which takes six players" in unmet
    assert not together([0.9, 0.8, 0.4, 0.3, 0.0, 0.0]).unmet  # 4 and 5 differ, and 3 tells them apart
    assert together([0.9, 0.8, 0.4, 0.4, 0.4, 0.4]).unmet
    assert together([0.9, 0.8, 0.4, 0.0, 0.0, 0.0]).unmet
    explored = next(
        b for b in mb.bounds(mb.Monopartite([0.9, 0.8, 0.4, 0.3]), horizon=100) if b.name == "split-explored"
    )
    assert explored.met


@pytest.mark.parametrize("ask", [mb.bounds, report])
def test_means_that_are_no_products_are_refused_by_name(ask):
    with pytest.raises(mb.MatchbanditError, match=r"^bounds are for means that are products .* got Means\.$"):
        ask(GENERAL, horizon=100)
    for program in (
        lambda: graves_lai(GENERAL, "pair"),
        lambda: characteristic_time(GENERAL, plays="pair", seeks="pair"),
    ):
        with pytest.raises(mb.MatchbanditError, match=r"are for means that are products of strengths.* got Means\.$"):
            program()


def test_a_bound_prints_itself_in_one_line():
    (bound,) = [b for b in mb.bounds(SLOTS, horizon=10**6) if b.name == "pair-elim-regret"]
    assert repr(bound).startswith("<pair-elim-regret: regret ≤ ")
    assert "Theorem 3.1" in repr(bound)
    unmet = Bound("x", 1.0, "lower", "rounds", "pair", "pair", "all", "here", "explicit", (Assumption("a < b", False),))
    assert repr(unmet) == "<x: rounds ≥ 1, explicit, here, does not apply here: it assumes that a < b>"


def test_bounds_and_reports_print_tables():
    told = report(mb.Monopartite([0.9, 0.5, 0.5, 0.3]), delta=0.05)
    lines = repr(told.bounds).splitlines()
    assert len(lines) == 1 + len(told.bounds)
    assert lines[0].split()[:3] == ["bound", "kind", "value"]
    assert "rounds until the best pair is known, playing pairs" in repr(told)
    assert "left out, as there is more than one best pair: model-pair." in repr(told)
    assert repr(Bounds())


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_escaped_and_closed():
    odd = Bound("<b>", 1.0, "lower", "rounds", "pair", "pair", "all", "a & b", "explicit", (Assumption("a < b", True),))
    for shown in (odd, Bounds([odd]), report(mb.Monopartite([0.9, 0.5, 0.5, 0.3]), delta=0.05)):
        page = Tags()
        page.feed(shown._repr_html_())
        assert page.open == []
        assert "b" not in page.open
        assert shown is not odd or {"<b>", "a & b", "a < b: yes"} <= set(page.text)

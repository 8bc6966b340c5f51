from html.parser import HTMLParser

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.theory import Assumption, Bound, Bounds, characteristic_time, graves_lai, report

SLOTS = mb.Bipartite([0.9, 0.3], [0.8, 0.4])


GENERAL = mb.Means([[0.1, 0.2], [0.3, 0.4]])


def bound_of(**fields):
    defaults = {"name": "x", "value": 1.0, "kind": "lower", "task": "identification", "about": "all", "source": "here"}
    return Bound(**{**defaults, "plays": "pair", "seeks": "pair", **fields})


@pytest.mark.parametrize(
    ("fields", "vacuous"),
    [
        ({"kind": "upper", "value": np.inf}, True),
        ({"kind": "upper", "value": 1e300}, False),
        ({"kind": "lower", "value": 0.0}, True),
        ({"kind": "lower", "value": 1e-9}, False),
        ({"kind": "upper", "task": "regret", "value": 99.0, "trivial_value": 100.0}, False),
        ({"kind": "upper", "task": "regret", "value": 100.0 - 1e-9, "trivial_value": 100.0}, True),
        ({"kind": "upper", "task": "regret", "value": 101.0, "trivial_value": 100.0}, True),
    ],
)
def test_a_bound_is_vacuous_if_it_is_no_better_than_what_holds_anyway(fields, vacuous):
    bound = bound_of(**fields)
    assert bound.vacuous is vacuous
    assert bound.describe()["vacuous"] is vacuous
    for text in (repr(bound), repr(Bounds([bound])), bound._repr_html_()):
        assert ("(vacuous)" in text) is vacuous


def test_bounds_on_regret_are_vacuous_from_t_times_the_worst_round_on():
    # The worst pair loses 0.9·0.8 − 0.3·0.4 = 0.6, the worst matching 0.72 + 0.12 − 0.36 − 0.24.
    worst = {"pair": 0.6, "matching": 0.24}
    checked = 0
    for horizon in (1000, 10**9):
        for bound in mb.bounds(SLOTS, horizon=horizon):
            if bound.kind == "upper":
                assert bound.trivial_value == pytest.approx(horizon * worst[bound.plays])
                assert bound.vacuous == (bound.value >= horizon * worst[bound.plays] * (1 - 1e-9))
                checked += bound.vacuous
    assert checked >= 5
    long_run = {bound.name: bound.vacuous for bound in mb.bounds(SLOTS, horizon=10**9)}
    assert not long_run["pair-elim-regret"]
    assert long_run["worst-round-pair"]


def test_bounds_on_rounds_are_vacuous_where_they_are_infinite():
    tie = {bound.name: bound for bound in mb.bounds(mb.Monopartite([0.9, 0.6, 0.6, 0.3]), delta=0.05)}
    assert tie["rank1-certify-rounds-matching"].vacuous
    assert tie["matching-id-rounds"].vacuous
    assert tie["matchings-one-gap"].vacuous  # 0: there is nothing to exchange
    assert not tie["matchings"].vacuous


def test_a_bound_says_its_task_its_policy_and_where_its_rounds_end():
    known = {b.name: b for b in mb.bounds(mb.Monopartite([0.9, 0.8, 0.4, 0.3]), horizon=1000, delta=0.05)}
    assert {b.task for b in known.values() if b.of == "rounds"} == {"identification"}
    assert {b.task for b in known.values() if b.of != "rounds"} == {"regret"}
    split = known["split-explored"]
    assert (split.policy, split.stop, split.of) == ("exploration-first", "first-split", "regret until the first split")
    assert {b.policy for b in known.values() if b.kind == "upper" and b.stop is None} == {
        "pair-elim-mono", "pair-select", "simple-adaptive-matching", "adaptive-matching", "matching-id",
        "rank1-certify", None,
    }  # fmt: skip
    assert {b.policy for b in known.values() if b.kind == "lower"} == {None}
    assert {name for name, b in known.items() if b.origin == "model"} == {n for n in known if n.startswith("model-")}


def test_a_report_holds_what_quantities_and_bounds_give():
    summary = report(SLOTS, horizon=1000, delta=0.05)
    assert summary.bounds == mb.bounds(SLOTS, horizon=1000, delta=0.05)
    assert summary.quantities == mb.quantities(SLOTS)
    assert [bound for group in summary.groups.values() for bound in group if bound.name == "pair-elim-regret"]
    assert sum(map(len, summary.groups.values())) == len(summary.bounds)
    assert set(summary.binds) == {"every δ-correct policy", "every consistent policy"}
    assert summary.left_out == []


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
    summary = report(mb.Monopartite(u), **of)
    names_of_bounds = {bound.name for bound in summary.bounds}
    for name in names:
        assert name not in names_of_bounds
        (line,) = [line for line in summary.not_given if name in line.replace(",", " ").replace(".", " ").split()]
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


def test_bounds_and_reports_print_tables():
    summary = report(mb.Monopartite([0.9, 0.5, 0.5, 0.3]), delta=0.05)
    lines = repr(summary.bounds).splitlines()
    assert len(lines) == 1 + len(summary.bounds)
    assert lines[0].split()[:3] == ["bound", "kind", "value"]
    assert all(bound.name in repr(summary) for bound in summary.bounds)
    assert "model-pair" in repr(summary)
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
    odd = bound_of(name="<b>", source="a & b", assumptions=(Assumption("a < b", True),))
    for shown in (odd, Bounds([odd]), report(mb.Monopartite([0.9, 0.5, 0.5, 0.3]), delta=0.05)):
        page = Tags()
        page.feed(shown._repr_html_())
        assert page.open == []
        assert "b" not in page.open
        assert shown is not odd or {"<b>", "a & b", "a < b: yes"} <= set(page.text)

"""Who can be paired today: against brute force, and by hand."""

import re
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_league import SmallLeague

from matchbandit.live import rules
from matchbandit.live.errors import LeagueError
from matchbandit.live.records import VOID

PEOPLE = ["ann", "bob", "cem", "dee", "eve"]
examples = settings(deadline=None, derandomize=True, max_examples=150)


def league(**options):
    return SmallLeague(players=PEOPLE, **options)


def today(club, **options):
    return rules.assign_bye(rules.collect_constraints(club.state, club.directory, **options))


def refused(code, words, club, **options):
    with pytest.raises(LeagueError, match=re.escape(words)) as caught:
        today(club, **options)
    assert caught.value.code == code


def largest(items, forbidden):
    """The size of a largest matching, by trying everything."""

    @cache
    def of(left):
        if len(left) < 2:
            return 0
        first, others = left[0], left[1:]
        best = of(others)
        for k, other in enumerate(others):
            if (first, other) not in forbidden:
                best = max(best, 1 + of(others[:k] + others[k + 1 :]))
        return best

    return of(tuple(items))


PAIRS = [(a, b) for a in range(1, 8) for b in range(a + 1, 8)]
OF_FIVE = [pair for pair in PAIRS if max(pair) <= 5]


@examples
@given(
    n=st.sampled_from([3, 5, 7]),
    forbidden=st.sets(st.sampled_from(PAIRS), max_size=18),
    byes=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=7, max_size=7),
)
def test_the_fair_bye_costs_no_pair(n, forbidden, byes):
    names = [f"p{k}" for k in range(1, n + 1)]
    forbidden = {pair for pair in forbidden if max(pair) <= n}
    items = list(range(1, n + 1))
    size = largest(items, forbidden)
    assume(size)
    club = SmallLeague(players=names)
    club.state.effective_byes, club.state.last_bye = [b for b, _ in byes[:n]], [last for _, last in byes[:n]]
    if forbidden:
        club.do("exclude", sorted(forbidden))
    order = sorted(items, key=lambda item: (*byes[item - 1], -item))
    without = {item: largest([i for i in items if i != item], forbidden) for item in items}
    found = today(club)
    assert found.bye == next(item for item in order if without[item] == size)
    assert found.present.tolist() == [item for item in items if item != found.bye]
    assert {tuple(pair) for pair in found.forbidden.tolist()} == {pair for pair in forbidden if found.bye not in pair}


@examples
@given(n=st.sampled_from([2, 4, 6]), forbidden=st.sets(st.sampled_from(PAIRS), max_size=10))
def test_degrees_are_believed_only_if_all_can_be_paired(n, forbidden):
    forbidden = {pair for pair in forbidden if max(pair) <= n}
    degrees = sorted(n - 1 - sum(item in pair for pair in forbidden) for item in range(1, n + 1))
    if rules._can_pair_all(degrees):
        assert largest(range(1, n + 1), forbidden) == n // 2


def test_a_look_at_the_degrees_is_enough_for_few_rules():
    assert rules._can_pair_all([100] * 199 + [3])  # one who may meet three
    assert not rules._can_pair_all([0] + [198] * 199)
    assert rules._can_pair_all([])
    assert rules._can_pair_all([1, 1])
    assert not rules._can_pair_all([0, 0])


def test_many_players_with_hard_rules_leave_the_bye_to_the_matching(monkeypatch):
    monkeypatch.setattr(rules, "MAX_EXACT_PLAYERS", 4)
    club = league()
    club.do("exclude", [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)])
    assert today(club).bye is None


def test_byes_go_around():
    club = league()
    sat_out = []
    for _ in range(11):
        bye = today(club).bye
        sat_out.append(bye)
        club.propose(byes=(bye,))
    assert sat_out == [5, 4, 3, 2, 1, 5, 4, 3, 2, 1, 5]


def test_who_joins_late_does_not_sit_out_for_the_byes_of_others():
    club = league()
    for _ in range(23):
        club.propose(byes=(today(club).bye,))
    assert club.state.byes == [4, 4, 5, 5, 5]
    club.do("join", ["fay", "gus"])
    sat_out = []
    for _ in range(8):
        sat_out.append(today(club).bye)
        club.propose(byes=(sat_out[-1],))
    assert sat_out == [2, 1, 7, 6, 5, 4, 3, 2]


def test_who_comes_back_is_level_with_the_others():
    club = league()
    club.do("leave", ["ann", "bob"])
    for _ in range(9):
        club.propose(byes=(today(club).bye,))
    club.do("rejoin", ["ann", "bob"])
    assert club.state.byes == [0, 0, 3, 3, 3]
    sat_out = []
    for _ in range(6):
        sat_out.append(today(club).bye)
        club.propose(byes=(sat_out[-1],))
    assert sat_out == [2, 1, 5, 4, 3, 2]


def test_only_who_is_there_is_paired():
    club = league()
    club.do("leave", ["bob"])
    found = today(club)
    assert (found.available, found.present.tolist(), found.bye) == (None, [1, 3, 4, 5], None)
    found = today(club, available=["eve", "ann", 3, "ann"])
    assert (found.available, found.present.tolist(), found.bye) == ([1, 3, 5], [1, 3], 5)
    refused("bad-value", "'bob' has left the league. Let it rejoin first", club, available=["ann", "bob"])
    refused("unknown-item", "did you mean 'ann'", club, available=["anm", "bob"])
    refused("bad-value", "available must be a list of names; got 'ann'", club, available="ann")


def test_wishes_are_fixed_when_both_are_there_and_free():
    club = league()
    club.do("wish", [("ann", "bob"), ("bob", "cem"), ("dee", "eve")])
    assert today(club).fixed == [(1, 2), (4, 5)]
    assert today(club, available=["bob", "cem", "dee"]).fixed == [(2, 3)]
    assert today(club, available=["ann", "cem", "dee"]).fixed == []
    found = today(club, fixed=[("cem", "ann")])
    assert found.fixed == [(1, 3), (4, 5)]
    assert (found.present.tolist(), found.bye) == ([], 2)
    refused("infeasible", "'ann' and 'bob' are a fixed pair but not both available", club,
            fixed=[("bob", "ann")], available=["ann", "cem"])  # fmt: skip
    refused("infeasible", "one of them is in another fixed pair", club, fixed=[("bob", "ann"), ("ann", "cem")])
    club.do("exclude", [("ann", "eve")])
    refused("contradiction", "'ann' and 'eve' are excluded", club, fixed=[("ann", "eve")])


def test_one_pair_is_one_wish():
    club = league(selection="pair")
    club.do("wish", [("ann", "bob"), ("dee", "eve")])
    found = today(club)
    assert (found.fixed, found.present.tolist(), found.bye) == ([(1, 2)], [], None)


def test_who_met_lately_does_not_meet():
    club = league(no_rematch=2)

    def met():
        return [tuple(pair) for pair in today(club, available=["ann", "bob", "cem", "dee"]).forbidden.tolist()]

    club.propose((1, 2), (3, 4))
    assert met() == [(1, 2), (3, 4)]  # proposed, and still waiting
    club.tell(1, {(1, 2): 1})
    assert met() == [(1, 2), (3, 4)]
    club.void(1)
    assert met() == [(1, 2)]  # what never happened was no meeting
    club.propose((1, 3))
    assert met() == [(1, 2), (1, 3)]
    club.propose((2, 4))
    assert met() == [(1, 3), (2, 4)]
    club.tell(3, {(2, 4): VOID})
    club.propose((2, 3))
    assert met() == [(2, 3)]


def test_an_outcome_that_is_corrected_to_void_was_no_meeting():
    club = league(no_rematch=5)

    def met():
        return [tuple(pair) for pair in today(club, available=["ann", "bob", "cem", "dee"]).forbidden.tolist()]

    club.propose((1, 2))
    club.tell(1, {(1, 2): 1})
    club.propose((3, 4))
    for _ in range(4):  # meets again: fixed, or asked for before the rule
        club.propose((1, 2))
    club.tell(3, {(1, 2): 1})
    for number in (2, 4, 5, 6):
        club.void(number)
    club.correct(3, {(1, 2): 0})  # still a meeting
    assert met() == [(1, 2)]
    club.correct(3, {(1, 2): VOID})
    assert met() == []  # they met in proposal 1, which is too long ago, and in none since
    club.configure(no_rematch=6)
    assert met() == [(1, 2)]  # that of proposal 1
    club.correct(1, {(1, 2): VOID})
    assert met() == []
    club.correct(3, {(1, 2): 1})
    assert met() == [(1, 2)]
    club.correct(1, {(1, 2): 1})
    club.correct(3, {(1, 2): VOID})
    assert met() == [(1, 2)]


def test_a_void_of_today_leaves_the_meeting_of_yesterday():
    club = league(no_rematch=5)
    club.propose((1, 2))
    club.tell(1, {(1, 2): 1})
    club.propose((1, 2))
    club.void(2)
    assert today(club, available=[1, 2, 3, 4]).forbidden.tolist() == [[1, 2]]


def test_a_wish_is_stronger_than_a_rematch():
    club = league(no_rematch=5)
    club.propose((1, 2))
    club.do("wish", [(1, 2)])
    assert today(club).fixed == [(1, 2)]


def test_what_cannot_be_satisfied_says_which_rule_to_relax():
    club = league(no_rematch=3)
    refused("infeasible", "nobody is available, and a pair needs two", club, available=[])
    refused("infeasible", "only one player is available", club, available=["ann"])
    club.do("exclude", [("ann", "bob")])
    refused("infeasible", "all pairs of the 2 available items are excluded. Remove", club, available=["ann", "bob"])
    club.propose((2, 3), (1, 4))
    words = "met within the last 3 proposals. Lower no_rematch (now 3)."
    refused("infeasible", words, club, available=["bob", "cem"])
    club.propose((1, 3))
    words = "are excluded or met within the last 3 proposals. Lower no_rematch (now 3), or remove"
    refused("infeasible", words, club, available=["ann", "bob", "cem"])
    assert today(club, available=["ann", "bob", "cem", "eve"]).present.tolist() == [1, 2, 3, 5]


def test_two_sides_need_one_of_each():
    market = SmallLeague(sides={"ads": ["a", "b"], "slots": ["x", "y"]}, no_rematch=1)
    refused("infeasible", "none of slots is available", market, available=["a", "b"])
    refused("infeasible", "none of ads is available", market, available=["x"])
    refused("infeasible", "none of ads is available", market, available=[])
    market.do("exclude", [("a", "x")])
    refused("infeasible", "all pairs of the 2 available items are excluded", market, available=["a", "x"])
    found = today(market, available=["a", "b", "x"])
    assert (found.present.tolist(), found.bye, found.forbidden.tolist()) == ([1, 2, 3], None, [[1, 3]])


@examples
@given(
    excluded=st.sets(st.sampled_from(OF_FIVE), max_size=10),
    met=st.sets(st.sampled_from(OF_FIVE), max_size=10),
    there=st.sets(st.integers(1, 5)),
)
def test_a_day_is_refused_only_if_there_is_no_pair(excluded, met, there):
    club = league(no_rematch=1)
    if excluded:
        club.do("exclude", sorted(excluded))
    club.propose(*sorted(met))
    possible = [(a, b) for a, b in OF_FIVE if {a, b} <= there and (a, b) not in excluded | met]
    if possible:
        found = today(club, available=sorted(there))
        assert {tuple(pair) for pair in found.forbidden[found.is_excluded].tolist()} <= excluded
        assert {tuple(pair) for pair in found.forbidden[~found.is_excluded].tolist()} <= met - excluded
    else:
        refused("infeasible", "available", club, available=sorted(there))


def test_who_comes_seldom_does_not_sit_out_whenever_there():
    club = SmallLeague(players=[f"p{number}" for number in range(12)], policy="cucb")
    visits = sat_out = 0
    for number in range(200):
        seldom = number % 10 == 9  # the last one comes in the place of another
        data = club.ask(available=[*range(1, 11), 12 if seldom else 11])
        club.void(data["number"])
        visits += seldom
        sat_out += 12 in data["byes"]
    assert visits == 20
    assert sat_out <= 5  # of eleven who are there, one sits out each time: two of twenty visits

"""Who can be paired: against brute force, and by hand."""

import re
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from matchbandit.leagues import League, LeagueError, constraints
from matchbandit.leagues.constraints import Constraints, assign_bye

PEOPLE = ["ann", "bob", "cem", "dee", "eve"]
PAIRS = [(a, b) for a in range(1, 8) for b in range(a + 1, 8)]
examples = settings(deadline=None, derandomize=True, max_examples=150)


@pytest.fixture
def club(sqlite_store):
    return sqlite_store.create("club", players=PEOPLE)


def refused(code: str, words: str, league: League, **request: object) -> None:
    with pytest.raises(LeagueError, match=re.escape(words)) as caught:
        league.ask(**request)
    assert caught.value.code == code


def largest_matching(items: tuple[int, ...], forbidden: frozenset[tuple[int, int]]) -> int:
    """The size of a largest matching, by trying everything."""

    @cache
    def of(left: tuple[int, ...]) -> int:
        if len(left) < 2:
            return 0
        first, others = left[0], left[1:]
        sizes = [of(others)]
        sizes += [
            1 + of(others[:k] + others[k + 1 :]) for k, other in enumerate(others) if (first, other) not in forbidden
        ]
        return max(sizes)

    return of(items)


@examples
@given(
    n=st.sampled_from([3, 5, 7]),
    forbidden=st.frozensets(st.sampled_from(PAIRS), max_size=18),
    order=st.permutations(range(1, 8)),
)
def test_assign_bye_takes_the_first_whose_absence_costs_no_pair(n, forbidden, order):
    forbidden = frozenset(pair for pair in forbidden if max(pair) <= n)
    items, order = tuple(range(1, n + 1)), [item for item in order if item <= n]
    size = largest_matching(items, forbidden)
    assume(size)
    pairs = np.array(sorted(forbidden), dtype=np.int64).reshape(-1, 2)
    present = np.array(items, dtype=np.int64)
    excluded = np.ones(len(pairs), dtype=np.bool_)
    answer = assign_bye(Constraints(None, [], present, pairs, None, excluded, np.array(order, dtype=np.int64)))
    without = {item: largest_matching(tuple(i for i in items if i != item), forbidden) for item in items}
    assert answer.bye == next(item for item in order if without[item] == size)
    assert answer.present.tolist() == [item for item in items if item != answer.bye]
    assert {tuple(pair) for pair in answer.forbidden.tolist()} == {p for p in forbidden if answer.bye not in p}


@examples
@given(n=st.sampled_from([2, 4, 6]), forbidden=st.frozensets(st.sampled_from(PAIRS), max_size=10))
def test_can_pair_all_is_true_only_if_all_can_be_paired(n, forbidden):
    forbidden = frozenset(pair for pair in forbidden if max(pair) <= n)
    degrees = sorted(n - 1 - sum(item in pair for pair in forbidden) for item in range(1, n + 1))
    if constraints._can_pair_all(np.array(degrees)):
        assert largest_matching(tuple(range(1, n + 1)), forbidden) == n // 2


def test_can_pair_all_with_few_rules_needs_no_matching():
    assert constraints._can_pair_all(np.array([100] * 199 + [3]))
    assert not constraints._can_pair_all(np.array([0] + [198] * 199))


def test_ask_with_many_players_under_hard_rules_lets_whoever_is_left_over_sit_out(club, monkeypatch):
    monkeypatch.setattr(constraints, "MAX_EXACT_PLAYERS", 4)
    club.exclude([(a, b) for a in range(1, 5) for b in range(a + 1, 5)])
    proposal = club.ask()
    assert len(proposal.pairs) == 1
    assert len(proposal.byes) == 3


def test_ask_pairs_only_the_available(club):
    club.leave("bob")
    proposal = club.ask(available=["eve", "ann", 3, "ann"])
    assert sorted([*proposal.pairs[0].names, *proposal.byes]) == ["ann", "cem", "eve"]
    refused("bad-value", "'bob' has left the league. Let it rejoin first", club, available=["ann", "bob"])
    refused("unknown-item", "did you mean 'ann'", club, available=["anm", "cem"])
    refused("bad-value", "available must be a list; got 'ann'", club, available="ann")


def test_ask_fixes_requested_pairs_then_pins_and_uses_these_up(club):
    club.pin([("ann", "bob"), ("bob", "cem"), ("dee", "eve")])
    proposal = club.ask(fixed=[("cem", "ann")])
    assert [pair.names for pair in proposal.pairs if pair.fixed] == [("ann", "cem"), ("dee", "eve")]
    assert proposal.byes == ["bob"]
    assert [rule.names for rule in club.rules("pin")] == [("ann", "bob"), ("bob", "cem")]
    assert club.ask(available=["ann", "cem", "dee"]).pairs[0].fixed is False
    assert {pair.names for pair in club.ask().pairs if pair.fixed} == {("ann", "bob")}
    assert [rule.names for rule in club.rules("pin")] == [("bob", "cem")]


def test_ask_with_impossible_fixed_pairs_names_them(club):
    club.exclude([("ann", "eve")])
    words = "'ann' and 'bob' are a fixed pair but not both available"
    refused("infeasible", words, club, fixed=[("bob", "ann")], available=["ann", "cem"])
    refused("infeasible", "is in another fixed pair", club, fixed=[("bob", "ann"), ("ann", "cem")])
    refused("contradiction", "'ann' and 'eve' are excluded", club, fixed=[("ann", "eve")])
    club.configure(selection="pair")
    refused("infeasible", "one pair at a time; got 2 fixed", club, fixed=[("ann", "bob"), ("cem", "dee")])
    assert [pair.names for pair in club.ask(fixed=[("ann", "bob")]).pairs] == [("ann", "bob")]


def test_ask_with_no_rematch_forbids_pairs_that_met_or_are_to_meet(club):
    club.configure(no_rematch=2)
    four = {"available": ["ann", "bob", "cem", "dee"]}
    club.ask(fixed=[("ann", "bob"), ("cem", "dee")], **four)
    club.tell(1, {("ann", "bob"): 1})
    second = {pair.names for pair in club.ask(**four).pairs}
    assert second.isdisjoint({("ann", "bob"), ("cem", "dee")})
    refused("infeasible", "met within the last 2 proposals: lower no_rematch (now 2)", club, available=["ann", "bob"])
    club.void(1)
    assert club.ask(available=["cem", "dee"]).pairs[0].names == ("cem", "dee")  # they never met
    club.correct(1, {("ann", "bob"): 0})
    assert club.ask(available=["ann", "bob"]).pairs[0].names == ("ann", "bob")  # proposal 1 is too long ago


def test_ask_without_a_possible_pair_says_which_rule_to_change(club):
    club.configure(no_rematch=3)
    refused("infeasible", "nobody is available, and a pair needs two", club, available=[])
    refused("infeasible", "only one player is available", club, available=["ann"])
    club.exclude([("ann", "bob")])
    refused("infeasible", "the 2 available items are excluded: remove an exclusion", club, available=["ann", "bob"])
    club.ask(fixed=[("bob", "cem"), ("ann", "dee")], available=PEOPLE[:4])
    club.ask(fixed=[("ann", "cem")], available=["ann", "cem"])
    words = "are excluded or met within the last 3 proposals: remove an exclusion (unexclude), or lower no_rematch"
    refused("infeasible", words, club, available=["ann", "bob", "cem"])


def test_ask_of_one_side_alone_names_the_missing_side(sqlite_store):
    market = sqlite_store.create("market", sides={"ads": ["a", "b"], "slots": ["x", "y"]})
    refused("infeasible", "none of slots is available", market, available=["a", "b"])
    refused("infeasible", "none of ads is available", market, available=["x"])
    refused("infeasible", "none of ads is available", market, available=[])
    market.exclude([("a", "x")])
    refused("infeasible", "all pairs of the 2 available items are excluded", market, available=["a", "x"])


def byes(league: League, rounds: int) -> list[str]:
    return [name for _ in range(rounds) for name in league.ask().byes]


def test_byes_alternate_and_newcomers_start_level(club):
    assert byes(club, 11) == ["eve", "dee", "cem", "bob", "ann"] * 2 + ["eve"]
    club.join("fay", "gus")
    assert byes(club, 8) == ["dee", "cem", "bob", "ann", "gus", "fay", "eve", "dee"]
    club.leave("ann", "bob")
    byes(club, 9)
    club.rejoin("ann", "bob")
    assert len(set(byes(club, 7))) == 7  # nobody sits out twice before all others have


def test_byes_of_a_rare_visitor_are_as_rare_as_those_of_others(sqlite_store):
    league = sqlite_store.create("club", players=[f"p{k}" for k in range(12)], policy="cucb")
    n_byes = 0
    for k in range(100):
        rare = k % 10 == 9  # the last one comes in the place of another
        proposal = league.ask(available=[*range(1, 11), 12 if rare else 11])
        league.void(proposal.number)
        n_byes += "p11" in proposal.byes
    assert n_byes <= 3  # one of eleven sits out each time: about one of ten visits

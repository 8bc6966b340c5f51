"""Outcomes: recording, correcting, voiding, and what a passed deadline does."""

from typing import Any

import pytest

from matchbandit.leagues import VOID, League, LeagueError, outcomes


@pytest.fixture
def club(store):
    return store.create("club", players=["ann", "bob", "cem", "dee"], rewards="binomial:4", seed=3)


@pytest.fixture
def proposal(club):
    return club.ask()


def refusal(request: Any) -> LeagueError:
    with pytest.raises(LeagueError) as caught:
        request()
    return caught.value


def recorded(club: League, number: int = 1) -> list[Any]:
    return [pair.outcome for pair in club.proposal(number).pairs]


def test_tell_counts_new_and_repeated_outcomes(club, proposal):
    first, second = proposal.pairs
    assert vars(club.tell(1, {first: 0.5})) == {"proposal": 1, "recorded": 1, "repeated": 0, "waiting": 1}
    receipt = club.tell(1, [(*first.names, 0.5), (*second.names[::-1], VOID)])
    assert vars(receipt) == {"proposal": 1, "recorded": 1, "repeated": 1, "waiting": 0}
    assert recorded(club) == [0.5, VOID]
    assert [(row.ids, row.count, row.total) for row in club.results()] == [(first.ids, 1, 0.5)]


def test_tell_all_pairs_at_once_is_as_one_by_one(store, monkeypatch):
    monkeypatch.setattr(outcomes, "_FEW", 2)  # else a proposal has to be large to be read at once
    leagues = [store.create(slug, players=[f"p{k}" for k in range(8)], seed=1) for slug in ("together", "singly")]
    for together, singly in [leagues] * 3:
        pairs = together.ask().pairs
        number = singly.ask(fixed=pairs).number
        together.tell(number, {pair: k % 2 for k, pair in enumerate(pairs)})
        for k, pair in enumerate(pairs):
            singly.tell(number, {pair: k % 2})
    assert leagues[0].results().rows == leagues[1].results().rows
    assert [row.estimate for row in leagues[0].ranking()] == [row.estimate for row in leagues[1].ranking()]


def test_tell_refuses_a_contradiction_and_records_nothing(club, proposal):
    first, second = proposal.pairs
    club.tell(1, {first: 0.5})
    error = refusal(lambda: club.tell(1, {second: 1, first: 0.75}))
    assert error.code == "contradiction"
    assert "have the outcome 0.5 already; got 0.75. If the old one was wrong" in str(error)
    assert recorded(club) == [0.5, None]
    error = refusal(lambda: club.tell(1, [(*second.names, 1), (*second.names[::-1], 0)]))
    assert error.code == "contradiction"
    assert recorded(club) == [0.5, None]


@pytest.mark.parametrize("reward", ["1", None, 0.3, -1, float("nan"), 1j])
def test_tell_refuses_impossible_rewards(club, proposal, reward):
    error = refusal(lambda: club.tell(1, {proposal.pairs[0]: reward}))
    assert error.code == "reward-outside"
    assert recorded(club) == [None, None]


def test_tell_refuses_pairs_that_were_not_proposed(club, proposal):
    first, second = proposal.pairs
    error = refusal(lambda: club.tell(1, [(first.names[0], second.names[0], 1)]))
    assert error.code == "not-proposed"
    assert f"Its pairs are {first.names[0]} + {first.names[1]}, " in str(error)


@pytest.mark.parametrize("number", [0, 2, 10**20, "1", 1.0])
def test_tell_refuses_proposals_that_do_not_exist(club, proposal, number):
    error = refusal(lambda: club.tell(number, {proposal.pairs[0]: 1}))
    assert error.code == "unknown-proposal"
    assert "the last one is 1" in str(error)


@pytest.mark.parametrize("rows", ["ann", [("ann", "bob")], ["ann"], 5, b"x", [1]])
def test_tell_refuses_what_are_no_outcomes(club, proposal, rows):
    assert refusal(lambda: club.tell(1, rows)).code == "bad-value"


def test_tell_many_records_all_or_none(club, proposal):
    second = club.ask()
    wrong = {1: {proposal.pairs[0]: 1}, 2: {second.pairs[0]: 7}}
    assert refusal(lambda: club.tell_many(wrong)).code == "reward-outside"
    assert recorded(club) == recorded(club, 2) == [None, None]
    receipts = club.tell_many({1: {proposal.pairs[0]: 1}, 2: {second.pairs[0]: 0}})
    assert [(receipt.proposal, receipt.waiting) for receipt in receipts] == [(1, 1), (2, 1)]


def test_correct_keeps_both_values_in_the_history(club, proposal):
    first, second = proposal.pairs
    error = refusal(lambda: club.correct(1, {first: 1}))
    assert "have no outcome yet. Record it (tell)." in str(error)
    club.tell(1, {first: 0.25, second: VOID})
    assert club.correct(1, {first: VOID, second: 1}).recorded == 2
    assert club.correct(1, {first: VOID, second: 1}).repeated == 2
    assert recorded(club) == [VOID, 1]
    change = club.history().rows[-1]
    assert (change.action, change.data["outcomes"]) == ("correct", [[*first.ids, 0.25, None], [*second.ids, None, 1.0]])
    assert club.info().results == 1


def test_void_takes_some_pairs_or_all_that_are_missing(club, proposal):
    assert club.void(1, [proposal.pairs[0]]).waiting == 1
    assert club.void(1).recorded == 1
    assert club.void(1).recorded == 0
    with pytest.raises(LeagueError, match="there is no proposal 9; the last one is") as caught:
        club.void(9)
    assert caught.value.code == "unknown-proposal"
    assert recorded(club) == [VOID, VOID]


def test_a_passed_deadline_gives_missing_outcomes_the_default(store, clock):
    club = store.create("late", players=["ann", "bob", "cem", "dee"], deadline=3600, default=0, seed=3)
    first = club.ask()
    club.tell(1, {first.pairs[0]: 1})
    clock.forward(minutes=30)
    club.ask()
    clock.forward(minutes=30)
    assert store.run_maintenance() == 1
    assert [recorded(club, number) for number in (1, 2)] == [[1, 0], [None, None]]
    assert (club.history().rows[-1].action, club.history().rows[-1].by) == ("tell", "deadline")
    error = refusal(lambda: club.tell(1, {first.pairs[1]: 1}))
    assert "was set by the deadline, correct it" in str(error)
    assert club.correct(1, {first.pairs[1]: 1}).recorded == 1
    clock.forward(hours=1)
    assert club.tell(2, {pair: 0 for pair in club.proposal(2).pairs}).repeated == 2  # any write applies deadlines

"""Totals of pairs: what a process keeps up to date in memory is what another one computes from the outcomes."""

import random
from typing import Any

import pytest

from matchbandit.leagues import VOID, League, Store


def ranking(club: League) -> list[Any]:
    """What the model makes of the totals."""
    return [(row.id, row.results, pytest.approx(row.estimate, abs=1e-9)) for row in club.ranking()]


@pytest.mark.parametrize(
    ("policy", "rewards", "options"),
    [
        ("rank1-thompson", "bernoulli", {}),
        ("rank1-thompson", "bernoulli", {"half_life": 3}),
        ("rank1-thompson", "gaussian:0.3", {}),
        ("cts-beta", "bernoulli", {}),
    ],
)
def test_totals_after_random_reports_equal_those_of_a_new_process(store, store_url, clock, policy, rewards, options):
    rng = random.Random(f"{policy} {rewards} {options}")
    players = [f"p{k}" for k in range(6)]
    past = [("p0", "p1", 1.0), ("p0", "p1", 0.5), ("p2", "p3", 0.0)]
    club = store.create("club", players=players, policy=policy, rewards=rewards, options=options, past=past)
    for _ in range(12):
        number = club.ask().number
        for which in (number, rng.randint(1, number)):
            chosen = {pair: rng.choice([0.0, 1.0, 0.1, 0.7, VOID]) for pair in club.proposal(which).pairs}
            chosen = {pair: reward for pair, reward in chosen.items() if rng.random() < 0.7}
            club.tell(which, {pair: reward for pair, reward in chosen.items() if pair.outcome is None})
            club.correct(which, {pair: reward for pair, reward in chosen.items() if pair.outcome is not None})
            if rng.random() < 0.5:
                assert ranking(club)  # so that later outcomes are added to totals in memory
        with Store(store_url, clock=clock) as other:
            again = other.open("club")
            assert again.results().rows == club.results().rows
            assert ranking(club) == ranking(again)
    assert club.check() == []
    assert club.info().results == sum(row.count for row in club.results())


def test_totals_after_a_new_half_life_are_those_of_a_new_process(store, store_url, clock):
    club = store.create("club", players=["ann", "bob", "cem", "dee"])
    for k in range(6):
        proposal = club.ask()
        club.tell(proposal.number, {pair: k % 2 for pair in proposal.pairs})
    before = ranking(club)
    club.configure(options={"half_life": 2})
    with Store(store_url, clock=clock) as other:
        assert ranking(club) == ranking(other.open("club")) != before


def test_results_of_a_pair_that_turns_out_void_vanish_from_the_policy(store, store_url, clock):
    club = store.create("club", players=["ann", "bob"], policy="cucb")
    first = club.ask()
    club.tell(first.number, {pair: 1 for pair in first.pairs})
    value = club.ask().pairs[0].value
    club.correct(first.number, {pair: VOID for pair in first.pairs})
    assert club.results().rows == []
    assert club.ask().pairs[0].value != value
    assert club.why().numbers == Store(store_url, clock=clock).open("club").why().numbers

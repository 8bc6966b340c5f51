"""Totals of pairs: equal to what the outcomes say, whatever happened."""

import random

import pytest

from matchbandit.leagues import VOID, Store


@pytest.mark.parametrize("options", [{}, {"half_life": 3}], ids=["plain", "half-life"])
@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian:0.3"])
def test_totals_after_random_reports_equal_the_recomputed_ones(store: Store, rewards: str, options: dict[str, int]):
    rng = random.Random(f"{rewards} {options}")
    club = store.create("club", players=[f"p{k}" for k in range(6)], rewards=rewards, options=options)
    for _ in range(12):
        number = club.ask().number
        for which in (number, rng.randint(1, number)):
            proposal = club.proposal(which)
            chosen = [pair for pair in proposal.pairs if rng.random() < 0.7]
            outcomes = {pair: rng.choice([0.0, 1.0, 0.25, VOID]) for pair in chosen}
            missing = {pair: reward for pair, reward in outcomes.items() if pair.outcome is None}
            club.tell(which, missing)
            club.correct(which, {pair: reward for pair, reward in outcomes.items() if pair not in missing})
        assert club.check() == []

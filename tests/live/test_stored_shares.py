"""Rewards of binomial leagues that are no shares of the trials: version 0.7 stored them, and they count as one coin."""

import base64
import json
import zlib
from math import sqrt

import numpy as np
import pytest
from small_league import SmallLeague, altered_export

import matchbandit as mb
from matchbandit.live import Store
from matchbandit.live.events import Draft
from matchbandit.live.model import LeagueModel
from matchbandit.live.state import State
from matchbandit.policies.base import Policy
from matchbandit.policies.catalogue import CATALOGUE, restore
from matchbandit.policies.rank1_certify import Rank1Certify

SIDES = {"ads": ["a", "b"], "slots": ["x", "y"]}
DELTA = 0.05
WHOLE_ROUNDS = [name for name, kind in CATALOGUE.items() if not kind.decides_from_counts]


def store_outcomes(club, data, rewards):
    """Outcomes as version 0.7 logged them: whatever lies in [0, 1]."""
    rows = [[a, b, reward] for (a, b), reward in zip(data["pairs"], rewards, strict=True)]
    club.take([Draft("told", {"proposal": data["number"], "outcomes": rows})])


def certifying(seed=0, **settings):
    return SmallLeague(
        sides=SIDES, policy="rank1-certify", options={"delta": DELTA}, selection="pair", seed=seed,
        **{"rewards": "binomial:5", **settings},
    )  # fmt: skip


def policy_of(club):
    """The policy of a league that plays whole rounds, as its last proposal left it."""
    return restore(json.loads(zlib.decompress(base64.b64decode(club.state.last_round.memory)))["state"])


def extremes(rng, size):
    """.05 or .95, each as often: a mean of a half, and 0.9 times the deviation of a coin, √5 × 0.9 that of a share."""
    return np.where(rng.random(size) < 0.5, 0.95, 0.05)


def as_version_07(monkeypatch):
    """Take any reward in [0, 1], and count it as so many coins."""
    monkeypatch.setattr(Policy, "_refuse_outside", lambda self, received: None)
    monkeypatch.setattr(State, "counting", property(lambda self: self.rewards))
    monkeypatch.setattr(Rank1Certify, "_holds_impossible_sums", lambda self: False)


# What counts


def test_they_are_found_wherever_they_are_stored():
    club = SmallLeague(players=["a", "b", "c", "d"], rewards="binomial:5", policy="cucb")
    number = club.propose((1, 2), (3, 4))
    club.take([Draft("told", {"proposal": number, "outcomes": [[1, 2, 0.2], [3, 4, None]]})])
    assert club.state.counting == mb.Binomial(5)
    number = club.propose((1, 2), (3, 4))
    club.take([Draft("expired", {"proposal": number, "outcomes": [[1, 2, 0.37], [3, 4, 0.6]]})])
    assert club.state.counting == mb.Bernoulli()
    assert club.state.rewards == mb.Binomial(5)
    club.correct(number, {("a", "b"): 0.4})  # it was the only one
    assert club.state.counting == mb.Binomial(5)
    club.take([Draft("corrected", {"proposal": number, "outcomes": [[1, 2, 0.4, 0.41]]})])
    assert club.state.counting == mb.Bernoulli()
    for results, counting in [([[1, 2, 3, 1.1]], mb.Bernoulli()), ([[1, 2, 3, 1.4]], mb.Binomial(5))]:
        begun = SmallLeague(players=["a", "b"], rewards="binomial:5")
        begun.take([Draft("began", {"results": results})])
        assert begun.state.counting == counting
        assert State.from_snapshot(json.loads(json.dumps(begun.state.snapshot()))).counting == counting


def test_bernoulli_leagues_take_any_number_and_count_as_before():
    club = SmallLeague(players=["a", "b"])
    club.tell(club.ask()["number"], {("a", "b"): 0.37})
    assert (club.state.off_grid, club.state.counting) == (0, mb.Bernoulli())


def test_the_model_and_rank1_thompson_count_them_as_one_coin():
    """As a league of Bernoulli rewards with the same log: the same strengths, intervals, fit and proposals."""
    clubs = []
    for rewards in ("binomial:5", "bernoulli"):
        club = SmallLeague(players=["a", "b", "c", "d"], rewards=rewards, seed=4)
        rng = np.random.default_rng(1)
        for _ in range(12):
            data = club.ask()
            store_outcomes(club, data, rng.random(len(data["pairs"])).tolist())
        club.ask()
        clubs.append(club)
    coins, shares = (LeagueModel(club.state) for club in clubs)
    names = ["a", "b", "c", "d"]
    assert shares.ranking(names, None) == coins.ranking(names, None)
    assert shares.fit() == coins.fit()
    assert [event.data["pairs"] for event in clubs[0].log if event.kind == "proposed"] == [
        event.data["pairs"] for event in clubs[1].log if event.kind == "proposed"
    ]
    assert clubs[0].state.meetings == clubs[1].state.meetings  # of people, whole numbers


def test_a_policy_that_is_built_already_counts_anew_when_the_first_one_comes_and_goes():
    club = SmallLeague(players=["a", "b", "c", "d"], rewards="binomial:100", seed=2)
    for rewards in ([0.5, 0.25], [0.125, 0.5]):
        store_outcomes(club, club.ask(), rewards)
        fresh = SmallLeague(players=["a", "b", "c", "d"], rewards="binomial:100", seed=2)
        fresh.take([Draft(event.kind, event.data) for event in club.log[len(fresh.log) :]])
        assert club.ask()["pairs"] == fresh.ask()["pairs"]
        club.void(club.state.last_number)


@pytest.mark.parametrize("name", [name for name, kind in CATALOGUE.items() if not kind.capabilities.fixed_budget])
def test_every_policy_goes_on_with_them(name):
    fits = CATALOGUE[name].capabilities
    options = {"delta": 0.1} if "identification" in fits.goals else {"horizon": 1000} if fits.horizon else {}
    try:
        club = SmallLeague(sides=SIDES, policy=name, options=options, rewards="binomial:5")
    except mb.MatchbanditError:
        club = SmallLeague(players=["a", "b", "c", "d"], policy=name, options=options, rewards="binomial:5")
    rng = np.random.default_rng(3)
    for turn in range(8):
        data = club.ask()
        n = len(data["pairs"])
        store_outcomes(club, data, (rng.random(n) if turn in (3, 4) else rng.integers(6, size=n) / 5).tolist())
    assert State().fold(club.log).digest() == club.state.digest()
    assert club.ask()["number"] == 9
    if name in WHOLE_ROUNDS:
        assert policy_of(club).setting.rewards == mb.Bernoulli()


def test_an_export_with_them_is_taken_in_shown_and_played_on(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        kept = store.create("club", sides=SIDES, rewards="binomial:5", policy="cucb", selection="matching")
        first = kept.ask()
        kept.tell(first.number, {pair: 0.4 for pair in first.pairs})
        old = altered_export(kept.export(tmp_path / "club.jsonl"), ",0.4]", ",0.37]")
        copy = store.import_league(old, slug="copy")
        assert [reward for *_, reward in copy.results()] == [0.37, 0.37]
        assert {standing.meetings for standing in copy.ranking()} == {1}
        again = dict.fromkeys(first.pairs, 0.37)
        assert copy.tell(first.number, again).repeated == 2  # no news, and no reason to refuse it
        copy.configure(policy="rank1-thompson")
        assert copy.verify().ok
        copy.tell(copy.ask().number, {})
        assert copy.verify().ok


def test_a_default_that_is_stored_does_not_stand_in_the_way_of_other_settings():
    club = SmallLeague(players=["a", "b"], rewards="binomial:5", deadline=60, default=0.4)
    club.take([Draft("configured", {"default": 0.37})])  # as version 0.7 could
    club.configure(no_rematch=1)
    assert club.state.config["default"] == 0.37
    with pytest.raises(mb.MatchbanditError, match=r"with 5 trials are 0, 0\.2, …, 1; got 0\.38 for a pair by default"):
        club.configure(default=0.38)


# The error probability of rank1-certify


def test_what_rests_on_coins_that_were_none_is_not_certified_any_more(monkeypatch):
    with monkeypatch.context() as old:
        as_version_07(old)
        for seed in range(100):
            club, rng = certifying(seed), np.random.default_rng(seed)
            for _ in range(25):
                data = club.ask()
                store_outcomes(club, data, extremes(rng, 1).tolist())
            if policy_of(club).done:  # among equals
                break
        assert policy_of(club).done
    loaded = certifying(seed)
    loaded.take([Draft(event.kind, event.data) for event in club.log[len(loaded.log) :]])
    loaded.ask()
    now = policy_of(loaded)
    assert not now.done
    assert (now.rounds, now.setting.rewards, now.plays.sum() / 2) == (0, mb.Bernoulli(), 25)  # as a warm start
    assert np.allclose(now.sums.sum() / 2, np.sum(loaded.state.tally.paid))
    assert (now.peaks <= 0).all()  # no evidence


def test_rewards_that_are_told_later_count_as_one_coin_as_well():
    club = certifying()
    store_outcomes(club, club.ask(), [0.37])
    for _ in range(10):
        club.tell(club.ask()["number"], [(*pair, 0.4) for pair in club.log[-1].data["pairs"]])
    club.ask()
    assert policy_of(club).setting.rewards == mb.Bernoulli()
    assert policy_of(club).rounds == 10


def wrong(runs, rounds):
    """Of so many leagues of equals with stored rewards of .05 and .95, those that certify an answer nevertheless."""
    return sum(_certified(seed, rounds) for seed in range(runs))


def _certified(seed, rounds):
    club, rng = certifying(seed), np.random.default_rng([7, seed])
    for _ in range(3):
        data = club.ask()
        store_outcomes(club, data, extremes(rng, 1).tolist())
    club.ask()
    return goes_on(policy_of(club), rounds, lambda size: extremes(rng, size))


def goes_on(policy, rounds, draw):
    """Does it come to an answer? A league's next rounds are this, restored and kept again in between."""
    for _ in range(rounds):
        pairs = policy.ask()
        policy.tell(pairs, draw(len(pairs)))
        if policy.done:
            return True
    return False


def test_the_attack_keeps_delta_in_a_few_leagues():
    runs = 30
    assert wrong(runs, 600) <= runs * DELTA + 3 * sqrt(runs * DELTA * (1 - DELTA))


@pytest.mark.slow
def test_the_attack_keeps_delta(monkeypatch):
    runs = 150
    most = runs * DELTA + 3 * sqrt(runs * DELTA * (1 - DELTA))
    assert wrong(runs, 3000) <= most
    with monkeypatch.context() as old:
        as_version_07(old)
        assert wrong(runs, 3000) > 2 * most  # else the attack is none

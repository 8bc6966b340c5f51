"""Commands: what is asked of a league, checked before anything is written."""

import re
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest
from small_league import START, SmallLeague

from matchbandit.live import commands
from matchbandit.live.errors import CODES, LeagueError
from matchbandit.live.records import VOID, Receipt
from matchbandit.policies import CATALOGUE
from matchbandit.rewards import Gaussian

PEOPLE = ["ann", "bob", "cem", "dee", "eve"]


def league(**settings):
    return SmallLeague(players=PEOPLE, **settings)


def playing(**settings):
    club = league(**settings)
    club.propose((1, 2), (3, 4), byes=(5,))
    return club


def refused(code, words, command, *arguments, **options):
    """It is refused with this code and these words."""
    with pytest.raises(LeagueError, match=re.escape(words)) as caught:
        command(*arguments, **options)
    assert caught.value.code == code
    assert code in CODES


# To begin


def test_a_league_is_described_by_its_first_event():
    club = league(rewards=Gaussian(sd=0.5), seed=7, deadline=timedelta(hours=1), default=0.5, no_rematch=2)
    created = dict(club.log[0].data)
    assert created.pop("matchbandit")
    assert created == {
        "key": "club",
        "kind": "players",
        "sides": None,
        "policy": "rank1-thompson",
        "options": {},
        "selection": "matching",
        "rewards": "gaussian:0.5",
        "seed": 7,
        "deadline": 3600.0,
        "default": 0.5,
        "no_rematch": 2,
        "shadow": None,
        "title": "",
        "record_propensity": 0,
    }
    assert club.log[1].data == {"items": [[k, 0] for k in range(1, 6)]}
    assert [club.directory.name(k) for k in range(1, 6)] == PEOPLE


def test_two_sides_play_matchings_too():
    market = SmallLeague(sides={"ads": ["a", "b"], "slots": ["top"]}, shadow={"policy": "cucb"})
    assert market.log[0].data["sides"] == ["ads", "slots"]
    assert market.log[0].data["selection"] == "matching"
    assert market.log[0].data["shadow"] == {"policy": "cucb", "options": {}, "selection": "matching"}
    assert SmallLeague(sides={"ads": [], "slots": []}, policy="kl-ucb").log[0].data["selection"] == "pair"


@pytest.mark.parametrize(
    ("settings", "code", "words"),
    [
        ({"slug": "My Club"}, "bad-name", "lower-case letters, digits and hyphens"),
        ({"slug": "x" * 65}, "bad-name", "1 to 64"),
        ({"sides": {"a": [], "b": []}}, "bad-value", "players or two sides, not both"),
        ({"players": None, "sides": {"a": []}}, "bad-value", "sides name two sides"),
        ({"players": None, "sides": {"a": [], " a ": []}}, "bad-name", "two names; got 'a' twice"),
        ({"policy": "rank1-thomson"}, "bad-value", "did you mean 'rank1-thompson'"),
        ({"policy": "my_module:Mine"}, "bad-value", "the policies of the catalogue"),
        ({"policy": "pair-elim"}, "not-supported", "plays on bipartite graphs"),
        ({"policy": "cucb", "options": {"half_life": 3}}, "not-supported", "unknown option of cucb 'half_life'"),
        ({"options": {"half_life": -1}}, "not-supported", "half_life must be above 0"),
        ({"options": [1]}, "bad-value", "options must be a mapping"),
        ({"selection": "triple"}, "bad-value", "unknown selection of rank1-thompson 'triple'"),
        ({"policy": "cts-beta", "rewards": "gaussian:1"}, "not-supported", "needs rewards in [0, 1]"),
        ({"rewards": "gaussian"}, "bad-value", "gaussian rewards need their sd"),
        ({"rewards": 3}, "bad-value", "named by a text"),
        ({"seed": -1}, "bad-value", "seed must be a whole number"),
        ({"deadline": 0}, "bad-value", "seconds above 0"),
        ({"deadline": float("nan")}, "bad-value", "seconds above 0"),
        ({"deadline": True}, "bad-value", "seconds above 0"),
        ({"default": 2}, "reward-outside", "bernoulli rewards lie in [0, 1]; got 2"),
        ({"no_rematch": -1}, "bad-value", "no_rematch must be a whole number"),
        ({"shadow": "adaptive-matching"}, "not-supported", "those of a shadow are not played"),
        ({"shadow": {"name": "cucb"}}, "bad-value", "shadow must be the name of a policy"),
        (
            {"shadow": {"policy": "rank1-thompson", "options": {"half_life": 9}}},
            "not-supported",
            "leave its half_life out",
        ),
        ({"policy": "uniform", "no_rematch": 1, "players": ["a", "b"]}, "not-supported", "rematches included"),
        ({"policy": "sequential-halving"}, "not-supported", "a league has none"),
        ({"policy": "adaptive-matching"}, "not-supported", "how many proposals are to come"),
        ({"policy": "adaptive-matching", "options": {"horizon": 0}}, "not-supported", "horizon must be"),
        ({"options": {"horizon": 10}}, "not-supported", "unknown option of rank1-thompson 'horizon'"),
        ({"players": ["ann", "ann"]}, "name-taken", "'ann' is in the league already"),
        ({"players": "ann"}, "bad-value", "names must be a list; got 'ann'"),
        ({"players": ["a\x00"]}, "bad-name", "control characters"),
        ({"players": [f"p{k}" for k in range(10_001)]}, "bad-value", "at most 10000 names; got 10001"),
        ({"players": ["a", "b"], "past": [("a", "b", 0, 0)]}, "bad-value", "the count of 'a' and 'b'"),
        ({"players": ["a", "b"], "past": [("a", "b", 2, 3)]}, "reward-outside", "sum to between 0 and 2; got 3"),
        ({"players": ["a", "b"], "past": [("a", "b", 2)]}, "bad-value", "(name, name, count, sum); got ('a', 'b', 2)"),
        ({"policy": "matching-id", "past": [("ann", "bob", 2, 1)]}, "not-supported", "cannot use results that others"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, code, words):
    refused(code, words, SmallLeague, **{"players": PEOPLE, **settings})


@pytest.mark.parametrize("policy", CATALOGUE)
@pytest.mark.sampled(8)
def test_every_policy_of_the_catalogue_begins_or_says_why_not(policy):
    for items in ({"players": ["a", "b", "c", "d"]}, {"sides": {"rows": ["a", "b"], "columns": ["c", "d"]}}):
        capabilities = CATALOGUE[policy].capabilities
        options = {"horizon": 1000} if capabilities.horizon else {}
        other_graph = ("bipartite",) if "players" in items else ("monopartite",)
        if capabilities.graphs == other_graph or capabilities.fixed_budget:
            refused("not-supported", policy, SmallLeague, policy=policy, options=options, **items)
            continue
        club = SmallLeague(policy=policy, options=options, **items)
        for number in (1, 2, 3):  # whole rounds too: told in full, then the next
            pairs = club.ask()["pairs"]
            assert pairs
            club.tell(number, [(a, b, 1) for a, b in pairs])


def test_a_league_begins_from_past_results():
    past = [("zed", "ann", 3, 2.0), ("ann", "zed", 1, 0.5), ("bob", "ann", 2, 0)]
    club = SmallLeague(players=["ann"], past=past)
    assert [event.kind for event in club.log] == ["created", "joined", "joined", "began"]
    assert club.log[-1].data == {"results": [[1, 2, 4, 2.5], [1, 3, 2, 0.0]]}
    assert club.directory.rows() == [(1, "ann"), (2, "zed"), (3, "bob")]
    assert club.state.meetings == [6, 4, 2]
    market = SmallLeague(sides={"ads": [], "slots": []}, past=[("x", "y", 1, 1), ("y", "x", 1, 0)])
    assert market.directory.rows() == [(1, "x"), (2, "y"), (3, "y"), (4, "x")]
    assert market.log[-1].data == {"results": [[1, 3, 1, 1.0], [2, 4, 1, 0.0]]}


def test_many_past_results_come_in_parts():
    names = [f"p{k}" for k in range(200)]
    past = [(a, b, 1, 1) for k, a in enumerate(names) for b in names[:k]]
    kinds = [event.kind for event in SmallLeague(past=past).log]
    assert kinds == ["created", "joined", "began", "began"]


def test_past_results_come_before_the_first_proposal():
    refused("not-supported", "before the first proposal", playing().do, "import_past", [("ann", "bob", 1, 1)])


# Who plays


def test_joining_leaving_and_coming_back():
    club = league()
    assert club.do("leave", ["ann", "ann", 2])[0].data == {"items": [1, 2]}
    assert club.do("leave", ["ann"]) == []
    assert [draft.data for draft in club.do("join", [" fay", "ann"])] == [{"items": [1]}, {"items": [[6, 0]]}]
    assert club.do("rejoin", ["bob", "cem"])[0].data == {"items": [2]}
    assert club.do("rejoin", ["bob"]) == []
    refused("name-taken", "'ann' is in the league already", club.do, "join", ["gus", "ann"])
    refused("name-taken", "'gus'", club.do, "join", ["gus", "gus"])
    refused("unknown-item", "did you mean 'ann'", club.do, "leave", ["anm"])
    assert club.state.n_items == 6


def test_renaming():
    club = league()
    drafts = club.do("rename", "ann", "anna ")
    assert (drafts[0].data, drafts[0].names) == ({"item": 1}, ((1, "anna"),))
    assert club.do("rename", "anna", "anna") == []
    refused("name-taken", "'bob' is in the league already", club.do, "rename", "anna", "bob")
    club.do("leave", ["bob"])
    refused("name-taken", "'bob' has left the league, and keeps its name", club.do, "rename", "anna", "bob")
    refused("bad-name", "a name is a text", club.do, "rename", "anna", 3)


def test_forgetting():
    club = playing()
    club.do("wish", [("ann", "cem")])
    drafts = club.do("forget", "ann")
    assert (drafts[0].data, drafts[0].names) == ({"item": 1}, ((1, None),))
    assert not club.state.wishes
    assert club.do("forget", "#1") == []
    club.tell(1, {("#1", "bob"): 1})  # its results are still welcome
    refused("not-supported", "#1 was forgotten and cannot rejoin", club.do, "rejoin", [1])
    refused("not-supported", "#1 was forgotten and cannot be renamed", club.do, "rename", 1, "ann")
    refused("not-supported", "#1 was forgotten", club.do, "wish", [(1, 2)])
    assert club.do("join", ["ann"])[0].data == {"items": [[6, 0]]}  # someone else of that name


def test_sides_are_said():
    market = SmallLeague(sides={"ads": ["a"], "slots": ["a"]})
    refused("bad-value", "say which side: 'ads' or 'slots'; got None", market.do, "join", ["b"])
    refused("bad-value", "got 'adds'", market.do, "join", ["b"], side="adds")
    market.do("join", ["b"], side=1)
    assert market.do("leave", ["a"], side="slots")[0].data == {"items": [2]}
    refused("bad-value", "not sides; got side 'ads'", league().do, "join", ["b"], side="ads")


# Rules


def test_exclusions_and_wishes():
    club = league()
    assert club.do("exclude", [("bob", "ann"), (1, 2)])[0].data == {"pairs": [[1, 2]]}
    assert club.do("exclude", [("ann", "bob")]) == []
    refused("contradiction", "'ann' and 'bob' are excluded", club.do, "wish", [("bob", "ann")])
    assert club.do("wish", [("cem", "ann"), ("cem", "bob")])[0].data == {"pairs": [[1, 3], [2, 3]]}
    assert club.do("wish", [("cem", "ann")]) == []
    refused("contradiction", "'ann' and 'cem' are wished for", club.do, "exclude", [("cem", "ann")])
    assert club.do("unwish", [("cem", "ann"), ("dee", "eve")])[0].data == {"pairs": [[1, 3]]}
    assert club.do("allow", [("ann", "bob"), ("dee", "eve")])[0].data == {"pairs": [[1, 2]]}
    assert club.do("allow", [("ann", "bob")]) == []
    assert not club.state.exclusions
    refused("bad-value", "'ann' twice", club.do, "exclude", [("ann", "ann")])
    refused("bad-value", "a pair is two names", club.do, "exclude", [("ann", "bob", "cem")])


def test_wishes_are_fulfilled_by_a_proposal():
    club = league()
    club.do("wish", [("ann", "bob"), ("cem", "dee")])
    club.propose((1, 2), (4, 5), fixed=[[1, 2]])
    assert list(club.state.wishes) == [3 << 32 | 4]


# Settings


def test_settings_can_change():
    club = playing(options={"half_life": 3})
    club.configure(deadline=60, no_rematch=1)
    assert club.log[-1].data == {"deadline": 60.0, "no_rematch": 1}
    seq = club.state.seq
    club.configure(deadline=60, default=VOID)
    assert club.state.seq == seq
    club.configure(policy="cucb", shadow="cts-gaussian")
    assert club.log[-1].data["policy"] == "cucb"
    assert club.state.config["options"] == {}
    refused("bad-value", "unknown setting 'policies'; did you mean 'policy'", club.configure, policies="cucb")
    refused("bad-value", "unknown setting 'rewards'", club.configure, rewards="binomial:3")
    refused("not-supported", "this league has had proposals", club.configure, policy="uniform", no_rematch=0)


# Outcomes


def test_outcomes_trickle_in():
    club = playing()
    assert club.tell(1, {("bob", "ann"): True}) == Receipt(proposal=1, booked=1, repeated=0, waiting=1)
    assert club.log[-1].data == {"proposal": 1, "outcomes": [[1, 2, 1.0]]}
    seq = club.state.seq
    assert club.tell(1, {("ann", "bob"): 1}) == Receipt(1, 0, 1, 1)
    assert club.state.seq == seq
    assert club.tell(1, [("ann", "bob", 1), ("dee", "cem", VOID)]) == Receipt(1, 1, 1, 0)
    assert club.log[-1].data == {"proposal": 1, "outcomes": [[3, 4, None]]}
    assert club.tell(1, {(3, 4): VOID}) == Receipt(1, 0, 1, 0)  # closed, and still no news
    assert club.tell(1, {}) == Receipt(1, 0, 0, 0)


@pytest.mark.parametrize(
    "reward", [0, 1, False, 0.5, -0.0, np.float32(0.5), np.int64(1), np.True_, Fraction(1, 3)], ids=repr
)
def test_rewards_are_numbers(reward):
    club = playing()
    club.tell(1, {("ann", "bob"): reward})
    written = club.log[-1].data["outcomes"][0][2]
    assert written == float(reward)
    assert str(written) != "-0.0"


@pytest.mark.parametrize("reward", [1.01, -0.01, 10**400, float("nan"), float("inf"), "1", None, [1], 1j], ids=repr)
def test_what_is_no_reward_is_refused(reward):
    club = playing()
    refused("reward-outside", "'ann' and 'bob'", club.tell, 1, {("cem", "dee"): 1, ("ann", "bob"): reward})
    assert club.state.open[1].known == {}  # all or nothing


def test_binomial_outcomes_are_shares_of_the_trials():
    club = SmallLeague(players=["ann", "bob", "cem", "dee"], rewards="binomial:5")
    club.propose((1, 2), (3, 4))
    words = (
        "binomial rewards with 5 trials are 0, 0.2, …, 1; got 0.37 for 'ann' and 'bob'. Round the reward, or choose "
    )
    words += "bernoulli rewards, which can be any number in [0, 1]."
    refused("reward-outside", words, club.tell, 1, {("cem", "dee"): 0.2, ("ann", "bob"): 0.37})
    assert club.state.open[1].known == {}  # all or nothing
    club.tell(1, {("ann", "bob"): 0.4, ("cem", "dee"): Fraction(3, 5)})
    refused("reward-outside", "got 0.37 for 'ann' and 'bob'", club.correct, 1, {("ann", "bob"): 0.37})
    club.correct(1, {("ann", "bob"): 0.6})
    settings = {"players": ["ann", "bob"], "rewards": "binomial:5"}
    refused("reward-outside", "got 0.37 for a pair by default", SmallLeague, **settings, default=0.37)
    words = "2 binomial rewards with 5 trials sum to a multiple of 0.2; got 1.5 for 'ann' and 'bob'"
    refused("reward-outside", words, SmallLeague, **settings, past=[("ann", "bob", 2, 1.5)])
    refused("reward-outside", "must be a number; got '1'", SmallLeague, **settings, past=[("ann", "bob", 2, "1")])


def test_contradictions_are_refused():
    club = playing()
    club.tell(1, {("ann", "bob"): 1})
    words = "'ann' and 'bob' of proposal 1 have the outcome 1 already; got 0. If the old one was wrong, or was "
    words += "set by the deadline, correct it"
    refused("contradiction", words, club.tell, 1, {("cem", "dee"): 1, ("ann", "bob"): 0})
    refused("contradiction", "have the outcome 1 already; got void", club.void, 1, [("ann", "bob")])
    refused("contradiction", "given twice, with 0 and 1", club.tell, 1, {("cem", "dee"): 0, ("dee", "cem"): 1})
    club.void(1)
    refused("contradiction", "have the outcome void already; got 1", club.tell, 1, {("cem", "dee"): 1})


def test_pairs_that_were_not_proposed_are_refused():
    club = playing()
    words = "'ann' and 'cem' are not a pair of proposal 1. Its pairs are ann + bob, cem + dee."
    refused("not-proposed", words, club.tell, 1, {("ann", "cem"): 1})
    refused("unknown-item", "did you mean 'ann'", club.tell, 1, {("anm", "cem"): 1})
    refused("bad-value", "(name, name, reward); got ('ann', 1)", club.tell, 1, [("ann", 1)])
    refused("bad-value", "outcomes must be a list", club.tell, 1, 7)
    refused("unknown-proposal", "there is no proposal 2; the last one is 1", club.tell, 2, {})
    refused("unknown-proposal", "must be a whole number", club.tell, "one", {})
    refused("unknown-proposal", "there was none yet", league().tell, 1, {})


def test_corrections_leave_a_trace():
    club = playing()
    refused("bad-value", "have no outcome yet, so there is nothing to correct", club.correct, 1, {("ann", "bob"): 1})
    club.tell(1, {("ann", "bob"): 1, ("cem", "dee"): VOID})
    assert club.correct(1, {("bob", "ann"): 0, ("cem", "dee"): VOID}) == Receipt(1, 1, 1, 0)
    assert club.log[-1].data == {"proposal": 1, "outcomes": [[1, 2, 1.0, 0.0]]}
    assert club.tell(1, {("ann", "bob"): 0}).repeated == 1  # what is true now is no news
    refused("contradiction", "have the outcome 0 already", club.tell, 1, {("ann", "bob"): 1})
    refused("reward-outside", "got 7", club.correct, 1, {("ann", "bob"): 7})


def test_voiding_what_is_left():
    club = playing()
    club.tell(1, {("ann", "bob"): 1})
    assert club.void(1) == Receipt(1, 1, 0, 0)
    assert club.void(1) == Receipt(1, 0, 0, 0)
    assert club.log[-1].data == {"proposal": 1, "outcomes": [[3, 4, None]]}


def test_only_what_is_due_expires():
    club = playing(deadline=60)
    club.wait(30)
    club.propose((1, 3))
    assert commands.expire(club.state, START) == []
    club.wait(30)
    assert [event.kind for event in club.log[-1:]] == ["expired"]
    assert list(club.state.open) == [2]
    refused("contradiction", "void already", club.tell, 1, {("ann", "bob"): 1})
    assert club.tell(2, {("ann", "cem"): 1}).waiting == 0


# Policies that play whole rounds


def test_whole_rounds_have_a_fixed_roster():
    club = SmallLeague(players=PEOPLE[:4], policy="adaptive-matching", options={"horizon": 1000})
    club.do("join", ["fay", "gus"])
    club.do("leave", ["gus"])
    club.do("leave", ["fay"])
    number = club.ask()["number"]
    for command, arguments in (("join", ["hal"]), ("leave", ["ann"]), ("rejoin", ["fay"])):
        refused("not-supported", "after the first proposal", club.do, command, arguments)
    refused("not-supported", "does not support exclusions", club.do, "exclude", [("ann", "bob")])
    refused("not-supported", "does not support wishes", club.do, "wish", [("ann", "bob")])
    refused("round-open", "waits for proposal 1", club.configure, policy="rank1-thompson")
    refused("not-supported", "rematches included", club.configure, no_rematch=1)
    club.void(number)
    club.ask()
    first = {tuple(pair): 1 for pair in club.record(1).state.ids}
    refused("not-supported", "has gone on from proposal 1", club.correct, 1, first)
    club.void(2)
    club.configure(policy="rank1-thompson")
    club.do("join", ["hal"])


def test_too_many_items_for_a_policy_are_refused():
    names = [f"p{k}" for k in range(6400)]
    SmallLeague(players=names)
    refused(
        "not-supported",
        "cucb stores a number per pair, and there would be",
        SmallLeague,
        players=names,
        policy="cucb",
    )
    club = SmallLeague(players=names)
    refused("not-supported", "cucb stores a number per pair", club.configure, policy="cucb")


def test_a_half_life_below_what_floats_can_hold_is_refused():
    for half_life in (5e-324, 1e-12):
        with pytest.raises(LeagueError, match=r"half_life must be at least 0\.001 proposals"):
            commands.create("club", players=["ann", "bob"], options={"half_life": half_life})


def test_an_error_shows_outcomes_exactly():
    club = playing(rewards="gaussian:0.5")
    club.tell(1, {("ann", "bob"): 0.987654321})
    words = "have the outcome 0.987654321 already; got 0.987654322"
    refused("contradiction", words, club.tell, 1, {("ann", "bob"): 0.987654322})
    words = "bernoulli rewards lie in [0, 1]; got 1.0000001"
    refused("reward-outside", words, playing().tell, 1, {("ann", "bob"): 1.0000001})


def test_a_league_has_a_limit_on_rules(monkeypatch):
    monkeypatch.setattr(commands, "MAX_RULES", 3)
    club = SmallLeague(players=["ann", "bob", "cem", "dee"])
    club.do("exclude", [(1, 2), (1, 3)])
    club.do("wish", [(3, 4)])
    for command, pair in (("exclude", (2, 3)), ("wish", (2, 4))):
        with pytest.raises(LeagueError, match=r"at most 3 exclusions and wishes .* got 4\. .*\(allow\)") as caught:
            club.do(command, [pair])
        assert caught.value.code == "too-many-rules"
    assert club.do("exclude", [(1, 2)]) == []  # nothing new
    club.do("allow", [(1, 2)])
    club.do("exclude", [(2, 3)])

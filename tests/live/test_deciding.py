"""Decisions: the same for the same inputs, within the rules, and recorded so that they can be taken again."""

import json
from itertools import permutations

import numpy as np
import pytest
from small_league import SmallLeague

from matchbandit.graphs import monopartite
from matchbandit.live.deciding import Decider
from matchbandit.live.errors import LeagueError
from matchbandit.live.model import LeagueModel
from matchbandit.live.state import State
from matchbandit.live.tally import key_of
from matchbandit.policies import CATALOGUE, policy
from matchbandit.policies.rank1_thompson import Rank1Thompson
from matchbandit.seeding import stream

DECIDING = [name for name, kind in CATALOGUE.items() if kind.decides_from_counts]
MATCHING = [name for name in DECIDING if "matching" in CATALOGUE[name].capabilities.selections]
PEOPLE = ["ann", "bob", "cem", "dee", "eve", "fay", "gus", "hal"]


def play(club, days, rng, *, present=1.0, told=1.0, check=None):
    """Ask and tell, with some away and some results late."""
    for _ in range(days):
        active = [k + 1 for k, there in enumerate(club.state.active) if there]
        there = [item for item in active if rng.random() < present]
        available = None if present == 1.0 or len(there) < 4 else there
        data = club.ask(available=available)
        if check is not None:
            check(data)
        for a, b in data["pairs"]:
            if rng.random() < told:
                club.tell(data["number"], {(a, b): float(rng.random() < 0.1 * min(a, 9) * 0.1 * min(b, 9))})


def redecided(club, data):
    """The recorded proposal, decided again by someone who has only the log."""
    state = State().fold(club.log[: data["decided_at"]])
    decider = Decider()
    inputs = decider.prepare(state, club.directory, club.now, available=data["available"], fixed=data["fixed"])
    return decider.decide(inputs).data


@pytest.mark.parametrize("name", DECIDING)
def test_a_decision_can_be_taken_again_from_the_log(name):
    rng = np.random.default_rng(1)
    club = SmallLeague(players=PEOPLE[:6], policy=name, rewards="bernoulli", seed=5, shadow="rank1-thompson")
    play(club, 3, rng, told=0.7)
    club.do("join", ["zoe", "yan"])
    play(club, 3, rng, present=0.8, told=0.7)
    club.do("leave", ["ann"])
    if CATALOGUE[name].capabilities.constrained:
        club.do("exclude", [("bob", "cem")])
        club.configure(no_rematch=1)
        club.do("wish", [("dee", "zoe")])
    play(club, 3, rng)
    for data in [event.data for event in club.log if event.kind == "proposed"]:
        again = redecided(club, data)
        assert {**again, "due": None} == {**data, "due": None}


def test_a_decision_does_not_depend_on_those_before():
    rng = np.random.default_rng(2)
    club = SmallLeague(players=PEOPLE, seed=1, options={"half_life": 4})
    play(club, 5, rng)
    old = club.decider.prepare(club.state, club.directory, club.now)
    first = club.decider.decide(old)
    play(club, 2, rng)
    club.do("join", ["zoe"])
    new = club.decider.prepare(club.state, club.directory, club.now)
    club.decider.decide(new)
    assert club.decider.decide(old) == first  # the cached policy knows more by now
    assert club.decider.decide(new) == Decider().decide(new)
    assert club.decider.decide(old) == Decider().decide(old) == first


def test_an_older_decision_is_not_taken_with_newer_results():
    rng = np.random.default_rng(12)
    club = SmallLeague(players=PEOPLE, seed=1, policy="cucb")
    for _ in range(8):
        old = club.decider.prepare(club.state, club.directory, club.now)
        play(club, 1, rng)
        club.decider.decide(club.decider.prepare(club.state, club.directory, club.now))
        assert club.decider.decide(old) == Decider().decide(old)


def test_only_what_has_changed_is_put(monkeypatch):
    rng = np.random.default_rng(13)
    club = SmallLeague(players=PEOPLE, seed=1)
    play(club, 10, rng)
    club.ask()
    sizes = []
    put = Rank1Thompson.set_counts
    monkeypatch.setattr(
        Rank1Thompson, "set_counts", lambda self, *counts: (sizes.append(len(counts[0])), put(self, *counts))
    )
    play(club, 3, rng)
    assert sizes == [4, 4]  # the first had nothing new


def test_the_model_is_up_to_date_even_if_all_pairs_are_fixed():
    club = SmallLeague(players=PEOPLE[:2])
    before = club.ask()["estimates"][0]
    club.tell(1, {(1, 2): 0})
    club.do("wish", [(1, 2)])
    data = club.ask()
    assert data["fixed"] == [[1, 2]]
    assert data["estimates"][0] < 0.95 * before
    assert SmallLeague(players=PEOPLE[:2]).ask()["estimates"] == [before]


def fractional(**settings):
    """A league whose pairs were paid fractions."""
    club = SmallLeague(players=PEOPLE[:4], rewards="binomial:10", seed=6, **settings)
    rng = np.random.default_rng(14)
    for _ in range(6):
        data = club.ask()
        club.tell(data["number"], [(a, b, rng.integers(0, 11) / 10) for a, b in data["pairs"]])
    return club


def test_the_model_counts_rewards_not_coins():
    club = fractional(policy="cts-beta")
    results = club.state.tally.results(6)
    assert results.sums.tolist() != results.paid.tolist()
    u = LeagueModel(club.state).posterior.strengths
    data = club.ask()
    assert data["estimates"] == pytest.approx([u[a - 1] * u[b - 1] for a, b in data["pairs"]], rel=1e-5)


def test_a_shadow_counts_in_its_own_way_and_draws_its_own():
    club = fractional(shadow="cts-beta")
    results = club.state.tally.results(6)
    data = club.ask()
    built = policy("cts-beta").build(monopartite(4))
    edges, plays, sums = sorted_results(built, results)
    built.set_counts(edges, plays, np.rint(sums))
    decision = built.decision(stream(6, "shadow", "club", data["number"]))
    assert data["shadow"]["pairs"] == (decision.pairs + 1).tolist()
    twin = SmallLeague(players=PEOPLE, shadow="rank1-thompson")
    proposals = [twin.ask() for _ in range(5)]
    assert any(data["shadow"]["pairs"] != data["pairs"] for data in proposals)


@pytest.mark.parametrize("name", MATCHING)
@pytest.mark.parametrize("sides", [False, True])
def test_proposals_keep_the_rules(name, sides):
    kind = CATALOGUE[name]
    if sides and "bipartite" not in kind.capabilities.graphs:
        return
    items = {"sides": {"ads": ["a", "b", "c"], "slots": ["w", "x", "y", "z"]}} if sides else {"players": PEOPLE[:7]}
    constrained = kind.capabilities.constrained
    club = SmallLeague(policy=name, no_rematch=1 if constrained else 0, **items)
    excluded = {(1, 4), (2, 5)} if sides else {(1, 2), (3, 4)}
    if constrained:
        club.do("exclude", sorted(excluded))
    last: set[tuple[int, int]] = set()

    def check(data):
        nonlocal last
        pairs = {tuple(pair) for pair in data["pairs"]}
        flat = [item for pair in pairs for item in pair]
        assert len(flat) == len(set(flat))
        assert not set(flat) & set(data["byes"])
        there = set(data["available"] or range(1, 8))
        assert set(flat) | set(data["byes"]) == there
        if constrained:
            assert not pairs & (excluded | last)
        last = pairs
        assert len(data["values"]) == len(data["estimates"]) == len(pairs)
        assert data["expected"] == pytest.approx(sum(data["estimates"]), abs=1e-4)
        assert data["best"] >= data["expected"]

    play(club, 8, np.random.default_rng(3), present=0.85, told=0.8, check=check)


@pytest.mark.parametrize("selection", ["pair", "matching"])
def test_the_best_guess_is_the_best_of_what_is_allowed(selection):
    rng = np.random.default_rng(4)
    club = SmallLeague(players=PEOPLE[:6], selection=selection)
    club.do("exclude", [(5, 6), (1, 6)])
    play(club, 12, rng)
    data = club.ask()
    u = LeagueModel(State().fold(club.log[:-1])).posterior.strengths
    worth = []
    for order in permutations(range(6)):
        pairs = [tuple(sorted(order[k : k + 2])) for k in range(0, 2 if selection == "pair" else 6, 2)]
        if not {(4, 5), (0, 5)} & set(pairs):
            worth.append((sum(u[i] * u[j] for i, j in pairs), sorted([i + 1, j + 1] for i, j in pairs)))
    best, pairs = max(worth)
    assert data["best"] == pytest.approx(best, rel=1e-5)
    assert sorted(data["best_pairs"]) == pairs
    estimates = [u[a - 1] * u[b - 1] for a, b in data["pairs"]]
    assert data["estimates"] == pytest.approx(estimates, rel=1e-5)


def test_the_draw_is_recorded_and_maximised():
    club = SmallLeague(players=PEOPLE[:4], policy="cts-beta", seed=3)
    play(club, 5, np.random.default_rng(5))
    before = State().fold(club.log)
    data = club.ask()
    results = before.tally.results(before.last_number)
    built = policy("cts-beta").build(monopartite(4))
    built.set_counts(*sorted_results(built, results))
    decision = built.decision(stream(3, "decision", "club", data["number"]))
    assert data["values"] == pytest.approx(decision.values.tolist(), rel=1e-5)
    assert data["pairs"] == (decision.pairs + 1).tolist()


def sorted_results(built, results):
    edges = built.graph.edges(np.stack([results.a - 1, results.b - 1], axis=1))
    order = np.argsort(edges)
    return edges[order], results.plays[order], results.sums[order]


def test_open_pairs_count_as_played():
    club = SmallLeague(players=PEOPLE[:4], policy="cucb")
    tour = [tuple(map(tuple, club.ask()["pairs"])) for _ in range(3)]
    assert len({pair for pairs in tour for pair in pairs}) == 6  # the opening tour goes on without results


def test_wishes_are_played_and_fulfilled():
    club = SmallLeague(players=PEOPLE[:6])
    club.do("wish", [("ann", "fay"), ("ann", "bob")])
    data = club.ask(fixed=[("cem", "dee")])
    assert data["fixed"] == [[3, 4], [1, 6]]
    assert data["pairs"] == [[3, 4], [1, 6], [2, 5]]
    assert data["values"][:2] == [None, None]
    assert list(club.state.wishes) == [key_of(1, 2)]
    assert [1, 2] in club.ask()["pairs"]
    assert not club.state.wishes
    both = SmallLeague(players=PEOPLE[:2])
    both.do("wish", [("ann", "bob")])
    assert both.ask()["pairs"] == [[1, 2]]


def test_who_is_left_is_told_why():
    club = SmallLeague(players=PEOPLE[:5], no_rematch=9)
    club.do("exclude", [(1, k) for k in range(2, 6)])
    data = club.ask()
    assert data["notes"] == [["turn", 1]]  # nobody else could be spared
    club.do("leave", ["eve"])
    data = club.ask()
    assert len(data["pairs"]) == 1
    assert ["nobody", 1, "excluded"] in data["notes"]
    assert len(data["notes"]) == 2
    assert set(data["byes"]) == {item for _, item, *_ in data["notes"]}


def test_new_items_are_paired_and_nobody_is_forgotten():
    club = SmallLeague(players=PEOPLE[:4], seed=2)
    play(club, 30, np.random.default_rng(6))
    before = club.state.tally.results(club.state.last_number)
    club.do("join", ["zoe", "yan"])
    data = club.ask()
    assert {item for pair in data["pairs"] for item in pair} == {1, 2, 3, 4, 5, 6}
    after = club.state.tally.results(club.state.last_number)
    assert after.counts.tolist() == before.counts.tolist()


def test_a_shadow_decides_beside_and_changes_nothing():
    alone, shadowed = (SmallLeague(players=PEOPLE, seed=9, shadow=shadow) for shadow in (None, "cts-beta"))
    for club in (alone, shadowed):
        play(club, 6, np.random.default_rng(8))
    proposals = [[event.data for event in club.log if event.kind == "proposed"] for club in (alone, shadowed)]
    assert [data["pairs"] for data in proposals[0]] == [data["pairs"] for data in proposals[1]]
    assert all(data["shadow"] is None for data in proposals[0])
    differ = 0
    for data in proposals[1]:
        shadow = data["shadow"]
        assert shadow["policy"] == "cts-beta"
        common = {tuple(pair) for pair in shadow["pairs"]} & {tuple(pair) for pair in data["pairs"]}
        assert shadow["common"] == len(common)
        differ += shadow["common"] < 4
    assert differ


def test_a_shadow_that_fails_does_no_harm():
    club = SmallLeague(players=[*PEOPLE, "ida", "joe", "kim", "lea"], shadow="escb")
    data = club.ask()
    assert len(data["pairs"]) == 6
    assert data["shadow"].keys() == {"policy", "error"}


def test_deadlines_are_counted_from_now():
    club = SmallLeague(players=PEOPLE, deadline=90)
    assert club.ask()["due"] == "2026-11-16T09:01:30.000000Z"


def test_enumerating_policies_see_who_is_there_only():
    club = SmallLeague(players=[f"p{k}" for k in range(1, 31)], policy="escb")
    data = club.ask(available=list(range(11, 19)))
    assert len(data["pairs"]) == 4
    with pytest.raises(LeagueError, match="escb") as caught:
        club.ask()
    assert caught.value.code == "not-supported"
    strict = SmallLeague(players=PEOPLE, policy="aescb", no_rematch=1)
    strict.ask()
    with pytest.raises(LeagueError, match="aescb cannot leave pairs out"):
        strict.ask()


# Whole rounds


@pytest.mark.parametrize("name", ["adaptive-matching", "uniform", "rank1-certify"])
def test_whole_rounds_go_on_as_the_policy_itself_would(name):
    options = {"horizon": 1000} if CATALOGUE[name].capabilities.horizon else {}
    club = SmallLeague(players=["away", *PEOPLE[:6]], policy=name, options=options, seed=4)
    club.do("leave", ["away"])
    seed = int(stream(4, "decision", "club", 0).integers(2**62))
    extra = {"selection": "matching"} if len(CATALOGUE[name].capabilities.selections) > 1 else {}
    built = policy(name, **extra).build(monopartite(6), horizon=options.get("horizon"), seed=seed)
    rng = np.random.default_rng(9)
    for number in range(1, 16):
        data = club.ask()
        assert data["pairs"] == (built.ask() + 2).tolist()
        rewards = np.where(rng.random(3) < 0.2, np.nan, rng.random(3) < 0.6)
        for place in rng.permutation(3):  # one by one, in any order
            a, b = data["pairs"][place]
            reward = rewards[place]
            if np.isnan(reward):
                club.void(number, [(a, b)])
            else:
                club.tell(number, {(b, a): 1 - reward})
                club.correct(number, {(a, b): reward})
        built.tell(built.ask(), rewards)
        if number % 2:  # a restart
            club.state = State.from_snapshot(json.loads(json.dumps(club.state.snapshot())))
            club.decider = Decider()
    assert redecided(club, data)["pairs"] == data["pairs"]


def test_whole_rounds_come_one_after_the_other():
    club = SmallLeague(players=PEOPLE[:4], policy="uniform")
    number = club.ask()["number"]
    with pytest.raises(LeagueError, match="proposal 1 still waits") as caught:
        club.ask()
    assert caught.value.code == "round-open"
    club.void(number)
    for options in ({"available": ["ann", "bob"]}, {"fixed": [("ann", "bob")]}):
        with pytest.raises(LeagueError, match="with all its items"):
            club.ask(**options)
    club.do("forget", "ann")
    with pytest.raises(LeagueError, match="one of them has left"):
        club.ask()


def test_whole_rounds_may_begin_from_past_results():
    club = SmallLeague(policy="rank1-certify", past=[("a", "b", 5, 5), ("c", "d", 5, 0), ("a", "c", 5, 2)])
    assert club.ask()["pairs"]
    odd = SmallLeague(players=PEOPLE[:3], policy="adaptive-matching", options={"horizon": 9})
    with pytest.raises(LeagueError, match="even number of players") as caught:
        odd.ask()
    assert caught.value.code == "not-supported"


def test_a_policy_that_was_left_and_taken_again_decides_from_the_sums_that_it_has_now():
    club = SmallLeague(players=PEOPLE[:6], policy="cts-beta", rewards="bernoulli", seed=3)
    for _ in range(20):
        data = club.ask()
        club.tell(data["number"], {(a, b): 0.3 for a, b in data["pairs"]})
    club.configure(policy="rank1-thompson")
    club.configure(policy="cts-beta")  # what coins had credited is credited anew
    data = club.ask()
    assert redecided(club, data)["values"] == data["values"]


@pytest.mark.parametrize("name", ["escb", "ols-ucb", "rank1-thompson"])
def test_fixed_pairs_may_take_a_whole_side(name):
    club = SmallLeague(sides={"ads": ["a", "b", "c"], "slots": ["top"]}, policy=name)
    assert club.ask(fixed=[("a", "top")])["pairs"] == [[1, 4]]


def test_a_league_of_single_pairs_takes_one_fixed_pair():
    club = SmallLeague(players=PEOPLE, selection="pair")
    with pytest.raises(LeagueError, match="one pair at a time; got 2 fixed ones"):
        club.ask(fixed=[("ann", "bob"), ("cem", "dee")])
    assert club.ask(fixed=[("ann", "bob")])["pairs"] == [[1, 2]]

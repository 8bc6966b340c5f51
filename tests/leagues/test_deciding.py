"""Decisions: the same for the same league, under the rules, with the numbers behind the choice."""

from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from playing import play, product

from matchbandit.leagues import VOID, League, LeagueError, Store, deciding
from matchbandit.leagues.constraints import assign_bye
from matchbandit.leagues.records import Proposal
from matchbandit.leagues.state import CachedLeague
from matchbandit.policies import CATALOGUE

PEOPLE = ["ann", "bob", "cem", "dee", "eve", "fay", "gus"]
POLICIES = [name for name, kind in CATALOGUE.items() if kind.decides_from_counts]
MATCHING = [name for name in POLICIES if "matching" in CATALOGUE[name].capabilities.selections]


def inputs_of(league: League) -> deciding.Inputs:
    with league.store.reading(league.slug) as (connection, cached, row):
        return deciding.prepare(connection, cached.read(connection, row))


def choice(proposal: Proposal) -> list[Any]:
    return [
        proposal.pairs,
        proposal.byes,
        proposal.expected,
        proposal.low,
        proposal.high,
        proposal.best,
        proposal.notes,
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_ask_of_an_imported_league_decides_the_same(policy, sqlite_store, tmp_path):
    league = sqlite_store.create("club", players=PEOPLE[:6], policy=policy, seed=5)
    play(league, 4, product)
    league.join("zoe", "yan")
    league.leave("ann", "bob")
    if CATALOGUE[policy].capabilities.constrained:
        league.exclude([("cem", "dee")])
    play(league, 3, product, seed=1)
    file = league.export(tmp_path / "club.gz")
    sqlite_store.create("other", players=PEOPLE).ask()  # other leagues change nothing
    with Store(f"sqlite:///{tmp_path / 'new.db'}") as new:
        again = new.import_league(file)
        for _ in range(2):
            assert choice(again.ask()) == choice(league.ask())


def test_ask_with_another_seed_decides_otherwise(sqlite_store):
    leagues = [sqlite_store.create(f"club{seed}", players=PEOPLE, seed=seed) for seed in range(3)]
    proposals = [[pair.ids for _ in range(5) for pair in league.ask().pairs] for league in leagues]
    assert proposals[0] != proposals[1] != proposals[2]


def test_decide_for_an_older_state_ignores_what_the_cached_policy_has_learned(sqlite_store):
    league = sqlite_store.create("club", players=PEOPLE[:6], options={"half_life": 4})
    cached = CachedLeague()
    for seed in range(4):
        play(league, 2, product, seed=seed)
        old = inputs_of(league)
        play(league, 1, product, seed=10 + seed)
        new = inputs_of(league)
        expected = deciding.decide(old), deciding.decide(new)
        assert (deciding.decide(new, cached), deciding.decide(old, cached), deciding.decide(new, cached)) == (
            expected[1], expected[0], expected[1],
        )  # fmt: skip


@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize("policy", MATCHING)
def test_ask_keeps_the_rules(policy, sides, sqlite_store):
    capabilities = CATALOGUE[policy].capabilities
    if sides and "bipartite" not in capabilities.graphs:
        return
    kind: dict[str, Any] = {"players": PEOPLE}
    if sides:
        kind = {"sides": {"ads": ["a", "b", "c"], "slots": ["w", "x", "y", "z"]}}
    excluded = {(1, 4), (2, 5)} if capabilities.constrained else set()
    league = sqlite_store.create("club", policy=policy, no_rematch=int(capabilities.constrained), **kind)
    league.exclude(excluded)
    last: set[tuple[int, int]] = set()
    names = {item.name for item in league.items()}
    for proposal in play(league, 6, product):
        pairs = {pair.ids for pair in proposal.pairs}
        assert sorted([*(name for pair in proposal.pairs for name in pair.names), *proposal.byes]) == sorted(names)
        assert not pairs & excluded
        if capabilities.constrained:
            assert not pairs & last
        last = pairs
        if proposal.expected is not None and proposal.best is not None:
            assert proposal.expected == pytest.approx(sum(pair.expected or 0.0 for pair in proposal.pairs))
            assert proposal.best >= proposal.expected


@pytest.mark.parametrize("selection", ["pair", "matching"])
def test_best_is_the_best_guess_under_the_rules(selection, sqlite_store):
    league = sqlite_store.create("club", players=PEOPLE[:6], selection=selection)
    league.exclude([(5, 6), (1, 6)])
    play(league, 12, product)
    strength = {row.id: row.estimate for row in league.ranking()}
    proposal = league.ask()
    totals = []
    for order in permutations(range(1, 7)):
        pairs = [tuple(sorted(order[k : k + 2])) for k in range(0, 2 if selection == "pair" else 6, 2)]
        if not {(5, 6), (1, 6)} & set(pairs):
            totals.append(sum(strength[a] * strength[b] for a, b in pairs))
    assert proposal.best == pytest.approx(max(totals), rel=1e-5)
    for pair in proposal.pairs:
        assert pair.expected == pytest.approx(strength[pair.ids[0]] * strength[pair.ids[1]], rel=1e-5)


def test_ask_without_results_expects_nothing(sqlite_store):
    league = sqlite_store.create("club", players=PEOPLE[:4])
    proposals = [league.ask(), league.proposal(1)]
    league.tell(1, {pair.ids: 1 for pair in proposals[0].pairs})
    proposals.append(league.proposal(1))
    for proposal in proposals:
        assert (proposal.expected, proposal.low, proposal.high, proposal.best) == (None,) * 4
        assert {(pair.expected, pair.low, pair.high) for pair in proposal.pairs} == {(None,) * 3}
    second = league.ask()
    assert second.low is not None and second.expected is not None and second.high is not None  # noqa: PT018
    assert second.low < second.expected < second.high


def test_ask_counts_open_pairs_as_played(sqlite_store):
    league = sqlite_store.create("club", players=PEOPLE[:4], policy="cucb")
    assert len({pair.ids for _ in range(3) for pair in league.ask().pairs}) == 6  # each pair once


def test_ask_with_record_propensity_records_how_often_each_pair_is_drawn(sqlite_store):
    league = sqlite_store.create("club", players=PEOPLE[:4], record_propensity=199, seed=1)
    plain = sqlite_store.create("plain", players=PEOPLE[:4], seed=1)
    play(league, 3, product)
    play(plain, 3, product)
    propensities = [pair.propensity for pair in league.ask().pairs]
    inputs = inputs_of(plain)
    n_draws = 400
    drawn = Counter(
        pair.ids
        for k in range(n_draws)
        for pair in deciding.decide(
            replace(inputs, state=replace(inputs.state, league=replace(inputs.state.league, seed=k)))
        ).pairs
    )
    pairs = [pair.ids for pair in league.proposal(4).pairs]
    shares = [drawn[pair] / n_draws for pair in pairs]
    assert propensities == pytest.approx(shares, abs=4 * (0.25 / 200 + 0.25 / n_draws) ** 0.5)
    assert all(propensity is not None and 0 < propensity <= 1 for propensity in propensities)


def test_notes_say_why_somebody_sits_out(sqlite_store):
    league = sqlite_store.create("club", players=PEOPLE[:5], no_rematch=9)
    league.exclude([("ann", name) for name in PEOPLE[1:5]])
    assert league.ask().notes == ["ann sits out: it is their turn."]  # without anybody else a pair would be lost
    league.leave("eve")
    proposal = league.ask()
    assert len(proposal.pairs) == 1
    assert "ann sits out: all partners are excluded. Remove an exclusion (unexclude)." in proposal.notes
    assert len(proposal.notes) == 2


def test_ask_of_many_players_with_rules_says_how_near_the_optimum_it_is(sqlite_store):
    n = 302
    league = sqlite_store.create("club", players=[f"p{k}" for k in range(n)], policy="cts-beta")
    league.exclude([(1, 2)])
    inputs = inputs_of(league)
    draft = deciding.decide(inputs)
    assert deciding.is_slow(inputs)
    assert len(draft.pairs) == n // 2
    assert not draft.exact
    assert draft.bound is not None
    assert [code for code, *_ in draft.notes] == ["near"]
    assert sum(pair.value or 0.0 for pair in draft.pairs) <= draft.bound * (1 + 1e-9)
    small = sqlite_store.create("small", players=PEOPLE[:6])
    small.exclude([(1, 2)])
    assert deciding.decide(inputs_of(small)).exact


def test_ask_with_a_policy_that_enumerates_sees_the_available_only(sqlite_store):
    league = sqlite_store.create("club", players=[f"p{k}" for k in range(30)], policy="escb")
    assert len(league.ask(available=range(11, 19)).pairs) == 4
    with pytest.raises(LeagueError, match="escb") as caught:
        league.ask()
    assert caught.value.code == "not-supported"
    strict = sqlite_store.create("strict", players=PEOPLE[:4], policy="aescb", no_rematch=1)
    strict.ask()
    with pytest.raises(LeagueError, match="aescb cannot leave pairs out"):
        strict.ask()


@pytest.mark.parametrize("policy", ["escb", "ols-ucb", "rank1-thompson"])
def test_fixed_pairs_may_use_up_a_side(policy, sqlite_store):
    league = sqlite_store.create("market", sides={"ads": ["a", "b", "c"], "slots": ["top"]}, policy=policy)
    assert [pair.ids for pair in league.ask(fixed=[("a", "top")]).pairs] == [(1, 4)]


@pytest.mark.parametrize(
    ("n_items", "settings", "slow"),
    [
        (90, {"policy": "cts-beta"}, False),
        (120, {"policy": "cts-beta"}, True),
        (120, {}, False),
        (20, {"policy": "cts-beta", "record_propensity": 100}, True),
        (20, {"record_propensity": 100}, False),
        (60, {"record_propensity": 100}, True),
    ],
)
def test_is_slow_depends_on_the_pairs_that_are_weighed(n_items, settings, slow, sqlite_store):
    league = sqlite_store.create("club", players=[f"p{k}" for k in range(n_items)], **settings)
    assert deciding.is_slow(inputs_of(league)) is slow


def test_decide_leaves_its_inputs_unchanged(sqlite_store):
    league = sqlite_store.create("club", players=PEOPLE)
    play(league, 3, product)
    inputs = inputs_of(league)
    present = inputs.constraints.present.copy()
    assert deciding.decide(inputs) == deciding.decide(inputs)
    assert np.array_equal(inputs.constraints.present, present)
    assert assign_bye(inputs.constraints).bye is not None


def test_a_policy_in_memory_forgets_results_that_were_corrected_away(sqlite_url, tmp_path):
    with Store(sqlite_url) as store:
        club = store.create("club", players=[f"p{k}" for k in range(6)], policy="cucb", seed=1)
        for _ in range(4):
            proposal = club.ask()
            club.tell(proposal.number, {pair: k % 2 for k, pair in enumerate(proposal.pairs)})
        club.ask()
        club.correct(2, dict.fromkeys(club.proposal(2).pairs, VOID))
        store.backup(tmp_path / "copy.db")
        with Store(f"sqlite:///{tmp_path}/copy.db") as copy:
            here, there = club.ask().pairs, copy.open("club").ask().pairs
        assert [pair.ids for pair in here] == [pair.ids for pair in there]
        assert [pair.value for pair in here] == pytest.approx([pair.value for pair in there])

"""Decisions from counts alone: against brute force, whatever came before, under any rules."""

import re
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from reference.allowed import all_largest, heaviest

import matchbandit as mb
from matchbandit.allowed import Allowed
from matchbandit.kl import kl_upper
from matchbandit.policies import CATALOGUE, check_policy, counts_policy
from matchbandit.policies.check import ContractError
from matchbandit.policies.decision import by_products
from matchbandit.policies.matching.cts_beta import CtsBeta
from matchbandit.policies.matching.cucb import Cucb
from matchbandit.policies.pair.kl_ucb import KlUcb
from matchbandit.policies.rank1_thompson import Rank1Thompson
from matchbandit.rewards import Binomial, Gaussian
from matchbandit.seeding import stream
from matchbandit.strengths import Posterior

DECIDING = [name for name, kind in CATALOGUE.items() if kind.decides_from_counts]
PLAYERS, SLOTS = mb.monopartite(6), mb.bipartite(3, 4)


def rng():
    return stream(0, "test")


def some_counts(graph, seed, *, least=0):
    """Plays and sums of all pairs; some were never played, if `least` is 0."""
    noise = np.random.default_rng(seed)
    counts = noise.integers(least, 9, size=graph.n_pairs)
    return counts, noise.binomial(counts, noise.random(graph.n_pairs)).astype(float)


def some_rules(graph, seed):
    noise = np.random.default_rng(seed + 1000)
    return Allowed(
        graph,
        present=noise.random(graph.n_items) < 0.85,
        forbidden=np.flatnonzero(noise.random(graph.n_pairs) < 0.3),
    )


def built(kind, graph, counts=None, sums=None, rewards=None, **options):
    one = mb.policy(kind, **options).build(graph, rewards=rewards, seed=1)
    if counts is not None:
        one.set_counts(np.arange(graph.n_pairs), counts, sums)
    return one


def is_heaviest(decision, allowed, weights):
    """Is it of the most pairs, and of those of the greatest sum of these weights? Are its values these weights?"""
    graph = allowed.graph
    edges = graph.edges(decision.pairs) if len(decision.pairs) else allowed.edges[:0]
    count, total = heaviest(allowed.graph.ends(allowed.edges).tolist(), weights[allowed.edges])
    there = allowed.without_pair_rules.edges
    most = heaviest(allowed.graph.ends(there).tolist(), weights[there])[1]
    return (
        allowed.allows(edges).all()
        and len(edges) == count
        and decision.value == pytest.approx(total, abs=1e-9)
        and decision.values.tolist() == pytest.approx(weights[edges].tolist())
        and decision.bound == pytest.approx(max(most, total), abs=1e-9)
        and decision.exact
    )


# --- against brute force ---


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("graph", [PLAYERS, mb.monopartite(8), SLOTS], ids=str)
def test_cucb_plays_the_greatest_sum_of_upper_bounds_of_what_is_allowed(graph, seed):
    counts, sums = some_counts(graph, seed, least=1)
    t = counts.sum() // graph.matching_size + 1
    bounds = sums / counts + np.sqrt(1.5 * log(t) / counts)
    allowed = some_rules(graph, seed)
    assert is_heaviest(built("cucb", graph, counts, sums).decision(rng(), allowed=allowed), allowed, bounds)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("graph", [PLAYERS, SLOTS], ids=str)
def test_thompson_sampling_by_pairs_plays_the_greatest_sum_of_draws_of_what_is_allowed(graph, seed):
    counts, sums = some_counts(graph, seed, least=1)
    allowed = some_rules(graph, seed)
    same = rng()
    draws = np.array([same.beta(1 + s, 1 + n - s) for n, s in zip(counts.tolist(), sums.tolist(), strict=True)])
    assert is_heaviest(built("cts-beta", graph, counts, sums).decision(rng(), allowed=allowed), allowed, draws)
    same = rng()
    draws = np.array([s / n + 0.5 / sqrt(n) * same.standard_normal() for n, s in zip(counts, sums, strict=True)])
    assert is_heaviest(built("cts-gaussian", graph, counts, sums).decision(rng(), allowed=allowed), allowed, draws)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("graph", [mb.monopartite(7), mb.monopartite(8), SLOTS], ids=str)
def test_rank1_thompson_plays_the_greatest_sum_of_products_of_what_is_allowed(storage, graph, seed):
    counts, sums = some_counts(graph, seed)
    allowed = some_rules(graph, seed)
    played = np.flatnonzero(counts)
    posterior = Posterior.fit(graph, mb.Bernoulli(), played, counts[played].astype(float), sums[played])
    assert (posterior.factor is None) == (storage == "sparse")
    products = np.exp(posterior.draw(rng())[allowed.graph.ends(np.arange(graph.n_pairs))].sum(axis=1))
    one = built(Rank1Thompson, graph, counts, sums, selection="matching")
    assert is_heaviest(one.decision(rng(), allowed=allowed), allowed, products)
    assert is_heaviest(one.decision(rng()), Allowed(graph), products)
    pair = built(Rank1Thompson, graph, counts, sums, selection="pair").decision(rng(), allowed=allowed)
    inside = products[allowed.edges]
    assert pair.values.tolist() == pytest.approx([inside.max()] if len(inside) else [])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("name", "options"), [("escb", {}), ("escb", {"version": 1}), ("ols-ucb", {}), ("escb", {"exploration": "full"})]
)
def test_indices_of_whole_matchings_are_greatest_among_what_is_allowed(name, options, seed):
    graph = [PLAYERS, SLOTS, mb.monopartite(8)][seed % 3]
    counts, sums = some_counts(graph, seed, least=1)
    allowed = some_rules(graph, seed)
    one = built(name, graph, counts, sums, **options)
    decision = one.decision(rng(), allowed=allowed)
    listed = [allowed.edges[of] for of in all_largest(allowed.graph.ends(allowed.edges).tolist())]

    def index(edges):
        m = graph.matching_size
        log_t = log(counts.sum() // m + 1)
        n, mean = counts[edges], sums[edges] / counts[edges]
        if name == "ols-ucb":
            f = log_t + (m + 2) * log(log_t) + m / 2 * log(1 + np.e)
            return mean.sum() + sqrt(f * (1 / n).sum())
        f = log_t + (4 * m * log(log_t) if options.get("exploration") == "full" else 0)
        if options.get("version") != 1:
            return mean.sum() + sqrt(f / 2 * (1 / n).sum())
        from matchbandit.policies.matching.escb import kl_index

        return kl_index(counts, sums, np.asarray(edges), f, -np.inf)

    assert len(decision.pairs) == len(listed[0])
    assert decision.value == pytest.approx(max(map(index, listed)), abs=1e-5)
    chosen = np.sort(graph.edges(decision.pairs))
    assert allowed.allows(chosen).all()
    assert index(chosen) == pytest.approx(decision.value, abs=1e-5)
    assert decision.bound >= decision.value


@pytest.mark.parametrize("seed", range(5))
def test_kl_ucb_plays_the_greatest_bound_of_what_is_allowed(seed):
    noise = np.random.default_rng(seed)
    counts = noise.integers(20, 80, size=15)  # so many that no bound is 1
    sums = noise.binomial(counts, noise.uniform(0.1, 0.8, size=15)).astype(float)
    allowed = some_rules(PLAYERS, seed)
    t = counts.sum() + 1
    level = log(t) + 3 * log(log(t))
    bounds = np.array([kl_upper(s / n, level / n) for n, s in zip(counts, sums, strict=True)])
    decision = built("kl-ucb", PLAYERS, counts, sums).decision(rng(), allowed=allowed)
    best = allowed.edges[int(np.argmax(bounds[allowed.edges]))]
    assert decision.pairs.tolist() == PLAYERS.pairs[[best]].tolist()
    assert decision.values[0] == bounds[best]
    assert decision.bound == bounds[allowed.without_pair_rules.edges].max()


@pytest.mark.parametrize("seed", range(4))
def test_track_and_stop_plays_who_lags_behind_most_of_what_is_allowed(seed):
    counts, sums = some_counts(SLOTS, seed, least=3)
    allowed = some_rules(SLOTS, seed)
    one = built("track-and-stop", SLOTS, counts, sums)
    edge = SLOTS.edges(one.decide(rng(), allowed=allowed))[0]
    from matchbandit.policies.pair.track_and_stop import optimal_proportions

    w = np.empty(SLOTS.n_pairs)
    optimal_proportions(mb.Bernoulli().noise, sums / counts, w)
    behind = (counts.sum() * w - counts)[allowed.edges]
    assert edge == allowed.edges[int(np.argmax(behind >= behind.max() - 1e-9))]


def test_track_and_stop_plays_its_answer_if_that_is_allowed():
    one = built("track-and-stop", SLOTS, np.full(12, 1000), np.arange(12) * 80.0)
    assert one.decide(rng()).tolist() == [[2, 3]]
    assert one.decide(rng(), allowed=SLOTS.pairs[:4]).tolist() != [[2, 3]]
    few = built("track-and-stop", SLOTS, np.full(12, 2), np.r_[np.zeros(11), 2.0])
    waiting = [[2, 3]] * 500  # nothing is certain before the results are there
    assert few.decide(rng(), waiting=waiting).tolist() != [[2, 3]]


# --- the same functions as ask and tell ---


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [n for n in DECIDING if n not in ("rank1-thompson", "cts-beta", "cts-gaussian")])
def test_a_decision_is_what_ask_would_play(name):
    """Without rules, policies that draw nothing: the decision before each round is the round."""
    noise = np.random.default_rng(3)
    one = mb.policy(name).build(PLAYERS, seed=2)
    for _ in range(60):
        decision = one.decide(rng())
        pairs = one.ask()
        assert sorted(decision.tolist()) == sorted(np.asarray(pairs).tolist())
        one.tell(pairs, noise.random(len(pairs)) < 0.2 + 0.1 * pairs.min(axis=1))
        if one.done:
            break


@pytest.mark.parametrize("name", ["cts-beta", "cts-gaussian"])
def test_a_decision_of_draws_is_what_ask_would_play_with_that_stream(name):
    noise = np.random.default_rng(3)
    one = mb.policy(name).build(PLAYERS, seed=2)
    for _ in range(30):
        same = np.random.default_rng()
        same.bit_generator.state = one.rng.bit_generator.state
        decision = one.decide(same)
        pairs = one.ask()
        assert sorted(decision.tolist()) == sorted(np.asarray(pairs).tolist())
        one.tell(pairs, noise.random(len(pairs)) < 0.5)


def test_decisions_do_not_move_what_is_asked(storage):
    noise, rewards = np.random.default_rng(3), np.random.default_rng(4)
    one, twin = built(Rank1Thompson, mb.monopartite(9)), built(Rank1Thompson, mb.monopartite(9))
    for _ in range(40):
        one.decide(noise, allowed=mb.monopartite(9).pairs[::2])
        assert one.ask().tolist() == twin.ask().tolist()
        one.decide(noise)
        paid = (rewards.random(4) < 0.4).astype(float)
        one.tell(one.ask(), paid)
        twin.tell(twin.ask(), paid)
    assert one.state() == twin.state()


def test_a_decision_of_rank1_thompson_knows_counts_not_history(storage):
    """Told in rounds, booked in another order, or put at once: to the bit the same."""
    graph, noise = mb.monopartite(8), np.random.default_rng(5)
    told, booked, put = built(Rank1Thompson, graph), built(Rank1Thompson, graph), built(Rank1Thompson, graph)
    log_of_rounds = []
    for _ in range(25):
        pairs = told.ask()
        log_of_rounds.append((pairs, (noise.random(4) < 0.5).astype(float)))
        told.tell(*log_of_rounds[-1])
    for pairs, rewards in reversed(log_of_rounds):
        booked.decide(noise)
        booked.add_results(pairs[::-1], rewards[::-1], noise)
    edges = np.concatenate([graph.edges(pairs) for pairs, _ in log_of_rounds])
    rewards = np.concatenate([paid for _, paid in log_of_rounds])
    known, places = np.unique(edges, return_inverse=True)
    put.set_counts(known, np.bincount(places), np.bincount(places, rewards))
    values = [one.decision(rng()).values.tolist() for one in (told, booked, put)]
    assert values[0] == values[1] == values[2]


def test_ask_goes_on_from_counts_that_were_put():
    noise = np.random.default_rng(9)
    for name in ("cucb", "escb", "ols-ucb", "kl-ucb"):
        told, put = mb.policy(name).build(PLAYERS), mb.policy(name).build(PLAYERS)
        counts, sums = np.zeros(15, dtype=int), np.zeros(15)
        for _ in range(40):
            pairs = told.ask()
            paid = (noise.random(len(pairs)) < 0.5).astype(float)
            told.tell(pairs, paid)
            counts[PLAYERS.edges(pairs)] += 1
            sums[PLAYERS.edges(pairs)] += paid
        put.set_counts(np.arange(15), np.ones(15), np.zeros(15))
        put.set_counts(np.arange(15), counts, sums)
        assert put.state()["memory"] == told.state()["memory"]
        assert put.ask().tolist() == told.ask().tolist()


def test_counts_that_are_put_to_nothing_leave_no_trace(storage):
    """A correction to void: the draw must not see that the pair was once there."""
    graph = mb.monopartite(6)
    one, fresh = built(Rank1Thompson, graph), built(Rank1Thompson, graph)
    one.set_counts([0, 3, 7], [2, 5, 1], [1, 4, 1])
    one.decide(rng())
    one.set_counts([0, 7], [0, 3], [0, 2])
    fresh.set_counts([3, 7], [5, 3], [4, 2])
    assert one.decision(rng()).values.tolist() == fresh.decision(rng()).values.tolist()


def test_a_new_result_is_seen_by_the_next_decision(storage):
    one = built(Rank1Thompson, PLAYERS)
    before = one.decision(rng()).values.tolist()
    one.set_counts([0], [400], [0])
    after = one.decision(rng()).values.tolist()
    one.add_results([(0, 1)] * 50, [1] * 50, rng())
    last = one.decision(rng()).values.tolist()
    one.load(built(Rank1Thompson, PLAYERS).state())
    assert before != after != last
    assert one.decision(rng()).values.tolist() == before


def test_fractions_stand_for_results_that_have_faded(storage):
    """Rounds told with a half-life, and the counts that are left of them, put: the same decision up to rounding."""
    graph, noise = mb.monopartite(6), np.random.default_rng(6)
    fading, plain = built(Rank1Thompson, graph, half_life=3.0), built(Rank1Thompson, graph)
    counts, sums = np.zeros(15), np.zeros(15)
    for _ in range(10):
        pairs = fading.ask()
        paid = (noise.random(3) < 0.5).astype(float)
        fading.tell(pairs, paid)
        counts, sums = counts / 2 ** (1 / 3), sums / 2 ** (1 / 3)
        np.add.at(counts, graph.edges(pairs), 1.0)
        np.add.at(sums, graph.edges(pairs), paid)
    plain.set_counts(np.arange(15), counts, sums)
    close = pytest.approx(plain.decision(rng()).values.tolist(), rel=1e-6)
    assert fading.decision(rng()).values.tolist() == close
    fading.set_counts(np.arange(15), counts, sums)
    assert fading.decision(rng()).values.tolist() == close
    fading.add_results([(0, 1)], [1.0], noise)  # one more result, in full
    plain.add_results([(0, 1)], [1.0], noise)
    assert fading.decision(rng()).values.tolist() == pytest.approx(plain.decision(rng()).values.tolist(), rel=1e-6)


def test_book_then_ask_goes_on_from_the_new_counts(storage):
    graph = mb.monopartite(4)
    one = built(Rank1Thompson, graph)
    one.add_results([(0, 1)] * 500 + [(2, 3)] * 500 + [(0, 2)] * 500, [1] * 500 + [0] * 1000, rng())
    played = [one.ask().tolist() for _ in range(1)]
    assert played == [[[0, 1], [2, 3]]]


# --- waiting ---


def test_an_index_counts_waiting_pairs_as_played_with_the_mean_they_have():
    counts, sums = some_counts(PLAYERS, 1, least=1)
    waiting = [(0, 1), (1, 0), (2, 5)]
    more = np.bincount(PLAYERS.edges(waiting), minlength=15)
    n = counts + more
    bounds = sums / counts + np.sqrt(1.5 * log(n.sum() // 3 + 1) / n)
    decision = built("cucb", PLAYERS, counts, sums).decision(rng(), waiting=waiting)
    assert is_heaviest(decision, Allowed(PLAYERS), bounds)


@pytest.mark.parametrize("name", ["cucb", "escb", "ols-ucb", "aescb", "cts-gaussian", "kl-ucb", "track-and-stop"])
def test_an_opening_goes_on_while_its_pairs_wait(name):
    """Every pair is proposed once before any is proposed twice, though no result has come."""
    one, waiting = counts_policy(name, PLAYERS), []
    for _ in range(15 // one.round_size):
        decision = one.decision(rng(), waiting=waiting)
        assert decision.opening
        assert decision.values.tolist() == [1.0] * one.round_size
        waiting += decision.pairs.tolist()
    assert len(np.unique(PLAYERS.edges(waiting))) == 15
    after = one.decision(rng(), waiting=waiting)
    assert not after.opening
    assert np.isfinite(after.values).all()


def test_before_the_first_result_a_waiting_pair_counts_as_a_half():
    one = counts_policy("kl-ucb", mb.bipartite(1, 2))
    one.set_counts([0, 1], [2, 0], [1, 0])
    decision = one.decision(rng(), waiting=[(0, 1), (0, 1)])
    assert decision.pairs.tolist() == [[0, 0]]  # equal counts and means: the first
    one.set_counts([0], [2], [0])
    assert one.decide(rng(), waiting=[(0, 1), (0, 1)]).tolist() == [[0, 1]]


@pytest.mark.parametrize("name", ["rank1-thompson", "cts-beta", "cts-gaussian"])
def test_draws_do_not_know_who_waits(name):
    counts, sums = some_counts(PLAYERS, 2, least=1)
    one = counts_policy(name, PLAYERS)
    one.set_counts(np.arange(15), counts, sums)
    waiting = PLAYERS.pairs.repeat(3, axis=0)
    assert one.decision(rng(), waiting=waiting).values.tolist() == one.decision(rng()).values.tolist()


@pytest.mark.parametrize("name", ["cucb", "cts-gaussian", "escb", "ols-ucb"])
def test_under_rules_as_many_unplayed_pairs_as_possible_come_first(name):
    counts = np.ones(15, dtype=int)
    unplayed = PLAYERS.edges([(0, 1), (2, 3), (0, 2), (4, 5)])
    counts[unplayed] = 0
    one = counts_policy(name, PLAYERS)
    one.set_counts(np.arange(15), counts, counts.astype(float))
    allowed = Allowed(PLAYERS, forbidden=PLAYERS.edges([(0, 1)]))
    decision = one.decision(rng(), allowed=allowed)
    assert decision.opening
    assert len(decision.pairs) == 3
    assert np.isin(PLAYERS.edges(decision.pairs), unplayed).sum() == 2
    done = Allowed(PLAYERS, forbidden=unplayed)  # what may not be played need not have been
    assert not one.decision(rng(), allowed=done).opening


# --- booking ---


def test_cts_beta_flips_a_coin_for_what_lies_between():
    one = counts_policy("cts-beta", PLAYERS, Binomial(4))
    flips = one.encode_rewards(np.full(4000, 0.25), rng())
    assert set(flips.tolist()) == {0.0, 1.0}
    assert abs(flips.mean() - 0.25) < 4 * sqrt(0.25 * 0.75 / 4000)
    assert flips.tolist() == one.encode_rewards(np.full(4000, 0.25), rng()).tolist()
    whole = rng()
    assert np.array_equal(one.encode_rewards([0, 1, np.nan], whole), [0, 1, np.nan], equal_nan=True)
    assert whole.random() == rng().random()  # nothing was drawn
    one.add_results([(0, 1)] * 4000, np.full(4000, 0.25), rng())
    assert one.arrays.plays[0] == 4000
    assert one.arrays.sums[0] == flips.sum()


def test_rank1_thompson_is_credited_no_slips(storage):
    one = built(Rank1Thompson, PLAYERS, rewards=Gaussian(0.5))
    assert one.encode_rewards([0.3, 1e9, -1e9], rng()).tolist() == [0.3, 21.0, -20.0]
    twin = built(Rank1Thompson, PLAYERS, rewards=Gaussian(0.5))
    one.add_results([(0, 1)], [1e9], rng())
    twin.set_counts([0], [1], [21.0])
    assert one.decision(rng()).values.tolist() == twin.decision(rng()).values.tolist()


def test_what_did_not_take_place_is_not_booked():
    for name in DECIDING:
        one, twin = counts_policy(name, PLAYERS), counts_policy(name, PLAYERS)
        one.add_results([(0, 1), (2, 3), (0, 1)], [1, None, np.nan], rng())
        twin.add_results([(1, 0)], [True], rng())
        one.add_results([], [], rng())
        assert one.state() == twin.state()


def test_booking_can_finish_an_identification():
    one = mb.policy("track-and-stop").build(mb.bipartite(1, 2))
    one.add_results([(0, 0)] * 500 + [(0, 1)] * 500, [1] * 500 + [0] * 500, rng())
    assert one.done
    assert one.ask().tolist() == [[0, 0]]


# --- who sits out, who may decide ---


def test_of_an_odd_number_the_weakest_of_the_draw_sits_out(storage):
    graph = mb.monopartite(5)
    counts = np.full(10, 1000)
    sums = np.rint(1000 * np.array([0.9, 0.8, 0.2, 0.7, 0.6])[graph.pairs].prod(axis=1))
    one = built(Rank1Thompson, graph, counts, sums)
    assert one.decide(rng()).tolist() == [[0, 1], [3, 4]]
    assert one.decide(rng(), allowed=Allowed(graph, present=np.arange(5) > 0)).tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize("name", [name for name in DECIDING if name != "aescb"])
def test_leagues_of_any_number_decide(name):
    """Whoever keeps the counts lets someone sit out, also with policies that play even numbers only."""
    for n in (2, 3, 5, 6):
        graph = mb.monopartite(n)
        one = counts_policy(name, graph)
        for _ in range(2):
            decision = one.decision(rng())
            assert len(decision.pairs) == min(one.round_size, n // 2)
            one.add_results(graph.pairs, np.ones(graph.n_pairs), rng())


def test_decisions_are_made_by_policies_that_need_counts_alone():
    assert type(counts_policy("rank1-thompson", PLAYERS)) is Rank1Thompson
    assert type(counts_policy(mb.policy("cucb"), PLAYERS)) is Cucb
    assert counts_policy(mb.policy("rank1-thompson", selection="pair"), PLAYERS).round_size == 1
    with pytest.raises(mb.MatchbanditError, match="escb looks at every matching"):
        counts_policy("escb", mb.monopartite(12))
    with pytest.raises(mb.MatchbanditError, match="uts remembers more than counts"):
        counts_policy("uts", SLOTS)
    with pytest.raises(mb.MatchbanditError, match="needs rewards in"):
        counts_policy("cts-beta", PLAYERS, Gaussian(0.5))


@pytest.mark.parametrize("name", [n for n in CATALOGUE if n not in DECIDING])
def test_a_policy_that_needs_whole_rounds_names_those_that_do_not(name):
    graph = SLOTS if "bipartite" in CATALOGUE[name].capabilities.graphs else PLAYERS
    with pytest.raises(mb.MatchbanditError, match=f"{name} remembers more than counts") as refusal:
        counts_policy(name, graph)
    assert [n for n in CATALOGUE if re.search(rf"(, | and |\. ){n}(,| )", str(refusal.value))] == DECIDING
    assert not hasattr(mb.policy(name).build(graph, horizon=100), "decide") or name == "clucb"


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda one: one.decide(rng(), allowed=[(0, 9)]), r"\(0, 9\) is not a pair"),
        (lambda one: one.decide(rng(), waiting=[(1, 1)]), r"\(1, 1\) is not a pair"),
        (lambda one: one.decide(rng(), allowed=Allowed(SLOTS)), "about bipartite 3×4"),
        (lambda one: one.add_results([(0, 1)], [1, 0], rng()), "1 pairs need a reward each"),
        (lambda one: one.add_results([(0, 1)], ["1"], rng()), "must be numbers"),
        (lambda one: one.add_results([(0, 1)], [2], rng()), r"lie in \[0, 1\]; got 2"),
        (lambda one: one.set_counts([1, 0], [1, 1], [0, 0]), "rising order"),
        (lambda one: one.set_counts([15], [1], [0]), "has 15 pairs"),
        (lambda one: one.set_counts([0], [1, 2], [0]), "a count and a sum each"),
        (lambda one: one.set_counts([0], [np.nan], [0]), "number from 0 on, .* got nan and 0 for the edge 0"),
        (lambda one: one.set_counts([0.7], [1], [1]), r"edges must be whole numbers, .*; got \[0\.7\]"),
        (lambda one: one.set_counts([0], ["a"], [1]), r"counts must be numbers; got \['a'\]"),
        (lambda one: one.set_counts([0], [2], [3]), r"sum to between 0 and 2; got 3 for the pair \[0, 1\]"),
        (lambda one: one.set_counts([0], [1.5], [1]), "whole plays"),
    ],
)
def test_mistakes_are_refused_and_leave_no_trace(act, words):
    one = counts_policy("cucb", PLAYERS)
    before = one.state()
    with pytest.raises(mb.MatchbanditError, match=words):
        act(one)
    assert one.state() == before


class Totals(NamedTuple):
    plays: np.ndarray
    sums: np.ndarray


class Unconstrained(mb.CountsPolicy):
    """It claims to decide under rules, and has no means to."""

    name, summary, reference = "unconstrained", "unconstrained", "here"
    capabilities = mb.Capabilities(selections=("pair",), warm_start=True, constrained=True)

    def start(self):
        return Totals(np.zeros(self.graph.n_pairs, dtype=np.int64), np.zeros(self.graph.n_pairs))

    @staticmethod
    def choose(arrays, rng, edges):
        edges[0] = np.argmin(arrays.plays)

    @staticmethod
    def update(arrays, rng, edges, rewards):
        arrays.plays[edges] += 1

    def recommend(self):
        return self.graph.pairs[:1]

    def explain_extra(self):
        return {}


def test_a_choose_that_knows_no_rules_is_not_asked_to_keep_them():
    with pytest.raises(mb.MatchbanditError, match="Subclass IndexPolicy, or override _decision"):
        counts_policy(Unconstrained, PLAYERS).decide(rng(), allowed=PLAYERS.pairs[:3])


def test_a_graph_is_needed():
    with pytest.raises(mb.MatchbanditError, match="built on bipartite"):
        counts_policy("cucb", 4)


def test_specs_are_hashable():
    assert len({mb.policy("uts", gamma=2), mb.policy("uts", gamma=2), mb.policy("uts", gamma=3)}) == 2


def test_aescb_cannot_be_constrained_and_says_who_can():
    one = counts_policy("aescb", PLAYERS)
    with pytest.raises(mb.MatchbanditError, match="aescb cannot restrict its pairs"):
        one.decide(rng(), allowed=PLAYERS.pairs[:3])
    everyone = Allowed(PLAYERS, present=np.ones(6, dtype=bool))
    assert len(one.decide(rng(), allowed=everyone)) == 3


@pytest.mark.parametrize("name", [n for n in DECIDING if n != "aescb"])
def test_where_nothing_is_allowed_nothing_is_decided(name):
    for graph in (PLAYERS, SLOTS):
        for known in (0, 1):
            one = counts_policy(name, graph)
            one.set_counts(np.arange(graph.n_pairs), np.full(graph.n_pairs, known), np.zeros(graph.n_pairs))
            items = 6 if graph is PLAYERS else 7
            for allowed in ([], Allowed(graph, present=np.arange(items) == 2), Allowed(graph, only=[])):
                decision = one.decision(rng(), allowed=allowed)
                assert decision.pairs.shape == (0, 2)
                assert (decision.value, decision.bound, decision.exact) == (0.0, decision.bound, True)


def test_the_heaviest_pair_comes_first():
    for name in ("rank1-thompson", "cts-beta"):
        values = counts_policy(name, mb.monopartite(12)).decision(rng()).values
        assert (np.diff(values) <= 0).all()


def test_two_strengths_drawn_below_nothing_are_no_good_pair():
    drawn_strengths = np.array([0.5, -0.9, 0.2, -0.8, 0.1])
    graph = mb.monopartite(5)
    for allowed in (Allowed(graph), Allowed(graph, forbidden=graph.edges([(2, 4)]))):
        decision = by_products(allowed, drawn_strengths, "matching")
        assert len(decision.pairs) == 2
        assert (decision.values >= 0).all()
        assert decision.values[0] == pytest.approx(0.1)
        assert [0, 2] in decision.pairs.tolist()
    pair = by_products(Allowed(graph, only=graph.edges([(1, 3), (2, 3), (2, 4)])), drawn_strengths, "pair")
    assert pair.pairs.tolist() == [[2, 4]]


# --- many items ---


def test_2000_players_with_rules_come_next_to_the_bound():
    graph, noise = mb.monopartite(2000), np.random.default_rng(7)
    one = counts_policy("rank1-thompson", graph)
    allowed = Allowed(
        graph, present=noise.random(2000) < 0.9, forbidden=noise.choice(graph.n_pairs, size=20_000, replace=False)
    )
    decision = one.decision(rng(), allowed=allowed)
    edges = graph.edges(decision.pairs)
    assert len(np.unique(decision.pairs)) == 2 * len(edges) == len(allowed.items) // 2 * 2
    assert allowed.allows(edges).all()
    assert (1 - 1e-5) * decision.bound < decision.value <= decision.bound


def test_the_bound_of_many_players_with_a_weight_for_each_pair_is_no_less_than_the_optimum():
    graph = mb.monopartite(110)
    one = counts_policy("cts-beta", graph)
    free = one.decision(rng())
    ruled = one.decision(rng(), allowed=Allowed(graph, forbidden=graph.edges(free.pairs)))
    assert free.value == free.bound
    assert ruled.value < free.value
    assert free.value <= ruled.bound < 1.1 * free.value


# --- the public contract ---


class Remembers(Cucb):
    """A decision leaves something behind."""

    def _decision(self, allowed, waiting, rng):
        self.arrays.sums[0] += 1e-9
        return super()._decision(allowed, waiting, rng)


class Disobeys(KlUcb):
    """It does not look at what is allowed."""

    def _decision(self, allowed, waiting, rng):
        return super()._decision(Allowed(allowed.graph), waiting, rng)


class Draws(CtsBeta):
    """It draws from its own stream."""

    def _decision(self, allowed, waiting, rng):
        return super()._decision(allowed, waiting, self.rng)


class OneOrder(KlUcb):
    """The last booked pair weighs more."""

    def _add_results(self, edges, counts, sums):
        super()._add_results(edges, counts, sums)
        self.arrays.sums[:] *= 0.9


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Remembers, "a decision changed the state"),
        (Disobeys, "not allowed|int"),
        (Draws, "the same counts and stream gave another decision"),
        (OneOrder, "the order of results"),
    ],
)
def test_check_policy_finds_decisions_that_break_the_contract(kind, words, monkeypatch):
    from matchbandit.policies import check

    monkeypatch.setattr(check, "_check", lambda *_: None)  # the rest of the contract is kept, and takes its time
    with pytest.raises(ContractError, match=words):
        check_policy(kind)


def test_decisions_draw_around_the_strengths_of_the_counts(storage):
    """The mean of many draws of a much played league: the strengths that paid so, not those of an earlier ask."""
    u = np.linspace(0.9, 0.4, 6)
    counts, sums = np.full(15, 4000), 4000 * u[PLAYERS.pairs].prod(axis=1)
    one = built(Rank1Thompson, PLAYERS, counts, sums)
    noise = np.random.default_rng(8)
    draws = [one.decision(noise, allowed=[(0, 1)]).value for _ in range(150)]
    assert np.mean(draws) == pytest.approx(u[0] * u[1], abs=0.003)

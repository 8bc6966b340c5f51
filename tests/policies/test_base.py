import copy
import json
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.policies.pair.pair_elim import PairElim
from matchbandit.policies.serialization import checksum


@pytest.fixture
def slots():
    return mb.policy("pair-elim").build(mb.bipartite(3, 4), horizon=1000, seed=1)


@pytest.fixture
def players():
    return mb.policy("uniform").build(mb.monopartite(6), seed=1)


def test_rewards_may_come_in_any_order_and_with_players_swapped(players):
    twin = mb.policy("uniform").build(mb.monopartite(6), seed=1)
    pairs = players.ask()
    players.tell(pairs, [0, 1, 0])
    twin.tell(twin.ask()[[2, 0, 1]][:, ::-1], [0, 0, 1])
    assert twin.state() == players.state()


def test_a_missing_pair_is_played_again_by_planned_policies_and_booked_once(players):
    first = players.ask()
    players.tell(first, [1.0, np.nan, 0.0])
    assert np.array_equal(players.ask(), first)
    players.tell(first, [0.0, 1.0, 1.0])  # only the missing reward counts: 1, 1, 0
    assert not np.array_equal(players.ask(), first)
    edges = players.graph.edges(first)
    assert players.pending.counts[edges].tolist() == [1, 1, 1]
    assert players.pending.sums[edges].tolist() == [1.0, 1.0, 0.0]


def test_a_missing_pair_is_skipped_by_round_policies():
    uts = mb.policy("uts").build(mb.bipartite(2, 2), seed=1)
    uts.tell(uts.ask(), [np.nan])
    assert uts.arrays.plays.sum() == 0
    assert uts.rounds == 1


@pytest.mark.parametrize(
    ("tell", "words"),
    [
        (lambda p: p.tell(p.ask(), []), "1 pair was asked; got 1 pairs with 0 rewards"),
        (lambda p: p.tell(p.ask(), [1, 1]), "1 pair was asked; got 1 pairs with 2 rewards"),
        (lambda p: p.tell([], []), "pairs must be whole numbers of shape"),
        (lambda p: p.tell(p.ask(), [1.5]), r"lie in \[0, 1\]; got 1.5"),
        (lambda p: p.tell(p.ask(), [-0.1]), r"got -0.1"),
        (lambda p: p.tell(p.ask(), [np.inf]), r"got inf"),
        (lambda p: p.tell(p.ask(), ["much"]), r"must be numbers; got \['much'\]"),
        (lambda p: p.tell([(2, 3)] if p.ask().tolist() != [[2, 3]] else [(0, 0)], [1]), "are not the pairs asked"),
        (lambda p: p.tell([(3, 0)], [1]), r"\(3, 0\) is not a pair of bipartite 3×4"),
    ],
)
def test_a_wrong_answer_is_refused_and_leaves_no_trace(slots, tell, words):
    slots.ask()
    before = json.dumps(slots.state())
    with pytest.raises(MatchbanditError, match=words):
        tell(slots)
    assert json.dumps(slots.state()) == before


@pytest.mark.parametrize("n_items", [2, 120])
@pytest.mark.parametrize("name", ["rank1-thompson", "cucb", "rank1-certify", "uniform"])
def test_a_reward_that_is_no_share_of_the_trials_is_refused_and_leaves_no_trace(name, n_items):
    """Also in rounds of many pairs, which are checked as whole arrays."""
    options = {"delta": 0.1} if name == "rank1-certify" else {}
    policy = mb.policy(name, **options).build(mb.monopartite(n_items), rewards=mb.Binomial(5), seed=1)
    size = len(policy.ask())
    before = json.dumps(policy.state())
    for reward in (0.05, 0.95, 0.2001):
        with pytest.raises(
            MatchbanditError, match=rf"binomial rewards with 5 trials are 0, 0\.2, …, 1; got {reward}\."
        ):
            policy.tell(policy.ask(), [0.2] * (size - 1) + [reward])
    assert json.dumps(policy.state()) == before
    policy.tell(policy.ask(), [0.6000001] * (size - 1) + [np.nan])
    if policy.decides_from_counts:
        with pytest.raises(MatchbanditError, match=r"got 0\.05"):
            policy.add_results([(0, 1)], [0.05], np.random.default_rng(1))


def test_telling_twice_or_unasked_is_refused(slots):
    with pytest.raises(MatchbanditError, match="Call ask"):
        slots.tell([(0, 0)], [1])
    pairs = slots.ask()
    slots.tell(pairs, [1])
    with pytest.raises(MatchbanditError, match="told already"):
        slots.tell(pairs, [1])


def test_gaussian_rewards_may_be_anything_finite():
    built = mb.policy("pair-elim").build(mb.bipartite(2, 2), rewards=mb.Gaussian(sd=2.0), horizon=10)
    built.tell(built.ask(), [-7.5])
    with pytest.raises(MatchbanditError, match="inf"):
        built.tell(built.ask(), [np.inf])


@pytest.mark.parametrize(
    ("name", "graph", "kwargs", "words"),
    [
        ("pair-elim", mb.monopartite(4), {"horizon": 10}, "pair-elim plays on bipartite graphs; got monopartite"),
        ("pair-elim", mb.bipartite(2, 2), {}, "needs to know its horizon"),
        ("uniform", mb.monopartite(5), {}, "needs an even number of players; got 5"),
        ("uts", mb.bipartite(2, 2), {"rewards": mb.Gaussian(sd=1.0)}, r"uts needs rewards in \[0, 1\]"),
        ("pair-elim", mb.bipartite(2, 2), {"horizon": 0}, "horizon must be a whole number, .*; got 0"),
        ("uts", "2×2", {}, "got '2×2'"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused_by_name(name, graph, kwargs, words):
    with pytest.raises(MatchbanditError, match=words):
        mb.policy(name).build(graph, **kwargs)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("pair-elm", {}, "did you mean 'pair-elim'"),
        ("pair-elim", {"grwth": 2}, "unknown option of pair-elim 'grwth'; did you mean 'growth'"),
        ("rank1-elim", {"growth": 2}, "unknown option of rank1-elim 'growth'. None exist here"),
    ],
)
def test_unknown_names_get_a_hint(name, options, words):
    with pytest.raises(MatchbanditError, match=words):
        mb.policy(name, **options)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("pair-elim", {"growth": 0.5}, "growth must lie between 1"),
        ("pair-elim", {"growth": "4"}, "growth must be a number; got '4'"),
        ("pair-elim", {"cap_windows": 1}, "cap_windows must be true or false; got 1"),
        ("uts", {"gamma": 0}, "gamma must be a whole number, between 1 and 1000000000; got 0"),
        ("uniform", {"selection": "both"}, "unknown selection of uniform 'both'"),
    ],
)
def test_bad_options_are_refused(name, options, words):
    with pytest.raises(MatchbanditError, match=words):
        mb.policy(name, **options).build(mb.bipartite(2, 2), horizon=10)


@pytest.mark.parametrize("name", ["pair-elim", "rank1-elim", "uts", "uniform"])
def test_a_policy_restored_in_the_middle_of_a_sweep_has_the_same_future(name):
    rng = np.random.default_rng(5)
    one = mb.policy(name).build(mb.bipartite(3, 5), horizon=5000, seed=9)
    for _ in range(1234):
        pairs = one.ask()
        one.tell(pairs, rng.random(len(pairs)) < 0.9 - 0.2 * pairs[:, 0])
    one.ask()  # an open question survives, too
    twin = mb.restore(json.loads(json.dumps(one.state())))
    for _ in range(1500):
        pairs = one.ask()
        assert np.array_equal(twin.ask(), pairs)
        rewards = (rng.random(len(pairs)) < 0.9 - 0.2 * pairs[:, 0]).astype(float)
        one.tell(pairs, rewards)
        twin.tell(pairs, rewards)
    assert one.state() == twin.state()
    assert one.rng.random() == twin.rng.random()


def test_a_state_of_another_policy_or_setting_is_refused(slots):
    state = slots.state()
    for other in (
        mb.policy("rank1-elim").build(mb.bipartite(3, 4), horizon=1000),
        mb.policy("pair-elim", growth=2.0).build(mb.bipartite(3, 4), horizon=1000),
        mb.policy("pair-elim").build(mb.bipartite(4, 3), horizon=1000),
        mb.policy("pair-elim").build(mb.bipartite(3, 4), horizon=999),
        mb.policy("pair-elim").build(mb.bipartite(3, 4), horizon=1000, rewards=mb.Gaussian(sd=1.0)),
    ):
        before = other.state()
        with pytest.raises(MatchbanditError, match="the state has"):
            other.load(state)
        assert other.state() == before


@pytest.mark.parametrize("broken", [{}, [], "state", {"policy": "uts"}, None])
def test_what_is_not_a_state_is_refused(slots, broken):
    with pytest.raises(MatchbanditError, match="not the state"):
        slots.load(broken)
    with pytest.raises(MatchbanditError, match="not the state"):
        mb.restore(broken)


def test_a_damaged_state_is_refused_and_changes_nothing(slots):
    slots.tell(slots.ask(), [1])
    state = json.loads(json.dumps(slots.state()))
    state["memory"]["rows"]["dominators"]["array"] = state["memory"]["columns"]["dominators"]["array"]
    fresh = mb.policy("pair-elim").build(mb.bipartite(3, 4), horizon=1000, seed=2)
    before = fresh.state()
    with pytest.raises(MatchbanditError, match="damaged"):
        fresh.load(state)
    assert fresh.state() == before


def test_a_state_of_another_version_is_refused(slots):
    state = slots.state()
    state["matchbandit"] = 999
    state["checksum"] = checksum({key: value for key, value in state.items() if key != "checksum"})
    with pytest.raises(MatchbanditError, match="the state has format 999"):
        slots.load(state)


def test_a_half_told_round_survives_a_restart(players):
    first = players.ask()
    players.tell(first, [1.0, np.nan, 0.0])
    twin = mb.restore(json.loads(json.dumps(players.state())))
    for one in (players, twin):
        one.tell(one.ask(), [0.0, 1.0, 1.0])
    assert twin.state() == players.state()
    assert twin.pending.sums[twin.graph.edges(first)].tolist() == [1.0, 1.0, 0.0]


def test_the_best_column_is_not_forgotten_at_the_end_of_a_window():
    policy = mb.policy("pair-elim").build(mb.bipartite(2, 2), horizon=10**6, seed=1)
    for _ in range(600):
        pairs = policy.ask()
        policy.tell(pairs, [float(pairs.tolist() == [[1, 1]])])
        if policy.rounds > 40:
            assert policy.recommend().tolist() == [[1, 1]]
    assert policy.window.number == 4


@pytest.mark.parametrize("rewards", ["bernoulli", mb.Bernoulli, 0.5])
def test_what_is_no_reward_distribution_is_refused(rewards):
    with pytest.raises(MatchbanditError, match="rewards must be a distribution"):
        mb.policy("uts").build(mb.bipartite(2, 2), rewards=rewards)


def test_what_is_no_policy_is_refused():
    built = mb.policy("uts").build(mb.bipartite(2, 2))
    for thing, words in (
        (int, "int is not a policy"),
        (["uts"], "unknown policy"),
        (None, "unknown"),
        (built, "built"),
    ):
        with pytest.raises(MatchbanditError, match=words):
            mb.policy(thing)
    with pytest.raises(MatchbanditError, match="built already"):
        mb.simulate(mb.Bipartite([0.5], [0.5]), built, horizon=5)


def test_a_state_of_ones_own_policy_says_how_to_go_on(slots):
    state = slots.state()
    state["policy"] = "mine"
    state["checksum"] = checksum({key: value for key, value in state.items() if key != "checksum"})
    with pytest.raises(MatchbanditError, match=r"policy\(YourClass"):
        mb.restore(state)


def test_rounds_are_numbered_from_1_and_a_missing_reward_ends_one(players):
    assert players.round == 1
    players.tell(players.ask(), [1.0, np.nan, 0.0])
    assert players.round == 2
    players.tell(players.ask(), [1.0, 1.0, 0.0])
    assert (players.round, players.rounds) == (3, 2)


def test_what_is_asked_cannot_be_changed_by_accident(players):
    with pytest.raises(ValueError, match="read-only"):
        players.ask()[0, 0] = 3


def test_an_answer_of_several_pairs_is_played_in_turn():
    policy = mb.policy("pair-select", delta=0.5).build(mb.monopartite(4), seed=1)
    means = mb.Monopartite([1.0, 0.9, 0.1, 0.0]).matrix
    while not policy.done:
        pairs = policy.ask()
        policy.tell(pairs, [means[tuple(sorted(pairs[0]))]])
    answer, played = policy.recommend().tolist(), []
    for _ in range(6):
        played += policy.ask().tolist()
        policy.tell(policy.ask(), [0.0])
        assert policy.done
        assert policy.recommend().tolist() == answer
    assert played == answer * 3


def test_rewards_beyond_what_floats_can_square_are_refused():
    policy = mb.policy("rank1-thompson").build(mb.monopartite(4), rewards=mb.Gaussian(sd=1.0), seed=1)
    with pytest.raises(MatchbanditError, match=r"gaussian rewards lie in \[-1e\+150, 1e\+150\]; got 1e\+308"):
        policy.tell(policy.ask(), [1e308, 0.0])


class FailsToLearn(PairElim):
    """It fails once, after samples were added and rows eliminated."""

    has_failed = False

    def _certify_columns_if_due(self):
        if self.rounds > 500 and len(self.rows.active) == 1 and not type(self).has_failed:
            type(self).has_failed = True
            raise KeyboardInterrupt
        super()._certify_columns_if_due()


def test_a_learn_that_fails_half_way_leaves_the_policy_as_it_was():
    policy, twin = (
        mb.policy(kind).build(mb.bipartite(3, 2), horizon=10**4, seed=1) for kind in (FailsToLearn, PairElim)
    )
    while not FailsToLearn.has_failed:
        pairs = policy.ask()
        rewards = [0.9 - 0.4 * pairs[0, 0]]
        before = json.dumps(policy.state())
        try:
            policy.tell(pairs, rewards)
        except KeyboardInterrupt:
            assert json.dumps(policy.state()) == before
            policy.tell(pairs, rewards)
        twin.tell(twin.ask(), rewards)
    for _ in range(200):
        pairs = policy.ask()
        assert np.array_equal(twin.ask(), pairs)
        policy.tell(pairs, [0.5])
        twin.tell(pairs, [0.5])
    assert policy.state()["memory"] == twin.state()["memory"]


class Counts(NamedTuple):
    plays: np.ndarray
    sums: np.ndarray


class FailsToUpdate(mb.CountsPolicy):
    """In plain Python; it fails between counting a play and adding its reward."""

    name, summary, reference = "fails", "fails", "here"
    capabilities = mb.Capabilities(selections=("pair",), warm_start=True)

    def start(self):
        return Counts(np.zeros(self.graph.n_pairs, dtype=np.int64), np.zeros(self.graph.n_pairs))

    @staticmethod
    def choose(arrays, rng, edges):
        edges[0] = np.argmin(arrays.plays)

    @staticmethod
    def update(arrays, rng, edges, rewards):
        arrays.plays[edges] += 1
        rng.random()
        if arrays.plays.sum() == 3:
            raise ZeroDivisionError
        arrays.sums[edges] += rewards

    def recommend(self):
        return self.graph.pairs[[np.argmax(self.arrays.sums)]]

    def explain_extra(self):
        return {}

    def _set_counts(self, edges, counts, sums):
        self.arrays.plays[edges] = counts
        if counts.sum() == 3:
            raise ZeroDivisionError
        self.arrays.sums[edges] = sums


def test_an_update_that_fails_half_way_leaves_the_policy_as_it_was():
    policy = mb.policy(FailsToUpdate).build(mb.bipartite(2, 2), seed=1)
    for _ in range(2):
        policy.tell(policy.ask(), [1])
    pairs = policy.ask()
    before = json.dumps(policy.state())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            policy.tell(pairs, [1])
        assert json.dumps(policy.state()) == before
    with pytest.raises(ZeroDivisionError):
        policy.set_counts([0, 1], [1, 2], [1, 1])
    assert json.dumps(policy.state()) == before


@pytest.mark.parametrize(
    ("name", "graph", "options"),
    [
        ("pair-elim", mb.bipartite(2, 2), {"growth": 4.0, "cap_windows": False, "delta": None}),
        ("rank1-thompson", mb.monopartite(4), {"selection": "matching", "half_life": None}),
        (
            "rank1-certify",
            mb.bipartite(2, 2),
            {"selection": "pair", "delta": None, "epsilon": None, "anytime": False, "share": 1 / 16},
        ),
        ("uts", mb.bipartite(2, 2), {"gamma": 2}),
        ("uniform", mb.monopartite(4), {"selection": "matching"}),
        ("exploration-first", mb.monopartite(4), {"growth": 1.05, "best": [0, 1]}),
    ],
)
def test_options_come_from_the_signature_with_their_defaults(name, graph, options):
    assert mb.policy(name).build(graph, horizon=10).options == options


def test_every_option_of_every_policy_is_among_its_options():
    for name, kind in mb.CATALOGUE.items():
        graph = mb.bipartite(2, 2) if "bipartite" in kind.capabilities.graphs else mb.monopartite(4)
        assert [*mb.policy(name).build(graph, horizon=10).options] == [*kind.option_defaults()], name


def test_results_say_all_options():
    slots = mb.Bipartite([0.9, 0.4], [0.8, 0.3])
    assert mb.simulate(slots, "rank1-thompson", horizon=10).about.options == {"selection": "pair", "half_life": None}


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("pair-elim", {"growth": "big"}, "growth must be a number; got 'big'"),
        ("pair-elim", {"growth": 0.5}, "growth must lie between 1"),
        ("matching-id", {"delta": 2}, "delta must lie between 0 and 1; got 2"),
        ("rank1-certify", {"anytime": "yes"}, "anytime must be true or false; got 'yes'"),
        ("rank1-certify", {"share": 0}, "share must lie between 1e-06 and 1; got 0"),
        ("rank1-thompson", {"half_life": -1}, "half_life must be above 0; got -1"),
        ("uts", {"gamma": 2.5}, "gamma must be a whole number"),
    ],
)
def test_options_are_checked_before_the_policy_is_built(name, options, words):
    with pytest.raises(MatchbanditError, match=words):
        mb.policy(name, **options)


@pytest.mark.parametrize("name", ["uts", "pair-elim", "rank1-thompson"])
def test_copies_and_pickles_go_on_alike(name):
    policy = mb.policy(name).build(mb.bipartite(2, 2), horizon=100, seed=1)
    policy.tell(policy.ask(), [1])
    copies = [copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))]
    for other in copies:
        assert other.state() == policy.state()
        other.tell(other.ask(), [0])
        assert other.rounds == policy.rounds + 1


def test_a_state_of_a_class_of_ones_own_is_not_taken_for_a_built_in():
    kind = type("Mine", (mb.CATALOGUE["kl-ucb"],), {})
    mine = mb.policy(kind).build(mb.bipartite(2, 2))
    with pytest.raises(MatchbanditError, match="'kl-ucb' of the class Mine is not in the catalogue"):
        mb.restore(mine.state())
    with pytest.raises(MatchbanditError, match="the state has class 'KlUcb', this policy has 'Mine'"):
        mine.load(mb.policy("kl-ucb").build(mb.bipartite(2, 2)).state())


def test_none_is_a_missing_reward_and_text_is_none(players):
    twin = mb.policy("uniform").build(mb.monopartite(6), seed=1)
    players.tell(players.ask(), [1, 0, None])
    twin.tell(twin.ask(), [1, 0, np.nan])
    assert players.state() == twin.state()
    with pytest.raises(MatchbanditError, match="rewards must be numbers"):
        players.tell(players.ask(), ["1", 0, 1])

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matchbandit as mb
from matchbandit.policies.matching.unimodal_matching import best_draw, by_averages, choose, elect
from matchbandit.solvers import sorted_pairing


def filled(means, plays=1, leader=None, **options):
    """A policy whose pairs have been played so often, with these means (a matrix); the leader's pairs if given."""
    n = len(means)
    policy = mb.policy("unimodal-matching", **options).build(mb.monopartite(n), seed=5)
    i, j = policy.graph.pairs.T
    arrays = policy.arrays
    arrays.plays[:] = plays
    arrays.sums[:] = np.asarray(means)[i, j] * arrays.plays
    arrays.params.wins[:] = np.rint(arrays.sums)
    arrays.total[0] = arrays.plays.sum()
    if leader is not None:
        arrays.params.leader[:] = leader
    return policy


def elected_by(policy):
    elect(policy.arrays.plays, policy.arrays.sums, policy.arrays.params.leader, policy.rng)


def symmetric(rng, n):
    upper = np.triu(rng.random((n, n)), 1)
    return upper + upper.T


def swaps(leader):
    """The neighbours of a leader whose pairs are in order: each with its place."""
    for k in range(len(leader) - 1):
        (a, b), (c, d) = leader[k], leader[k + 1]
        for one, two in (((a, c), (b, d)), ((a, d), (b, c))):
            yield k, [*leader[:k], one, two, *leader[k + 2 :]]


def as_sets(pairs):
    return {frozenset(map(int, pair)) for pair in pairs}


def elected(leader, means):
    """The election, naively: sort, improve place by place, sort again."""

    def ordered(pairs):
        return sorted(pairs, key=lambda pair: -means[pair[0]][pair[1]])

    leader = ordered(map(tuple, leader))
    for k in range(len(leader) - 1):
        here = [leader, *(neighbour for place, neighbour in swaps(leader) if place == k)]
        leader = max(here, key=lambda pairs: sum(means[i][j] for i, j in pairs))
    return ordered(leader)


@pytest.mark.parametrize("n", [2, 4, 6, 12])
def test_the_leader_moves_as_by_the_definition(n):
    rng = np.random.default_rng(n)
    for _ in range(50):
        means = symmetric(rng, n)
        start = rng.permutation(n).reshape(-1, 2)
        policy = filled(means, leader=start)
        elected_by(policy)
        assert [frozenset(pair) for pair in policy.arrays.params.leader.tolist()] == [
            frozenset(pair) for pair in elected(start.tolist(), means)
        ]


def test_the_first_leader_is_by_averages_with_the_lower_index_first():
    means = np.zeros((6, 6))
    means[0, 5] = means[1, 4] = means[1, 5] = means[2, 5] = 1.0  # averages 1, 2, 1, 0, 1, 3
    policy = filled(means + means.T)
    by_averages(policy.arrays.plays, policy.arrays.sums, policy.arrays.params.leader)
    assert policy.arrays.params.leader.tolist() == [[5, 1], [0, 2], [4, 3]]
    policy.arrays.params.leader[:] = -1
    assert policy.recommend().tolist() == [[1, 5], [0, 2], [3, 4]]


def test_an_average_weighs_every_opponent_equally():
    # Player 3 has won 900 of 1000 against 0, and nothing else; 1 has won a half against everyone.
    means = np.array([[0, 0.5, 0, 0.9], [0.5, 0, 0.5, 0.5], [0, 0.5, 0, 0], [0.9, 0.5, 0, 0]])
    plays = np.ones(6, dtype=int) * 2
    plays[2] = 1000
    policy = filled(means, plays)
    by_averages(policy.arrays.plays, policy.arrays.sums, policy.arrays.params.leader)
    assert policy.arrays.params.leader.tolist() == [[1, 0], [3, 2]]  # averages 1.5, 1.4, 1.4, 0.5 thirds


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    u=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9]) | st.floats(0.01, 1), min_size=2, max_size=10),
    seed=st.integers(0, 1000),
)
def test_with_the_true_means_the_leader_becomes_the_best_matching(u, seed):
    u = np.array(u[: len(u) // 2 * 2])
    policy = filled(np.outer(u, u), leader=np.random.default_rng(seed).permutation(len(u)).reshape(-1, 2))
    for _ in range(200):  # zeros leave several orders of the pairs, and only some show a swap that helps
        elected_by(policy)
    best = u[sorted_pairing(u)].prod(axis=1).sum()
    assert u[policy.recommend()].prod(axis=1).sum() == pytest.approx(best, abs=1e-9)


def test_equal_means_stand_in_random_order():
    seen = set()
    policy = filled(np.zeros((6, 6)), leader=[[0, 1], [2, 3], [4, 5]])
    for _ in range(100):
        elected_by(policy)
        seen.add(tuple(policy.arrays.params.leader[:, 0].tolist()))
    assert len(seen) == 6


def test_plays_are_the_leader_or_one_swap_away_and_every_second_lead_is_the_leader():
    rng, n = np.random.default_rng(8), 8
    u = np.linspace(0.9, 0.2, n)
    policy = mb.policy("unimodal-matching").build(mb.monopartite(n), seed=1)
    swapped = 0
    for t in range(1500):
        leads = policy.arrays.params.leads.copy()
        pairs = policy.ask()
        if t >= n - 1:
            leader = policy.arrays.params.leader.tolist()
            means = policy.means()[policy.graph.edges(np.array(leader))]
            assert all(above >= below for above, below in pairwise(means))
            edges = policy.graph.edges(np.array(leader))
            leads[edges] += 1
            assert policy.arrays.params.leads.tolist() == leads.tolist()
            neighbours = [as_sets(neighbour) for _, neighbour in swaps(leader)]
            assert len(neighbours) == 2 * (n // 2 - 1)
            if leads[edges].min() % 2 == 0:
                assert as_sets(pairs) == as_sets(leader)
            else:
                assert as_sets(pairs) in [as_sets(leader), *neighbours]
                swapped += as_sets(pairs) != as_sets(leader)
        policy.tell(pairs, rng.binomial(1, u[pairs].prod(axis=1)).astype(float))
    assert swapped > 100


def test_gamma_says_how_often_the_leader_is_played():
    means = np.full((4, 4), 0.5)
    policy = filled(means, plays=1000, leader=[[0, 1], [2, 3]], gamma=5)
    means_of_leader = [0, 5]
    policy.arrays.sums[means_of_leader] = 501  # it leads whatever is drawn, as nothing is told
    edges, played = np.zeros(2, dtype=np.int64), []
    for _ in range(400):
        choose(policy.arrays, policy.rng, edges)
        played.append(sorted(edges.tolist()) == means_of_leader)
    assert all(played[4::5])
    others = np.delete(np.array(played), np.s_[4::5])
    assert 0.2 < others.mean() < 0.5  # a third, about


def test_a_leader_goes_on_from_the_pair_that_has_led_least():
    policy = filled(np.full((4, 4), 0.5), plays=10, leader=[[0, 1], [2, 3]], gamma=3)
    policy.arrays.sums[[0, 5]] = 9
    policy.arrays.params.leads[:] = [7, 0, 0, 0, 0, 4]
    policy.ask()
    assert policy.arrays.params.leads.tolist() == [8, 0, 0, 0, 0, 5]
    edges = np.zeros(2, dtype=np.int64)
    policy.arrays.plays[:], policy.arrays.params.wins[:] = 10**6, 0
    policy.arrays.params.wins[[1, 4]] = 10**6  # drawn far above the leader …
    policy.arrays.sums[[0, 5]] = 10**6
    choose(policy.arrays, policy.rng, edges)
    assert sorted(edges.tolist()) == [0, 5]  # … which is played all the same: 6 is a multiple of 3, 9 does not count
    policy.arrays.params.leads[5] = 9
    policy.arrays.params.leads[0] = 9
    choose(policy.arrays, policy.rng, edges)
    assert sorted(edges.tolist()) == [1, 4]


@pytest.mark.parametrize("leader", [[[0, 1], [2, 3]], [[0, 1], [2, 3], [4, 5]]], ids=len)
def test_draws_follow_the_beta_posteriors(leader):
    n = 2 * len(leader)
    rng, draws = np.random.default_rng(4), 20_000
    policy = filled(np.zeros((n, n)), plays=6, leader=leader)
    arrays, graph = policy.arrays, policy.graph
    arrays.params.wins[:] = rng.integers(2, 6, graph.n_pairs)
    arrays.params.wins[graph.edges(leader)] = 4
    options = [leader, *(neighbour for _, neighbour in swaps(leader))]
    sets = [sorted(graph.edges(np.array(pairs)).tolist()) for pairs in options]
    theta = np.random.default_rng(5).beta(1 + arrays.params.wins, 7 - arrays.params.wins, size=(400_000, graph.n_pairs))
    expected = np.bincount(np.argmax([theta[:, s].sum(axis=1) for s in sets], axis=0), minlength=len(sets)) / 400_000
    seen = np.zeros(len(sets))
    for _ in range(draws):
        edges = graph.edges(leader)
        best_draw(arrays.plays, arrays.params.wins, arrays.params.leader, rng, edges)
        seen[sets.index(sorted(edges.tolist()))] += 1
    error = np.sqrt(expected * (1 - expected) * (1 / draws + 1 / 400_000))
    assert (np.abs(seen / draws - expected) <= 4 * error).all()
    assert (expected > 0.01).sum() >= 3


def test_a_reward_between_0_and_1_is_a_success_with_that_probability():
    policy = mb.policy("unimodal-matching").build(mb.monopartite(2), rewards=mb.Binomial(4), seed=1)
    for _ in range(4000):
        policy.tell(policy.ask(), [0.25])
    assert abs(policy.arrays.params.wins[0] / 4000 - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
    assert policy.arrays.sums[0] == 1000.0
    for reward in (1.0, 0.0):
        before = policy.arrays.params.wins[0]
        policy.tell(policy.ask(), [reward])
        assert policy.arrays.params.wins[0] == before + reward


def test_results_from_before_are_successes_and_failures():
    spec = mb.policy("unimodal-matching").warm_start([(0, 1)], counts=[10], sums=[7.4])
    assert spec.build(mb.monopartite(4), rewards=mb.Binomial(5)).explain()["pairs"][0]["posterior"]["beta"] == [8, 4]


LEVELLING = {
    "four": [0.9, 0.7, 0.5, 0.2],
    "six": [0.9, 0.8, 0.7, 0.4, 0.3, 0.1],
    "eight in twos": [0.8, 0.8, 0.6, 0.6, 0.4, 0.4, 0.2, 0.2],
    "zeros": [0.9, 0, 0, 0.8, 0, 0, 0.3, 0],
    "small": [0.3, 0.25, 0.15, 0.1],
    "ten": [0.95, 0.9, 0.75, 0.7, 0.55, 0.5, 0.35, 0.3, 0.1, 0.05],
}


@pytest.mark.parametrize("u", LEVELLING.values(), ids=LEVELLING)
@pytest.mark.sampled(1)
def test_regret_levels_off(u):
    runs = mb.simulate(
        mb.Monopartite(u), "unimodal-matching", horizon=120_000, runs=4, seed=2, checkpoints=[30_000, 120_000]
    )
    grown = runs.regret[:, 1] - runs.regret[:, 0]
    assert grown.mean() < 0.35 * runs.final.mean()
    assert grown.max() < 0.6 * runs.final.max()


def test_forty_players_are_played_in_compiled_code():
    problem, horizon = mb.Monopartite(np.repeat(np.linspace(0.95, 0.05, 20), 2)), 60_000
    learned, not_learned = (
        mb.simulate(problem, spec, horizon=horizon, runs=2, seed=1, checkpoints=[horizon])
        for spec in ("unimodal-matching", mb.policy("uniform", selection="matching"))
    )
    assert learned.about["engine"] == "loop"
    assert learned.plays.sum() == 2 * 20 * horizon
    assert learned.final.max() < 0.06 * not_learned.final.min()


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Binomial(3)], ids=str)
def test_the_compiled_loop_plays_what_ask_and_tell_play(law):
    problem = mb.Monopartite([0.9, 0.7, 0.6, 0.3, 0.2, 0.1], rewards=law)
    slow, fast = (
        mb.simulate(problem, "unimodal-matching", horizon=600, runs=2, seed=4, engine=engine, checkpoints=range(1, 601))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


def test_rows_and_columns_and_rewards_outside_0_and_1_are_refused():
    with pytest.raises(mb.MatchbanditError, match="plays on monopartite graphs; got bipartite 3×3"):
        mb.policy("unimodal-matching").build(mb.bipartite(3, 3))
    with pytest.raises(mb.MatchbanditError, match=r"needs rewards in \[0, 1\]"):
        mb.policy("unimodal-matching").build(mb.monopartite(4), rewards=mb.Gaussian(0.5))
    with pytest.raises(mb.MatchbanditError, match="gamma must be a whole number"):
        mb.policy("unimodal-matching", gamma=0).build(mb.monopartite(4))


@pytest.mark.slow
def test_the_contract_holds_with_options():
    mb.check_policy(mb.policy("unimodal-matching", gamma=3))

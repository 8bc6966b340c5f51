from math import log, sqrt

import numpy as np
import pytest
from reference.combinatorial import NaiveCucb, total
from scipy.optimize import linear_sum_assignment

import matchbandit as mb
from matchbandit.policies import combinatorial
from matchbandit.solvers import best as best_solver

PROBLEMS = [
    mb.Monopartite([0.9, 0.7, 0.6, 0.3]),
    mb.Monopartite([0.2, 0.9, 0.5, 0.6, 0.8, 0.3]),
    mb.Bipartite([0.9, 0.4], [0.3, 0.8, 0.5]),
    mb.Bipartite([0.9, 0.4, 0.6], [0.3, 0.8]),
    mb.Bipartite([0.9, 0.2], [0.3, 0.8], rewards=mb.Gaussian(0.3)),
    mb.Monopartite([0.9, 0.7, 0.6, 0.3], rewards=mb.Binomial(4)),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"{problem.graph} {problem.rewards}")
def test_plays_what_the_definition_plays(problem):
    policy = mb.policy("cucb").build(problem.graph, rewards=problem.rewards)
    naive, rng = NaiveCucb(problem.graph, problem.rewards.sigma), np.random.default_rng(1)
    for _ in range(300):
        pairs = [tuple(pair) for pair in policy.ask().tolist()]
        opening = naive.opening()
        if opening:
            assert pairs == opening
        else:
            weights = naive.weights()
            assert total(pairs, weights) >= total(naive.best(weights), weights) - 1e-12
        rewards = problem.rewards.draw(problem.means[problem.graph.edges(pairs)], rng)
        policy.tell(pairs, rewards)
        naive.tell(pairs, rewards.tolist())


def test_by_hand_the_opening_and_the_first_bounds():
    policy = mb.policy("cucb").build(mb.monopartite(4))
    for pairs, rewards in (([[0, 3], [1, 2]], [1, 0]), ([[1, 3], [0, 2]], [0, 0]), ([[2, 3], [0, 1]], [0, 0])):
        assert policy.ask().tolist() == pairs
        policy.tell(pairs, rewards)
    # t = 4, all radii equal: (0, 3) has paid, so it and (1, 2).
    assert policy.ask().tolist() == [[0, 3], [1, 2]]
    bounds = {tuple(pair["pair"]): pair["upper_bound"] for pair in policy.explain()["pairs"]}
    assert bounds[0, 3] == pytest.approx(1 + sqrt(1.5 * log(4)))
    assert bounds[1, 2] == pytest.approx(sqrt(1.5 * log(4)))
    # A second failure of both: means 1/2 and 0 on two plays, bounds at t = 5 of 1/2 + 2 r against 2 √2 r, r = 1.099.
    policy.tell(policy.ask(), [0, 0])
    r = sqrt(1.5 * log(5) / 2)
    assert 0.5 + 2 * r < 2 * sqrt(2) * r
    assert policy.ask().tolist() == [[0, 1], [2, 3]]  # the first of two equal ones


def test_the_radius_is_scaled_by_2_sigma():
    policy = mb.policy("cucb").build(mb.bipartite(1, 2), rewards=mb.Gaussian(3.0))
    for reward in (1.0, 2.0):
        policy.tell(policy.ask(), [reward])
    bounds = [pair["upper_bound"] for pair in policy.explain()["pairs"]]
    assert bounds == pytest.approx([mean + 6 * sqrt(1.5 * log(3)) for mean in (1.0, 2.0)])


@pytest.mark.parametrize("problem", PROBLEMS[:5], ids=lambda problem: f"{problem.graph} {problem.rewards}")
@pytest.mark.sampled(1)
def test_the_compiled_loop_plays_what_ask_and_tell_play(problem):
    slow, fast = (
        mb.simulate(problem, "cucb", horizon=500, runs=2, seed=4, engine=engine, checkpoints=range(1, 501))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


@pytest.mark.parametrize("graph", [mb.monopartite(6), mb.bipartite(3, 4), mb.bipartite(4, 3)], ids=str)
@pytest.mark.parametrize("name", ["cucb", "cts-beta", "cts-gaussian"])
@pytest.mark.sampled(1)
def test_a_solver_plays_what_enumeration_plays(name, graph, monkeypatch):
    # Weights without ties: Gaussian rewards, or random draws.
    law = mb.Binomial(2) if name == "cts-beta" else mb.Gaussian(0.3)
    means = np.linspace(0.2, 0.8, graph.n_pairs)
    played = []
    for most in (1000, 0):
        monkeypatch.setattr(combinatorial, "MAX_MATCHINGS", most)
        monkeypatch.setattr(best_solver, "MAX_MATCHINGS", most)
        policy, rng = mb.policy(name).build(graph, rewards=law, seed=5), np.random.default_rng(2)
        assert policy.lists_candidates == (most == 1000)
        assert policy.compiled == (most == 1000 or graph.kind == "bipartite")
        rounds = []
        for _ in range(200):
            pairs = policy.ask()
            edges = np.sort(graph.edges(pairs))
            rounds.append(edges.tolist())
            policy.tell(graph.pairs[edges], law.draw(means[edges], rng))
        played.append((rounds, policy.recommend().tolist()))
    assert played[0] == played[1]


def test_many_players_are_played_through_ask_and_tell():
    problem = mb.Monopartite(np.linspace(0.9, 0.2, 12))
    runs = mb.simulate(problem, "cucb", horizon=20, seed=1)
    assert runs.about["engine"] == "step"
    assert runs.plays.sum() == 20 * problem.graph.matching_size
    assert np.count_nonzero(runs.plays[0]) == problem.graph.n_pairs  # the initial rounds are over
    with pytest.raises(mb.MatchbanditError, match="has no compiled loop on"):
        mb.simulate(problem, "cucb", horizon=20, engine="loop")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(8, 8), (5, 9), (9, 5)], ids=str)
@pytest.mark.parametrize("name", ["cucb", "cts-beta", "cts-gaussian"])
def test_large_tables_are_played_in_the_compiled_loop_as_with_scipy(name, shape):
    # The policy's own weights, solved by scipy: Bernoulli rewards, so that bounds are tied often.
    problem = mb.Bipartite(np.linspace(0.9, 0.2, shape[0]), np.linspace(0.8, 0.3, shape[1]))
    runs = mb.simulate(problem, name, horizon=120, seed=3, checkpoints=[120])
    assert runs.about["engine"] == "loop"
    policy = mb.policy(name).build(problem.graph, seed=0)
    solved = 0
    for _ in range(120):
        scipys = None
        if name == "cts-beta" or policy.arrays.plays.all():
            state = policy.rng.bit_generator.state
            weights = policy.weights()
            policy.rng.bit_generator.state = state
            rows, columns = linear_sum_assignment(weights.reshape(shape), maximize=True)
            scipys, solved = np.stack([rows, columns], axis=1).tolist(), solved + 1
        pairs = policy.ask()
        assert scipys in (None, pairs.tolist())
        policy.tell(pairs, (pairs.sum(axis=1) % 3 == 0).astype(float))
    assert solved > 100


@pytest.mark.parametrize("name", ["cucb", "cts-beta", "cts-gaussian"])
def test_regret_grows_like_the_logarithm(name):
    players = mb.Monopartite([0.9, 0.8, 0.3, 0.2])
    runs = mb.simulate(players, name, horizon=40_000, runs=10, seed=1, checkpoints=[20_000, 40_000])
    assert runs.final.mean() < {"cucb": 600, "cts-beta": 70, "cts-gaussian": 70}[name]
    assert (runs.regret[:, 1] - runs.regret[:, 0]).mean() < 0.25 * runs.final.mean()


@pytest.mark.parametrize("name", ["cucb", "cts-gaussian", "clucb"])
def test_a_pair_that_never_takes_place_is_asked_for_again_and_again(name):
    policy = mb.policy(name).build(mb.monopartite(4), seed=1)
    for _ in range(60):
        pairs = policy.ask()
        policy.tell(pairs, [np.nan if pair == [0, 3] else 1.0 for pair in pairs.tolist()])
    assert policy.ask().tolist() == [[0, 3], [1, 2]]
    assert not policy.done


def test_the_opening_goes_on_where_a_pair_is_missing_and_the_recommendation_is_the_best_for_the_means():
    policy = mb.policy("cucb").build(mb.bipartite(2, 2))
    policy.tell(policy.ask(), [1, np.nan])
    assert policy.ask().tolist() == [[0, 0], [1, 1]]
    policy.tell(policy.ask(), [0, 0])
    policy.tell(policy.ask(), [1, 0])
    assert policy.arrays.plays.tolist() == [2, 1, 1, 1]
    assert policy.recommend().tolist() == [[0, 1], [1, 0]]
    assert [pair["estimate"] for pair in policy.explain()["pairs"]] == [0.5, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["cucb", "cts-beta", "cts-gaussian"])
def test_an_odd_number_of_players_is_refused(name):
    with pytest.raises(mb.MatchbanditError, match=f"{name} needs an even number of players; got 5"):
        mb.policy(name).build(mb.monopartite(5))

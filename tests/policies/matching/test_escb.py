from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import joint
from scipy.optimize import minimize_scalar

import matchbandit as mb
from matchbandit.kl import kl_upper
from matchbandit.policies.combinatorial import TIE, round_number
from matchbandit.policies.index_policy import exploration, joint_bounds
from matchbandit.policies.matching.escb import Escb, kl_index, kl_values
from matchbandit.solvers import all_matchings

GRAPHS = [mb.bipartite(1, 1), mb.bipartite(3, 3), mb.bipartite(2, 4), mb.bipartite(4, 2), mb.monopartite(2)]
GRAPHS += [mb.monopartite(4), mb.monopartite(6)]


def first_greatest(values):
    best = 0
    for k, value in enumerate(values):
        best = k if value > values[best] + TIE else best
    return best


def truth_of(graph, seed=0):
    return np.random.default_rng(seed).choice([0.0, 0.2, 0.5, 0.8, 1.0], graph.n_pairs)


def arrays_of(graph, plays, sums):
    built = mb.policy("escb", version=1).build(graph)
    built.arrays.plays[:] = plays
    built.arrays.sums[:] = sums
    built.arrays.total[0] = np.sum(plays)
    return built.arrays


def random_arrays(graph, rng, most):
    plays = rng.integers(1, most, graph.n_pairs)
    shape = rng.integers(3)
    if shape == 0:
        return arrays_of(graph, plays, plays * rng.integers(0, 2, graph.n_pairs))
    return arrays_of(graph, plays, rng.integers(0, plays + 1) if shape == 1 else plays * rng.random(graph.n_pairs))


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Binomial(3), mb.Gaussian(2.0)], ids=str)
@pytest.mark.parametrize("exploration", ["log", "full"])
@pytest.mark.sampled(8)
def test_version_2_plays_what_the_definition_plays(graph, law, exploration):
    policy = mb.policy("escb", exploration=exploration).build(graph, rewards=law)

    def value(n, means, t):
        return joint.escb2(n, means, joint.f_of(t, len(n), exploration), law.sigma)

    joint.follow(policy, truth_of(graph), 60, 1, value)


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
@pytest.mark.parametrize(("law", "exploration"), [(mb.Bernoulli(), "log"), (mb.Binomial(3), "full")], ids=str)
def test_version_1_plays_what_the_definition_plays(graph, law, exploration):
    policy = mb.policy("escb", version=1, exploration=exploration).build(graph, rewards=law)

    def value(n, means, t):
        return joint.escb1(n, means, joint.f_of(t, len(n), exploration))

    joint.follow(policy, truth_of(graph), 60, 2, value)


def test_by_hand_ties_go_to_the_first_matching():
    # All rewards are 1, so that only the radii count: a matching played once more than the others waits for them.
    policy = mb.policy("escb").build(mb.monopartite(4))
    played = []
    for _ in range(9):
        played.append(policy.ask().tolist())
        policy.tell(policy.ask(), [1, 1])
    turn = [[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]]
    assert played[3:] == turn + turn


def test_rounding_does_not_decide_between_equals():
    # Means 0.1, 0.2, 0.3 on the diagonals of both cycles: (0.1 + 0.2) + 0.3 and (0.3 + 0.2) + 0.1 differ as floats.
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    graph = mb.bipartite(3, 3)
    policy = mb.policy("escb").build(graph)
    policy.arrays.plays[:] = 10
    policy.arrays.total[0] = 90
    policy.arrays.sums[graph.edges([(0, 0), (1, 1), (2, 2)])] = 3, 2, 1
    policy.arrays.sums[graph.edges([(0, 1), (1, 2), (2, 0)])] = 1, 2, 3
    assert policy.ask().tolist() == [[0, 0], [1, 1], [2, 2]]


def test_the_first_of_the_greatest():
    assert first_greatest(np.array([1.0, 2.0, 2.0 + 1e-13, 1.5])) == 1
    assert first_greatest(np.array([1.0, 2.0, 2.1, 2.1])) == 2


@pytest.mark.parametrize(("t", "weight", "f"), [(1, 4.0, 0.0), (2, 4.0, log(2)), (50, 8.0, log(50) + 8 * log(log(50)))])
def test_log_log_is_at_least_0(t, weight, f):
    arrays = arrays_of(mb.monopartite(4), np.zeros(6), np.zeros(6))
    arrays.total[0] = 2 * (t - 1)
    assert exploration(round_number(arrays), weight) == pytest.approx(f)


def test_the_index_of_version_1_is_the_best_split_of_the_budget():
    # Two pairs: spend b on the one and f − b on the other, as well as possible.
    rng, graph = np.random.default_rng(3), mb.monopartite(4)
    for _ in range(200):
        arrays = random_arrays(graph, rng, 40)
        n, means, f = arrays.plays[[0, 5]], arrays.sums[[0, 5]] / arrays.plays[[0, 5]], rng.uniform(0.1, 12)

        def lost(b, n=n, means=means, f=f):
            return -kl_upper(means[0], b / n[0]) - kl_upper(means[1], (f - b) / n[1])

        split = minimize_scalar(lost, bounds=(0, f), method="bounded", options={"xatol": 1e-10})
        best = max(-split.fun, -lost(0.0), -lost(f))
        assert kl_index(arrays.plays, arrays.sums, np.array([0, 5]), f, -np.inf) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("most", [3, 50, 10**7])
@pytest.mark.sampled(1)
def test_the_index_of_version_1_is_that_of_a_root_search(most):
    rng, graph = np.random.default_rng(most), mb.monopartite(10)
    for _ in range(200):
        arrays, f = random_arrays(graph, rng, most), rng.uniform(0.5, 20)
        matching = all_matchings(graph)[rng.integers(945)]
        n, means = arrays.plays[matching].tolist(), (arrays.sums / arrays.plays)[matching].tolist()
        found = kl_index(arrays.plays, arrays.sums, matching, f, -np.inf)
        assert found == pytest.approx(joint.escb1(n, means, f), abs=1e-9)
        assert found <= joint.escb2(n, means, f) + 1e-9


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), most=st.sampled_from([2, 3, 5, 100, 10**6]), f=st.floats(0.5, 20))
def test_what_is_pruned_changes_nothing(seed, most, f):
    graph = mb.monopartite(8)
    arrays = random_arrays(graph, np.random.default_rng(seed), most)
    values = np.empty(105)
    greatest = kl_values(arrays.plays, arrays.sums, arrays.candidates, f, values)
    exact = np.array([kl_index(arrays.plays, arrays.sums, matching, f, -np.inf) for matching in all_matchings(graph)])
    assert greatest == first_greatest(exact)
    assert (values >= exact - 1e-9).all()


def test_most_matchings_need_no_search():
    graph = mb.monopartite(8)
    u = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    products = u[graph.pairs].prod(axis=1)
    arrays = arrays_of(graph, np.full(28, 2000), 2000 * products)
    values, bounds = np.empty(105), np.empty(105)
    kl_values(arrays.plays, arrays.sums, arrays.candidates, 9.0, values)
    joint_bounds(arrays.plays, arrays.sums, arrays.candidates, 4.5, bounds)
    assert 1 <= (values != bounds).sum() < 50


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [{}, {"version": 1}, {"exploration": "full"}], ids=str)
@pytest.mark.parametrize(
    "problem",
    [mb.Monopartite([0.9, 0.7, 0.6, 0.3, 0.2, 0.1]), mb.Bipartite([0.9, 0.4, 0.3], [0.2, 0.8], rewards=mb.Binomial(3))],
    ids=str,
)
def test_the_compiled_loop_plays_what_ask_and_tell_play(problem, options):
    spec = mb.policy("escb", **options)
    slow, fast = (
        mb.simulate(problem, spec, horizon=400, runs=2, seed=4, engine=engine, checkpoints=range(1, 401))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


@pytest.mark.parametrize("version", [1, 2])
def test_regret_levels_off(version):
    problem = mb.Monopartite([0.9, 0.8, 0.5, 0.4, 0.1, 0.1])
    spec = mb.policy("escb", version=version)
    runs = mb.simulate(problem, spec, horizon=40_000, runs=4, seed=1, checkpoints=[20_000, 40_000])
    assert (runs.regret[:, 1] - runs.regret[:, 0]).mean() < 0.25 * runs.final.mean()
    assert runs.final.mean() < 400


def test_version_1_continues_from_its_state():
    one = mb.policy("escb", version=1).build(mb.monopartite(4), seed=1)
    for _ in range(20):
        one.tell(one.ask(), [1, 0])
    two = mb.restore(one.state())
    assert two.ask().tolist() == one.ask().tolist()
    assert two.explain() == one.explain()


@pytest.mark.parametrize("name", ["escb", "ols-ucb"])
@pytest.mark.parametrize("graph", [mb.monopartite(12), mb.bipartite(7, 7), mb.monopartite(3000)], ids=str)
def test_large_graphs_are_refused(name, graph):  # the number of matchings of the last one has 4561 digits
    with pytest.raises(mb.MatchbanditError, match=rf"{name} looks at every matching, .* more than 1000 .*Use cucb"):
        mb.policy(name).build(graph)


@pytest.mark.parametrize("name", ["escb", "ols-ucb", "aescb"])
def test_odd_numbers_of_players_are_refused(name):
    with pytest.raises(mb.MatchbanditError, match=f"{name} needs an even number of players; got 7"):
        mb.policy(name).build(mb.monopartite(7))


def test_version_1_refuses_rewards_outside_0_and_1():
    with pytest.raises(mb.MatchbanditError, match=r"version 1 needs rewards in \[0, 1\]; gaussian rewards.*version 2"):
        mb.policy("escb", version=1).build(mb.monopartite(4), rewards=mb.Gaussian(1.0))


def test_options_are_checked():
    with pytest.raises(mb.MatchbanditError, match="version must be a whole number, between 1 and 2; got 3"):
        mb.policy("escb", version=3).build(mb.monopartite(4))
    with pytest.raises(mb.MatchbanditError, match="unknown exploration 'ful'; did you mean 'full'"):
        mb.policy("escb", exploration="ful").build(mb.monopartite(4))


@pytest.mark.slow
def test_the_contract_holds_with_options():
    mb.check_policy(mb.policy("escb", exploration="full"))


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "published"), [(0.5, 2451), (0.6, 2376), (0.7, 2437), (0.8, 2400)])
def test_the_published_regret(mean, published):
    family = mb.family("centred", n=4, mean=mean, gap=0.1)
    runs = mb.simulate(family, "escb", horizon=200_000, runs=100, seed=1, checkpoints=[200_000])
    assert runs.final.mean() == pytest.approx(published, rel=0.08)


def test_a_decision_after_less_than_a_round_of_results_is_that_of_the_means():
    # f = log 1 = 0: no confidence region, so that the index is the sum of the means in both versions.
    for version in (1, 2):
        policy, rng = mb.counts_policy(mb.policy("escb", version=version), mb.monopartite(6)), np.random.default_rng(1)
        policy.add_results([(0, 1), (2, 3)], [1.0, 0.0], rng)
        decision = policy.decision(rng, allowed=[(0, 1), (2, 3)])
        assert sorted(decision.pairs.tolist()) == [[0, 1], [2, 3]]
        assert decision.value == 1.0


def test_version_1_is_for_rewards_in_0_and_1_and_says_so():
    assert not Escb.capabilities_with({}).unit_rewards
    assert not Escb.capabilities_with({"version": 2}).unit_rewards
    assert Escb.capabilities_with({"version": 1}).unit_rewards
    with pytest.raises(mb.MatchbanditError, match=r"needs rewards in \[0, 1\]"):
        mb.counts_policy(mb.policy("escb", version=1), mb.monopartite(4), mb.Gaussian(0.5))
    assert mb.counts_policy("escb", mb.monopartite(4), mb.Gaussian(0.5)).name == "escb"

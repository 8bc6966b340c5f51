from math import ceil, sqrt

import numpy as np
import pytest
from reference import joint

import matchbandit as mb
from matchbandit.policies.matching.aescb import solve_budgets, subsets
from matchbandit.solvers import all_matchings

ESCB_TIE = 1e-9


def rounded_up(means, xi):
    return [ceil(mean / xi - 1e-9) for mean in means]


def solutions(graph, plays, means, xi, matchings=None):
    """For every budget, all matchings that solve it: widest first, then the largest sum of rounded means."""
    rounded = rounded_up(means, xi)
    listed = [
        (sum(1 / plays[edge] for edge in m), sum(rounded[edge] for edge in m), sorted(m))
        for m in (joint.matchings(graph) if matchings is None else matchings.tolist())
    ]
    found = []
    for budget in range(max(total for _, total, _ in listed) + 1):
        allowed = [one for one in listed if one[1] >= budget]
        widest = max(one[0] for one in allowed)
        tied = [one for one in allowed if one[0] >= widest * (1 - 1e-12)]
        most = max(one[1] for one in tied)
        found.append([one[2] for one in tied if one[1] == most])
    return found


def value_of(matching, plays, means, f, sigma):
    return sum(means[e] for e in matching) + 2 * sigma * sqrt(f / 2 * sum(1 / plays[e] for e in matching))


def filled(graph, plays, sums, **options):
    policy = mb.policy("aescb", **options).build(graph)
    policy.arrays.plays[:] = plays
    policy.arrays.sums[:] = sums
    policy.arrays.total[0] = np.sum(plays)
    return policy


@pytest.mark.parametrize("n", [2, 4, 6, 8])
@pytest.mark.parametrize("xi", [0.1, 0.03, 1.0])
def test_every_budget_is_solved_as_by_looking_at_all_matchings(n, xi):
    rng, graph = np.random.default_rng(n), mb.monopartite(n)
    listed = joint.matchings(graph)
    for most in (2, 10, 10**6):
        plays = rng.integers(1, most, graph.n_pairs)
        arrays = filled(graph, plays, rng.integers(0, plays + 1), xi=xi).arrays
        rounded = np.array(rounded_up((arrays.sums / plays).tolist(), xi))
        own, width = arrays.params, int(rounded.max()) * (n // 2) + 1
        solve_budgets(own, 1 / plays, rounded, width)
        spreads = own.spreads[-1, :width]
        totals = [int(rounded[m].sum()) for m in listed]
        widths = [float((1 / plays[m]).sum()) for m in listed]
        for s in range(len(spreads)):
            best = max((w for w, total in zip(widths, totals, strict=True) if total == s), default=-np.inf)
            assert spreads[s] == pytest.approx(best, rel=1e-12)
            if best > 0:
                matching, players, left = [], len(own.spreads) - 1, s
                for _ in range(n // 2):
                    k = own.steps[players, left]
                    matching.append(int(own.firsts[players, k]))
                    players, left = own.rests[players, k], left - rounded[matching[-1]]
                assert sorted(matching) in [sorted(m) for m in listed]
                assert rounded[matching].sum() == s
                assert (1 / plays[matching]).sum() == pytest.approx(best, rel=1e-12)
        assert len(spreads) > max(totals)


@pytest.mark.parametrize("options", [{}, {"xi": 0.25, "exploration": "full"}, {"xi": 0.02}], ids=str)
@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Binomial(3)], ids=str)
@pytest.mark.sampled(1)
def test_plays_the_best_of_the_solutions(options, law):
    rng, graph = np.random.default_rng(5), mb.monopartite(6)
    xi, exploration = options.get("xi", 0.1), options.get("exploration", "log")
    differs_from_escb = 0
    for _ in range(60):
        policy = mb.policy("aescb", **options).build(graph, rewards=law)
        plays = rng.choice(np.arange(3, 400), graph.n_pairs, replace=False)  # all different: no two spreads are tied
        sums = (plays * rng.random(graph.n_pairs)).round()
        policy.arrays.plays[:], policy.arrays.sums[:], policy.arrays.total[0] = plays, sums, plays.sum()
        means, f = (sums / plays).tolist(), joint.f_of(plays.sum() // 3 + 1, 3, exploration)
        candidates = [tied[0] for tied in solutions(graph, plays, means, xi)]
        values = [value_of(m, plays, means, f, law.sigma) for m in candidates]
        played = sorted(graph.edges(policy.ask()).tolist())
        assert played == candidates[int(np.argmax(values))]
        best = max(value_of(m, plays, means, f, law.sigma) for m in joint.matchings(graph))
        assert max(values) >= best - 3 * xi
        differs_from_escb += max(values) < best - 1e-12
    assert differs_from_escb > 0 or xi < 0.05


@pytest.mark.parametrize("n", [2, 4, 6])
def test_from_the_first_round_on_it_plays_a_solution_and_the_best_budget(n):
    # Early on many matchings are equally wide; whichever solves a budget, none of the budgets may offer more for sure.
    graph, rng = mb.monopartite(n), np.random.default_rng(7)
    truth = rng.choice([0.0, 0.3, 0.6, 1.0], graph.n_pairs)
    policy = mb.policy("aescb").build(graph)
    for t in range(1, 120):
        edges = graph.edges(policy.ask())
        if t > n - 1:
            plays = policy.arrays.plays.copy()
            means, f = (policy.arrays.sums / plays).tolist(), joint.f_of(t, n // 2)
            found = solutions(graph, plays, means, 0.1)
            assert any(sorted(edges.tolist()) in tied for tied in found)
            sure = max(min(value_of(m, plays, means, f, 0.5) for m in tied) for tied in found)
            assert value_of(edges, plays, means, f, 0.5) >= sure - ESCB_TIE
        policy.tell(policy.ask(), rng.binomial(1, truth[edges]).astype(float))


def test_a_multiple_of_xi_is_not_rounded_up_further():
    # 0.28 is 14 steps of 0.02, though 0.28/0.02 is more than 14 as a float. Two such means sum to 28; another matching
    # has 14 + 15 and is a little wider, so that it solves every budget, though its index is lower. Were 0.28 rounded up
    # to 15 steps, the first would solve the budget of 30 and be played.
    assert 0.28 / 0.02 > 14
    plays = np.array([2500, 2499, 10**6, 10**6, 2499, 2500])
    policy = filled(mb.monopartite(4), plays, plays * [0.28, 0.2605, 0, 0, 0.2805, 0.28], xi=0.02)
    assert policy.ask().tolist() in ([[0, 2], [1, 3]], [[1, 3], [0, 2]])


@pytest.mark.parametrize("n", [3, 5, 7])
def test_of_an_odd_number_of_players_one_sits_out_of_a_decision(n):
    rng, graph, sat_out = np.random.default_rng(n), mb.monopartite(n), set()
    policy = mb.counts_policy("aescb", graph)
    assert policy.decision(rng).opening
    listed = all_matchings(graph)
    for _ in range(40):
        plays = rng.choice(np.arange(3, 400), graph.n_pairs, replace=False)
        sums = (plays * rng.random(graph.n_pairs)).round()
        policy.set_counts(np.arange(graph.n_pairs), plays, sums)
        means, f = (sums / plays).tolist(), joint.f_of(plays.sum() // (n // 2) + 1, n // 2)
        candidates = [tied[0] for tied in solutions(graph, plays, means, 0.1, listed)]
        values = [value_of(m, plays, means, f, 0.5) for m in candidates]
        decision = policy.decision(rng)
        assert sorted(graph.edges(decision.pairs).tolist()) == candidates[int(np.argmax(values))]
        assert decision.value == pytest.approx(max(values))
        sat_out |= set(range(n)) - set(decision.pairs.ravel().tolist())
    assert len(sat_out) > 1


def test_sets_of_players_are_those_that_remain():
    edges, rests = subsets(mb.monopartite(4))
    # The empty set; what can remain after a pair with player 0: {1, 2}, {1, 3}, {2, 3}; all four.
    assert edges.tolist() == [[-1, -1, -1], [3, -1, -1], [4, -1, -1], [5, -1, -1], [0, 1, 2]]
    assert rests[4].tolist() == [3, 2, 1]


def test_twelve_players_are_played_and_fourteen_refused():
    problem = mb.Monopartite(np.linspace(0.95, 0.05, 12))
    runs = mb.simulate(problem, "aescb", horizon=300, checkpoints=[300], engine="loop")
    assert runs.plays.sum() == 1800
    with pytest.raises(mb.MatchbanditError, match=r"aescb supports at most 12 items; got 14\. Use rank1-thompson"):
        mb.policy("aescb").build(mb.monopartite(14))


@pytest.mark.slow
def test_the_compiled_loop_plays_what_ask_and_tell_play():
    problem = mb.Monopartite([0.9, 0.7, 0.6, 0.3, 0.2, 0.1], rewards=mb.Binomial(2))
    slow, fast = (
        mb.simulate(problem, "aescb", horizon=400, runs=2, seed=4, engine=engine, checkpoints=range(1, 401))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


def test_regret_levels_off():
    problem = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
    runs = mb.simulate(problem, "aescb", horizon=100_000, runs=5, seed=1, checkpoints=[50_000, 100_000])
    assert (runs.regret[:, 1] - runs.regret[:, 0]).mean() < 0.2 * runs.final.mean()
    assert runs.final.mean() < 300


@pytest.mark.parametrize("xi", [0, 0.0001, 1.5, float("nan")])
def test_xi_must_fit(xi):
    with pytest.raises(mb.MatchbanditError, match="xi must"):
        mb.policy("aescb", xi=xi).build(mb.monopartite(4))


def test_the_state_holds_no_tables_of_the_graph():
    memory = mb.policy("aescb").build(mb.monopartite(6)).state()["memory"]
    assert set(memory) == {"plays", "sums", "total"}


@pytest.mark.slow
def test_the_contract_holds_with_options():
    mb.check_policy(mb.policy("aescb", xi=0.3, exploration="full"))

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.strengths import drawn_information, ends_of, expected_information, size_of, slope

import matchbandit as mb
from matchbandit.policies import check
from matchbandit.policies.rank1_thompson import Rank1Thompson, best_round, choose, sits_out
from matchbandit.simulation.play import Job
from matchbandit.solvers import sorted_across, sorted_pairing
from matchbandit.strengths import NEGLIGIBLE, draw_dense

CERTAIN = 1e12
"""The root of an information that leaves draws no room."""
PAIRS, MATCHINGS = (mb.policy("rank1-thompson", selection=selection) for selection in ("pair", "matching"))
graphs = pytest.mark.parametrize("graph", [mb.monopartite(4), mb.bipartite(4, 3)], ids=str)


def with_random_results(graph, seed, most=200, **options):
    """A policy to which results are put that some strengths could have given."""
    rng, policy = np.random.default_rng(seed), build(graph, **options)
    u, counts = rng.uniform(0.1, 0.95, size_of(graph)), rng.integers(0, most + 1, graph.n_pairs)
    sums = rng.binomial(counts, u[ends_of(graph)].prod(axis=1))
    policy.set_counts(np.arange(graph.n_pairs), counts.astype(float), sums.astype(float))
    return policy


def renew(policy):
    """Choose with a posterior that is out of date."""
    policy.arrays.out_of_date[0], policy.arrays.rounds_since[0] = 1, 1000
    choose(policy.arrays, np.random.default_rng(0), np.zeros(1, dtype=np.int64))


def information(policy):
    """H of draws at the log strengths that were fitted last."""
    model = policy.arrays.model
    return drawn_information(model.logs, policy.graph, policy.setting.rewards, model.plays)


def all_finite(arrays):
    parts = (*arrays.model[:6], *arrays[1:9])
    return all(np.isfinite(part).all() for part in parts) and (arrays.model.logs < 0).all()


def build(graph, seed=0, **options):
    return mb.policy("rank1-thompson", **options).build(graph, seed=seed)


def play(policy, reward_of, rounds):
    played = []
    for _ in range(rounds):
        pairs = policy.ask()
        played.append(tuple(pairs[0].tolist()))
        policy.tell(pairs, [reward_of(*played[-1])])
    return played


# Posterior


@pytest.mark.parametrize("graph", [mb.bipartite(1, 1), mb.monopartite(2), mb.monopartite(5)], ids=str)
@pytest.mark.sampled(1)
def test_without_plays_there_is_the_prior(graph):
    policy, nothing = build(graph, selection="pair"), np.zeros(graph.n_pairs)
    renew(policy)
    logs = policy.arrays.model.logs
    steps = np.linalg.solve(information(policy), slope(logs, graph, mb.Bernoulli(), nothing, nothing))
    assert np.abs(steps).max() < 0.02  # a fit in play ends a little earlier than one of a posterior
    steps = slope(policy.posterior.logs, graph, mb.Bernoulli(), nothing, nothing)
    assert np.abs(steps).max() < 1e-6


@pytest.mark.parametrize("selection", ["pair", "matching"])
@pytest.mark.parametrize("seed", range(4))
def test_in_the_midst_of_play_the_strengths_are_close_to_the_converged_fit(seed, selection):
    rng = np.random.default_rng(seed)
    problem = mb.Bipartite(rng.random(4), rng.random(5)) if seed % 2 else mb.Monopartite(rng.random(6))
    spec = mb.policy("rank1-thompson", selection=selection)
    policy, _ = Job(problem, spec, np.array([20_000]), seed, "loop", None).play(0)
    renew(policy)
    converged = policy.posterior
    off = policy.arrays.model.logs - converged.logs
    H = expected_information(converged.logs, problem.graph, mb.Bernoulli(), policy.arrays.model.plays)
    assert off @ H @ off < 0.03**2


@graphs
def test_the_factor_is_a_root_of_the_information(graph):
    for seed in range(10):
        policy = with_random_results(graph, seed, selection="pair")
        renew(policy)
        L = policy.arrays.factor
        assert pytest.approx(information(policy), rel=1e-9, abs=1e-9) == L @ L.T
        assert (policy.arrays.plays_then == policy.arrays.model.plays).all()
        assert policy.arrays.out_of_date[0] == 0


@graphs
def test_a_round_is_the_best_of_a_draw_from_the_posterior(graph):
    policy = with_random_results(graph, 3, most=5, selection="matching")
    renew(policy)
    model, L, diagonal = policy.arrays.model, policy.arrays.factor, policy.arrays.diagonal
    edges, rounds = np.zeros(policy.round_size, dtype=np.int64), set()
    for seed in range(100):
        choose(policy.arrays, np.random.default_rng(seed), edges)
        draw, expected = np.empty(len(L)), np.zeros_like(edges)
        draw_dense(model.logs, L, diagonal, model.n_rows, np.random.default_rng(seed), draw)
        best_round(draw, model.n_rows, -1, expected)
        assert edges.tolist() == expected.tolist()
        rounds.add(tuple(edges.tolist()))
    assert len(rounds) >= 3


@pytest.mark.parametrize("graph", [mb.bipartite(3, 4), mb.bipartite(1, 3), mb.monopartite(2), mb.monopartite(5)])
def test_the_two_strongest_are_played(graph):
    policy, edges = build(graph, selection="pair"), np.zeros(1, dtype=np.int64)
    n_rows = graph.n_rows
    for edge, (i, j) in enumerate(graph.pairs.tolist()):
        logs = policy.arrays.model.logs
        logs[:] = np.log(0.1)
        logs[[i, n_rows + j]] = np.log(0.9)
        policy.arrays.factor[:], policy.arrays.out_of_date[0] = CERTAIN * np.eye(len(logs)), 0
        policy.arrays.diagonal[:] = 1.0
        choose(policy.arrays, policy.rng, edges)
        assert edges[0] == edge
        best_round(logs, n_rows, -1, edges)
        assert edges[0] == edge


def test_the_posterior_is_renewed_when_a_pair_has_grown_by_2_percent():
    policy = mb.policy("rank1-thompson").build(mb.bipartite(1, 1), seed=1)
    renewed_at = []
    for n in range(1, 400):
        pairs = policy.ask()
        if n > 1 and policy.arrays.plays_then[0] == n - 1:
            renewed_at.append(n - 1)
        policy.tell(pairs, [1.0])
    assert renewed_at[:50] == list(range(1, 51))  # each of the first 51 plays is more than 2 % of those before
    expected, last = [], 0
    for n in range(1, 399):
        if n > 1.02 * last:
            expected.append(n)
            last = n
    assert renewed_at == expected


def test_by_hand_two_columns_one_of_which_always_wins():
    policy = mb.policy("rank1-thompson").build(mb.bipartite(1, 2), seed=1)
    play(policy, lambda i, j: float(j == 1), 200)
    assert policy.recommend().tolist() == [[0, 1]]
    assert [pair[1] for pair in play(policy, lambda i, j: float(j == 1), 100)].count(1) >= 98
    shown = policy.explain()
    row, first, second = shown["items"]
    assert [row["side"], first["side"], second["side"]] == ["row", "column", "column"]
    assert second["estimate"] > 0.9 > 0.4 > first["estimate"]
    assert first["samples"] + second["samples"] == row["samples"] == 300


# Extremes


@pytest.mark.sampled(2)
@pytest.mark.parametrize("graph", [mb.bipartite(2, 3), mb.monopartite(4)], ids=str)
@pytest.mark.parametrize("slip", [1e150, -1e150, 1e30])
def test_two_gaussian_rewards_beyond_belief_do_not_end_the_fit(graph, slip):
    # Each counts as 42 or −40 rewards of 1. Both may fall on one pair, which then takes a thousand rounds to forget.
    best = graph.pairs[0].tolist()
    for seed in range(5):
        policy = mb.policy("rank1-thompson", selection="pair").build(graph, rewards=mb.Gaussian(0.5), seed=seed)
        for n in range(2000):
            pair = policy.ask()[0].tolist()
            policy.tell([pair], [slip if n in (5, 6) else float(pair == best)])
            assert n % 10 or all_finite(policy.arrays)
        assert policy.recommend()[0].tolist() == best
    with pytest.raises(mb.MatchbanditError, match="1e\\+308"):
        policy.tell(policy.ask(), [1e308])


@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize("graph", [mb.bipartite(3, 3), mb.monopartite(4), mb.bipartite(1, 4), mb.bipartite(4, 1)])
def test_while_nothing_tells_the_pairs_apart_all_are_played(graph, reward):
    for seed in range(5):
        policy = build(graph, seed, selection="pair")
        played = play(policy, lambda i, j: reward, 400)
        assert set(played) == set(map(tuple, graph.pairs.tolist()))
        assert all_finite(policy.arrays)


@pytest.mark.parametrize(
    "problem",
    [
        mb.Bipartite([0.0, 1.0, 0.5], [1.0, 0.0]),
        mb.Bipartite([0.0, 0.0], [0.0, 0.0]),
        mb.Bipartite([1.0, 1.0], [1.0, 1.0, 1.0]),
        mb.Bipartite([0.7, 0.7, 0.7], [0.4, 0.4]),
        mb.Bipartite([0.5], [0.1, 0.6, 0.4]),
        mb.Bipartite([0.1, 0.6, 0.4], [0.5]),
        mb.Bipartite([0.3], [0.9]),
        mb.Monopartite([0.3, 0.9]),
        mb.Monopartite([1.0, 1.0, 0.0, 0.0]),
        mb.Monopartite([0.5, 0.5, 0.5]),
        mb.Monopartite([0.0, 0.0, 0.0, 1.0]),
    ],
    ids=str,
)
def test_odd_problems_are_learnt_without_a_hitch(problem):
    runs = mb.simulate(problem, PAIRS, horizon=20_000, runs=3, seed=1, checkpoints=[10_000, 20_000])
    assert np.isfinite(runs.regret).all()
    assert (runs.final < 100).all()
    policy, _ = Job(problem, PAIRS, np.array([5000]), 2, "loop", None).play(0)
    assert all_finite(policy.arrays)


@pytest.mark.slow
def test_an_item_that_failed_at_first_is_taken_up_again():
    # The best pair fails in its first three plays; a bad one succeeds now and then.
    for seed in range(10):
        policy, plays = mb.policy("rank1-thompson").build(mb.bipartite(5, 9), seed=seed), np.zeros((5, 9), dtype=int)
        rng = np.random.default_rng(seed)
        for _ in range(3000):
            i, j = policy.ask()[0]
            mean = (0.9 if i == 2 else 0.5) * (0.9 if j == 4 else 0.5)
            unlucky = (i == 2 and plays[i].sum() < 3) or (j == 4 and plays[:, j].sum() < 3)
            policy.tell([[i, j]], [0.0 if unlucky else float(rng.random() < mean)])
            plays[i, j] += 1
        assert policy.recommend().tolist() == [[2, 4]]


# Regret


@pytest.mark.slow
@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(0.5), mb.Gaussian(0.1), mb.Binomial(5)], ids=str)
def test_the_last_half_of_the_rounds_adds_little_regret(law):
    problems = [
        mb.Bipartite([0.9, 0.5, 0.3], [0.8, 0.4, 0.6, 0.1], rewards=law),
        mb.Bipartite([0.2, 0.1], [0.3, 0.05, 0.1], rewards=law),
        mb.Monopartite([0.9, 0.8, 0.5, 0.3, 0.2], rewards=law),
        mb.Monopartite([0.3, 0.2, 0.1], rewards=law),
    ]
    regret = np.concatenate(
        [
            mb.simulate(problem, PAIRS, horizon=20_000, runs=4, seed=3, checkpoints=[10_000, 20_000]).regret
            for problem in problems
        ]
    )
    assert (regret[:, 1] - regret[:, 0]).sum() < 0.3 * regret[:, 1].sum()
    assert regret[:, 1].mean() < 150


@pytest.mark.sampled(2)
@pytest.mark.parametrize("u", [[0.9, 0.9, 0.0, 0.0], [0.3, 0.3, 0.0, 0.0], [1.0, 0.8, 0.0]], ids=str)
@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(0.5)], ids=str)
def test_two_players_among_players_worth_nothing_are_settled_on(u, law):
    # The others' rewards say nothing of how the two share their product; that must not matter for long.
    problem = mb.Monopartite(u, rewards=law)
    runs = mb.simulate(problem, PAIRS, horizon=40_000, runs=3, seed=1, checkpoints=[20_000, 40_000])
    assert (runs.regret[:, 1] - runs.regret[:, 0]).mean() < 0.3 * runs.final.mean()


@pytest.mark.slow
def test_on_the_papers_figure_it_is_as_good_as_uts_and_far_better_than_pair_elim():
    slots = mb.family("spiked", n=8, u1=0.9, gap=0.75)
    ours, unimodal, elimination = (
        mb.simulate(slots, name, horizon=200_000, runs=10, seed=1, checkpoints=[200_000]).final.mean()
        for name in ("rank1-thompson", "uts", "pair-elim")
    )
    assert ours <= 1.2 * unimodal
    assert ours <= elimination / 50


def random_problem(seed):
    rng = np.random.default_rng(seed)
    if seed % 2:
        return mb.Monopartite(rng.random(rng.integers(2, 9)))
    return mb.Bipartite(rng.random(rng.integers(1, 9)), rng.random(rng.integers(1, 9)))


@pytest.mark.slow
def test_on_random_instances_the_last_half_adds_little_regret():
    regret = np.array(
        [
            mb.simulate(random_problem(seed), PAIRS, horizon=100_000, seed=seed, checkpoints=[50_000, 100_000]).regret[
                0
            ]
            for seed in range(100)
        ]
    )
    assert (regret[:, 1] - regret[:, 0]).sum() < 0.3 * regret[:, 1].sum()


# Engines and states


@pytest.mark.sampled(6)
@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(0.5), mb.Binomial(3)], ids=str)
@pytest.mark.parametrize("spec", [PAIRS, MATCHINGS], ids=lambda spec: spec.options["selection"])
@pytest.mark.parametrize("kind", ["bipartite", "even", "odd"])
def test_the_compiled_loop_plays_what_ask_and_tell_play(kind, spec, law):
    u = [0.9, 0.4, 0.3, 0.7]
    problem = mb.Bipartite(u, [0.2, 0.8], rewards=law)
    if kind != "bipartite":
        problem = mb.Monopartite(u if kind == "even" else [*u, 0.6], rewards=law)
    slow, fast = (
        mb.simulate(problem, spec, horizon=400, runs=2, seed=4, engine=engine, checkpoints=range(1, 401))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


def test_a_restored_policy_has_the_same_future():
    problem = mb.Bipartite([0.9, 0.8, 0.3], [0.7, 0.6])
    means = problem.means.reshape(3, 2)
    policy = mb.policy("rank1-thompson").build(problem.graph, seed=6)
    rng = np.random.default_rng(1)
    play(policy, lambda i, j: float(rng.random() < means[i, j]), 137)
    twin = mb.restore(json.loads(json.dumps(policy.state())))
    futures = []
    for each in (policy, twin):
        rng = np.random.default_rng(2)
        futures.append(play(each, lambda i, j, rng=rng: float(rng.random() < means[i, j]), 500))
    assert futures[0] == futures[1]
    assert len(set(futures[0])) > 2
    assert policy.state() == twin.state()


def test_looking_at_it_changes_nothing():
    policy = build(mb.monopartite(4), seed=1, selection="pair")
    play(policy, lambda i, j: float(i == 0), 30)
    before = policy.state()
    policy.recommend()
    policy.explain()
    assert policy.state() == before


# Matchings


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([0.0, 0.2, 0.5]) | st.floats(0, 1), min_size=2, max_size=9), st.integers(1, 8))
def test_the_best_round_is_the_sorted_pairing(strengths, n_rows):
    drawn = np.array(strengths)
    players, edges = mb.monopartite(len(drawn)), np.zeros(len(drawn) // 2, dtype=np.int64)
    best_round(drawn, 0, -1, edges)
    assert players.pairs[edges].tolist() == sorted_pairing(drawn).tolist()
    if n_rows < len(drawn):
        slots = mb.bipartite(n_rows, len(drawn) - n_rows)
        edges = np.zeros(slots.matching_size, dtype=np.int64)
        best_round(drawn, n_rows, -1, edges)
        assert slots.pairs[edges].tolist() == sorted_across(drawn[:n_rows], drawn[n_rows:]).tolist()


@pytest.mark.parametrize(("absent", "expected"), [(0, [[1, 3], [2, 4]]), (1, [[0, 3], [2, 4]]), (4, [[1, 3], [0, 2]])])
def test_by_hand_those_present_are_paired(absent, expected):
    edges = np.zeros(2, dtype=np.int64)
    best_round(np.array([0.5, 0.9, 0.5, 0.6, 0.1]), 0, absent, edges)
    assert mb.monopartite(5).pairs[edges].tolist() == expected


def test_one_of_three_sits_out_and_the_others_meet():
    edges = np.zeros(1, dtype=np.int64)
    best_round(np.array([0.5, 0.9, 0.7]), 0, 1, edges)
    assert mb.monopartite(3).pairs[edges].tolist() == [[0, 2]]


def test_players_play_matchings_and_slots_pairs_unless_told_otherwise():
    assert build(mb.monopartite(6)).ask().shape == build(mb.bipartite(3, 7), selection="matching").ask().shape == (3, 2)
    assert build(mb.bipartite(3, 7)).ask().shape == build(mb.monopartite(6), selection="pair").ask().shape == (1, 2)


@pytest.mark.parametrize(
    "graph", [mb.monopartite(4), mb.monopartite(5), mb.bipartite(3, 3), mb.bipartite(2, 4)], ids=str
)
def test_the_recommendation_is_the_best_matching_of_the_fitted_strengths(graph):
    policy = build(graph, seed=3, selection="matching")
    worth = np.array([0.9, 0.2, 0.6, 0.7, 0.4])
    for _ in range(600):
        pairs = policy.ask()
        policy.tell(pairs, worth[pairs[:, 0]] * worth[pairs[:, 1]])
    rows, columns = (worth[:size] for size in graph.shape)
    best = mb.Bipartite(rows, columns) if graph.kind == "bipartite" else mb.Monopartite(rows)
    assert policy.recommend().tolist() == best.best_matching.tolist()


@pytest.mark.parametrize(
    ("problem", "most"),
    [
        (mb.family("centred", n=4, mean=0.5, gap=0.1).draw(), 45),
        (mb.family("centred", n=4, mean=0.8, gap=0.1).draw(), 25),
        (mb.Monopartite([0.9, 0.9, 0.0, 0.0, 0.5, 0.5]), 60),
        (mb.Monopartite([1.0, 1.0, 0.7, 0.7, 0.2, 0.2]), 60),
        (mb.Monopartite([0.9, 0.7, 0.5, 0.3, 0.1]), 20),
        (mb.Monopartite([0.6] * 6), 1e-9),
        (mb.Bipartite([0.9, 0.5, 0.2], [0.8, 0.6, 0.1]), 50),
        (mb.Bipartite([0.9, 0.5], [0.8, 0.6, 0.3, 0.1]), 60),
        (mb.Bipartite([0.9, 0.5, 0.3, 0.1], [0.8, 0.4]), 60),
        (mb.Monopartite([0.9, 0.8, 0.5, 0.3], rewards=mb.Gaussian(0.5)), 100),
        (mb.Monopartite([0.9, 0.8, 0.5, 0.3], rewards=mb.Binomial(3)), 25),
    ],
    ids=str,
)
@pytest.mark.sampled(2)
def test_matchings_are_learnt(problem, most):
    runs = mb.simulate(problem, MATCHINGS, horizon=40_000, runs=6, seed=1, checkpoints=[20_000, 40_000])
    assert runs.final.mean() < most
    assert (runs.regret[:, 1] - runs.regret[:, 0]).mean() <= 0.3 * runs.final.mean() + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "most"), [(0.5, 48), (0.6, 49), (0.7, 36), (0.8, 27)])
def test_on_the_papers_matchings_it_loses_a_fiftieth_of_what_others_do(mean, most):
    players = mb.family("centred", n=4, mean=mean, gap=0.1)
    assert mb.simulate(players, MATCHINGS, horizon=200_000, runs=100, seed=1, checkpoints=[200_000]).final.mean() < most


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["even", "odd", "slots"])
def test_on_random_matchings_the_last_half_adds_little_regret(kind):
    regret = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        if kind == "slots":
            problem = mb.Bipartite(rng.random(rng.integers(2, 9)), rng.random(rng.integers(2, 9)))
        else:
            problem = mb.Monopartite(rng.random(2 * rng.integers(2, 11) + (kind == "odd")))
        runs = mb.simulate(problem, MATCHINGS, horizon=100_000, seed=seed, checkpoints=[50_000, 100_000])
        regret.append(runs.regret[0])
    halves = np.array(regret).sum(axis=0)
    assert halves[1] - halves[0] < 0.3 * halves[1]


def test_almost_two_hundred_players_are_renewed_every_third_round():
    policy, renewed_at = build(mb.monopartite(198), seed=1), []
    for n in range(1, 14):
        pairs = policy.ask()
        if policy.arrays.plays_then.sum() == 99 * (n - 1) > 0:
            renewed_at.append(n)
        policy.tell(pairs, np.ones(99))
    assert renewed_at == [4, 7, 10, 13]


# Byes


def absent(policy):
    return (set(range(policy.graph.shape[0])) - set(policy.ask().ravel().tolist())).pop()


@pytest.mark.parametrize(
    ("times", "last", "first"),
    [
        ([0, 0, 0], [0, 0, 0], 0),
        ([1, 0, 0], [1, 0, 0], 1),
        ([1, 1, 1], [1, 2, 3], 0),
        ([1, 1, 1], [3, 1, 2], 1),
        ([2, 1, 1], [1, 4, 3], 2),
        ([2, 2, 1], [1, 3, 5], 2),
    ],
)
def test_by_hand_who_sits_out(times, last, first):
    assert sits_out(np.array(times), np.array(last)) == first


def test_by_hand_five_players_sit_out_in_turn_also_after_a_restart():
    policy, seen = build(mb.monopartite(5), seed=2), []
    for number in range(13):
        assert absent(policy) == absent(policy)  # asked twice: one bye
        seen.append(absent(policy))
        if number in (3, 7):
            policy = mb.restore(json.loads(json.dumps(policy.state())))  # with the question open
        policy.tell(policy.ask(), [np.nan, np.nan] if number == 4 else [1.0, np.nan] if number == 6 else [1.0, 0.0])
        if number in (5, 8):
            policy = mb.restore(json.loads(json.dumps(policy.state())))
    assert seen == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2]
    assert [player["byes"] for player in policy.explain()["items"]] == [3, 3, 3, 2, 2]
    assert policy.arrays.last_bye.tolist() == [11, 12, 13, 9, 10]


def test_who_had_more_byes_before_is_passed_over():
    policy = build(mb.monopartite(3), seed=1)
    policy.arrays.byes[:], policy.arrays.last_bye[:] = [2, 0, 1], [3, 0, 2]
    seen = []
    for _ in range(6):
        seen.append(absent(policy))
        policy.tell(policy.ask(), [1.0])
    # First 1, who had none; then 1 and 2 have one each, 2 the earlier; then 1 again; then by the order of the last.
    assert seen == [1, 2, 1, 0, 2, 1]


def test_in_a_long_run_all_sit_out_equally_often():
    policy, score = Job(mb.Monopartite([0.9, 0.5, 0.4]), MATCHINGS, np.array([999]), 1, "loop", None).play(0)
    assert policy.arrays.byes.tolist() == [333, 333, 333]
    assert score.plays.tolist() == [333, 333, 333]
    assert score.regret.tolist() == [0.0]  # two who are present can only meet


def test_only_an_odd_number_in_matchings_has_byes():
    for graph, selection in (
        (mb.monopartite(5), "pair"),
        (mb.monopartite(4), "matching"),
        (mb.bipartite(2, 3), "matching"),
    ):
        policy = build(graph, selection=selection)
        policy.tell(policy.ask(), np.ones(policy.round_size))
        assert not policy.arrays.byes.size
        assert "byes" not in str(policy.explain())


# Warm start


@pytest.mark.parametrize("graph", [mb.bipartite(3, 4), mb.monopartite(5), mb.monopartite(6)], ids=str)
@pytest.mark.parametrize("selection", ["pair", "matching"])
def test_a_warm_start_is_worth_as_much_as_having_played(graph, selection):
    policy, rng = build(graph, seed=1, selection=selection), np.random.default_rng(2)
    counts, sums = np.zeros(graph.n_pairs), np.zeros(graph.n_pairs)
    for _ in range(300):
        pairs = policy.ask()
        rewards = rng.binomial(1, 0.9 / (1 + pairs.sum(axis=1))).astype(float)
        counts[graph.edges(pairs)] += 1
        sums[graph.edges(pairs)] += rewards
        policy.tell(pairs, rewards)
    warm = mb.policy("rank1-thompson", selection=selection).warm_start(graph.pairs, counts, sums).build(graph, seed=5)
    assert np.array_equal(warm.arrays.model.plays, policy.arrays.model.plays)
    assert np.array_equal(warm.arrays.model.sums, policy.arrays.model.sums)
    assert warm.posterior.logs.tolist() == policy.posterior.logs.tolist()
    assert warm.arrays.model.logs.tolist() == warm.posterior.logs.tolist()
    renew(warm)
    L = warm.arrays.factor
    assert pytest.approx(information(warm), rel=1e-9, abs=1e-9) == L @ L.T
    assert warm.recommend().tolist() == policy.recommend().tolist()


def test_logged_pairs_may_come_in_either_order_and_counts_may_be_huge():
    n = 2**53
    policy = mb.policy("rank1-thompson").warm_start([(1, 0), (2, 3)], [n, 10], [n / 2, 9]).build(mb.monopartite(4))
    assert policy.arrays.model.plays.tolist() == [n, 0, 0, 0, 0, 10]
    assert policy.arrays.model.sums.tolist() == [n / 2, 0, 0, 0, 0, 9]
    assert policy.posterior.strengths[:2].prod() == pytest.approx(0.5)
    for _ in range(20):
        policy.tell(policy.ask(), [1.0, 0.0])
    assert all_finite(policy.arrays)


def test_a_policy_that_was_told_the_truth_has_little_left_to_learn():
    problem = mb.family("centred", n=4, mean=0.5, gap=0.1).draw()
    counts = np.full(problem.graph.n_pairs, 20_000)
    warm = MATCHINGS.warm_start(problem.graph.pairs, counts, counts * problem.means)
    assert mb.simulate(problem, warm, horizon=20_000, runs=2, seed=1).final.max() < 3


# Half-life


def faded(graph, log, half_life):
    """Plays and sums by edge, from a log of rounds of (pair, reward): what is k rounds old counts 2^(−k/h)."""
    plays, sums = np.zeros(graph.n_pairs), np.zeros(graph.n_pairs)
    for age, results in enumerate(reversed(log)):
        weight = 2.0 ** (-age / half_life)
        for pair, reward in results:
            edge = graph.edges(np.array([pair]))[0]
            plays[edge] += weight
            sums[edge] += weight * reward
    return plays, sums


def drifting_log(policy, rounds, seed=0, missing=0.2):
    """Play on rewards that change, some of which are missing, now and then a whole round of them."""
    rng, log = np.random.default_rng(seed), []
    for number in range(rounds):
        pairs = policy.ask()
        rewards = (rng.random(len(pairs)) < (0.8 if number % 20 < 10 else 0.2)).astype(float)
        rewards[rng.random(len(pairs)) < missing] = np.nan
        if number % 7 == 5:
            rewards[:] = np.nan
        policy.tell(pairs, rewards)
        told = zip(pairs.tolist(), rewards.tolist(), strict=True)
        log.append([(pair, reward) for pair, reward in told if not np.isnan(reward)])
    return log


@pytest.mark.parametrize("half_life", [1e-9, 0.3, 1, 7.5, 40, 1000])
@pytest.mark.parametrize("graph", [mb.bipartite(3, 2), mb.monopartite(4), mb.monopartite(5)], ids=str)
@pytest.mark.parametrize("selection", ["pair", "matching"])
def test_old_results_fade_by_half_in_a_half_life(graph, selection, half_life):
    policy = build(graph, seed=1, selection=selection, half_life=half_life)
    log = []
    for part in range(6):
        log += drifting_log(policy, 17, seed=part)
        plays, sums = faded(graph, log, half_life)
        model = policy.posterior.model
        assert model.plays == pytest.approx(plays, rel=1e-9, abs=1e-90)
        assert model.sums == pytest.approx(sums, rel=1e-9, abs=1e-90)
        assert all_finite(policy.arrays)
        if part == 3:
            policy = mb.restore(json.loads(json.dumps(policy.state())))


@pytest.mark.parametrize("half_life", [0.5, 10.0, 300.0])
def test_the_posterior_is_renewed_as_results_fade(half_life):
    # Nobody comes any more: the posterior widens back to the prior, and is never behind by more than 2 % and a round.
    policy = build(mb.monopartite(4), seed=1, half_life=half_life)
    for _ in range(200):
        policy.tell(policy.ask(), [1.0, 0.0])
    for number in range(int(20 * half_life) + 5):
        policy.tell(policy.ask(), [np.nan, np.nan])
        policy.ask()
        now, then = policy.arrays.model.plays / policy.arrays.scale[0], policy.arrays.plays_then
        assert (now >= then / 1.0201).all(), number
    prior, L = build(mb.monopartite(4)).posterior, policy.arrays.factor
    expected = drawn_information(prior.logs, mb.monopartite(4), mb.Bernoulli(), np.zeros(6))
    assert pytest.approx(expected, rel=0.01, abs=0.01) == L @ L.T
    assert policy.arrays.model.logs == pytest.approx(prior.logs, abs=0.02)
    assert all(player["samples"] == 0 for player in policy.explain()["items"])


def test_a_short_half_life_outgrows_no_number_while_many_players_wait_for_a_renewal():
    # 198 players are renewed every third round; by then what is new would count for 2^1500 of what is old.
    policy = build(mb.monopartite(198), seed=1, selection="pair", half_life=0.002)
    for _ in range(13):
        pairs = policy.ask()
        policy.tell(pairs, [1.0])
        assert all_finite(policy.arrays)
        assert policy.posterior.model.plays.sum() == pytest.approx(1)
        assert policy.posterior.model.plays[policy.graph.edges(pairs)[0]] == pytest.approx(1)


def test_what_is_all_but_forgotten_is_nothing():
    policy = build(mb.monopartite(2), half_life=0.2)
    policy.tell(policy.ask(), [1.0])
    for _ in range(65):
        policy.tell(policy.ask(), [np.nan])
    assert 0 < policy.posterior.model.plays[0] < 1e-90
    for _ in range(5):
        policy.tell(policy.ask(), [np.nan])
    assert policy.arrays.model.plays.tolist() == policy.arrays.model.sums.tolist() == [0]


def test_a_half_life_beyond_all_counting_changes_nothing():
    problem = mb.Monopartite([0.9, 0.4, 0.7, 0.2])
    never, late, long, short = (
        mb.simulate(problem, mb.policy("rank1-thompson", **options), horizon=3000, runs=20, seed=1)
        for options in ({}, {"half_life": 1e300}, {"half_life": 1e7}, {"half_life": 20})
    )
    assert late.regret.tolist() == never.regret.tolist()
    assert late.plays.tolist() == never.plays.tolist()
    error = np.hypot(never.final.std(), long.final.std()) / np.sqrt(20)
    assert abs(long.final.mean() - never.final.mean()) < 4 * error
    assert short.final.mean() > never.final.mean() + 4 * error


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(0.5), mb.Binomial(3)], ids=str)
@pytest.mark.parametrize("problem", [mb.Monopartite([0.9, 0.4, 0.7, 0.2, 0.5]), mb.Bipartite([0.9, 0.4], [0.2, 0.8])])
def test_with_a_half_life_the_compiled_loop_plays_what_ask_and_tell_play(problem, law):
    problem = type(problem)(*((problem.u, problem.v) if hasattr(problem, "v") else (problem.u,)), rewards=law)
    slow, fast = (
        mb.simulate(problem, mb.policy("rank1-thompson", half_life=30), horizon=400, seed=4, engine=engine)
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


def test_a_restored_policy_fades_as_its_twin_does():
    policy = build(mb.monopartite(6), seed=6, half_life=25)
    drifting_log(policy, 137)
    twin = mb.restore(json.loads(json.dumps(policy.state())))
    assert policy.arrays.scale[0] > 1
    assert drifting_log(policy, 100, seed=3) == drifting_log(twin, 100, seed=3)
    assert policy.state() == twin.state()
    with pytest.raises(mb.MatchbanditError, match="the state has options"):
        build(mb.monopartite(6), half_life=26).load(policy.state())


def test_looking_at_a_policy_that_forgets_changes_nothing():
    policy = build(mb.monopartite(4), seed=1, half_life=100)
    drifting_log(policy, 52)
    assert policy.arrays.scale[0] > 1
    before = policy.state()
    policy.recommend()
    policy.explain()
    assert policy.state() == before


def test_logged_results_count_as_if_they_were_of_just_now_and_then_fade():
    policy = mb.policy("rank1-thompson", half_life=4).warm_start([(0, 1)], [80], [60]).build(mb.monopartite(4))
    assert policy.arrays.model.plays[0] == 80
    assert policy.explain()["items"][0]["samples"] == 80
    for _ in range(8):
        policy.tell(policy.ask(), [np.nan, np.nan])
    assert policy.posterior.model.plays[0] == pytest.approx(20)
    assert policy.posterior.model.sums[0] == pytest.approx(15)
    assert policy.explain()["items"][0]["samples"] == 20


def test_the_warning_that_no_product_fits_fades_with_the_results():
    seen = mb.policy("rank1-thompson", half_life=20).warm_start(mb.bipartite(2, 2).pairs, [100] * 4, [90, 10, 10, 90])
    policy, warned = seen.build(mb.bipartite(2, 2)), []
    for _ in range(200):
        warned.append(bool(policy.explain()["warnings"]))
        policy.tell(policy.ask(), [np.nan])
    assert all(warned[:40])  # 25 plays of each are left: still none that a product would give
    assert not any(warned[100:])


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_faded_results_can_always_be_explained(reward):
    policy = build(mb.monopartite(4), seed=1, half_life=3.3)
    for _ in range(60):  # sums of fractions of plays, as large or as small as can be
        policy.tell(policy.ask(), [reward, np.nan])
        assert policy.explain()["warnings"] == []


@pytest.mark.parametrize("wrong", [0, -3, 0.0, float("nan"), float("inf"), "100", True, [5]])
def test_a_half_life_is_a_positive_number(wrong):
    with pytest.raises(mb.MatchbanditError, match="half_life must be") as mistake:
        build(mb.monopartite(4), half_life=wrong)
    assert repr(wrong) in str(mistake.value)


@pytest.mark.slow
def test_a_policy_that_forgets_keeps_the_contract():
    mb.check_policy(mb.policy("rank1-thompson", half_life=12))


def regret_of_drift(half_life, seed, rounds=4000):
    """Six players whose strengths turn round slowly, each to where another was; the regret of matchings."""
    policy, rng, lost = build(mb.monopartite(6), seed=seed, half_life=half_life), np.random.default_rng(seed), 0.0
    phases = np.arange(6) / 6
    for number in range(rounds):
        u = 0.5 + 0.4 * np.sin(2 * np.pi * (number / rounds + phases))
        pairs = policy.ask()
        means = u[pairs].prod(axis=1)
        lost += u[sorted_pairing(u)].prod(axis=1).sum() - means.sum()
        policy.tell(pairs, (rng.random(3) < means).astype(float))
    return lost


@pytest.mark.slow
def test_who_forgets_loses_less_on_players_who_change():
    # Once round in 4000 rounds, a new order every 700. What was known of two who no longer meet must fade before they
    # are tried again, which takes some half-lives: 300 rounds would be too slow.
    runs = {h: [regret_of_drift(h, seed) for seed in range(3)] for h in (None, 100)}
    assert max(runs[100]) < 0.5 * min(runs[None])


# Explanations


def test_explain_tells_strengths_with_their_standard_deviations(storage):
    graph, rng = mb.monopartite(5), np.random.default_rng(3)
    counts, u = rng.integers(0, 60, 10), np.array([0.9, 0.2, 0.6, 0.7, 0.4])
    sums = rng.binomial(counts, u[graph.pairs].prod(axis=1)).astype(float)
    policy = mb.policy("rank1-thompson").warm_start(graph.pairs, counts, sums).build(graph)
    items, logs = policy.explain()["items"], policy.posterior.logs
    data = graph, mb.Bernoulli(), counts.astype(float), sums
    assert np.abs(slope(logs, *data)).max() < 1e-4
    covariance = np.linalg.inv(expected_information(logs, *data[:3]))
    assert [item["estimate"] for item in items] == pytest.approx(np.exp(logs).tolist())
    deviations = np.exp(logs) * np.sqrt(covariance.diagonal())  # of u = exp(s)
    close = 1e-6 if storage == "dense" else 0.3  # from a few draws
    assert [item["standard_deviation"] for item in items] == pytest.approx(deviations.tolist(), rel=close)
    met = np.bincount(graph.pairs.ravel(), np.repeat(counts, 2))
    assert [item["samples"] for item in items] == met.tolist()


# Many items


@pytest.mark.parametrize("graph", [mb.monopartite(200), mb.bipartite(100, 100), mb.monopartite(201)], ids=str)
@pytest.mark.parametrize("half_life", [None, 5])
def test_many_items_are_stored_as_played_pairs_and_restored_as_such(graph, half_life):
    one = build(graph, seed=3, selection="matching", half_life=half_life)
    assert not one.lists_all_pairs
    assert not one.compiled
    rng = np.random.default_rng(8)
    for _ in range(3):
        one.tell(one.ask(), rng.random(one.round_size) < 0.4)
    state = json.loads(json.dumps(one.state()))
    played = int(one.arrays.model.start[-1])
    assert one.round_size < played <= 3 * one.round_size
    assert one.explain()["details"]["pairs_stored"] == played
    assert len(str(state)) < 200 * played  # of 19 900 pairs only these
    twin = mb.restore(state)
    for _ in range(3):
        rewards = rng.random(one.round_size) < 0.4
        assert np.array_equal(one.ask(), twin.ask())
        one.tell(one.ask(), rewards)
        twin.tell(twin.ask(), rewards)
    assert one.state() == twin.state()


@pytest.mark.parametrize("graph", [mb.monopartite(199), mb.bipartite(99, 100)], ids=str)
def test_of_fewer_items_all_pairs_are_listed(graph):
    one = build(graph)
    assert one.lists_all_pairs
    assert one.compiled
    assert len(one.arrays.model.plays) == graph.n_pairs


@pytest.mark.parametrize("part", ["start", "partner", "plays", "sums", "logs"])
def test_a_state_whose_lists_do_not_match_is_refused(part, sparse):
    policy = build(mb.monopartite(5), seed=1)
    policy.tell(policy.ask(), [1.0, 0.0])
    before = policy.state()
    stored = policy._memory()
    stored["model"][part] = stored["model"][part][:-1]
    with pytest.raises(mb.MatchbanditError, match="inconsistent"):
        policy._check(stored)
    stored = policy._memory()
    stored["model"]["partner"] = stored["model"]["partner"] + 5
    with pytest.raises(mb.MatchbanditError, match="inconsistent"):
        policy._check(stored)
    for mate in (np.full(5, 5), np.full(5, -2), np.full(4, -1)):
        stored = policy._memory()
        stored["system"]["mate"] = mate
        with pytest.raises(mb.MatchbanditError, match="inconsistent"):
            policy._check(stored)
    assert policy.state() == before


@pytest.mark.slow
def test_the_contract_with_lists_of_played_pairs(sparse, monkeypatch):
    # Where pairs are listed as they are played, an update gets places in the list, not edges, as this check assumes.
    monkeypatch.setattr(check, "_check_failing_update", lambda *_: None)
    mb.check_policy(Rank1Thompson)


@pytest.mark.parametrize("rewards", [None, mb.Binomial(4), mb.Gaussian(0.3)], ids=str)
@pytest.mark.parametrize("graph", [mb.monopartite(9), mb.bipartite(3, 5)], ids=str)
def test_few_and_many_items_are_fitted_alike(graph, rewards, request):
    rng = np.random.default_rng(9)
    counts = rng.integers(0, 50, graph.n_pairs)
    sums = np.floor(counts * rng.random(graph.n_pairs))
    spec, explained, recommended = mb.policy("rank1-thompson", selection="matching"), [], []
    for fixture in (None, "sparse"):
        if fixture:
            request.getfixturevalue(fixture)
        one = spec.warm_start(graph.pairs, counts, sums).build(graph, rewards=rewards)
        assert one.lists_all_pairs == (fixture is None)
        recommended.append(one.recommend().tolist())
        explained.append(one.explain()["items"])
    assert recommended[0] == recommended[1]
    for few, many in zip(*explained, strict=True):
        assert many["estimate"] == pytest.approx(few["estimate"], abs=1e-6)
        assert many["standard_deviation"] == pytest.approx(few["standard_deviation"], rel=0.25)
        assert (many["samples"], many["side"], many["item"]) == (few["samples"], few["side"], few["item"])


def test_of_many_items_explain_tells_a_product_from_none():
    u = np.random.default_rng(2).uniform(0.8, 1, 300)
    for tastes in (0.0, 0.15):
        one = build(mb.monopartite(300), seed=2)
        rng = np.random.default_rng(11)
        for _ in range(300):
            i, j = one.ask().T
            likes = tastes * np.where((i + j) % 2 == 0, 1, -1)
            one.tell(one.ask(), rng.random(len(i)) < np.clip(u[i] * u[j] + likes, 0, 1))
        warnings = one.explain()["warnings"]
        assert len(warnings) == (tastes > 0)
        assert all("do not fit a product" in words for words in warnings)


def test_byes_of_many_players_go_round():
    one, seen = build(mb.monopartite(301)), []
    for _ in range(301):
        seen.append(absent(one))
        one.tell(one.ask(), np.full(150, np.nan))
    assert sorted(seen) == list(range(301))
    assert one.explain()["details"] == {"pairs_stored": 0, "sits_out": 0}


@pytest.mark.parametrize("players", [5, 201])
def test_of_many_items_faded_pairs_are_removed(players, sparse):
    one, log = build(mb.monopartite(players), seed=1, half_life=2), []
    for number in range(100):
        log += drifting_log(one, 1, seed=number)
    one.ask()
    model, size = one.arrays.model, int(one.arrays.model.start[-1])
    plays, sums = faded(one.graph, log, 2)
    left = np.flatnonzero(plays >= NEGLIGIBLE)
    low = np.repeat(np.arange(players), np.diff(model.start))
    edges = one.graph.edges(np.stack([low, model.partner[:size]], axis=1))
    assert edges.tolist() == left.tolist()
    assert model.plays[:size] / one.arrays.scale[0] == pytest.approx(plays[left], rel=1e-4)
    assert model.sums[:size] / one.arrays.scale[0] == pytest.approx(sums[left], rel=1e-4, abs=1e-5)
    assert len(left) < (plays > 0).sum() or players == 5
    twin = mb.restore(json.loads(json.dumps(one.state())))
    assert twin.ask().tolist() == one.ask().tolist()

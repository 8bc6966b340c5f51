import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.tables import random_tables, symmetric

import matchbandit as mb
from matchbandit.policies.rank1_model import Model, equations, settle
from matchbandit.policies.rank1_thompson import Arrays, best_round, choose, draw_strengths, sits_out
from matchbandit.rewards import Noise
from matchbandit.simulation.play import Job
from matchbandit.solvers import sorted_across, sorted_pairing

COIN = Noise(1, 0.0)
CERTAIN = 1e12
"""An information that leaves draws no room."""
PAIRS, MATCHINGS = (mb.policy("rank1-thompson", selection=selection) for selection in ("pair", "matching"))
graphs = pytest.mark.parametrize("graph", ["bipartite", "monopartite"])


def arrays_of(C, X, graph, law=COIN, strengths=None):
    """The policy's arrays for tables of counts and sums, as the reference takes them."""
    plays, sums = symmetric(C, graph), symmetric(X, graph)
    n, n_rows = len(plays), 0 if graph == "monopartite" else len(C)
    return Arrays(
        Model(plays, sums, np.full(n, 0.6) if strengths is None else np.array(strengths, dtype=float), law),
        scale=np.ones(1),
        plays_then=np.zeros((n, n)),
        factor=np.eye(n),
        out_of_date=np.ones(1, dtype=np.int64),
        rounds_since=np.zeros(1, dtype=np.int64),
        byes=np.zeros(0, dtype=np.int64),
        last_bye=np.zeros(0, dtype=np.int64),
        ends=np.zeros((1, 2), dtype=np.int64),
        growth=1.0,
        n_rows=n_rows,
    )


def renew(arrays):
    """Choose with a posterior that is out of date."""
    arrays.out_of_date[0], arrays.rounds_since[0] = 1, 1000
    choose(arrays, np.random.default_rng(0), np.zeros(1, dtype=np.int64))


def fisher(model):
    F = np.empty(model.plays.shape)
    equations(model, F, np.empty(len(F)))
    return F


def draw(arrays, rng):
    return draw_strengths(arrays.model.strengths, arrays.factor, arrays.n_rows, rng)


def draw_shift(arrays, rng):
    """By how much the strengths are shifted in a draw, before a fall is bent."""
    u, drawn = arrays.model.strengths, draw(arrays, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((drawn < u) & (u > 0), u * np.log(drawn / u), drawn - u)


def all_finite(arrays):
    return all(np.isfinite(part).all() for part in (*arrays.model[:3], *arrays[1:9]))


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


def test_by_hand_one_pair_without_plays_stays_at_the_prior():
    arrays = arrays_of(np.zeros((1, 1)), np.zeros((1, 1)), "bipartite")
    renew(arrays)
    assert arrays.model.strengths.tolist() == pytest.approx([0.6, 0.6])
    assert arrays.factor == pytest.approx(np.eye(2) * 2)


@pytest.mark.parametrize("selection", ["pair", "matching"])
@pytest.mark.parametrize("seed", range(4))
def test_in_the_midst_of_play_the_strengths_are_close_to_the_settled_fit(seed, selection):
    rng = np.random.default_rng(seed)
    problem = mb.Bipartite(rng.random(4), rng.random(5)) if seed % 2 else mb.Monopartite(rng.random(6))
    spec = mb.policy("rank1-thompson", selection=selection)
    policy, _ = Job(problem, spec, np.array([20_000]), seed, "loop", None).play(0)
    model = policy.arrays.model
    warm, F = policy._fitted()
    deviations = np.sqrt(np.linalg.inv(F).diagonal())
    settle(model, np.empty(F.shape))
    assert (np.abs(warm.strengths - model.strengths) < 0.03 * deviations).all()


# Draws


@graphs
def test_the_factor_is_a_root_of_the_information(graph):
    for seed in range(10):
        _, C, X = random_tables(graph, np.random.default_rng(seed))
        arrays = arrays_of(C, X, graph)
        renew(arrays)
        assert arrays.factor @ arrays.factor.T == pytest.approx(fisher(arrays.model), rel=1e-10)
        assert (arrays.plays_then == arrays.model.plays).all()
        assert arrays.out_of_date[0] == 0


def projection(arrays):
    """Takes the direction (û, −v̂) out."""
    n_rows, u = arrays.n_rows, arrays.model.strengths
    if n_rows == 0:
        return np.eye(len(u))
    scale = np.concatenate([u[:n_rows], -u[n_rows:]])
    return np.eye(len(u)) - np.outer(scale, scale) / (scale @ scale)


@graphs
def test_draws_have_the_mean_and_covariance_of_the_posterior(graph):
    _, C, X = random_tables(graph, np.random.default_rng(1), most=20)
    arrays = arrays_of(C, X, graph)
    renew(arrays)
    rng, n = np.random.default_rng(7), 20_000
    drawn = np.array([draw_shift(arrays, rng) for _ in range(n)])
    P = projection(arrays)
    covariance = P @ np.linalg.inv(fisher(arrays.model)) @ P
    variances = covariance.diagonal()
    assert (np.abs(drawn.mean(axis=0)) < 4 * np.sqrt(variances / n)).all()
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
    assert (np.abs(np.cov(drawn.T) - covariance) < 4 * error).all()


def test_draws_between_rows_and_columns_leave_their_scale_alone():
    _, C, X = random_tables("bipartite", np.random.default_rng(2))
    arrays = arrays_of(C, X, "bipartite")
    renew(arrays)
    scale = np.concatenate([arrays.model.strengths[:4], -arrays.model.strengths[4:]])
    rng = np.random.default_rng(3)
    for _ in range(100):
        shift = draw_shift(arrays, rng)
        assert np.abs(shift).max() > 1e-4
        assert abs(scale @ shift) < 1e-12


def test_a_draw_that_falls_stays_above_0_and_one_that_rises_is_the_gaussian():
    _, C, X = random_tables("monopartite", np.random.default_rng(2))
    arrays = arrays_of(C, X, "monopartite")
    renew(arrays)
    arrays.factor[:] /= 20  # far out
    for seed in range(50):
        shift = draw_shift(arrays, np.random.default_rng(seed))
        drawn = draw(arrays, np.random.default_rng(seed))
        up = shift >= 0
        assert np.allclose(drawn[up], (arrays.model.strengths + shift)[up])
        assert np.allclose(drawn[~up], (arrays.model.strengths * np.exp(shift / arrays.model.strengths))[~up])


def test_with_all_strengths_0_there_is_no_scale_to_leave_alone():
    arrays = arrays_of(np.zeros((2, 2)), np.zeros((2, 2)), "bipartite", strengths=np.zeros(4))
    assert np.isfinite(draw_shift(arrays, np.random.default_rng(1))).all()


@pytest.mark.parametrize("graph", [mb.bipartite(3, 4), mb.bipartite(1, 3), mb.monopartite(2), mb.monopartite(5)])
def test_the_two_strongest_are_played(graph):
    policy, edges = build(graph, selection="pair"), np.zeros(1, dtype=np.int64)
    n_rows = graph.shape[0] if graph.kind == "bipartite" else 0
    for edge, (i, j) in enumerate(graph.pairs.tolist()):
        policy.arrays.model.strengths[:] = 0.1
        policy.arrays.model.strengths[[i, n_rows + j]] = 0.9
        policy.arrays.factor[:] = CERTAIN * np.eye(len(policy.arrays.model.strengths))
        choose(policy.arrays, policy.rng, edges)
        assert edges[0] == edge
        best_round(policy.arrays.model.strengths, n_rows, -1, edges)
        assert edges[0] == edge


def test_the_posterior_is_renewed_when_a_pair_has_grown_by_2_percent():
    policy = mb.policy("rank1-thompson").build(mb.bipartite(1, 1), seed=1)
    renewed_at = []
    for n in range(1, 400):
        pairs = policy.ask()
        if n > 1 and policy.arrays.plays_then[0, 1] == n - 1:
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


@pytest.mark.parametrize("graph", [mb.bipartite(2, 3), mb.monopartite(4)], ids=str)
@pytest.mark.parametrize("slip", [1e150, -1e150, 1e30])
def test_one_gaussian_reward_beyond_belief_does_not_end_the_fit(graph, slip):
    policy = mb.policy("rank1-thompson", selection="pair").build(graph, rewards=mb.Gaussian(0.5), seed=1)
    best = graph.pairs[0].tolist()
    for n in range(600):
        pair = policy.ask()[0].tolist()
        policy.tell([pair], [slip if n in (5, 6) else float(pair == best)])
        assert all_finite(policy.arrays)
    assert ((policy.arrays.model.strengths >= 0) & (policy.arrays.model.strengths <= 1)).all()
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
    assert ((policy.arrays.model.strengths >= 0) & (policy.arrays.model.strengths <= 1)).all()


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


@pytest.mark.parametrize("u", [[0.9, 0.9, 0.0, 0.0], [0.3, 0.3, 0.0, 0.0], [1.0, 0.8, 0.0]], ids=str)
@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(0.5)], ids=str)
def test_two_players_among_players_worth_nothing_are_settled_on(u, law):
    # The others' rewards say nothing of how the two share their product; that must not matter for long.
    problem = mb.Monopartite(u, rewards=law)
    runs = mb.simulate(problem, PAIRS, horizon=40_000, runs=3, seed=1, checkpoints=[20_000, 40_000])
    assert (runs.regret[:, 1] - runs.regret[:, 0]).mean() < 0.3 * runs.final.mean()


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
        if policy.arrays.plays_then.sum() == 198 * (n - 1) > 0:
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
    renew(warm.arrays)
    settle(policy.arrays.model, policy.arrays.factor)
    renew(policy.arrays)
    assert np.abs(warm.arrays.model.strengths - policy.arrays.model.strengths).max() < 1e-6
    assert warm.arrays.factor == pytest.approx(policy.arrays.factor, rel=1e-4, abs=1e-4)
    assert warm.recommend().tolist() == policy.recommend().tolist()


def test_logged_pairs_may_come_in_either_order_and_counts_may_be_huge():
    n = 2**53
    policy = mb.policy("rank1-thompson").warm_start([(1, 0), (2, 3)], [n, 10], [n / 2, 9]).build(mb.monopartite(4))
    assert policy.arrays.model.plays[0, 1] == policy.arrays.model.plays[1, 0] == n
    assert policy.arrays.model.sums[0, 1] == policy.arrays.model.sums[1, 0] == n / 2
    assert policy.arrays.model.strengths[:2].prod() == pytest.approx(0.5)
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
    """Plays and sums, items × items, from a log of rounds of (pair, reward): what is k rounds old counts 2^(−k/h)."""
    n_rows = graph.shape[0] if graph.kind == "bipartite" else 0
    n = sum(graph.shape) if n_rows else graph.shape[0]
    plays, sums = np.zeros((n, n)), np.zeros((n, n))
    for age, results in enumerate(reversed(log)):
        weight = 2.0 ** (-age / half_life)
        for (i, j), reward in results:
            for a, b in ((i, n_rows + j), (n_rows + j, i)):
                plays[a, b] += weight
                sums[a, b] += weight * reward
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
        model, F = policy._fitted()
        assert model.plays == pytest.approx(plays, rel=1e-9, abs=1e-90)
        assert model.sums == pytest.approx(sums, rel=1e-9, abs=1e-90)
        assert fisher(model).tolist() == F.tolist()
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
    root = policy.arrays.factor
    assert root @ root.T == pytest.approx(4 * np.eye(4), rel=0.01, abs=0.01)
    assert policy.arrays.model.strengths == pytest.approx(np.full(4, 0.6), abs=0.01)
    assert all(player["samples"] == 0 for player in policy.explain()["items"])


def test_a_short_half_life_outgrows_no_number_while_many_players_wait_for_a_renewal():
    # 198 players are renewed every third round; by then what is new would count for 2^1500 of what is old.
    policy = build(mb.monopartite(198), seed=1, selection="pair", half_life=0.002)
    for _ in range(13):
        pairs = policy.ask()
        policy.tell(pairs, [1.0])
        assert all_finite(policy.arrays)
        assert policy._fitted()[0].plays.sum() == pytest.approx(2)
        assert policy._fitted()[0].plays[tuple(pairs[0])] == pytest.approx(1)


def test_what_is_all_but_forgotten_is_nothing():
    policy = build(mb.monopartite(2), half_life=0.2)
    policy.tell(policy.ask(), [1.0])
    for _ in range(65):
        policy.tell(policy.ask(), [np.nan])
    assert 0 < policy._fitted()[0].plays[0, 1] < 1e-90
    for _ in range(5):
        policy.tell(policy.ask(), [np.nan])
    assert policy.arrays.model.plays.tolist() == policy.arrays.model.sums.tolist() == [[0, 0], [0, 0]]


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


def test_a_state_without_a_half_life_is_that_of_a_policy_for_which_nothing_fades():
    policy = build(mb.monopartite(4), seed=1)
    assert policy.state()["options"] == build(mb.monopartite(4), half_life=None).state()["options"]
    assert "half_life" not in policy.options
    assert build(mb.monopartite(4), half_life=3).options["half_life"] == 3.0


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
    assert policy.arrays.model.plays[0, 1] == 80
    assert policy.explain()["items"][0]["samples"] == 80
    for _ in range(8):
        policy.tell(policy.ask(), [np.nan, np.nan])
    assert policy._fitted()[0].plays[0, 1] == pytest.approx(20)
    assert policy._fitted()[0].sums[1, 0] == pytest.approx(15)
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


def test_who_forgets_loses_less_on_players_who_change():
    # Once round in 4000 rounds, a new order every 700. What was known of two who no longer meet must fade before they
    # are tried again, which takes some half-lives: 300 rounds would be too slow.
    runs = {h: [regret_of_drift(h, seed) for seed in range(3)] for h in (None, 100)}
    assert max(runs[100]) < 0.5 * min(runs[None])

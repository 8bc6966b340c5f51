import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kl

import matchbandit as mb
from matchbandit.policies.rank1_thompson import (
    Arrays,
    best_pair,
    choose,
    draw_shift,
    draw_strengths,
    fisher,
    fit,
    information,
    renew,
)
from matchbandit.simulation.job import Job

COIN = (1.0, 0.0)
graphs = pytest.mark.parametrize("graph", ["bipartite", "monopartite"])


def arrays_of(C, X, graph, law=COIN, strengths=None):
    """The policy's arrays for tables of counts and sums, as the reference takes them."""
    N, M = C.shape
    n = N if graph == "monopartite" else N + M
    plays, sums = np.zeros((n, n)), np.zeros((n, n))
    offset = 0 if graph == "monopartite" else N
    for i, j in np.argwhere(C > 0):
        plays[i, j + offset] = plays[j + offset, i] = C[i, j]
        sums[i, j + offset] = sums[j + offset, i] = X[i, j]
    u = np.full(n, 0.6) if strengths is None else np.array(strengths, dtype=float)
    ends = np.zeros((1, 2), dtype=np.int64)
    return Arrays(plays, sums, np.zeros((n, n)), u, np.eye(n), ends, np.array([1, offset]), np.array(law))


def random_tables(graph, rng, least=0, most=200, shape=(4, 3), weakest=0.1):
    """Strengths, and counts and sums that they could have given."""
    N, M = (shape[0], shape[0]) if graph == "monopartite" else shape
    u = rng.uniform(weakest, 0.95, N)
    v = u if graph == "monopartite" else rng.uniform(weakest, 0.95, M)
    C = rng.integers(least, most + 1, (N, M))
    C = np.triu(C, 1) if graph == "monopartite" else C
    strengths = u if graph == "monopartite" else np.concatenate([u, v])
    return strengths, C.astype(float), rng.binomial(C, np.outer(u, v)).astype(float)


def settle(arrays):
    for _ in range(3000):
        before = arrays.strengths.copy()
        fit(arrays)
        if np.abs(arrays.strengths - before).max() < 1e-5:
            return
    raise AssertionError("the fit does not settle")


def play(policy, reward_of, rounds):
    played = []
    for _ in range(rounds):
        pairs = policy.ask()
        played.append(tuple(pairs[0].tolist()))
        policy.tell(pairs, [reward_of(*played[-1])])
    return played


# Information


def test_by_hand_information_after_n_plays():
    # p̃ = (C p + 1)/(C + 2): after 2 plays at p = 0 it is 1/4, after 8 at p = 1/2 it is 1/2.
    assert information(np.array(COIN), 2.0, 0.0) == pytest.approx(1 / (0.25 * 0.75))
    assert information(np.array(COIN), 8.0, 0.5) == pytest.approx(4.0)
    # Four coins to a reward: C = 8 after two plays, p̃ = 1/10, and four times as much.
    assert information(np.array([4.0, 0.0]), 2.0, 0.0) == pytest.approx(4 / (0.1 * 0.9))
    assert information(np.array([0.0, 0.5]), 2.0, 0.3) == pytest.approx(4.0)


def test_early_failures_do_not_pass_for_certainty():
    # w C at p = 0 after n failures is n (n + 2)²/(n + 1): about n², not n/(0.001 · 0.999), which is 3000 for n = 3.
    for n in (1.0, 3.0, 10.0):
        assert n * information(np.array(COIN), n, 0.0) == pytest.approx(n * (n + 2) ** 2 / (n + 1))


@graphs
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), rows=st.integers(2, 5), columns=st.integers(1, 5), noise=st.sampled_from([0.0, 0.5]))
def test_fisher_is_that_of_the_definition(graph, seed, rows, columns, noise):
    rng = np.random.default_rng(seed)
    strengths, C, X = random_tables(graph, rng, most=int(rng.choice([1, 5, 1000])), shape=(rows, columns))
    strengths[rng.random(len(strengths)) < 0.2] = rng.choice([0.0, 1.0])
    ours = fisher(arrays_of(C, X, graph, (0.0, noise) if noise else COIN, strengths))
    law = ("gaussian", noise) if noise else "bernoulli"
    if graph == "monopartite":
        theirs = kl.fisher_rank1(C, strengths, graph=graph, law=law)
    else:
        theirs = kl.fisher_rank1(C, strengths[:rows], strengths[rows:], graph, law)
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_a_reward_of_many_coins_tells_as_much_as_the_coins():
    rng = np.random.default_rng(3)
    strengths, C, X = random_tables("monopartite", rng)
    of_five = fisher(arrays_of(C, X, "monopartite", (5.0, 0.0), strengths))
    assert of_five == pytest.approx(fisher(arrays_of(5 * C, 5 * X, "monopartite", COIN, strengths)))


# Fit


def score(arrays):
    """How far each strength is from solving Σ_j w_ij u_j (X_ij − C_ij u_i u_j) = 4 (u_i − 0.6), in strength."""
    u = arrays.strengths
    F = fisher(arrays).diagonal()
    slope = 4.0 * (0.6 - u)
    for i in range(len(u)):
        for j in range(len(u)):
            if arrays.plays[i, j]:
                w = information(arrays.law, arrays.plays[i, j], u[i] * u[j])
                slope[i] += w * u[j] * (arrays.sums[i, j] - arrays.plays[i, j] * u[i] * u[j])
    return slope / F


@graphs
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), most=st.sampled_from([2, 30, 1000]), law=st.sampled_from([COIN, (0.0, 0.5)]))
def test_the_fit_solves_its_equations(graph, seed, most, law):
    _, C, X = random_tables(graph, np.random.default_rng(seed), most=most)
    arrays = arrays_of(C, X, graph, law)
    settle(arrays)
    u, missing = arrays.strengths, score(arrays)
    assert ((u >= 0) & (u <= 1)).all()
    inside = (u > 0) & (u < 1)
    assert np.abs(missing[inside]).max(initial=0) < 3e-5
    assert (missing[u == 1] > -3e-5).all()  # they would rather be larger still
    assert (missing[u == 0] < 3e-5).all()


@graphs
@pytest.mark.parametrize("count", [10, 100, 1000, 10_000])
def test_with_large_counts_the_fit_is_the_most_probable_one(graph, count):
    # The weights hold p̃ in place of p, off by a share of 1/(C p) or less: so is the fit, with p ≥ 0.09. Between rows
    # and columns only products are seen.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        _, C, X = random_tables(graph, rng, least=count, most=count, weakest=0.3)
        arrays, best = arrays_of(C, X, graph), kl.fit_rank1(C, X, graph, starts=3)
        settle(arrays)
        if graph == "monopartite":
            off = arrays.strengths - best.u
        else:
            off = np.outer(arrays.strengths[:4], arrays.strengths[4:]) - np.outer(best.u, best.v)
        assert np.abs(off).max() < 0.5 / count + 2e-5


def test_a_gaussian_fit_is_the_most_probable_one():
    rng = np.random.default_rng(4)
    _, C, X = random_tables("monopartite", rng, least=5)
    arrays, best = (
        arrays_of(C, X, "monopartite", (0.0, 0.5)),
        kl.fit_rank1(C, X, "monopartite", ("gaussian", 0.5), starts=3),
    )
    settle(arrays)
    assert arrays.strengths == pytest.approx(best.u, abs=1e-4)


def test_by_hand_one_pair_without_plays_stays_at_the_prior():
    arrays = arrays_of(np.zeros((1, 1)), np.zeros((1, 1)), "bipartite")
    renew(arrays)
    assert arrays.strengths.tolist() == pytest.approx([0.6, 0.6])
    assert arrays.spread == pytest.approx(np.eye(2) / 2)


@pytest.mark.parametrize("seed", range(4))
def test_in_the_midst_of_play_the_strengths_are_close_to_the_settled_fit(seed):
    rng = np.random.default_rng(seed)
    problem = mb.Bipartite(rng.random(4), rng.random(5)) if seed % 2 else mb.Monopartite(rng.random(5))
    policy, _ = Job(problem, mb.policy("rank1-thompson"), np.array([20_000]), seed, "loop", None).play(0)
    arrays = policy._fitted()
    warm, deviations = arrays.strengths.copy(), np.sqrt((arrays.spread**2).sum(axis=1))
    for _ in range(30_000):
        fit(arrays)
    assert (np.abs(warm - arrays.strengths) < 0.3 * deviations).all()


# Draws


@graphs
def test_the_spread_is_a_root_of_the_full_inverse(graph):
    for seed in range(10):
        _, C, X = random_tables(graph, np.random.default_rng(seed))
        arrays = arrays_of(C, X, graph)
        renew(arrays)
        assert arrays.spread @ arrays.spread.T == pytest.approx(np.linalg.inv(fisher(arrays)), abs=1e-12)
        assert (arrays.plays_then == arrays.plays).all()
        assert arrays.flags[0] == 0


def projection(arrays):
    """Takes the direction (û, −v̂) out."""
    n_rows, u = arrays.flags[1], arrays.strengths
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
    covariance = P @ np.linalg.inv(fisher(arrays)) @ P
    variances = covariance.diagonal()
    assert (np.abs(drawn.mean(axis=0)) < 4 * np.sqrt(variances / n)).all()
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
    assert (np.abs(np.cov(drawn.T) - covariance) < 4 * error).all()


def test_draws_between_rows_and_columns_leave_their_scale_alone():
    _, C, X = random_tables("bipartite", np.random.default_rng(2))
    arrays = arrays_of(C, X, "bipartite")
    renew(arrays)
    scale = np.concatenate([arrays.strengths[:4], -arrays.strengths[4:]])
    rng = np.random.default_rng(3)
    for _ in range(100):
        shift = draw_shift(arrays, rng)
        assert np.abs(shift).max() > 1e-4
        assert abs(scale @ shift) < 1e-12


def test_a_draw_that_falls_stays_above_0_and_one_that_rises_is_the_gaussian():
    _, C, X = random_tables("monopartite", np.random.default_rng(2))
    arrays = arrays_of(C, X, "monopartite")
    renew(arrays)
    arrays.spread[:] *= 20  # far out
    for seed in range(50):
        shift = draw_shift(arrays, np.random.default_rng(seed))
        drawn = draw_strengths(arrays, np.random.default_rng(seed))
        up = shift >= 0
        assert np.allclose(drawn[up], (arrays.strengths + shift)[up])
        assert np.allclose(drawn[~up], (arrays.strengths * np.exp(shift / arrays.strengths))[~up])


def test_with_all_strengths_0_there_is_no_scale_to_leave_alone():
    arrays = arrays_of(np.zeros((2, 2)), np.zeros((2, 2)), "bipartite", strengths=np.zeros(4))
    assert np.isfinite(draw_shift(arrays, np.random.default_rng(1))).all()


@pytest.mark.parametrize("graph", [mb.bipartite(3, 4), mb.bipartite(1, 3), mb.monopartite(2), mb.monopartite(5)])
def test_the_two_strongest_are_played(graph):
    policy, edges = mb.policy("rank1-thompson").build(graph), np.zeros(1, dtype=np.int64)
    n_rows = graph.shape[0] if graph.kind == "bipartite" else 0
    for edge, (i, j) in enumerate(graph.pairs.tolist()):
        policy.arrays.strengths[:] = 0.1
        policy.arrays.strengths[[i, n_rows + j]] = 0.9
        policy.arrays.spread[:] = 0.0
        choose(policy.arrays, policy.rng, edges)
        assert edges[0] == edge
        assert best_pair(policy.arrays.strengths, n_rows) == (i, n_rows + j)


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
    assert shown["columns"][1]["strength"] > 0.9 > 0.4 > shown["columns"][0]["strength"]
    assert shown["columns"][0]["plays"] + shown["columns"][1]["plays"] == shown["rows"][0]["plays"] == 300


# Extremes


@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize("graph", [mb.bipartite(3, 3), mb.monopartite(4), mb.bipartite(1, 4), mb.bipartite(4, 1)])
def test_while_nothing_tells_the_pairs_apart_all_are_played(graph, reward):
    for seed in range(5):
        policy = mb.policy("rank1-thompson").build(graph, seed=seed)
        played = play(policy, lambda i, j: reward, 400)
        assert set(played) == set(map(tuple, graph.pairs.tolist()))
        assert all(np.isfinite(part).all() for part in policy.arrays)


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
    runs = mb.simulate(problem, "rank1-thompson", horizon=20_000, runs=3, seed=1, checkpoints=[10_000, 20_000])
    assert np.isfinite(runs.regret).all()
    assert (runs.final < 100).all()
    policy, _ = Job(problem, mb.policy("rank1-thompson"), np.array([5000]), 2, "loop", None).play(0)
    assert all(np.isfinite(part).all() for part in policy.arrays)
    assert ((policy.arrays.strengths >= 0) & (policy.arrays.strengths <= 1)).all()


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
            mb.simulate(problem, "rank1-thompson", horizon=20_000, runs=4, seed=3, checkpoints=[10_000, 20_000]).regret
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
    runs = mb.simulate(problem, "rank1-thompson", horizon=40_000, runs=3, seed=1, checkpoints=[20_000, 40_000])
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
            mb.simulate(
                random_problem(seed), "rank1-thompson", horizon=100_000, seed=seed, checkpoints=[50_000, 100_000]
            ).regret[0]
            for seed in range(100)
        ]
    )
    assert (regret[:, 1] - regret[:, 0]).sum() < 0.3 * regret[:, 1].sum()


# Engines and states


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Gaussian(0.5), mb.Binomial(3)], ids=str)
@pytest.mark.parametrize("kind", ["bipartite", "monopartite"])
def test_the_compiled_loop_plays_what_ask_and_tell_play(kind, law):
    u = [0.9, 0.4, 0.3, 0.7]
    problem = mb.Monopartite(u, rewards=law) if kind == "monopartite" else mb.Bipartite(u, [0.2, 0.8], rewards=law)
    slow, fast = (
        mb.simulate(problem, "rank1-thompson", horizon=800, runs=2, seed=4, engine=engine, checkpoints=range(1, 801))
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
    policy = mb.policy("rank1-thompson").build(mb.monopartite(4), seed=1)
    play(policy, lambda i, j: float(i == 0), 30)
    before = policy.state()
    policy.recommend()
    policy.explain()
    assert policy.state() == before

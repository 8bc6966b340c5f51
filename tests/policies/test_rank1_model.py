import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kl
from reference.tables import random_tables, symmetric
from scipy.optimize import minimize

from matchbandit.policies import rank1_model
from matchbandit.policies.rank1_model import (
    Model,
    backward,
    covariance,
    credible,
    equations,
    factor,
    fit,
    fitted,
    information,
    settle,
)
from matchbandit.rewards import Noise

COIN, NORMAL = Noise(1, 0.0), Noise(0, 0.5)
graphs = pytest.mark.parametrize("graph", ["bipartite", "monopartite"])


def model_of(C, X, graph, law=COIN, strengths=None):
    """The model of tables of counts and sums, as the reference takes them."""
    plays = symmetric(C, graph)
    u = np.full(len(plays), 0.6) if strengths is None else np.array(strengths, dtype=float)
    return Model(plays, symmetric(X, graph), u, law)


def solved(model):
    """F and g of Newton's equations at the model's strengths."""
    n = len(model.strengths)
    F, g = np.empty((n, n)), np.empty(n)
    equations(model, F, g)
    return F, g


def fisher(model):
    return solved(model)[0]


def pull(model):
    return solved(model)[1]


def settled(model):
    settle(model, np.empty(model.plays.shape))


# Information


def test_by_hand_information_after_n_plays():
    # p̃ = (C p + 1)/(C + 2): after 2 plays at p = 0 it is 1/4, after 8 at p = 1/2 it is 1/2.
    assert information(COIN, 2.0, 0.0) == pytest.approx(1 / (0.25 * 0.75))
    assert information(COIN, 8.0, 0.5) == pytest.approx(4.0)
    # Four coins to a reward: C = 8 after two plays, p̃ = 1/10, and four times as much.
    assert information(Noise(4, 0.0), 2.0, 0.0) == pytest.approx(4 / (0.1 * 0.9))
    assert information(NORMAL, 2.0, 0.3) == pytest.approx(4.0)


def test_early_failures_do_not_pass_for_certainty():
    # w C at p = 0 after n failures is n (n + 2)²/(n + 1): about n², not n/(0.001 · 0.999), which is 3000 for n = 3.
    for n in (1.0, 3.0, 10.0):
        assert n * information(COIN, n, 0.0) == pytest.approx(n * (n + 2) ** 2 / (n + 1))


@graphs
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), rows=st.integers(2, 5), columns=st.integers(1, 5), noise=st.sampled_from([0.0, 0.5]))
def test_fisher_is_that_of_the_definition(graph, seed, rows, columns, noise):
    rng = np.random.default_rng(seed)
    strengths, C, X = random_tables(graph, rng, most=int(rng.choice([1, 5, 1000])), shape=(rows, columns))
    strengths[rng.random(len(strengths)) < 0.2] = rng.choice([0.0, 1.0])
    ours = fisher(model_of(C, X, graph, Noise(0, noise) if noise else COIN, strengths))
    law = ("gaussian", noise) if noise else "bernoulli"
    if graph == "monopartite":
        theirs = kl.fisher_rank1(C, strengths, graph=graph, law=law)
    else:
        theirs = kl.fisher_rank1(C, strengths[:rows], strengths[rows:], graph, law)
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_a_reward_of_many_coins_tells_as_much_as_the_coins():
    rng = np.random.default_rng(3)
    strengths, C, X = random_tables("monopartite", rng)
    of_five = fisher(model_of(C, X, "monopartite", Noise(5, 0.0), strengths))
    assert of_five == pytest.approx(fisher(model_of(5 * C, 5 * X, "monopartite", COIN, strengths)))


# Fit


def score(model):
    """How far each strength is from solving Σ_j w_ij u_j (X_ij − C_ij u_i u_j) = 4 (u_i − 0.6), in strength."""
    u = model.strengths
    F = fisher(model).diagonal()
    slope = 4.0 * (0.6 - u)
    for i in range(len(u)):
        for j in range(len(u)):
            if model.plays[i, j]:
                w = information(model.noise, model.plays[i, j], u[i] * u[j])
                slope[i] += w * u[j] * (model.sums[i, j] - model.plays[i, j] * u[i] * u[j])
    return slope / F


@graphs
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), most=st.sampled_from([2, 30, 1000]), law=st.sampled_from([COIN, NORMAL]))
def test_the_fit_solves_its_equations(graph, seed, most, law):
    _, C, X = random_tables(graph, np.random.default_rng(seed), most=most)
    model = model_of(C, X, graph, law)
    settled(model)
    u, missing = model.strengths, score(model)
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
        model, best = model_of(C, X, graph), kl.fit_rank1(C, X, graph, starts=3)
        settled(model)
        if graph == "monopartite":
            off = model.strengths - best.u
        else:
            off = np.outer(model.strengths[:4], model.strengths[4:]) - np.outer(best.u, best.v)
        assert np.abs(off).max() < 0.5 / count + 2e-5


def test_a_gaussian_fit_is_the_most_probable_one():
    rng = np.random.default_rng(4)
    _, C, X = random_tables("monopartite", rng, least=5)
    model, best = (
        model_of(C, X, "monopartite", NORMAL),
        kl.fit_rank1(C, X, "monopartite", ("gaussian", 0.5), starts=3),
    )
    settled(model)
    assert model.strengths == pytest.approx(best.u, abs=1e-4)


@graphs
def test_the_pull_is_the_slope_of_the_log_posterior(graph):
    # Gaussian rewards: Σ (X p − C p²/2)/sd² − 2 Σ (u − 0.6)², by central differences.
    rng = np.random.default_rng(5)
    strengths, C, X = random_tables(graph, rng)
    model = model_of(C, X, graph, NORMAL, rng.uniform(0.2, 0.8, len(strengths)))
    u = model.strengths.copy()

    def log_posterior(z):
        p = np.outer(z, z)
        return ((model.sums * p - model.plays * p**2 / 2) / 0.5**2).sum() / 2 - 2 * ((z - 0.6) ** 2).sum()

    steps = 1e-5 * np.eye(len(u))
    slopes = [(log_posterior(u + step) - log_posterior(u - step)) / 2e-5 for step in steps]
    assert pull(model) == pytest.approx(slopes, rel=1e-5, abs=1e-4)


@graphs
def test_the_information_is_the_curvature_where_rewards_are_as_expected(graph):
    # Where X = C p the pull changes by −F, for Gaussian rewards exactly.
    rng = np.random.default_rng(6)
    strengths, C, _ = random_tables(graph, rng)
    products = np.outer(strengths, strengths)
    plays = symmetric(C, graph)
    steps, slopes = 1e-6 * np.eye(len(strengths)), []
    for step in steps:
        up, down = (Model(plays, plays * products, strengths + sign * step, NORMAL) for sign in (1, -1))
        slopes.append((pull(up) - pull(down)) / 2e-6)
    model = Model(plays, plays * products, strengths, NORMAL)
    assert fisher(model) == pytest.approx(-np.array(slopes), rel=1e-5, abs=1e-3)


def test_an_item_at_the_border_is_not_pulled_outwards():
    plays, sums = np.array([[0.0, 50.0], [50.0, 0.0]]), np.array([[0.0, 50.0], [50.0, 0.0]])
    assert pull(Model(plays, sums, np.ones(2), NORMAL)).tolist() == [-1.6, -1.6]
    assert pull(Model(plays, 2 * sums, np.ones(2), NORMAL)).tolist() == [0.0, 0.0]
    assert pull(Model(plays, -sums, np.array([0.0, 1.0]), NORMAL))[0] == 0.0


@graphs
@pytest.mark.parametrize("law", [COIN, NORMAL], ids=str)
def test_the_fit_is_that_of_a_generic_optimiser(graph, law):
    # Weights fixed at the fitted strengths: the fit is the weighted least squares that scipy finds.
    for seed in range(3):
        _, C, X = random_tables(graph, np.random.default_rng(seed), least=1)
        strengths, _ = fitted(symmetric(C, graph), symmetric(X, graph), law)
        model = model_of(C, X, graph, law, strengths)
        n, p = model.plays, np.outer(strengths, strengths)
        w = np.vectorize(lambda n, p, law=model.noise: information(law, n, p))(n, p)

        def loss(z, n=n, w=w, X=model.sums):
            p = np.outer(z, z)
            return (w * (n * p**2 / 2 - X * p)).sum() / 2 + 2 * ((z - 0.6) ** 2).sum()

        end = minimize(
            loss, strengths + 0.01, method="L-BFGS-B", bounds=[(0, 1)] * len(strengths), options={"ftol": 1e-14}
        )
        assert strengths == pytest.approx(end.x, abs=3e-4)


def test_items_that_always_meet_arrive_where_the_others_want_them(monkeypatch):
    # 0 and 1 met 10^6 times, 0 and 2 a hundred times: in turn they creep, together they arrive.
    plays, sums = np.zeros((4, 4)), np.zeros((4, 4))
    for i, j, n, mean in ((0, 1, 1e6, 0.36), (2, 3, 1e6, 0.25), (0, 2, 100, 0.4), (1, 3, 100, 0.225)):
        plays[i, j] = plays[j, i] = n
        sums[i, j] = sums[j, i] = n * mean
    crept, arrived = (Model(plays, sums, np.full(4, 0.6), COIN) for _ in range(2))
    monkeypatch.setattr(rank1_model, "HALVINGS", -2)  # no step together
    fit.py_func(crept, np.empty((4, 4)))
    monkeypatch.undo()
    for _ in range(5):
        fit(arrived, np.empty((4, 4)))
    best, _ = fitted(plays, sums, COIN)
    assert np.abs(crept.strengths - best).max() > 0.02
    assert np.abs(arrived.strengths - best).max() < 1e-6
    assert np.abs(pull(arrived)).max() < 1e-2


def test_a_fit_can_start_where_another_ended():
    _, C, X = random_tables("monopartite", np.random.default_rng(8))
    plays, sums = symmetric(C, "monopartite"), symmetric(X, "monopartite")
    start = np.array([0.9, 0.1, 0.5, 0.7])
    given_start = start.copy()
    once, spread = fitted(plays, sums, COIN, start=start)
    assert start.tolist() == given_start.tolist()
    again, same = fitted(plays, sums, COIN, start=once)
    assert again == pytest.approx(once, abs=1e-9)
    assert same == pytest.approx(spread, rel=1e-6)
    assert fitted(plays, sums, COIN)[0] == pytest.approx(once, abs=1e-7)


# Covariance


@pytest.mark.parametrize("n", [1, 2, 6, 40])
def test_the_factor_is_choleskys_and_backward_solves_with_it(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    F, b = A @ A.T + np.eye(n), rng.standard_normal(n)
    L, x = F.copy(), b.copy()
    factor(L)
    assert pytest.approx(np.linalg.cholesky(F), rel=1e-9, abs=1e-9) == L
    backward(L, x)
    assert L.T @ x == pytest.approx(b)


def test_after_a_fit_the_information_is_that_of_the_fitted_strengths():
    for seed in range(5):
        _, C, X = random_tables("bipartite", np.random.default_rng(seed))
        model, F = model_of(C, X, "bipartite"), np.empty((7, 7))
        fit(model, F)
        assert fisher(model).tolist() == F.tolist()


def test_the_covariance_of_players_is_the_full_inverse():
    _, C, X = random_tables("monopartite", np.random.default_rng(9))
    model = model_of(C, X, "monopartite")
    settled(model)
    strengths, spread = fitted(model.plays, model.sums, COIN)
    assert strengths == pytest.approx(model.strengths)
    assert spread == pytest.approx(np.linalg.inv(fisher(model)), rel=1e-6)


def test_the_covariance_of_rows_and_columns_leaves_their_scale_out():
    _, C, X = random_tables("bipartite", np.random.default_rng(9))
    strengths, spread = fitted(symmetric(C, "bipartite"), symmetric(X, "bipartite"), COIN, n_rows=4)
    scale = np.concatenate([strengths[:4], -strengths[4:]])
    P = np.eye(7) - np.outer(scale, scale) / (scale @ scale)
    inverse = np.linalg.inv(fisher(model_of(C, X, "bipartite", strengths=strengths)))
    assert spread == pytest.approx(P @ inverse @ P, rel=1e-6, abs=1e-9)
    assert np.abs(spread @ scale).max() < 1e-12


def test_with_huge_counts_the_factor_is_finite_and_knows_products_only():
    n = 2.0**53
    plays = np.array([[0.0, n], [n, 0.0]])
    strengths, spread = fitted(plays, plays * 0.49, COIN)
    assert strengths.prod() == pytest.approx(0.49)
    assert np.isfinite(spread).all()
    F = fisher(Model(plays, plays * 0.49, strengths, COIN))
    assert covariance(F, strengths, 0) == pytest.approx(spread)
    along, across = strengths * [1, -1], strengths[::-1]
    assert along @ spread @ along > 1e6 * (across @ spread @ across)


# Slips


def test_only_sums_that_no_gaussian_gives_are_cut():
    counts, sd = np.array([1, 4, 100]), 0.5
    far = 40 * sd * np.sqrt(counts)
    assert credible(Noise(0, sd), counts, counts + far).tolist() == (counts + far).tolist()
    assert credible(Noise(0, sd), counts, np.full(3, 1e150)).tolist() == (counts + far).tolist()
    assert credible(Noise(0, sd), counts, np.full(3, -1e150)).tolist() == (-far).tolist()
    assert credible(COIN, counts, counts * 1.0).tolist() == counts.tolist()

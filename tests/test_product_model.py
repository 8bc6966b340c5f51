import warnings
from math import isclose, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom

import matchbandit as mb
from matchbandit import product_model
from matchbandit.errors import MatchbanditError
from matchbandit.product_model import ProductFit, product_fit
from matchbandit.rewards import Bernoulli, Binomial, Gaussian


def draw(graph, rng, *, counts, density=1.0, low=0.1, rewards=None, bump=None):
    """Results on some pairs of a product; a bump changes the mean of the first pair."""
    sides = [rng.uniform(low, 1, size) for size in (graph.shape if graph.kind == "bipartite" else graph.shape[:1])]
    pairs = graph.pairs[rng.random(graph.n_pairs) < density]
    pairs = pairs if len(pairs) else graph.pairs[:1]
    means = sides[0][pairs[:, 0]] * sides[-1][pairs[:, 1]]
    if bump is not None:
        means[0] = bump
    plays = rng.integers(counts[0], counts[1] + 1, len(pairs))
    rewards = rewards or Bernoulli()
    return {"pairs": pairs, "counts": plays, "sums": rewards.sums(means, plays, rng), "rewards": rewards}


def test_by_hand_rows_and_columns():
    # Exactly a product: 0.8 0.4 by 0.9 0.5.
    fit = product_fit(mb.bipartite(2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)], counts=[100] * 4, sums=[72, 40, 36, 20])
    assert fit.statistic < 1e-6
    assert fit.degrees_of_freedom == 1
    assert fit.p_value > 0.5
    assert np.allclose(fit.residuals, 0, atol=1e-3)
    u, v = fit.strengths
    assert np.allclose(np.outer(u, v), [[0.72, 0.4], [0.36, 0.2]], atol=1e-4)
    assert isclose(u.max(), v.max())


def test_by_hand_three_players_determine_their_strengths():
    fit = product_fit(mb.monopartite(4), [(1, 0), (0, 2), (1, 2)], counts=[1000] * 3, sums=[720, 450, 400])
    assert np.allclose(fit.strengths[0][:3], [0.9, 0.8, 0.5], atol=1e-4)
    assert np.isnan(fit.strengths[0][3])
    assert fit.degrees_of_freedom == 0
    assert fit.statistic < 1e-5
    assert fit.p_value == 1
    assert fit.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_strengths_are_at_most_1_and_three_players_can_tell():
    # u_0² = .9 · .9 / .1 would be 8.1.
    told = {"pairs": [(0, 1), (0, 2), (1, 2)], "counts": [200] * 3, "sums": [180, 180, 20]}
    for simulated in (True, False):
        fit = product_fit(mb.monopartite(3), **told, simulate_null=simulated)
        assert fit.degrees_of_freedom == 0
        assert fit.strengths[0][0] == 1
        assert fit.p_value <= 0.001


@settings(deadline=None, derandomize=True, max_examples=12)
@given(seed=st.integers(0, 10**6), rewards=st.sampled_from([Bernoulli(), Binomial(3), Gaussian(0.3)]))
def test_no_product_fits_better(seed, rewards):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    graph = mb.monopartite(n) if seed % 2 else mb.bipartite(n, int(rng.integers(1, 5)))
    told = draw(graph, rng, counts=(1, 20), density=0.7, rewards=rewards)
    fit = product_fit(graph, **told, simulate_null=False)
    means = told["sums"] / told["counts"]

    def deviance(strengths):
        u, v = (strengths, strengths) if graph.kind == "monopartite" else np.split(strengths, [n])
        p = u[told["pairs"][:, 0]] * v[told["pairs"][:, 1]]
        if isinstance(rewards, Gaussian):
            return float((told["counts"] * (means - p) ** 2).sum() / rewards.sd**2)
        trials = told["counts"] * getattr(rewards, "trials", 1)
        hits = np.rint(means * trials)
        free = binom.logpmf(hits, trials, means).sum()
        return float(2 * (free - binom.logpmf(hits, trials, np.clip(p, 1e-12, 1 - 1e-12)).sum()))

    items = n if graph.kind == "monopartite" else sum(graph.shape)
    tries = [
        minimize(deviance, rng.uniform(0.2, 0.9, items), bounds=[(1e-9, 1)] * items, method="L-BFGS-B").fun
        for _ in range(3)
    ]
    assert fit.statistic <= min(tries) + 1e-5
    ours = np.nan_to_num(np.concatenate(fit.strengths))
    assert isclose(deviance(ours), fit.statistic, rel_tol=1e-6, abs_tol=1e-4)


@pytest.mark.parametrize(
    ("graph", "pairs", "freedom"),
    [
        (mb.bipartite(3, 4), mb.bipartite(3, 4).pairs, 12 - 6),  # one scale for all
        (mb.bipartite(2, 2), [(0, 0), (1, 1)], 0),  # two parts, each with a scale of its own
        (mb.bipartite(4, 4), [(i, j) for i in range(4) for j in range(4) if i // 2 == j // 2], 2),
        (mb.monopartite(5), mb.monopartite(5).pairs, 10 - 5),
        (mb.monopartite(4), [(0, 1), (1, 2), (2, 3), (0, 3)], 1),  # a ring of four: a scale between its two sides
        (mb.monopartite(5), [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], 0),  # a ring of five determines all strengths
        (mb.monopartite(9), [(0, 1), (0, 1), (2, 3)], 0),
    ],
)
def test_the_degrees_of_freedom_are_those_of_the_design(graph, pairs, freedom):
    pairs = np.array(pairs)
    fit = product_fit(graph, pairs, counts=[10] * len(pairs), sums=[4] * len(pairs))
    distinct = np.unique(pairs, axis=0)
    offset = graph.shape[0] if graph.kind == "bipartite" else 0
    design = np.zeros((len(distinct), offset + graph.shape[1]))
    for row, (i, j) in zip(design, distinct.tolist(), strict=True):
        row[[i, j + offset]] = 1
    assert fit.degrees_of_freedom == freedom == len(distinct) - np.linalg.matrix_rank(design)
    assert fit.p_value > 0.2


def test_repeated_pairs_are_added_up_and_pairs_without_plays_left_out():
    once = product_fit(mb.monopartite(3), [(0, 1), (0, 2)], counts=[30, 10], sums=[20, 5])
    told = {"counts": [10, 20, 10, 0], "sums": [5, 15, 5, 0]}
    again = product_fit(mb.monopartite(3), [(0, 1), (1, 0), (0, 2), (1, 2)], **told)
    assert again.pairs.tolist() == once.pairs.tolist() == [[0, 1], [0, 2]]
    assert again.statistic == once.statistic


def test_the_same_data_give_the_same_p_value():
    told = draw(mb.monopartite(6), np.random.default_rng(1), counts=(5, 5))
    assert product_fit(mb.monopartite(6), **told).p_value == product_fit(mb.monopartite(6), **told).p_value


def test_a_pair_that_sticks_out_is_named():
    told = draw(mb.monopartite(6), np.random.default_rng(2), counts=(200, 200), low=0.6, bump=0.1)
    fit = product_fit(mb.monopartite(6), **told)
    assert fit.p_value == 0.001
    assert fit.worst(1)[0][:2] == (0, 1)
    assert fit.worst(1)[0][2] < -8
    assert len(fit.worst(3)) == 3
    assert repr(fit).startswith("ProductFit p = 0.001 (statistic ")
    assert "worst: (0, 1) at -" in repr(fit)
    assert fit._repr_html_().count("<tr>") == 6
    assert product_fit(mb.monopartite(6), **told, simulate_null=False).p_value < 1e-12


def test_html_is_escaped():
    class Odd(ProductFit):
        def __repr__(self):
            return "<b>"

    assert "&lt;b&gt;" in Odd(1.0, 0.0, 0, (), np.zeros((0, 2), dtype=int), np.zeros(0))._repr_html_()


@pytest.mark.parametrize("rewards", [Bernoulli(), Gaussian(0.5)])
def test_residuals_have_unit_variance_where_the_product_is_right(rewards):
    rng = np.random.default_rng(5)
    graph = mb.bipartite(4, 5)
    found = [
        product_fit(graph, **draw(graph, rng, counts=(80, 80), low=0.4, rewards=rewards), simulate_null=False)
        for _ in range(150)
    ]
    residuals = np.array([fit.residuals for fit in found])
    # 150 × 12 independent ones: the variance of their mean square is about 2/1800.
    assert abs((residuals**2).mean() - 1) < 4 * sqrt(2 / 1800) + 0.03


@pytest.mark.parametrize(
    ("sums", "rewards"),
    [
        ([0, 0, 0], Bernoulli()),
        ([5, 5, 5], Bernoulli()),
        ([5, 0, 0], Bernoulli()),
        ([5, 5, 0], Binomial(2)),
        ([-9, -8, -7], Gaussian(0.5)),
        ([500, -100, 40], Gaussian(0.5)),
        ([1e150, 0, 0], Gaussian(1e100)),
    ],
)
def test_extremes_are_fitted_without_a_word_from_numpy(sums, rewards):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = product_fit(mb.monopartite(3), [(0, 1), (0, 2), (1, 2)], counts=[5] * 3, sums=sums, rewards=rewards)
    assert 0 < fit.p_value <= 1
    assert np.isfinite(fit.statistic)
    assert np.isfinite(fit.residuals).all()


def test_nothing_ever_paid_between_rows_and_columns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = product_fit(mb.bipartite(2, 2), mb.bipartite(2, 2).pairs, counts=[5] * 4, sums=[5, 0, 0, 0])
    assert np.allclose(np.outer(*fit.strengths), [[1, 0], [0, 0]])


def test_huge_counts_are_fitted_too():
    plays = np.full(6, 10**12)
    u = np.array([0.9, 0.7, 0.5, 0.3])
    pairs = mb.monopartite(4).pairs
    means = u[pairs[:, 0]] * u[pairs[:, 1]]
    rng = np.random.default_rng(1)
    fit = product_fit(mb.monopartite(4), pairs, counts=plays, sums=rng.binomial(plays, means))
    assert fit.p_value > 0.01
    assert np.allclose(fit.strengths[0], u, atol=1e-5)


def test_what_is_no_graph_is_refused():
    with pytest.raises(MatchbanditError, match=r"^results are of pairs of bipartite\(N, M\) or .*; got 3"):
        product_fit(3, [(0, 1)], counts=[1], sums=[1])


def test_rare_successes_of_very_many_plays():
    told = {"pairs": [(0, 0), (0, 1), (1, 0), (1, 1)], "counts": [10**12] * 4, "sums": [3, 2, 2, 4]}
    fits = [product_fit(mb.bipartite(2, 2), **told, simulate_null=simulated) for simulated in (True, False)]
    assert all(0.2 < fit.p_value <= 1 for fit in fits)


# Calibration: where the product is right, p ≤ α happens with probability α.

SETTINGS = [
    # graph, share of the pairs that were played, counts, lowest strength
    (mb.bipartite(3, 4), 1.0, (100, 100), 0.1),
    (mb.bipartite(4, 6), 0.6, (1, 60), 0.4),
    (mb.monopartite(5), 1.0, (20, 20), 0.1),
    (mb.monopartite(6), 1.0, (3, 3), 0.5),
    (mb.monopartite(8), 0.5, (2, 9), 0.1),
]


def p_values(setting, runs, *, rewards=None, simulate_null=True, bump=None, seed=11):
    graph, density, counts, low = setting
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < runs:
        told = draw(graph, rng, counts=counts, density=density, low=low, rewards=rewards, bump=bump)
        fit = product_fit(graph, **told, simulate_null=simulate_null)
        if fit.degrees_of_freedom:  # else p is 1, as it must be
            found.append(fit.p_value)
    return np.array(found)


def shares_are_right(found, *, at_most=False):
    for level in (0.05, 0.2):
        beside = (found <= level).mean() - level
        tolerance = 4 * sqrt(level * (1 - level) / len(found))
        assert beside <= tolerance
        assert at_most or beside >= -tolerance


def test_the_p_value_is_calibrated(monkeypatch):
    monkeypatch.setattr(product_model, "SIMULATIONS", 199)
    found = [p_values(setting, 60) for setting in SETTINGS]
    for each in found:
        shares_are_right(each)
    shares_are_right(np.concatenate(found))


def test_the_p_value_of_gaussian_rewards_is_calibrated(monkeypatch):
    monkeypatch.setattr(product_model, "SIMULATIONS", 199)
    found = [p_values(setting, 30, rewards=Gaussian(0.5)) for setting in SETTINGS]
    shares_are_right(np.concatenate(found))


def test_without_simulation_it_is_seldom_too_small():
    found = [p_values(setting, 120, simulate_null=False) for setting in SETTINGS]
    for each in found:
        shares_are_right(each, at_most=True)
        assert (each < 0.001).mean() <= 0.001 + 4 * sqrt(0.001 / 120)
    shares_are_right(p_values(SETTINGS[0], 300, simulate_null=False))  # exact where counts are large


@pytest.mark.slow
@pytest.mark.parametrize("rewards", [Bernoulli(), Binomial(4), Gaussian(0.5)], ids=lambda rewards: rewards.name)
@pytest.mark.parametrize("low", [0.1, 0.7])
@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize("counts", [(1, 1), (3, 3), (1, 10), (50, 50), (1000, 1000)])
def test_the_p_value_is_calibrated_everywhere(counts, density, low, rewards, monkeypatch):
    monkeypatch.setattr(product_model, "SIMULATIONS", 199)
    graphs = [mb.monopartite(4), mb.monopartite(6), mb.monopartite(12), mb.bipartite(3, 3), mb.bipartite(6, 8)]
    found = np.concatenate([p_values((graph, density, counts, low), 100, rewards=rewards) for graph in graphs])
    few = counts[0] == 1 and not isinstance(rewards, Gaussian)  # few results have few p-values, and may stay below
    shares_are_right(found, at_most=few)
    quick = [p_values((graph, density, counts, low), 100, rewards=rewards, simulate_null=False) for graph in graphs]
    shares_are_right(np.concatenate(quick), at_most=True)


def test_clear_non_products_are_noticed():
    rng = np.random.default_rng(3)
    for graph in (mb.bipartite(4, 4), mb.monopartite(6)):
        found = []
        for _ in range(30):
            plays = np.full(graph.n_pairs, 40)
            sums = rng.binomial(plays, rng.uniform(0, 1, graph.n_pairs))
            found.append(product_fit(graph, graph.pairs, counts=plays, sums=sums, simulate_null=False).p_value)
        assert np.mean(np.array(found) < 0.001) > 0.9
    one_off = p_values((mb.monopartite(6), 1.0, (200, 200), 0.6), 30, simulate_null=False, bump=0.15)
    assert (one_off < 0.001).all()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"pairs": [(0, 5)], "counts": [1], "sums": [1]}, "(0, 5) is not a pair of monopartite with 3 players"),
        ({"pairs": [(0, 1)], "counts": [1, 2], "sums": [1]}, "1 logged pairs need a count and a sum each"),
        ({"pairs": [(0, 1)], "counts": [1.5], "sums": [1]}, "the count of the pair [0, 1] must be a whole number"),
        (
            {"pairs": [(0, 1)], "counts": [1], "sums": [2]},
            "bernoulli rewards lie in [0, 1]; got 2 for the pair [0, 1].",
        ),
        ({"pairs": [(0, 1)], "counts": ["a"], "sums": [2]}, "counts and sums must be numbers"),
        ({"pairs": [(0, 1)], "counts": [0], "sums": [0]}, "no pair was played: there is nothing to fit."),
        ({"pairs": [], "counts": [], "sums": []}, "no pair was played: there is nothing to fit."),
        ({"pairs": [(0, 1)], "counts": [1], "sums": [1], "rewards": "normal"}, "rewards must be "),
    ],
)
def test_bad_results_are_refused_by_name(told, words):
    with pytest.raises(MatchbanditError) as refusal:
        product_fit(mb.monopartite(3), **told)
    assert str(refusal.value).startswith(words)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import matchbandit as mb
from matchbandit.policies.matching.pb_mhb import choose, place_items, propose
from matchbandit.policies.page import page_of
from matchbandit.solvers import best_matching


def sampled(policy, n):
    """Samples of θ and κ while nothing new is seen, m sweeps apart."""
    edges = np.zeros(policy.round_size, dtype=np.int64)
    theta, kappa = [], []
    for _ in range(n):
        choose(policy.arrays, policy.rng, edges)
        theta.append(policy.arrays.params.theta.copy())
        kappa.append(policy.arrays.params.kappa.copy())
    return np.array(theta), np.array(kappa)


def filled(shape, plays, sums, **options):
    policy = mb.policy("pb-mhb", **options).build(mb.bipartite(*shape), seed=4)
    policy.arrays.plays[:], policy.arrays.sums[:] = plays, sums
    policy.arrays.total[0] = np.sum(plays)
    return policy


@pytest.mark.parametrize("c", [1000.0, 1.5])
def test_with_one_position_of_visibility_one_the_samples_are_beta(c):
    """The posterior of θ_i alone: Beta(3/2 + successes, 3/2 + failures)."""
    policy = filled((2, 1), [10, 3], [7, 0.5], c=c, m=20, first_is_best=True)
    theta, kappa = sampled(policy, 2000)
    assert (kappa == 1).all()
    for i, (wins, losses) in enumerate([(7, 3), (0.5, 2.5)]):
        law = stats.beta(1.5 + wins, 1.5 + losses)
        assert stats.kstest(theta[::2, i], law.cdf).pvalue > 1e-4
        assert theta[:, i].mean() == pytest.approx(law.mean(), abs=0.015)
        assert theta[:, i].std() == pytest.approx(law.std(), rel=0.07)


def test_a_walk_that_is_cut_off_at_the_edges_is_corrected_for():
    """Before the first result the target is Beta(3/2, 3/2), with most of its mass near the edges for σ = 0.4."""
    theta, _ = sampled(filled((2, 1), [0, 0], [0, 0], c=0.4, m=40, first_is_best=True), 6000)
    assert theta.std() == pytest.approx(0.25, rel=0.02)  # 0.237 without the correction


@pytest.mark.parametrize("first_is_best", [False, True])
@pytest.mark.slow
def test_the_samples_follow_the_posterior_of_items_and_positions(first_is_best):
    plays, sums = np.array([6, 3, 2, 5]), np.array([4, 0, 1, 3])
    policy = filled((2, 2), plays, sums, m=20, first_is_best=first_is_best)
    theta, kappa = sampled(policy, 5000)
    grid = (np.arange(40) + 0.5) / 40
    a, b, c, d = np.meshgrid(grid, grid, [1 - 1e-9] if first_is_best else grid, grid, indexing="ij")
    weights = np.zeros_like(a)
    for mean, n, won in zip((a * c, a * d, b * c, b * d), plays, sums, strict=True):
        weights += (won + 0.5) * np.log(mean) + (n - won + 0.5) * np.log1p(-mean)
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    assert (theta[:, 0] > theta[:, 1]).mean() == pytest.approx(
        weights[a > b].sum() + weights[a == b].sum() / 2, abs=0.02
    )
    assert theta.mean(axis=0) == pytest.approx([(weights * a).sum(), (weights * b).sum()], abs=0.015)
    assert kappa[:, 1].mean() == pytest.approx((weights * d).sum(), abs=0.015)


@pytest.mark.parametrize(("x", "sigma"), [(0.2, 0.1), (0.02, 0.4), (0.9, 0.6), (0.5, 1000.0)])
def test_proposals_are_a_truncated_normal(x, sigma):
    rng = np.random.default_rng(3)
    draws = [propose(x, sigma, rng) for _ in range(4000)]
    assert stats.kstest(draws, stats.truncnorm(-x / sigma, (1 - x) / sigma, loc=x, scale=sigma).cdf).pvalue > 1e-3


@given(seed=st.integers(0, 10**6), n_rows=st.integers(1, 6), n_columns=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_items_go_where_they_are_worth_most(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    graph = mb.bipartite(n_rows, n_columns)
    theta, kappa = rng.random(max(n_rows, n_columns)), rng.random(min(n_rows, n_columns))
    edges = np.zeros(graph.matching_size, dtype=np.int64)
    place_items(theta, kappa, page_of(graph), edges)
    table = np.outer(theta, kappa) if n_rows >= n_columns else np.outer(kappa, theta)
    assert sorted(edges.tolist()) == sorted(best_matching(graph, table.ravel()).tolist())


def test_the_width_shrinks_and_the_chain_goes_on():
    """c/√t = 10^−6: the walk hardly moves from the uniform start, and every position sampled stays where it began."""
    policy = mb.policy("pb-mhb", c=1e-6).build(mb.bipartite(3, 2), seed=1)
    policy.ask()
    before = policy.arrays.params.theta.copy()
    policy.tell(policy.ask(), [1, 0])
    policy.ask()
    assert 0 < np.abs(policy.arrays.params.theta - before).max() < 1e-5
    assert set(policy.explain()["details"]) == {"theta", "kappa"}


def test_a_best_position_that_is_not_the_first_must_not_be_taken_for_it():
    slots = mb.Bipartite([0.6, 0.4, 0.2], [0.3, 0.9])
    free, fixed = (
        mb.simulate(slots, mb.policy("pb-mhb", first_is_best=known), horizon=4000, runs=10, seed=2, workers=1).final
        for known in (False, True)
    )
    assert free.mean() < 40
    assert fixed.mean() > 0.5 * 4000 * 0.6 * 0.2  # most rounds show the items the wrong way round


def test_the_recommendation_is_what_is_played_most():
    policy = filled((3, 2), [1, 9, 8, 2, 5, 5], [1, 4, 4, 2, 2, 2])
    assert policy.recommend().tolist() == [[0, 1], [1, 0]]


@pytest.mark.slow
def test_it_learns_a_published_click_model_as_the_authors_code_does():
    """Their code lost 91 ± 6 in 2 runs, ours 89 ± 2 in 40."""
    model = mb.family("click-model", model="simulated:small", shuffle="except-first")
    runs = mb.simulate(model, mb.policy("pb-mhb", first_is_best=True), horizon=10**4, runs=20, seed=1, workers=1)
    assert 0.75 * 91 < runs.final.mean() < 1.25 * 91

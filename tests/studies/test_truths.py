"""The truths that a log leaves possible, against sums over a grid and against truths that are known."""

from itertools import product as each_of
from math import inf

import numpy as np
import pytest
from scipy.special import betaln, expit, logsumexp
from scipy.stats import multivariate_normal

import matchbandit as mb
from matchbandit.studies.truths import (
    CENTRE,
    CENTRE_SD,
    LOYALTIES,
    SPREADS,
    Evidence,
    PossibleTruths,
    Posterior,
    log_share,
)

REWARDS = [mb.Bernoulli(), mb.Binomial(4), mb.Gaussian(0.3)]


def played(problem, counts, seed=0):
    """Every pair `counts` times."""
    n = np.broadcast_to(np.asarray(counts), problem.graph.n_pairs).astype(np.int64)
    sums = problem.rewards.sums(problem.means, n, np.random.default_rng(seed))
    met = np.flatnonzero(n)
    return Evidence(problem.graph, problem.graph.pairs_of(met), n[met], sums[met], problem.rewards)


@pytest.mark.parametrize("rewards", REWARDS, ids=lambda rewards: rewards.typed)
@pytest.mark.parametrize("loyalty", [inf, 20.0])
def test_slopes_are_those_of_the_likelihood(rewards, loyalty):
    log = played(mb.Monopartite([0.9, 0.6, 0.3, 0.2], rewards=rewards), 7)
    mu = np.linspace(0.1, 0.8, 6)
    step = 1e-6
    numeric = (log.log_likelihood(mu + step, loyalty) - log.log_likelihood(mu - step, loyalty)) / (2 * step)
    assert np.allclose(log.slope(mu, loyalty), numeric, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("rewards", REWARDS, ids=lambda rewards: rewards.typed)
def test_the_information_is_the_variance_of_the_slope(rewards):
    rng, draws = np.random.default_rng(2), 40_000
    mu, n = np.full(draws, 0.4), np.full(draws, 6)
    pairs = np.zeros((draws, 2), dtype=np.int64)
    own = mu if isinstance(rewards, mb.Gaussian) else rng.beta(20 * mu, 20 * (1 - mu))
    if isinstance(rewards, mb.Gaussian):
        own = rng.normal(mu, np.sqrt(0.25 / 21))
    log = Evidence(mb.bipartite(1, 1), pairs, n, rewards.sums(own, n, rng), rewards)
    slope = log.slope(mu, 20.0)
    assert abs(slope.mean()) < 4 * slope.std() / np.sqrt(draws)
    assert slope.var() == pytest.approx(log.expected_information(mu, 20.0)[0], rel=0.04)


def on_a_grid(log, loyalty):
    """All strengths of three players on a grid: their log-weights under each spread, and the products."""
    points = np.linspace(-6, 7, 45)
    z = np.array(list(each_of(points, repeat=3)))
    u = expit(z)
    mu = np.clip(u[:, log.pairs[:, 0]] * u[:, log.pairs[:, 1]], 1e-10, 1 - 1e-10)
    n, s = log.counts, log.sums
    if loyalty == inf:
        likelihood = (s * np.log(mu) + (n - s) * np.log1p(-mu)).sum(axis=1)
    else:
        a, b = loyalty * mu, loyalty * (1 - mu)
        likelihood = (betaln(a + s, b + n - s) - betaln(a, b)).sum(axis=1)
    cell = np.log(points[1] - points[0]) * 3
    weights = [
        likelihood + cell + multivariate_normal(np.full(3, CENTRE), spread**2 * np.eye(3) + CENTRE_SD**2).logpdf(z)
        for spread in SPREADS[1:]  # the least spread is finer than the grid
    ]
    return np.array(weights), mu


def test_evidence_and_draws_are_those_of_sums_over_a_grid(monkeypatch):
    monkeypatch.setattr("matchbandit.studies.truths.SPREADS", SPREADS[1:])
    graph = mb.monopartite(3)
    log = Evidence(graph, graph.pairs, np.array([12, 9, 10]), np.array([9.0, 2.0, 3.0]), mb.Bernoulli())
    evidence = {loyalty: on_a_grid(log, loyalty) for loyalty in (inf, 6.0)}
    posterior = Posterior(log, (inf, 6.0))
    exact = np.concatenate([logsumexp(weights, axis=1) for weights, _ in evidence.values()])
    shares = np.exp(exact - logsumexp(exact))  # both loyalties are as likely before the log
    assert np.allclose(posterior.weights, shares, atol=0.03)
    assert posterior.product == pytest.approx(shares[:3].sum(), abs=0.03)

    weights, mu = evidence[inf]
    share = np.exp(weights - logsumexp(weights)).sum(axis=0)
    drawn = np.array([truth.means for truth in Posterior(log, (inf,)).draw(800, seed=3)])
    for k in range(3):
        mean = share @ mu[:, k]
        sd = np.sqrt(share @ (mu[:, k] - mean) ** 2)
        assert drawn[:, k].mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(800))
        assert drawn[:, k].std() == pytest.approx(sd, rel=0.12)


@pytest.mark.parametrize(
    ("graph", "counts", "sums"),
    [
        (mb.monopartite(4), [60, 5, 0, 5, 4, 60], [30, 4, 0, 1, 1, 12]),  # 0 and 1 always meet, 2 and 3, too
        (mb.bipartite(2, 2), [90, 60, 30, 90], [60, 18, 15, 18]),  # rows may grow as columns shrink
        (mb.bipartite(2, 2), [3, 3, 3, 3], [3, 0, 3, 0]),  # nothing is Gaussian
    ],
)
def test_draws_follow_hyperbolas_as_weighted_draws_of_the_prior_do(graph, counts, sums, monkeypatch):
    spread = 1.75 if max(counts) < 10 else 0.8
    monkeypatch.setattr("matchbandit.studies.truths.SPREADS", (spread,))
    counts, sums, rng = np.array(counts), np.array(sums, dtype=float), np.random.default_rng(5)
    met = counts > 0
    log = Evidence(graph, graph.pairs[met], counts[met], sums[met], mb.Bernoulli())
    drawn = np.array([truth.means for truth in Posterior(log, (inf,)).draw(500, seed=2)])
    common = [rng.normal(CENTRE, CENTRE_SD, (300_000, 1)) + rng.normal(0, spread, (300_000, n)) for n in log.sizes]
    u = expit(np.concatenate(common, axis=1))
    mu = u[:, graph.pairs[:, 0]] * u[:, graph.pairs[:, 1] + (2 if graph.kind == "bipartite" else 0)]
    likelihood = (sums * np.log(mu) + (counts - sums) * np.log1p(-mu)).sum(axis=1)
    weights = np.exp(likelihood - likelihood.max())
    weights /= weights.sum()
    assert 1 / (weights**2).sum() > 500  # as many draws are these worth
    mean = weights @ mu
    sd = np.sqrt(weights @ (mu - mean) ** 2)
    assert (np.abs(drawn.mean(axis=0) - mean) < 0.25 * sd).all()  # four standard errors of either
    assert np.allclose(drawn.std(axis=0), sd, rtol=0.2)


def test_known_products_vary_little_and_the_scale_between_rows_and_columns_much():
    problem = mb.Bipartite([0.9, 0.5, 0.3], [0.8, 0.4])
    log = Evidence(problem.graph, problem.graph.pairs, np.full(6, 4000), 4000 * problem.means, problem.rewards)
    drawn = Posterior(log, (inf,)).draw(60, seed=1)
    alone = np.sqrt(problem.means * (1 - problem.means) / 4000)  # what is known of a pair by itself
    ratio = np.std([truth.means for truth in drawn], axis=0) / alone
    assert ((ratio > 0.45) & (ratio < 1.2)).all()
    assert 0.04 < np.std([np.log(truth.u[0]) for truth in drawn]) < 0.2


def test_the_product_has_half_of_the_probability_before_the_log():
    assert np.exp([log_share(loyalty, (inf, 9.0, 3.0)) for loyalty in (inf, 9.0, 3.0)]).tolist() == [0.5, 0.25, 0.25]
    assert np.exp([log_share(loyalty, (9.0, 3.0)) for loyalty in (9.0, 3.0)]).tolist() == [0.5, 0.5]
    assert log_share(inf, (inf,)) == 0
    graph = mb.monopartite(4)  # one result tells nothing of products
    log = Evidence(graph, graph.pairs[:1], np.array([1]), np.array([1.0]), mb.Bernoulli())
    assert Posterior(log).product == pytest.approx(0.5, abs=0.02)


TABLE = [[0.9, 0.8, 0.2], [0.8, 0.3, 0.6], [0.2, 0.6, 0.5]]


@pytest.mark.parametrize(
    ("problem", "product"),
    [
        (mb.Monopartite([0.9, 0.7, 0.5, 0.3, 0.2]), True),
        (mb.Monopartite([0.9, 0.7, 0.5, 0.3, 0.2], rewards=mb.Gaussian(0.3)), True),
        (mb.Bipartite([0.9, 0.5, 0.3], [0.8, 0.4], rewards=mb.Binomial(4)), True),
        (mb.Means(TABLE), False),
        (mb.Means(TABLE, rewards=mb.Gaussian(0.3)), False),
    ],
    ids=repr,
)
def test_known_truths_are_recovered_from_much_data(problem, product):
    posterior = Posterior(played(problem, 4000))
    assert posterior.product > 0.9 if product else posterior.product < 1e-6
    for truth in posterior.draw(10, seed=1):
        assert np.abs(truth.means - problem.means).max() < 0.05
        assert truth.graph == problem.graph
        assert truth.rewards == problem.rewards


def test_seldom_seen_pairs_lean_on_their_items_and_often_seen_ones_on_themselves():
    problem = mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.4, 0.3])
    log = played(problem, 400)
    sums = log.sums.copy()
    sums[0] = 40  # (0, 1) is no product: 0.1 and not 0.72
    odd = Evidence(log.graph, log.pairs, log.counts, sums, log.rewards)
    general = Posterior(odd, [loyalty for loyalty in LOYALTIES if loyalty != inf])
    drawn = np.array([truth.means for truth in general.draw(60, seed=1)])
    assert drawn[:, 0].mean() == pytest.approx(0.1, abs=0.05)
    unseen = Evidence(log.graph, log.pairs[1:], log.counts[1:], log.sums[1:], log.rewards)
    drawn = np.array([truth.means for truth in Posterior(unseen).draw(60, seed=1)])
    assert drawn[:, 0].mean() == pytest.approx(0.72, abs=0.06)
    assert drawn[:, 0].std() > 2 * drawn[:, 1].std()  # which is said to be less known


def test_few_results_leave_much_open_and_the_same_seed_the_same():
    problem = mb.Monopartite([0.9, 0.7, 0.5, 0.3])
    few, many = (Posterior(played(problem, n)).draw(50, seed=4) for n in (2, 200))
    spread = [np.array([truth.means for truth in truths]).std(axis=0).mean() for truths in (few, many)]
    assert spread[0] > 3 * spread[1]
    again = Posterior(played(problem, 2)).draw(50, seed=4)
    assert all((one.means == other.means).all() for one, other in zip(few, again, strict=True))
    other = Posterior(played(problem, 2)).draw(50, seed=5)
    assert any((one.means != two.means).any() for one, two in zip(few, other, strict=True))


def test_rewards_that_are_all_1_or_all_0_are_fine():
    for paid in (0.0, 1.0):
        graph = mb.monopartite(4)
        log = Evidence(graph, graph.pairs, np.full(6, 5), np.full(6, 5 * paid), mb.Bernoulli())
        means = np.array([truth.means for truth in Posterior(log).draw(50, seed=1)])
        assert np.isfinite(means).all()
        assert abs(means.mean() - paid) < 0.3


def test_each_truth_is_played_so_often_in_a_row():
    truths = [mb.Monopartite([0.9, 0.5]), mb.Monopartite([0.8, 0.4])]
    family = PossibleTruths.of(truths, repeats=3)
    assert [truths.index(family.draw(seed=9, run=run)) for run in range(6)] == [0, 0, 0, 1, 1, 1]
    assert family.graph == mb.monopartite(2)

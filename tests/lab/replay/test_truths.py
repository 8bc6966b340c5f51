"""The truths that a log leaves possible, against sums over a grid, weighted draws of the prior, and known truths."""

from itertools import product as each_of
from math import inf

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from scipy.stats import kstest, multivariate_normal

import matchbandit as mb
from matchbandit.lab.replay.truths import CONCENTRATIONS, Evidence, PossibleTruths, TruthPosterior
from matchbandit.strengths import PRIOR

REWARDS = [mb.Bernoulli(), mb.Binomial(4), mb.Gaussian(0.3)]


def evidence_of(graph, counts, sums):
    counts, sums = np.array(counts), np.array(sums, dtype=float)
    met = counts > 0
    return Evidence(graph, graph.pairs[met], counts[met], sums[met], mb.Bernoulli())


def played(problem, plays, seed=0):
    """Every pair so often."""
    counts = np.full(problem.graph.n_pairs, plays)
    sums = problem.rewards.sums(problem.means, counts, np.random.default_rng(seed))
    return Evidence(problem.graph, problem.graph.pairs, counts, sums, problem.rewards)


def log_likelihood(mu, n, s, concentration=inf):
    """Of coins, but for a constant."""
    if concentration == inf:
        return (s * np.log(mu) + (n - s) * np.log1p(-mu)).sum(axis=1)
    a, b = concentration * mu, concentration * (1 - mu)
    return (betaln(a + s, b + n - s) - betaln(a, b)).sum(axis=1)


def log_barrier(s, sizes):
    """Of the prior; draws × items, sides one after the other."""
    value = np.log(-np.expm1(s)).sum(axis=1)
    for side in np.split(s, np.cumsum(sizes)[:-1], axis=1):
        value -= (side.shape[1] - 1) * np.log(-np.expm1(side.mean(axis=1)))
    return PRIOR.barrier * value


def draw_prior(rng, sizes, draws):
    """Log strengths from the prior without its barrier, and the barrier's factor as a log-weight."""
    levels = [rng.normal(PRIOR.level, PRIOR.level_sd, (draws, 1)) for _ in sizes]
    s = np.hstack([m + rng.normal(0, PRIOR.spread, (draws, k)) for m, k in zip(levels, sizes, strict=True)])
    s = s[(s < 0).all(axis=1)]
    return s, log_barrier(s, sizes)


@pytest.mark.parametrize("rewards", REWARDS, ids=lambda rewards: rewards.notation)
@pytest.mark.parametrize("concentration", [inf, 20.0])
def test_slope_and_information_are_derivatives_of_the_likelihood(rewards, concentration):
    log = played(mb.Monopartite([0.9, 0.6, 0.3, 0.2], rewards=rewards), 7)
    mu, step = np.linspace(0.1, 0.8, 6), 1e-4
    up, here, down = (log.log_likelihood(mu * np.exp(k * step), concentration) for k in (1, 0, -1))
    np.testing.assert_allclose(log.slope(mu, concentration), (up - down) / (2 * step), rtol=1e-5, atol=1e-4)
    curvature = -(up - 2 * here + down) / step**2
    if isinstance(rewards, mb.Gaussian):  # as expected, where the average is the mean
        curvature += mu * (log.sums / log.counts - mu) / (0.09 / 7 + (0 if concentration == inf else 0.25 / 21))
    np.testing.assert_allclose(log.information(mu, concentration), np.maximum(curvature, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_weights_and_draws_of_three_players_are_those_of_sums_over_a_grid():
    graph = mb.monopartite(3)
    log = evidence_of(graph, [12, 9, 10], [9, 2, 3])
    s = np.array(list(each_of((np.arange(90) + 0.5) * 6.3 / 90 - 6.3, repeat=3)))
    mu = np.exp(s[:, graph.pairs].sum(axis=2))
    covariance = PRIOR.spread**2 * np.eye(3) + PRIOR.level_sd**2
    prior = multivariate_normal(np.full(3, PRIOR.level), covariance).logpdf(s) + log_barrier(s, (3,))
    weights = [log_likelihood(mu, log.counts, log.sums, concentration) + prior for concentration in (inf, 6.0)]
    exact = np.array([logsumexp(each) for each in weights])
    posterior = TruthPosterior(log, (inf, 6.0))
    np.testing.assert_allclose(posterior.weights, np.exp(exact - logsumexp(exact)), atol=0.03)
    drawn = np.array([truth.means for truth in TruthPosterior(log, (inf,)).draw(800, seed=3)])
    share = np.exp(weights[0] - exact[0])
    sd = np.sqrt(share @ (mu - share @ mu) ** 2)
    assert (np.abs(drawn.mean(axis=0) - share @ mu) < 4 * sd / np.sqrt(800)).all()
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.12)


@pytest.mark.parametrize(
    ("graph", "counts", "sums"),
    [
        (mb.monopartite(4), [60, 5, 0, 5, 4, 60], [30, 4, 0, 1, 1, 12]),  # 0 and 1 always meet, 2 and 3, too
        (mb.bipartite(2, 2), [30, 20, 10, 30], [20, 6, 5, 6]),  # rows may grow as columns shrink
        (mb.bipartite(2, 2), [3, 3, 3, 3], [3, 0, 3, 0]),  # nothing is Gaussian
    ],
)
@pytest.mark.sampled(1)
def test_draw_where_items_trade_off_follows_weighted_draws_of_the_prior(graph, counts, sums):
    log = evidence_of(graph, counts, sums)
    drawn = np.array([truth.means for truth in TruthPosterior(log, (inf,)).draw(500, seed=2)])
    s, barrier = draw_prior(np.random.default_rng(5), graph.side_sizes, 1_000_000)
    mu = np.exp(s[:, graph.items_of(graph.pairs)].sum(axis=2))
    weights = barrier + log_likelihood(mu, np.array(counts), np.array(sums))
    weights = np.exp(weights - logsumexp(weights))
    assert 1 / (weights**2).sum() > 500  # as many draws are these worth
    sd = np.sqrt(weights @ (mu - weights @ mu) ** 2)
    assert (np.abs(drawn.mean(axis=0) - weights @ mu) < 0.25 * sd).all()  # four standard errors of either
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.2)


def test_product_after_a_single_result_is_as_probable_as_before():
    log = evidence_of(mb.monopartite(4), [1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0])
    assert TruthPosterior(log).product == pytest.approx(0.5, abs=0.02)
    assert TruthPosterior(log, (inf,)).product == 1
    assert TruthPosterior(log, (9.0, 3.0)).weights.tolist() == pytest.approx([0.5, 0.5], abs=0.02)


@pytest.mark.parametrize(
    ("problem", "product"),
    [
        (mb.Monopartite([0.9, 0.7, 0.5, 0.3, 0.2], rewards=mb.Gaussian(0.3)), True),
        (mb.Bipartite([0.9, 0.5, 0.3], [0.8, 0.4], rewards=mb.Binomial(4)), True),
        (mb.Means([[0.9, 0.8, 0.2], [0.8, 0.3, 0.6], [0.2, 0.6, 0.5]]), False),
    ],
    ids=repr,
)
def test_draw_after_much_data_recovers_the_truth(problem, product):
    posterior = TruthPosterior(played(problem, 4000))
    assert posterior.product > 0.9 if product else posterior.product < 1e-6
    for truth in posterior.draw(10, seed=1):
        assert np.abs(truth.means - problem.means).max() < 0.05
        assert (truth.graph, truth.rewards) == (problem.graph, problem.rewards)


def test_draw_of_general_means_follows_often_seen_pairs_and_borrows_for_others():
    log = played(mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.4, 0.3]), 400)
    sums = log.sums.copy()
    sums[0] = 40  # (0, 1) is no product: 0.1 and not 0.72
    odd = Evidence(log.graph, log.pairs, log.counts, sums, log.rewards)
    drawn = np.array([truth.means for truth in TruthPosterior(odd, CONCENTRATIONS[1:]).draw(60, seed=1)])
    assert drawn[:, 0].mean() == pytest.approx(0.1, abs=0.05)
    unseen = Evidence(log.graph, log.pairs[1:], log.counts[1:], log.sums[1:], log.rewards)
    drawn = np.array([truth.means for truth in TruthPosterior(unseen).draw(60, seed=1)])
    assert drawn[:, 0].mean() == pytest.approx(0.72, abs=0.06)
    assert drawn[:, 0].std() > 2 * drawn[:, 1].std()  # which is known less


@pytest.mark.parametrize("count", [1, 10**9])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rewards", REWARDS, ids=lambda rewards: rewards.notation)
@pytest.mark.sampled(3)
def test_draw_of_extreme_logs_is_finite(rewards, share, count):
    graph = mb.bipartite(1, 3)
    log = Evidence(graph, graph.pairs, np.full(3, count), np.full(3, np.ceil(count * share)), rewards)
    means = np.array([truth.means for truth in TruthPosterior(log).draw(20, seed=1)])
    assert np.isfinite(means).all()
    assert count == 1 or np.allclose(means, share, atol=0.01)


@pytest.mark.parametrize("clicks", [0, 1, 38])
@pytest.mark.sampled(1)
def test_draw_of_rare_rewards_keeps_their_rate(clicks):
    """34 ads in 3 slots, 98 views of each pair: as a small log of clicks has them."""
    graph, rate = mb.bipartite(34, 3), clicks / (98 * 102)
    sums = np.random.default_rng(4).multinomial(clicks, np.full(102, 1 / 102))
    truths = TruthPosterior(evidence_of(graph, np.full(102, 98), sums)).draw(100, seed=1)
    average = np.array([truth.means.mean() for truth in truths])
    assert rate - 4e-4 < average.mean() < 1.25 * rate + 4e-4
    assert np.quantile(average, 0.05) < max(rate, 1e-4) < np.quantile(average, 0.95) + 1e-4
    assert average.std() < 2 * np.sqrt(max(clicks, 1)) / (98 * 102)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "plays"),
    [(mb.monopartite(6), 8), (mb.monopartite(6), 60), (mb.bipartite(5, 3), 20), (mb.bipartite(12, 3), 80)],
    ids=str,
)
def test_ranks_of_true_means_among_draws_are_uniform(graph, plays):
    """Simulation-based calibration: truths from the prior, one log of each; every true rank is as probable."""
    logs, draws, ranks = 120, 39, []
    for number in range(logs):
        rng = np.random.default_rng([number, plays])
        while True:
            s, barrier = draw_prior(rng, graph.side_sizes, 1)
            if len(s) and np.log(rng.random()) < barrier[0]:
                break
        mu = np.exp(s[0][graph.items_of(graph.pairs)].sum(axis=1))
        concentration = rng.choice(CONCENTRATIONS, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
        means = mu if concentration == inf else rng.beta(concentration * mu, concentration * (1 - mu))
        counts = rng.integers(1, 2 * plays, graph.n_pairs)
        log = evidence_of(graph, counts, rng.binomial(counts, means))
        drawn = np.array([truth.means for truth in TruthPosterior(log).draw(draws, seed=number)])
        pair = rng.integers(graph.n_pairs)  # one of each log: the ranks are independent
        for true, values in ((means[pair], drawn[:, pair]), (means.max(), drawn.max(axis=1))):
            ranks.append((np.sum(values < true) + rng.random()) / (draws + 1))
    for values in (ranks[::2], ranks[1::2]):
        assert kstest(values, "uniform").pvalue > 0.01
        assert 0.82 < np.mean((np.array(values) > 0.05) & (np.array(values) < 0.95)) < 0.97


def test_possible_truths_are_played_so_often_in_a_row():
    truths = (mb.Monopartite([0.9, 0.5]), mb.Monopartite([0.8, 0.4]))
    family = PossibleTruths("log", {}, mb.Bernoulli(), truths, repeats=3)
    assert [truths.index(family.draw(seed=9, run=run)) for run in range(6)] == [0, 0, 0, 1, 1, 1]

"""The truths that a log leaves possible, against sums over a grid, weighted draws of the prior, and known truths."""

from itertools import product as each_of
from math import inf

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from scipy.stats import kstest, multivariate_normal

import matchbandit as mb
from matchbandit.strengths import PRIOR
from matchbandit.studies.truths import CONCENTRATIONS, Evidence, PossibleTruths, TruthPosterior, log_share

REWARDS = [mb.Bernoulli(), mb.Binomial(4), mb.Gaussian(0.3)]


def played(problem, counts, seed=0):
    """Every pair `counts` times."""
    n = np.broadcast_to(np.asarray(counts), problem.graph.n_pairs).astype(np.int64)
    sums = problem.rewards.sums(problem.means, n, np.random.default_rng(seed))
    met = np.flatnonzero(n)
    return Evidence(problem.graph, problem.graph.pairs_of(met), n[met], sums[met], problem.rewards)


@pytest.mark.parametrize("rewards", REWARDS, ids=lambda rewards: rewards.notation)
@pytest.mark.parametrize("concentration", [inf, 20.0])
def test_slopes_and_information_are_derivatives_of_the_likelihood(rewards, concentration):
    log = played(mb.Monopartite([0.9, 0.6, 0.3, 0.2], rewards=rewards), 7)
    mu, step = np.linspace(0.1, 0.8, 6), 1e-4
    up, here, down = (log.log_likelihood(mu * np.exp(k * step), concentration) for k in (1, 0, -1))
    assert np.allclose(log.slope(mu, concentration), (up - down) / (2 * step), rtol=1e-5, atol=1e-4)
    curvature = -(up - 2 * here + down) / step**2
    if isinstance(rewards, mb.Gaussian):  # as expected, where the average is the mean
        curvature += mu * (log.sums / log.counts - mu) / (0.09 / 7 + (0 if concentration == inf else 0.25 / 21))
    assert np.allclose(log.information(mu, concentration), np.maximum(curvature, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rewards", REWARDS, ids=lambda rewards: rewards.notation)
@pytest.mark.parametrize("concentration", [60.0, 2.0])
def test_a_product_with_effective_results_is_less_likely_except_where_they_touch(rewards, concentration):
    log = played(mb.Monopartite([0.9, 0.6, 0.3, 0.2], rewards=rewards), 7)
    touching, mu = np.full(6, 0.3), np.linspace(0.02, 0.98, 49)[:, None]
    plays, sums = log.effective_results(touching, concentration)
    product = Evidence(log.graph, log.pairs, plays, sums, rewards)
    assert np.allclose(product.slope(touching, inf), log.slope(touching, concentration))
    gap = [
        each.log_likelihood(mu, k) - each.log_likelihood(touching, k)
        for each, k in ((log, concentration), (product, inf))
    ]
    assert (gap[0] - gap[1] > -1e-9).all()
    if isinstance(rewards, mb.Gaussian):
        assert np.allclose(gap[0], gap[1])


def log_barrier(s, sizes):
    """Of the prior; draws × items, sides one after the other."""
    value = np.log(-np.expm1(s)).sum(axis=1)
    for side in np.split(s, np.cumsum(sizes)[:-1], axis=1):
        value -= (side.shape[1] - 1) * np.log(-np.expm1(side.mean(axis=1)))
    return PRIOR.barrier * value


def on_a_grid(log, concentration):
    """All strengths of three players on a grid: their log-weights, and the products."""
    points = (np.arange(90) + 0.5) * 6.3 / 90 - 6.3
    s = np.array(list(each_of(points, repeat=3)))
    mu = np.exp(s[:, log.pairs[:, 0]] + s[:, log.pairs[:, 1]])
    n, paid = log.counts, log.sums
    if concentration == inf:
        likelihood = (paid * np.log(mu) + (n - paid) * np.log1p(-mu)).sum(axis=1)
    else:
        a, b = concentration * mu, concentration * (1 - mu)
        likelihood = (betaln(a + paid, b + n - paid) - betaln(a, b)).sum(axis=1)
    barrier = log_barrier(s, (3,))
    prior = multivariate_normal(np.full(3, PRIOR.level), PRIOR.spread**2 * np.eye(3) + PRIOR.level_sd**2)
    return likelihood + barrier + prior.logpdf(s), mu


def draw_prior(rng, sizes, draws):
    """Log strengths from the prior without its barrier, and the barrier's factor as a log-weight."""
    s = np.concatenate(
        [
            rng.normal(PRIOR.level, PRIOR.level_sd, (draws, 1)) + rng.normal(0, PRIOR.spread, (draws, size))
            for size in sizes
        ],
        axis=1,
    )
    inside = (s < 0).all(axis=1)
    return s[inside], log_barrier(s[inside], sizes)


@pytest.mark.slow
def test_evidence_and_draws_are_those_of_sums_over_a_grid():
    graph = mb.monopartite(3)
    log = Evidence(graph, graph.pairs, np.array([12, 9, 10]), np.array([9.0, 2.0, 3.0]), mb.Bernoulli())
    evidence = {concentration: on_a_grid(log, concentration) for concentration in (inf, 6.0)}
    posterior = TruthPosterior(log, (inf, 6.0))
    exact = np.array([logsumexp(weights) for weights, _ in evidence.values()])
    shares = np.exp(exact - logsumexp(exact))  # both concentrations are as likely before the log
    assert np.allclose(posterior.weights, shares, atol=0.03)
    assert posterior.product == pytest.approx(shares[0], abs=0.03)

    weights, mu = evidence[inf]
    share = np.exp(weights - logsumexp(weights))
    drawn = np.array([truth.means for truth in TruthPosterior(log, (inf,)).draw(800, seed=3)])
    for k in range(3):
        mean = share @ mu[:, k]
        sd = np.sqrt(share @ (mu[:, k] - mean) ** 2)
        assert drawn[:, k].mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(800))
        assert drawn[:, k].std() == pytest.approx(sd, rel=0.12)


@pytest.mark.parametrize(
    ("n", "paid"), [([6, 6, 9, 9, 6, 6], [5, 3, 2, 1, 1, 0]), ([8, 8, 8, 8, 8, 8], [0, 7, 0, 4, 0, 1])]
)
@pytest.mark.slow
def test_evidence_of_two_sides_is_that_of_weighted_draws_of_the_prior(n, paid):
    graph, concentrations = mb.bipartite(3, 2), (60.0, 6.0, 2.0)
    n, paid = np.array(n), np.array(paid, dtype=float)
    s, barrier = draw_prior(np.random.default_rng(3), (3, 2), 1_000_000)
    mu = np.exp(s[:, graph.pairs[:, 0]] + s[:, 3 + graph.pairs[:, 1]])
    exact = [logsumexp(barrier + (paid * np.log(mu) + (n - paid) * np.log1p(-mu)).sum(axis=1))]
    for concentration in concentrations:
        a, b = concentration * mu, concentration * (1 - mu)
        exact.append(logsumexp(barrier + (betaln(a + paid, b + n - paid) - betaln(a, b)).sum(axis=1)))
    posterior = TruthPosterior(Evidence(graph, graph.pairs, n, paid, mb.Bernoulli()), (inf, *concentrations))
    evidence = np.array([each.evidence for each in posterior.approximations])
    assert np.ptp(evidence - exact) < 0.25  # what all share cancels


def test_the_order_of_the_pairs_does_not_matter():
    log = played(mb.Bipartite([0.9, 0.5, 0.3], [0.8, 0.4]), [5, 9, 30, 4, 70, 2])
    order = np.array([3, 5, 0, 4, 1, 2])
    shuffled = Evidence(log.graph, log.pairs[order], log.counts[order], log.sums[order], log.rewards)
    one, other = TruthPosterior(log), TruthPosterior(shuffled)
    assert np.allclose(one.weights, other.weights)
    assert np.allclose(one.approximations[-1].logits, other.approximations[-1].logits, atol=1e-6)


@pytest.mark.parametrize(
    ("graph", "counts", "sums"),
    [
        (mb.monopartite(4), [60, 5, 0, 5, 4, 60], [30, 4, 0, 1, 1, 12]),  # 0 and 1 always meet, 2 and 3, too
        (mb.bipartite(2, 2), [30, 20, 10, 30], [20, 6, 5, 6]),  # rows may grow as columns shrink
        (mb.bipartite(2, 2), [3, 3, 3, 3], [3, 0, 3, 0]),  # nothing is Gaussian
    ],
)
@pytest.mark.sampled(1)
def test_draws_follow_hyperbolas_as_weighted_draws_of_the_prior_do(graph, counts, sums):
    counts, sums, rng = np.array(counts), np.array(sums, dtype=float), np.random.default_rng(5)
    met = counts > 0
    log = Evidence(graph, graph.pairs[met], counts[met], sums[met], mb.Bernoulli())
    drawn = np.array([truth.means for truth in TruthPosterior(log, (inf,)).draw(500, seed=2)])
    s, barrier = draw_prior(rng, log.sizes, 1_000_000)
    mu = np.exp(s[:, graph.pairs[:, 0]] + s[:, graph.pairs[:, 1] + (2 if graph.kind == "bipartite" else 0)])
    likelihood = (sums * np.log(mu) + (counts - sums) * np.log1p(-mu)).sum(axis=1) + barrier
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
    drawn = TruthPosterior(log, (inf,)).draw(60, seed=1)
    alone = np.sqrt(problem.means * (1 - problem.means) / 4000)  # what is known of a pair by itself
    ratio = np.std([truth.means for truth in drawn], axis=0) / alone
    assert ((ratio > 0.45) & (ratio < 1.2)).all()
    assert 0.04 < np.std([np.log(truth.u[0]) for truth in drawn]) < 0.2


def test_the_product_has_half_of_the_probability_before_the_log():
    assert np.exp([log_share(concentration, (inf, 9.0, 3.0)) for concentration in (inf, 9.0, 3.0)]).tolist() == [
        0.5,
        0.25,
        0.25,
    ]
    assert np.exp([log_share(concentration, (9.0, 3.0)) for concentration in (9.0, 3.0)]).tolist() == [0.5, 0.5]
    assert log_share(inf, (inf,)) == 0
    graph = mb.monopartite(4)  # one result tells nothing of products
    log = Evidence(graph, graph.pairs[:1], np.array([1]), np.array([1.0]), mb.Bernoulli())
    assert TruthPosterior(log).product == pytest.approx(0.5, abs=0.02)


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
    posterior = TruthPosterior(played(problem, 4000))
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
    general = TruthPosterior(odd, [concentration for concentration in CONCENTRATIONS if concentration != inf])
    drawn = np.array([truth.means for truth in general.draw(60, seed=1)])
    assert drawn[:, 0].mean() == pytest.approx(0.1, abs=0.05)
    unseen = Evidence(log.graph, log.pairs[1:], log.counts[1:], log.sums[1:], log.rewards)
    drawn = np.array([truth.means for truth in TruthPosterior(unseen).draw(60, seed=1)])
    assert drawn[:, 0].mean() == pytest.approx(0.72, abs=0.06)
    assert drawn[:, 0].std() > 2 * drawn[:, 1].std()  # which is said to be less known


def test_few_results_leave_much_open_and_the_same_seed_the_same():
    problem = mb.Monopartite([0.9, 0.7, 0.5, 0.3])
    few, many = (TruthPosterior(played(problem, n)).draw(50, seed=4) for n in (2, 200))
    spread = [np.array([truth.means for truth in truths]).std(axis=0).mean() for truths in (few, many)]
    assert spread[0] > 3 * spread[1]
    again = TruthPosterior(played(problem, 2)).draw(50, seed=4)
    assert all((one.means == other.means).all() for one, other in zip(few, again, strict=True))
    other = TruthPosterior(played(problem, 2)).draw(50, seed=5)
    assert any((one.means != two.means).any() for one, two in zip(few, other, strict=True))


@pytest.mark.parametrize("count", [1, 10**9])
@pytest.mark.parametrize("paid", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rewards", REWARDS, ids=lambda rewards: rewards.notation)
@pytest.mark.sampled(3)
def test_extreme_logs_leave_finite_means(rewards, paid, count):
    graph = mb.bipartite(1, 3)
    log = Evidence(graph, graph.pairs, np.full(3, count), np.full(3, np.ceil(count * paid)), rewards)
    posterior = TruthPosterior(log)
    means = np.array([truth.means for truth in posterior.draw(20, seed=1)])
    assert np.isfinite(means).all()
    assert 0 <= posterior.product <= 1
    if count > 1:
        assert np.allclose(means, paid, atol=0.01)


def test_rewards_that_are_all_1_or_all_0_are_fine():
    for paid in (0.0, 1.0):
        graph = mb.monopartite(4)
        log = Evidence(graph, graph.pairs, np.full(6, 5), np.full(6, 5 * paid), mb.Bernoulli())
        means = np.array([truth.means for truth in TruthPosterior(log).draw(50, seed=1)])
        assert np.isfinite(means).all()
        assert abs(means.mean() - paid) < 0.3


@pytest.mark.parametrize("clicks", [0, 1, 38])
@pytest.mark.sampled(1)
def test_rare_rewards_leave_rare_means(clicks):
    """34 ads in 3 slots, 98 views of each pair: as a small log of clicks has them."""
    graph, rng = mb.bipartite(34, 3), np.random.default_rng(4)
    sums = rng.multinomial(clicks, np.full(102, 1 / 102)).astype(float)
    posterior = TruthPosterior(Evidence(graph, graph.pairs, np.full(102, 98), sums, mb.Bernoulli()))
    assert 0.05 < posterior.product < 0.995
    means = np.array([truth.means for truth in posterior.draw(100, seed=1)])
    assert np.isfinite(means).all()
    average, rate = means.mean(axis=1), clicks / (98 * 102)
    assert rate - 4e-4 < average.mean() < 1.25 * rate + 4e-4
    low, high = np.quantile(average, [0.05, 0.95])
    assert low < max(rate, 1e-4)
    assert rate < high
    poisson = np.sqrt(max(clicks, 1)) / (98 * 102)
    assert average.std() < 2 * poisson


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "plays"),
    [(mb.monopartite(6), 8), (mb.monopartite(6), 60), (mb.bipartite(5, 3), 20), (mb.bipartite(12, 3), 80)],
    ids=str,
)
def test_ranks_of_true_means_among_draws_are_uniform(graph, plays):
    """Simulation-based calibration: truths from the prior, one log of each; every true rank is as probable."""
    logs, draws, ranks = 120, 39, []
    sizes = graph.side_sizes
    ends = graph.pairs + np.array([0, sizes[0] if len(sizes) > 1 else 0])
    for number in range(logs):
        rng = np.random.default_rng([number, plays])
        while True:
            s, barrier = draw_prior(rng, sizes, 1)
            if len(s) and np.log(rng.random()) < barrier[0]:
                break
        mu = np.exp(s[0][ends].sum(axis=1))
        concentration = rng.choice(CONCENTRATIONS, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
        means = mu if concentration == inf else rng.beta(concentration * mu, concentration * (1 - mu))
        counts = rng.integers(1, 2 * plays, graph.n_pairs)
        log = Evidence(graph, graph.pairs, counts, rng.binomial(counts, means).astype(float), mb.Bernoulli())
        drawn = np.array([truth.means for truth in TruthPosterior(log).draw(draws, seed=number)])
        pair = rng.integers(graph.n_pairs)  # one of each log: the ranks are independent
        for true, values in ((means[pair], drawn[:, pair]), (means.max(), drawn.max(axis=1))):
            ranks.append((np.sum(values < true) + rng.random()) / (draws + 1))
    for values in (ranks[::2], ranks[1::2]):
        assert kstest(values, "uniform").pvalue > 0.01
        assert 0.82 < np.mean((np.array(values) > 0.05) & (np.array(values) < 0.95)) < 0.97


def test_each_truth_is_played_so_often_in_a_row():
    truths = [mb.Monopartite([0.9, 0.5]), mb.Monopartite([0.8, 0.4])]
    family = PossibleTruths.of(truths, repeats=3)
    assert [truths.index(family.draw(seed=9, run=run)) for run in range(6)] == [0, 0, 0, 1, 1, 1]
    assert family.graph == mb.monopartite(2)

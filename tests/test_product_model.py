import warnings
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import rel_entr
from scipy.stats import binom, chi2, gamma, norm

import matchbandit as mb
from matchbandit import product_model
from matchbandit.errors import MatchbanditError
from matchbandit.past_results import PastResults
from matchbandit.product_model import ProductFit, misfit_of_means, product_fit, product_warning
from matchbandit.rewards import Bernoulli, Binomial, Gaussian
from matchbandit.strengths import PRIOR, Posterior


def draw(graph, rng, *, counts, density=1.0, low=0.1, rewards=None, bump=None):
    """Results on some pairs of a product; a bump changes the mean of the first pair."""
    sides = [rng.uniform(low, 1, size) for size in graph.side_sizes]
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
    fit = product_fit(
        mb.bipartite(2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)], counts=[10_000] * 4, sums=[7200, 4000, 3600, 2000]
    )
    assert fit.statistic < 1e-3  # the prior draws strengths a little towards its level
    assert fit.degrees_of_freedom == 1
    assert fit.p_value > 0.5
    assert np.allclose(fit.residuals, 0, atol=0.1)
    assert np.allclose(np.outer(*fit.strengths), [[0.72, 0.4], [0.36, 0.2]], atol=1e-3)


def test_strengths_are_those_of_the_posterior_and_never_missing():
    results = {"pairs": [(1, 0), (0, 2), (1, 2)], "counts": [1000] * 3, "sums": [720, 450, 400]}
    fit = product_fit(mb.monopartite(4), **results)
    posterior = Posterior.fit(
        mb.monopartite(4), Bernoulli(), np.array([0, 1, 3]), np.full(3, 1000.0), np.array([720.0, 450.0, 400.0])
    )
    assert fit.strengths[0].tolist() == posterior.strengths.tolist()
    assert np.allclose(fit.strengths[0][:3], [0.9, 0.8, 0.5], atol=5e-3)
    assert 0 < fit.strengths[0][3] < 1  # it never played: the level of the others
    assert fit.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("simulated", [True, False])
def test_without_degrees_of_freedom_it_cannot_tell(simulated):
    # u_0² = .9 · .9 / .1 would be 8.1, but three strengths fit any three means that they reach.
    results = {"pairs": [(0, 1), (0, 2), (1, 2)], "counts": [200] * 3, "sums": [180, 180, 20]}
    fit = product_fit(mb.monopartite(3), **results, simulate_null=simulated)
    assert (fit.degrees_of_freedom, fit.p_value, fit.verdict, fit.power) == (0, 1.0, "cannot tell", None)
    assert fit.strengths[0].max() < 1


@settings(deadline=None, derandomize=True, max_examples=12)
@given(seed=st.integers(0, 10**6), rewards=st.sampled_from([Bernoulli(), Binomial(3), Gaussian(0.3)]))
@pytest.mark.slow
def test_no_strengths_are_more_probable(seed, rewards):
    """An independent optimiser of the same posterior; the deviance is that of its strengths."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    graph = mb.monopartite(n) if seed % 2 else mb.bipartite(n, int(rng.integers(1, 5)))
    results = draw(graph, rng, counts=(1, 20), density=0.7, rewards=rewards)
    fit = product_fit(graph, **results, simulate_null=False)
    offset = 0 if graph.kind == "monopartite" else n
    sizes = (n,) if offset == 0 else graph.shape
    low, high = results["pairs"].T
    trials = results["counts"] * getattr(rewards, "trials", 1)
    means = results["sums"] / results["counts"]
    hits = np.rint(means * trials)

    def log_likelihood(s):
        p = np.exp(s[low] + s[high + offset])
        if isinstance(rewards, Gaussian):
            return norm.logpdf(means, p, rewards.sd / np.sqrt(results["counts"])).sum()
        return binom.logpmf(hits, trials, p).sum()

    def log_prior(s):
        total, begin = PRIOR.barrier * np.log1p(-np.exp(s)).sum(), 0
        for size in sizes:
            side = s[begin : begin + size] - PRIOR.level
            cov = PRIOR.spread**2 * np.eye(size) + PRIOR.level_sd**2
            total -= 0.5 * side @ np.linalg.solve(cov, side)
            total -= PRIOR.barrier * (size - 1) * np.log1p(-np.exp(PRIOR.level + side.mean()))
            begin += size
        return total

    def loss(s):
        return -log_likelihood(s) - log_prior(s)

    ours = np.log(np.concatenate(fit.strengths))
    tries = [
        minimize(loss, rng.uniform(-2, -0.1, len(ours)), bounds=[(-12, -1e-6)] * len(ours), method="L-BFGS-B").fun
        for _ in range(3)
    ]
    assert loss(ours) <= min(tries) + 1e-6
    if isinstance(rewards, Gaussian):
        free = norm.logpdf(0, 0, rewards.sd / np.sqrt(results["counts"])).sum()
    else:
        free = binom.logpmf(hits, trials, means).sum()
    assert fit.statistic == pytest.approx(2 * (free - log_likelihood(ours)), rel=1e-6, abs=1e-6)


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
    offset = graph.n_rows
    design = np.zeros((len(distinct), offset + graph.shape[1]))
    for row, (i, j) in zip(design, distinct.tolist(), strict=True):
        row[[i, j + offset]] = 1
    assert fit.degrees_of_freedom == freedom == len(distinct) - np.linalg.matrix_rank(design)
    assert fit.p_value > 0.2


def test_repeated_pairs_are_added_up_and_pairs_without_plays_left_out():
    once = product_fit(mb.monopartite(3), [(0, 1), (0, 2)], counts=[30, 10], sums=[20, 5])
    results = {"counts": [10, 20, 10, 0], "sums": [5, 15, 5, 0]}
    again = product_fit(mb.monopartite(3), [(0, 1), (1, 0), (0, 2), (1, 2)], **results)
    assert again.pairs.tolist() == once.pairs.tolist() == [[0, 1], [0, 2]]
    assert again.statistic == once.statistic


def test_the_same_data_give_the_same_p_value():
    results = draw(mb.monopartite(6), np.random.default_rng(1), counts=(5, 5))
    assert product_fit(mb.monopartite(6), **results).p_value == product_fit(mb.monopartite(6), **results).p_value


def test_a_pair_that_sticks_out_is_named():
    results = draw(mb.monopartite(6), np.random.default_rng(2), counts=(200, 200), low=0.6, bump=0.1)
    fit = product_fit(mb.monopartite(6), **results)
    assert (fit.p_value, fit.verdict) == (0.001, "does not fit")
    assert fit.worst(1)[0][:2] == (0, 1)
    assert fit.worst(1)[0][2] < -8
    assert len(fit.worst(3)) == 3
    assert repr(fit).startswith("ProductFit p = 0.001: does not fit (statistic ")
    assert "against odds off by a factor of 1.65), worst: (0, 1) at -" in repr(fit)
    assert fit._repr_html_().count("<tr>") == 6
    assert product_fit(mb.monopartite(6), **results, simulate_null=False).p_value < 1e-6


def test_html_is_escaped():
    names = (("<b>", "ann"),)
    fit = ProductFit(1.0, 0.0, 0, (np.ones(2),), np.array([[0, 1]]), np.zeros(1), names=names)
    assert "&lt;b&gt;" in fit._repr_html_()
    assert "<b>" not in fit._repr_html_()


@pytest.mark.parametrize("rewards", [Bernoulli(), Gaussian(0.5)])
@pytest.mark.slow
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


def test_one_success_between_rows_and_columns():
    fit = product_fit(mb.bipartite(2, 2), mb.bipartite(2, 2).pairs, counts=[5000] * 4, sums=[5000, 0, 0, 0])
    assert np.allclose(np.outer(*fit.strengths), [[1, 0], [0, 0]], atol=0.1)
    assert fit.p_value <= 1


@pytest.mark.parametrize(
    ("graph", "pairs", "counts", "sums"),
    [
        (mb.monopartite(2), [(0, 1)], [3], [1]),  # one pair only
        (mb.bipartite(1, 4), [(0, 0), (0, 1), (0, 2), (0, 3)], [9] * 4, [0, 9, 3, 4]),  # one item on a side
        (mb.bipartite(3, 3), mb.bipartite(3, 3).pairs, [1] * 9, [0] * 9),
        (mb.bipartite(3, 3), mb.bipartite(3, 3).pairs, [1] * 9, [1] * 9),
        (mb.monopartite(8), [(0, 1), (2, 3), (4, 5)], [40] * 3, [0, 40, 20]),  # parts that never met
        (mb.monopartite(8), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], [40] * 6, [40, 40, 0, 40, 0, 0]),
    ],
)
@pytest.mark.parametrize("simulated", [True, False])
def test_corner_cases_have_a_sensible_answer(graph, pairs, counts, sums, simulated):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = product_fit(graph, pairs, counts=counts, sums=sums, simulate_null=simulated)
    assert 0.1 < fit.p_value <= 1
    assert fit.verdict != "does not fit"
    numbers = [*fit.strengths, fit.residuals, [fit.statistic, 0.0 if fit.power is None else fit.power]]
    assert np.isfinite(np.concatenate(numbers)).all()


# Logs, names and groups

TYPES = ("R", "W")
RATES = {("R", "R"): 0.67, ("R", "W"): 0.56, ("W", "R"): 0.21, ("W", "W"): 0.67}


def matings(seed=0):
    """A look-alike of the salamander matings: 20 females × 20 males of two types, 360 of the pairs once each."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in rng.permutation(400)[:360].tolist():
        female, male = divmod(k, 20)
        rate = RATES[TYPES[female >= 10], TYPES[male >= 10]]
        rows.append((f"f{female}", f"m{male}", int(rng.random() < rate)))
    females = {f"f{k}": TYPES[k >= 10] for k in range(20)}
    males = {f"m{k}": TYPES[k >= 10] for k in range(20)}
    return PastResults.from_rows(rows, kind="sides"), females, males


@pytest.mark.slow
def test_single_matings_cannot_tell_until_they_are_pooled_by_type():
    log, females, males = matings()
    assert product_fit(log).verdict != "fits"
    fit = product_fit(log, groups={**females, **males})
    assert fit.verdict == "does not fit"
    assert fit.groups_p_value <= 0.002
    table = {(row.first, row.second): row for row in fit.groups}
    assert sum(row.plays for row in fit.groups) == 360
    assert all((table[pair].z < -2.5) == (pair in {("W", "R"), ("R", "W")}) for pair in RATES)
    for (a, b), row in table.items():
        chosen = [females[i] == a and males[j] == b for i, j in zip(log.first, log.second, strict=True)]
        assert row.plays == sum(chosen)
        assert row.mean == pytest.approx(log.rewards[chosen].mean())
        assert (row.mean > row.expected) == (row.z > 0)
    quick = product_fit(log, groups=(females, males), simulate_null=False)
    assert quick.groups_p_value < 0.001
    assert [row.z for row in quick.groups] == [row.z for row in fit.groups]


@pytest.mark.slow
def test_groups_of_different_strength_are_still_products():
    # Rare rewards: fitted strengths are drawn together, so that pooled residuals alone would show the difference.
    rng, graph, found, z = np.random.default_rng(4), mb.bipartite(30, 4), [], []
    rows = np.where(np.arange(30) < 15, 0.3, 0.05)
    groups = ({k: k < 15 for k in range(30)}, {k: k < 2 for k in range(4)})
    for _ in range(40):
        sums = rng.binomial(30, np.outer(rows, [0.2, 0.2, 0.1, 0.1]).ravel())
        results = {"counts": [30] * 120, "sums": sums, "groups": groups, "simulate_null": False}
        fit = product_fit(graph, graph.pairs, **results)
        found.append(fit.groups_p_value)
        z.append(fit.groups[0].z)
    assert abs(np.mean(z)) < 4 / sqrt(40)
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 4 * sqrt(0.05 * 0.95 / 40)


def test_a_log_is_answered_by_name(tmp_path):
    rng = np.random.default_rng(1)
    names, u = ["ann", "bob", "cem", "dan", "eve"], [0.9, 0.8, 0.7, 0.6, 0.5]
    rows = [
        (names[i], names[j], 400, int(rng.binomial(400, 0.1 if (i, j) == (0, 1) else u[i] * u[j])))
        for j in range(5)
        for i in range(j)
    ]
    log = PastResults.from_rows(rows)
    fit = product_fit(log)
    assert fit.names == (tuple(log.tally.names[0]),)
    assert set(fit.worst(1)[0][:2]) == {"ann", "bob"}
    assert "worst: (ann, bob)" in repr(fit)
    (strengths,) = fit.strengths_by_name()
    assert list(strengths.values()) == sorted(strengths.values(), reverse=True)
    assert strengths["ann"] == fit.strengths[0][fit.names[0].index("ann")]
    tally = log.tally
    same = product_fit(tally.graph, tally.pairs, counts=tally.counts, sums=tally.sums)
    assert (same.p_value, same.statistic, same.names) == (fit.p_value, fit.statistic, None)
    file = tmp_path / "log.csv"
    file.write_text("a,b,count,sum\n" + "".join(f"{a},{b},{n},{total}\n" for a, b, n, total in rows))
    assert product_fit(file).worst(2) == fit.worst(2)
    frame = {head: [row[k] for row in rows] for k, head in enumerate(["a", "b", "count", "sum"])}
    assert product_fit(frame).worst(2) == fit.worst(2)
    with pytest.raises(MatchbanditError, match="row 1: bernoulli rewards lie in "):
        product_fit(PastResults.from_rows([("a", "b", 3.0)]))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({0: "x", 1: "y"}, "0 is both a row and a column: give groups="),
        (({0: "x", 1: "y"}, {0: "x"}), "groups has no group for 1; every item that played needs one."),
        (({0: "x", 1: "y"},), "groups must be a mapping of rows and one of columns from items to groups; got "),
        (["x", "y"], "groups must be a mapping of rows and one of columns from items to groups; got "),
    ],
)
def test_groups_that_say_too_little_are_refused(groups, words):
    with pytest.raises(MatchbanditError) as refusal:
        product_fit(mb.bipartite(2, 2), mb.bipartite(2, 2).pairs, counts=[5] * 4, sums=[2] * 4, groups=groups)
    assert str(refusal.value).startswith(words)


# Calibration: where the product is right, p ≤ α happens with probability α.


def p_values(graph, strengths, plays, runs, *, seed=11, simulate_null=True, density=1.0, rewards=None):
    """P-values of data sets of products; `strengths` draws those of all items."""
    rng, found, rewards = np.random.default_rng(seed), [], rewards or Bernoulli()
    offset = graph.n_rows
    while len(found) < runs:
        u = strengths(rng, offset + graph.shape[1])
        pairs = graph.pairs[rng.random(graph.n_pairs) < density]
        counts = np.full(len(pairs), plays) if np.isscalar(plays) else rng.integers(*plays, len(pairs))
        means = np.minimum(u[pairs[:, 0]] * u[pairs[:, 1] + offset], 1.0)
        results = {"counts": counts, "sums": rewards.sums(means, counts, rng), "rewards": rewards}
        if len(pairs):
            fit = product_fit(graph, pairs, **results, simulate_null=simulate_null)
            if fit.degrees_of_freedom > 0:  # else p is 1, as it must be
                found.append(fit.p_value)
    return np.array(found)


def uniform(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


def lognormal(level, sd):
    """Strengths around a level; an average item has the same number of successes whatever the spread."""
    return lambda rng, n: np.minimum(level * np.exp(sd * rng.standard_normal(n) - sd**2 / 2), 0.98)


def assert_level(found, *, at_most=0.05):
    assert (found <= 0.05).mean() <= at_most + 4 * sqrt(at_most * (1 - at_most) / len(found))


ADS = mb.bipartite(34, 3)  # 98 views of each ad in each slot
SUCCESSES = [1, 3, 6, 15, 50]


def ads(successes, sd):
    return lognormal(sqrt(successes / (3 * 98)), sd)


@pytest.fixture
def fewer_simulations(monkeypatch):
    monkeypatch.setattr(product_model, "SIMULATIONS", 99)
    monkeypatch.setattr(product_model, "MIN_SIMULATIONS", 39)


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("fewer_simulations")
@pytest.mark.parametrize(("successes", "sd"), [(1.4, 0.0), (6, 0.0), (3, 0.7)])
def test_rare_rewards_keep_the_level(successes, sd):
    """At a constant 0.46 % there are 1.4 successes an item."""
    assert_level(p_values(ADS, ads(successes, sd), 98, 60))


@pytest.mark.slow
@pytest.mark.usefixtures("fewer_simulations")
@pytest.mark.parametrize(
    ("graph", "strengths", "plays", "density"),
    [
        (mb.bipartite(12, 12), uniform(0.7, 0.7), 1, 1.0),  # single plays of equal items
        (mb.monopartite(6), uniform(0.1, 1), (1, 10), 0.7),
        (mb.monopartite(5), uniform(0.1, 1), 200, 1.0),
    ],
)
def test_the_level_is_kept(graph, strengths, plays, density):
    found = p_values(graph, strengths, plays, 60, density=density)
    assert_level(found)
    assert (found <= 0.5).mean() > 0.15  # and p-values are not all near 1
    quick = p_values(graph, strengths, plays, 60, density=density, simulate_null=False)
    assert_level(quick, at_most=0.08)
    assert (quick < 0.001).mean() <= 1 / 60


@pytest.mark.usefixtures("fewer_simulations")
@pytest.mark.slow
def test_the_level_of_gaussian_rewards_is_kept():
    found = p_values(mb.bipartite(3, 4), uniform(0.1, 1), (2, 20), 100, rewards=Gaussian(0.5))
    assert_level(found)
    assert abs((found <= 0.5).mean() - 0.5) < 4 * sqrt(0.25 / 100)


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.0, 0.7])
@pytest.mark.parametrize("successes", SUCCESSES)
def test_rare_rewards_keep_the_level_everywhere(successes, sd, monkeypatch):
    monkeypatch.setattr(product_model, "SIMULATIONS", 199)
    found = p_values(ADS, ads(successes, sd), 98, 400)
    assert (found <= 0.05).mean() <= 0.08
    assert (found <= 0.05).mean() >= 0.005
    quick = p_values(ADS, ads(successes, sd), 98, 400, simulate_null=False)
    assert (quick <= 0.05).mean() <= 0.08
    assert (quick < 0.001).mean() <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize("rewards", [Bernoulli(), Binomial(4), Gaussian(0.5)], ids=lambda rewards: rewards.name)
@pytest.mark.parametrize("low", [0.1, 0.7])
@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize("plays", [1, 3, (1, 11), 50, 1000])
def test_the_level_is_kept_everywhere(plays, density, low, rewards, monkeypatch):
    monkeypatch.setattr(product_model, "SIMULATIONS", 99)
    graphs = [mb.monopartite(6), mb.monopartite(12), mb.bipartite(3, 3), mb.bipartite(6, 8)]
    many = {"density": density, "rewards": rewards}
    found = np.concatenate([p_values(graph, uniform(low, 1), plays, 60, **many) for graph in graphs])
    assert_level(found)
    quick = [p_values(graph, uniform(low, 1), plays, 60, **many, simulate_null=False) for graph in graphs]
    assert_level(np.concatenate(quick), at_most=0.08)


# Power: structures that were missed, on look-alikes of the data sets that showed them.


def labels(seed, factor):
    """39 workers × 108 images, once each: a label is right by skill, ease and how the image's kind suits the worker."""
    rng = np.random.default_rng(seed)
    skill, ease = rng.normal(0.6, 0.5, 39), rng.normal(0, 0.7, 108)
    taste, kind = rng.normal(0, 1, 39), rng.choice([-1.0, 1.0], 108)
    odds = np.exp(skill[:, None] + ease + factor * np.outer(taste, kind))
    return (rng.random((39, 108)) < odds / (1 + odds)).astype(float).ravel()


@pytest.mark.slow
def test_a_factor_among_single_labels_shows_in_the_structure(monkeypatch):
    monkeypatch.setattr(product_model, "SIMULATIONS", 99)
    graph = mb.bipartite(39, 108)
    fit = product_fit(graph, graph.pairs, counts=[1] * graph.n_pairs, sums=labels(1, 1.5))
    assert fit.structure_p_value == 0.01
    assert fit.deviance_p_value > 0.05  # it does not see what single plays of pairs have in common
    assert fit.verdict == "does not fit"
    assert (
        product_fit(graph, graph.pairs, counts=[1] * graph.n_pairs, sums=labels(1, 1.5), simulate_null=False).p_value
        < 1e-6
    )


def test_hidden_blocks_are_noticed_where_much_was_played():
    rng, graph = np.random.default_rng(8), mb.monopartite(12)
    same = (graph.pairs % 2).sum(axis=1) % 2 == 0
    fit = product_fit(graph, graph.pairs, counts=[100] * 66, sums=rng.binomial(100, np.where(same, 0.6, 0.4)))
    assert (fit.p_value, fit.deviance_p_value, fit.structure_p_value) == (0.001, 0.001, 0.001)


def test_the_verdict_says_when_there_was_no_chance_to_notice():
    graph, rng = mb.monopartite(8), np.random.default_rng(2)
    u = np.linspace(0.5, 0.95, 8)
    means = u[graph.pairs[:, 0]] * u[graph.pairs[:, 1]]
    often = product_fit(graph, graph.pairs, counts=[100] * 28, sums=rng.binomial(100, means))
    seldom = product_fit(graph, graph.pairs, counts=[2] * 28, sums=rng.binomial(2, means))
    assert (often.verdict, often.power > 0.95) == ("fits", True)
    assert (seldom.verdict, seldom.power < 0.3) == ("cannot tell", True)
    assert seldom.p_value > 0.05


@pytest.mark.slow
def test_the_power_is_the_share_of_departures_that_are_noticed(monkeypatch):
    """Departures made here, by the words of the docstring, and each tested from the start."""
    monkeypatch.setattr(product_model, "SIMULATIONS", 199)
    graph, rng = mb.monopartite(8), np.random.default_rng(6)
    u, (i, j) = np.linspace(0.5, 0.95, 8), graph.pairs.T
    p = u[i] * u[j]
    promised = np.mean(
        [product_fit(graph, graph.pairs, counts=[15] * 28, sums=rng.binomial(15, p)).power for _ in range(20)]
    )
    noticed = []
    for _ in range(300):
        side = rng.choice([-1, 1], 8)
        odds = p / (1 - p) * np.exp(0.5 * (side[i] * side[j] + rng.standard_normal(28)) / sqrt(2))
        sums = rng.binomial(15, odds / (1 + odds))
        noticed.append(product_fit(graph, graph.pairs, counts=[15] * 28, sums=sums).p_value <= 0.05)
    assert abs(np.mean(noticed) - promised) < 4 * sqrt(0.25 / 300)


def test_very_many_pairs_are_tested_without_simulation(monkeypatch):
    monkeypatch.setattr(product_model, "MAX_QUICK_PAIRS", 100)
    graph, rng = mb.monopartite(20), np.random.default_rng(3)
    u = rng.uniform(0.3, 0.9, 20)
    means = u[graph.pairs[:, 0]] * u[graph.pairs[:, 1]]
    results = {"counts": [40] * 190, "simulate_null": False}
    fit = product_fit(graph, graph.pairs, sums=rng.binomial(40, means), **results)
    assert (fit.verdict, fit.power, fit.structure_p_value) == ("cannot tell", None, None)
    assert fit.p_value > 0.01
    off = product_fit(graph, graph.pairs, sums=rng.binomial(40, rng.permutation(means)), **results)
    assert (off.verdict, off.p_value < 1e-6) == ("does not fit", True)


def test_leverages_of_many_items_are_approximated_from_below(monkeypatch):
    graph, rng = mb.monopartite(20), np.random.default_rng(3)
    results = {"counts": [40] * 190, "sums": rng.binomial(40, 0.4, 190), "simulate_null": False}
    exact = product_fit(graph, graph.pairs, **results).residuals
    monkeypatch.setattr(product_model, "MAX_EXACT_LEVERAGES", 10)
    approximate = product_fit(graph, graph.pairs, **results).residuals
    assert (np.abs(approximate) <= np.abs(exact) + 1e-9).all()
    assert np.allclose(approximate, exact, rtol=0.1)


# What explain() warns of


def posterior_of(graph, plays, sums, rewards=None):
    edges = np.flatnonzero(plays)
    return Posterior.fit(graph, rewards or Bernoulli(), edges, plays[edges].astype(float), sums[edges].astype(float))


@pytest.mark.parametrize(("players", "share"), [(6, 1.0), (120, 0.4)])  # the second is not simulated
def test_a_warning_only_where_products_do_not_fit(players, share):
    graph, rng = mb.monopartite(players), np.random.default_rng(5)
    u = rng.uniform(0.3, 0.9, players)
    plays = np.where(rng.random(graph.n_pairs) < share, 200, 0)
    means = u[graph.pairs[:, 0]] * u[graph.pairs[:, 1]]
    assert product_warning(posterior_of(graph, plays, rng.binomial(plays, means)), Bernoulli()) == []
    off = posterior_of(graph, plays, rng.binomial(plays, rng.permutation(means)))
    (words,) = product_warning(off, Bernoulli())
    assert words.startswith("the results do not fit a product of strengths (p = ")
    assert words.endswith("); see product_fit.")


def test_a_warning_fades_with_the_results():
    graph = mb.bipartite(2, 2)
    plays, sums = np.full(4, 100.0), np.array([72.0, 36.0, 18.0, 40.0])
    assert product_warning(posterior_of(graph, plays, sums), Bernoulli())
    assert product_warning(posterior_of(graph, plays / 7.3, sums / 7.3), Bernoulli()) == []
    assert product_warning(posterior_of(graph, plays / 1e3, sums / 1e3), Bernoulli()) == []


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
    results = {"pairs": [(0, 0), (0, 1), (1, 0), (1, 1)], "counts": [10**12] * 4, "sums": [3, 2, 2, 4]}
    fits = [product_fit(mb.bipartite(2, 2), **results, simulate_null=simulated) for simulated in (True, False)]
    assert all(0.2 < fit.p_value <= 1 for fit in fits)


def test_clear_non_products_are_noticed():
    rng = np.random.default_rng(3)
    for graph in (mb.bipartite(4, 4), mb.monopartite(6)):
        found = []
        for _ in range(30):
            plays = np.full(graph.n_pairs, 40)
            sums = rng.binomial(plays, rng.uniform(0, 1, graph.n_pairs))
            found.append(product_fit(graph, graph.pairs, counts=plays, sums=sums, simulate_null=False).p_value)
        assert np.mean(np.array(found) < 0.001) > 0.9
    graph = mb.monopartite(6)
    one_off = [
        product_fit(graph, **draw(graph, rng, counts=(200, 200), low=0.6, bump=0.15), simulate_null=False).p_value
        for _ in range(30)
    ]
    assert max(one_off) < 0.001


@pytest.mark.parametrize(
    ("results", "words"),
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
        ({"pairs": [(0, 1)], "counts": [1]}, "results on monopartite with 3 players need pairs, counts and sums;"),
        ({}, "results on monopartite with 3 players need pairs, counts and sums;"),
    ],
)
def test_bad_results_are_refused_by_name(results, words):
    with pytest.raises(MatchbanditError) as refusal:
        product_fit(mb.monopartite(3), **results)
    assert str(refusal.value).startswith(words)


def test_the_deviance_of_very_many_pairs_has_the_law_of_chi_square_less_what_the_fit_takes_away():
    rng = np.random.default_rng(4)
    plays, p, leverages = rng.integers(1, 9, 40), rng.uniform(0.1, 0.9, 40), rng.uniform(0, 0.4, 40)
    means = p + 0.3 * rng.standard_normal(40) / np.sqrt(plays)
    statistic = (plays * (means - p) ** 2).sum() / 0.3**2
    measured = misfit_of_means(Gaussian(0.3), plays, means, p, leverages)
    assert measured == pytest.approx(chi2.sf(statistic, 40 - leverages.sum()), rel=1e-9)
    assert 0.05 < measured < 0.95


def test_rare_coins_have_the_moments_of_every_outcome():
    plays, p, leverages = np.array([7, 12, 3]), np.array([0.2, 0.05, 0.6]), np.array([0.3, 0.1, 0.6])
    means = np.array([3, 1, 2]) / plays

    def deviance(n, wins, q):
        return 2 * n * (rel_entr(wins / n, q) + rel_entr(1 - wins / n, 1 - q))

    wins = [np.arange(n + 1) for n in plays]
    chances = [binom.pmf(k, n, q) for k, n, q in zip(wins, plays, p, strict=True)]
    values = [deviance(n, k, q) for k, n, q in zip(wins, plays, p, strict=True)]
    mean = np.array([chance @ value for chance, value in zip(chances, values, strict=True)])
    variance = np.array([chance @ value**2 for chance, value in zip(chances, values, strict=True)]) - mean**2
    expected = (mean - leverages * np.minimum(mean, 1)).sum()
    scale = max(1.0, variance.sum() / mean.sum())
    statistic = sum(deviance(n, n * m, q) for n, m, q in zip(plays, means, p, strict=True))
    measured = misfit_of_means(Bernoulli(), plays, means, p, leverages)
    assert measured == pytest.approx(gamma.sf(statistic, expected / scale, scale=scale), rel=1e-9)
    assert 0.05 < measured < 0.95

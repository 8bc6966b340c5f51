import json
from math import exp, inf, isclose, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError
from matchbandit.rewards import Bernoulli, Binomial, Gaussian, parse_rewards, rewards_from

LAWS = [Bernoulli(), Binomial(1), Binomial(4), Binomial(1000), Gaussian(0.5), Gaussian(3)]
every_law = pytest.mark.parametrize("law", LAWS, ids=str)
shares = st.floats(0.001, 0.999)


def moments(law, mean, count):
    """Mean, variance and fourth central moment of the sum of count rewards, in closed form."""
    if isinstance(law, Gaussian):
        variance = count * law.sd**2
        return count * mean, variance, 3 * variance**2
    trials = getattr(law, "trials", 1)
    n, pq = trials * count, mean * (1 - mean)
    return count * mean, n * pq / trials**2, n * pq * (1 + 3 * (n - 2) * pq) / trials**4


def assert_moments(samples, law, mean, count):
    expected, variance, fourth = moments(law, mean, count)
    n = len(samples)
    deviations = samples - expected
    assert abs(deviations.mean()) <= 4 * sqrt(variance / n)
    assert abs((deviations**2).mean() - variance) <= 4 * sqrt((fourth - variance**2) / n)


@every_law
def test_single_rewards_have_the_mean_and_the_variance_of_the_law(law):
    means = np.array([0.05, 0.5, 0.9])
    rng = np.random.default_rng(1)
    drawn = law.draw(np.repeat(means, 40_000), rng).reshape(3, -1)
    for mean, samples in zip(means, drawn, strict=True):
        assert_moments(samples, law, mean, 1)


@every_law
@pytest.mark.parametrize("count", [1, 2, 37, 1000, 10**6, 10**12])
def test_sums_have_the_mean_and_the_variance_of_so_many_rewards(law, count):
    means = np.array([0.003, 0.3, 0.98])
    counts = np.full(3 * 20_000, count)
    drawn = law.sums(np.repeat(means, 20_000), counts, np.random.default_rng(2)).reshape(3, -1)
    for mean, samples in zip(means, drawn, strict=True):
        assert_moments(samples, law, mean, count)


@every_law
def test_each_sum_has_its_own_mean_and_count(law):
    means, counts = np.array([0.1, 0.9, 0.1, 0.9]), np.array([1000, 1000, 10, 10])
    rng = np.random.default_rng(3)
    drawn = np.array([law.sums(means, counts, rng) for _ in range(4000)])
    assert drawn.shape == (4000, 4)
    for k in range(4):
        assert_moments(drawn[:, k], law, means[k], counts[k])
    spread = np.corrcoef(drawn.T)[np.triu_indices(4, 1)]
    assert (np.abs(spread) < 4 / sqrt(4000)).all()


@pytest.mark.parametrize("law", [Bernoulli(), Binomial(3)], ids=str)
@pytest.mark.parametrize("mean", [0.07, 0.5])
def test_a_sum_has_the_law_of_added_single_rewards(law, mean):
    count, n = 12, 20_000
    rng = np.random.default_rng(4)
    at_once = law.sums(np.full(n, mean), np.full(n, count), rng)
    added = sum(law.draw(np.full(n, mean), rng) for _ in range(count))
    trials = getattr(law, "trials", 1)
    table = np.array(
        [np.bincount(np.rint(s * trials).astype(int), minlength=count * trials + 1) for s in (at_once, added)]
    )
    rare = table.sum(axis=0) < 20
    pooled = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    assert stats.chi2_contingency(pooled[:, pooled.sum(axis=0) > 0]).pvalue > 1e-3


@pytest.mark.parametrize("sd", [0.5, 3])
def test_a_gaussian_sum_has_the_law_of_added_single_rewards(sd):
    law, count, n = Gaussian(sd), 12, 20_000
    rng = np.random.default_rng(5)
    at_once = law.sums(np.full(n, 0.3), np.full(n, count), rng)
    added = sum(law.draw(np.full(n, 0.3), rng) for _ in range(count))
    assert stats.ks_2samp(at_once, added).pvalue > 1e-3
    assert stats.kstest(at_once, stats.norm(count * 0.3, sd * sqrt(count)).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("law", "trials"), [(Bernoulli(), 1), (Binomial(1), 1), (Binomial(4), 4)], ids=str)
def test_coin_flips_follow_the_binomial_law_on_their_whole_support(law, trials):
    n, mean = 40_000, 0.4
    drawn = law.draw(np.full(n, mean), np.random.default_rng(6))
    assert sorted(set(drawn.tolist())) == [k / trials for k in range(trials + 1)]
    observed = np.bincount(np.rint(drawn * trials).astype(int), minlength=trials + 1)
    expected = n * stats.binom.pmf(np.arange(trials + 1), trials, mean)
    assert stats.chisquare(observed, expected).pvalue > 1e-3


@pytest.mark.parametrize("law", [Bernoulli(), Binomial(7)], ids=str)
def test_a_mean_of_zero_or_one_leaves_nothing_to_chance(law):
    rng = np.random.default_rng(7)
    means, counts = np.array([0.0, 1.0]), np.array([10**12, 10**12])
    assert law.draw(means, rng).tolist() == [0.0, 1.0]
    assert law.sums(means, counts, rng).tolist() == [0.0, 10.0**12]


@every_law
def test_no_plays_sum_to_zero(law):
    assert law.sums(np.array([0.3, 1.0]), np.array([0, 0]), np.random.default_rng(8)).tolist() == [0.0, 0.0]
    nothing = law.sums(np.array([]), np.array([], dtype=np.int64), np.random.default_rng(8))
    assert nothing.shape == (0,)


@every_law
def test_rewards_are_floats(law):
    rng = np.random.default_rng(9)
    assert law.draw(np.array([0.5, 0.5]), rng).dtype == np.float64
    assert law.sums(np.array([0.5]), np.array([5]), rng).dtype == np.float64


def test_sums_of_a_million_million_rare_successes_are_poisson():
    n = 20_000
    drawn = Bernoulli().sums(np.full(n, 3e-12), np.full(n, 10**12), np.random.default_rng(10))
    observed = np.bincount(np.minimum(drawn.astype(int), 10), minlength=11)
    expected = n * np.append(stats.poisson.pmf(np.arange(10), 3), stats.poisson.sf(9, 3))
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_the_largest_sum_that_fits_is_known():
    most = 2**62 // 10**6
    rng = np.random.default_rng(11)
    total = Binomial(10**6).sums(np.array([0.5]), np.array([most]), rng)[0]
    assert abs(total - most / 2) <= 4 * sqrt(most / 4e6)
    assert Binomial(10**6).max_plays == most
    assert Bernoulli().max_plays == Gaussian(1.0).max_plays == 2**62


@pytest.mark.sampled(3)
@every_law
def test_compiled_draws_are_the_same_numbers_from_the_same_stream(law):
    means = np.random.default_rng(12).uniform(size=500)
    means[:4] = 0, 1, 0.5, 1e-9
    ours, theirs = np.random.default_rng(13), np.random.default_rng(13)
    expected = law.draw(means, ours)
    draw_one = compiled(law.draw_one)
    assert [draw_one(law.noise, mean, theirs) for mean in means] == expected.tolist()
    assert theirs.bit_generator.state == ours.bit_generator.state


@every_law
def test_drawing_one_by_one_is_drawing_all_at_once(law):
    means = np.array([0.2, 0.8, 0.5])
    rng = np.random.default_rng(14)
    one_by_one = [law.draw(means[k : k + 1], rng)[0] for k in range(3)]
    assert law.draw(means, np.random.default_rng(14)).tolist() == one_by_one


@every_law
def test_the_range_holds_every_reward(law):
    drawn = law.draw(np.repeat([0.0, 0.5, 1.0], 1000), np.random.default_rng(15))
    assert drawn.min() >= law.low
    assert drawn.max() <= law.high
    assert (law.low, law.high) == ((-1e150, 1e150) if isinstance(law, Gaussian) else (0.0, 1.0))


@pytest.mark.parametrize("law", [Bernoulli(), Binomial(4), Binomial(1000)], ids=str)
@pytest.mark.parametrize("mean", [0.01, 0.3, 0.5, 0.95])
def test_coin_flips_are_sigma_sub_gaussian_whatever_their_mean(law, mean):
    trials = getattr(law, "trials", 1)
    for s in np.linspace(-40, 40, 81):
        step = s / trials
        coin = (1 - mean) * exp(-step * mean) + mean * exp(step * (1 - mean))
        assert coin**trials <= exp(s**2 * law.sigma**2 / 2) * (1 + 1e-12)


@every_law
def test_sigma_is_the_largest_standard_deviation(law):
    assert isclose(law.sigma**2, moments(law, 0.5, 1)[1], rel_tol=1e-12)


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 30), shares, shares)
def test_kl_of_coin_flips_is_the_sum_over_the_support(trials, p, q):
    k = np.arange(trials + 1)
    of_p, of_q = stats.binom.logpmf(k, trials, p), stats.binom.logpmf(k, trials, q)
    brute = float((np.exp(of_p) * (of_p - of_q)).sum())
    assert isclose(Binomial(trials).kl(p, q), brute, rel_tol=1e-6, abs_tol=1e-9)
    assert isclose(Bernoulli().kl(p, q) * trials, brute, rel_tol=1e-6, abs_tol=1e-9)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.floats(0.2, 5), st.floats(-2, 2), st.floats(-2, 2))
def test_kl_of_gaussians_is_the_integral(sd, p, q):
    def integrand(x):
        return stats.norm.pdf(x, p, sd) * (stats.norm.logpdf(x, p, sd) - stats.norm.logpdf(x, q, sd))

    brute = integrate.quad(integrand, p - 12 * sd, p + 12 * sd)[0]
    assert isclose(Gaussian(sd).kl(p, q), brute, rel_tol=1e-6, abs_tol=1e-9)


@every_law
def test_kl_is_zero_only_between_equals(law):
    for p in (0.0, 0.3, 1.0):
        assert law.kl(p, p) == 0
    assert law.kl(0.3, 0.4) > 0
    assert law.kl(0.4, 0.3) > 0


def test_kl_of_trials_at_the_ends():
    assert Binomial(5).kl(0.3, 1.0) == inf


@pytest.mark.parametrize("trials", [0, -1, 2.5, 10**6 + 1, nan, inf, True, None, "3"])
def test_a_bad_number_of_trials_is_refused_with_its_value(trials):
    with pytest.raises(MatchbanditError) as refusal:
        Binomial(trials)
    assert f" {trials!r}." in str(refusal.value)


@pytest.mark.parametrize("sd", [0, -0.5, nan, inf, -inf, True, None, "0.5"])
def test_a_bad_standard_deviation_is_refused_with_its_value(sd):
    with pytest.raises(MatchbanditError, match=r"^sd must be ") as refusal:
        Gaussian(sd)
    got = float(sd) if isinstance(sd, int | float) and not isinstance(sd, bool) else sd
    assert repr(got) in str(refusal.value)


@every_law
def test_a_law_survives_a_trip_through_json(law):
    again = rewards_from(json.loads(json.dumps(law.describe())))
    assert again == law
    assert type(again) is type(law)


def test_parameters_from_numpy_become_plain_numbers():
    assert json.dumps(Binomial(np.int64(3)).describe()) == '{"name": "binomial", "trials": 3}'
    assert json.dumps(Gaussian(np.float32(0.5)).describe()) == '{"name": "gaussian", "sd": 0.5}'


def test_laws_differ_by_their_parameters():
    assert Binomial(2) != Binomial(3)
    assert Gaussian(0.5) != Gaussian(1)
    assert Bernoulli() == Bernoulli()


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"name": "bernouli"}, "unknown reward distribution 'bernouli'; did you mean 'bernoulli'?"),
        ({"name": "gaussian"}, "gaussian rewards take sd; got nothing."),
        ({"name": "gaussian", "sigma": 1}, "gaussian rewards take sd; got {'sigma': 1}."),
        ({"name": "bernoulli", "sd": 1}, "bernoulli rewards take nothing; got {'sd': 1}."),
        ({"name": "gaussian", "sd": "wide"}, "sd must be a number; got 'wide'."),
        ({"name": "binomial", "trials": 0}, "trials must be a whole number, between 1 and 1000000; got 0."),
    ],
)
def test_a_bad_description_of_a_law_is_refused(description, words):
    before = dict(description)
    with pytest.raises(MatchbanditError) as refusal:
        rewards_from(description)
    assert str(refusal.value).startswith(words)
    assert description == before


@every_law
def test_a_law_cannot_be_changed(law):
    with pytest.raises(AttributeError):
        law.sd = 2.0


# What can be a reward, or the sum of some


@every_law
@pytest.mark.parametrize("count", [1, 7, 10**6])
def test_what_is_drawn_is_possible(law, count):
    sums = law.sums(np.full(500, 0.3), np.full(500, count), np.random.default_rng(1))
    assert not law.impossible(sums, count).any()
    if count == 1:
        assert all(map(law.is_possible, sums.tolist()))


@given(st.integers(1, 10**6), st.data())
def test_shares_are_possible_also_when_they_are_added_up_or_written_with_six_decimals(trials, data):
    law, successes = Binomial(trials), data.draw(st.lists(st.integers(0, trials), min_size=1, max_size=50))
    rewards = [k / trials for k in successes]
    assert all(map(law.is_possible, rewards))
    assert not law.impossible(np.array([sum(rewards), sum(reversed(rewards))]), len(rewards)).any()
    if trials <= 10**5:
        rounded = [float(f"{reward:.6f}") for reward in rewards]
        assert all(map(law.is_possible, rounded))
        assert not law.impossible(np.array(rounded)).any()
        if trials <= 1000:
            assert not law.impossible(np.array([sum(rounded)]), len(rounded)).any()


@given(st.integers(1, 1000), st.floats(0, 1))
def test_what_lies_between_the_shares_is_not(trials, reward):
    off = abs(reward * trials - round(reward * trials))
    law = Binomial(trials)
    if abs(off - 1e-6 * trials) > 1e-9:
        assert law.is_possible(reward) == (off < 1e-6 * trials)
        assert law.impossible(np.array([reward])).tolist() == [not law.is_possible(reward)]


@pytest.mark.parametrize(("trials", "reward"), [(5, 0.05), (5, 0.95), (3, 0.33), (1, 0.5), (2, 0.25), (100, 0.125)])
def test_examples_of_what_lies_between(trials, reward):
    assert not Binomial(trials).is_possible(reward)
    assert Bernoulli().is_possible(reward)


@every_law
def test_none_is_no_impossible_reward_and_what_lies_outside_is_one(law):
    assert law.is_possible(nan)
    assert law.impossible(np.array([nan, inf, -inf, 1.01 * law.high, 1.01 * law.low - 0.01])).tolist() == [
        False, True, True, True, True,
    ]  # fmt: skip
    assert not any(map(law.is_possible, (inf, -inf, 1.01 * law.high)))


def test_sums_of_many_rewards_are_checked_as_far_as_floats_can_tell():
    law = Binomial(3)
    assert law.impossible(np.array([1000.5]), 2000).all()
    assert law.impossible(np.array([10**6 + 0.5]), 2 * 10**6).all()
    third = np.cumsum(np.full(10**6, 1 / 3))
    assert not law.impossible(third, np.arange(1, 10**6 + 1)).any()
    assert not law.impossible(np.array([2.0**50 / 3]), 2**50).any()


@pytest.mark.parametrize(
    ("law", "told", "words"),
    [
        (Bernoulli(), (1.5,), "bernoulli rewards lie in [0, 1]; got 1.5. Rescale the rewards, or choose another"),
        (Gaussian(1), (1, 0), "0 gaussian rewards sum to between 0 and 0; got 1."),
        (Binomial(5), (1.2,), "binomial rewards lie in [0, 1]; got 1.2. Rescale"),
        (Binomial(1), (0.5,), "binomial rewards with 1 trial are 0 or 1; got 0.5. Round the reward, or choose"),
        (Binomial(2), (0.3,), "binomial rewards with 2 trials are 0, 0.5 or 1; got 0.3. Round"),
        (Binomial(3), (0.33,), "binomial rewards with 3 trials are 0, 0.333333, …, 1; got 0.33. Round"),
        (Binomial(5), (1.1, 2), "2 binomial rewards with 5 trials sum to a multiple of 0.2; got 1.1. Round"),
        (Binomial(100), (0.1234567,), "got 0.1234567. Round the reward, or choose bernoulli rewards, which can be"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_possible_what_came_and_what_to_do(law, told, words):
    assert words in law.refusal(*told)
    assert "; got" in law.refusal(*told, pair="ann and bob")
    assert " for ann and bob. " in law.refusal(*told, pair="ann and bob")


@pytest.mark.parametrize("law", [Bernoulli(), Gaussian(0.5), Gaussian(1e-7), Gaussian(1 / 3), Binomial(4)])
def test_a_distribution_comes_back_from_what_one_types(law):
    assert parse_rewards(law.notation) == law


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bernouli", "did you mean 'bernoulli'"),
        ("bernoulli:1", "take no parameter"),
        ("gaussian", "need their sd, for example gaussian:0.5"),
        ("binomial:", "need their trials"),
        ("gaussian:wide", "sd must be a number; got 'wide'"),
        ("binomial:2.5", "trials must be a whole number"),
        (0.5, "rewards are named by a text"),
    ],
)
def test_what_names_no_distribution_is_refused(text, told):
    with pytest.raises(MatchbanditError, match=told):
        parse_rewards(text)


def test_the_typed_forms_are_short():
    assert [law.notation for law in (Bernoulli(), Gaussian(0.5), Binomial(4))] == [
        "bernoulli",
        "gaussian:0.5",
        "binomial:4",
    ]

"""The e-process of an ordered pair: its mean is at most 1 over every outcome, whatever was planned from the past."""

from decimal import Decimal, localcontext
from fractions import Fraction as Q
from itertools import product
from math import exp, fsum, inf, isfinite, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import evidence as naive

import matchbandit as mb
from matchbandit import evidence
from matchbandit.evidence import log_factor, log_mixture
from matchbandit.rewards import Noise

COIN = Noise(1, 0.0)
SLACK = 1e-12
RATIOS = [1.0, 1 + 1 / 256, exp(0.05), 1.5, 8.0]
ratios = pytest.mark.parametrize("ratio", RATIOS)
TINY = 1e-9


def mean_over(outcomes_a, outcomes_b, factor):
    """The mean of a factor over independent outcomes of both sides of a batch."""
    return fsum(float(x * y) * factor(float(a), float(b)) for a, x in outcomes_a for b, y in outcomes_b if x * y)


def factor(noise, n_a, sum_a, n_b, sum_b, theta_a, theta_b, ratio=1.0):
    batch = float(n_a), float(sum_a), float(n_b), float(sum_b)
    return exp(log_factor(noise, *batch, float(theta_a), float(theta_b), float(ratio)))


def slopes(noise, counts, bet, ratio):
    """How fast log F rises with the two sums: it is a line in both, so that sums beyond all counts show every digit."""
    n_a, n_b = map(float, counts)
    far = 2.0**60
    at_zero = log_factor(noise, n_a, 0.0, n_b, 0.0, *bet, ratio)
    slope_a = (log_factor(noise, n_a, far, n_b, 0.0, *bet, ratio) - at_zero) / far
    slope_b = (log_factor(noise, n_a, 0.0, n_b, far, *bet, ratio) - at_zero) / far
    return slope_a, slope_b


def log_mean(noise, counts, bet, ratio, mean_a, mean_b=None):
    """log E F over all outcomes of coins, in 40 digits, for any counts; b's mean is r times a's if there is none."""
    means = Decimal(mean_a), Decimal(ratio) * Decimal(mean_a) if mean_b is None else Decimal(mean_b)
    sums = [n * float(mean) for n, mean in zip(counts, means, strict=True)]
    with localcontext() as context:
        context.prec = 40
        total = Decimal(log_factor(noise, float(counts[0]), sums[0], float(counts[1]), sums[1], *bet, ratio))
        for n, mean, at, slope in zip(counts, means, sums, slopes(noise, counts, bet, ratio), strict=True):
            of_coin = Decimal(slope) / noise.trials
            coins = Decimal(n) * noise.trials
            total += coins * (1 + min(mean, Decimal(1)) * (of_coin.exp() - 1)).ln() - Decimal(slope) * Decimal(at)
        return float(total)


# A batch


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    counts=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    thetas=st.tuples(st.integers(1, 999), st.integers(1, 999)),
)
def test_at_the_ratio_1_the_factor_of_coins_is_a_ratio_of_likelihoods_with_one_mean_for_both(counts, shares, thetas):
    (n_a, n_b), (theta_a, theta_b) = counts, (t / 1000 for t in thetas)
    wins_a, wins_b = (round(n * share) for n, share in zip(counts, shares, strict=True))
    exact = naive.coin_factor(n_a, wins_a, n_b, wins_b, theta_a, theta_b)
    result = log_factor(COIN, float(n_a), float(wins_a), float(n_b), float(wins_b), theta_a, theta_b, 1.0)
    assert result == pytest.approx(log(exact.numerator) - log(exact.denominator), abs=1e-9)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    counts=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    thetas=st.tuples(st.integers(1, 999), st.integers(1, 999)),
    ratio=st.sampled_from(RATIOS),
)
def test_the_factor_of_coins_is_the_ratio_to_the_most_likely_point_of_the_null(counts, shares, thetas, ratio):
    (n_a, n_b), (theta_a, theta_b) = counts, (t / 1000 for t in thetas)
    wins_a, wins_b = (n * share for n, share in zip(counts, shares, strict=True))
    result = log_factor(COIN, float(n_a), wins_a, float(n_b), wins_b, theta_a, theta_b, ratio)
    if ratio * theta_a <= theta_b:
        assert result == 0
    else:
        exact = naive.coin_log_factor(n_a, wins_a, n_b, wins_b, theta_a, theta_b, ratio)
        assert result == pytest.approx(exact, abs=1e-9)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    counts=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    sums=st.tuples(st.floats(-50, 50), st.floats(-50, 50)),
    thetas=st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
    ratio=st.sampled_from(RATIOS),
    sd=st.floats(0.1, 3),
)
def test_the_factor_of_gaussian_rewards_is_the_formula(counts, sums, thetas, ratio, sd):
    (n_a, n_b), (sum_a, sum_b), (theta_a, theta_b) = counts, sums, thetas
    result = log_factor(Noise(0, sd), float(n_a), sum_a, float(n_b), sum_b, theta_a, theta_b, ratio)
    if ratio * theta_a <= theta_b:
        assert result == 0
    else:
        exact = naive.gaussian_log_factor(n_a, sum_a, n_b, sum_b, theta_a, theta_b, ratio, sd)
        assert result == pytest.approx(exact, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("noise", [COIN, Noise(5, 0.0), Noise(0, 0.7)], ids=str)
def test_without_a_bet_or_without_a_comparison_nothing_changes(noise):
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.4, 0.4, 1.0) == 0
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.3, 0.4, 1.0) == 0  # never bets for the null
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.25, 0.5, 2.0) == 0
    assert log_factor(noise, 0.0, 0.0, 4.0, 1.0, 0.6, 0.4, 1.5) == 0
    assert log_factor(noise, 3.0, 2.0, 0.0, 0.0, 0.6, 0.4, 1.5) == 0
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.6, 0.4, 1.0) != 0
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.4, 0.4, 1.5) != 0  # a tie is a bet against a ratio
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.3, 0.4, 1.5) != 0


@ratios
def test_bets_outside_of_0_and_1_are_taken_inside_and_stay_finite(ratio):
    for theta_a, theta_b in ((1.5, 0.4), (0.6, -0.2), (1.0, 0.0), (7.0, -7.0)):
        for sum_a, sum_b in product((0.0, 3.0), repeat=2):
            assert isfinite(log_factor(COIN, 3.0, sum_a, 3.0, sum_b, theta_a, theta_b, ratio))
    assert log_factor(COIN, 3.0, 1.0, 3.0, 1.0, 1.5, 1.2, 1.0) == 0  # both are 1 then
    assert log_factor(COIN, 3.0, 1.0, 3.0, 1.0, -0.1, -0.2, 1.0) == 0


@ratios
def test_factors_stay_finite_where_both_means_are_nearly_1(ratio):
    # There the root of a quadratic equation has no digits left.
    near = [1 - 10**-exponent for exponent in np.linspace(1, 10, 37)]
    for theta_a, theta_b, counts in product(near, near, [(1, 1), (1, 10), (1000, 2), (10**6, 10**6)]):
        assert all(map(isfinite, slopes(COIN, counts, (theta_a, theta_b), ratio)))


COUNTS = [(1, 1), (3, 1), (1, 7), (1000, 10), (10**4, 10**4), (1, 10**12), (10**12, 1)]
EDGES = [TINY, 1e-3, 0.1, 0.5, 0.8, 0.99, 1 - TINY]


def bets_against(ratio):
    """Bets of every size; and weak ones, whose ratio is nearly that of the null."""
    yield from ((x, y) for x, y in product(EDGES, repeat=2) if ratio * x > y)
    for x in EDGES[:-1]:
        yield x / ratio * (1 + 1e-6), x
        yield x, min(x * ratio * (1 - 1e-6), EDGES[-1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("trials", [1, 4])
@ratios
def test_the_mean_is_at_most_one_for_all_counts_and_bets_on_the_boundary_of_the_null(ratio, trials):
    # Inside the null it is less: the mean falls with that of b. All digits count: the excess is rounding alone.
    noise = Noise(trials, 0.0)
    for counts, bet in product(COUNTS, bets_against(ratio)):
        most_likely = naive.most_likely_null(*counts, *bet, ratio)
        means = 0.0, TINY, 0.1 / ratio, 0.7 / ratio, (1 - TINY) / ratio, 1 / ratio, min(bet[0], 1 / ratio), most_likely
        log_means = [log_mean(noise, counts, bet, ratio, mean) for mean in means]
        assert max(log_means) <= 1e-9
        assert abs(log_means[-1]) < 1e-6  # it is no trivial bound: there it is 1


@ratios
@pytest.mark.parametrize("counts", [(1, 1), (3, 1), (2, 4)])
@pytest.mark.sampled(4)
def test_over_every_outcome_of_a_batch_of_coins_the_mean_is_at_most_one(counts, ratio):
    n_a, n_b = counts
    means = []
    for bet in bets_against(ratio):
        for p_a, p_b in product([Q(0), Q(1, 1000), Q(1, 10), Q(1, 2), Q(9, 10), Q(1)], repeat=2):
            if Q(ratio) * p_a > p_b:
                continue
            mean = mean_over(
                naive.coins(n_a, p_a),
                naive.coins(n_b, p_b),
                lambda a, b, bet=bet: factor(COIN, n_a, a, n_b, b, *bet, ratio),
            )
            assert mean <= 1 + SLACK
            assert mean == pytest.approx(exp(log_mean(COIN, counts, bet, ratio, float(p_a), float(p_b))), rel=1e-9)
            means.append(mean)
    assert max(means) > 0.99  # it is no trivial bound
    assert min(means) < 0.01


@pytest.mark.parametrize("counts", [(1, 1), (2, 3), (4, 1)])
def test_in_exact_fractions_too_and_just_one_where_both_means_are_that_of_the_bet(counts):
    n_a, n_b = counts
    thetas = [Q(1, 7), Q(2, 5), Q(5, 8), Q(20, 21)]
    for theta_b, theta_a in product(thetas, repeat=2):
        if theta_a <= theta_b:
            continue
        both = (n_a * theta_a + n_b * theta_b) / (n_a + n_b)
        for p_a, p_b in product([Q(0), Q(1, 9), Q(1, 2), both, Q(8, 9), Q(1)], repeat=2):
            exact = naive.mean_coin_factor(n_a, n_b, theta_a, theta_b, p_a, p_b)
            spread = both * (1 - both)
            A, B = (p_a - both) / spread, (p_b - both) / spread
            assert exact == (1 + (theta_a - both) * A) ** n_a * (1 - (both - theta_b) * B) ** n_b
            if p_a <= p_b:
                assert exact <= 1
            if p_a == p_b:
                assert (exact == 1) == (p_a == both)


@ratios
def test_the_bet_on_the_truth_grows_by_what_a_batch_tells(ratio):
    # E log F = min over t of n_a kl(p_a, t) + n_b kl(p_b, rt) at θ = p; and no other bet has more.
    n_a, n_b, p_a, p_b = 3, 5, 0.7, 0.4
    t, kl = naive.most_likely_null(n_a, n_b, p_a, p_b, ratio), mb.Bernoulli().kl

    def growth(theta_a, theta_b):
        return log_factor(COIN, 3.0, 3 * p_a, 5.0, 5 * p_b, theta_a, theta_b, ratio)  # it is linear in the sums

    assert growth(p_a, p_b) == pytest.approx(n_a * kl(p_a, t) + n_b * kl(p_b, ratio * t))
    for nearby in (t * 0.99, t * 1.01):
        if ratio * nearby < 1:
            assert growth(p_a, p_b) <= n_a * kl(p_a, nearby) + n_b * kl(p_b, ratio * nearby)
    assert all(growth(x, y) < growth(p_a, p_b) for x, y in ((0.75, 0.4), (0.7, 0.3), (0.6, 0.45), (0.9, 0.1)))


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (3, 8), (1000, 1)])
@pytest.mark.parametrize("sd", [0.3, 1.0])
@ratios
def test_for_gaussian_rewards_the_mean_is_just_one_on_the_boundary_of_the_null(n_a, n_b, sd, ratio):
    # log F is linear in the sums: log E F = log F at the means + half the variance of log F.
    for theta_a, theta_b in ((0.6, 0.5), (0.9, 0.1), (0.2, -0.4)):

        def at(sum_a, sum_b, bet=(theta_a, theta_b)):
            return log_factor(Noise(0, sd), float(n_a), sum_a, float(n_b), sum_b, *bet, ratio)

        slope_a, slope_b = at(1.0, 0.0) - at(0.0, 0.0), at(0.0, 1.0) - at(0.0, 0.0)
        assert slope_a > 0 > slope_b
        half_variance = (n_a * slope_a**2 + n_b * slope_b**2) * sd**2 / 2
        for p_a, p_b in ((0.5, 0.5), (0.5, ratio * 0.5), (-1.0, -ratio), (0.4, ratio * 0.5), (0.1, ratio)):
            log_mean = at(n_a * p_a, n_b * p_b) + half_variance
            bet = n_a * n_b / (n_a + ratio**2 * n_b) * (ratio * theta_a - theta_b)
            assert log_mean == pytest.approx(bet * (ratio * p_a - p_b) / sd**2, rel=1e-9, abs=1e-8)


LAWS = {  # values in [0, 1] and their probabilities; the mean in fractions
    "in the middle": [(Q(0), Q(1, 4)), (Q(1, 2), Q(1, 2)), (Q(1), Q(1, 4))],
    "two points": [(Q(1, 5), Q(1, 2)), (Q(4, 5), Q(1, 2))],
    "low": [(Q(0), Q(7, 10)), (Q(1, 10), Q(1, 5)), (Q(1), Q(1, 10))],
    "two low points": [(Q(1, 1000), Q(9, 10)), (Q(1, 50), Q(1, 10))],
    "high": [(Q(1, 10), Q(1, 10)), (Q(9, 10), Q(1, 2)), (Q(1), Q(2, 5))],
    "two high points": [(Q(9, 10), Q(1, 3)), (Q(1), Q(2, 3))],
    "sure": [(Q(1, 2), Q(1))],
}


@ratios
def test_any_rewards_in_0_and_1_have_at_most_the_mean_of_coins(ratio):
    tested = 0
    for law_a, law_b, counts in product(LAWS, LAWS, ((1, 1), (2, 1), (1, 3), (2, 2))):
        p_a, p_b = (sum(x * p for x, p in LAWS[law]) for law in (law_a, law_b))
        if Q(ratio) * p_a > p_b:
            continue
        tested += 1
        outcomes_a, outcomes_b = (naive.rewards(n, LAWS[law]) for n, law in zip(counts, (law_a, law_b), strict=True))
        assert sum(p for _, p in outcomes_a) == 1
        for bet in ((0.51, 0.49), (0.6, 0.6), (0.9, 0.1), (0.999, 0.5), (0.2, 0.001)):
            mean = mean_over(
                outcomes_a,
                outcomes_b,
                lambda a, b, n=counts, bet=bet: factor(COIN, n[0], a, n[1], b, *bet, ratio),
            )
            of_coins = log_mean(COIN, counts, bet, ratio, float(p_a), float(p_b))
            assert mean <= exp(min(0.0, of_coins)) + SLACK
    assert tested > 20


@pytest.mark.parametrize("trials", [2, 5])
@ratios
def test_binomial_rewards_are_as_many_coins(trials, ratio):
    n_a, n_b, law = 2, 3, Noise(trials, 0.0)
    for bet in ((0.55, 0.5), (0.9, 0.2), (0.3, 0.01)):
        for wins_a, wins_b in product(range(n_a * trials + 1), range(n_b * trials + 1)):
            shares = log_factor(law, 2.0, wins_a / trials, 3.0, wins_b / trials, *bet, ratio)
            coins = log_factor(COIN, 2.0 * trials, float(wins_a), 3.0 * trials, float(wins_b), *bet, ratio)
            assert shares == pytest.approx(coins, abs=1e-9)


def test_counts_of_very_different_size_keep_the_bet():
    # n_a = 10^12 n_b: θ_0 is θ_a but for 10^−12, and all that is told is told by b.
    result = log_factor(COIN, 1e12, 6e11, 1.0, 0.0, 0.6, 0.4, 1.0)
    assert result == pytest.approx(log(0.6 / 0.4), abs=1e-6)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    counts=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    bet=st.tuples(st.floats(-0.1, 1.1), st.floats(-0.1, 1.1)),
    ratio=st.floats(1, 2),
    means=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_whatever_is_bet_and_whatever_is_so(counts, bet, ratio, means):
    (n_a, n_b), p_b = counts, means[1]
    p_a = means[0] * p_b / ratio * (1 - 1e-15)
    outcomes = naive.coins(n_a, p_a), naive.coins(n_b, p_b)
    assert mean_over(*outcomes, lambda a, b: factor(COIN, n_a, a, n_b, b, *bet, ratio)) <= 1 + 1e-11


# Batches


def test_the_product_over_opponents_has_a_mean_of_at_most_one():
    # a and b against c, d and e, of other strengths, with other counts and other bets on each.
    strengths, batches = (Q(1), Q(1, 2), Q(1, 10)), ((1, 2, 0.8, 0.5), (2, 1, 0.45, 0.1), (2, 2, 0.3, 0.02))
    for u_a, u_b, ratio in (
        (Q(3, 5), Q(3, 5), 1.0),
        (Q(1, 2), Q(3, 4), 1.5),
        (Q(0), Q(1), 1.5),
        (Q(1, 2), Q(3, 5), 1.0),
    ):
        total = 0.0
        outcomes = [
            [(a, b, x * y) for a, x in naive.coins(n_a, u_a * v) for b, y in naive.coins(n_b, u_b * v)]
            for v, (n_a, n_b, _, _) in zip(strengths, batches, strict=True)
        ]
        for together in product(*outcomes):
            log_e, chance = 0.0, Q(1)
            for (a, b, p), (n_a, n_b, *bet) in zip(together, batches, strict=True):
                log_e += log_factor(COIN, float(n_a), float(a), float(n_b), float(b), *bet, ratio)
                chance *= p
            total += float(chance) * exp(log_e)
        assert total <= 1 + SLACK


def second_batch(wins_a, wins_b):
    """Planned from the first, of 2 and 2 coins, as greedily as one can: what looks good is bet on, and played more."""
    if wins_a <= wins_b:
        return 1, 1, 0.6, 0.4
    lead = (wins_a - wins_b) / 4
    return 1 + wins_a, 3 - wins_b, 0.5 + lead, 0.5 - 0.9 * lead


def tree(p_a, p_b, ratio=1.0):
    """(probability, E after the first batch, E after the second) of every leaf; the first bets 0.7 and 0.4."""
    for (a, x), (b, y) in product(naive.coins(2, p_a), naive.coins(2, p_b)):
        first = factor(COIN, 2, a, 2, b, 0.7, 0.4, ratio)
        n_a, n_b, *bet = second_batch(a, b)
        for (more_a, w), (more_b, z) in product(naive.coins(n_a, p_a), naive.coins(n_b, p_b)):
            yield float(x * y * w * z), first, first * factor(COIN, n_a, more_a, n_b, more_b, *bet, ratio)


@pytest.mark.parametrize(
    ("p_a", "p_b", "ratio"),
    [
        (Q(1, 2), Q(1, 2), 1.0), (Q(11, 20), Q(11, 20), 1.0), (Q(0), Q(0), 1.0), (Q(9, 10), Q(1), 1.0),
        (Q(1, 3), Q(2, 3), 1.5), (Q(1, 2), Q(3, 4), 1.5), (Q(2, 3), Q(1), 1.5), (Q(1, 5), Q(3, 10), 1.5),
    ],
)  # fmt: skip
def test_two_batches_of_which_the_second_is_planned_from_the_first(p_a, p_b, ratio):
    leaves = list(tree(p_a, p_b, ratio))
    assert fsum(p for p, _, _ in leaves) == pytest.approx(1)
    assert fsum(p * last for p, _, last in leaves) <= 1 + SLACK
    # Stopping at the first batch, too, wherever it looks good; and Ville's inequality itself.
    assert fsum(p * (first if first > 1 else last) for p, first, last in leaves) <= 1 + SLACK
    for x in (1.5, 2, 3, 5, 10, 20):
        assert fsum(p for p, first, last in leaves if max(first, last) >= x) <= 1 / x + SLACK


def test_where_a_is_above_b_the_same_tree_gains():
    assert fsum(p * last for p, _, last in tree(Q(4, 5), Q(3, 10))) > 2
    assert fsum(p * last for p, _, last in tree(Q(1, 2), Q(1, 2), 1.5)) > 1.2  # a tie speaks against a ratio


def test_a_look_in_mid_batch_would_break_it():
    # θ_0 belongs to the counts of the whole batch. After a's eight plays, before b's: (1 + η_a A)^8 with p = 0.9 and
    # θ_0 = 0.5 is far above 1, a tie though it is. Who stops there, whenever it looks good, has no proof.
    n, p, theta_a, theta_b = 8, Q(9, 10), 0.65, 0.35
    half = fsum(
        float(chance) * (theta_a / 0.5) ** wins * ((1 - theta_a) / 0.5) ** (n - wins)
        for wins, chance in naive.coins(n, p)
    )
    assert half == pytest.approx((1 + 0.15 * (0.9 - 0.5) / 0.25) ** 8)
    assert half > 5
    # The whole batch is looked at only at its end, where all is well.
    whole = mean_over(naive.coins(n, p), naive.coins(n, p), lambda a, b: factor(COIN, n, a, n, b, theta_a, theta_b))
    assert whole <= 1
    # A part of it with counts and θ_0 of its own is a batch.
    part = mean_over(naive.coins(5, p), naive.coins(2, p), lambda a, b: factor(COIN, 5, a, 2, b, theta_a, theta_b))
    assert part <= 1


def test_counts_chosen_by_their_own_outcomes_would_break_it():
    # A log that stopped by what it saw is no batch: a is played until it succeeds, b until it fails, up to four times.
    def until(result, p, most=4):
        stops = [(k, p if result else 1 - p, (p if not result else 1 - p)) for k in range(1, most + 1)]
        found = [(k, k - 1 if not result else 1, hit * miss ** (k - 1)) for k, hit, miss in stops]
        last = stops[0][2] ** most
        return [*found, (most, most if not result else 0, last)]

    a_plays, b_plays = until(True, 0.5), until(False, 0.5)
    assert sum(p for *_, p in a_plays) == sum(p for *_, p in b_plays) == 1
    mean = fsum(x * y * factor(COIN, n_a, a, n_b, b, 0.6, 0.4) for n_a, a, x in a_plays for n_b, b, y in b_plays)
    assert mean > 1.01


# Differences of averages


@pytest.mark.parametrize("sigma", [0.5, 0.2, 2.0])
@pytest.mark.parametrize("information", [0.0, 1.0, 30.0, 4000.0])
def test_the_mixture_is_the_integral(information, sigma):
    for z in (-40.0, -19.0, -5.0, -1.0, 0.0, 0.3, 2.0, 8.0, 60.0):
        difference = z * sigma * sqrt(max(information, 1.0))
        exact = naive.log_mixture(difference, information, sigma, evidence.SPREAD)
        assert log_mixture(difference, information, sigma) == pytest.approx(exact, rel=1e-5, abs=1e-5)


def test_the_mixture_rises_with_the_difference_and_is_one_at_the_start():
    assert log_mixture(0.0, 0.0, 0.5) == pytest.approx(0, abs=1e-12)
    values = [log_mixture(d, 100.0, 0.5) for d in np.linspace(-1000, 1000, 4001)]
    assert all(np.isfinite(values))
    assert (np.diff(values) > 0).all()  # also where the tail takes over


def differences_of(plays_a, sums_a, plays_b, sums_b, ratio):
    """D and I of 0 > 1 after one batch against the items 2, 3, …."""
    n = 2 + len(plays_a)
    plays, sums = np.zeros((n, n)), np.zeros((n, n))
    plays[0, 2:], plays[1, 2:], sums[0, 2:], sums[1, 2:] = plays_a, plays_b, sums_a, sums_b
    D, information = np.zeros((2, n, n)), np.zeros((2, n, n))
    evidence.add_differences(D, information, plays, sums, np.array([9.0, ratio]), np.array([0, 2]))
    return float(D[1, 0, 1]), float(information[1, 0, 1])


def test_differences_are_weighted_by_how_much_they_vary():
    # w = 1/(r²/n_a + 1/n_b): 1/(4/2 + 1/4) = 4/9 and 1/(4/8 + 1) = 2/3; where one did not play there is nothing.
    difference, information = differences_of([2, 8, 0], [1, 6, 0], [4, 1, 3], [1, 0, 3], 2.0)
    assert information == pytest.approx(4 / 9 + 2 / 3)
    assert difference == pytest.approx(4 / 9 * (2 * 0.5 - 0.25) + 2 / 3 * (2 * 0.75))


@pytest.mark.parametrize(("plays_a", "plays_b"), [((1,), (1,)), ((12,), (12,)), ((9,), (2,)), ((2, 1), (1, 3))])
@ratios
def test_over_every_outcome_the_mean_of_the_mixture_is_at_most_one(plays_a, plays_b, ratio):
    opponents, means = (Q(1), Q(1, 3))[: len(plays_a)], []
    for share, u_b in product([Q(0), Q(1, 2), Q(1)], [Q(1, 20), Q(1, 2), Q(4, 5), Q(1)]):
        u_a = u_b / Q(ratio) * share
        outcomes = [naive.coins(n, u * v) for u, plays in ((u_a, plays_a), (u_b, plays_b))
                    for n, v in zip(plays, opponents, strict=True)]  # fmt: skip
        total = 0.0
        for together in product(*outcomes):
            wins, chances = zip(*together, strict=True)
            sums_a, sums_b = wins[: len(plays_a)], wins[len(plays_a) :]
            batch = differences_of(plays_a, sums_a, plays_b, sums_b, ratio)
            total += float(np.prod([float(p) for p in chances])) * exp(log_mixture(*batch, 0.5))
        means.append(total)
    assert max(means) <= 1 + SLACK
    assert max(means) > 0.5


@ratios
def test_for_gaussian_rewards_on_the_boundary_the_mean_of_the_mixture_is_one(ratio):
    # D is normal with mean 0 and variance I σ², whatever the means are.
    sd, n_a, n_b = 0.8, 5, 3
    at = [differences_of([n_a], [x], [n_b], [y], ratio) for x, y in ((0, 0), (1, 0), (0, 1), (n_a, n_b * ratio))]
    slope_a, slope_b, information = at[1][0] - at[0][0], at[2][0] - at[0][0], at[0][1]
    assert (n_a * slope_a**2 + n_b * slope_b**2) * sd**2 == pytest.approx(information * sd**2)
    assert at[3][0] == pytest.approx(0, abs=1e-12)
    z = np.linspace(-9, 9, 4001)
    values = np.array([log_mixture(float(x) * sd * sqrt(information), information, sd) for x in z])
    assert float((np.exp(values - z**2 / 2) / sqrt(2 * np.pi)).sum() * (z[1] - z[0])) == pytest.approx(1, rel=1e-5)


# All together


def half_of(bet, fit, level):
    """Half of the gap of each bet: the fit, no gap, and three of a grid."""
    return (fit, 0.0, 0.4 * level, 0.2 * level, 0.1 * level)[bet]


@pytest.mark.parametrize("sides", [(0, 5), (0, 3, 7)])
def test_every_bet_of_every_link_is_the_product_over_the_opponents_that_both_have_met(sides):
    rng = np.random.default_rng(len(sides))
    n, levels = sides[-1], np.array([1.5, 1.1, 1.0])
    plays = np.triu(rng.integers(0, 5, (n, n)), 1)
    if len(sides) == 3:  # rows meet columns only
        plays[: sides[1], : sides[1]] = plays[sides[1] :, sides[1] :] = 0
    sums = np.minimum(plays, rng.integers(0, 4, (n, n)))
    plays, sums = (plays + plays.T) * 1.0, (sums + sums.T) * 1.0
    strengths, links = rng.uniform(0.4, 0.5, n), rng.random((n, n)) < 0.9
    halves = (strengths[:, None] - strengths[None, :]) / 2 * rng.uniform(0.2, 1, (n, n))
    before = rng.normal(size=(3, evidence.BETS, n, n))
    log_bets = before.copy()
    evidence.bet_on_batch(log_bets, plays, sums, strengths, halves, levels, links, np.array(sides), COIN)
    compared = dict.fromkeys(product(range(3), (True, False)), 0)
    for (k, ratio), bet, a, b in product(enumerate(levels), range(evidence.BETS), range(n), range(n)):
        expected, is_above = 0.0, bool(strengths[a] >= strengths[b])
        same_side = np.searchsorted(sides, a, "right") == np.searchsorted(sides, b, "right")
        level = (strengths[a] + strengths[b]) / 2
        is_nearer_to_the_null = halves[a, b] * 2 < -(ratio - 1) / 2 * level
        is_bet = (is_above or bet <= 1) and not is_nearer_to_the_null
        if a != b and same_side and links[a, b] and is_bet:
            half = half_of(bet, halves[a, b], level)
            for c in set(range(n)) - {a, b}:
                means = (level + half) * strengths[c], (level - half) * strengths[c]
                batch = plays[a, c], sums[a, c], plays[b, c], sums[b, c]
                if batch[0] and batch[2] and ratio * means[0] > means[1]:
                    expected += naive.coin_log_factor(*batch, *means, ratio)
                    compared[k, is_above] += 1
        assert log_bets[k, bet, a, b] - before[k, bet, a, b] == pytest.approx(expected, abs=1e-9)
    assert compared.pop((2, False)) == 0  # at the ratio 1 nothing is bet against the fit
    assert min(compared.values()) >= 5


def test_the_evidence_is_the_weighted_mean_of_the_bets():
    rng = np.random.default_rng(3)
    log_bets, total = rng.normal(0, 3, (2, evidence.BETS, 4, 4)), np.zeros((2, 4, 4))
    log_bets[:, :, 0, 1] = -2000.0  # what has lost all stays a number
    D, information = rng.normal(0, 5, (2, 4, 4)), rng.uniform(1, 20, (2, 4, 4))
    evidence.log_evidence(log_bets, D, information, np.array([0, 4]), 0.5, total)
    for k, a, b in product(range(2), range(4), range(4)):
        if a == b:
            assert total[k, a, b] == -inf
            continue
        mixture = exp(naive.log_mixture(D[k, a, b], information[k, a, b], 0.5, evidence.SPREAD))
        fit, tie, *grid = (exp(x) for x in log_bets[k, :, a, b])
        expected = mixture / 32 + fit / 2 + tie / 16 + sum(grid) * 13 / 96
        assert total[k, a, b] == pytest.approx(log(expected), abs=1e-6)


@pytest.mark.parametrize("u", [(0.8, 0.8, 0.5), (0.3, 0.6, 0.9), (0.5, 0.5, 0.5), (0.0, 0.4, 1.0), (0.6, 0.75, 0.9)])
def test_the_evidence_of_every_false_link_among_three_players_has_a_mean_of_at_most_one(u):
    # Two tours of three players: pairs (0, 1), (0, 2), (1, 2), each twice. All bets of the module, at three ratios.
    pairs, sides, levels = [(0, 1), (0, 2), (1, 2)], np.array([0, 3]), np.array([1.5, 1.25, 1.0])
    fit, halves = np.full(3, 0.6), np.full((3, 3), 0.08)  # a fit that lets both ways be bet
    means, highest, plays, links = np.zeros((3, 3, 3)), np.zeros((3, 3, 3)), 2.0 * (1 - np.eye(3)), np.ones((3, 3)) > 0
    for wins in product(range(3), repeat=3):
        chance, sums = 1.0, np.zeros((3, 3))
        for (i, j), won in zip(pairs, wins, strict=True):
            chance *= float(dict(naive.coins(2, u[i] * u[j]))[won])
            sums[i, j] = sums[j, i] = won
        log_bets, D, information, total = np.zeros((3, evidence.BETS, 3, 3)), *np.zeros((3, 3, 3, 3))
        evidence.bet_on_batch(log_bets, plays, sums, fit, halves, levels, links, sides, COIN)
        evidence.add_differences(D, information, plays, sums, levels, sides)
        evidence.log_evidence(log_bets, D, information, sides, 0.5, total)
        means += chance * np.exp(total)
        highest = np.maximum(highest, np.exp(total))
    for k, a, b in product(range(3), repeat=3):
        if a != b and levels[k] * u[a] <= u[b] + 1e-15:
            assert means[k, a, b] <= 1 + SLACK
    assert (highest[:, ~np.eye(3, dtype=bool)] > 1.1).all()  # each can speak


def test_the_weights_of_the_bets_sum_to_one():
    # Before anything was played every bet stands at 1, and so does the evidence; items of other sides have none.
    nothing, total = np.zeros((2, 5, 5)), np.ones((2, 5, 5))
    evidence.log_evidence(np.zeros((2, evidence.BETS, 5, 5)), nothing, nothing, np.array([0, 2, 5]), 0.5, total)
    same_side = np.array([[(a < 2) == (b < 2) and a != b for b in range(5)] for a in range(5)])
    assert total[:, same_side] == pytest.approx(0, abs=1e-12)
    assert (total[:, ~same_side] == -inf).all()


def test_fitted_gaps_shrink_by_what_they_vary():
    strengths, covariance, halves = (
        np.array([0.7, 0.5, 0.5]),
        np.array([[3, 1, 0], [1, 2, 0], [0, 0, 0]]) / 100,
        np.ones((3, 3)),
    )
    evidence.half_gaps(strengths, covariance, halves)
    # A gap of 0.2, squared 0.04, with the variance 0.03 + 0.02 − 2 · 0.01 = 0.03: four sevenths of it.
    assert halves[0, 1] == pytest.approx(0.1 * 4 / 7)
    assert halves == pytest.approx(-halves.T)
    assert halves[1, 2] == 0

"""The e-process of an ordered pair: its mean is at most 1 over every outcome, whatever was planned from the past."""

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
EDGES = [Q(1, 10**9), Q(1, 1000), Q(1, 10), Q(3, 10), Q(1, 2), Q(4, 5), Q(99, 100), 1 - Q(1, 10**9)]
MEANS = [Q(0), Q(1, 1000), Q(1, 4), Q(1, 2), Q(9, 10), Q(999, 1000), Q(1)]
COUNTS = [(1, 1), (1, 2), (3, 1), (2, 4), (5, 5), (1, 7)]


def mean_over(outcomes_a, outcomes_b, factor):
    """The mean of a factor over independent outcomes of both sides of a batch."""
    return fsum(float(x * y) * factor(float(a), float(b)) for a, x in outcomes_a for b, y in outcomes_b if x * y)


def factor(noise, n_a, sum_a, n_b, sum_b, theta_a, theta_b):
    return exp(log_factor(noise, float(n_a), float(sum_a), float(n_b), float(sum_b), float(theta_a), float(theta_b)))


# A batch


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    counts=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    thetas=st.tuples(st.integers(1, 999), st.integers(1, 999)),
)
def test_the_factor_of_coins_is_a_ratio_of_likelihoods(counts, shares, thetas):
    (n_a, n_b), (theta_a, theta_b) = counts, (t / 1000 for t in thetas)
    wins_a, wins_b = (round(n * share) for n, share in zip(counts, shares, strict=True))
    exact = naive.coin_factor(n_a, wins_a, n_b, wins_b, theta_a, theta_b)
    found = log_factor(COIN, float(n_a), float(wins_a), float(n_b), float(wins_b), theta_a, theta_b)
    assert found == pytest.approx(log(exact.numerator) - log(exact.denominator), abs=1e-9)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    counts=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    sums=st.tuples(st.floats(-50, 50), st.floats(-50, 50)),
    thetas=st.lists(st.floats(-2, 2), min_size=2, max_size=2).filter(lambda t: t[0] != t[1]),
    sd=st.floats(0.1, 3),
)
def test_the_factor_of_gaussian_rewards_is_the_formula(counts, sums, thetas, sd):
    theta_b, theta_a = sorted(thetas)
    (n_a, n_b), (sum_a, sum_b) = counts, sums
    found = log_factor(Noise(0, sd), float(n_a), sum_a, float(n_b), sum_b, theta_a, theta_b)
    exact = naive.gaussian_log_factor(n_a, sum_a, n_b, sum_b, theta_a, theta_b, sd)
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("noise", [COIN, Noise(5, 0.0), Noise(0, 0.7)], ids=str)
def test_without_a_bet_or_without_a_comparison_nothing_changes(noise):
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.4, 0.4) == 0
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.3, 0.4) == 0  # never bets against
    assert log_factor(noise, 0.0, 0.0, 4.0, 1.0, 0.6, 0.4) == 0
    assert log_factor(noise, 3.0, 2.0, 0.0, 0.0, 0.6, 0.4) == 0
    assert log_factor(noise, 3.0, 2.0, 4.0, 1.0, 0.6, 0.4) != 0


def test_bets_outside_of_0_and_1_are_taken_inside_and_stay_finite():
    for theta_a, theta_b in ((1.5, 0.4), (0.6, -0.2), (1.0, 0.0), (7.0, -7.0)):
        for sum_a, sum_b in product((0.0, 3.0), repeat=2):
            assert isfinite(log_factor(COIN, 3.0, sum_a, 3.0, sum_b, theta_a, theta_b))
    assert log_factor(COIN, 3.0, 1.0, 3.0, 1.0, 1.5, 1.2) == 0  # both are 1 then
    assert log_factor(COIN, 3.0, 1.0, 3.0, 1.0, -0.1, -0.2) == 0


@pytest.mark.parametrize("counts", COUNTS)
def test_over_every_outcome_of_a_batch_of_coins_the_mean_is_at_most_one(counts):
    n_a, n_b = counts
    reached = []
    for theta_a, theta_b in product(EDGES, repeat=2):
        if theta_a <= theta_b:
            continue
        for p_a, p_b in product(MEANS, repeat=2):
            if p_a > p_b:
                continue
            found = mean_over(
                naive.coins(n_a, p_a),
                naive.coins(n_b, p_b),
                lambda a, b, bet=(theta_a, theta_b): factor(COIN, n_a, a, n_b, b, *bet),
            )
            assert found <= 1 + SLACK
            reached.append(found)
    assert max(reached) > 0.999  # it is no trivial bound
    assert min(reached) < 0.01


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


def test_where_a_is_above_b_the_bet_on_the_truth_grows_by_what_a_batch_tells():
    # E log F = n_a kl(p_a, θ_0) + n_b kl(p_b, θ_0) at θ = p; and no other bet has more.
    n_a, n_b, p_a, p_b = 3, 5, 0.7, 0.4
    both, kl = (n_a * p_a + n_b * p_b) / 8, mb.Bernoulli().kl

    def growth(theta_a, theta_b):
        return log_factor(COIN, 3.0, 3 * p_a, 5.0, 5 * p_b, theta_a, theta_b)  # it is linear in the sums

    assert growth(p_a, p_b) == pytest.approx(n_a * kl(p_a, both) + n_b * kl(p_b, both))
    assert all(growth(x, y) < growth(p_a, p_b) for x, y in ((0.75, 0.4), (0.7, 0.3), (0.6, 0.45), (0.9, 0.1)))


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (3, 8), (1000, 1)])
@pytest.mark.parametrize("sd", [0.3, 1.0])
def test_for_gaussian_rewards_the_mean_is_just_one_at_a_tie_and_below_where_b_is_better(n_a, n_b, sd):
    # log F is linear in the sums: log E F = log F at the means + half the variance of log F.
    for theta_a, theta_b in ((0.6, 0.5), (0.9, 0.1), (0.2, -0.4)):

        def at(sum_a, sum_b, bet=(theta_a, theta_b)):
            return log_factor(Noise(0, sd), float(n_a), sum_a, float(n_b), sum_b, *bet)

        slope_a, slope_b = at(1.0, 0.0) - at(0.0, 0.0), at(0.0, 1.0) - at(0.0, 0.0)
        assert slope_a > 0 > slope_b
        half_variance = (n_a * slope_a**2 + n_b * slope_b**2) * sd**2 / 2
        for p_a, p_b in ((0.5, 0.5), (-1.0, -1.0), (0.4, 0.5), (0.1, 0.9)):
            log_mean = at(n_a * p_a, n_b * p_b) + half_variance
            bet = n_a * n_b / (n_a + n_b) * (theta_a - theta_b)
            assert log_mean == pytest.approx(bet * (p_a - p_b) / sd**2, abs=1e-9)
            assert log_mean <= 1e-9


LAWS = {  # three values in [0, 1], their probabilities; the mean in fractions
    "in the middle": [(Q(0), Q(1, 4)), (Q(1, 2), Q(1, 2)), (Q(1), Q(1, 4))],
    "narrow": [(Q(2, 5), Q(1, 3)), (Q(1, 2), Q(1, 3)), (Q(3, 5), Q(1, 3))],
    "low": [(Q(0), Q(7, 10)), (Q(1, 10), Q(1, 5)), (Q(1), Q(1, 10))],
    "high": [(Q(1, 10), Q(1, 10)), (Q(9, 10), Q(1, 2)), (Q(1), Q(2, 5))],
    "sure": [(Q(1, 2), Q(1)), (Q(0), Q(0)), (Q(1), Q(0))],
}


@pytest.mark.parametrize("law_a", LAWS)
@pytest.mark.parametrize("law_b", LAWS)
def test_any_rewards_in_0_and_1_have_at_most_the_mean_of_coins(law_a, law_b):
    p_a, p_b = (sum(x * p for x, p in LAWS[law]) for law in (law_a, law_b))
    if p_a > p_b:
        return
    for n_a, n_b in ((1, 1), (2, 1), (1, 3), (2, 2)):
        outcomes_a, outcomes_b = naive.rewards(n_a, LAWS[law_a]), naive.rewards(n_b, LAWS[law_b])
        assert sum(p for _, p in outcomes_a) == 1
        for theta_a, theta_b in ((0.51, 0.49), (0.6, 0.3), (0.9, 0.1), (0.999, 0.5), (0.2, 0.001)):
            found = mean_over(
                outcomes_a,
                outcomes_b,
                lambda a, b, n=(n_a, n_b), bet=(theta_a, theta_b): factor(COIN, n[0], a, n[1], b, *bet),
            )
            of_coins = float(naive.mean_coin_factor(n_a, n_b, theta_a, theta_b, p_a, p_b))
            assert found <= min(1.0, of_coins) + SLACK


@pytest.mark.parametrize("trials", [2, 5])
def test_binomial_rewards_are_as_many_coins(trials):
    n_a, n_b, law = 2, 3, Noise(trials, 0.0)
    for theta_a, theta_b in ((0.55, 0.5), (0.9, 0.2), (0.3, 0.01)):
        for wins_a, wins_b in product(range(n_a * trials + 1), range(n_b * trials + 1)):
            found = log_factor(law, 2.0, wins_a / trials, 3.0, wins_b / trials, theta_a, theta_b)
            exact = naive.coin_factor(n_a * trials, wins_a, n_b * trials, wins_b, theta_a, theta_b)
            assert found == pytest.approx(log(exact), abs=1e-9)
        for p_a, p_b in ((Q(1, 2), Q(1, 2)), (Q(1, 5), Q(1, 4)), (Q(0), Q(1))):
            mean = mean_over(
                naive.coins(n_a * trials, p_a),
                naive.coins(n_b * trials, p_b),
                lambda a, b, bet=(theta_a, theta_b): factor(law, n_a, a / trials, n_b, b / trials, *bet),
            )
            assert mean <= 1 + SLACK


def test_counts_of_very_different_size_keep_the_bet():
    # n_a = 10^12 n_b: θ_0 is θ_a but for 10^−12, and all that is told is told by b.
    found = log_factor(COIN, 1e12, 6e11, 1.0, 0.0, 0.6, 0.4)
    assert found == pytest.approx(log(0.6 / 0.4), abs=1e-6)


nulls = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)
bets = st.tuples(st.floats(-0.1, 1.1), st.floats(-0.1, 1.1))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(counts=st.tuples(st.integers(1, 8), st.integers(1, 8)), bet=bets, means=nulls)
def test_whatever_is_bet_and_whatever_is_so(counts, bet, means):
    (n_a, n_b), (p_a, p_b) = counts, means
    found = mean_over(naive.coins(n_a, p_a), naive.coins(n_b, p_b), lambda a, b: factor(COIN, n_a, a, n_b, b, *bet))
    assert found <= 1 + 1e-11


# Batches


def test_the_product_over_opponents_has_a_mean_of_at_most_one():
    # a and b against c, d and e, of other strengths, with other counts and other bets on each.
    strengths, batches = (Q(1), Q(1, 2), Q(1, 10)), ((1, 2, 0.8, 0.5), (2, 1, 0.45, 0.1), (2, 2, 0.3, 0.02))
    for u_a, u_b in ((Q(3, 5), Q(3, 5)), (Q(1, 2), Q(3, 5)), (Q(0), Q(1))):
        total = 0.0
        outcomes = [
            [(a, b, x * y) for a, x in naive.coins(n_a, u_a * v) for b, y in naive.coins(n_b, u_b * v)]
            for v, (n_a, n_b, _, _) in zip(strengths, batches, strict=True)
        ]
        for together in product(*outcomes):
            told, chance = 0.0, Q(1)
            for (a, b, p), (n_a, n_b, theta_a, theta_b) in zip(together, batches, strict=True):
                told += log_factor(COIN, float(n_a), float(a), float(n_b), float(b), theta_a, theta_b)
                chance *= p
            total += float(chance) * exp(told)
        assert total <= 1 + SLACK


def second_batch(wins_a, wins_b):
    """Planned from the first, of 2 and 2 coins, as greedily as one can: what looks good is bet on, and played more."""
    if wins_a <= wins_b:
        return 1, 1, 0.6, 0.4
    lead = (wins_a - wins_b) / 4
    return 1 + wins_a, 3 - wins_b, 0.5 + lead, 0.5 - 0.9 * lead


def tree(p_a, p_b):
    """(probability, E after the first batch, E after the second) of every leaf; the first bets 0.7 and 0.4."""
    for (a, x), (b, y) in product(naive.coins(2, p_a), naive.coins(2, p_b)):
        first = factor(COIN, 2, a, 2, b, 0.7, 0.4)
        n_a, n_b, theta_a, theta_b = second_batch(a, b)
        for (more_a, w), (more_b, z) in product(naive.coins(n_a, p_a), naive.coins(n_b, p_b)):
            yield float(x * y * w * z), first, first * factor(COIN, n_a, more_a, n_b, more_b, theta_a, theta_b)


@pytest.mark.parametrize(
    ("p_a", "p_b"),
    [(Q(1, 2), Q(1, 2)), (Q(11, 20), Q(11, 20)), (Q(0), Q(0)), (Q(9, 10), Q(1)), (Q(1, 3), Q(2, 3)), (Q(1), Q(1))],
)
def test_two_batches_of_which_the_second_is_planned_from_the_first(p_a, p_b):
    leaves = list(tree(p_a, p_b))
    assert fsum(p for p, _, _ in leaves) == pytest.approx(1)
    assert fsum(p * last for p, _, last in leaves) <= 1 + SLACK
    # Stopping at the first batch, too, wherever it looks good; and Ville's inequality itself.
    assert fsum(p * (first if first > 1 else last) for p, first, last in leaves) <= 1 + SLACK
    for x in (1.5, 2, 3, 5, 10, 20):
        assert fsum(p for p, first, last in leaves if max(first, last) >= x) <= 1 / x + SLACK


def test_where_a_is_above_b_the_same_tree_gains():
    assert fsum(p * last for p, _, last in tree(Q(4, 5), Q(3, 10))) > 2


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


# Whole tours


@pytest.mark.parametrize("sigma", [0.5, 0.2, 2.0])
@pytest.mark.parametrize("n", [0.0, 1.0, 30.0, 4000.0])
def test_the_mixture_is_the_integral(n, sigma):
    for z in (-40.0, -19.0, -5.0, -1.0, 0.0, 0.3, 2.0, 8.0, 60.0):
        difference = z * sigma * sqrt(2 * max(n, 1.0))
        found = log_mixture(difference, n, sigma)
        assert found == pytest.approx(naive.log_mixture(difference, n, sigma, evidence.SPREAD), rel=1e-5, abs=1e-5)


def test_the_mixture_rises_with_the_difference_and_is_one_at_the_start():
    assert log_mixture(0.0, 0.0, 0.5) == pytest.approx(0, abs=1e-12)
    values = [log_mixture(d, 100.0, 0.5) for d in np.linspace(-1000, 1000, 4001)]
    assert all(np.isfinite(values))
    assert (np.diff(values) > 0).all()  # also where the tail takes over


@pytest.mark.parametrize(("n_a", "opponents"), [(1, (Q(1),)), (12, (Q(1),)), (3, (Q(1), Q(1, 3)))])
def test_over_every_outcome_of_tours_the_mean_of_the_mixture_is_at_most_one(n_a, opponents):
    for u_a, u_b in product([Q(0), Q(1, 20), Q(1, 2), Q(4, 5), Q(1)], repeat=2):
        if u_a > u_b:
            continue
        sums = {0: Q(1)}  # of a's rewards minus b's
        for v in opponents:
            both = [(a - b, x * y) for a, x in naive.coins(n_a, u_a * v) for b, y in naive.coins(n_a, u_b * v)]
            after = {}
            for (d, p), (more, q) in product(sums.items(), both):
                after[d + more] = after.get(d + more, 0) + p * q
            sums = after
        total = fsum(float(p) * exp(log_mixture(float(d), float(n_a * len(opponents)), 0.5)) for d, p in sums.items())
        assert total <= 1 + SLACK


def test_for_gaussian_rewards_and_a_tie_the_mean_of_the_mixture_is_one():
    sd, n = 0.8, 5.0
    z = np.linspace(-9, 9, 20_001)
    values = np.array([log_mixture(float(x) * sd * sqrt(2 * n), n, sd) for x in z])
    assert float((np.exp(values - z**2 / 2) / sqrt(2 * np.pi)).sum() * (z[1] - z[0])) == pytest.approx(1, rel=1e-5)


# All together


@pytest.mark.parametrize("sides", [(0, 5), (0, 3, 7)])
def test_every_bet_of_every_pair_is_the_product_over_the_opponents_that_both_have_met(sides):
    rng = np.random.default_rng(len(sides))
    n = sides[-1]
    plays = np.triu(rng.integers(0, 5, (n, n)), 1)
    if len(sides) == 3:  # rows meet columns only
        plays[: sides[1], : sides[1]] = plays[sides[1] :, sides[1] :] = 0
    sums = np.minimum(plays, rng.integers(0, 4, (n, n)))
    plays, sums = plays + plays.T, sums + sums.T
    strengths, halves = rng.uniform(0.3, 0.9, n), rng.uniform(-0.05, 0.1, (n, n))
    before = rng.normal(size=(evidence.BETS, n, n))
    log_bets = before.copy()
    evidence.bet_on_batch(log_bets, plays * 1.0, sums * 1.0, strengths, halves, np.array(sides), COIN)
    compared = 0
    for a, b, bet in product(range(n), range(n), range(evidence.BETS)):
        expected = 0.0
        same_side = np.searchsorted(sides, a, "right") == np.searchsorted(sides, b, "right")
        if a != b and same_side and strengths[a] >= strengths[b]:  # nothing is bet against the fit
            level = (strengths[a] + strengths[b]) / 2
            half = halves[a, b] if bet == 0 else 0.4 * level / 2 ** (bet - 1)
            for c in set(range(n)) - {a, b}:
                exact = naive.coin_factor(
                    int(plays[a, c]), int(sums[a, c]), int(plays[b, c]), int(sums[b, c]),
                    (level + half) * strengths[c], (level - half) * strengths[c],
                )  # fmt: skip
                expected += log(exact)
                compared += exact != 1
        assert log_bets[bet, a, b] - before[bet, a, b] == pytest.approx(expected, abs=1e-9)
    assert compared > 25


def test_the_evidence_is_the_weighted_mean_of_the_bets():
    rng = np.random.default_rng(3)
    log_bets, tour_sums, total = rng.normal(0, 3, (evidence.BETS, 4, 4)), rng.uniform(0, 20, 4), np.zeros((4, 4))
    log_bets[:, 0, 1] = -2000.0  # what has lost all stays a number
    evidence.log_evidence(log_bets, 7.0, tour_sums, np.full(4, 2), np.array([0, 4]), 0.5, total)
    for a, b in product(range(4), repeat=2):
        if a != b:
            tours = exp(naive.log_mixture(tour_sums[a] - tour_sums[b], 14, 0.5, evidence.SPREAD))
            grid = sum(exp(x) for x in log_bets[1:, a, b]) * 15 / 128
            assert total[a, b] == pytest.approx(log(tours / 32 + exp(log_bets[0, a, b]) / 2 + grid), abs=1e-6)


@pytest.mark.parametrize("u", [(0.8, 0.8, 0.5), (0.3, 0.6, 0.9), (0.5, 0.5, 0.5), (0.0, 0.4, 1.0)])
def test_the_evidence_of_every_false_link_among_three_players_has_a_mean_of_at_most_one(u):
    # Two tours of three players: pairs (0, 1), (0, 2), (1, 2), each twice. All bets of the module, and the tours.
    pairs, sides, opponents = [(0, 1), (0, 2), (1, 2)], np.array([0, 3]), np.array([1, 1, 1])
    fitted, halves = np.array([0.6, 0.6, 0.6]), np.full((3, 3), 0.08)  # a fit that lets both ways be bet
    means, highest = np.zeros((3, 3)), np.zeros((3, 3))
    for wins in product(range(3), repeat=3):
        chance, sums = 1.0, np.zeros((3, 3))
        for (i, j), won in zip(pairs, wins, strict=True):
            chance *= float(dict(naive.coins(2, u[i] * u[j]))[won])
            sums[i, j] = sums[j, i] = won
        log_bets, total = np.zeros((evidence.BETS, 3, 3)), np.zeros((3, 3))
        evidence.bet_on_batch(log_bets, 2.0 * (1 - np.eye(3)), sums, fitted, halves, sides, COIN)
        evidence.log_evidence(log_bets, 2.0, sums.sum(axis=1), opponents, sides, 0.5, total)
        assert (total.diagonal() == -inf).all()
        means += chance * np.exp(total)
        highest = np.maximum(highest, np.exp(total))
    for a, b in product(range(3), repeat=2):
        if a != b and u[a] <= u[b]:
            assert means[a, b] <= 1 + SLACK
    assert (highest[~np.eye(3, dtype=bool)] > 1.1).all()  # each can speak


def test_the_weights_of_the_bets_sum_to_one():
    # Before anything was played every bet stands at 1, and so does the evidence; items of other sides have none.
    total = np.ones((5, 5))
    evidence.log_evidence(
        np.zeros((evidence.BETS, 5, 5)), 0.0, np.zeros(5), np.array([3, 3, 2, 2, 2]), np.array([0, 2, 5]), 0.5, total
    )
    same_side = np.array([[(a < 2) == (b < 2) and a != b for b in range(5)] for a in range(5)])
    assert total[same_side] == pytest.approx(0, abs=1e-12)
    assert (total[~same_side] == -inf).all()

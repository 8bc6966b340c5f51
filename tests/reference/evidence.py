"""The e-process of an ordered pair of items, naively: exact fractions, every outcome of a batch, sums for integrals."""

from fractions import Fraction
from itertools import product
from math import comb, exp, log, pi, sqrt


def coin_factor(n_a, wins_a, n_b, wins_b, theta_a, theta_b):
    """F of a batch of coins as a fraction: the likelihood with the means θ_a and θ_b over that with θ_0 for both."""
    theta_a, theta_b = Fraction(theta_a), Fraction(theta_b)
    if not n_a or not n_b or theta_a <= theta_b:
        return Fraction(1)
    both = (n_a * theta_a + n_b * theta_b) / (n_a + n_b)
    return (
        likelihood(n_a, wins_a, theta_a)
        * likelihood(n_b, wins_b, theta_b)
        / (likelihood(n_a, wins_a, both) * likelihood(n_b, wins_b, both))
    )


def likelihood(n, wins, p):
    return p**wins * (1 - p) ** (n - wins)


def coins(n, p):
    """(wins, probability) of n coins."""
    p = Fraction(p)
    return [(wins, comb(n, wins) * likelihood(n, wins, p)) for wins in range(n + 1)]


def rewards(n, law):
    """(sum, probability) of n rewards with this law, a list of (value, probability), every sequence for itself."""
    found = []
    for sequence in product(law, repeat=n):
        chance = Fraction(1)
        for _, p in sequence:
            chance *= p
        found.append((sum(value for value, _ in sequence), chance))
    return found


def mean_coin_factor(n_a, n_b, theta_a, theta_b, p_a, p_b):
    """The mean of F over every outcome of a batch of coins with the means p_a and p_b: a fraction, exact."""
    return sum(
        chance_a * chance_b * coin_factor(n_a, wins_a, n_b, wins_b, theta_a, theta_b)
        for wins_a, chance_a in coins(n_a, p_a)
        for wins_b, chance_b in coins(n_b, p_b)
    )


def most_likely_null(n_a, n_b, theta_a, theta_b, ratio):
    """The t for which the means t and rt of coins are most likely, given shares θ_a and θ_b of successes: bisection."""
    low, high = theta_b / ratio, min(theta_a, 1 / ratio)
    for _ in range(80):
        t = (low + high) / 2
        slope = n_a * (theta_a - t) * (1 - ratio * t) + n_b * (theta_b - ratio * t) * (1 - t)  # its sign alone
        low, high = (t, high) if slope > 0 else (low, t)
    return t


def coin_log_factor(n_a, wins_a, n_b, wins_b, theta_a, theta_b, ratio):
    """log F of a batch of coins: the likelihood with the means θ_a and θ_b over the largest with b's r times a's."""
    t = most_likely_null(n_a, n_b, theta_a, theta_b, ratio)
    for_a = wins_a * log(theta_a / t) + (n_a - wins_a) * log((1 - theta_a) / (1 - t))
    for_b = wins_b * log(theta_b / (ratio * t)) + (n_b - wins_b) * log((1 - theta_b) / (1 - ratio * t))
    return for_a + for_b


def gaussian_log_factor(n_a, sum_a, n_b, sum_b, theta_a, theta_b, ratio, sd):
    """log F of a batch of Gaussian rewards, as it is defined."""
    t = (n_a * theta_a + ratio * n_b * theta_b) / (n_a + ratio**2 * n_b)
    for_a = sum_a * (theta_a - t) - n_a * (theta_a**2 - t**2) / 2
    for_b = sum_b * (theta_b - ratio * t) - n_b * (theta_b**2 - (ratio * t) ** 2) / 2
    return (for_a + for_b) / sd**2


def log_mixture(difference, information, sigma, spread, steps=5000):
    """log ∫_0^∞ 2 φ(η; spread) exp((η D − η² I/2)/σ²) dη by Simpson's rule, around the peak of the integrand."""

    def exponent(eta):
        return (eta * difference - eta * eta * information / 2) / sigma**2 - eta * eta / (2 * spread**2)

    curvature = information / sigma**2 + 1 / spread**2
    peak, width = max(0.0, difference / sigma**2 / curvature), 1 / sqrt(curvature)
    if difference < 0:  # falls like exp(η D/σ²) from 0 on
        width = min(width, sigma**2 / -difference)
    low, high = max(0.0, peak - 12 * width), peak + 40 * width
    step = (high - low) / steps
    weights = [1 if k in (0, steps) else 4 if k % 2 else 2 for k in range(steps + 1)]
    total = sum(w * exp(exponent(low + k * step) - exponent(peak)) for k, w in enumerate(weights)) * step / 3
    return log(2 / (spread * sqrt(2 * pi)) * total) + exponent(peak)

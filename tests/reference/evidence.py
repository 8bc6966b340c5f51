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


def gaussian_log_factor(n_a, sum_a, n_b, sum_b, theta_a, theta_b, sd):
    """log F of a batch of Gaussian rewards, as it is defined."""
    both = (n_a * theta_a + n_b * theta_b) / (n_a + n_b)
    for_a = sum_a * (theta_a - both) - n_a * (theta_a**2 - both**2) / 2
    for_b = sum_b * (theta_b - both) - n_b * (theta_b**2 - both**2) / 2
    return (for_a + for_b) / sd**2


def log_mixture(difference, n, sigma, spread, steps=20_000):
    """log ∫_0^∞ 2 φ(η; spread) exp((η D − η² n)/σ²) dη by Simpson's rule, around the peak of the integrand."""

    def exponent(eta):
        return (eta * difference - eta * eta * n) / sigma**2 - eta * eta / (2 * spread**2)

    curvature = 2 * n / sigma**2 + 1 / spread**2
    peak, width = max(0.0, difference / sigma**2 / curvature), 1 / sqrt(curvature)
    if difference < 0:  # falls like exp(η D/σ²) from 0 on
        width = min(width, sigma**2 / -difference)
    low, high = max(0.0, peak - 12 * width), peak + 40 * width
    step = (high - low) / steps
    weights = [1 if k in (0, steps) else 4 if k % 2 else 2 for k in range(steps + 1)]
    total = sum(w * exp(exponent(low + k * step) - exponent(peak)) for k, w in enumerate(weights)) * step / 3
    return log(2 / (spread * sqrt(2 * pi)) * total) + exponent(peak)

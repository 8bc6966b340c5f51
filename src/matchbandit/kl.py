"""Kullback–Leibler divergences of Bernoulli rewards, and the confidence bounds on a mean that they give."""

from math import expm1, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled


def _split(p: float, q: float, rest: float) -> float:
    """p log(p/q) + (1 − p) log((1 − p)/rest): kl(p, q) where rest = 1 − q is known without loss near q = 1."""
    if (p > 0 and q <= 0) or (p < 1 and rest <= 0):
        return inf
    return (p * log(p / q) if p > 0 else 0.0) + ((1 - p) * log((1 - p) / rest) if p < 1 else 0.0)


bernoulli_kl_split = compiled(_split)


def bernoulli_kl(p: float, q: float) -> float:
    """kl(p, q) = p log(p/q) + (1 − p) log((1 − p)/(1 − q)), with its limits at 0 and 1; not compiled, for a few calls.

    >>> bernoulli_kl(0.0, 0.5) == log(2), bernoulli_kl(0.3, 0.3), bernoulli_kl(0.5, 0.0)
    (True, 0.0, inf)
    """
    return _split(p, q, 1 - q)


def bernoulli_kl_at_logs(p: NDArray[np.float64], log_q: NDArray[np.float64]) -> NDArray[np.float64]:
    """kl(p, q) for arrays, q by its logarithm below 0: nothing is lost near q = 0, and slopes in log q are simple.

    >>> bernoulli_kl_at_logs(np.array([0.0, 0.5, 1.0]), np.log([0.5, 0.5, 0.5])).round(6).tolist()
    [0.693147, 0.0, 0.693147]
    """
    return np.asarray(-bernoulli_entropy(p) - p * log_q - (1 - p) * np.log1p(-np.exp(log_q)))


def bernoulli_entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """−p log p − (1 − p) log(1 − p), for arrays."""
    return np.asarray(-_x_log_x(p) - _x_log_x(1 - p))


def _x_log_x(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(x * np.log(np.where(x > 0, x, 1.0)))


@compiled
def kl_upper(mean: float, budget: float) -> float:
    """The largest q with kl(mean, q) ≤ budget, for Bernoulli rewards.

    Newton's method in s = −log(1 − q), in which kl is convex and nothing is lost near 1, from a start beyond the
    answer: the one where −log q is left out of kl, or Pinsker's if that is nearer.
    """
    if mean >= 1.0:
        return 1.0
    if mean <= 0.0:
        return -expm1(-budget)
    fixed = mean * log(mean) + (1 - mean) * log(1 - mean) - budget  # kl = fixed + budget − mean log q + (1 − mean) s
    s = -fixed / (1 - mean)
    pinsker = mean + sqrt(budget / 2)
    if pinsker < 1.0:
        s = min(s, -log(1 - pinsker))
    q = -expm1(-s)
    for _ in range(100):
        excess = fixed - mean * log(q) + (1 - mean) * s
        if q <= mean:
            break
        step = excess * q / (q - mean)
        s -= step
        q = -expm1(-s)
        if abs(step) <= 1e-13 * s:
            break
    return max(q, mean)


@compiled
def kl_lower(mean: float, budget: float) -> float:
    """The smallest q with kl(mean, q) ≤ budget, for Bernoulli rewards."""
    return 1.0 - kl_upper(1.0 - mean, budget)

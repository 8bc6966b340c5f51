"""Naive test oracles for policies that weigh whole matchings: every matching, one at a time, from the formulas."""

from itertools import permutations
from math import e, exp, log, sqrt

import numpy as np
from scipy.optimize import brentq


def matchings(graph):
    """The edges of every largest matching; the first item's partners in rising order, then the next item's."""
    if graph.kind == "bipartite":
        rows, columns = graph.shape
        if rows <= columns:
            lists = [list(enumerate(chosen)) for chosen in permutations(range(columns), rows)]
        else:
            lists = [[(i, j) for j, i in enumerate(chosen)] for chosen in permutations(range(rows), columns)]
    else:
        lists = pairings(list(range(graph.shape[0])))
    return [graph.edges(pairs).tolist() for pairs in lists]


def pairings(players):
    if not players:
        return [[]]
    first, others = players[0], players[1:]
    return [[(first, j), *rest] for j in others for rest in pairings([k for k in others if k != j])]


def log_log(t):
    return max(0.0, log(log(t))) if t > 1 else 0.0


def f_of(t, m, exploration="log"):
    return log(t) + (4 * m * log_log(t) if exploration == "full" else 0.0)


def escb2(n, means, f, sigma=0.5):
    return sum(means) + 2 * sigma * sqrt(f / 2 * sum(1 / k for k in n))


def ols_ucb(n, means, t, sigma, lam):
    m = len(n)
    f = log(t) + (m + 2) * log_log(t) + m / 2 * log(1 + e / lam)
    return sum(means) + sqrt(2 * f * sigma**2 * (1 + lam) * sum(1 / k for k in n))


def kl(p, q):
    return (p * log(p / q) if p > 0 else 0.0) + ((1 - p) * log((1 - p) / (1 - q)) if p < 1 else 0.0)


def stretched(n, mean, lam):
    """The q with 1 = λ n (q − μ) / (q (1 − q)), and 1 − q."""
    a = lam * n
    root = sqrt((1 - a) ** 2 + 4 * a * mean)
    q = (1 - a + root) / 2 if a <= 1 else 2 * a * mean / (a - 1 + root)
    return q, 2 * a * (1 - mean) / (1 + a + root)


def escb1(n, means, f):
    """max{Σ q : Σ n kl(μ, q) ≤ f}, by a root search for the multiplier."""

    def excess(x):
        spent = 0.0
        for k, mean in zip(n, means, strict=True):
            if mean < 1:
                q, rest = stretched(k, mean, exp(x))
                if q > mean:
                    spent += k * ((1 - mean) * log((1 - mean) / rest) + (mean * log(mean / q) if mean else 0.0))
        return spent - f

    if all(mean == 1 for mean in means):
        return float(len(n))
    x = brentq(excess, -200.0, 50.0, xtol=1e-13, rtol=1e-14)
    return sum(1.0 if mean == 1 else stretched(k, mean, exp(x))[0] for k, mean in zip(n, means, strict=True))


def first_best(values, tie=1e-9):
    return next(k for k, value in enumerate(values) if value >= max(values) - tie)


def follow(policy, truth, rounds, seed, value):
    """Play so many rounds; check the opening, and then that each matching is the first of those with the best value.

    `value(n, means, t)` is the index of a matching whose pairs have been played n times with these means.
    """
    graph, rng = policy.graph, np.random.default_rng(seed)
    listed = matchings(graph)
    plays, sums = np.zeros(graph.n_pairs, dtype=int), np.zeros(graph.n_pairs)
    opening = graph.n_pairs // graph.matching_size
    for t in range(1, rounds + 1):
        pairs = policy.ask()
        edges = graph.edges(pairs)
        if t <= opening:
            assert (plays[edges] == 0).all()
        else:
            values = [value(plays[m].tolist(), (sums[m] / plays[m]).tolist(), t) for m in listed]
            assert sorted(edges.tolist()) == sorted(listed[first_best(values)]), f"round {t}"
        rewards = policy.setting.rewards.draw(truth[edges], rng)
        plays[edges] += 1
        sums[edges] += rewards
        policy.tell(pairs, rewards)
    assert policy.arrays.plays.tolist() == plays.tolist()

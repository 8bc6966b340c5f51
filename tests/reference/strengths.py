"""The formulas of the model of strengths, written down a second time, with NumPy."""

from functools import lru_cache

import numpy as np

from matchbandit.strengths import DISCOUNT_PLAYERS, DISCOUNT_SIDES, PRIOR


def n_rows_of(graph):
    return graph.shape[0] if graph.kind == "bipartite" else 0


def sides_of(graph):
    """The items of each side."""
    if graph.kind == "monopartite":
        return [slice(0, graph.shape[0])]
    return [slice(0, graph.shape[0]), slice(graph.shape[0], sum(graph.shape))]


def size_of(graph):
    return sides_of(graph)[-1].stop


@lru_cache
def ends_of(graph):
    """The two items of each pair, rows first."""
    return graph.pairs + np.array([0, n_rows_of(graph)])


@lru_cache
def prior_precision(graph, prior=PRIOR):
    P = np.zeros((size_of(graph), size_of(graph)))
    for side in sides_of(graph):
        n = side.stop - side.start
        P[side, side] = np.linalg.inv(prior.spread**2 * np.eye(n) + prior.level_sd**2 * np.ones((n, n)))
    return P


def log_posterior(logs, graph, rewards, plays, sums, prior=PRIOR):
    """Up to a constant, for arrays (…, items); analytic, so that log strengths may be complex."""
    s, off, noise = logs[..., ends_of(graph)].sum(axis=-1), logs - prior.level, rewards.noise
    if noise.trials:
        likelihood = noise.trials * (sums * s + (plays - sums) * np.log(-np.expm1(s))).sum(axis=-1)
    else:
        likelihood = (sums * np.exp(s) - plays * np.exp(2 * s) / 2).sum(axis=-1) / noise.sd**2
    barrier = prior.barrier * np.log(-np.expm1(logs)).sum(axis=-1)
    for side in sides_of(graph):
        part = logs[..., side]
        barrier = barrier - prior.barrier * (part.shape[-1] - 1) * np.log(-np.expm1(part.mean(axis=-1)))
    return likelihood - (off @ prior_precision(graph, prior) * off).sum(axis=-1) / 2 + barrier


def slope(logs, *data):
    """The gradient of the log posterior, by steps into the complex plane, which cancel nothing."""
    return log_posterior(logs + 1e-20j * np.eye(len(logs)), *data).imag / 1e-20


def curvature(logs, *data):
    """Minus the second derivatives of the log posterior."""
    steps = 1e-6 * np.eye(len(logs))
    return -np.array([(slope(logs + step, *data) - slope(logs - step, *data)) / 2e-6 for step in steps])


def weights(logs, graph, rewards, plays):
    """w_ij, the expected information on s_i + s_j."""
    p, noise = np.exp(logs[ends_of(graph)].sum(axis=1)), rewards.noise
    return noise.trials * plays * p / (1 - p) if noise.trials else plays * p**2 / noise.sd**2


def drawn_weights(logs, graph, rewards, plays):
    """w²/(w + k), k = the discount over the largest number of opponents."""
    w = weights(logs, graph, rewards, plays)
    k = DISCOUNT_SIDES / max(graph.shape) if n_rows_of(graph) else DISCOUNT_PLAYERS / (graph.shape[0] - 1)
    return w**2 / (w + k)


def with_weights(w, logs, graph, prior=PRIOR):
    """P + B + Σ w (e_i + e_j)(e_i + e_j)ᵀ."""
    ends = ends_of(graph)
    met = np.zeros((len(ends), len(logs)))
    met[np.arange(len(ends))[:, None], ends] = 1
    return prior_precision(graph, prior) + barrier_information(logs, graph, prior) + (met.T * w) @ met


def barrier_information(logs, graph, prior=PRIOR):
    """diag(b) − r 1 1ᵀ of each side, b = β u/(1 − u)², r = (1 − 1/k)/Σ(1/b)."""
    u, B = np.exp(logs), np.zeros((len(logs), len(logs)))
    b = prior.barrier * u / (1 - u) ** 2
    for side in sides_of(graph):
        k = side.stop - side.start
        B[side, side] = np.diag(b[side]) - (1 - 1 / k) / (1 / b[side]).sum()
    return B


def expected_information(logs, graph, rewards, plays):
    """H, for fits and intervals."""
    return with_weights(weights(logs, graph, rewards, plays), logs, graph)


def drawn_information(logs, graph, rewards, plays):
    """H of draws."""
    return with_weights(drawn_weights(logs, graph, rewards, plays), logs, graph)


def common_part(logs, graph, prior=PRIOR):
    """c/τ² + r of each item's side: what H has less between any two items of the side."""
    b, common = prior.barrier * np.exp(logs) / (1 - np.exp(logs)) ** 2, np.zeros(len(logs))
    for side in sides_of(graph):
        k = side.stop - side.start
        common[side] = prior.level_sd**2 / (prior.spread**2 + k * prior.level_sd**2) / prior.spread**2
        common[side] += (1 - 1 / k) / (1 / b[side]).sum()
    return common


def barrier_curvature(logs, graph, prior=PRIOR):
    """Minus the second derivatives of the logarithm of the barrier."""
    B = np.diag(prior.barrier * np.exp(logs) / (1 - np.exp(logs)) ** 2)
    for side in sides_of(graph):
        k, u = side.stop - side.start, np.exp(logs[side].mean())
        B[side, side] -= (k - 1) / k**2 * prior.barrier * u / (1 - u) ** 2
    return B


def without_scale(graph, H, logs):
    """Takes the common scale of rows over columns out, in which items count by their information without the level."""
    n, n_rows = len(H), n_rows_of(graph)
    if not n_rows:
        return np.eye(n)
    direction = np.where(np.arange(n) < n_rows, 1.0, -1.0)
    information = H.diagonal() + common_part(logs, graph)
    return np.eye(n) - np.outer(direction, direction * information / information.sum())

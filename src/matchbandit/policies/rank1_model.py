"""The rank-1 model: the strengths of all items, fitted at once to what their pairs have paid.

Compiled when they are first called: plain loops, as array expressions, slices and LAPACK take seconds to compile.
"""

from functools import lru_cache
from math import exp, sqrt
from typing import NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.policies.base import Setting
from matchbandit.rewards import Counts, Floats, Noise

PRIOR_MEAN, PRIOR_PRECISION = 0.6, 4.0
PASSES, TOLERANCE = 20, 1e-5
"""Passes over the items in one fit, at most, and the largest move after which there is no other."""
HALVINGS = 6
FITS, SETTLED = 200, 1e-10
"""Fits from scratch, at most, and the largest move after which there is no other."""
JITTER = 1e-12
"""The share of F's diagonal that is added before it is factorised: next to 10^16 plays the prior is rounded off."""
FARTHEST = 40.0
"""A Gaussian reward more standard deviations away from [0, 1] counts as one at this distance: it is a slip, which must
not outweigh all others."""
FORGOTTEN = 1e-100
"""A pair whose plays have faded to less was never played: numbers too small for all their digits are slow."""
SUSPICIOUS = 0.001
"""The p-value below which the results are said not to fit a product."""


class Model(NamedTuple):
    """Items are numbered through, rows before columns; tables are symmetric, items × items."""

    plays: Floats
    sums: Floats
    strengths: Floats
    """û, and v̂ behind it: where a fit starts, and where it ends."""
    noise: Noise
    """That of the reward distribution."""


@compiled
def information(noise: Noise, n: float, p: float) -> float:
    """What one reward of a pair tells about its mean p after n plays: 1/variance.

    With p̃ = (C p + 1)/(C + 2), C = n trials, in place of p: early failures must not pass for certainty.
    """
    if noise.trials == 0:
        return 1.0 / (noise.sd * noise.sd)
    C = n * noise.trials
    careful, other = (C * p + 1.0) / (C + 2.0), (C * (1.0 - p) + 1.0) / (C + 2.0)  # p̃ and 1 − p̃, which is never 0
    return noise.trials / (careful * other)


@compiled
def equations(model: Model, F: Floats, g: Floats) -> None:
    """Newton's equations at the strengths u: F δ = g.

    F_ii = Σ_j w_ij n_ij u_j², F_ij = w_ij n_ij u_i u_j, and the prior on the diagonal.
    g_i = Σ_j w_ij u_j (X_ij − n_ij u_i u_j) + 4 (0.6 − u_i); 0 for an item at 0 or 1 that is pulled outwards.
    """
    plays, sums, u, noise = model
    for i in range(len(u)):
        own, pull = PRIOR_PRECISION, PRIOR_PRECISION * (PRIOR_MEAN - u[i])
        for j in range(len(u)):
            n, p, w = plays[i, j], u[i] * u[j], 0.0
            if n > 0.0:
                w = information(noise, n, p)
                pull += w * u[j] * (sums[i, j] - n * p)
            own += w * n * (u[j] * u[j])
            F[i, j] = w * n * u[i] * u[j]
        F[i, i] = own
        g[i] = 0.0 if (u[i] == 0.0 and pull < 0.0) or (u[i] == 1.0 and pull > 0.0) else pull


@compiled
def factor(F: Floats) -> None:
    """L with L Lᵀ = F, lower triangular, in the place of F (Cholesky).

    A column at a time is taken off what lies to the right of it, along the rows, as they lie in memory.
    """
    column = np.empty(len(F))
    for k in range(len(F)):
        F[k, k] *= 1.0 + JITTER
    for k in range(len(F)):
        pivot = sqrt(F[k, k])
        F[k, k] = pivot
        for i in range(k + 1, len(F)):
            scale = F[i, k] / pivot
            column[i] = scale
            F[i, k] = scale
            F[k, i] = 0.0
            for j in range(k + 1, i + 1):
                F[i, j] -= scale * column[j]


@compiled
def backward(L: Floats, x: Floats) -> None:
    """L⁻ᵀ x in the place of x; along the rows of L, as they lie in memory."""
    for i in range(len(x) - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@compiled
def fit(model: Model, F: Floats) -> float:  # noqa: PLR0912  # one function compiles quicker than four
    """Move the strengths towards the most probable ones; how far the last steps went. F is then their information.

    First Newton steps on each item in turn, each kept in [0, 1], until they are small. Then one step δ = F⁻¹ g on all
    items together, u_i exp(δ_i/u_i). For two items that always meet each other creep along the curve of their known
    product when they move in turn, and never arrive where the other pairs want them. Newton's step in log u follows
    that curve; one in u would leave it. Items held at 0 or 1 stay; a step that does not lessen gᵀ F⁻¹ g is halved.
    """
    plays, sums, u, noise = model
    n_items = len(u)
    moved = 0.0
    for _ in range(PASSES):
        moved = 0.0
        for i in range(n_items):
            weighted, weight = PRIOR_PRECISION * PRIOR_MEAN, PRIOR_PRECISION
            for j in range(n_items):
                n = plays[i, j]
                if n > 0.0:
                    w = information(noise, n, u[i] * u[j])
                    weighted += w * u[j] * sums[i, j]
                    weight += w * n * (u[j] * u[j])
            fitted = min(max(weighted / weight, 0.0), 1.0)
            moved = max(moved, abs(fitted - u[i]))
            u[i] = fitted
        if moved < TOLERANCE:
            break

    start, free, shift, g = np.empty(n_items), np.empty(n_items), np.empty(n_items), np.empty(n_items)
    L = np.empty((n_items, n_items))
    size, least = 1.0, 0.0
    for attempt in range(HALVINGS + 2):
        equations(model, F, g)
        if attempt == 0:
            for i in range(n_items):
                start[i] = u[i]
                free[i] = 0.0 if g[i] == 0.0 else 1.0
            for i in range(n_items):
                for j in range(n_items):
                    L[i, j] = F[i, j] * free[i] * free[j]
                L[i, i] += 1.0 - free[i]
            factor(L)
        left, together = 0.0, 0.0
        for i in range(n_items):  # L⁻¹ g
            rest = g[i] * free[i]
            for j in range(i):
                rest -= L[i, j] * g[j]
            g[i] = rest / L[i, i]
            left += g[i] * g[i]
            together = max(together, abs(u[i] - start[i]))
        if attempt == 0:
            least = left
            for i in range(n_items):
                shift[i] = g[i]
            backward(L, shift)
        elif left < least:
            return max(moved, together)
        else:
            size = size / 2.0 if attempt < HALVINGS else 0.0  # in the end, back to the start
        for i in range(n_items):
            step = shift[i] * size
            u[i] = min(start[i] * exp(min(step / start[i], 1.0)) if start[i] > 0.0 else max(step, 0.0), 1.0)
    return moved


@compiled
def settle(model: Model, F: Floats) -> None:
    """Fit until nothing moves."""
    for _ in range(FITS):
        if fit(model, F) < SETTLED:
            break


@compiled
def fade(model: Model, scale: float) -> None:
    """Divide plays and sums by the scale."""
    plays, sums, _, _ = model
    for i in range(len(plays)):
        for j in range(len(plays)):
            plays[i, j] /= scale
            sums[i, j] /= scale
            if plays[i, j] < FORGOTTEN:
                plays[i, j] = 0.0
                sums[i, j] = 0.0


def credible(noise: Noise, counts: Counts, sums: Floats) -> Floats:
    """The sums of so many rewards each, none farther off than its deviation sd √n allows."""
    if noise.sd == 0.0:
        return sums
    reach = FARTHEST * noise.sd * np.sqrt(counts)
    return np.clip(sums, -reach, counts + reach)


def product_warnings(setting: Setting, plays: Floats, sums: Floats) -> list[str]:
    """What `explain` warns of when plays and sums, by edge, do not fit a product of strengths.

    Plays that have faded to a fraction are rounded, with the same average. That is careful: averages of fading rewards
    are less noisy than those of so many plays.
    """
    counts = np.rint(plays)
    if not np.array_equal(counts, plays):
        sums = counts * np.divide(sums, plays, out=np.zeros_like(sums), where=plays > 0)
    p = _p_value(setting, tuple(counts.tolist()), tuple(sums.tolist())) if counts.any() else 1.0
    return [f"the results do not fit a product of strengths (p = {p:.2g}); see product_fit."] if p < SUSPICIOUS else []


@lru_cache(maxsize=8)
def _p_value(setting: Setting, plays: tuple[float, ...], sums: tuple[float, ...]) -> float:
    """That of `product_fit`; 1 where there are too few pairs to tell."""
    from matchbandit.product_model import product_fit  # noqa: PLC0415  # it needs scipy, which playing does not

    found = product_fit(
        setting.graph,
        setting.graph.pairs,
        counts=np.array(plays, dtype=np.int64),
        sums=sums,
        rewards=setting.rewards,
        simulate_null=False,  # quick, and it can be small
    )
    return float(found.p_value) if found.degrees_of_freedom > 0 else 1.0


def covariance(F: Floats, strengths: Floats, n_rows: int) -> Floats:
    """F⁻¹, between rows and columns (n_rows > 0) without their common scale; F is changed."""
    factor(F)
    roots = np.linalg.inv(F)
    scale = np.concatenate([strengths[:n_rows], -strengths[n_rows:]])
    if n_rows and scale.any():
        roots -= np.outer(roots @ scale, scale / (scale @ scale))
    return np.asarray(roots.T @ roots)


def fitted(
    plays: Floats, sums: Floats, noise: Noise, n_rows: int = 0, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """The most probable strengths and their covariance, the full inverse of the information.

    `plays` and `sums` are symmetric tables, items × items, rows before columns; `noise` is that of the reward
    distribution; `n_rows` is 0 for players; `start` is where the fit begins, for example where the last one ended.
    Between rows and columns the direction (û, −v̂) is taken out of the covariance: their common scale is known from the
    prior only.

    >>> plays, sums = np.array([[0., 400.], [400., 0.]]), np.array([[0., 144.], [144., 0.]])
    >>> strengths, covariance = fitted(plays, sums, Noise(trials=1, sd=0.0))
    >>> strengths.round(3).tolist(), np.sqrt(covariance.diagonal()).round(2).tolist()
    ([0.6, 0.6], [0.35, 0.35])
    """
    begin = np.full(len(plays), PRIOR_MEAN) if start is None else np.array(start, dtype=np.float64)
    model, F = Model(plays, sums, begin, noise), np.empty(plays.shape)
    settle(model, F)
    return model.strengths, covariance(F, model.strengths, n_rows)

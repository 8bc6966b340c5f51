"""The rank-1 model: the strengths of all items, fitted at once to what their pairs have paid."""

from math import exp
from typing import NamedTuple

import numpy as np

from matchbandit.compiled import compiled
from matchbandit.rewards import Floats

PRIOR_MEAN, PRIOR_PRECISION = 0.6, 4.0
PASSES, TOLERANCE = 20, 1e-5
"""Passes over the items in one fit, at most, and the largest move after which there is no other."""
HALVINGS = 6
FITS, SETTLED = 200, 1e-10
"""Fits from scratch, at most, and the largest move after which there is no other."""
JITTER = 1e-12
"""The share of F's diagonal that is added before it is factorised: next to 10^16 plays the prior is rounded off."""


class Model(NamedTuple):
    """Items are numbered through, rows before columns; tables are symmetric, items × items."""

    plays: Floats
    sums: Floats
    strengths: Floats
    """û, and v̂ behind it: where a fit starts, and where it ends."""
    law: Floats
    """Coins and noise of the rewards' law."""


@compiled
def information(law: Floats, n: float, p: float) -> float:
    """What one reward of a pair tells about its mean p after n plays: 1/variance.

    With p̃ = (C p + 1)/(C + 2), C = n coins, in place of p: early failures must not pass for certainty.
    """
    coins, noise = law[0], law[1]
    if coins == 0.0:
        return float(1.0 / noise**2)
    C = n * coins
    careful, other = (C * p + 1.0) / (C + 2.0), (C * (1.0 - p) + 1.0) / (C + 2.0)  # p̃ and 1 − p̃, which is never 0
    return float(coins / (careful * other))


@compiled
def fisher(model: Model) -> Floats:
    """F_ii = Σ_j w_ij n_ij u_j², F_ij = w_ij n_ij u_i u_j, and the prior on the diagonal."""
    plays, u = model.plays, model.strengths
    F = np.zeros(plays.shape)
    for i in range(len(u)):
        F[i, i] += PRIOR_PRECISION
        for j in range(len(u)):
            if plays[i, j] > 0:
                gained = information(model.law, plays[i, j], u[i] * u[j]) * plays[i, j]
                F[i, i] += gained * u[j] ** 2
                F[i, j] += gained * u[i] * u[j]
    return F


@compiled
def pull(model: Model) -> Floats:
    """g_i = Σ_j w_ij u_j (X_ij − n_ij u_i u_j) + 4 (0.6 − u_i); 0 for an item at 0 or 1 that is pulled outwards."""
    plays, sums, u = model.plays, model.sums, model.strengths
    g = np.empty(len(u))
    for i in range(len(u)):
        g[i] = PRIOR_PRECISION * (PRIOR_MEAN - u[i])
        for j in range(len(u)):
            n = plays[i, j]
            if n > 0:
                g[i] += information(model.law, n, u[i] * u[j]) * u[j] * (sums[i, j] - n * u[i] * u[j])
        if (u[i] == 0.0 and g[i] < 0) or (u[i] == 1.0 and g[i] > 0):
            g[i] = 0.0
    return g


@compiled
def factor(F: Floats) -> Floats:
    """L with L Lᵀ = F, lower triangular; F is changed."""
    for i in range(len(F)):
        F[i, i] *= 1.0 + JITTER
    return np.asarray(np.linalg.cholesky(F), dtype=np.float64)


@compiled
def forward(L: Floats, b: Floats) -> Floats:
    """L⁻¹ b."""
    x = b.copy()
    for i in range(len(x)):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]
    return x


@compiled
def backward(L: Floats, b: Floats) -> Floats:
    """L⁻ᵀ b; along the rows of L, as they lie in memory."""
    x = b.copy()
    for i in range(len(x) - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]
    return x


@compiled
def fit_each(model: Model) -> float:
    """Newton steps on each item in turn, each kept in [0, 1], until they are small; how far the last pass went."""
    plays, sums, u = model.plays, model.sums, model.strengths
    moved = 0.0
    for _ in range(PASSES):
        moved = 0.0
        for i in range(len(u)):
            weighted, weight = PRIOR_PRECISION * PRIOR_MEAN, PRIOR_PRECISION
            for j in range(len(u)):
                n = plays[i, j]
                if n > 0:
                    w = information(model.law, n, u[i] * u[j])
                    weighted += w * u[j] * sums[i, j]
                    weight += w * n * u[j] ** 2
            fitted = min(max(weighted / weight, 0.0), 1.0)
            moved = max(moved, abs(fitted - u[i]))
            u[i] = fitted
        if moved < TOLERANCE:
            break
    return moved


@compiled
def fit_all(model: Model) -> float:
    """One Newton step δ = F⁻¹ g on all items together, u_i exp(δ_i/u_i); how far it moved the strengths.

    Two items that always meet each other creep along the curve of their known product when they move in turn, and never
    arrive where the other pairs want them. Newton's step in log u follows that curve; one in u would leave it. Items
    held at 0 or 1 stay; a step that does not lessen gᵀ F⁻¹ g is halved.
    """
    u = model.strengths
    g, F = pull(model), fisher(model)
    free = g != 0.0
    for i in range(len(u)):
        if not free[i]:
            F[i, :] = 0.0
            F[:, i] = 0.0
            F[i, i] = 1.0
    L = factor(F)
    scaled = forward(L, g)
    shift, start = backward(L, scaled), u.copy()
    for k in range(HALVINGS):
        for i in range(len(u)):
            step = shift[i] / 2**k
            u[i] = min(start[i] * exp(min(step / start[i], 1.0)) if start[i] > 0 else max(step, 0.0), 1.0)
        left = forward(L, pull(model) * free)
        if (left * left).sum() < (scaled * scaled).sum():
            return float(np.abs(u - start).max())
    u[:] = start
    return 0.0


@compiled
def fit(model: Model) -> float:
    """Move the strengths towards the most probable ones, in turn and then all together; how far the last steps went."""
    return max(fit_each(model), fit_all(model))


@compiled
def settle(model: Model) -> None:
    """Fit until nothing moves."""
    for _ in range(FITS):
        if fit(model) < SETTLED:
            break


@compiled
def without_scale(strengths: Floats, n_rows: int, shift: Floats) -> Floats:
    """The shift without its part along (û, −v̂), in which rows grow as columns shrink: products do not show it."""
    if n_rows == 0:
        return shift
    scale = strengths.copy()
    scale[n_rows:] *= -1.0
    length = (scale * scale).sum()
    if length == 0.0:
        return shift
    along: float = (scale * shift).sum() / length
    return shift - along * scale


def covariance(L: Floats, strengths: Floats, n_rows: int) -> Floats:
    """F⁻¹ from the factor L of F, between rows and columns (n_rows > 0) without their common scale."""
    inverse = np.linalg.inv(L)
    roots = np.stack([without_scale(strengths, n_rows, root) for root in inverse])
    return np.asarray(roots.T @ roots)


def fitted(
    plays: Floats, sums: Floats, law: tuple[float, float], n_rows: int = 0, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """The most probable strengths and their covariance, the full inverse of the information.

    `plays` and `sums` are symmetric tables, items × items, rows before columns; `law` is
    `RewardDistribution.coins`; `n_rows` is 0 for players; `start` is where the fit begins, for example where the last one ended. Between rows and columns the
    direction (û, −v̂) is taken out of the covariance: their common scale is known from the prior only.

    >>> plays, sums = np.array([[0., 400.], [400., 0.]]), np.array([[0., 144.], [144., 0.]])
    >>> strengths, covariance = fitted(plays, sums, (1, 0.))
    >>> strengths.round(3).tolist(), np.sqrt(covariance.diagonal()).round(2).tolist()
    ([0.6, 0.6], [0.35, 0.35])
    """
    begin = np.full(len(plays), PRIOR_MEAN) if start is None else np.array(start, dtype=np.float64)
    model = Model(plays, sums, begin, np.array(law, dtype=np.float64))
    settle(model)
    return model.strengths, covariance(factor(fisher(model)), model.strengths, n_rows)

"""Rank-1 Thompson sampling: one posterior for all strengths, drawn from and played greedily."""

from math import exp
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit

from matchbandit.graphs import Pairs, Selection
from matchbandit.policies.base import Setting
from matchbandit.policies.rounds import RoundPolicy
from matchbandit.rewards import Counts, Floats

PRIOR_MEAN, PRIOR_PRECISION = 0.6, 4.0
REFRESH = 0.02
"""The posterior is renewed when a pair's plays have grown by this share since the last time."""
PASSES, CLOSE_ENOUGH = 20, 1e-5


class Arrays(NamedTuple):
    """Items are numbered through, rows before columns; tables are symmetric, items × items."""

    plays: Floats
    sums: Floats
    plays_then: Floats
    """Plays when the posterior was last renewed."""
    strengths: Floats
    """û, and v̂ behind it."""
    spread: Floats
    """A with A Aᵀ = F⁻¹: how a draw differs from the strengths."""
    ends: Counts
    """The two items of each edge."""
    flags: Counts
    """Is the posterior out of date? How many items are rows (0: players)?"""
    law: Floats
    """Coins and noise of the rewards' law."""


@njit(cache=True)
def information(law: Floats, n: float, p: float) -> float:
    """What one reward of a pair tells about its mean p after n plays: 1/variance.

    With p̃ = (C p + 1)/(C + 2), C = n coins, in place of p: early failures must not pass for certainty.
    """
    coins, noise = law[0], law[1]
    if coins == 0.0:
        return float(1.0 / noise**2)
    careful = (n * coins * p + 1.0) / (n * coins + 2.0)
    return float(coins / (careful * (1.0 - careful)))


@njit(cache=True)
def fit(arrays: Arrays) -> None:
    """Newton steps on each item in turn from where the strengths were, each kept in [0, 1], until they settle."""
    plays, sums, u = arrays.plays, arrays.sums, arrays.strengths
    for _ in range(PASSES):
        moved = 0.0
        for i in range(len(u)):
            weighted, weight = PRIOR_PRECISION * PRIOR_MEAN, PRIOR_PRECISION
            for j in range(len(u)):
                n = plays[i, j]
                if n > 0:
                    w = information(arrays.law, n, u[i] * u[j])
                    weighted += w * u[j] * sums[i, j]
                    weight += w * n * u[j] ** 2
            fitted = min(max(weighted / weight, 0.0), 1.0)
            moved = max(moved, abs(fitted - u[i]))
            u[i] = fitted
        if moved < CLOSE_ENOUGH:
            break


@njit(cache=True)
def fisher(arrays: Arrays) -> Floats:
    """F_ii = Σ_j w_ij n_ij u_j², F_ij = w_ij n_ij u_i u_j, and the prior on the diagonal."""
    plays, u = arrays.plays, arrays.strengths
    F = np.zeros(plays.shape)
    for i in range(len(u)):
        F[i, i] += PRIOR_PRECISION
        for j in range(len(u)):
            if plays[i, j] > 0:
                gained = information(arrays.law, plays[i, j], u[i] * u[j]) * plays[i, j]
                F[i, i] += gained * u[j] ** 2
                F[i, j] += gained * u[i] * u[j]
    return F


@njit(cache=True)
def renew(arrays: Arrays) -> None:
    """Fit the strengths and take the full inverse of their information."""
    fit(arrays)
    arrays.spread[:] = np.linalg.inv(np.linalg.cholesky(fisher(arrays))).T
    arrays.plays_then[:] = arrays.plays
    arrays.flags[0] = 0


@njit(cache=True)
def draw_shift(arrays: Arrays, rng: np.random.Generator) -> Floats:
    """N(0, F⁻¹), without the direction (û, −v̂) in which rows grow as columns shrink: products do not show it."""
    u, n_rows = arrays.strengths, arrays.flags[1]
    noise = np.empty(len(u))
    for i in range(len(u)):
        noise[i] = rng.standard_normal()
    shift = arrays.spread @ noise
    if n_rows > 0:
        scale = u.copy()
        scale[n_rows:] *= -1.0
        length = (scale * scale).sum()
        if length > 0:
            shift -= scale * ((scale * shift).sum() / length)
    return shift


@njit(cache=True)
def draw_strengths(arrays: Arrays, rng: np.random.Generator) -> Floats:
    """ũ = û + shift where that rises, û exp(shift/û) where it falls: a known product keeps both its items above 0."""
    u, shift = arrays.strengths, draw_shift(arrays, rng)
    drawn = u + shift
    for i in range(len(u)):
        if shift[i] < 0 and u[i] > 0:
            drawn[i] = u[i] * exp(shift[i] / u[i])
    return drawn


@njit(cache=True)
def best_pair(strengths: Floats, n_rows: int) -> tuple[int, int]:
    """The strongest row and the strongest column, or the two strongest players (ties: the lowest index)."""
    if n_rows > 0:
        return int(np.argmax(strengths[:n_rows])), n_rows + int(np.argmax(strengths[n_rows:]))
    first = int(np.argmax(strengths))
    rest = strengths.copy()
    rest[first] = -np.inf
    second = int(np.argmax(rest))
    return min(first, second), max(first, second)


@njit(cache=True)
def choose(arrays: Arrays, rng: np.random.Generator, edges: Counts) -> None:
    """The best pair of drawn strengths."""
    if arrays.flags[0]:
        renew(arrays)
    n_rows, n = arrays.flags[1], len(arrays.strengths)
    i, j = best_pair(draw_strengths(arrays, rng), n_rows)
    edges[0] = i * (n - n_rows) + j - n_rows if n_rows > 0 else i * (2 * n - i - 1) // 2 + j - i - 1


@njit(cache=True)
def update(arrays: Arrays, rng: np.random.Generator, edges: Counts, rewards: Floats) -> None:
    """Count plays and rewards; is the posterior out of date?"""
    for k in range(len(edges)):
        i, j = arrays.ends[edges[k], 0], arrays.ends[edges[k], 1]
        for a, b in ((i, j), (j, i)):
            arrays.plays[a, b] += 1
            arrays.sums[a, b] += rewards[k]
        if arrays.plays[i, j] > (1 + REFRESH) * arrays.plays_then[i, j]:
            arrays.flags[0] = 1


class Rank1Thompson(RoundPolicy):
    """Thompson sampling that uses the product model: the practical choice, without a proof.

    Strengths û (rows and columns, or players) are fitted to the counts and sums of all pairs by Newton steps on each
    item, weighted by w_ij = 1/(p̃(1 − p̃)) with p̃ = (C p + 1)/(C + 2), p = û_i û_j, under a weak Gaussian prior of
    precision 4 around 0.6, and kept in [0, 1]. A draw is ũ ~ N(û, F⁻¹) with the *full* inverse of the information
    F_ii = Σ_j w_ij C_ij û_j², F_ij = w_ij C_ij û_i û_j (plus the prior), and the best pair of the drawn strengths is
    played. The diagonal alone would stop exploring. A fall of ũ_i below û_i is taken as û_i exp(shift/û_i): two players
    whose product is known lie on a hyperbola, of which the Gaussian sees the tangent only, and without this a best pair
    among players worth nothing would be left again and again. Between rows and columns only products are seen: the
    direction (û, −v̂) is taken out of the draw, without which the regret is linear.

    Gaussian rewards have w = 1/sd², Binomial(trials) ones w = trials/(p̃(1 − p̃)) with C trials. The fit starts where it
    last ended, and is renewed when the plays of some pair have grown by 2 %: a rarely played pair renews it at once.

    Options: `selection`, "pair".
    """

    name: ClassVar[str] = "rank1-thompson"
    summary: ClassVar[str] = "Thompson sampling with one posterior for all strengths: the practical choice"
    reference: ClassVar[str] = "this library"
    selections: ClassVar[tuple[Selection, ...]] = ("pair",)
    arrays_type = Arrays
    choose = staticmethod(choose)
    update = staticmethod(update)

    def __init__(self, setting: Setting, rng: np.random.Generator, *, selection: Selection | None = None) -> None:
        """Nothing played yet: the prior."""
        super().__init__(setting, rng, selection=selection)

    def start(self) -> Arrays:
        """The prior."""
        bipartite = self.graph.kind == "bipartite"
        n_rows = self.graph.shape[0] if bipartite else 0
        n = sum(self.graph.shape) if bipartite else self.graph.shape[0]
        return Arrays(
            plays=np.zeros((n, n)),
            sums=np.zeros((n, n)),
            plays_then=np.zeros((n, n)),
            strengths=np.full(n, PRIOR_MEAN),
            spread=np.eye(n) / np.sqrt(PRIOR_PRECISION),
            ends=self.graph.pairs + np.array([0, n_rows]),
            flags=np.array([0, n_rows]),
            law=np.array(self.setting.rewards.coins, dtype=np.float64),
        )

    def recommend(self) -> Pairs:
        """The best pair of the fitted strengths."""
        n_rows = int(self.arrays.flags[1])
        i, j = best_pair(self._fitted().strengths, n_rows)
        return np.array([[i, j - n_rows]])

    def _fitted(self) -> Arrays:
        """The arrays with a posterior that is up to date; the policy's own are left as they are."""
        arrays = Arrays(*(part.copy() for part in self.arrays))
        renew(arrays)
        return arrays

    def _reasons(self) -> dict[str, Any]:
        arrays = self._fitted()
        n_rows = int(arrays.flags[1])
        spreads = np.sqrt((arrays.spread**2).sum(axis=1))
        items = [
            {"strength": float(u), "standard_deviation": float(s), "plays": int(n)}
            for u, s, n in zip(arrays.strengths, spreads, arrays.plays.sum(axis=1), strict=True)
        ]
        return {"rows": items[:n_rows], "columns": items[n_rows:]} if n_rows else {"players": items}

"""Naive test oracles: Rank1ElimKL, KL-UCB and Track-and-Stop, one round at a time.

Running this file as a script runs its own checks.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize

Draw = Callable[[int, int], float]
DrawArm = Callable[[int], float]
Law = str | tuple[str, float]  # "bernoulli" or ("gaussian", standard deviation)


class Trace(NamedTuple):
    """What a run played, and when rows and columns were eliminated for good (-1: never)."""

    plays: np.ndarray
    rows_out: np.ndarray
    columns_out: np.ndarray
    pairs: list[tuple[int, int]]


class ArmTrace(NamedTuple):
    """How often each arm was played and, if recorded, the arms in order of play."""

    plays: np.ndarray
    arms: list[int]


class StopTrace(NamedTuple):
    """An identification run; best is -1 when max_rounds came before the stopping rule."""

    plays: np.ndarray
    arms: list[int]
    rounds: int
    best: int


# ---------------------------------------------------------------------------------------------------------
# Divergences and KL bounds


def _phi(z: float) -> float:
    """z - log(1 + z) >= 0, by its series where the difference would cancel."""
    if z <= -1.0:
        return math.inf
    if abs(z) < 0.1:
        return math.fsum((-z) ** k / k for k in range(2, 22))
    return z - math.log1p(z)


def _kl_shift(p: float, shift: float) -> float:
    """Bernoulli kl(p, p + shift), accurate also for a tiny shift.

    p log(p/q) + (1-p) log((1-p)/(1-q)) = p phi(shift/p) + (1-p) phi(-shift/(1-p)).
    """
    if p <= 0.0:
        return math.inf if shift >= 1.0 else -math.log1p(-shift)
    if p >= 1.0:
        return math.inf if shift <= -1.0 else -math.log1p(shift)
    return p * _phi(shift / p) + (1.0 - p) * _phi(-shift / (1.0 - p))


def kl(p: float, q: float) -> float:
    """Bernoulli divergence kl(p, q)."""
    return _kl_shift(p, q - p)


def _mean(total: float, count: int) -> float:
    """total / count, which must lie in [0, 1] (a rounding error is clipped)."""
    mean = float(total) / int(count)
    if not -1e-9 <= mean <= 1.0 + 1e-9:
        raise ValueError("Bernoulli KL bounds need rewards in [0, 1]")
    return min(max(mean, 0.0), 1.0)


def upper_bound(p: float, n: int, level: float) -> float:
    """max{q >= p : n kl(p, q) <= level}."""
    if p >= 1.0 or level <= 0.0:
        return p
    last = math.nextafter(1.0, 0.0)
    if n * kl(p, last) <= level:  # the bound differs from 1 by less than one rounding
        return 1.0
    return float(brentq(lambda q: n * kl(p, q) - level, p, last, xtol=1e-14, rtol=1e-14, maxiter=1000))


def lower_bound(p: float, n: int, level: float) -> float:
    """min{q <= p : n kl(p, q) <= level}."""
    if p <= 0.0 or level <= 0.0:
        return p
    first = 1e-16
    if first >= p or n * kl(p, first) <= level:  # the bound differs from 0 by less than 1e-16
        return 0.0
    return float(brentq(lambda q: n * kl(p, q) - level, first, p, xtol=1e-14, rtol=1e-14, maxiter=1000))


def log_log(t: float) -> float:
    """max(0, log log t), for t >= 1."""
    return math.log(math.log(t)) if math.log(t) > 1.0 else 0.0


# ---------------------------------------------------------------------------------------------------------
# Rank1ElimKL


def _follow(h: list[int], item: int) -> int:
    """Follow the domination map h until it lands on an active item (h[item] == item means active)."""
    while h[item] != item:
        item = h[item]
    return item


def _active(h: list[int]) -> list[int]:
    """The items that h maps to themselves, in index order."""
    return [item for item in range(len(h)) if h[item] == item]


def _eliminate_kl(h: list[int], sums: np.ndarray, count: int, level: float) -> list[int]:
    """Map every active item with upper <= best lower to the item of the best lower; return those mapped.

    Best lower bound: ties by the best mean, then by the lowest index.
    """
    active = _active(h)
    mean = {item: _mean(sums[item], count) for item in active}
    upper = {item: upper_bound(mean[item], count, level) for item in active}
    lower = {item: lower_bound(mean[item], count, level) for item in active}
    best = max(active, key=lambda item: (lower[item], mean[item], -item))
    out = [item for item in active if item != best and upper[item] <= lower[best]]
    for item in out:
        h[item] = best
    return out


def rank1_elim_kl(
    W: np.ndarray,
    horizon: int,
    rng: np.random.Generator,
    *,
    draw: Draw | None = None,
    record: bool = False,
) -> Trace:
    """Rank1ElimKL: as Rank1Elim, with n_l = ceil(16 4^l log T) and Bernoulli KL bounds.

    Level log T + 3 max(0, log log T) (constants recalled, not read, says baselines.md).
    """
    W = np.asarray(W, dtype=float)
    if W.ndim != 2 or W.shape[0] < 1 or W.shape[1] < 1:
        raise ValueError("W must be an (N, M) array with N, M >= 1")
    if horizon < 0 or int(horizon) != horizon:
        raise ValueError("horizon must be a non-negative whole number")
    N, M = W.shape
    if draw is None:

        def draw(i: int, j: int) -> float:
            return 1.0 if rng.random() < W[i, j] else 0.0

    plays = np.zeros((N, M), dtype=int)
    rows_out = np.full(N, -1)
    columns_out = np.full(M, -1)
    pairs: list[tuple[int, int]] = []
    if horizon == 0:
        return Trace(plays, rows_out, columns_out, pairs)
    t = 0
    log_T = math.log(horizon)
    level = log_T + 3 * log_log(horizon)
    row_sum = np.zeros(N)  # all samples since the start, over all opponents
    column_sum = np.zeros(M)
    row_h = list(range(N))
    column_h = list(range(M))
    stage = 0
    sweeps = 0  # sweeps so far = samples of every active row in the row ledger = the same for columns
    while True:
        opponent_column = _follow(column_h, int(rng.integers(M)))
        for i in _active(row_h):
            row_sum[i] += draw(i, opponent_column)
            plays[i, opponent_column] += 1
            if record:
                pairs.append((i, opponent_column))
            t += 1
            if t == horizon:  # the column half is still to come: the sweep is not complete
                return Trace(plays, rows_out, columns_out, pairs)

        opponent_row = _follow(row_h, int(rng.integers(N)))
        active_columns = _active(column_h)
        for j in active_columns:
            column_sum[j] += draw(opponent_row, j)
            plays[opponent_row, j] += 1
            if record:
                pairs.append((opponent_row, j))
            t += 1
            if t == horizon and j != active_columns[-1]:
                return Trace(plays, rows_out, columns_out, pairs)
        sweeps += 1

        n_stage = math.ceil(16 * 4**stage * log_T)
        if sweeps == n_stage:
            for i in _eliminate_kl(row_h, row_sum, n_stage, level):
                rows_out[i] = t
            for j in _eliminate_kl(column_h, column_sum, n_stage, level):
                columns_out[j] = t
            stage += 1
        if t == horizon:
            return Trace(plays, rows_out, columns_out, pairs)


# ---------------------------------------------------------------------------------------------------------
# KL-UCB


def kl_ucb(means_of_pairs: np.ndarray, horizon: int, *, draw: DrawArm, record: bool = False) -> ArmTrace:
    """KL-UCB: each arm once in index order, then the largest max{q : n kl(mu, q) <= log t + 3 log log t}.

    t is the number of the round about to be played: rounds played so far + 1. Ties: the lowest index.
    means_of_pairs gives the number of arms only (arms in row-major order); rewards come from draw(arm).
    """
    d = np.size(means_of_pairs)
    if d < 1:
        raise ValueError("at least one arm is needed")
    plays = np.zeros(d, dtype=int)
    sums = np.zeros(d)
    arms: list[int] = []
    for played in range(horizon):
        if played < d:
            arm = played
        else:
            t = played + 1
            level = math.log(t) + 3 * log_log(t)
            index = [upper_bound(_mean(sums[a], plays[a]), int(plays[a]), level) for a in range(d)]
            arm = index.index(max(index))  # the first of the largest
        sums[arm] += draw(arm)
        plays[arm] += 1
        if record:
            arms.append(arm)
    return ArmTrace(plays, arms)


# ---------------------------------------------------------------------------------------------------------
# Track-and-Stop


def _divergence(mean: float, shift: float, law: Law) -> float:
    """d(mean, mean + shift) of the law."""
    if law == "bernoulli":
        return _kl_shift(mean, shift)
    if isinstance(law, tuple) and law[0] == "gaussian" and law[1] > 0:
        return shift**2 / (2 * law[1] ** 2)
    raise ValueError("law must be 'bernoulli' or ('gaussian', sd)")


def _two(best: float, other: float, x: float, law: Law) -> tuple[float, float]:
    """d(best, m) and d(other, m) at the mean m = (best + x other)/(1 + x): weights 1 and x."""
    gap = best - other
    return _divergence(best, -gap * x / (1 + x), law), _divergence(other, gap / (1 + x), law)


def _transport(best: float, other: float, x: float, law: Law) -> float:
    """g(x) = d(best, m) + x d(other, m): increases in x from 0 to d(best, other)."""
    d_best, d_other = _two(best, other, x, law)
    return d_best + x * d_other


def _weight(best: float, other: float, y: float, law: Law) -> float:
    """The x with g(x) = y, searched in log x."""

    def excess(s: float) -> float:
        return _transport(best, other, math.exp(s), law) - y

    low = high = 0.0
    while excess(low) > 0:
        low -= 2.0
    while excess(high) < 0:
        high += 2.0
        if high > 300.0:  # y is the limit itself, up to rounding
            return math.exp(300.0)
    if low == high:
        return 1.0
    return math.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15, maxiter=1000))


def _solve(means: list[float], law: Law) -> tuple[np.ndarray, float]:
    """Optimal proportions and characteristic time (Garivier & Kaufmann 2016, Theorem 5).

    With w_best = 1, every other arm's x_b(y) solves g_b(x) = y, and y solves
    sum_b d(best, m_b)/d(b, m_b) = 1. Tied best arms: uniform, and an infinite time.
    """
    d = len(means)
    best = means.index(max(means))
    others = [b for b in range(d) if b != best]
    if not others:
        return np.ones(1), 0.0
    if any(means[b] == means[best] for b in others):
        return np.full(d, 1.0 / d), math.inf

    def balance(y: float) -> float:
        total = 0.0
        for b in others:
            d_best, d_b = _two(means[best], means[b], _weight(means[best], means[b], y, law), law)
            total += d_best / d_b if d_b > 0 else math.inf
        return total - 1.0

    start = min(_transport(means[best], means[b], 1.0, law) for b in others)
    limit = min(_divergence(means[best], means[b] - means[best], law) for b in others)
    low = high = start
    while balance(low) > 0:
        low /= 2
    while balance(high) < 0:
        high = 2 * high if math.isinf(limit) else (high + limit) / 2
    y = start
    if low < high:
        y = float(brentq(balance, low, high, xtol=1e-15 * low, rtol=1e-15, maxiter=1000))
    weights = np.array([1.0 if a == best else _weight(means[best], means[a], y, law) for a in range(d)])
    return weights / weights.sum(), float(weights.sum() / y)


def optimal_proportions(means: np.ndarray, law: Law = "bernoulli") -> np.ndarray:
    """w*, the maximiser over the simplex of min_b w_a d(mu_a, m_ab) + w_b d(mu_b, m_ab), a the best arm."""
    return _solve([float(mean) for mean in means], law)[0]


def characteristic_time(means: np.ndarray, law: Law = "bernoulli") -> float:
    """T*, the inverse of that maximum: infinite when the best arm is tied."""
    return _solve([float(mean) for mean in means], law)[1]


def glr(means: np.ndarray, plays: np.ndarray, law: Law) -> float:
    """min_b Z_ab for the empirical best arm a (lowest index if tied; the value is then 0)."""
    d = len(means)
    a = int(np.argmax(means))
    smallest = math.inf
    for b in range(d):
        if b != a:
            x = float(plays[b]) / float(plays[a])
            smallest = min(smallest, float(plays[a]) * _transport(float(means[a]), float(means[b]), x, law))
    return smallest


def track_and_stop(
    means: np.ndarray,
    delta: float,
    max_rounds: int,
    *,
    draw: DrawArm,
    law: Law = "bernoulli",
    record: bool = False,
    tie: float = 1e-9,
) -> StopTrace:
    """Track-and-Stop with D-tracking; t is the number of rounds played so far, everywhere.

    means gives the number of arms only; rewards come from draw(arm). Each arm once in index order. Then,
    before each round: the stopping test; the end at max_rounds; new proportions if t >= 1.01 times the t
    of the last ones; the next arm. Values of t w_a - n_a within `tie` of the largest are ties: equal
    proportions come out of the root search with a rounding error.
    """
    d = len(means)
    if d < 1 or not 0 < delta < 1:
        raise ValueError("at least one arm and 0 < delta < 1 are needed")
    plays = np.zeros(d, dtype=int)
    sums = np.zeros(d)
    arms: list[int] = []
    proportions = np.full(d, 1.0 / d)
    last = 0  # the t of the last computation
    t = 0
    while True:
        if t < d:
            if t >= max_rounds:
                return StopTrace(plays, arms, t, -1)
            arm = t
        else:
            mu = np.array([_mean(sums[a], plays[a]) for a in range(d)]) if law == "bernoulli" else sums / plays
            if glr(mu, plays, law) > math.log((1 + math.log(t)) / delta):
                return StopTrace(plays, arms, t, int(np.argmax(mu)))
            if t >= max_rounds:
                return StopTrace(plays, arms, t, -1)
            if t >= 1.01 * last:
                proportions = optimal_proportions(mu, law)
                last = t
            behind = [a for a in range(d) if plays[a] < max(0.0, math.sqrt(t) - d / 2)]
            if behind:
                arm = min(behind, key=lambda a: (plays[a], a))
            else:
                lead = t * proportions - plays
                arm = int(np.flatnonzero(lead >= lead.max() - tie)[0])
        sums[arm] += draw(arm)
        plays[arm] += 1
        t += 1
        if record:
            arms.append(arm)


# ---------------------------------------------------------------------------------------------------------
# Self-checks


def _brute_force(means: np.ndarray, law: Law) -> tuple[np.ndarray, float]:
    """Proportions and 1/T* by SLSQP over the simplex: maximise z subject to z <= every pair's value.

    Divergences are written out afresh, by the textbook formulas.
    """
    d = len(means)
    best = int(np.argmax(means))

    def div(p: float, q: float) -> float:
        if law == "bernoulli":
            return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
        return (p - q) ** 2 / (2 * law[1] ** 2)

    def pair_values(w: np.ndarray) -> np.ndarray:
        out = []
        for b in range(d):
            if b != best:
                m = (w[best] * means[best] + w[b] * means[b]) / (w[best] + w[b])
                out.append(w[best] * div(means[best], m) + w[b] * div(means[b], m))
        return np.array(out)

    scale = pair_values(np.full(d, 1 / d)).min()
    constraints = [
        {"type": "eq", "fun": lambda x: x[:d].sum() - 1},
        {"type": "ineq", "fun": lambda x: pair_values(x[:d]) / scale - x[d]},
    ]
    found = (np.full(d, 1 / d), scale)
    for seed in range(5):
        start = np.append(np.random.default_rng(seed).dirichlet(np.full(d, 5.0)), 0.5)
        end = minimize(
            lambda x: -x[d], start, method="SLSQP", constraints=constraints,
            bounds=[(1e-6, 1)] * d + [(0, None)], options={"ftol": 1e-14, "maxiter": 2000},
        )  # fmt: skip
        w = end.x[:d] / end.x[:d].sum()
        if pair_values(w).min() > found[1]:
            found = (w, float(pair_values(w).min()))
    return found

"""Naive test oracles for Pair-Elim (regret mode), Rank1Elim and UTS: one round at a time."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Draw = Callable[[int, int], float]


class Trace(NamedTuple):
    """What a run played, and when rows and columns were eliminated for good (-1: never)."""

    plays: np.ndarray
    rows_out: np.ndarray
    columns_out: np.ndarray
    pairs: list[tuple[int, int]]


def _check_arguments(W: np.ndarray, horizon: int, sigma: float = 0.5) -> np.ndarray:
    """Return W as a float array; refuse what makes no sense."""
    W = np.asarray(W, dtype=float)
    if W.ndim != 2 or W.shape[0] < 1 or W.shape[1] < 1:
        raise ValueError("W must be an (N, M) array with N, M >= 1")
    if horizon < 0 or int(horizon) != horizon:
        raise ValueError("horizon must be a non-negative whole number")
    if sigma <= 0:
        raise ValueError("sigma must be positive")
    return W


def _bernoulli(W: np.ndarray, rng: np.random.Generator) -> Draw:
    """Rewards that are 1 with probability W[i, j], else 0."""
    return lambda i, j: 1.0 if rng.random() < W[i, j] else 0.0


def _follow(h: list[int], item: int) -> int:
    """Follow the domination map h until it lands on an active item (h[item] == item means active)."""
    while h[item] != item:
        item = h[item]
    return item


def _active(h: list[int]) -> list[int]:
    """The items that h maps to themselves, in index order."""
    return [item for item in range(len(h)) if h[item] == item]


def _check_times(beta: int, growth: float, largest: int) -> set[int]:
    """All counts up to `largest` at which an average is checked: k_l = ceil(4 g^l log beta), l = 1, 2, ...

    growth == 1: every count from 4 log beta on.
    """
    log_beta = math.log(beta)
    if log_beta <= 0.0:  # beta = 1 = T: the run ends before its first sweep does, nothing is ever checked
        return set()
    if growth == 1:
        return {k for k in range(1, largest + 1) if k >= 4 * log_beta}
    times = set()
    level = 1
    while math.ceil(4 * growth**level * log_beta) <= largest:
        times.add(math.ceil(4 * growth**level * log_beta))
        level += 1
    return times


def _eliminate(h: list[int], sums: np.ndarray, count: int, radius: float, strict: bool) -> list[int]:
    """Compare the active items on one average, map the separated ones to the best, and return them.

    sums[item] is the item's sum of rewards; all active items have the same count and radius.
    strict: separated when upper < lower of the best; else when upper <= lower of the best.
    """
    active = _active(h)
    best = active[0]
    for item in active:
        if sums[item] / count > sums[best] / count:  # ties: the lowest index stays
            best = item
    best_lower = sums[best] / count - radius
    out = []
    for item in active:
        upper = sums[item] / count + radius
        separated = upper < best_lower if strict else upper <= best_lower
        if item != best and separated:
            out.append(item)
    for item in out:
        h[item] = best
    return out


def pair_elim(
    W: np.ndarray,
    horizon: int,
    rng: np.random.Generator,
    *,
    growth: float = 4.0,
    cap_windows: bool = False,
    sigma: float = 0.5,
    draw: Draw | None = None,
    record: bool = False,
) -> Trace:
    """Pair-Elim, bipartite, regret mode (beta = T for rows, 2^(2^w) for the columns of window w)."""
    W = _check_arguments(W, horizon, sigma)
    if growth < 1:
        raise ValueError("growth must be at least 1")
    N, M = W.shape
    if draw is None:
        draw = _bernoulli(W, rng)
    plays = np.zeros((N, M), dtype=int)
    rows_out = np.full(N, -1)
    columns_out = np.full(M, -1)
    pairs: list[tuple[int, int]] = []
    if horizon == 0:
        return Trace(plays, rows_out, columns_out, pairs)
    t = 0

    # Row ledger, for the whole run. All active rows share their counts, so a count has no row index.
    row_sum = np.zeros((N, M))  # row_sum[i, j]: rewards of row i against column j
    row_count = np.zeros(M, dtype=int)
    row_h = list(range(N))
    row_beta = horizon
    row_times = _check_times(row_beta, growth, horizon)

    window = 0
    while True:
        # A new window: empty column ledger, all columns active.
        column_sum = np.zeros((M, N))  # column_sum[j, i]: rewards of column j against row i
        column_count = np.zeros(N, dtype=int)
        column_h = list(range(M))
        length = 2 ** (2 ** min(window, 6))
        column_beta = min(length, horizon) if cap_windows else length
        column_times = _check_times(column_beta, growth, horizon)
        s = 0

        window_over = False
        while not window_over:
            # One sweep. First half: every active row against one column.
            opponent_column = _follow(column_h, int(rng.integers(M)))
            for i in _active(row_h):
                reward = draw(i, opponent_column)
                row_sum[i, opponent_column] += reward
                plays[i, opponent_column] += 1
                if record:
                    pairs.append((i, opponent_column))
                s += 1
                t += 1
                if t == horizon:  # the column half is still to come: the sweep is not complete
                    return Trace(plays, rows_out, columns_out, pairs)
            row_count[opponent_column] += 1

            # Second half: every active column against one row.
            opponent_row = _follow(row_h, int(rng.integers(N)))
            active_columns = _active(column_h)
            for j in active_columns:
                reward = draw(opponent_row, j)
                column_sum[j, opponent_row] += reward
                plays[opponent_row, j] += 1
                if record:
                    pairs.append((opponent_row, j))
                s += 1
                t += 1
                if t == horizon and j != active_columns[-1]:
                    return Trace(plays, rows_out, columns_out, pairs)
            column_count[opponent_row] += 1

            # The end of the sweep. Only averages that have just got a sample can be due for a check.
            # Rows per opponent.
            count = int(row_count[opponent_column])
            if count in row_times:
                radius = 2 * sigma * math.sqrt(math.log(row_beta) / count)
                for i in _eliminate(row_h, row_sum[:, opponent_column], count, radius, strict=True):
                    rows_out[i] = t
            # Rows pooled.
            count = int(row_count.sum())
            if count in row_times:
                radius = 2 * sigma * math.sqrt(math.log(row_beta) / count)
                for i in _eliminate(row_h, row_sum.sum(axis=1), count, radius, strict=True):
                    rows_out[i] = t
            # Columns per opponent.
            count = int(column_count[opponent_row])
            if count in column_times:
                radius = 2 * sigma * math.sqrt(math.log(column_beta) / count)
                _eliminate(column_h, column_sum[:, opponent_row], count, radius, strict=True)
            # Columns pooled.
            count = int(column_count.sum())
            if count in column_times:
                radius = 2 * sigma * math.sqrt(math.log(column_beta) / count)
                _eliminate(column_h, column_sum.sum(axis=1), count, radius, strict=True)
            # The window test; windows from 6 on are endless.
            window_over = window < 6 and s > length
            if t == horizon:
                return Trace(plays, rows_out, columns_out, pairs)
        window += 1


def rank1_elim(
    W: np.ndarray,
    horizon: int,
    rng: np.random.Generator,
    *,
    sigma: float = 0.5,
    draw: Draw | None = None,
    record: bool = False,
) -> Trace:
    """Rank1Elim: stages of sweeps; both sides lose items for good, on pooled averages, at a stage's end."""
    W = _check_arguments(W, horizon, sigma)
    N, M = W.shape
    if draw is None:
        draw = _bernoulli(W, rng)
    plays = np.zeros((N, M), dtype=int)
    rows_out = np.full(N, -1)
    columns_out = np.full(M, -1)
    pairs: list[tuple[int, int]] = []
    if horizon == 0:
        return Trace(plays, rows_out, columns_out, pairs)
    t = 0
    log_T = math.log(horizon)
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
            if t == horizon:
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

        n_stage = math.ceil(4 ** (stage + 1) * log_T)
        if sweeps == n_stage:
            radius = 2 * sigma * math.sqrt(log_T / n_stage)
            for i in _eliminate(row_h, row_sum, n_stage, radius, strict=False):
                rows_out[i] = t
            for j in _eliminate(column_h, column_sum, n_stage, radius, strict=False):
                columns_out[j] = t
            stage += 1
        if t == horizon:
            return Trace(plays, rows_out, columns_out, pairs)


def uts(
    W: np.ndarray,
    horizon: int,
    rng: np.random.Generator,
    *,
    gamma: int = 2,
    draw: Draw | None = None,
    record: bool = False,
) -> Trace:
    """UTS: each pair once, then the leader every gamma-th time, else Thompson on its row and column."""
    W = _check_arguments(W, horizon)
    if gamma < 1:
        raise ValueError("gamma must be at least 1")
    N, M = W.shape
    if draw is None:
        draw = _bernoulli(W, rng)
    plays = np.zeros((N, M), dtype=int)
    sums = np.zeros((N, M))  # of the rewards themselves, for the means
    successes = np.zeros((N, M))  # of the rewards turned into coin flips, for the Beta posterior
    leaderships = np.zeros((N, M), dtype=int)
    pairs: list[tuple[int, int]] = []
    for t in range(horizon):
        if t < N * M:
            i, j = divmod(t, M)
        else:
            means = sums / plays
            leaders = np.argwhere(means == means.max())
            leader_row, leader_column = leaders[rng.integers(len(leaders))]  # ties at random
            leaderships[leader_row, leader_column] += 1
            if leaderships[leader_row, leader_column] % gamma == 0:
                i, j = int(leader_row), int(leader_column)
            else:
                candidates = [(int(leader_row), column) for column in range(M)]
                candidates += [(row, int(leader_column)) for row in range(N) if row != leader_row]
                rows = np.array([row for row, _ in candidates])
                columns = np.array([column for _, column in candidates])
                s = successes[rows, columns]
                n = plays[rows, columns]
                samples = rng.beta(1 + s, 1 + n - s)
                i, j = candidates[int(np.argmax(samples))]
        reward = draw(i, j)
        sums[i, j] += reward
        if reward == 0 or reward == 1:
            successes[i, j] += reward
        else:
            successes[i, j] += 1.0 if rng.random() < reward else 0.0
        plays[i, j] += 1
        if record:
            pairs.append((i, j))
    return Trace(plays, np.full(N, -1), np.full(M, -1), pairs)

"""Naive test oracles: Pair-Elim (PAC), Pair-Elim-Mono (regret and PAC) and Pair-Select, round by round."""

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Draw = Callable[[int, int], float]
Pair = tuple[int, int]


class Outcome(NamedTuple):
    """What a run played and found.

    plays: how often each pair was played (players: only i < j); rounds: how many rounds in all;
    identified: whether the answer is known; answer: list of pairs, or None when not identified;
    pairs: the pairs in the order of play (empty unless recorded);
    above: above[i, j] means i is known for good to be better than j (None for the bipartite algorithm).
    """

    plays: np.ndarray
    rounds: int
    identified: bool
    answer: list[Pair] | None
    pairs: list[Pair]
    above: np.ndarray | None


class _Game:
    """Counts and records plays; refuses to go past the limit."""

    def __init__(self, shape: Pair, limit: int, draw: Draw, record: bool) -> None:
        if limit < 0 or int(limit) != limit:
            raise ValueError("the number of rounds must be a non-negative whole number")
        self.plays = np.zeros(shape, dtype=int)
        self.limit = limit
        self.draw = draw
        self.record = record
        self.pairs: list[Pair] = []
        self.t = 0

    def over(self) -> bool:
        """Whether no round is left."""
        return self.t >= self.limit

    def play(self, i: int, j: int) -> float:
        """Play (i, j) for one round and return the reward."""
        assert not self.over()
        reward = float(self.draw(i, j))
        self.plays[i, j] += 1
        if self.record:
            self.pairs.append((i, j))
        self.t += 1
        return reward

    def play_players(self, i: int, j: int) -> float:
        """Play two players: the pair is unordered, so the smaller index comes first."""
        return self.play(min(i, j), max(i, j))


class _Schedule:
    """When an average is checked, and with which radius: k_l = ceil(4 g^l log beta_l), l = 1, 2, ..."""

    def __init__(self, log_beta: Callable[[int], float], growth: float, sigma: float) -> None:
        self.log_beta = log_beta
        self.growth = growth
        self.sigma = sigma
        self.times: list[int] = []  # k_1, k_2, ..., as far as needed so far

    def _level(self, count: int) -> int:
        """The largest l with k_l <= count; 0 when there is none."""
        while not self.times or self.times[-1] <= count:
            level = len(self.times) + 1
            self.times.append(math.ceil(4 * self.growth**level * self.log_beta(level)))
        return bisect_right(self.times, count)

    def radius(self, before: int, after: int) -> float | None:
        """Radius of the check that is due when a count rises from `before` to `after`; None: not due."""
        if after == before or self.log_beta(1) <= 0.0:  # beta = 1: nothing is ever checked
            return None
        if self.growth == 1:  # every chance, regret mode: beta does not depend on the level
            if after < 4 * self.log_beta(1):
                return None
            return 2 * self.sigma * math.sqrt(self.log_beta(1) / after)
        level = self._level(after)
        if level == self._level(before):
            return None
        return 2 * self.sigma * math.sqrt(self.log_beta(level) / self.times[level - 1])


def _fixed_schedule(beta: int, growth: float, sigma: float) -> _Schedule:
    """Regret mode: the same beta at every level."""
    value = math.log(beta)
    return _Schedule(lambda level: value, growth, sigma)


def _pac_schedule(K: int, delta: float, growth: float, sigma: float) -> _Schedule:
    """PAC mode: beta_l = c l, c = pi sqrt(K / (3 delta))."""
    c = math.pi * math.sqrt(K / (3 * delta))
    return _Schedule(lambda level: math.log(c * level), growth, sigma)


def _window_length(window: int) -> int:
    """2^(2^w); the windows from 6 on are endless and use the value of w = 6 for beta only."""
    return 2 ** (2 ** min(window, 6))


def _window_over(window: int, s: int) -> bool:
    """The window test: its own number of plays exceeds its length."""
    return window < 6 and s > _window_length(window)


def _check_pac(delta: float, growth: float, sigma: float) -> None:
    """Refuse what makes no sense in PAC mode."""
    if not 0 < delta < 1:
        raise ValueError("delta must be in (0, 1)")
    if growth <= 1:
        raise ValueError("growth must be above 1 in PAC mode")
    if sigma <= 0:
        raise ValueError("sigma must be positive")


# ---------------------------------------------------------------------------------------------------
# Pair-Elim, bipartite, PAC mode


def _follow(h: list[int], item: int) -> int:
    """Follow the domination map h until it lands on an active item (h[item] == item means active)."""
    while h[item] != item:
        item = h[item]
    return item


def _active(h: list[int]) -> list[int]:
    """The items that h maps to themselves, in index order."""
    return [item for item in range(len(h)) if h[item] == item]


def _eliminate(h: list[int], sums: np.ndarray, count: int, radius: float) -> None:
    """Compare the active items on one average (same count for all) and map the separated ones to the best."""
    active = _active(h)
    best = active[0]
    for item in active:
        if sums[item] / count > sums[best] / count:  # ties: the lowest index stays
            best = item
    best_lower = sums[best] / count - radius
    out = [item for item in active if item != best and sums[item] / count + radius < best_lower]
    for item in out:
        h[item] = best


class _Side:
    """The ledger of one side (rows or columns): sums, counts (shared by all active items) and the map h."""

    def __init__(self, items: int, opponents: int, schedule: _Schedule) -> None:
        self.sums = np.zeros((items, opponents))
        self.counts = np.zeros(opponents, dtype=int)
        self.h = list(range(items))
        self.schedule = schedule

    def check(self, opponent: int) -> None:
        """After one sample of every active item against `opponent`: per opponent first, then pooled."""
        count = int(self.counts[opponent])
        radius = self.schedule.radius(count - 1, count)
        if radius is not None:
            _eliminate(self.h, self.sums[:, opponent], count, radius)
        count = int(self.counts.sum())
        radius = self.schedule.radius(count - 1, count)
        if radius is not None:
            _eliminate(self.h, self.sums.sum(axis=1), count, radius)


def pair_elim_pac(
    W: np.ndarray,
    delta: float,
    rng: np.random.Generator,
    max_rounds: int,
    *,
    growth: float = 4.0,
    sigma: float = 0.5,
    draw: Draw | None = None,
    record: bool = False,
) -> Outcome:
    """Pair-Elim, bipartite, PAC mode: the best row (columns in windows), then the best column against it."""
    W = np.asarray(W, dtype=float)
    if W.ndim != 2 or W.shape[0] < 1 or W.shape[1] < 1:
        raise ValueError("W must be an (N, M) array with N, M >= 1")
    _check_pac(delta, growth, sigma)
    N, M = W.shape
    if draw is None:
        means = W

        def draw(i: int, j: int) -> float:
            return 1.0 if rng.random() < means[i, j] else 0.0

    game = _Game((N, M), max_rounds, draw, record)
    K = (N + 1) * (M + 1)

    def outcome(answer: list[Pair] | None) -> Outcome:
        return Outcome(game.plays, game.t, answer is not None, answer, game.pairs, None)

    # Row phase.
    rows = _Side(N, M, _pac_schedule(K, delta, growth, sigma))
    window = 0
    columns = _Side(M, N, _fixed_schedule(_window_length(window), growth, sigma))
    s = 0
    while len(_active(rows.h)) > 1:
        if game.over():
            return outcome(None)
        opponent_column = _follow(columns.h, int(rng.integers(M)))
        for i in _active(rows.h):
            if game.over():
                return outcome(None)
            rows.sums[i, opponent_column] += game.play(i, opponent_column)
            s += 1
        rows.counts[opponent_column] += 1
        if game.over():
            return outcome(None)
        opponent_row = _follow(rows.h, int(rng.integers(N)))
        for j in _active(columns.h):
            if game.over():
                return outcome(None)
            columns.sums[j, opponent_row] += game.play(opponent_row, j)
            s += 1
        columns.counts[opponent_row] += 1
        rows.check(opponent_column)
        columns.check(opponent_row)
        if _window_over(window, s):
            window += 1
            columns = _Side(M, N, _fixed_schedule(_window_length(window), growth, sigma))
            s = 0

    # Column phase: only the best row is left; an empty ledger, all columns active, PAC confidence.
    columns = _Side(M, N, _pac_schedule(K, delta, growth, sigma))
    while len(_active(columns.h)) > 1:
        if game.over():
            return outcome(None)
        opponent_row = _follow(rows.h, int(rng.integers(N)))
        for j in _active(columns.h):
            if game.over():
                return outcome(None)
            columns.sums[j, opponent_row] += game.play(opponent_row, j)
        columns.counts[opponent_row] += 1
        columns.check(opponent_row)
    return outcome([(_active(rows.h)[0], _active(columns.h)[0])])


# ---------------------------------------------------------------------------------------------------
# Pair-Elim-Mono


def _close(above: np.ndarray) -> None:
    """Close the relation transitively, in place; an item is never above itself."""
    n = len(above)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if above[i, k] and above[k, j]:
                    above[i, j] = True
    for i in range(n):
        above[i, i] = False


class _Ledger:
    """Averages of items against opponents, single-entry and pooled by pairs, and the order they show."""

    def __init__(self, n: int, schedule: _Schedule) -> None:
        self.n = n
        self.schedule = schedule
        self.sums = np.zeros((n, n))  # [i, k]: rewards of item i against opponent k
        self.counts = np.zeros((n, n), dtype=int)
        self.lower = np.full((n, n), -math.inf)  # kept intervals of the single-entry averages
        self.upper = np.full((n, n), math.inf)
        self.common_sums = np.zeros((n, n))  # [i, j]: rewards of i where both i and j met the opponent
        self.common_counts = np.zeros((n, n), dtype=int)  # symmetric
        self.above = np.zeros((n, n), dtype=bool)

    def end_of_sweep(self, samples: dict[Pair, float]) -> None:
        """Book one sweep, samples[i, k] = reward of item i against opponent k; check; extend the order."""
        found: list[Pair] = []  # (better, worse)

        # Single-entry averages.
        checked = False
        for (i, k), reward in samples.items():
            self.sums[i, k] += reward
            self.counts[i, k] += 1
            count = int(self.counts[i, k])
            radius = self.schedule.radius(count - 1, count)
            if radius is not None:
                mean = self.sums[i, k] / count
                self.lower[i, k] = mean - radius
                self.upper[i, k] = mean + radius
                checked = True
        if checked:  # else all kept intervals are what they were, and nothing new can be found
            for i in range(self.n):
                for j in range(self.n):
                    for k in range(self.n):
                        if k != i and k != j and self.upper[i, k] < self.lower[j, k]:
                            found.append((j, i))

        # Pooled averages of each pair of items.
        for i in range(self.n):
            for j in range(i + 1, self.n):
                before = int(self.common_counts[i, j])
                count = before
                for k in range(self.n):
                    if (i, k) in samples and (j, k) in samples:  # then k is neither i nor j
                        self.common_sums[i, j] += samples[i, k]
                        self.common_sums[j, i] += samples[j, k]
                        count += 1
                self.common_counts[i, j] = count
                self.common_counts[j, i] = count
                radius = self.schedule.radius(before, count)
                if radius is not None:
                    mean_i = self.common_sums[i, j] / count
                    mean_j = self.common_sums[j, i] / count
                    if mean_i + radius < mean_j - radius:
                        found.append((j, i))
                    if mean_j + radius < mean_i - radius:
                        found.append((i, j))

        for better, worse in found:
            self.above[better, worse] = True
        if found:
            _close(self.above)


def _beaters(above: np.ndarray, i: int) -> list[int]:
    """The items above i."""
    return [j for j in range(len(above)) if above[j, i]]


def _contenders(above: np.ndarray) -> list[int]:
    """The items with fewer than two beaters."""
    return [i for i in range(len(above)) if len(_beaters(above, i)) < 2]


def _may_meet(above: np.ndarray, i: int, partner: int) -> bool:
    """Whether item i's own beaters let it meet `partner`: none, or this one alone."""
    beaters = _beaters(above, i)
    return beaters == [] or beaters == [partner]


def _active_pairs(permanent: np.ndarray, temporary: np.ndarray) -> list[Pair]:
    """The active (row i, column j), in lexicographic order.

    The permanent order must allow the pair for both of its items; the window's order restricts the column.
    """
    n = len(permanent)
    pairs = []
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            in_graph = _may_meet(permanent, i, j) and _may_meet(permanent, j, i)
            if in_graph and _may_meet(temporary, j, i):
                pairs.append((i, j))
    return pairs


def _run_mono(
    n: int, game: _Game, row_schedule: _Schedule, growth: float, sigma: float, cap: int | None, pac: bool
) -> np.ndarray:
    """Play Pair-Elim-Mono until the game is over (pac: or two items are left); return the permanent order."""

    def new_columns(window: int) -> _Ledger:
        beta = _window_length(window)
        if cap is not None:
            beta = min(beta, cap)
        return _Ledger(n, _fixed_schedule(beta, growth, sigma))

    rows = _Ledger(n, row_schedule)
    window = 0
    columns = new_columns(window)
    s = 0
    active = _active_pairs(rows.above, columns.above)
    while True:
        if pac and len(_contenders(rows.above)) <= 2:
            return rows.above
        if game.over():
            return rows.above
        if not active:
            window += 1
            columns = new_columns(window)
            s = 0
            active = _active_pairs(rows.above, columns.above)
            if not active:
                # Only contradictory separations (cycles) lead here, and never in PAC mode: no window can
                # help. Play the two items with the fewest beaters.
                assert not pac
                best = sorted(range(n), key=lambda i: (len(_beaters(rows.above, i)), i))[:2]
                while not game.over():
                    game.play_players(best[0], best[1])
                return rows.above

        row_samples: dict[Pair, float] = {}
        column_samples: dict[Pair, float] = {}
        for i, j in active:
            if game.over():
                return rows.above
            row_samples[i, j] = game.play_players(i, j)
            if game.over():
                return rows.above
            column_samples[j, i] = game.play_players(i, j)
            s += 2
        rows.end_of_sweep(row_samples)
        columns.end_of_sweep(column_samples)
        if _window_over(window, s):
            window += 1
            columns = new_columns(window)
            s = 0
        active = _active_pairs(rows.above, columns.above)


def _best_pair(above: np.ndarray) -> list[Pair] | None:
    """The answer of Pair-Elim-Mono: the two contenders, if they are exactly two."""
    left = _contenders(above)
    return [(left[0], left[1])] if len(left) == 2 else None


def _number_of_items(u: np.ndarray) -> int:
    """The number of players."""
    n = len(u)
    if n < 2:
        raise ValueError("at least two items are needed")
    return n


def pair_elim_mono(
    u: np.ndarray,
    horizon: int,
    *,
    growth: float = 4.0,
    cap_windows: bool = False,
    sigma: float = 0.5,
    draw: Draw,
    record: bool = False,
) -> Outcome:
    """Pair-Elim-Mono, regret mode: beta = T for the rows, 2^(2^w) for the columns of window w."""
    n = _number_of_items(u)
    if growth < 1 or sigma <= 0:
        raise ValueError("growth must be at least 1 and sigma positive")
    game = _Game((n, n), horizon, draw, record)
    above = np.zeros((n, n), dtype=bool)
    if horizon > 0:
        schedule = _fixed_schedule(horizon, growth, sigma)
        cap = horizon if cap_windows else None
        above = _run_mono(n, game, schedule, growth, sigma, cap, pac=False)
    answer = _best_pair(above)
    return Outcome(game.plays, game.t, answer is not None, answer, game.pairs, above)


def pair_elim_mono_pac(
    u: np.ndarray,
    delta: float,
    max_rounds: int,
    *,
    growth: float = 4.0,
    sigma: float = 0.5,
    draw: Draw,
    record: bool = False,
) -> Outcome:
    """Pair-Elim-Mono, PAC mode: until at most two items have fewer than two beaters."""
    n = _number_of_items(u)
    _check_pac(delta, growth, sigma)
    game = _Game((n, n), max_rounds, draw, record)
    schedule = _pac_schedule(2 * n * (n - 1), delta, growth, sigma)
    above = _run_mono(n, game, schedule, growth, sigma, None, pac=True)
    answer = _best_pair(above)
    return Outcome(game.plays, game.t, answer is not None, answer, game.pairs, above)


# ---------------------------------------------------------------------------------------------------
# Pair-Select


def _is_unranked(above: np.ndarray, i: int) -> bool:
    """Incomparable with some item, unless with exactly one and an even number of items are above i."""
    incomparable = [j for j in range(len(above)) if j != i and not above[i, j] and not above[j, i]]
    if not incomparable:
        return False
    return not (len(incomparable) == 1 and len(_beaters(above, i)) % 2 == 0)


def _matching(above: np.ndarray) -> list[Pair]:
    """Neighbours in the order (number of items above, index), best pair first; i < j in each pair."""
    order = sorted(range(len(above)), key=lambda i: (len(_beaters(above, i)), i))
    return [(min(order[p : p + 2]), max(order[p : p + 2])) for p in range(0, len(order), 2)]


def pair_select(
    u: np.ndarray,
    delta: float,
    max_rounds: int,
    *,
    growth: float = 4.0,
    sigma: float = 0.5,
    draw: Draw,
    record: bool = False,
) -> Outcome:
    """Pair-Select: the two best items by Pair-Elim-Mono (delta/2), then the others against them (delta/2)."""
    n = _number_of_items(u)
    if n % 2 == 1:
        raise ValueError("the number of items must be even")
    _check_pac(delta, growth, sigma)
    game = _Game((n, n), max_rounds, draw, record)

    # Phase 1.
    schedule = _pac_schedule(2 * n * (n - 1), delta / 2, growth, sigma)
    above = _run_mono(n, game, schedule, growth, sigma, None, pac=True).copy()
    best = _best_pair(above)
    if best is None:
        return Outcome(game.plays, game.t, False, None, game.pairs, above)
    first, second = best[0]
    for i in range(n):  # says nothing new, unless phase 1 found contradictions
        if i != first and i != second:
            above[first, i] = True
            above[second, i] = True
    _close(above)

    # Phase 2: an empty ledger; the order found so far stays.
    schedule = _pac_schedule(n, delta / 2, growth, sigma)
    sums = np.zeros(n)
    counts = np.zeros(n, dtype=int)
    lower = np.full(n, -math.inf)
    upper = np.full(n, math.inf)
    unranked = [i for i in range(n) if i != first and i != second and _is_unranked(above, i)]
    while unranked:
        if game.over():
            return Outcome(game.plays, game.t, False, None, game.pairs, above)
        for i in unranked:
            for opponent in (first, second):
                if game.over():
                    return Outcome(game.plays, game.t, False, None, game.pairs, above)
                sums[i] += game.play_players(i, opponent)
                counts[i] += 1
        checked = False
        for i in unranked:
            count = int(counts[i])
            radius = schedule.radius(count - 2, count)
            if radius is not None:
                checked = True
                lower[i] = sums[i] / count - radius
                upper[i] = sums[i] / count + radius
        if not checked:  # then all kept intervals, and so the order, are what they were
            continue
        for i in range(n):
            for j in range(n):
                if upper[i] < lower[j]:
                    above[j, i] = True
        _close(above)
        unranked = [i for i in unranked if _is_unranked(above, i)]
    return Outcome(game.plays, game.t, True, _matching(above), game.pairs, above)

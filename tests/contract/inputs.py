"""Inputs of cases that are too long to write out: strengths, results and rules, drawn from seeds.

Strengths fall with the number of the item, so that rules between neighbours forbid the best pairs. All draws are of
`random.Random.random`, which is the same in every version of Python.
"""

from dataclasses import dataclass
from itertools import combinations, islice
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.int64]
Items = dict[str, int]
"""Of players `{"players": n}`, of two sides `{"rows": n, "columns": m}`."""
RULES = ("none", "absences", "exclusions", "neighbours", "divisions", "halves", "listed")


@dataclass(frozen=True)
class Rules:
    """Which pairs may be formed: None where nothing is said."""

    present: NDArray[np.bool_] | None = None
    """For each item, rows first."""
    forbidden: Pairs | None = None
    only: Pairs | None = None


@dataclass(frozen=True)
class Results:
    """Plays and sums of rewards of some pairs, in rising order."""

    pairs: Pairs
    counts: NDArray[Any]
    sums: NDArray[np.float64]


def all_pairs(items: Items) -> Pairs:
    """Every pair, in the order of edges."""
    if "players" in items:
        return np.stack(np.triu_indices(items["players"], k=1), axis=1)
    i, j = np.indices((items["rows"], items["columns"])).reshape(2, -1)
    return np.stack([i, j], axis=1)


def strengths(items: Items, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Strengths of rows and columns (players: the same twice), the strongest first."""
    random = Random(seed)
    sides = [items["players"]] if "players" in items else [items["rows"], items["columns"]]
    by_side = [np.sort([0.1 + 0.85 * random.random() for _ in range(size)])[::-1] for size in sides]
    return by_side[0], by_side[-1]


def item_strengths(items: Items, seed: int) -> NDArray[np.float64]:
    """The strength of each item, rows first."""
    u, v = strengths(items, seed)
    return u if "players" in items else np.concatenate([u, v])


def weights(items: Items, of: str, seed: int) -> NDArray[np.float64]:
    """A weight for each pair, of "products" of strengths, or of "weights" that are half such a product, half noise."""
    u, v = strengths(items, seed)
    i, j = all_pairs(items).T
    if of == "products":
        return u[i] * v[j]
    random = Random(seed + 1)
    return 0.5 * u[i] * v[j] + 0.5 * np.array([random.random() for _ in i])


def results(
    items: Items,
    *,
    seed: int,
    n_pairs: int | None,
    least: int,
    most: int,
    rewards: str,
    noise: float,
    faded: float = 1.0,
) -> Results:
    """Results of random pairs (None: of all), each played `least` to `most` times, near the products of strengths.

    Results that have `faded` count by this share.
    """
    pairs = all_pairs(items)
    if n_pairs is not None:
        pairs = pairs[_choose(Random(seed + 1), len(pairs), n_pairs)]
    u, v = strengths(items, seed)
    random = Random(seed + 2)
    first, second = (np.array([random.random() for _ in pairs]) for _ in range(2))
    counts = least + ((most - least + 1) * first).astype(np.int64)
    means = u[pairs[:, 0]] * v[pairs[:, 1]] + noise * (2 * second - 1)
    if not rewards.startswith("gaussian"):
        means = np.clip(means, 0.0, 1.0)
    sums = counts * means
    if rewards == "coins":
        sums = np.rint(sums)
    if rewards.startswith("binomial"):
        trials = int(rewards.partition(":")[2])
        sums = np.rint(sums * trials) / trials
    return Results(pairs, counts if faded == 1.0 else counts * faded, sums * faded)


def random_pairs(items: Items, *, seed: int, n_pairs: int) -> Pairs:
    """Distinct pairs, in rising order."""
    pairs = all_pairs(items)
    return pairs[_choose(Random(seed), len(pairs), n_pairs)]


def pending_pairs(items: Items, *, seed: int, n_pairs: int) -> list[Pairs]:
    """Pairs that wait for outcomes, each for one, and the first for another."""
    pairs = random_pairs(items, seed=seed, n_pairs=n_pairs)
    return [*pairs, pairs[0]]


def rules(items: Items, kind: str, seed: int) -> Rules:
    """One of seven kinds of rules."""
    n_items = sum(items.values())
    if kind == "none":
        return Rules()
    if kind == "absences":
        return Rules(present=np.arange(n_items) % 5 != 3)
    if kind == "listed":
        return Rules(only=random_pairs(items, seed=seed, n_pairs=2 * n_items))
    pairs = all_pairs(items)
    i, j = pairs.T
    divisions, random = max(2, n_items // 10), Random(seed)
    forbidden = {
        "exclusions": (np.abs(i - j) <= 6) & (np.array([random.random() for _ in pairs]) < 0.3),
        "neighbours": np.abs(i - j) <= 2,
        "divisions": i % divisions != j % divisions,
        "halves": (2 * i < max(i) + 1) == (2 * j < max(j) + 1),
    }[kind]
    return Rules(forbidden=pairs[forbidden])


def names(prefix: str, size: int) -> list[str]:
    """Names of items, in the order of their numbers."""
    return [f"{prefix}{number:04d}" for number in range(size)]


def name_pairs(size: int, first: int, last: int) -> list[tuple[str, str]]:
    """The pairs of so many players `p0`, `p1`, …, from the first to before the last, in rising order."""
    return list(islice(combinations([f"p{number}" for number in range(size)], 2), first, last))


def study_rows(study: str, lines: list[dict[str, Any]], runs: int = 5, width: float = 0.1) -> list[dict[str, Any]]:
    """Rows of a study: of each line, values such as regrets of runs that differ by a share up to `width` from them."""
    shares = [1 + width * (2 * run - runs + 1) / (runs - 1) for run in range(runs)]
    groups = []
    for line in lines:
        axis, *values_of_runs = [name for name, values in line.items() if isinstance(values, list)]
        groups.append(
            {
                "constant": {
                    "study": study,
                    "seed": 0,
                    **{name: value for name, value in line.items() if not isinstance(value, list)},
                },
                "axis": axis,
                "at": line[axis],
                "runs": {
                    name: [[round(value * share, 3) for share in shares] for value in line[name]]
                    for name in values_of_runs
                },
            }
        )
    return groups


def _choose(random: Random, size: int, count: int) -> NDArray[np.int64]:
    """So many distinct indices below `size`, in rising order."""
    if count > size:
        raise ValueError(f"{count} of {size}")
    indices: set[int] = set()
    while len(indices) < count:
        indices.add(int(size * random.random()))
    return np.array(sorted(indices))


def plain_rows(totals: Results) -> list[list[Any]]:
    """Rows of (i, j, count, sum)."""
    return [
        [i, j, count, total]
        for (i, j), count, total in zip(
            totals.pairs.tolist(), totals.counts.tolist(), totals.sums.tolist(), strict=True
        )
    ]


def log_rows(
    *,
    items: Items,
    heads: list[str],
    prefixes: list[str],
    seed: int,
    n_rows: int,
    rewards: str,
    voids: int,
    every_pair: bool = True,
) -> tuple[list[str], list[list[Any]]]:
    """The heads and rows of a log; every so many rows (`voids`; 0: never) a pair never met.

    The third head says what rows hold: "reward", or "count" with "sum" or "mean". With `every_pair` the first rows are
    of every pair in turn, before pairs are drawn.
    """
    random = Random(seed)
    u, v = strengths(items, seed + 1)
    pairs = all_pairs(items)
    rows: list[list[Any]] = []
    for number in range(n_rows):
        in_order = every_pair and number < len(pairs)
        i, j = pairs[number if in_order else int(len(pairs) * random.random())].tolist()
        mean, count = float(u[i] * v[j]), 1 if heads[2] == "reward" else 1 + int(20 * random.random())
        values = [_reward(random, rewards, mean) for _ in range(count)]
        first, second = _name(prefixes[0], i), _name(prefixes[1], j)
        if "players" in items and random.random() < 0.5:
            first, second = second, first
        if voids and number % voids == voids - 1:
            values = []
        if heads[2] == "reward":
            rows.append([first, second, values[0] if values else None])
        else:
            total = round(sum(values), 9)
            average = 0.0 if heads[3] == "sum" or not values else total / len(values)
            rows.append([first, second, len(values), total if heads[3] == "sum" else average])
    return heads, rows


def log_names(items: Items, prefixes: list[str]) -> list[list[str]]:
    """The names of the items of a log, by side."""
    return [
        [str(_name(prefix, number)) for number in range(size)]
        for prefix, size in zip(prefixes, items.values(), strict=False)
    ]


def _name(prefix: str, number: int) -> str | int:
    """The name of an item; without a prefix a number."""
    return f"{prefix}{number}" if prefix else 100 + number


def _reward(random: Random, rewards: str, mean: float) -> float:
    if rewards == "coins":
        return float(random.random() < mean)
    if rewards.startswith("binomial"):
        trials = int(rewards.partition(":")[2])
        return sum(random.random() < mean for _ in range(trials)) / trials
    noise = 2 * random.random() - 1
    if rewards.startswith("gaussian"):
        return round(mean + 0.5 * noise, 3)
    return round(min(1.0, max(0.0, mean + 0.2 * noise)), 3)

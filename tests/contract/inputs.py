"""Inputs of cases that are too long to write out: strengths, results and rules, drawn from seeds.

Strengths fall with the number of the item, so that rules between neighbours forbid the best pairs. All draws are of
`random.Random.random`, which is the same in every version of Python.
"""

from dataclasses import dataclass
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
    counts: NDArray[np.int64]
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
    drawn = [np.sort([0.1 + 0.85 * random.random() for _ in range(size)])[::-1] for size in sides]
    return drawn[0], drawn[-1]


def weights(items: Items, seed: int) -> NDArray[np.float64]:
    """A weight for each pair: half a product of strengths, half noise."""
    u, v = strengths(items, seed)
    i, j = all_pairs(items).T
    random = Random(seed + 1)
    return 0.5 * u[i] * v[j] + 0.5 * np.array([random.random() for _ in i])


def results(
    items: Items, *, seed: int, n_pairs: int | None, least: int, most: int, rewards: str, noise: float
) -> Results:
    """Results of random pairs (None: of all), each played `least` to `most` times, near the products of strengths."""
    pairs = all_pairs(items)
    if n_pairs is not None:
        pairs = pairs[_choose(Random(seed + 1), len(pairs), n_pairs)]
    u, v = strengths(items, seed)
    random = Random(seed + 2)
    first, second = (np.array([random.random() for _ in pairs]) for _ in range(2))
    counts = least + ((most - least + 1) * first).astype(np.int64)
    means = u[pairs[:, 0]] * v[pairs[:, 1]] + noise * (2 * second - 1)
    if rewards.startswith("gaussian"):
        return Results(pairs, counts, counts * means)
    sums = counts * np.clip(means, 0.0, 1.0)
    if rewards == "coins":
        return Results(pairs, counts, np.rint(sums))
    if rewards.startswith("binomial"):
        trials = int(rewards.partition(":")[2])
        return Results(pairs, counts, np.rint(sums * trials) / trials)
    return Results(pairs, counts, sums)


def random_pairs(items: Items, *, seed: int, n_pairs: int) -> Pairs:
    """Distinct pairs, in rising order."""
    pairs = all_pairs(items)
    return pairs[_choose(Random(seed), len(pairs), n_pairs)]


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


def _choose(random: Random, size: int, count: int) -> NDArray[np.int64]:
    """So many distinct indices below `size`, in rising order."""
    if count > size:
        raise ValueError(f"{count} of {size}")
    chosen: set[int] = set()
    while len(chosen) < count:
        chosen.add(int(size * random.random()))
    return np.array(sorted(chosen))


def plain_rows(found: Results) -> list[list[Any]]:
    """Rows of (i, j, count, sum)."""
    return [
        [i, j, count, total]
        for (i, j), count, total in zip(found.pairs.tolist(), found.counts.tolist(), found.sums.tolist(), strict=True)
    ]

"""Measure grab and pb-mhb beside what the authors' code lost on their click models: the tables in docs/policies.md.

Usage: python docs/make/rivals.py [RUNS]     40 runs by default, about five minutes of one core
       python docs/make/rivals.py plain MODEL HORIZON RUNS [shared]

The second form plays GRAB in plain Python, sharing only the KL bound with the policy: a random first leader, ties on
a square table as the authors' code does, and with `shared` one random number for all positions of a round, as in their
simulator. 10^5 rounds take about ten seconds.

The authors' figures were measured with their code (github.com/gaudel/ranking_bandits): grab in 6 runs at T = 10^4 and
in 4 at 10^5, pb-mhb in 2; mean ± standard error.
"""

import sys
from collections import Counter
from itertools import pairwise
from math import log
from time import process_time

import numpy as np
from scipy.optimize import linear_sum_assignment

import matchbandit as mb
from matchbandit.kl import kl_upper

YANDEX = next(iter(mb.click_models("yandex")))
MODELS = ("kdd:19", "kdd:10", YANDEX, "simulated:small", "simulated:xsmall", "simulated:big")
AUTHORS = {
    ("grab", 10**4): ("63 ± 10", "115 ± 6", "", "209 ± 25", "195 ± 33", "607 ± 90"),
    ("grab", 10**5): ("135 ± 20", "356 ± 11", "108 ± 25", "451 ± 22", "456 ± 63", "1184 ± 98"),
    ("pb-mhb", 10**4): ("", "50 ± 6", "", "91 ± 6", "65 ± 4", "219 ± 20"),
    ("pb-mhb", 10**5): ("",) * len(MODELS),
}
WAYS = {
    "grab": (("", {}, "all"),),
    "pb-mhb": ((", `first_is_best`", {"first_is_best": True}, "except-first"), ("", {}, "all")),
}


def measure(policy: mb.PolicySpec, model: str, shuffle: str, horizon: int, runs: int) -> tuple[str, float]:
    """Mean ± standard error of the regret, and the microseconds of a round."""
    family = mb.family("click-model", model=model, shuffle=shuffle)
    start = process_time()
    final = mb.simulate(family, policy, horizon=horizon, runs=runs, seed=1, checkpoints=[], workers=1).final
    took = (process_time() - start) / runs / horizon
    return f"{final.mean():.0f} ± {final.std(ddof=1) / np.sqrt(runs):.0f}", 1e6 * took


def main(runs: int) -> None:
    """Print a table of the models, and the time that a round takes."""
    columns: dict[str, tuple[str, ...]] = {}
    for (name, horizon), theirs in AUTHORS.items():
        power = f"10^{len(str(horizon)) - 1}"
        if any(theirs):
            columns[f"{name}, {power}: authors' code"] = theirs
        for words, options, shuffle in WAYS[name]:
            rows = [measure(mb.policy(name, **options), model, shuffle, horizon, runs) for model in MODELS]
            columns[f"{name}, {power}: here{words}"] = tuple(text for text, _ in rows)
            times = [time for _, time in rows]
            print(f"{name}, T = {power}{words}: {min(times):.1f} to {max(times):.1f} µs a round", flush=True)
    print("| model |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 1) + "|")
    for k, model in enumerate(MODELS):
        print(f"| {model} |", " | ".join(texts[k] for texts in columns.values()), "|")


def plain_grab(means: np.ndarray, horizon: int, rng: np.random.Generator, *, shared: bool) -> float:
    """The regret of GRAB on a table of items × positions, γ = max(1, L − K)."""
    n_items, n_positions = means.shape
    gamma, positions = max(1, n_items - n_positions), np.arange(n_positions)
    averages, upper = np.zeros((n_items, n_items)), np.ones((n_items, n_items))  # beyond the page: nothing to gain
    plays, leads = np.zeros(means.shape), Counter[tuple[int, ...]]()
    optimum = means[linear_sum_assignment(means, maximize=True)].sum()
    leader, swaps, regret = rng.permutation(n_items), [], 0.0
    for _ in range(horizon):
        shown, key = leader.copy(), tuple(leader[:n_positions].tolist())
        if leads[key] % gamma > 0:
            gains = [
                upper[leader[b], a] + upper[leader[a], b] - upper[leader[a], a] - upper[leader[b], b] for a, b in swaps
            ]
            best = int(np.argmax(gains))
            if gains[best] > 0:
                shown[list(swaps[best])] = shown[list(swaps[best])[::-1]]
        leads[key] += 1
        chances = means[shown[:n_positions], positions]
        regret += optimum - chances.sum()
        clicks = (rng.random() if shared else rng.random(n_positions)) < chances
        for k, item in enumerate(shown[:n_positions]):
            plays[item, k] += 1
            averages[item, k] += (clicks[k] - averages[item, k]) / plays[item, k]
            upper[item, k] = kl_upper(averages[item, k], log(horizon) / plays[item, k])
        rows, columns = linear_sum_assignment(averages, maximize=True)
        leader = rows[np.argsort(columns)]
        order = np.argsort(-averages[leader[:n_positions], positions])
        swaps = [*pairwise(order), *((order[-1], k) for k in range(n_positions, n_items))]
    return float(regret)


def plain(model: str, horizon: int, runs: int, *, shared: bool) -> None:
    """Print the mean regret of plain runs."""
    rng, family = np.random.default_rng(7), mb.family("click-model", model=model)
    lost = np.array([plain_grab(family.draw(7, run).matrix, horizon, rng, shared=shared) for run in range(runs)])
    print(f"{model}, T = {horizon}, {runs} runs: {lost.mean():.0f} ± {lost.std(ddof=1) / np.sqrt(runs):.0f}")


if __name__ == "__main__" and sys.argv[1:2] == ["plain"]:
    plain(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), shared="shared" in sys.argv)
elif __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)

"""Measure grab and pb-mhb beside what the authors' code lost on their click models: the tables in docs/policies.md.

Usage: python docs/make/rivals.py [RUNS]     40 runs by default, about five minutes of one core

The authors' figures were measured with their code (github.com/gaudel/ranking_bandits): grab in 6 runs at T = 10^4 and
in 4 at 10^5, pb-mhb in 2; mean ± standard error.
"""

import sys
from time import process_time

import numpy as np

import matchbandit as mb

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


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)

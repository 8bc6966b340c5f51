"""Error rates and rounds of the policies that identify: the table in docs/identification.md. Takes some minutes.

Usage: python docs/make/identification_table.py [RUNS]
"""

import os
import sys

import numpy as np

import matchbandit as mb

BIPARTITE = {
    "3×4": mb.Bipartite([0.9, 0.6, 0.3], [0.8, 0.5, 0.4, 0.2]),
    "5×2, equal losers": mb.Bipartite([0.8, 0.4, 0.4, 0.4, 0.4], [0.9, 0.3]),
    "1×5": mb.Bipartite([0.9], [0.7, 0.6, 0.4, 0.2, 0.1]),
    "2×2, small gaps": mb.Bipartite([0.7, 0.65], [0.8, 0.75]),
    "3×3, tiny means": mb.Bipartite([0.2, 0.1, 0.05], [0.3, 0.15, 0.1]),
    "4×3, Gaussian sd 0.5": mb.Bipartite([0.9, 0.6, 0.5, 0.1], [0.7, 0.5, 0.2], rewards=mb.Gaussian(sd=0.5)),
}
MONOPARTITE = {
    "4 players": mb.Monopartite([0.9, 0.7, 0.4, 0.3]),
    "6 players, equal partners": mb.Monopartite([0.9, 0.9, 0.6, 0.6, 0.3, 0.3]),
    "8 players": mb.Monopartite([0.95, 0.9, 0.7, 0.65, 0.45, 0.4, 0.2, 0.15]),
    "4 players, small gap": mb.Monopartite([0.8, 0.75, 0.68, 0.3]),
    "6 players, tiny means": mb.Monopartite([0.35, 0.3, 0.15, 0.12, 0.05, 0.02]),
    "4 players, Gaussian sd 0.5": mb.Monopartite([0.9, 0.7, 0.5, 0.2], rewards=mb.Gaussian(sd=0.5)),
}
MATCHINGS = {
    "8 players, equal partners": mb.Monopartite([0.65, 0.65, 0.55, 0.55, 0.45, 0.45, 0.35, 0.35]),
    "8 players, two far ahead": mb.Monopartite([0.95, 0.9, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35]),
    "6 players, near-ties across pairs": mb.Monopartite([0.9, 0.8, 0.78, 0.5, 0.48, 0.2]),
    "6 players, small strengths": mb.Monopartite([0.3, 0.25, 0.2, 0.15, 0.1, 0.05]),
    "6 players, three close astride a border": mb.Monopartite([0.9, 0.6, 0.55, 0.5, 0.2, 0.1]),
    "4 players": mb.Monopartite([0.8, 0.7, 0.5, 0.4]),
    "10 players": mb.Monopartite([0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
}
CASES = [("pair-elim", BIPARTITE), ("pair-elim-mono", MONOPARTITE), ("pair-select", MONOPARTITE)]

HEAD = (
    r"| policy | instance | $\delta$ | runs | wrong | not identified | mean rounds |"
    + "\n|---|---|---|---|---|---|---|"
)


def main(runs: int) -> None:
    workers = os.cpu_count() or 1
    print(HEAD)

    def line(name: str, words: str, problem: mb.Bipartite | mb.Monopartite, delta: float, runs: int) -> None:
        found = mb.identify(problem, mb.policy(name, delta=delta), runs=runs, seed=1, workers=workers)
        told = found.summary()
        lost = told["runs"] - told["identified"]
        mean = f"{told['rounds']['mean']:,.0f}"
        print(f"| `{name}` | {words} | {delta:g} | {runs} | {told['wrong']} | {lost} | {mean} |", flush=True)

    for name, instances in CASES:
        for words, problem in instances.items():
            for delta in (0.05, 0.2):
                line(name, words, problem, delta, runs)
    print("\n| instance | $\\delta$ | runs | wrong | `matching-id` | wrong | `rank1-identify` | times fewer |")
    print("|---|---|---|---|---|---|---|---|")
    ratios = []
    for words, problem in MATCHINGS.items():
        for delta in (0.05, 0.2):
            slow, fast = (
                mb.identify(problem, mb.policy(name, delta=delta), runs=runs, seed=1, workers=workers)
                for name in ("matching-id", "rank1-identify")
            )
            ratios.append(slow.rounds.mean() / fast.rounds.mean())
            told = [(f.summary()["wrong"], f"{f.rounds.mean():,.0f}") for f in (slow, fast)]
            cells = [words, f"{delta:g}", str(runs), *(str(part) for pair in told for part in pair)]
            print(f"| {' | '.join(cells)} | {ratios[-1]:.1f} |", flush=True)
    print(f"\ngeometric mean: {np.exp(np.mean(np.log(ratios))):.1f} times fewer, least {min(ratios):.1f}\n")
    print(HEAD)
    for n in (4, 8, 16):
        problem = mb.Bipartite([0.9] + [0.45] * (n - 1), [0.9] + [0.45] * (n - 1))
        for delta in (0.05, 0.2):
            line("track-and-stop", f"{n}×{n}, 0.9 above 0.45", problem, delta, min(runs, 100))
            line("pair-elim", f"{n}×{n}, 0.9 above 0.45", problem, delta, min(runs, 100))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)

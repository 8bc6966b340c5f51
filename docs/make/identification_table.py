"""Error rates and rounds of the policies that identify: the table in docs/identification.md. Takes some minutes.

Usage: python docs/make/identification_table.py [RUNS]
"""

import os
import sys

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
    print()
    print(HEAD)
    for n in (4, 8, 16):
        problem = mb.Bipartite([0.9] + [0.45] * (n - 1), [0.9] + [0.45] * (n - 1))
        for delta in (0.05, 0.2):
            line("track-and-stop", f"{n}×{n}, 0.9 above 0.45", problem, delta, min(runs, 100))
            line("pair-elim", f"{n}×{n}, 0.9 above 0.45", problem, delta, min(runs, 100))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)

"""Every policy between what is possible and what is promised: the tables in docs/theory.md. Takes some minutes.

Usage: python docs/make/bounds_table.py [RUNS [FOLDER]]

What is finished is kept in the folder, by default ./standing: the same command goes on from there.
"""

import sys
from itertools import groupby

from standing import DELTA, HORIZON, MAX_ROUNDS, claims, standing

from matchbandit.placement import Placement


def spaced(value: float) -> str:
    if value < 1e-6:  # nothing but rounding
        return "0"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main(runs: int, folder: str) -> None:
    print(f"T = {HORIZON:,}, δ = {DELTA}, {runs} runs\n")
    every: list[Placement] = []
    rows = standing(folder, runs=runs)
    for instance, of_instance in groupby(rows, key=lambda row: row.instance):
        print(f"**{instance}**\n")
        print("| of | plays → seeks | lower bound | policy | measured | ratio | upper bound |")
        print("|---|---|---|---|---|---|---|")
        chosen = sorted(of_instance, key=lambda row: (row.of, row.plays + row.seeks, not row.measured, row.mean))
        every += chosen
        for row in chosen:
            lower = spaced(row.lower) + ("" if row.of == "rounds" else r" ($T \to \infty$)")
            free = "" if row.of == "regret" or row.binding else " †"
            measured = (
                f"{spaced(row.mean)} ± {spaced(row.error)}"
                if row.measured
                else f"no answer in {spaced(MAX_ROUNDS)} rounds"
            )
            ratio = f"{row.mean / row.lower:.3g}" if row.measured else ""
            upper = "" if row.upper is None else spaced(row.upper) + ("" if row.explicit else " ($c = 1$)")
            cells = (row.of, f"{row.plays} → {row.seeks}", lower, f"`{row.policy}`{free}", measured, ratio, upper)
            print(f"| {' | '.join(cells)} |", flush=True)
        print()
    for claim in claims(every):
        print(f"- {claim.claim}: {claim.measured}: {'holds' if claim.holds else 'fails'}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2] if len(sys.argv) > 2 else "standing")

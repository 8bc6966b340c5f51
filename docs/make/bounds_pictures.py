"""The two pictures of docs/theory.md: results laid over bounds.

Usage: python docs/make/bounds_pictures.py FOLDER
"""

import os
import sys
from pathlib import Path

import matchbandit as mb
from matchbandit.placement import bounds_chart


def main(folder: Path) -> None:
    workers = os.cpu_count() or 1
    slots = mb.Bipartite([0.9, 0.3, 0.2], [0.9, 0.5, 0.1])
    runs = [
        mb.simulate(slots, name, horizon=10**6, runs=20, seed=1, workers=workers)
        for name in ("pair-elim", "uts", "rank1-thompson")
    ]
    print(bounds_chart(slots, runs).save(folder / "bounds-regret.png"))
    players = mb.Monopartite([0.9, 0.8, 0.6, 0.5, 0.3, 0.2])
    found = [
        mb.identify(players, mb.policy(name, delta=delta), runs=20, seed=1, workers=workers)
        for name in ("matching-id", "rank1-certify", "clucb")
        for delta in (0.2, 0.05, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    ]
    print(bounds_chart(players, found).save(folder / "bounds-rounds.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

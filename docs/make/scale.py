"""The picture of docs/engines.md on scale: what a round of rank1-thompson costs among so many players.

Usage: python docs/make/scale.py FOLDER [measure]

With `measure` the sizes are played first, each in a process of its own, and the rows beside this script are written
anew; that takes half an hour on one core, and 2 GiB. Without it the picture is drawn from the rows that are there.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import matchbandit as mb
from matchbandit.extras import need
from matchbandit.figures.style import words

ROWS = Path(__file__).with_name("scale.json")
ROUNDS = {300: 5000, 1000: 5000, 2000: 5000, 10_000: 400, 100_000: 30, 1_000_000: 22}
"""How long each size is played."""
COLOURS = ("#0072b2", "#d55e00")


def measured(n_players: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each round: stored pairs, seconds of the ask and of the tell, and the share of the optimum lost."""
    rng = np.random.default_rng(1)
    players = mb.Monopartite(rng.uniform(0.1, 0.95, n_players))
    _play(mb.Monopartite(players.u[:200]), 3, rng)  # what is compiled, is compiled now
    return _play(players, rounds, rng)


def _play(players: mb.Monopartite, rounds: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    one = mb.policy("rank1-thompson").build(players.graph, seed=1)
    optimum, rows = players.optimum("matching"), []
    for number in range(1, rounds + 1):
        times = [time.process_time(), time.perf_counter()]
        pairs = one.ask()
        times += [time.process_time(), time.perf_counter()]
        means = players.u[pairs].prod(axis=1)
        rewards = players.rewards.draw(means, rng)
        times += [time.process_time(), time.perf_counter()]
        one.tell(pairs, rewards)
        times += [time.process_time(), time.perf_counter()]
        rows.append(
            {
                "players": len(players.u),
                "round": number,
                "pairs": int(one.stored.start[-1]),  # type: ignore[attr-defined]
                "ask": times[2] - times[0],
                "ask_by_the_clock": times[3] - times[1],
                "tell": times[6] - times[4],
                "lost": 1 - means.sum() / optimum,
                "peak_MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What a size cost: at the end, at most, and on average."""
    last, asks = rows[-1], np.array([row["ask"] for row in rows])
    late = rows[-max(3, len(rows) // 10) :]
    return {
        **{key: last[key] for key in ("players", "round", "pairs", "peak_MiB")},
        "seconds_a_round": float(np.median([row["ask"] + row["tell"] for row in late])),
        "ask_median": float(np.median(asks)),
        "ask_p99": float(np.percentile(asks, 99)),
        "ask_most": float(asks.max()),
        "ask_most_by_the_clock": max(row["ask_by_the_clock"] for row in rows),
        "lost_at_first": rows[0]["lost"],
        "lost_at_last": float(np.mean([row["lost"] for row in late])),
    }


def measure() -> None:
    """Play all sizes, one process at a time."""
    rows = []
    for n_players in ROUNDS:
        told = subprocess.run([sys.executable, __file__, "one", str(n_players)], capture_output=True, check=True)
        rows.append(json.loads(told.stdout))
        print(rows[-1], flush=True)
        ROWS.write_text(json.dumps(rows, indent=1) + "\n")


def draw(folder: Path) -> None:
    """Seconds, stored pairs and memory against the number of players."""
    rows = json.loads(ROWS.read_text())
    pyplot = need("matplotlib.pyplot", "drawing")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    x = [row["players"] for row in rows]
    words(left, "a round of rank1-thompson, one core", "players", "seconds")
    left.plot(x, [row["seconds_a_round"] for row in rows], "o-", color=COLOURS[0], label="a round at the end (median)")
    left.plot(x, [row["ask_most"] for row in rows], "o--", color=COLOURS[1], label="the slowest ask", fillstyle="none")
    words(right, "stored pairs, and memory at its peak", "players", "pairs")
    right.plot(x, [row["pairs"] for row in rows], "o-", color=COLOURS[0], label="pairs stored")
    right.plot(x, [n * (n - 1) / 2 for n in x], ":", color="gray", label="all pairs")
    bytes_axis = right.twinx()
    bytes_axis.plot(x, [row["peak_MiB"] for row in rows], "o--", color=COLOURS[1], fillstyle="none")
    bytes_axis.set_ylabel("MiB (dashed)")
    for axes, limits in ((left, (3e-4, 20)), (right, (1e4, 1e12)), (bytes_axis, (100, 10_000))):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(*limits)
    left.legend(fontsize=8, frameon=False)
    right.legend(fontsize=8, frameon=False, loc="upper left")
    figure.savefig(folder / "scale.png", dpi=150)


if __name__ == "__main__":
    if sys.argv[1] == "one":
        n = int(sys.argv[2])
        json.dump(summary(measured(n, ROUNDS[n])), sys.stdout)
    else:
        if "measure" in sys.argv[2:]:
            measure()
        draw(Path(sys.argv[1]))

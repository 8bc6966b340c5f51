"""The pictures of docs/engines.md on scale: what a round of rank1-thompson costs among so many players.

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
from matchbandit.figures import Chart, Series

ROWS = Path(__file__).with_name("scale.json")
ROUNDS = {300: 5000, 1000: 5000, 2000: 5000, 10_000: 400, 100_000: 30, 1_000_000: 22}
"""How long each size is played."""


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


def charts() -> list[Chart]:
    """Seconds and stored pairs against the number of players."""
    rows = json.loads(ROWS.read_text())
    x = np.array([row["players"] for row in rows], dtype=float)

    def column(name: str) -> np.ndarray:
        return np.array([row[name] for row in rows], dtype=float)

    told = "rank1-thompson, matchings of players with strengths between 0.1 and 0.95; one core, one run, seed 1"
    seconds = (
        Series("a round at the end, median", x, column("seconds_a_round"), key="rank1-thompson", dash="solid"),
        Series("the slowest ask", x, column("ask_most"), dash="dashed", is_hollow=True),
    )
    stored = (
        Series("pairs stored", x, column("pairs"), key="rank1-thompson", dash="solid"),
        Series("all pairs", x, x * (x - 1) / 2, kind="reference", dash="dashed"),
    )
    looks = {"x_log": True, "y_log": True, "caption": f"{told}."}
    return [
        Chart("scale", "What a round costs", "players", "seconds", seconds, **looks),
        Chart("scale-pairs", "Pairs that are stored", "players", "pairs", stored, **looks),
    ]


def draw(folder: Path) -> None:
    """The pictures, as PNG and PDF."""
    for chart in charts():
        print(chart.save(folder / f"{chart.name}.png"))


if __name__ == "__main__":
    if sys.argv[1] == "one":
        n = int(sys.argv[2])
        json.dump(summary(measured(n, ROUNDS[n])), sys.stdout)
    else:
        if "measure" in sys.argv[2:]:
            measure()
        draw(Path(sys.argv[1]))

"""Measure rank1-thompson on the panel of strong, weak, tied and published instances: the table in docs/policies.md.

Usage: python docs/make/panel.py measure [HORIZON [RUNS]]     measure what panel.json lacks; 10^5 and 10^6, 200 runs
       python docs/make/panel.py                              print the table and check its conditions

panel.json holds the instances, and gets a row for each instance and horizon. A run is linear if it loses more than 20 %
of the optimum per round in the second half of its rounds. The whole panel takes about an hour on two idle cores.
"""

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import matchbandit as mb

ROWS = Path(__file__).with_name("panel.json")
HORIZONS, RUNS, SEED = (10**5, 10**6), 200, 1
LINEAR = 0.2


def measure(instance: dict[str, Any], horizon: int, runs: int) -> dict[str, Any]:
    """Mean, quantiles and linear runs of one instance."""
    u, v = instance["u"], instance.get("v")
    problem = mb.Monopartite(u) if v is None else mb.Bipartite(u, v)
    policy = mb.policy("rank1-thompson", selection=instance["selection"])
    at = [horizon // 2, horizon]
    played = mb.simulate(problem, policy, horizon=horizon, runs=runs, seed=SEED, checkpoints=at, workers=1)
    half, final = played.regret.T
    late = (final - half) / (horizon - horizon // 2)
    return {
        "runs": runs,
        "mean": round(float(final.mean()), 2),
        "se": round(float(final.std(ddof=1) / np.sqrt(runs)), 2),
        "median": round(float(np.median(final)), 2),
        "q99": round(float(np.quantile(final, 0.99)), 1),
        "max": round(float(final.max()), 1),
        "linear_runs": int((late > LINEAR * problem.optimum(instance["selection"])).sum()),
    }


def measure_missing(horizons: tuple[int, ...], runs: int) -> None:
    """Measure what is not in the file, and write each row when it is finished."""
    panel = json.loads(ROWS.read_text())
    jobs = [(k, T) for T in horizons for k, instance in enumerate(panel) if _key(T) not in instance]
    with ProcessPoolExecutor(2) as pool:
        rows = pool.map(measure, [panel[k] for k, _ in jobs], [T for _, T in jobs], [runs] * len(jobs))
        for (k, T), row in zip(jobs, rows, strict=True):
            panel[k][_key(T)] = row
            ROWS.write_text("[\n" + ",\n".join(f" {json.dumps(each)}" for each in panel) + "\n]\n")
            print(panel[k]["name"], T, row, flush=True)


def _key(horizon: int) -> str:
    return f"at 1e{len(str(horizon)) - 1}"


def table(panel: list[dict[str, Any]]) -> str:
    """The rows of the table in Markdown, at the longest horizon."""
    lines = []
    for instance in panel:
        row = instance[_key(HORIZONS[-1])]
        cells = [f"{row['mean']:,.0f}", f"{row['q99']:,.0f}", f"{row['max'] / row['median']:.1f}"]
        lines.append(f"| {instance['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def conditions(panel: list[dict[str, Any]]) -> list[str]:
    """What the panel must fulfil and does not."""
    failures = []
    for T in HORIZONS:
        for instance in panel:
            row = instance.get(_key(T))
            if not row:
                continue
            name = f"{instance['name']} {_key(T)}"
            share = 0.02 if instance["name"] in ("weak-1", "weak-slots") else 0.01
            if row["linear_runs"] > (0 if T == 10**6 else share * row["runs"]):
                failures.append(f"{name}: {row['linear_runs']} linear runs")
            if T == 10**6 and row["max"] > 12 * row["median"]:
                failures.append(f"{name}: the largest is {row['max'] / row['median']:.1f} times the median")
    return failures


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        horizons = (int(float(sys.argv[2])),) if len(sys.argv) > 2 else HORIZONS
        measure_missing(horizons, int(sys.argv[3]) if len(sys.argv) > 3 else RUNS)
    else:
        print(table(json.loads(ROWS.read_text())))
        print("\n".join(conditions(json.loads(ROWS.read_text()))) or "all conditions hold")

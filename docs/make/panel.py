"""Measure rank1-thompson on the panel of strong, weak, tied and published instances: the table in docs/policies.md.

Usage: python docs/make/panel.py measure [HORIZON [RUNS]]     measure what panel.json lacks; 10^5 and 10^6, 200 runs
       python docs/make/panel.py                              print the table and check its conditions

panel.json holds the instances with what version 0.7 lost on them, and gets a row for each instance and horizon. A run
is linear if it loses more than 20 % of the optimum per round in the second half of its rounds. The whole panel takes
about an hour on two idle cores.
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
        rows = [(each, each[f"rank1-thompson 0.7 {_key(T)}"], each[_key(T)]) for each in panel if _key(T) in each]
        if not rows:
            continue
        ratio = float(np.exp(np.mean([np.log(new["mean"] / old["mean"]) for _, old, new in rows])))
        print(f"{_key(T)}: geometric mean of the ratios of means {ratio:.3f}")
        if ratio > 0.85:
            failures.append(f"{_key(T)}: the geometric mean is {ratio:.3f}, above 0.85")
        for instance, old, new in rows:
            name = f"{instance['name']} {_key(T)}"
            share = 0.02 if instance["name"] in ("weak-1", "weak-slots") else 0.01
            allowed = 0 if T == 10**6 else share * new["runs"]
            if new["linear_runs"] > allowed:
                failures.append(f"{name}: {new['linear_runs']} linear runs")
            if T == 10**6 and new["max"] > 12 * new["median"]:
                failures.append(f"{name}: the largest is {new['max'] / new['median']:.1f} times the median")
            if not old["linear_runs"]:
                if new["mean"] > 1.2 * old["mean"]:
                    failures.append(f"{name}: the mean is {new['mean'] / old['mean']:.2f} times that of 0.7")
                if new["q99"] > 1.7 * old["q99"]:
                    failures.append(f"{name}: the 99 % quantile is {new['q99'] / old['q99']:.2f} times that of 0.7")
    return failures


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        horizons = (int(float(sys.argv[2])),) if len(sys.argv) > 2 else HORIZONS
        measure_missing(horizons, int(sys.argv[3]) if len(sys.argv) > 3 else RUNS)
    else:
        print(table(json.loads(ROWS.read_text())))
        print("\n".join(conditions(json.loads(ROWS.read_text()))) or "all conditions hold")

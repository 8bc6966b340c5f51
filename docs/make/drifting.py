"""Regret over the half-life for two speeds of drift, and without any: docs/img/drifting.png, and drifting.json.

Matchings of eight players whose strengths walk at random on the logit scale, measured against the best matching of
each round.

Usage: python docs/make/drifting.py [RUNS]     measure, and draw
       python docs/make/drifting.py draw       draw again what is in drifting.json
"""

import json
import sys
from pathlib import Path

import numpy as np

import matchbandit as mb
from matchbandit.figures import Chart, Series
from matchbandit.formatting import grouped
from matchbandit.results.statistics import standard_error

HERE = Path(__file__)
ROWS, PICTURE = HERE.with_name("drifting.json"), HERE.parent.parent / "img" / "drifting.png"
ROUNDS, SEED = 20_000, 1
START = mb.Monopartite(np.linspace(0.9, 0.2, 8).round(1))
STEPS = {0.05: "fast walk: step 0.05", 0.005: "slow walk: step 0.005", 0.0: "no drift"}
HALF_LIVES = (None, 30, 100, 300, 1000, 3000, 10_000)


def measure(runs: int) -> None:
    rows = []
    for step in STEPS:
        problem = mb.Drifting(START, mb.RandomWalk(step))
        never = np.zeros(runs)
        for half_life in HALF_LIVES:
            policy = mb.policy("rank1-thompson", half_life=half_life)
            regret = mb.simulate(problem, policy, horizon=ROUNDS, runs=runs, seed=SEED, workers=None).final
            never = regret if half_life is None else never
            saving = never - regret  # in the same runs, which have the same strengths
            row = {"step": step, "half_life": half_life, **summary("regret", regret), **summary("saving", saving)}
            print(row, flush=True)
            rows.append(row)
    about = {"problem": repr(START), "rounds": ROUNDS, "runs": runs, "seed": SEED, "version": mb.__version__}
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    ROWS.write_text(f'{json.dumps(about)[:-1]}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


def summary(name: str, values: np.ndarray) -> dict[str, float]:
    """The mean over the runs, and its standard error."""
    return {name: round(float(values.mean()), 1), f"{name}_error": round(standard_error(values), 1)}


def chart() -> Chart:
    """Regret over the half-life for each speed, and, as a line across, the regret if nothing is forgotten."""
    results = json.loads(ROWS.read_text(encoding="utf-8"))
    lines = []
    for step, label in STEPS.items():
        chosen = [row for row in results["rows"] if row["step"] == step]
        fading = [row for row in chosen if row["half_life"] is not None]
        x, mean, error = (
            np.array([row[key] for row in fading], float) for key in ("half_life", "regret", "regret_error")
        )
        lines.append(Series(label, x, mean, mean - 2 * error, mean + 2 * error, key=str(step), dash="solid"))
        never = next(row["regret"] for row in chosen if row["half_life"] is None)
        lines.append(Series("", x[[0, -1]], np.array([never, never]), key=str(step), kind="reference", dash="dotted"))
    return Chart(
        name="drifting",
        title="The best half-life depends on the speed of drift",
        x_label="half-life, in rounds",
        y_label="regret",
        series=tuple(lines),
        caption=f"rank1-thompson; matchings of 8 players, {grouped(ROUNDS)} rounds, {results['runs']} runs. "
        "Bands: two standard errors of the mean. Dotted: nothing is forgotten.",
        x_log=True,
        y_log=True,
        x_ticks=tuple(float(h) for h in HALF_LIVES if h),
    )


if __name__ == "__main__":
    if sys.argv[1:] != ["draw"]:
        measure(int(sys.argv[1]) if sys.argv[1:] else 20)
    print(chart().save(PICTURE))

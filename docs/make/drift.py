"""What fading saves where strengths drift, and what it costs where they do not: docs/img/drift.png, and drift.json.

Matchings of eight players, told by hand, as live. `improving`: who is weak at first learns fast, so that the order is
another one in the end. `walking`: all strengths walk at random. `turning`: they rise and fall, like the seasons, once
in all the rounds. `still`: nothing changes. The regret of a round is against the best matching of that round.

Usage: python docs/make/drift.py [RUNS]     measure, and draw
       python docs/make/drift.py draw       draw again what is in drift.json
"""

import json
import sys
from pathlib import Path

import numpy as np

import matchbandit as mb
from matchbandit.figures import Chart, Series
from matchbandit.formatting import grouped

HERE = Path(__file__)
ROWS, PICTURE = HERE.with_name("drift.json"), HERE.parent.parent / "img" / "drift.png"
PLAYERS, ROUNDS = 8, 20_000
HALF_LIVES = (None, 30, 100, 300, 1000, 3000, 10_000)
STEP = 0.003
"""A walk's step in a round: about 0.3 in 10 000 rounds."""
WORDS = {
    "improving": "players who get better",
    "walking": "strengths that walk",
    "turning": "seasons",
    "still": "nothing changes",
}


def improving(_: np.random.Generator) -> np.ndarray:
    """Strengths, rounds × players: from `first` towards `last`, half the way every 4000 rounds."""
    first = np.array([0.75, 0.65, 0.55, 0.45, 0.35, 0.25, 0.15, 0.05])
    last = np.array([0.75, 0.65, 0.55, 0.45, 0.95, 0.90, 0.85, 0.60])
    left = 0.5 ** (np.arange(ROUNDS) / 4000)
    return last + left[:, None] * (first - last)


def walking(rng: np.random.Generator) -> np.ndarray:
    """Each strength takes a step to either side, and turns back at 0.05 and 0.95."""
    steps = STEP * rng.choice([-1.0, 1.0], (ROUNDS, PLAYERS))
    far = (rng.uniform(0.05, 0.95, PLAYERS) + np.cumsum(steps, axis=0) - 0.05) % 1.8
    return 0.05 + np.where(far > 0.9, 1.8 - far, far)


def turning(_: np.random.Generator) -> np.ndarray:
    """Sines, each an eighth of all the rounds ahead of the last."""
    turns = np.arange(ROUNDS)[:, None] / ROUNDS + np.arange(PLAYERS) / PLAYERS
    return np.asarray(0.5 + 0.4 * np.sin(2 * np.pi * turns))


def still(_: np.random.Generator) -> np.ndarray:
    """The first strengths of `improving`, for good."""
    return np.tile([0.75, 0.65, 0.55, 0.45, 0.35, 0.25, 0.15, 0.05], (ROUNDS, 1))


def regret(u: np.ndarray, half_life: float | None, run: int) -> float:
    """What rank1-thompson loses against the best matching of every round."""
    policy = mb.policy("rank1-thompson", half_life=half_life).build(mb.monopartite(PLAYERS), seed=1, run=run)
    rng, lost = np.random.default_rng([run, 1]), 0.0
    for now in u:
        pairs = policy.ask()
        means = now[pairs[:, 0]] * now[pairs[:, 1]]
        ranked = np.sort(now)
        lost += float(ranked[::2] @ ranked[1::2] - means.sum())
        policy.tell(pairs, (rng.random(len(means)) < means).astype(float))
    return lost


def measure(runs: int) -> None:
    rows = []
    for scene in (improving, walking, turning, still):
        for half_life in HALF_LIVES:
            lost = [regret(scene(np.random.default_rng([run, 0])), half_life, run) for run in range(runs)]
            rows.append(
                {
                    "scene": scene.__name__,
                    "half_life": half_life,
                    "runs": runs,
                    "rounds": ROUNDS,
                    "mean": round(float(np.mean(lost)), 1),
                    "error": round(float(np.std(lost, ddof=1) / np.sqrt(runs)), 1),
                    "largest": round(max(lost), 1),
                }
            )
            print(rows[-1], flush=True)
    ROWS.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


def chart() -> Chart:
    """Regret over the half-life for each scene, and, as a line across, what is lost if nothing fades."""
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    lines = []
    for scene, words in WORDS.items():
        chosen = [row for row in rows if row["scene"] == scene]
        fading = [row for row in chosen if row["half_life"] is not None]
        x, mean, error = (np.array([row[key] for row in fading], float) for key in ("half_life", "mean", "error"))
        lines.append(Series(words, x, mean, mean - 2 * error, mean + 2 * error, key=scene, dash="solid"))
        never = next(row["mean"] for row in chosen if row["half_life"] is None)
        lines.append(Series("", x[[0, -1]], np.array([never, never]), key=scene, kind="reference", dash="dotted"))
    return Chart(
        name="drift",
        title="What fading saves where strengths drift",
        x_label="half-life, in rounds",
        y_label="regret",
        series=tuple(lines),
        caption=f"rank1-thompson; matchings of {PLAYERS} players, {grouped(ROUNDS)} rounds, {rows[0]['runs']} runs. "
        "Bands: two standard errors of the mean. Dotted: nothing fades.",
        x_log=True,
        y_log=True,
        x_ticks=tuple(float(h) for h in HALF_LIVES if h),
    )


def draw() -> None:
    print(chart().save(PICTURE))


if __name__ == "__main__":
    if sys.argv[1:] != ["draw"]:
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    draw()

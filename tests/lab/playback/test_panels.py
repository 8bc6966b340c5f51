import numpy as np
import pytest

import matchbandit as mb
from matchbandit.lab.playback import panels

SLOTS = mb.Bipartite(u=[0.9, 0.5, 0.2], v=[0.8, 0.3])


@pytest.fixture(scope="module")
def run():
    return mb.watch(SLOTS, "uts", horizon=2000, seed=1, frames=20)


def test_plays_shades_are_roots_of_the_shares_of_rounds_since_the_frame_before(run):
    cells = panels.plays(run, range(len(run.frames))).layers["cell"]
    for number in (1, len(run.frames) - 1):
        before, now = run.frames[number - 1 : number + 1]
        table = np.zeros((3, 2))
        for row in cells:
            if row["frame"] == number:
                table[round(row["y"] + 0.5), round(row["x"] + 0.5)] = row["shade"] ** 2
        assert table * (now.round - before.round) == pytest.approx(SLOTS.graph.matrix(now.plays - before.plays))


def test_estimates_of_a_posterior_reach_two_standard_deviations(run):
    last = len(run.frames) - 1
    intervals = [row for row in panels.estimates(run).layers["interval"] if row["frame"] == last]
    for row, edge in zip(intervals, run.shown, strict=True):
        mean, plays = (row["low"] + row["high"]) / 2, run.frames[last].plays[edge]
        if row["low"] > 0 and row["high"] < 1:  # not cut off; the prior is uniform
            assert (row["high"] - row["low"]) / 4 == pytest.approx(np.sqrt(mean * (1 - mean) / (plays + 3)))


def test_decisions_show_until_the_next_ones_what_was_compared():
    run = mb.watch(SLOTS, "pair-elim", horizon=10**6, seed=1)
    shown = panels.decisions(run).layers["interval"]
    for number in range(len(run.frames)):
        last = next((frame for frame in reversed(run.frames[: number + 1]) if frame.decisions), None)
        ends = [(row["x"], row["x2"]) for row in shown if row["frame"] <= number < row["until"]]
        compared = last.decisions[: panels.MAX_DECISIONS] if last else []
        assert ends == [(one[f"{by}low"], one[f"{by}high"]) for one in compared for by in ("by_", "")]

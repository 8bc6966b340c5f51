"""Lines of charts: from rows, and from published numbers; and the words below a chart."""

from typing import Any

import numpy as np

from matchbandit.figures import Line
from matchbandit.figures.chart import Dash, Numbers
from matchbandit.formatting import plural
from matchbandit.results import Curve, Rows

NAMES = {
    "pair-elim": "Pair-Elim",
    "rank1-elim": "Rank1Elim",
    "simple-adaptive-matching": "Simple Adaptive Matching",
    "escb": "ESCB-2",
    "matching-id": "Matching-Id",
    "pair-select": "Pair-Select",
}
"""How the paper writes the names of its policies."""


def numbers(values: Any) -> Numbers:
    """An array of floats."""
    return np.asarray(values, dtype=np.float64)


def line_of(of: Curve, label: str, key: str, *, band: bool = True, dash: Dash | None = None) -> Line:
    """Mean and range of runs as a line with its band."""
    low, high = (numbers(of.p5), numbers(of.p95)) if band else (None, None)
    return Line(label, numbers(of.x), numbers(of.mean), low, high, key=key, dash=dash)


def reference_of(of: Curve, label: str, key: str) -> Line:
    """The mean of runs as a thin dotted line, beside others."""
    return Line(label, numbers(of.x), numbers(of.mean), key=key, kind="reference", dash="dotted")


def published_points(known: dict[str, Any], policy: str) -> Line:
    """Published means with their 5–95 % range."""
    theirs = known[policy]
    low, high = numbers(theirs["p5"]), numbers(theirs["p95"])
    return Line(
        "published", numbers(known["x"]), numbers(theirs["mean"]), low, high, key=policy, kind="points", hollow=True
    )


def published_in_time(known: dict[str, Any], policy: str) -> tuple[Line, Line]:
    """Published means over time, and a stroke for the 5–95 % range of the last, which alone has one."""
    theirs = known[policy]
    means = theirs.get("mean") or [theirs["mean_last"]]
    x, y = numbers(known["x"][-len(means) :]), numbers(means)
    ends = numbers([theirs["p5_last"], theirs["p95_last"]])
    return (
        Line("", numbers([x[-1], x[-1]]), ends, key=policy, kind="reference", dash="solid"),
        Line("published", x, y, key=policy, kind="points", hollow=True),
    )


def caption(rows: Rows, instance: str, *further: str, of: str = "Mean and 5–95 %") -> str:
    """What is played, how often, from which seed: the words below a chart."""
    runs = len(rows.distinct("run"))
    seeds = ", ".join(str(seed) for seed in rows.distinct("seed"))
    runs_text = f"{of} of {plural(runs, 'run')}, seed {seeds}."
    return " ".join([f"{instance}.", runs_text, *further])

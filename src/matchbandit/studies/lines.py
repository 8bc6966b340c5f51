"""Lines of charts: from rows, and from published numbers; and the words below a chart."""

from typing import Any

import numpy as np

from matchbandit.figures import Line
from matchbandit.figures.chart import Dash, Numbers
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


def line_of(
    of: Curve, label: str, key: str, *, band: bool = True, dash: Dash | None = None, hollow: bool = False
) -> Line:
    """Mean and range of runs as a line with its band."""
    low, high = (numbers(of.p5), numbers(of.p95)) if band else (None, None)
    return Line(label, numbers(of.x), numbers(of.mean), low, high, key=key, dash=dash, hollow=hollow)


def reference_of(of: Curve, label: str, key: str) -> Line:
    """The mean of runs as a thin dotted line, beside others."""
    return Line(label, numbers(of.x), numbers(of.mean), key=key, kind="reference", dash="dotted")


def published_points(known: dict[str, Any], policy: str, *, last: int | None = None) -> Line:
    """Published means with their 5–95 % range; of curves in time only the last has one, at the round `last`."""
    theirs = known[policy]
    if last is None:
        x, mean, low, high = known["x"], theirs["mean"], theirs["p5"], theirs["p95"]
    else:
        means = theirs.get("mean", [theirs.get("mean_last")])
        x, mean = known["x"][-len(means) :], means
        low, high = [*means[:-1], theirs["p5_last"]], [*means[:-1], theirs["p95_last"]]
    return Line(
        "published", numbers(x), numbers(mean), numbers(low), numbers(high), key=policy, kind="points", hollow=True
    )


def caption(rows: Rows, instance: str, *further: str, of: str = "Mean and 5–95 %") -> str:
    """What is played, how often, from which seed: the words below a chart."""
    runs = len(rows.distinct("run"))
    seeds = ", ".join(str(seed) for seed in rows.distinct("seed"))
    told = f"{of} of {runs} run{'s' if runs > 1 else ''}, seed {seeds}."
    return " ".join([f"{instance}.", told, *further])

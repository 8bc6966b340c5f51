"""The numbers of a curve, before anything is drawn."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from matchbandit.results import Row
from matchbandit.rewards import Floats


class Curve(NamedTuple):
    """A mean with its 5–95 % range, along an axis."""

    x: Floats
    mean: Floats
    p5: Floats
    p95: Floats


def curve(
    rows: Sequence[Row], study: str, policy: str, *, along: Literal["x", "round"] = "x", at: float | None = None
) -> Curve:
    """Regret over the places of a study, at its last round; or over its rounds, at one place if it has several."""
    chosen = [r for r in rows if (r.study, r.policy) == (study, policy) and at in (None, r.x)]
    if along == "x":
        last = max(r.round for r in chosen)
        chosen = [r for r in chosen if r.round == last]
    groups: dict[float, list[float]] = {}
    for row in chosen:
        groups.setdefault(row.x if along == "x" else row.round, []).append(row.regret)
    places = sorted(groups)
    p5, p95 = np.array([np.percentile(groups[x], [5, 95]) for x in places]).T
    return Curve(np.array(places), np.array([np.mean(groups[x]) for x in places]), p5, p95)


def final(rows: Sequence[Row], study: str, policy: str, x: float) -> Floats:
    """The regret at the last round, run by run."""
    chosen = [r for r in rows if (r.study, r.policy, r.x) == (study, policy, x)]
    last = max(r.round for r in chosen)
    return np.array([r.regret for r in sorted(chosen, key=lambda r: r.run) if r.round == last])


def ratio(rows: Sequence[Row], study: str, above: str, below: str) -> Curve:
    """The ratio of two policies' mean regrets; its range is that of the ratios run by run, on shared instances."""
    places = sorted({r.x for r in rows if r.study == study})
    pairs = [(final(rows, study, above, x), final(rows, study, below, x)) for x in places]
    p5, p95 = np.array([np.percentile(a / b, [5, 95]) for a, b in pairs]).T
    return Curve(np.array(places), np.array([a.mean() / b.mean() for a, b in pairs]), p5, p95)

"""How curves, published numbers and words look in every picture of the paper's figures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from matchbandit.figures.curves import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = {
    "pair-elim": ("Pair-Elim", "#0072b2"),
    "rank1-elim": ("Rank1Elim", "#d55e00"),
    "simple-adaptive-matching": ("Simple Adaptive Matching", "#0072b2"),
    "escb": ("ESCB-2", "#d55e00"),
}
"""Name and colour of each policy."""
_PUBLISHED: dict[str, Any] = {
    "fillstyle": "none",
    "linestyle": "none",
    "markersize": 5,
    "capsize": 2.5,
    "linewidth": 0.9,
}


def whole(value: float, _: object = None) -> str:
    """A number on an axis, in groups of three digits."""
    return f"{value:,.0f}".replace(",", "\u2009")


def band(axes: "Axes", ours: Curve, label: str, colour: str) -> None:
    """A mean with its 5–95 % range."""
    axes.plot(ours.x, ours.mean, color=colour, linewidth=1.6, label=f"{label}: mean, 5–95 %")
    axes.fill_between(ours.x, ours.p5, ours.p95, color=colour, alpha=0.15, linewidth=0)


def published(
    axes: "Axes",
    x: Sequence[float],
    mean: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    label: str,
    colour: str,
) -> None:
    """Published means with their 5–95 % range."""
    spread = np.abs(np.array([low, high]) - np.array(mean))
    axes.errorbar(x, mean, yerr=spread, fmt="o", color=colour, label=f"{label}: published", **_PUBLISHED)


def spread_of(known: dict[str, list[float]]) -> tuple[list[float], list[float], list[float]]:
    """Mean and range of published numbers."""
    return known["mean"], known["p5"], known["p95"]


def words(axes: "Axes", title: str, x: str, y: str) -> None:
    """Title and axes; regret starts at 0."""
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)
    if y == "regret":
        axes.yaxis.set_major_formatter(whole)

"""How curves, published numbers and words look in every picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from matchbandit.figures.curves import Curve
from matchbandit.rewards import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = {
    "pair-elim": ("Pair-Elim", "#0072b2"),
    "rank1-elim": ("Rank1Elim", "#d55e00"),
    "simple-adaptive-matching": ("Simple Adaptive Matching", "#0072b2"),
    "escb": ("ESCB-2", "#d55e00"),
}
"""Name and colour of each policy."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#000000", "#56b4e9", "#e69f00", "#6a51a3", "#7f7f7f")
"""Told apart by those who do not see all colours; labels and marks tell the same."""
MARKS = "osD^vPX<>h"
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


def names_at_the_ends(axes: "Axes", ends: Sequence[tuple[str, float, float, str]], *, between: float = 0.045) -> None:
    """Write each curve's name to the right of its end (name, x, y, colour), and apart where curves end together.

    Lines are drawn and scales set before. `between` is the least distance, as a share of the axis.
    """
    on_paper = axes.transData.transform([(x, y) for _, x, y, _ in ends])
    heights = axes.transAxes.inverted().transform(on_paper)[:, 1]
    order = np.argsort(heights)
    for place, height in zip(order, spread_apart(heights[order], between), strict=True):
        name, x, y, colour = ends[place]
        axes.annotate(
            name, (x, y), xytext=(1.03, height), textcoords="axes fraction", color=colour, fontsize=8, va="center",
            annotation_clip=False, arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.6},
        )  # fmt: skip


def spread_apart(heights: Sequence[float] | Floats, between: float) -> list[float]:
    """The nearest heights to these, in the same order, that are so far apart.

    >>> spread_apart([0.0, 0.1, 0.8], 0.25)
    [-0.075, 0.175, 0.8]
    """
    groups: list[list[float]] = []  # each: where its first stands, and how many there are
    for height in heights:
        groups.append([float(height), 1])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < between * groups[-2][1]:
            start, size = groups.pop()
            first, before = groups[-1]
            groups[-1] = [(first * before + (start - between * before) * size) / (before + size), before + size]
    return [round(start + between * k, 12) for start, size in groups for k in range(int(size))]


def words(axes: "Axes", title: str, x: str, y: str) -> None:
    """Title and axes; regret starts at 0."""
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)
    if y == "regret":
        axes.yaxis.set_major_formatter(whole)

"""Pictures of the comparison lemma, and of pair evaluations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _RED, _GREEN = "#0072b2", "#d55e00", "#009e73"


def comparison(axes: "Axes", rows: Sequence[Any]) -> None:
    """U_D/U_I and the measured R_D/R_I over u_2/u_1."""
    for family, colour in zip(dict.fromkeys(row.family for row in rows), (_BLUE, _RED), strict=True):
        chosen = [row for row in rows if row.family == family]
        x = [row.ratio for row in chosen]
        axes.plot(x, [row.bound for row in chosen], "--", color=colour, linewidth=1, label=f"$U_D/U_I$, {family}")
        measured = [np.mean(row.together) / np.mean(row.explored) for row in chosen]
        axes.plot(x, measured, "o-", color=colour, markersize=4, label=f"measured $R_D/R_I$, {family}")
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title("Best two together (D) or exploring (I): regret until the others split", fontsize=10, loc="left")
    axes.set_xlabel("u₂/u₁")
    axes.set_ylabel("ratio of regrets")


def evaluations(axes: "Axes", rows: Sequence[Any]) -> None:
    """Pair evaluations over N: policies for identification, all with a proof."""
    for kind, label, colour, mark in (
        ("matching-id", "Matching-Id, matchings", _BLUE, "o"),
        ("pair-select", "Pair-Select, single pairs", _RED, "s"),
        ("rank1-certify", "rank1-certify, matchings", _GREEN, "D"),
    ):
        chosen = [row for row in rows if row.policy == kind]
        x, pairs = [row.n for row in chosen], np.array([row.pairs for row in chosen])
        low, high = np.percentile(pairs, [5, 95], axis=1)
        axes.plot(x, pairs.mean(axis=1), f"{mark}-", color=colour, markersize=4, label=f"{label}: mean, 5–95 %")
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.set_title("Pair evaluations until the best matching is identified, δ = 0.05", fontsize=10, loc="left")
    axes.set_xlabel("N (half of the players)")
    axes.set_ylabel("pair evaluations")

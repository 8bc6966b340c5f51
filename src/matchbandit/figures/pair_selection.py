"""The paper's pair-selection figures, with the published numbers laid over ours."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from matchbandit.figures import style
from matchbandit.figures.curves import curve, ratio
from matchbandit.figures.style import STYLES, band, spread_of, whole, words
from matchbandit.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POLICIES = [(policy, *STYLES[policy]) for policy in ("pair-elim", "rank1-elim")]

Rows = Sequence[Row]
Published = dict[str, Any]


def _over_time(axes: "Axes", rows: Rows, published: Published) -> None:
    known = published["over-time"]
    for policy, label, colour in _POLICIES:
        band(axes, curve(rows, "over-time", policy, along="round"), label, colour)
        axes.plot(known["x"], known[policy]["mean"], "o", color=colour, fillstyle="none", markersize=5)
        last, low, high = known["x"][-1], known[policy]["p5_last"], known[policy]["p95_last"]
        style.published(axes, [last], [known[policy]["mean"][-1]], [low], [high], label, colour)
    axes.xaxis.set_major_formatter(whole)
    words(axes, "Figure 1, top: regret over time, Δ = 0.75, T = 2·10⁵", "round", "regret")


def _over_gap(axes: "Axes", rows: Rows, published: Published) -> None:
    known = published["over-gap"]
    for policy, label, colour in _POLICIES:
        band(axes, curve(rows, "over-gap", policy), f"{label}, T = 3·10⁵", colour)
        printed = curve(rows, "over-gap-as-printed", policy)
        axes.plot(printed.x, printed.mean, ":", color=colour, linewidth=1, label=f"{label}, T = 2·10⁶ (as printed)")
        style.published(axes, known["x"], *spread_of(known[policy]), f"{label}", colour)
    words(axes, "Figure 1, bottom: regret over the gap, u₁ = 0.9", "gap parameter Δ", "regret")


def _over_u1(axes: "Axes", rows: Rows, published: Published) -> None:
    known = published["over-u1"]
    for policy, label, colour in _POLICIES:
        band(axes, curve(rows, "over-u1", policy), label, colour)
        style.published(axes, known["x"], *spread_of(known[policy]), label, colour)
    words(axes, "Appendix: regret over u₁, $\\mu_U$ = 0.2, T = 10⁶", "u₁", "regret")


def _u1_ratio(axes: "Axes", rows: Rows, published: Published) -> None:
    _ratio(axes, rows, published, {"over-u1": ("T = 10⁶", "-")}, "over-u1")
    words(axes, "Appendix: how many times more Rank1Elim loses, $\\mu_U$ = 0.2", "u₁", "Rank1Elim / Pair-Elim")


def _gap_ratio(axes: "Axes", rows: Rows, published: Published) -> None:
    studies = {"over-gap": ("T = 3·10⁵", "-"), "over-gap-as-printed": ("T = 2·10⁶ (as printed)", ":")}
    _ratio(axes, rows, published, studies, "over-gap")
    words(axes, "Appendix: how many times more Rank1Elim loses, u₁ = 0.9", "gap parameter Δ", "Rank1Elim / Pair-Elim")


DRAWINGS: dict[str, Callable[..., None]] = {
    "fig1-top": _over_time,
    "fig1-bottom": _over_gap,
    "u1-regret": _over_u1,
    "u1-ratio": _u1_ratio,
    "delta-ratio": _gap_ratio,
}


def _ratio(axes: "Axes", rows: Rows, published: Published, studies: dict[str, tuple[str, str]], over: str) -> None:
    for study, (label, line) in studies.items():
        gain = ratio(rows, study, "rank1-elim", "pair-elim")
        axes.plot(gain.x, gain.mean, line, color="black", linewidth=1.6, label=f"ratio of our means, {label}")
        if study == over:
            axes.fill_between(gain.x, gain.p5, gain.p95, color="black", alpha=0.1, linewidth=0, label="5–95 % of runs")
    known = published[over]
    theirs = np.divide(known["rank1-elim"]["mean"], known["pair-elim"]["mean"])
    axes.plot(known["x"], theirs, "o", color="black", fillstyle="none", markersize=5, label="published")
    axes.axhline(1, color="grey", linewidth=0.8)

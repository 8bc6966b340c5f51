"""The paper's matching-selection figures, with the published numbers laid over ours."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from matchbandit.figures import style
from matchbandit.figures.curves import curve
from matchbandit.figures.style import COLOURS, MARKS, STYLES, band, names_at_the_ends, spread_of, whole, words
from matchbandit.policies import CATALOGUE
from matchbandit.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAM = "simple-adaptive-matching"
_POLICIES = [(policy, *STYLES[policy]) for policy in (_SAM, "escb")]

Rows = Sequence[Row]
Published = dict[str, Any]


def _over_n(axes: "Axes", rows: Rows, published: Published) -> None:
    known, (label, colour) = published["over-n"], STYLES[_SAM]
    ours = curve(rows, "over-n", _SAM)
    band(axes, ours, label, colour)
    style.published(axes, known["x"], *spread_of(known[_SAM]), label, colour)
    splits = ours.x >= 4
    scale = float(ours.mean[splits][-1] / (ours.x[-1] * np.log(ours.x[-1])))
    axes.plot(ours.x, scale * ours.x * np.log(ours.x), ":", color="grey", linewidth=1, label="c N log N through N = 11")
    words(axes, "Figure 2: regret over N, gap 0.1, T = 2·10⁵", "N (half of the players)", "regret")


def _over_time(axes: "Axes", rows: Rows, published: Published) -> None:
    known = published["over-mu-in-time"]
    for policy, label, colour in _POLICIES:
        band(axes, curve(rows, "over-mu", policy, along="round", at=0.5), label, colour)
    (_, label, colour), last = _POLICIES[1], known["x"][-1]
    axes.plot(known["x"][:-1], known["escb"]["mean"][:-1], "o", color=colour, fillstyle="none", markersize=5)
    ends = [(_SAM, known[_SAM]["mean_last"]), ("escb", known["escb"]["mean"][-1])]
    for policy, mean in ends:
        label, colour = STYLES[policy]
        low, high = known[policy]["p5_last"], known[policy]["p95_last"]
        style.published(axes, [last], [mean], [low], [high], label, colour)
    axes.xaxis.set_major_formatter(whole)
    words(axes, "Figure 3, top: regret over time, N = 4, μ = 0.5, gap 0.1", "round", "regret")


def _over_mu(axes: "Axes", rows: Rows, published: Published) -> None:
    known = published["over-mu"]
    for policy, label, colour in _POLICIES:
        band(axes, curve(rows, "over-mu", policy), label, colour)
        style.published(axes, known["x"], *spread_of(known[policy]), label, colour)
    second = known[_SAM]["second_record_at_0.5"]
    axes.plot(
        [0.5], [second["mean"]], "s", color=STYLES[_SAM][1], fillstyle="none", markersize=5, label="second record"
    )
    axes.set_xticks(known["x"])
    words(axes, "Figure 3, bottom: regret over μ, N = 4, gap 0.1, T = 2·10⁵", "μ, the mean strength", "regret")


def _practical(axes: "Axes", rows: Rows, published: Published) -> None:
    """Regret over μ: whole lines and full marks for policies with a proof, broken and empty ones for those without."""
    policies = list(dict.fromkeys(row.policy for row in rows if row.study == "practical"))
    ends = []
    for policy, colour, mark in zip(policies[::-1], COLOURS, MARKS, strict=False):  # ours come last
        ours, proved = curve(rows, "practical", policy), "regret" in CATALOGUE[policy].fits.proved
        axes.plot(
            ours.x, ours.mean, f"{mark}{'-' if proved else '--'}", color=colour, markersize=4, linewidth=1.2,
            fillstyle="full" if proved else "none", label=f"_{policy}",
        )  # fmt: skip
        axes.fill_between(ours.x, ours.p5, ours.p95, color=colour, alpha=0.1, linewidth=0)
        ends.append((f"{policy}, {'proved' if proved else 'no proof'}", ours.x[-1], ours.mean[-1], colour))
    axes.set_yscale("log")
    axes.set_xticks(sorted({row.x for row in rows if row.study == "practical"}))
    axes.set_title("Policies for matchings over μ, N = 4, gap 0.1, T = 2·10⁵", fontsize=10, loc="left")
    axes.set_xlabel("μ, the mean strength")
    axes.set_ylabel("regret: mean, 5–95 %")
    names_at_the_ends(axes, ends)


DRAWINGS: dict[str, Callable[..., None]] = {
    "fig2": _over_n,
    "fig3-top": _over_time,
    "fig3-bottom": _over_mu,
    "practical": _practical,
}

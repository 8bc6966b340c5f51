"""Pictures of the windows of Pair-Elim, of the growth of its checks, and of identification."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _RED, _GREEN = "#0072b2", "#d55e00", "#009e73"
_WINDOW_ENDS = (2**8, 2**16, 2**32)


def windows(axes: "Axes", rows: Sequence[Any]) -> None:
    """Plays of doubly and singly sub-optimal pairs over the horizon, windows marked."""
    for capped, line in ((False, "-"), (True, ":")):
        chosen = [row for row in rows if row.capped == capped]
        horizons = [row.horizon for row in chosen]
        for part, colour in (("doubly", _BLUE), ("singly", _RED)):
            counts = np.array([getattr(row, part) for row in chosen])
            words = f"{part} sub-optimal" + (", windows capped" if capped else "")
            axes.plot(horizons, counts.mean(axis=1), line, color=colour, label=words)
            if not capped:
                low, high = np.percentile(counts, [5, 95], axis=1)
                axes.fill_between(horizons, low, high, color=colour, alpha=0.15, linewidth=0)
    for end in _WINDOW_ENDS[1:]:
        axes.axvline(end, color="grey", linewidth=0.8, linestyle="--")
        axes.annotate(
            f"window {int(np.log2(np.log2(end)))} ends", (end, 0), xytext=(3, 4), textcoords="offset points", fontsize=7
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_title("Pair-Elim: plays of sub-optimal pairs up to the horizon (8×8)", fontsize=10, loc="left")
    axes.set_xlabel("horizon T")
    axes.set_ylabel("plays")


def growth(axes: "Axes", rows: Sequence[Any]) -> None:
    """Regret over the growth of the checks."""
    for name, colour in (("spiked", _BLUE), ("fixed-mean", _RED)):
        chosen = [row for row in rows if row.family == name]
        regret = np.array([row.regret for row in chosen])
        low, high = np.percentile(regret, [5, 95], axis=1)
        axes.plot(
            [row.growth for row in chosen],
            regret.mean(axis=1),
            "o-",
            color=colour,
            markersize=4,
            label=f"{name}: mean, 5–95 %",
        )
        axes.fill_between([row.growth for row in chosen], low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_title("Pair-Elim: regret over the growth of its checks, 8×8, T = 2·10⁵", fontsize=10, loc="left")
    axes.set_xlabel("growth g (the paper: 4)")
    axes.set_ylabel("regret")


def identification(axes: "Axes", rows: Sequence[Any]) -> None:
    """Rounds over log(1/δ), each divided by 2n, for every size, which is written where its line ends."""
    sizes = sorted({row.n for row in rows})
    for kind, line, colour, name in (
        ("pair-elim", "-", _BLUE, "pair-elim, proved"),
        ("rank1-certify", "--", _RED, "rank1-certify, proved"),
        ("track-and-stop", ":", _GREEN, "track-and-stop, no proof of its threshold"),
    ):
        ends: list[list[tuple[int, float, float]]] = []  # size and place, those together that end together
        for n in sizes:
            chosen = [row for row in rows if (row.policy, row.n, row.family) == (kind, n, "half")]
            if not chosen:
                continue
            x, y = [np.log(1 / row.delta) for row in chosen], [row.rounds / (2 * n) for row in chosen]
            shade = 0.35 + 0.65 * sizes.index(n) / max(1, len(sizes) - 1)
            (drawn,) = axes.plot(x, y, line, color=colour, alpha=shade)
            if ends and abs(np.log(y[-1] / ends[-1][-1][2])) < 0.15:
                ends[-1].append((n, x[-1], y[-1]))
            else:
                ends.append([(n, x[-1], y[-1])])
        if ends:
            drawn.set_label(name)  # of the last one, in full colour
        for (first, at, height), *others in ends:
            words = f"{first}×{first}" + (f" to {others[-1][0]}×{others[-1][0]}" if others else "")
            axes.annotate(words, (at, height), xytext=(4, 0), textcoords="offset points", fontsize=7, va="center")
    axes.set_yscale("log")
    axes.set_title("Rounds until the best pair is identified, for each item", fontsize=10, loc="left")
    axes.set_xlabel("log(1/δ)")
    axes.set_ylabel("rounds / (N + M)")

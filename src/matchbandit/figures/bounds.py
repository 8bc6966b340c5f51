"""Pictures of bounds, with measured regret or rounds laid over."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from matchbandit.figures.curves import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Line(NamedTuple):
    """One bound along an axis of horizons or of risks."""

    label: str
    kind: Literal["upper", "lower"]
    exact: bool
    """Explicit constants: drawn solid. Asymptotic ones, and those with a universal constant set to 1, are dashed."""
    x: Sequence[float]
    y: Sequence[float]


class Overlay(NamedTuple):
    """What was measured of one policy."""

    label: str
    curve: Curve


_UPPER, _LOWER = ("#b2182b", "#ef8a62", "#999999", "#fddbc7"), ("#1b7837", "#7fbf7b", "#5aae61", "#a6dba0")
_POLICIES = ("#0072b2", "#cc79a7", "#e69f00", "#000000", "#56b4e9", "#8c510a")


def over_horizon(axes: "Axes", lines: Sequence[Line], overlays: Sequence[Overlay]) -> None:
    """Regret over the rounds, with the bounds at every horizon."""
    _lines(axes, lines)
    for overlay, colour in zip(overlays, _colours(len(overlays)), strict=True):
        x, mean, p5, p95 = overlay.curve
        axes.plot(x, mean, color=colour, linewidth=1.6, label=f"{overlay.label}: mean, 5–95 %")
        axes.fill_between(x, p5, p95, color=colour, alpha=0.15, linewidth=0)
        axes.plot(x[-1:], mean[-1:], "o", color=colour, markersize=4)
    least = [float(overlay.curve.mean.min()) for overlay in overlays if len(overlay.curve.mean)]
    if least:
        axes.set_ylim(bottom=min(least) / 2)  # a range may reach down to 0
    axes.set_title("Regret, and what the theory says of it", fontsize=10, loc="left")
    _scales(axes, "round, or horizon T", "regret")


def over_risk(axes: "Axes", lines: Sequence[Line], overlays: Sequence[Overlay]) -> None:
    """Rounds until an answer over 1/δ, with the bounds at every risk."""
    _lines(axes, lines)
    for overlay, colour in zip(overlays, _colours(len(overlays)), strict=True):
        x, mean, p5, p95 = overlay.curve
        spread = np.array([mean - p5, p95 - mean]).clip(min=0)
        axes.errorbar(
            x, mean, yerr=spread, fmt="o-", color=colour, markersize=4, capsize=2.5, linewidth=1,
            label=f"{overlay.label}: mean, 5–95 %",
        )  # fmt: skip
    axes.set_title("Rounds until the answer is certain, and what the theory says of them", fontsize=10, loc="left")
    _scales(axes, "1/δ", "rounds")


def _lines(axes: "Axes", lines: Sequence[Line]) -> None:
    for kind, colours in (("upper", _UPPER), ("lower", _LOWER)):
        chosen = [line for line in lines if line.kind == kind]
        for number, line in enumerate(chosen):
            axes.plot(
                line.x, line.y, "-" if line.exact else "--", color=colours[number % len(colours)], linewidth=1.1,
                label=f"{kind}: {line.label}",
            )  # fmt: skip


def _colours(n: int) -> list[str]:
    return [_POLICIES[k % len(_POLICIES)] for k in range(n)]


def _scales(axes: "Axes", x: str, y: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)

"""Pictures of bounds, with measured regret or rounds laid over."""

import os
from collections.abc import Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.figures.drawing import draw
from matchbandit.placement import Line, Measured, overlay_of
from matchbandit.problems import Problem
from matchbandit.results import Identification, Runs, writable_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UPPER, _LOWER = ("#b2182b", "#ef8a62", "#999999", "#fddbc7"), ("#1b7837", "#7fbf7b", "#5aae61", "#a6dba0")
_POLICIES = ("#0072b2", "#cc79a7", "#e69f00", "#000000", "#56b4e9", "#8c510a")


def draw_bounds(
    problem: Problem,
    results: Sequence[Runs | Identification] = (),
    *,
    path: str | os.PathLike[str] = "bounds.png",
    horizon: int | None = None,
    delta: float | None = None,
) -> Path:
    """Draw the bounds of a problem with results of `simulate` or of `identify` laid over, as PNG and PDF.

    Regret is drawn over horizons, rounds until an answer over 1/δ; not both in one picture. `placement.overlay_of` says
    which bounds are drawn.
    """
    need("matplotlib", "drawing")  # before any work is done
    place = writable_file(path)
    if place.suffix.lower() not in (".png", ".pdf"):
        raise MatchbanditError(f"the figure is written as .png and .pdf; got {os.fspath(path)!r}.")
    overlay = overlay_of(problem, list(results), horizon=horizon, delta=delta)
    drawing = over_horizon if overlay.of == "regret" else over_delta
    drawn = draw(
        place.stem, partial(drawing, lines=overlay.lines, measured=overlay.measured), place.parent, beside=True
    )
    return Path(path).with_name(drawn.name)


def over_horizon(axes: "Axes", lines: Sequence[Line], measured: Sequence[Measured]) -> None:
    """Regret over the rounds, with the bounds at every horizon."""
    _lines(axes, lines)
    for (label, x, mean, p5, p95), colour in zip(measured, cycle(_POLICIES), strict=False):
        axes.plot(x, mean, color=colour, linewidth=1.6, label=f"{label}: mean, 5–95 %")
        axes.fill_between(x, p5, p95, color=colour, alpha=0.15, linewidth=0)
        axes.plot(x[-1:], mean[-1:], "o", color=colour, markersize=4)
    least = [float(one.mean.min()) for one in measured if len(one.mean)]
    if least:
        axes.set_ylim(bottom=min(least) / 2)  # a range may reach down to 0
    axes.set_title("Regret, and what the theory says of it", fontsize=10, loc="left")
    _scales(axes, "round, or horizon T", "regret")


def over_delta(axes: "Axes", lines: Sequence[Line], measured: Sequence[Measured]) -> None:
    """Rounds until an answer over 1/δ, with the bounds at every δ."""
    _lines(axes, lines)
    for (label, x, mean, p5, p95), colour in zip(measured, cycle(_POLICIES), strict=False):
        spread = np.array([mean - p5, p95 - mean]).clip(min=0)
        axes.errorbar(
            x, mean, yerr=spread, fmt="o-", color=colour, markersize=4, capsize=2.5, linewidth=1,
            label=f"{label}: mean, 5–95 %",
        )  # fmt: skip
    axes.set_title("Rounds until the answer, and what the theory says of them", fontsize=10, loc="left")
    _scales(axes, "1/δ", "rounds")


def _lines(axes: "Axes", lines: Sequence[Line]) -> None:
    for kind, colours in (("upper", _UPPER), ("lower", _LOWER)):
        chosen = [line for line in lines if line.kind == kind]
        for number, line in enumerate(chosen):
            axes.plot(
                line.x, line.y, "-" if line.exact else "--", color=colours[number % len(colours)], linewidth=1.1,
                label=f"{kind}: {line.label}",
            )  # fmt: skip


def _scales(axes: "Axes", x: str, y: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)

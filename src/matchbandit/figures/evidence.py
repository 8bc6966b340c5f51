"""A picture of evidence that grows, round by round, until it is enough for a certificate."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from matchbandit.figures.style import COLOURS, spread_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Trace(NamedTuple):
    """The log evidence for one statement, such as that player 0 is above player 2."""

    name: str
    true: bool
    log_evidence: Sequence[float]
    """At each of the rounds."""
    certified: int | None
    """The round from which on the statement is certified; None: never."""


class Growth(NamedTuple):
    """One run: the rounds at which evidence was looked at, that of every statement, and how much is enough."""

    rounds: Sequence[int]
    traces: Sequence[Trace]
    threshold: float
    enough: str
    """What the threshold is, in words."""


def evidence(axes: "Axes", growth: Growth) -> None:
    """Log evidence over the rounds, up to the certificate in full colour; what is false is broken and grey."""
    rounds = np.asarray(growth.rounds)
    low, high = -0.5 * growth.threshold, 2.1 * growth.threshold
    for trace, colour in zip(_true(growth), COLOURS, strict=False):
        values = np.asarray(trace.log_evidence)
        until = np.searchsorted(rounds, trace.certified, side="right") if trace.certified else len(rounds)
        axes.plot(rounds[:until], values[:until], color=colour, linewidth=1.3, label=f"_{trace.name}")
        axes.plot(rounds[until - 1 :], values[until - 1 :], color=colour, linewidth=0.7, alpha=0.25)
        if trace.certified:
            axes.plot(rounds[until - 1], values[until - 1], "o", color=colour, markersize=5)
    for trace in growth.traces:
        if not trace.true:
            axes.plot(rounds, trace.log_evidence, ":", color="#777777", linewidth=1, label=f"_{trace.name}")
    axes.axhline(growth.threshold, color="black", linewidth=1, linestyle="--")
    moments = sorted([0, int(rounds[-1]), *(trace.certified for trace in growth.traces if trace.certified)])
    widest = max(pairwise(moments), key=lambda gap: gap[1] - gap[0])  # here there is room for words
    axes.text(sum(widest) / 2, growth.threshold, growth.enough, fontsize=8, ha="center", va="bottom")
    axes.set_xlim(0, 1.02 * rounds[-1])
    axes.set_ylim(low, high)
    _name_certificates(axes, growth, 0.87 * high)
    _name_the_false(axes, growth, low)
    axes.set_xlabel("round")
    axes.set_ylabel("log evidence")


def _true(growth: Growth) -> list[Trace]:
    """Those that are true, in the order in which they were certified."""
    return sorted((t for t in growth.traces if t.true), key=lambda t: t.certified or growth.rounds[-1] + 1)


def _name_certificates(axes: "Axes", growth: Growth, height: float) -> None:
    """The name of each certificate above its moment, in a row along the top."""
    marked = [(trace, colour) for trace, colour in zip(_true(growth), COLOURS, strict=False) if trace.certified]
    width = 1.02 * growth.rounds[-1]
    places = spread_apart([(trace.certified or 0) / width for trace, _ in marked], 0.04)
    for (trace, colour), place in zip(marked, places, strict=True):
        value = trace.log_evidence[list(growth.rounds).index(trace.certified or 0)]
        axes.annotate(
            trace.name, (trace.certified or 0, value), xytext=(place * width, height), color=colour, fontsize=8,
            rotation=90, ha="center", va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.6, "shrinkB": 3},
        )  # fmt: skip


def _name_the_false(axes: "Axes", growth: Growth, low: float) -> None:
    names = [trace.name for trace in growth.traces if not trace.true]
    if names:
        words = f"not true, and never certified here: {', '.join(names)}"
        axes.annotate(words, (0, low), xytext=(4, 5), textcoords="offset points", fontsize=8, color="#777777")

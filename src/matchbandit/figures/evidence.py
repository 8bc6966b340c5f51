"""A chart of evidence that grows, round by round, until it is enough for a certificate."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from matchbandit.figures.chart import Chart, Line, Mark


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


def evidence(growth: Growth, *, title: str, caption: str = "", name: str = "evidence") -> Chart:
    """Log evidence over the rounds: of what is true up to its certificate, of what is not, in grey, to the end."""
    rounds = np.asarray(growth.rounds, dtype=np.float64)
    lines, moments = [], []
    for trace in sorted(growth.traces, key=lambda t: (not t.true, t.certified or np.inf)):
        values = np.asarray(trace.log_evidence, dtype=np.float64)
        if not trace.true:
            lines.append(Line(f"{trace.name}: not true", rounds, values, kind="reference", dash="dotted"))
            continue
        until = int(np.searchsorted(rounds, trace.certified, side="right")) if trace.certified else len(rounds)
        lines.append(Line(trace.name, rounds[:until], values[:until], key=trace.name, dash="solid"))
        if trace.certified:
            end = slice(until - 1, until)
            moments.append(Line("", rounds[end], values[end], key=trace.name, kind="points"))
    return Chart(
        name=name,
        title=title,
        x_label="round",
        y_label="log evidence",
        lines=(*lines, *moments),
        caption=caption,
        marks=(Mark(growth.threshold, growth.enough, axis="y"),),
    )

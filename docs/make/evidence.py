"""The picture of docs/identification.md: how the evidence of rank1-certify grows in one run. Takes some seconds.

Usage: python docs/make/evidence.py FOLDER
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import matchbandit as mb
from matchbandit.certificates import bottleneck_closure
from matchbandit.figures import AxisRule, Chart, Series

STRENGTHS = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
TRUE = [(a, b) for first in (0, 2) for a in (first, first + 1) for b in (first + 2, first + 3)]
"""What must be certified for the best matching: every player of a pair above every player of the next."""
FALSE = [(2, 1), (4, 3)]
DELTA, SEED = 0.05, 3


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
            lines.append(Series(f"{trace.name}: not true", rounds, values, kind="reference", dash="dotted"))
            continue
        until = int(np.searchsorted(rounds, trace.certified, side="right")) if trace.certified else len(rounds)
        lines.append(Series(trace.name, rounds[:until], values[:until], key=trace.name, dash="solid"))
        if trace.certified:
            end = slice(until - 1, until)
            moments.append(Series("", rounds[end], values[end], key=trace.name, kind="points"))
    return Chart(
        name=name,
        title=title,
        x_label="round",
        y_label="log evidence",
        series=(*lines, *moments),
        caption=caption,
        rules=(AxisRule(growth.threshold, growth.enough, axis="y"),),
    )


def played() -> Growth:
    """One run, and what it knew at the end of each batch."""
    problem = mb.Monopartite(STRENGTHS)
    policy = mb.policy("rank1-certify", delta=DELTA).build(problem.graph, seed=SEED)
    world = np.random.default_rng(SEED)
    rounds, seen, chains = [], [], []
    while not policy.done:
        pairs = policy.ask()
        policy.tell(pairs, problem.rewards.draw(problem.means[problem.graph.edges(pairs)], world))
        if policy.sampled > (rounds[-1] if rounds else 0):
            rounds.append(policy.sampled)
            seen.append(policy.evidence[-1])
            chains.append(bottleneck_closure(policy.scores()))
    enough = policy.threshold(policy.sampled)

    def trace(a: int, b: int, true: bool) -> Trace:
        certified = [at for at, chain in zip(rounds, chains, strict=True) if chain[a, b] >= enough]
        return Trace(f"{a} above {b}", true, [float(at[a, b]) for at in seen], min(certified, default=None))

    traces = [trace(a, b, True) for a, b in TRUE] + [trace(a, b, False) for a, b in FALSE]
    return Growth(rounds, traces, enough, "enough: log(F/δ)")


def main(folder: Path) -> None:
    caption = f"Six players, u = ({', '.join(map(str, STRENGTHS))}), δ = {DELTA}; one run, seed {SEED}. "
    caption += "Each line ends where its statement is certified. The two false ones (dotted) are not."
    title = "How the evidence of rank1-certify grows"
    print(evidence(played(), title=title, caption=caption).save(folder / "evidence.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

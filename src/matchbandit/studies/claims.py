"""A claim beside what was measured: what *grows*, *flat* and *comes out* mean here, and where each ends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from matchbandit.formatting import grouped
from matchbandit.results import Curve, Rows
from matchbandit.results.statistics import standard_error
from matchbandit.rewards import Floats

HOLDS, PARTLY_HOLDS, FAILS = "holds", "partly holds", "does not hold"
ENOUGH_RUNS = 20
"""With fewer runs per point nothing is judged."""
FLAT = 1.5
"""A curve whose largest mean is at most this many times its smallest is called flat."""
RISING = 0.8
"""A curve grows if its rank correlation with its axis is at least this, and its largest value stands at the end."""
INSIDE = 0.875
"""Published means come out if this share of them lies within our range."""
NEAR, WIDER = 0.08, 0.03
"""A mean agrees with a published one if it differs by at most 8 % and lies in the published range widened by 3 %."""


@dataclass(frozen=True)
class Claim:
    """A claim beside what we measured, and where the line is drawn."""

    where: str
    """The figure that shows it."""
    claim: str
    measured: str
    threshold: str
    """What had to be measured for the verdict to be *holds*."""
    verdict: str


def not_judged(claims: Sequence[Claim]) -> list[Claim]:
    """The claims as they stand when there are too few runs."""
    return [replace(claim, verdict=f"not judged: fewer than {ENOUGH_RUNS} runs") for claim in claims]


def counted(good: int, total: int, enough: float = 1.0) -> str:
    """All of them (or enough), most, or too few."""
    return HOLDS if good >= enough * total else PARTLY_HOLDS if good > total / 2 else FAILS


def finals(rows: Rows, y: str = "regret", **chosen: Any) -> Floats:
    """What the runs of these rows came to in the end, in the order of the runs."""
    ends = rows.where(**chosen).at_end()
    return np.asarray(ends[y][np.argsort(ends["run"], kind="stable")], dtype=np.float64)


def ratio(rows: Rows, along: str, above: str, below: str) -> Curve:
    """The ratio of two policies' mean regrets; its range is that of the ratios run by run, where both have the run."""
    x_values = sorted(rows.distinct(along))
    pairs = [[finals(rows, policy=policy, **{along: x}) for policy in (above, below)] for x in x_values]
    shared = [min(len(a), len(b)) for a, b in pairs]
    p5, p95 = np.array([np.percentile(a[:k] / b[:k], [5, 95]) for (a, b), k in zip(pairs, shared, strict=True)]).T
    return Curve(np.array(x_values, dtype=np.float64), np.array([a.mean() / b.mean() for a, b in pairs]), p5, p95)


def is_clearly_below(ours: Floats, theirs: Floats, *, paired: bool = True) -> bool:
    """Is the first mean below the second by more than two standard errors? Runs that share instances are paired."""
    if len(ours) < 2 or len(theirs) < 2:
        return bool(ours.mean() < theirs.mean())
    if paired:
        saved = theirs - ours
        return bool(saved.mean() > 2 * standard_error(saved))
    error = np.hypot(standard_error(ours), standard_error(theirs))
    return bool(theirs.mean() - ours.mean() > 2 * error)


def spread(of: Floats) -> float:
    """The largest over the smallest."""
    return float(of.max() / of.min())


def rank_correlation(of: Curve) -> float:
    """Spearman's correlation of the means with the axis, which is in rising order."""
    ranks = np.argsort(np.argsort(of.mean, kind="stable"), kind="stable")
    return round(float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1]), 9)


def rising(of: Curve) -> str:
    """Does it grow along its axis, to the end? A trend that turns at the end grows in part."""
    if rank_correlation(of) < RISING:
        return FAILS
    return HOLDS if of.mean[-1] >= of.mean.max() else PARTLY_HOLDS


RISES = f"rank correlation with the axis at least {RISING:g}, and the largest value at the end"


def rise(of: Curve, axis: str, what: str = "ratio of mean regrets") -> str:
    """In words, how something changes along its axis; a peak before the end is named."""
    top = int(of.mean.argmax())
    peak = f", {of.mean[top]:.2f} at {of.x[top]:g}" if 0 < top < len(of.x) - 1 else ""
    return (
        f"{what} {of.mean[0]:.2f} at {axis} = {of.x[0]:g}{peak}, {of.mean[-1]:.2f} at {of.x[-1]:g}; "
        f"rank correlation {rank_correlation(of):z.2f}"
    )


def inside_claim(
    rows: Rows, known: dict[str, Any], where: str, *, along: str, policies: Sequence[str] = ("pair-elim", "rank1-elim")
) -> Claim:
    """How many of the published means lie in the 5–95 % range of our runs, which is the band of the figure."""
    inside = total = 0
    for policy in policies:
        ours = rows.where(policy=policy).curve(along)
        for x, mean in zip(known["x"], known[policy]["mean"], strict=True):
            (at,) = np.flatnonzero(ours.x == x)
            inside += bool(ours.p5[at] <= mean <= ours.p95[at])
            total += 1
    return Claim(
        where,
        "the published means come out",
        f"{inside} of {total} lie in the band, the 5–95 % range of our runs",
        f"at least {int(np.ceil(INSIDE * total))} of {total}",
        counted(inside, total, enough=INSIDE),
    )


def agreement_claim(rows: Rows, known: dict[str, Any], where: str, *, along: str) -> Claim:
    """Do our means agree with the published ones, at every place? For instances that are the same as theirs."""
    policies = [policy for policy in rows.distinct("policy") if policy in known]
    apart = {
        f"{policy} at {x:g}": _apart(float(mean), _records(known[policy], k))
        for policy in policies
        for k, (x, mean) in enumerate(zip(known["x"], rows.where(policy=policy).curve(along).mean, strict=True))
    }
    outside = [place for place, (_, agrees, _) in apart.items() if not agrees]
    worst = max((share for share, _, _ in apart.values()), default=0.0)
    good, total = len(apart) - len(outside), len(apart)
    measured = f"{good} of {total} agree; the largest difference is {100 * worst:.1f} %"
    measured += f" (not {', '.join(outside)})" if outside else ""
    for place, (_, _, means) in apart.items():
        if len(means) > 1:
            nearer, farther = (rounded(mean) for mean in means)
            measured += f"; {place} has two published records: the nearer, {nearer}, counts, not {farther}"
    threshold = f"all within {percent(NEAR)} and the published 5–95 % range ± {percent(WIDER)}"
    return Claim(where, "the published means come out", measured, threshold, counted(good, total))


def _records(known: dict[str, Any], k: int) -> list[tuple[float, float, float]]:
    """Mean, 5 % and 95 % as published at a place; at the first one they may have been published twice."""
    records = [(known["mean"][k], known["p5"][k], known["p95"][k])]
    if k == 0 and "second_record_at_0.5" in known:
        second = known["second_record_at_0.5"]
        records.append((second["mean"], second["p5"], second["p95"]))
    return records


def _apart(mean: float, records: list[tuple[float, float, float]]) -> tuple[float, bool, list[float]]:
    """By which share a mean differs from the nearest record, whether it agrees with that, and all, nearest first."""
    records = sorted(records, key=lambda record: abs(mean / record[0] - 1))
    published, low, high = records[0]
    share = abs(mean / published - 1)
    agrees = share <= NEAR and low * (1 - WIDER) <= mean <= high * (1 + WIDER)
    return share, agrees, [published for published, _, _ in records]


def percent(share: float) -> str:
    """A share as it is read.

    >>> percent(0.494)
    '49 %'
    """
    return f"{100 * share:.0f} %"


def rounded(number: float) -> str:
    """Format a number without decimals.

    >>> rounded(17700.4)
    '17,700'
    """
    return grouped(round(number))

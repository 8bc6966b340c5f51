"""What the paper claims about pair selection, what we measure, and whether it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from matchbandit.figures.curves import Curve, curve, final, ratio
from matchbandit.results import Row

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
FLAT = 1.5
"""A curve whose largest mean is at most so many times its smallest is called flat."""
RISING = 0.8
"""A curve whose rank correlation with its axis is at least this is called rising."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper beside what we measured."""

    where: str
    claim: str
    measured: str
    verdict: str


def gap_claims(rows: Sequence[Row], study: str, where: str) -> list[Claim]:
    """Claim 1: Pair-Elim is below Rank1Elim, the more so for large Δ; it stays flat while Rank1Elim's grows."""
    ours, theirs = curve(rows, study, "pair-elim"), curve(rows, study, "rank1-elim")
    clear = [_clearly_below(rows, study, x) for x in ours.x]
    unclear = [f"{x:g}" for x, is_clear in zip(ours.x, clear, strict=True) if not is_clear]
    below = f"by more than two standard errors at {sum(clear)} of {len(clear)} values of Δ"
    if unclear:
        below += f" (not at {', '.join(unclear)})"
    gain = ratio(rows, study, "rank1-elim", "pair-elim")
    wide, other_wide = spread(ours), spread(theirs)
    flat = wide <= FLAT < other_wide
    return [
        Claim(where, "Pair-Elim loses less than Rank1Elim", below, verdict(sum(clear), len(clear))),
        Claim(where, "the more so for large Δ", rise(gain, "Δ"), rising(gain)),
        Claim(
            where,
            "Pair-Elim is flat in Δ, Rank1Elim grows",
            f"largest / smallest mean: Pair-Elim {wide:.2f}, Rank1Elim {other_wide:.2f}",
            HOLDS if flat else FAILS,
        ),
    ]


def u1_claims(rows: Sequence[Row], study: str, where: str) -> list[Claim]:
    """Claim 2: with the mean fixed, the advantage grows with u_1."""
    gain = ratio(rows, study, "rank1-elim", "pair-elim")
    return [Claim(where, "the advantage grows with u1 − μ_U", rise(gain, "u1"), rising(gain))]


def published_claim(rows: Sequence[Row], study: str, published: dict[str, Any], where: str) -> Claim:
    """How many of the published means lie in the 5–95 % range of our runs."""
    inside = total = 0
    for policy in ("pair-elim", "rank1-elim"):
        ours = curve(rows, study, policy, along="round" if published["axis"] == "rounds" else "x")
        for x, mean in zip(published["x"], published[policy]["mean"], strict=True):
            at = int(np.argmin(np.abs(ours.x - x)))
            inside += bool(ours.p5[at] <= mean <= ours.p95[at])
            total += 1
    measured = f"{inside} of {total} inside the 5–95 % range of our runs"
    return Claim(where, "the published means come out", measured, verdict(inside, total, enough=0.875))


def _clearly_below(rows: Sequence[Row], study: str, x: float) -> bool:
    """Is Pair-Elim's mean below Rank1Elim's by more than two standard errors? Runs share their instances: pairs."""
    ours, theirs = (final(rows, study, policy, x) for policy in ("pair-elim", "rank1-elim"))
    saved = theirs - ours
    return bool(saved.mean() > 2 * saved.std(ddof=1) / np.sqrt(len(saved))) if len(saved) > 1 else bool(saved[0] > 0)


def spread(of: Curve) -> float:
    """The largest mean over the smallest."""
    return float(of.mean.max() / of.mean.min())


def _rank_correlation(of: Curve) -> float:
    """Spearman's correlation of the means with the axis, which is in rising order."""
    ranks = np.argsort(np.argsort(of.mean, kind="stable"), kind="stable")
    return float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1])


def rising(gain: Curve) -> str:
    """Does it rise along its axis?"""
    return HOLDS if round(_rank_correlation(gain), 9) >= RISING else FAILS


def rise(gain: Curve, axis: str) -> str:
    """In words, how a ratio changes along its axis."""
    return (
        f"ratio of mean regrets {gain.mean[0]:.2f} at {axis} = {gain.x[0]:g}, {gain.mean[-1]:.2f} at {gain.x[-1]:g}; "
        f"rank correlation {_rank_correlation(gain):.2f}"
    )


def verdict(good: int, total: int, enough: float = 1.0) -> str:
    """All, most, or too few."""
    return HOLDS if good >= enough * total else IN_PART if good > total / 2 else FAILS

"""What the paper claims about matching selection, what we measure, and whether it holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from matchbandit.experiments.claims import FAILS, FLAT, HOLDS, IN_PART, Claim, rise, rising, spread, verdict
from matchbandit.figures.curves import Curve, curve, final, ratio
from matchbandit.results import Row

SAM = "simple-adaptive-matching"
NEAR, WIDER = 0.08, 0.03
"""A mean agrees with a published one if it differs by at most 8 % and lies in the published range widened by 3 %."""
SMALLEST_LOSS = 0.01
"""Δ_min in Figure 2, whatever N: two neighbouring pairs of players exchanged, 0.1²."""


def size_claims(rows: Sequence[Row], study: str, where: str) -> list[Claim]:
    """Claim 3: regret · Δ_min / (N log N) is flat in N where the horizon is long enough to split."""
    ours = curve(rows, study, SAM)
    split = [n for n in ours.x if np.ptp(final(rows, study, SAM, n)) > 1e-6]  # without a split all runs lose the same
    chosen = np.isin(ours.x, split)
    scaled = Curve(*(part[chosen] for part in (ours.x, *(SMALLEST_LOSS * p / _n_log_n(ours.x) for p in ours[1:]))))
    late = scaled.mean[len(scaled.mean) // 2 :]
    measured = (
        f"{scaled.mean[0]:.1f} at N = {scaled.x[0]:.0f}, {scaled.mean[-1]:.1f} at {scaled.x[-1]:.0f}: largest / "
        f"smallest {spread(scaled):.2f}, in the upper half of N {late.max() / late.min():.2f}"
    )
    flat = HOLDS if spread(scaled) <= FLAT else IN_PART if late.max() / late.min() <= FLAT else FAILS
    return [Claim(where, "regret · Δ_min / (N log N) is flat in N", measured, flat)]


def mean_claims(rows: Sequence[Row], study: str, *, in_time: str, over_mu: str) -> list[Claim]:
    """Claim 4: SAM overtakes ESCB as T grows at μ = 1/2; its lead grows with μ."""
    ours, theirs = (curve(rows, study, policy, along="round", at=0.5) for policy in (SAM, "escb"))
    behind = np.flatnonzero(ours.mean > theirs.mean)
    overtakes = len(behind) > 0 and behind[-1] < len(ours.x) - 1
    passed = f"passes it for good after round {ours.x[behind[-1]]:.0f}" if overtakes else "the order never changes"
    measured = f"{passed}; at the horizon {ours.mean[-1]:.0f} against {theirs.mean[-1]:.0f}"
    lead = ratio(rows, study, "escb", SAM)
    return [
        Claim(in_time, "SAM overtakes ESCB as T grows, at μ = 1/2", measured, HOLDS if overtakes else FAILS),
        Claim(over_mu, "SAM's lead over ESCB grows with μ", rise(lead, "μ"), rising(lead)),
    ]


def practical_claims(rows: Sequence[Row], study: str, where: str) -> list[Claim]:
    """What this library claims itself: with a proof or without, it loses far less than the paper at every μ."""
    claims = []
    for other, ours, times in (
        (SAM, "rank1-certify", 8),
        (SAM, "rank1-thompson", 25),
        ("escb", "rank1-thompson", 50),
    ):
        gain = ratio(rows, study, other, ours)
        ratios = ", ".join(f"{mean:.0f} at {x:g}" for x, mean in zip(gain.x, gain.mean, strict=True))
        good = int((gain.mean >= times).sum())
        words = f"{other} loses at least {times} times as much as {ours}"
        claims.append(Claim(where, words, f"times: {ratios}", verdict(good, len(gain.mean))))
    return claims


def agreement_claim(rows: Sequence[Row], study: str, known: dict[str, Any], where: str) -> Claim:
    """Do our means agree with the published ones, at every place?"""
    policies = [policy for policy in (SAM, "escb") if policy in known]
    apart = {
        (policy, x): _apart(float(mean), known[policy], k)
        for policy in policies
        for k, (x, mean) in enumerate(zip(known["x"], curve(rows, study, policy).mean, strict=True))
    }
    outside = [f"{policy} at {x:g}" for (policy, x), (_, agrees) in apart.items() if not agrees]
    worst = max((share for share, _ in apart.values()), default=0.0)
    inside = f"{len(apart) - len(outside)} of {len(apart)} within 8 % and the published range ± 3 %"
    measured = f"{inside}; largest {100 * worst:.1f} %"
    measured += f" (not {', '.join(outside)})" if outside else ""
    return Claim(where, "the published means come out", measured, verdict(len(apart) - len(outside), len(apart)))


def _apart(mean: float, known: dict[str, Any], k: int) -> tuple[float, bool]:
    """By which share a mean differs from the nearest published record, and whether it agrees with one of them."""
    records = [tuple(known[part][k] for part in ("mean", "p5", "p95"))]
    if k == 0 and "second_record_at_0.5" in known:
        records.append(tuple(known["second_record_at_0.5"][part] for part in ("mean", "p5", "p95")))
    agrees = [
        abs(mean / published - 1) <= NEAR and low * (1 - WIDER) <= mean <= high * (1 + WIDER)
        for published, low, high in records
    ]
    return min(abs(mean / published - 1) for published, _, _ in records), any(agrees)


def _n_log_n(n: Any) -> Any:
    return n * np.log(n)

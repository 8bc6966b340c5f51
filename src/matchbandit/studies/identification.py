"""Rounds until the best pair is identified, over size and δ."""

from typing import Any

import numpy as np

from matchbandit.figures import Chart
from matchbandit.results import Curve, Rows
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS, Claim
from matchbandit.studies.lines import line_of, numbers
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

SIZES = [4, 8, 16, 32, 64]
OTHER_SIZES = [4, 8, 16]
DELTAS = [0.05, 1e-3, 1e-6, 1e-10, 1e-15, 1e-20, 1e-25, 1e-30]
CERTIFIED_DELTAS = [0.05, 1e-3, 1e-10, 1e-30]
BLIND_DELTAS = [0.05, 1e-3, 1e-10]
SMALL = 1e-3
"""Slopes are fitted over δ up to this."""
LINEAR = 1.25
"""Rounds grow like N + M if the exponent in N is at most this: N + M is 1, N·M is 2."""
LARGE = 16
FAMILIES: dict[str, dict[str, Any]] = {"half": {"u1": 0.9}, "fading": {"u1": 0.9, "low": 0.05}}
SHOWN = "half"
"""The family of the figure; Track-and-Stop plays no other."""
DRAWN = {
    "pair-elim": "Pair-Elim",
    "rank1-certify": "rank1-certify",
    "track-and-stop": "Track-and-Stop†",
}


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Pair-Elim, rank1-certify, and Track-and-Stop, which is blind to the structure and slow to simulate."""
    sizes = {"pair-elim": SIZES, "rank1-certify": OTHER_SIZES, "track-and-stop": OTHER_SIZES}
    deltas = {"pair-elim": DELTAS, "rank1-certify": CERTIFIED_DELTAS, "track-and-stop": BLIND_DELTAS}
    names = {"pair-elim": "identification", "rank1-certify": "identification-certified"}
    return tuple(
        Study(
            name=names.get(policy, "identification-blind"),
            problem=[
                {"family": family, "n": sizes[policy], **parameters}
                for family, parameters in FAMILIES.items()
                if family == SHOWN or policy in names
            ],
            policies=[policy],
            delta=deltas[policy],
            runs=runs or (20 if policy in names else 5),
        )
        for policy in sizes
    )


def slopes(rows: Rows) -> dict[int, float]:
    """For each size the rounds for each unit of log(1/δ), by least squares over δ ≤ 10^-3."""
    slopes = {}
    for n in sorted(rows.distinct("n")):
        of = rows.where(n=n).curve("delta")
        small = of.x <= SMALL
        slopes[int(n)] = float(np.polyfit(np.log(1 / of.x[small]), of.mean[small], 1)[0])
    return slopes


def exponent(values: dict[int, float]) -> float:
    """The power of n with which these values grow, by least squares in logarithms."""
    return float(np.polyfit(np.log(list(values)), np.log(list(values.values())), 1)[0])


def claims(rows: Rows) -> list[Claim]:
    """Claim 6: the slope of the rounds in log(1/δ) grows like N + M, exponent 1 here; without structure like N·M, 2."""
    judged = []
    for family in rows.distinct("family"):
        of = {policy: rows.where(family=family, policy=policy) for policy in rows.distinct("policy")}
        ours = slopes(of["pair-elim"])
        whole, large = exponent(ours), exponent({n: ours[n] for n in ours if n >= LARGE})
        beside = {policy: each for policy, each in of.items() if policy != "pair-elim" and len(each)}
        others = [f"{policy} {exponent(slopes(each)):z.2f}" for policy, each in beside.items()]
        at_start = of["pair-elim"].where(delta=DELTAS[0]).curve("n")
        first = exponent(dict(zip(at_start.x.tolist(), at_start.mean.tolist(), strict=True)))
        judged.append(
            Claim(
                "identification",
                f"rounds grow like (N + M) log(1/δ) ({family})",
                f"the slope in log(1/δ) grows like N^{whole:z.2f} for N = {min(ours)} … {max(ours)}, N^{large:z.2f} "
                f"for {LARGE} … {max(ours)} ({', '.join(others)} for {OTHER_SIZES[0]} … {OTHER_SIZES[-1]}); "
                f"the rounds at δ = {DELTAS[0]} like N^{first:z.2f}",
                f"exponent of the slope at most {LINEAR:g} (N + M is 1, N·M is 2); in part: from N = {LARGE} on",
                HOLDS if whole <= LINEAR else PARTLY_HOLDS if large <= LINEAR else FAILS,
            )
        )
    return judged


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Rounds over log(1/δ), each divided by N + M, a line for every size."""
    half = rows.where(family=SHOWN)
    lines = []
    for policy, name in DRAWN.items():
        chosen = half.where(policy=policy)
        for n in sorted(chosen.distinct("n")):
            of = chosen.where(n=n).curve("delta")
            scaled = Curve(np.log(1 / of.x[::-1]), *(numbers(part[::-1]) / (2 * n) for part in of[1:]))
            lines.append(line_of(scaled, f"{name} {n}×{n}", policy, band=False))
    often = ", ".join(f"{len(half.where(policy=policy).distinct('run'))} of {policy}" for policy in DRAWN)
    return (
        Chart(
            "identification",
            "Rounds until the best pair is identified, for each item",
            "log(1/δ)",
            "rounds / (N + M)",
            tuple(lines),
            f"N×N, u₁ = v₁ = 0.9, all others 0.45. Means of runs ({often}), seed "
            f"{', '.join(map(str, half.distinct('seed')))}. Lines on each other: rounds grow like N + M. "
            "† Its threshold has no proof.",
            y_log=True,
        ),
    )


ENTRY = Entry("identification", ("identification",), studies, claims, charts, beside=("identification-blind",))

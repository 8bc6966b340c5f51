"""Figure 2: the regret of Simple Adaptive Matching over the number of players."""

import numpy as np

from matchbandit.figures import Chart, Line
from matchbandit.results import Curve, Rows
from matchbandit.rewards import Floats
from matchbandit.studies.claims import FAILS, FLAT, HOLDS, PARTLY_HOLDS, Claim, agreement_claim, finals, spread
from matchbandit.studies.lines import NAMES, caption, line_of, numbers, published_points
from matchbandit.studies.published import published
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

SAM = "simple-adaptive-matching"
SIZES = list(range(2, 12))
SMALLEST_LOSS = 0.01
"""Δ_min, whatever N: two neighbouring pairs of players exchanged, 0.1²."""
LEVEL = 0.25
"""What goes like a power of N within this of 0 is level."""


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """The staircases of the paper."""
    return (
        Study(
            name="over-n",
            problem={"family": "staircase", "n": SIZES, "gap": 0.1},
            policies=[SAM],
            horizon=200_000,
            checkpoints=[],
            runs=runs or 100,
        ),
    )


def claims(rows: Rows) -> list[Claim]:
    """Claim 3: regret · Δ_min / (N log N) is flat in N where the horizon is long enough to split; or is bounded."""
    scaled = per_n_log_n(rows)
    upper = len(scaled.mean) // 2
    whole, late = (exponent(scaled.x[at:], scaled.mean[at:]) for at in (0, upper))
    wide = spread(scaled.mean)
    ends = f"{scaled.mean[0]:.1f} at N = {scaled.x[0]:.0f}, {scaled.mean[-1]:.1f} at {scaled.x[-1]:.0f}"
    return [
        agreement_claim(rows, published()["over-n"], "fig2", along="n"),
        Claim(
            "fig2-scaled",
            "regret grows at most like N log N",
            f"{ends}; divided by N log N it goes like N^{whole:z.2f}",
            f"exponent at most {LEVEL:g} wherever runs split",
            HOLDS if whole <= LEVEL else FAILS,
        ),
        Claim(
            "fig2-scaled",
            "regret · Δ_min / (N log N) is flat in N",
            f"{ends}: largest / smallest {wide:.2f}; in the upper half of N it goes like N^{late:z.2f}",
            f"largest / smallest at most {FLAT:g} wherever runs split; in part: an exponent within ± {LEVEL:g} in the "
            "upper half of N",
            HOLDS if wide <= FLAT else PARTLY_HOLDS if abs(late) <= LEVEL else FAILS,
        ),
    ]


def exponent(x: Floats, y: Floats) -> float:
    """The power of x with which y goes, by least squares in logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def per_n_log_n(rows: Rows) -> Curve:
    """Regret · Δ_min / (N log N) where the horizon is long enough to split; without a split all runs lose the same."""
    ours = rows.curve("n")
    chosen = np.array([np.ptp(finals(rows, n=int(n))) > 1e-6 for n in ours.x])
    return Curve(ours.x[chosen], *(SMALLEST_LOSS * part[chosen] / _n_log_n(ours.x[chosen]) for part in ours[1:]))


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Regret over N, beside c N log N through the last place; and divided by N log N."""
    known, ours, scaled = published()["over-n"], rows.curve("n"), per_n_log_n(rows)
    law = ours.mean[-1] * _n_log_n(ours.x) / _n_log_n(ours.x[-1:])
    theirs = {n: mean for n, mean in zip(known["x"], known[SAM]["mean"], strict=True) if n in scaled.x}
    instance = "Players in equal pairs, 0.1 apart: u = (N − 1)·0.1, …, 0.1, 0; T = 2·10⁵"
    return (
        Chart(
            "fig2",
            "Figure 2: regret over N",
            "N, half of the players",
            "regret",
            (
                line_of(ours, NAMES[SAM], SAM),
                Line(f"c N log N through N = {ours.x[-1]:.0f}", numbers(ours.x), numbers(law), kind="reference"),
                published_points(known, SAM),
            ),
            caption(rows, instance, "N = 2 and 3 never split within the horizon."),
            x_ticks=tuple(map(float, SIZES)),
        ),
        Chart(
            "fig2-scaled",
            "Figure 2, divided by N log N",
            "N, half of the players",
            "regret · Δ_min / (N log N)",
            (
                line_of(scaled, NAMES[SAM], SAM),
                Line(
                    "published",
                    numbers([*theirs]),
                    SMALLEST_LOSS * numbers([*theirs.values()]) / _n_log_n(numbers([*theirs])),
                    key=SAM,
                    kind="points",
                    hollow=True,
                ),
            ),
            caption(rows, instance, "Only where runs split within the horizon. Flat would be a level line."),
            x_ticks=tuple(map(float, scaled.x)),
        ),
    )


def _n_log_n(n: Floats) -> Floats:
    values: Floats = n * np.log(n)
    return values


ENTRY = Entry("over-n", ("fig2", "fig2-scaled"), studies, claims, charts, is_of_paper=True)

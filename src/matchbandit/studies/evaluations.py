"""Pair evaluations until the best matching is identified: whole matchings or single pairs."""

import numpy as np

from matchbandit.figures import Chart
from matchbandit.results import Rows
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS, Claim
from matchbandit.studies.lines import caption, line_of
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

SIZES = [2, 3, 4, 5, 6, 7, 8]
SEEKERS = {
    "matching-id": "Matching-Id, matchings",
    "pair-select": "Pair-Select, single pairs",
    "rank1-certify": "rank1-certify, matchings",
}
DELTA = 0.05
SAME_ORDER = 3.0
"""Two numbers of the same order differ at most by this factor over all sizes, up to a constant."""


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """2N players in equal pairs between 0.9 and 0.3."""
    return (
        Study(
            name="evaluations",
            problem={"family": "equal-pairs", "n": SIZES, "top": 0.9, "bottom": 0.3},
            policies=[*SEEKERS],
            delta=DELTA,
            runs=runs or 20,
        ),
    )


def claims(rows: Rows) -> list[Claim]:
    """Claim 7: both use the same order of pair evaluations."""
    of = {policy: rows.where(policy=policy).curve("n", y="pairs") for policy in SEEKERS}
    sizes = of["matching-id"].x
    times = of["pair-select"].mean / of["matching-id"].mean
    saved = of["matching-id"].mean / of["rank1-certify"].mean
    powers = {policy: float(np.polyfit(np.log(sizes), np.log(each.mean), 1)[0]) for policy, each in of.items()}
    apart = times.max() / times.min()
    return [
        Claim(
            "evaluations",
            "Matching-Id and Pair-Select use the same order of pair evaluations",
            f"Pair-Select / Matching-Id from {times.min():.2f} to {times.max():.2f} for N = {sizes[0]} … {sizes[-1]}; "
            f"they grow like N^{powers['pair-select']:z.1f} and N^{powers['matching-id']:z.1f}. "
            f"rank1-certify uses {saved.min():.0f} to {saved.max():.0f} times fewer than Matching-Id",
            f"the ratio changes at most by a factor {SAME_ORDER:g} over N; in part: {SAME_ORDER**2:g}",
            HOLDS if apart <= SAME_ORDER else PARTLY_HOLDS if apart <= SAME_ORDER**2 else FAILS,
        )
    ]


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Pair evaluations over N: policies for identification, all with a proof."""
    return (
        Chart(
            "evaluations",
            "Pair evaluations until the best matching is identified",
            "N, half of the players",
            "pair evaluations",
            tuple(
                line_of(rows.where(policy=policy).curve("n", y="pairs"), label, policy)
                for policy, label in SEEKERS.items()
            ),
            caption(rows, "Players in equal pairs, falling in equal steps from 0.9 to 0.3; δ = 0.05, all three proved"),
            y_log=True,
            x_ticks=tuple(map(float, SIZES)),
        ),
    )


ENTRY = Entry("evaluations", ("evaluations",), studies, claims, charts)

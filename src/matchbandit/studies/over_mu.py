"""Figure 3: Simple Adaptive Matching and ESCB over time, and over the mean strength of the players."""

import numpy as np

from matchbandit.figures import Chart, Line
from matchbandit.results import Rows
from matchbandit.studies.claims import (
    FAILS,
    HOLDS,
    PARTLY_HOLDS,
    RISES,
    Claim,
    agreement_claim,
    is_clearly_below,
    ratio,
    rise,
    rising,
    spaced,
)
from matchbandit.studies.entry import Entry
from matchbandit.studies.lines import NAMES, caption, line_of, numbers, published_in_time, published_points
from matchbandit.studies.published import published
from matchbandit.studies.study import Study

SAM = "simple-adaptive-matching"
POLICIES = [SAM, "escb"]
MEANS = [0.5, 0.6, 0.7, 0.8]
HORIZON = 200_000


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Eight players in equal pairs, read every 4000 rounds."""
    return (
        Study(
            name="over-mu",
            problem={"family": "centred", "n": 4, "mean": MEANS, "gap": 0.1},
            policies=POLICIES,
            horizon=HORIZON,
            checkpoints=list(range(4000, HORIZON + 1, 4000)),
            runs=runs or 100,
        ),
    )


def claims(rows: Rows) -> list[Claim]:
    """Claim 4: SAM overtakes ESCB as T grows at μ = 1/2; its lead grows with μ."""
    lead = ratio(rows, "mean", "escb", SAM)
    return [
        overtaking_claim(rows.where(mean=0.5)),
        Claim("fig3-bottom", "SAM's lead over ESCB grows with μ", rise(lead, "μ"), RISES, rising(lead)),
        agreement_claim(rows, published()["over-mu"], "fig3-bottom", along="mean"),
    ]


def overtaking_claim(rows: Rows) -> Claim:
    """Is SAM behind at first, and ahead from some round on for good, both beyond chance?"""
    ours, theirs = (rows.where(policy=policy).curve("round") for policy in POLICIES)
    behind = np.flatnonzero(ours.mean > theirs.mean)
    overtakes = len(behind) > 0 and behind[-1] < len(ours.x) - 1

    def clearly(first: str, second: str, at: int) -> bool:
        mine, other = (rows.where(policy=policy, round=at)["regret"] for policy in (first, second))
        return is_clearly_below(mine, other, paired=False)

    surely = overtakes and clearly(SAM, "escb", int(ours.x[-1]))
    surely = surely and any(clearly("escb", SAM, int(at)) for at in ours.x[behind])
    passed = f"passes it for good after round {spaced(ours.x[behind[-1]])}" if overtakes else "the order never changes"
    return Claim(
        "fig3-top",
        "SAM overtakes ESCB as T grows, at μ = 1/2",
        f"{passed}; at the horizon {spaced(ours.mean[-1])} against {spaced(theirs.mean[-1])}",
        "behind at some round and ahead at the horizon, each by more than two standard errors",
        HOLDS if surely else PARTLY_HOLDS if overtakes else FAILS,
    )


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Regret over the rounds at μ = 1/2, and over μ at the horizon."""
    in_time, over_mu = published()["over-mu-in-time"], published()["over-mu"]
    second = over_mu[SAM]["second_record_at_0.5"]
    again = Line(
        "published, second record",
        numbers([0.5]), numbers([second["mean"]]), numbers([second["p5"]]), numbers([second["p95"]]),
        key=SAM, kind="points", hollow=True,
    )  # fmt: skip
    records = f"{spaced(over_mu[SAM]['mean'][0])}, which the paper draws, and {spaced(second['mean'])}"
    half = rows.where(mean=0.5)
    instance = "Eight players in equal pairs, 0.1 apart, around the mean μ"
    return (
        Chart(
            "fig3-top",
            "Figure 3, top: regret over time, μ = 0.5",
            "round",
            "regret",
            (
                *(line_of(half.where(policy=policy).curve("round"), NAMES[policy], policy) for policy in POLICIES),
                *(points for policy in POLICIES for points in published_in_time(in_time, policy)),
            ),
            caption(
                half,
                f"{instance} = 0.5: u = 0.65, 0.55, 0.45, 0.35",
                "Of the published curve of Simple Adaptive Matching only the end is shown: the rest is printed on "
                "another time axis.",
            ),
        ),
        Chart(
            "fig3-bottom",
            "Figure 3, bottom: regret over μ",
            "μ, the mean strength",
            "regret",
            (
                *(line_of(rows.where(policy=policy).curve("mean"), NAMES[policy], policy) for policy in POLICIES),
                *(published_points(over_mu, policy) for policy in POLICIES),
                again,
            ),
            caption(
                rows,
                f"{instance}, T = 2·10⁵",
                f"At μ = 0.5 the authors have two records of Simple Adaptive Matching: {records}, of another notebook. "
                "The nearer to ours counts.",
            ),
            x_ticks=tuple(MEANS),
        ),
    )


ENTRY = Entry("over-mu", ("fig3-top", "fig3-bottom"), studies, claims, charts, is_of_paper=True)

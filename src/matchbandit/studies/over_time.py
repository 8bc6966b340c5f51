"""Figure 1, top: the regret of Pair-Elim and Rank1Elim over time."""

from matchbandit.figures import Chart
from matchbandit.results import Rows
from matchbandit.studies.claims import Claim, inside_claim
from matchbandit.studies.lines import NAMES, caption, line_of, published_in_time
from matchbandit.studies.published import published
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

POLICIES = ["pair-elim", "rank1-elim"]
HORIZON = 200_000


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Fresh 8×8 instances for every run, read every 4,000 rounds."""
    return (
        Study(
            name="over-time",
            problem={"family": "spiked", "n": 8, "u1": 0.9, "gap": 0.75},
            policies=POLICIES,
            horizon=HORIZON,
            checkpoints=list(range(4000, HORIZON + 1, 4000)),
            runs=runs or 100,
        ),
    )


def claims(rows: Rows) -> list[Claim]:
    """The published curves come out."""
    return [inside_claim(rows, published()["over-time"], "fig1-top", along="round")]


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Regret over the rounds, the published numbers laid over."""
    known = published()["over-time"]
    lines = [line_of(rows.where(policy=policy).curve("round"), NAMES[policy], policy) for policy in POLICIES]
    return (
        Chart(
            "fig1-top",
            "Figure 1, top: regret over time",
            "round",
            "regret",
            (*lines, *(points for policy in POLICIES for points in published_in_time(known, policy))),
            caption(
                rows,
                "8×8, u₁ = v₁ = 0.9, the others uniform on [0, 0.3] (Δ = 0.75), T = 2·10⁵",
                "Every run plays its own instance; published values are means of 20 runs on one instance.",
            ),
        ),
    )


ENTRY = Entry("over-time", ("fig1-top",), studies, claims, charts, is_of_paper=True)

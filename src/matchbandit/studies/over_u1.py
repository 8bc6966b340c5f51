"""The appendix: Pair-Elim and Rank1Elim over u_1, the mean of u fixed."""

from matchbandit.figures import Chart, Line, Mark
from matchbandit.results import Rows
from matchbandit.studies.claims import RISES, Claim, inside_claim, ratio, rise, rising
from matchbandit.studies.lines import NAMES, caption, line_of, numbers, published_points
from matchbandit.studies.published import published
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

POLICIES = ["pair-elim", "rank1-elim"]
PLACES = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Fresh 8×8 instances for every run."""
    return (
        Study(
            name="over-u1",
            problem={"family": "fixed-mean", "n": 8, "u1": PLACES, "mean": 0.2},
            policies=POLICIES,
            horizon=1_000_000,
            checkpoints=[],
            runs=runs or 100,
        ),
    )


def claims(rows: Rows) -> list[Claim]:
    """Claim 2: with the mean fixed, the advantage grows with u_1; and the published means come out."""
    gain = ratio(rows, "u1", "rank1-elim", "pair-elim")
    return [
        inside_claim(rows, published()["over-u1"], "u1-regret", along="u1"),
        Claim("u1-ratio", "the advantage grows with u1 − μ_U", rise(gain, "u1"), RISES, rising(gain)),
    ]


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Regret over u_1, and how many times more Rank1Elim loses."""
    known = published()["over-u1"]
    lines = [line_of(rows.where(policy=policy).curve("u1"), NAMES[policy], policy) for policy in POLICIES]
    instance = "8×8, u₁ = v₁, the others uniform so that the mean of u is 0.2; T = 10⁶"
    fresh = "Every run plays its own instance; published values are means of 20 runs on one instance."
    theirs = numbers(known["rank1-elim"]["mean"]) / numbers(known["pair-elim"]["mean"])
    return (
        Chart(
            "u1-regret",
            "Appendix: regret over u₁, the mean of u fixed",
            "u₁",
            "regret",
            (*lines, *(published_points(known, policy) for policy in POLICIES)),
            caption(rows, instance, fresh),
            x_ticks=tuple(PLACES),
        ),
        Chart(
            "u1-ratio",
            "Appendix: how many times more Rank1Elim loses, over u₁",
            "u₁",
            "regret of Rank1Elim / Pair-Elim",
            (
                line_of(ratio(rows, "u1", "rank1-elim", "pair-elim"), "ratio of means", "rank1-elim"),
                Line("published", numbers(known["x"]), theirs, key="rank1-elim", kind="points", hollow=True),
            ),
            caption(rows, instance, fresh, of="Ratio of the means, and 5–95 % of the ratios run by run,"),
            x_ticks=tuple(PLACES),
            marks=(Mark(1.0, "equal", axis="y"),),
        ),
    )


ENTRY = Entry("over-u1", ("u1-regret", "u1-ratio"), studies, claims, charts, is_of_paper=True)

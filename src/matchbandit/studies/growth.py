"""How often Pair-Elim should look: its regret over the growth of its checks."""

from matchbandit.figures import Chart, Line
from matchbandit.results import Rows
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS, Claim, percent, rounded
from matchbandit.studies.lines import caption, line_of
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

GROWTHS = [1.05, 1.2, 1.5, 2.0, 3.0, 4.0]
FINE, PAPERS = 1.05, 4.0
SAVED, PARTLY_FROM = 0.5, 0.4
INSTANCES = {"spiked": "spiked, u₁ = 0.9, Δ = 0.75", "fixed-mean": "fixed mean, u₁ = 0.6, μ = 0.2"}


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Pair-Elim at T = 2·10^5 on fresh instances of two families."""
    return (
        Study(
            name="growth",
            problem=[
                {"family": "spiked", "n": 8, "u1": 0.9, "gap": 0.75},
                {"family": "fixed-mean", "n": 8, "u1": 0.6, "mean": 0.2},
            ],
            policies=[{"name": "pair-elim", "growth": GROWTHS}],
            horizon=200_000,
            checkpoints=[],
            runs=runs or 20,
        ),
    )


def claims(rows: Rows) -> list[Claim]:
    """Not the paper's: a finer grid of checks under the same guarantee."""
    with_growth = rows.with_option("growth")
    judged = []
    for family in rows.distinct("family"):
        of = with_growth.where(family=family).curve("growth")
        means = dict(zip(of.x.tolist(), of.mean.tolist(), strict=True))
        saved = 1 - means[FINE] / means[PAPERS]
        judged.append(
            Claim(
                "growth",
                f"checks at growth 1.05 instead of 4 save more than half of the regret ({family})",
                f"{rounded(means[FINE])} instead of {rounded(means[PAPERS])}: {percent(saved)} saved",
                f"more than {percent(SAVED)} saved; partly: more than {percent(PARTLY_FROM)}",
                HOLDS if saved > SAVED else PARTLY_HOLDS if round(saved, 9) > PARTLY_FROM else FAILS,
            )
        )
    return judged


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Regret over the growth of the checks."""
    with_growth = rows.with_option("growth")
    lines: list[Line] = [
        line_of(with_growth.where(family=family).curve("growth"), INSTANCES[family], family, dash="solid")
        for family in rows.distinct("family")
    ]
    return (
        Chart(
            "growth",
            "Pair-Elim: regret over the growth of its checks",
            "growth g (the paper: 4)",
            "regret",
            tuple(lines),
            caption(rows, "8×8, T = 2·10⁵", "Every run plays its own instance."),
            x_ticks=(1.0, 1.5, 2.0, 3.0, 4.0),
        ),
    )


ENTRY = Entry("growth", ("growth",), studies, claims, charts)

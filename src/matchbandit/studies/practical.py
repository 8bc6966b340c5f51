"""Which policy for matchings: all of them on the instances of Figure 3."""

from dataclasses import replace

from matchbandit.figures import Chart
from matchbandit.policies import CATALOGUE
from matchbandit.results import Rows
from matchbandit.studies import over_mu
from matchbandit.studies.claims import Claim, counted, ratio
from matchbandit.studies.lines import line_of
from matchbandit.studies.over_mu import SAM
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

OURS = ["rank1-certify", "rank1-thompson"]
BLIND = ["ols-ucb", "cucb", "cts-beta", "cts-gaussian"]
"""Blind to the products, and slow to simulate: shown beside, with fewer runs. Figure 3 is played anyway."""
RECOMMENDED = ("rank1-certify", "rank1-thompson")
AT_LEAST = ((SAM, "rank1-certify", 8), (SAM, "rank1-thompson", 25), ("escb", "rank1-thompson", 50))
"""How many times as much the first loses as the second."""


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Figure 3, and six further policies on the same players."""
    return (
        *over_mu.studies(runs),
        *(
            Study(
                name=name,
                problem={"family": "centred", "n": 4, "mean": over_mu.MEANS, "gap": 0.1},
                policies=policies,
                horizon=over_mu.HORIZON,
                checkpoints=[],
                runs=runs or usual,
            )
            for name, policies, usual in (("practical", OURS, 20), ("practical-blind", BLIND, 10))
        ),
    )


def claims(rows: Rows) -> list[Claim]:
    """What this library claims itself: with a proof or without, it loses far less than the paper's at every μ."""
    judged = []
    for other, ours, times in AT_LEAST:
        gain = ratio(rows, "mean", other, ours)
        ratios = ", ".join(f"{mean:.0f} at {x:g}" for x, mean in zip(gain.x, gain.mean, strict=True))
        judged.append(
            Claim(
                "practical",
                f"{other} loses at least {times} times as much as {ours}",
                f"times at each μ: {ratios}",
                f"ratio of mean regrets at least {times} at every μ",
                counted(int((gain.mean >= times).sum()), len(gain.mean)),
            )
        )
    return judged


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Regret over μ: whole lines for policies with a proof of their regret, broken ones for those without."""
    curves = {policy: rows.where(policy=policy).curve("mean") for policy in rows.distinct("policy")}
    order = sorted(curves, key=lambda policy: -curves[policy].mean[-1])
    proved = {policy: "regret" in CATALOGUE[policy].capabilities.proved for policy in order}
    runs = {study: len(rows.where(study=study).distinct("run")) for study in rows.distinct("study")}
    often = ", ".join(f"{runs[study]} runs of {words}" for study, words in _WHOSE.items() if study in runs)
    return (
        Chart(
            "practical",
            "Which policy for matchings? Regret after 200,000 rounds",
            "μ, the mean strength of the players",
            "regret",
            tuple(
                replace(
                    line_of(curves[policy], policy if proved[policy] else f"{policy} †", policy),
                    dash="solid" if proved[policy] else "dashed",
                    hollow=not proved[policy],
                    strong=policy in RECOMMENDED,
                )
                for policy in order
            ),
            f"Eight players in equal pairs, 0.1 apart, around the mean μ; T = 2·10⁵. Mean and 5–95 % of {often}, seed "
            f"{', '.join(map(str, rows.distinct('seed')))}. † and broken lines: the regret is not proved.",
            y_log=True,
            x_ticks=tuple(over_mu.MEANS),
        ),
    )


_WHOSE = {
    "over-mu": "the two in Figure 3",
    "practical": "those that use the products",
    "practical-blind": "the others",
}

ENTRY = Entry("practical", ("practical",), studies, claims, charts, beside=("practical-blind",))

"""Figure 1, bottom, and the appendix: Pair-Elim and Rank1Elim over the gap; the horizon of the published numbers."""

from math import comb
from typing import Any, NamedTuple

import numpy as np

from matchbandit.figures import Chart, Line, Mark
from matchbandit.results import Rows
from matchbandit.rewards import Floats
from matchbandit.studies.claims import (
    FAILS,
    FLAT,
    HOLDS,
    PARTLY_HOLDS,
    RISES,
    Claim,
    counted,
    finals,
    is_clearly_below,
    percent,
    ratio,
    rise,
    rising,
    spread,
)
from matchbandit.studies.lines import NAMES, caption, line_of, numbers, published_points, reference_of
from matchbandit.studies.published import published
from matchbandit.studies.registry import Entry
from matchbandit.studies.study import Study

POLICIES = ["pair-elim", "rank1-elim"]
GAPS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85]
AS_RUN, AS_PRINTED = 300_000, 2_000_000
REPEATS = 10
"""Runs on the same instance, for the horizon of the published means, which are of 20."""
BY_CHANCE = 0.02
"""The published means fit a horizon unless such a small number of them inside has a smaller probability."""
TIMES_AS_LIKELY = 100
"""They must also be more likely than at the other horizon by this factor, since they belong to one horizon only."""


def studies(runs: int | None = None) -> tuple[Study, ...]:
    """Fresh 8×8 instances for every run, at both horizons; and instances that are each played ten times, at both."""
    runs = runs or 100
    spiked = {"family": "spiked", "n": 8, "u1": 0.9, "gap": GAPS}
    return (
        *(
            Study(name=name, problem=spiked, policies=POLICIES, horizon=horizon, checkpoints=[], runs=runs)
            for name, horizon in (("over-gap", AS_RUN), ("over-gap-as-printed", AS_PRINTED))
        ),
        Study(
            name="over-gap-instances",
            problem={**spiked, "family": "spiked-repeated", "repeats": REPEATS},
            policies=POLICIES,
            horizon=[AS_RUN, AS_PRINTED],
            checkpoints=[],
            runs=2 * runs,
        ),
    )


def claims(rows: Rows) -> list[Claim]:
    """Claim 1: Pair-Elim is below Rank1Elim, the more so for large Δ; it stays flat while Rank1Elim's grows."""
    fresh = rows.where(study="over-gap")
    ours, theirs = (fresh.where(policy=policy).curve("gap") for policy in POLICIES)
    clear = {x: is_clearly_below(*(finals(fresh, policy=policy, gap=x) for policy in POLICIES)) for x in ours.x}
    unclear = [f"{x:g}" for x, is_clear in clear.items() if not is_clear]
    gain = ratio(fresh, "gap", "rank1-elim", "pair-elim")
    flat, grows = spread(ours.mean) <= FLAT, spread(theirs.mean) > FLAT and rising(theirs) == HOLDS
    return [
        Claim(
            "fig1-bottom",
            "Pair-Elim loses less than Rank1Elim",
            f"at {sum(clear.values())} of {len(clear)} values of Δ"
            + (f", not at {', '.join(unclear)}" * bool(unclear)),
            "by more than two standard errors at every Δ, on shared instances",
            counted(sum(clear.values()), len(clear)),
        ),
        Claim(
            "fig1-bottom",
            "Pair-Elim is flat in Δ, Rank1Elim grows",
            f"largest / smallest mean: Pair-Elim {spread(ours.mean):.2f}, Rank1Elim {spread(theirs.mean):.2f}",
            f"flat: at most {FLAT:g}; grows: more than {FLAT:g}, {RISES}",
            HOLDS if flat and grows else PARTLY_HOLDS if flat or grows else FAILS,
        ),
        horizon_claim(rows.where(study="over-gap-instances"), published()["over-gap"]),
        Claim("delta-ratio", "the advantage grows with Δ", rise(gain, "Δ"), RISES, rising(gain)),
    ]


class Fit(NamedTuple):
    """How published means lie among means of ours, each of these over the runs on one instance."""

    inside: int
    """How many lie between the smallest and the largest of ours."""
    total: int
    instances: int
    likelihood: float
    """The logarithm of their joint density, up to a constant that depends on the number of instances only."""

    @property
    def least(self) -> int:
        """With fewer inside, chance does not explain it: each of ours could be the extreme as well as a published."""
        share = (self.instances - 1) / (self.instances + 1)
        tails = np.cumsum([comb(self.total, k) * share**k * (1 - share) ** (self.total - k) for k in range(self.total)])
        return int(np.searchsorted(tails, BY_CHANCE, side="right"))


def fit(rows: Rows, known: dict[str, Any], horizon: int) -> Fit:
    """The published means among ours at this horizon.

    The logarithm of a mean over the runs on a random instance is taken for normal; the density of one more draw after
    K is then Student's, with K − 1 degrees of freedom.
    """
    inside = total = instances = 0
    likelihood = 0.0
    for policy in POLICIES:
        for gap, theirs in zip(known["x"], known[policy]["mean"], strict=True):
            ours = means_by_instance(rows.where(horizon=horizon, policy=policy, gap=gap))
            inside += bool(ours.min() <= theirs <= ours.max())
            total += 1
            instances = len(ours)
            width = np.log(ours).std(ddof=1) * np.sqrt(1 + 1 / instances)
            away = (np.log(theirs) - np.log(ours).mean()) / width
            likelihood -= float(np.log(width) + instances / 2 * np.log1p(away**2 / (instances - 1)))
    return Fit(inside, total, instances, likelihood)


def means_by_instance(rows: Rows) -> Floats:
    """The mean regret on each instance; a last one that not all its runs have played is left out."""
    runs = finals(rows)
    repeats = int(rows.distinct("repeats")[0])
    means: Floats = runs[: len(runs) // repeats * repeats].reshape(-1, repeats).mean(axis=1)
    return means


def horizon_claim(rows: Rows, known: dict[str, Any]) -> Claim:
    """The published means come from one horizon: that of the notebook, 3·10⁵, and not that of the print, 2·10⁶."""
    words = "the published means come out at T = 3·10⁵ (as run), not at 2·10⁶ (as printed)"
    if len(rows.distinct("run")) < 3 * REPEATS:
        return Claim("fig1-bottom", words, "too few instances to say", "at least three instances", FAILS)
    run, printed = (fit(rows, known, horizon) for horizon in (AS_RUN, AS_PRINTED))
    times = run.likelihood - printed.likelihood
    measured = (
        f"within the range of means on {run.instances} instances lie {run.inside} of {run.total} at 3·10⁵, "
        f"{printed.inside} at 2·10⁶; together they are 10^{times / np.log(10):.1f} times as likely at 3·10⁵"
    )
    threshold = (
        f"a horizon comes out if at least {run.least} of {run.total} lie inside (fewer by chance in less than "
        f"{percent(BY_CHANCE)} of cases) and are {TIMES_AS_LIKELY} times as likely as at the other: so at most one can"
    )
    comes_out, is_likelier = run.inside >= run.least, times >= np.log(TIMES_AS_LIKELY)
    verdict = HOLDS if comes_out and is_likelier else PARTLY_HOLDS if comes_out and times > 0 else FAILS
    return Claim("fig1-bottom", words, measured, threshold, verdict)


def charts(rows: Rows) -> tuple[Chart, ...]:
    """Regret over the gap at both horizons, and how many times more Rank1Elim loses."""
    known = published()["over-gap"]
    run, printed = rows.where(study="over-gap"), rows.where(study="over-gap-as-printed")
    lines: list[Line] = []
    for policy in POLICIES:
        named = NAMES[policy]
        lines.append(line_of(run.where(policy=policy).curve("gap"), f"{named}, 3·10⁵", policy))
        of = printed.where(policy=policy).curve("gap")
        lines.append(reference_of(of, f"{named}, 2·10⁶", policy))
    instance = "8×8, u₁ = v₁ = 0.9, the others uniform on [0, 2(u₁ − Δ)]; T = 3·10⁵ as run, 2·10⁶ as printed (dotted)"
    fresh = "Every run plays its own instance; published values are means of 20 runs on one instance."
    theirs = numbers(known["rank1-elim"]["mean"]) / numbers(known["pair-elim"]["mean"])
    later = ratio(printed, "gap", "rank1-elim", "pair-elim")
    return (
        Chart(
            "fig1-bottom",
            "Figure 1, bottom: regret over the gap",
            "gap parameter Δ",
            "regret",
            (*lines, *(published_points(known, policy) for policy in POLICIES)),
            caption(run, instance, fresh),
        ),
        Chart(
            "delta-ratio",
            "Appendix: how many times more Rank1Elim loses, over the gap",
            "gap parameter Δ",
            "regret of Rank1Elim / Pair-Elim",
            (
                line_of(ratio(run, "gap", "rank1-elim", "pair-elim"), "ratio of means, 3·10⁵", "rank1-elim"),
                reference_of(later, "2·10⁶", "rank1-elim"),
                Line("published", numbers(known["x"]), theirs, key="rank1-elim", kind="points", hollow=True),
            ),
            caption(run, instance, fresh, of="Ratio of the means, and 5–95 % of the ratios run by run,"),
            marks=(Mark(1.0, "equal", axis="y"),),
        ),
    )


ENTRY = Entry("over-gap", ("fig1-bottom", "delta-ratio"), studies, claims, charts, is_of_paper=True)

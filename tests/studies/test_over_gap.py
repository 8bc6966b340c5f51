from math import comb

import numpy as np
import pytest
from reference.rows import rows_by_hand
from scipy import stats

import matchbandit as mb
from matchbandit.studies import over_gap
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS
from matchbandit.studies.over_gap import AS_PRINTED, AS_RUN, GAPS, POLICIES, Fit, fit, horizon_claim, means_by_instance
from matchbandit.studies.published import published

KNOWN = published()["over-gap"]


def on_fresh(pair_elim, rank1_elim, noise=1.0, study="over-gap"):
    """Three runs at each gap around these means."""
    return [
        {"study": study, "policy": policy, "gap": gap, "repeats": 1, "run": run, "regret": mean + noise * (run - 1)}
        for policy, means in (("pair-elim", pair_elim), ("rank1-elim", rank1_elim))
        for gap, mean in zip(GAPS, means, strict=True)
        for run in range(3)
    ]


def on_instances(as_run=1.0, as_printed=1.0, instances=21, repeats=2):
    """Instances whose mean regrets are spread evenly ± 20 % around so many times the published means."""
    return [
        {
            "study": "over-gap-instances", "policy": policy, "gap": gap, "horizon": horizon, "repeats": repeats,
            "run": k * repeats + play, "regret": mean * times * (0.8 + 0.4 * k / (instances - 1)) + 10 * (2 * play - 1),
        }
        for horizon, times in ((AS_RUN, as_run), (AS_PRINTED, as_printed))
        for policy in POLICIES
        for gap, mean in zip(GAPS, KNOWN[policy]["mean"], strict=True)
        for k in range(instances)
        for play in range(repeats)
    ]  # fmt: skip


def claims(*args, **kwargs):
    made = over_gap.claims(rows_by_hand([*on_fresh(*args, **kwargs), *on_instances(as_printed=1.5)]))
    return {claim.claim.split(" ")[0] + claim.claim[-6:]: claim for claim in made}


RISING = [15, 17, 20, 24, 28, 32, 36, 40]


def verdicts(*args, **kwargs):
    return [claim.verdict for claim in claims(*args, **kwargs).values()]


def test_the_published_picture_confirms_all_claims():
    assert verdicts([10, 10, 11, 11, 12, 12, 12, 12], RISING) == [HOLDS, HOLDS, HOLDS, HOLDS]


def test_the_opposite_picture_refutes_all_but_the_horizon():
    sorted_descending = [40, 36, 32, 28, 24, 20, 17, 15]
    assert verdicts([50, 40, 60, 90, 120, 130, 140, 150], sorted_descending) == [FAILS, FAILS, HOLDS, FAILS]


def test_a_lead_within_the_noise_does_not_count():
    ours = [15, 10, 11, 11, 12, 12, 12, 12]
    made = over_gap.claims(rows_by_hand([*on_fresh(ours, RISING), *on_instances()]))
    assert made[0].verdict == PARTLY_HOLDS
    assert made[0].measured == "at 7 of 8 values of Δ, not at 0.5"


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([10] * 7 + [15], RISING, HOLDS),
        ([10] * 7 + [15.1], RISING, PARTLY_HOLDS),
        ([10] * 8, [30, 31, 32, 33, 34, 35, 36, 37], PARTLY_HOLDS),  # 37/30 is flat as well
        ([10] * 8, [15, 17, 20, 24, 28, 32, 40, 36], PARTLY_HOLDS),  # it falls at the end
        ([10] * 7 + [16], [40, 36, 32, 28, 24, 20, 17, 15], FAILS),
    ],
)
def test_flat_and_growing_are_both_needed(ours, theirs, verdict):
    made = over_gap.claims(rows_by_hand([*on_fresh(ours, theirs), *on_instances()]))
    assert (made[1].claim, made[1].verdict) == ("Pair-Elim is flat in Δ, Rank1Elim grows", verdict)


def test_claims_stand_beside_the_figure_that_shows_them():
    made = over_gap.claims(rows_by_hand([*on_fresh([10] * 8, RISING), *on_instances()]))
    assert [claim.where for claim in made] == ["fig1-bottom", "fig1-bottom", "fig1-bottom", "delta-ratio"]
    assert "1.50 at Δ = 0.5, 4.00 at 0.85; rank correlation 1.00" in made[3].measured


@pytest.mark.parametrize(
    ("as_run", "as_printed", "verdict"),
    [
        (1.0, 1.5, HOLDS),
        (1.0, 1.0, FAILS),  # the same at both: nothing speaks for the one
        (1.0, 1.03, PARTLY_HOLDS),  # a little nearer, but not so that one could tell
        (1.5, 1.0, FAILS),
        (1.5, 1.6, FAILS),  # at neither
        (1.15, 1.5, HOLDS),
    ],
)
def test_the_published_means_come_out_at_one_horizon_and_not_at_the_other(as_run, as_printed, verdict):
    claim = horizon_claim(rows_by_hand(on_instances(as_run, as_printed)), KNOWN)
    assert (claim.where, claim.verdict) == ("fig1-bottom", verdict)


def test_the_horizon_is_judged_by_a_threshold_that_is_said():
    claim = horizon_claim(rows_by_hand(on_instances(1.0, 1.5)), KNOWN)
    assert claim.measured.startswith("within the range of means on 21 instances lie 16 of 16 at 3·10⁵, 0 at 2·10⁶")
    assert claim.threshold == (
        "a horizon comes out if at least 12 of 16 lie inside (fewer by chance in less than 2 % of cases) "
        "and are 100 times as likely as at the other: so at most one can"
    )


def test_too_few_instances_say_nothing():
    few = horizon_claim(rows_by_hand(on_instances(instances=2, repeats=10)), KNOWN)
    assert few.measured == "too few instances to say"


def test_means_by_instance_are_over_the_runs_that_share_it():
    rows = rows_by_hand({"policy": "a", "repeats": 2, "run": run, "regret": float(run)} for run in (4, 2, 1, 0, 3))
    assert means_by_instance(rows).tolist() == [0.5, 2.5]  # run 4 is without its partner


@pytest.mark.parametrize("instances", [5, 20, 40])
def test_the_least_number_inside_leaves_two_percent_to_chance(instances):
    least = Fit(0, 16, instances, 0.0).least
    share = (instances - 1) / (instances + 1)  # one more draw is neither the smallest nor the largest of all
    fewer = [sum(comb(16, k) * share**k * (1 - share) ** (16 - k) for k in range(n)) for n in (least, least + 1)]
    assert fewer[0] <= 0.02 < fewer[1]
    assert np.isclose(fewer[0], stats.binom.cdf(least - 1, 16, share))


def test_the_likelihood_is_that_of_students_distribution():
    rows = rows_by_hand(on_instances(1.1, 1.3))
    logs = {}
    for horizon in (AS_RUN, AS_PRINTED):
        density = 0.0
        for policy in POLICIES:
            for gap, theirs in zip(GAPS, KNOWN[policy]["mean"], strict=True):
                ours = np.log(means_by_instance(rows.where(horizon=horizon, policy=policy, gap=gap)))
                scale = ours.std(ddof=1) * np.sqrt(1 + 1 / len(ours))
                density += stats.t.logpdf(np.log(theirs), len(ours) - 1, ours.mean(), scale)
        logs[horizon] = density
    difference = fit(rows, KNOWN, AS_RUN).likelihood - fit(rows, KNOWN, AS_PRINTED).likelihood
    assert np.isclose(difference, logs[AS_RUN] - logs[AS_PRINTED])


def test_the_figures_show_both_horizons_and_what_was_published():
    rows = rows_by_hand(
        [
            *on_fresh([10] * 8, RISING),
            *on_fresh([20] * 8, [2 * mean for mean in RISING], study="over-gap-as-printed"),
            *on_instances(),
        ]
    )
    figure, ratios = over_gap.charts(rows)
    assert [line.label for line in figure.lines] == [
        "Pair-Elim, 3·10⁵", "Pair-Elim, 2·10⁶", "Rank1Elim, 3·10⁵", "Rank1Elim, 2·10⁶", "published", "published",
    ]  # fmt: skip
    assert figure.lines[2].x.tolist() == GAPS
    assert figure.lines[2].y.tolist() == RISING
    assert np.allclose(figure.lines[2].low, np.array(RISING) - 0.9)
    assert figure.lines[3].y.tolist() == [2 * mean for mean in RISING]
    assert figure.lines[4].y.tolist() == KNOWN["pair-elim"]["mean"]
    assert figure.lines[5].high.tolist() == KNOWN["rank1-elim"]["p95"]
    assert "3 runs, seed 0" in figure.caption
    assert ratios.lines[0].y.tolist() == [mean / 10 for mean in RISING]
    assert ratios.lines[1].y.tolist() == [mean / 10 for mean in RISING]
    assert np.isclose(ratios.lines[2].y[0], 15921 / 15332)
    assert [(mark.at, mark.axis) for mark in ratios.marks] == [(1.0, "y")]


def test_the_studies_play_what_the_authors_did_at_both_horizons():
    fresh, printed, instances = over_gap.studies(3)
    assert (fresh.horizon, printed.horizon) == (KNOWN["horizon"], KNOWN["horizon_in_print"])
    assert fresh.problem["gap"] == KNOWN["x"]
    assert (fresh.runs, instances.runs) == (3, 6)
    assert [len(study.points) for study in (fresh, printed, instances)] == [16, 16, 32]
    point = next(p for p in printed.points if p.spec.name == "rank1-elim" and p.problem.parameters["gap"] == 0.85)
    by_hand = mb.simulate(
        mb.family("spiked", n=8, u1=0.9, gap=0.85), "rank1-elim", horizon=2_000_000, runs=2, checkpoints=[2_000_000]
    )
    assert point.play(0, 2).regret.tolist() == by_hand.regret.tolist()


@pytest.mark.slow
def test_at_least_14_of_the_16_published_means_of_figure_1_lie_in_our_range(tmp_path):
    from matchbandit.studies.claims import inside_claim

    fresh = over_gap.studies(40)[0]
    rows = fresh.run(tmp_path / "out", workers=1, part_runs=40).rows()
    assert int(inside_claim(rows, KNOWN, "", along="gap").measured.split()[0]) >= 14

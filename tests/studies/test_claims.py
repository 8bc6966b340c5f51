import numpy as np
import pytest
from reference.rows import rows_by_hand

from matchbandit.results import Curve
from matchbandit.studies.claims import (
    FAILS,
    HOLDS,
    PARTLY_HOLDS,
    Claim,
    agreement_claim,
    counted,
    finals,
    inside_claim,
    is_clearly_below,
    not_judged,
    rank_correlation,
    ratio,
    rise,
    rising,
    spread,
)

SAM = "simple-adaptive-matching"
PLACES = (0.5, 0.6, 0.7, 0.8)


def around(means, noise=1.0):
    """Three runs at each place around these means of policies."""
    return rows_by_hand(
        {"policy": policy, "gap": x, "run": run, "regret": float(mean + noise * (run - 1))}
        for policy, of in means.items()
        for x, mean in zip(PLACES, of, strict=True)
        for run in range(3)
    )


def curve(*means):
    return Curve(np.arange(float(len(means))), np.array(means, dtype=float), np.array(means), np.array(means))


def test_finals_are_in_the_order_of_runs_at_the_end():
    rows = rows_by_hand(
        {"policy": "a", "run": run, "round": at, "regret": run + at / 1000} for run in (2, 0, 1) for at in (10, 100)
    )
    assert finals(rows, policy="a").tolist() == [0.1, 1.1, 2.1]


def test_a_ratio_is_of_means_and_its_range_of_runs():
    rows = rows_by_hand(
        {"policy": policy, "gap": x, "run": run, "regret": scale * x * 100 + run}
        for policy, scale in (("a", 1.0), ("b", 3.0))
        for x in (2.0, 1.0)
        for run in range(11)
    )
    gain = ratio(rows, "gap", "b", "a")
    assert gain.x.tolist() == [1.0, 2.0]
    assert np.allclose(gain.mean, [305 / 105, 605 / 205])
    runs = (300.0 + np.arange(11)) / (100.0 + np.arange(11))
    assert np.allclose([gain.p5[0], gain.p95[0]], np.percentile(runs, [5, 95]))


def test_a_ratio_of_policies_with_more_runs_and_fewer_has_the_range_of_those_that_both_have():
    runs = {"a": [10.0, 20.0, 90.0], "b": [5.0, 5.0]}
    rows = rows_by_hand(
        {"policy": p, "gap": 1.0, "run": run, "regret": r} for p, of in runs.items() for run, r in enumerate(of)
    )
    gain = ratio(rows, "gap", "a", "b")
    assert gain.mean.tolist() == [8.0]
    assert np.allclose([gain.p5[0], gain.p95[0]], np.percentile([2, 4], [5, 95]))


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ([1, 2, 3, 4], HOLDS),
        ([1, 3, 2, 4], HOLDS),  # one exchange among four: a rank correlation of exactly 0.8, the largest at the end
        ([1, 2, 4, 3], PARTLY_HOLDS),  # as much of a trend, but it turns at the end
        ([1.04, 1.3, 1.8, 2.2, 2.6, 2.3], PARTLY_HOLDS),  # the published shape of the appendix's figure
        ([4, 3, 2, 1], FAILS),
        ([2, 1, 4, 3], FAILS),
        ([3, 1, 2, 4], FAILS),
    ],
)
def test_growing_is_a_trend_whose_largest_value_stands_at_the_end(means, verdict):
    assert rising(curve(*means)) == verdict


def test_rank_correlations_and_spreads_by_hand():
    assert rank_correlation(curve(1, 2, 3)) == 1
    assert rank_correlation(curve(1, 3, 2)) == 0.5
    assert rank_correlation(curve(3, 2, 1)) == -1
    assert spread(np.array([2.0, 5.0, 4.0])) == 2.5


def test_a_peak_before_the_end_is_named():
    assert rise(curve(1, 2, 3), "Δ") == "ratio of mean regrets 1.00 at Δ = 0, 3.00 at 2; rank correlation 1.00"
    words = "ratio of mean regrets 1.00 at u1 = 0, 3.00 at 2, 2.50 at 3; rank correlation 0.80"
    assert rise(curve(1, 2, 3, 2.5), "u1") == words


@pytest.mark.parametrize(
    ("ours", "theirs", "paired", "below"),
    [
        ([1, 2, 3], [2, 3, 4], True, True),  # always 1 less, whatever the noise of the runs
        ([1, 2, 3], [2, 3, 4], False, False),  # two standard errors of the difference are 1.63
        ([1, 2, 3], [3, 4, 5], False, True),
        ([1, 2, 3], [1, 2, 9], True, False),  # 2 ± 4 on average
        ([2, 3, 4], [1, 2, 3], True, False),
        ([1], [2], True, True),
        ([2], [1], False, False),
    ],
)
def test_clearly_below_is_by_more_than_two_standard_errors(ours, theirs, paired, below):
    assert is_clearly_below(np.array(ours, float), np.array(theirs, float), paired=paired) is below


@pytest.mark.parametrize(
    ("good", "total", "enough", "verdict"),
    [
        (8, 8, 1.0, HOLDS),
        (7, 8, 1.0, PARTLY_HOLDS),
        (7, 8, 0.875, HOLDS),
        (5, 8, 1.0, PARTLY_HOLDS),
        (4, 8, 1.0, FAILS),
    ],
)
def test_all_most_or_too_few(good, total, enough, verdict):
    assert counted(good, total, enough) == verdict


@pytest.mark.parametrize(("shift", "inside", "verdict"), [(0, 8, HOLDS), (5, 4, FAILS), (-50, 4, FAILS)])
def test_published_means_are_counted_inside_the_range(shift, inside, verdict):
    known = {
        "x": list(PLACES),
        "pair-elim": {"mean": [10, 11, 12, 12]},
        "rank1-elim": {"mean": [15 + shift, 20 + shift, 30 + shift, 40 + shift]},
    }
    rows = around({"pair-elim": [10, 11, 12, 12], "rank1-elim": [15, 20, 30, 40]})
    claim = inside_claim(rows, known, "here", along="gap")
    assert claim.measured.startswith(f"{inside} of 8 lie in the band")
    assert (claim.where, claim.threshold, claim.verdict) == ("here", "at least 7 of 8", verdict)


def known_means(**second):
    """Published means 1000 … 4000 of SAM, with ranges of ± 20 % but for the last, which has hardly any."""
    ours = {
        "mean": [1000.0, 2000.0, 3000.0, 4000.0],
        "p5": [800.0, 1600.0, 2400.0, 3990.0],
        "p95": [1200.0, 2400.0, 3600.0, 4010.0],
        **second,
    }
    return {"x": list(PLACES), SAM: ours}


def agreement(means, known=None):
    rows = rows_by_hand(
        {"policy": SAM, "mean": x, "run": run, "round": at, "regret": mean + shift if at == 100 else 0.0}
        for x, mean in zip(PLACES, means, strict=True)
        for run, shift in ((0, -7.0), (1, 7.0))
        for at in (50, 100)
    )
    return agreement_claim(rows, known or known_means(), "here", along="mean")


@pytest.mark.parametrize(
    ("means", "good"),
    [
        ([1000, 2000, 3000, 4000], 4),
        ([1079, 2159, 3239, 4000], 4),
        ([921, 1841, 2761, 4000], 4),
        ([1081, 2000, 3000, 4000], 3),
        ([919, 2000, 3000, 4000], 3),
        ([1000, 2000, 3000, 4129], 4),  # 4010 and 3 %
        ([1000, 2000, 3000, 4131], 3),
        ([1000, 2000, 3000, 3871], 4),  # 3990 less 3 %
        ([1000, 2000, 3000, 3869], 3),
        ([1081, 2161, 3000, 4000], 2),
        ([1081, 2161, 3241, 4131], 0),
    ],
)
def test_a_mean_agrees_within_8_percent_and_the_published_range_widened_by_3(means, good):
    claim = agreement(means)
    assert claim.measured.startswith(f"{good} of 4 agree")
    assert claim.threshold == "all within 8 % and the published 5–95 % range ± 3 %"
    assert claim.verdict == (HOLDS if good == 4 else PARTLY_HOLDS if good > 2 else FAILS)
    assert ("not simple-adaptive-matching at" in claim.measured) == (good < 4)


def test_the_places_that_disagree_are_named_with_the_largest_difference():
    claim = agreement([1000, 2100, 3600, 4000])
    assert claim.measured.endswith("the largest difference is 20.0 % (not simple-adaptive-matching at 0.7)")
    assert (claim.where, claim.claim) == ("here", "the published means come out")


@pytest.mark.parametrize(("mean", "good"), [(1000, 4), (1200, 4), (1290, 4), (1300, 3), (1115, 3), (1116, 4)])
def test_at_the_first_place_a_second_record_will_do_too(mean, good):
    second = {"second_record_at_0.5": {"mean": 1200.0, "p5": 1150.0, "p95": 1260.0}}
    assert agreement([mean, 2000, 3000, 4000], known_means(**second)).measured.startswith(f"{good} of 4")
    assert agreement([1000, 1200, 3000, 4000], known_means(**second)).measured.startswith("3 of 4")


def test_the_largest_difference_is_from_the_nearest_record():
    second = {"second_record_at_0.5": {"mean": 1200.0, "p5": 1000.0, "p95": 1400.0}}
    measured = agreement([1200, 2000, 3000, 4000], known_means(**second)).measured
    assert measured.endswith(
        "is 0.0 %; simple-adaptive-matching at 0.5 has two published records: the nearer, 1 200, counts, not 1 000"
    )
    measured = agreement([1020, 2000, 3000, 4000], known_means(**second)).measured
    assert measured.endswith(
        "is 2.0 %; simple-adaptive-matching at 0.5 has two published records: the nearer, 1 000, counts, not 1 200"
    )
    assert "record" not in agreement([1020, 2000, 3000, 4000]).measured


def test_both_policies_are_compared_where_both_are_published():
    known = known_means()
    known["escb"] = known[SAM]
    rows = rows_by_hand(
        {"policy": policy, "mean": x, "regret": scale * (k + 1)}
        for policy, scale in ((SAM, 1000.0), ("escb", 500.0))
        for k, x in enumerate(PLACES)
    )
    claim = agreement_claim(rows, known, "here", along="mean")
    assert claim.measured.startswith("4 of 8")
    assert "not escb at 0.5, escb at 0.6, escb at 0.7, escb at 0.8" in claim.measured
    assert claim.verdict == FAILS


def test_too_few_runs_are_not_judged():
    claim = Claim("here", "it is so", "1", "2", HOLDS)
    (unjudged,) = not_judged([claim])
    assert unjudged.verdict == "not judged: fewer than 20 runs"
    assert (unjudged.where, unjudged.measured, unjudged.threshold) == ("here", "1", "2")

import numpy as np
import pytest

from matchbandit.experiments.claims import FAILS, HOLDS, IN_PART
from matchbandit.experiments.matching_claims import agreement_claim, mean_claims, practical_claims, size_claims
from matchbandit.experiments.reproduce import judge, published
from matchbandit.results import Row

SAM = "simple-adaptive-matching"
SIZES = (2, 3, 4, 5, 6, 7, 8, 9)


def sized(scaled, constant=()):
    """Three runs for each N whose mean regret is `scaled` · N log N / 0.01; without noise where N is in `constant`."""
    return [
        Row("s", SAM, n, run, 100, value * n * np.log(n) / 0.01 * (1 if n in constant else 1 + 0.01 * (run - 1)))
        for n, value in zip(SIZES, scaled, strict=True)
        for run in range(3)
    ]


@pytest.mark.parametrize(
    ("scaled", "verdict"),
    [
        ([4, 4, 4, 4, 4, 4, 4, 4], HOLDS),
        ([4, 4, 4, 4, 4, 4, 4, 5.99], HOLDS),
        ([4, 4, 4, 4, 4, 4, 4, 6.01], FAILS),
        ([4, 4, 4, 4, 4, 4, 6.01, 4], FAILS),
        ([9, 4, 4, 4, 4, 4, 4, 4], IN_PART),
        ([1, 2, 3, 4, 5, 5, 5, 5], IN_PART),
        ([4, 4, 4, 9, 4, 4, 4, 4], IN_PART),
        ([1, 1, 1, 1, 4, 4, 4, 6.01], FAILS),
    ],
)
def test_flat_in_n_log_n_means_a_largest_mean_of_at_most_three_halves_of_the_smallest(scaled, verdict):
    (claim,) = size_claims(sized(scaled), "s", "here")
    assert claim.verdict == verdict
    assert claim.where == "here"


def test_sizes_at_which_every_run_loses_the_same_have_not_split_and_are_left_out():
    scaled = [50, 20, 4, 4, 4, 4, 4, 4]
    (claim,) = size_claims(sized(scaled, constant=(2, 3)), "s", "here")
    assert claim.verdict == HOLDS
    assert claim.measured.startswith("4.0 at N = 4, 4.0 at 9: largest / smallest 1.00")
    (claim,) = size_claims(sized(scaled), "s", "here")
    assert claim.verdict == IN_PART
    assert claim.measured.startswith("50.0 at N = 2, 4.0 at 9: largest / smallest 12.50, in the upper half of N 1.00")


ROUNDS, MEANS = (10, 20, 30, 40), (0.5, 0.6, 0.7, 0.8)


def timed(ours, theirs, at_the_end=((1.5, 2.0, 3.0), (1.0, 1.0, 1.0))):
    """Two runs at μ = 0.5 over four rounds, and the regrets of both policies at the last round for larger μ."""
    rows = []
    for policy, early, late in ((SAM, ours, at_the_end[1]), ("escb", theirs, at_the_end[0])):
        for run, shift in ((0, -0.1), (1, 0.1)):
            rows += [Row("s", policy, 0.5, run, at, r + shift) for at, r in zip(ROUNDS, early, strict=True)]
            for mu, regret in zip(MEANS[1:], late, strict=True):
                rows += [Row("s", policy, mu, run, at, 0.1 * at * regret) for at in ROUNDS]
    return rows


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "words"),
    [
        ([5, 6, 6, 6], [1, 3, 5, 7], HOLDS, "passes it for good after round 30"),
        ([5, 6, 6, 6], [1, 7, 5, 7], HOLDS, "passes it for good after round 30"),
        ([5, 6, 6, 6], [1, 7, 8, 9], HOLDS, "passes it for good after round 10"),
        ([5, 6, 6, 6], [1, 7, 8, 5], FAILS, "the order never changes"),
        ([5, 6, 7, 8], [1, 2, 3, 4], FAILS, "the order never changes"),
        ([1, 2, 3, 4], [5, 6, 7, 8], FAILS, "the order never changes"),
    ],
)
def test_overtaking_is_to_be_behind_first_and_ahead_at_the_horizon(ours, theirs, verdict, words):
    claim, _ = mean_claims(timed(ours, theirs), "s", in_time="top", over_mu="bottom")
    assert (claim.where, claim.verdict) == ("top", verdict)
    assert claim.measured == f"{words}; at the horizon {ours[-1]} against {theirs[-1]}"


@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [
        ((1.5, 2.0, 3.0), HOLDS),
        ((1.5, 3.0, 2.0), HOLDS),  # one exchange of neighbours among four: a rank correlation of exactly 0.8
        ((3.0, 2.0, 1.5), FAILS),
        ((0.9, 0.8, 0.7), FAILS),
    ],
)
def test_the_lead_grows_where_the_ratio_rises_with_mu(theirs, verdict):
    rows = timed([4, 4, 4, 4], [1, 2, 3, 4], at_the_end=(theirs, (1.0, 1.0, 1.0)))
    _, claim = mean_claims(rows, "s", in_time="top", over_mu="bottom")
    assert (claim.where, claim.verdict) == ("bottom", verdict)
    assert f"1.00 at μ = 0.5, {theirs[-1]:.2f} at 0.8" in claim.measured


def known(**second):
    """Published means 1000 … 4000 of SAM, with ranges of ± 20 % but for the last, which has hardly any."""
    means = [1000.0, 2000.0, 3000.0, 4000.0]
    ours = {
        "mean": means,
        "p5": [800.0, 1600.0, 2400.0, 3990.0],
        "p95": [1200.0, 2400.0, 3600.0, 4010.0],
        **second,
    }
    return {"x": list(MEANS), SAM: ours}


def agreement(means, published_numbers=None):
    rows = [
        Row("s", SAM, x, run, at, mean + shift if at == 100 else 0.0)
        for x, mean in zip(MEANS, means, strict=True)
        for run, shift in ((0, -7.0), (1, 7.0))
        for at in (50, 100)
    ]
    return agreement_claim(rows, "s", published_numbers or known(), "here")


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
    assert claim.measured.startswith(f"{good} of 4 within 8 % and the published range ± 3 %")
    assert claim.verdict == (HOLDS if good == 4 else IN_PART if good > 2 else FAILS)
    assert ("not simple-adaptive-matching at" in claim.measured) == (good < 4)


def test_the_places_that_disagree_are_named_with_the_largest_difference():
    claim = agreement([1000, 2100, 3600, 4000])
    assert claim.measured.endswith("largest 20.0 % (not simple-adaptive-matching at 0.7)")
    assert (claim.where, claim.claim) == ("here", "the published means come out")


@pytest.mark.parametrize(("mean", "good"), [(1000, 4), (1200, 4), (1290, 4), (1300, 3), (1115, 3), (1116, 4)])
def test_at_the_first_place_a_second_record_will_do_too(mean, good):
    second = {"second_record_at_0.5": {"mean": 1200.0, "p5": 1150.0, "p95": 1260.0}}
    claim = agreement([mean, 2000, 3000, 4000], known(**second))
    assert claim.measured.startswith(f"{good} of 4")
    elsewhere = agreement([1000, 1200, 3000, 4000], known(**second))
    assert elsewhere.measured.startswith("3 of 4")


def test_the_largest_difference_is_from_the_nearest_record():
    second = {"second_record_at_0.5": {"mean": 1200.0, "p5": 1000.0, "p95": 1400.0}}
    assert "largest 0.0 %" in agreement([1200, 2000, 3000, 4000], known(**second)).measured


def test_both_policies_are_compared_where_both_are_published():
    numbers = known()
    numbers["escb"] = numbers[SAM]
    rows = [Row("s", SAM, x, 0, 100, 1000.0 * (k + 1)) for k, x in enumerate(MEANS)]
    rows += [Row("s", "escb", x, 0, 100, 500.0 * (k + 1)) for k, x in enumerate(MEANS)]
    claim = agreement_claim(rows, "s", numbers, "here")
    assert claim.measured.startswith("4 of 8")
    assert "not escb at 0.5, escb at 0.6, escb at 0.7, escb at 0.8" in claim.measured
    assert claim.verdict == FAILS


def test_the_published_numbers_of_figures_2_and_3():
    numbers = published()
    over_n, over_mu, in_time = (numbers[name] for name in ("over-n", "over-mu", "over-mu-in-time"))
    assert (over_n["figure"], over_mu["figure"], in_time["figure"]) == ("Figure 2", "Figure 3, bottom", "Figure 3, top")
    assert over_n["horizon"] == over_mu["horizon"] == in_time["horizon"] == 200_000
    assert over_n["x"] == list(range(2, 12))
    assert over_n[SAM] == {
        "mean": [1333, 4800, 11386, 13281, 14488, 15996, 17759, 19456, 21775, 23252],
        "p5": [1333, 4800, 11301, 12656, 13955, 15232, 17033, 18548, 20308, 21993],
        "p95": [1333, 4800, 11428, 13659, 14948, 16630, 18487, 20854, 24966, 25586],
    }
    assert over_mu["x"] == [0.5, 0.6, 0.7, 0.8]
    assert over_mu[SAM] == {
        "mean": [1634, 1245, 900, 689],
        "p5": [1502, 1098, 772, 615],
        "p95": [1809, 1414, 999, 772],
        "second_record_at_0.5": {"mean": 1748, "p5": 1468, "p95": 2120},
    }
    assert over_mu["escb"] == {
        "mean": [2451, 2376, 2437, 2400],
        "p5": [2044, 2088, 2160, 2071],
        "p95": [2823, 2658, 2831, 2860],
    }
    assert in_time["mu"] == 0.5
    assert in_time["x"] == list(range(20_000, 200_001, 20_000))
    assert in_time[SAM] == {"mean_last": 1634, "p5_last": 1503, "p95_last": 1810}
    assert in_time["escb"] == {
        "mean": [527, 857, 1142, 1412, 1631, 1809, 1976, 2158, 2311, 2451],
        "p5_last": 2044,
        "p95_last": 2823,
    }


def test_the_first_two_published_means_of_figure_2_are_those_of_a_tournament_that_never_splits():
    # u = .1 .1 0 0: the best matching pays 0.01, a tournament of three rounds 0.01 once.
    means = published()["over-n"][SAM]["mean"]
    assert means[0] == int(200_000 * (0.01 - 0.01 / 3))
    # u = .2 .2 .1 .1 0 0: 0.05 at best; all pairs together pay 0.04 + 0.01 + 4 · 0.02 = 0.13 in five rounds.
    assert means[1] == round(200_000 * (0.05 - 0.13 / 5))


def test_the_published_numbers_agree_with_themselves_and_are_judged_by_study():
    numbers = published()
    rows = [
        Row(study, policy, x, run, 200_000, mean + shift)
        for study in ("over-n", "over-mu")
        for policy in (SAM, "escb")
        if policy in numbers[study]
        for x, mean in zip(numbers[study]["x"], numbers[study][policy]["mean"], strict=True)
        for run, shift in ((0, -1.0), (1, 1.0))
    ]
    claims = judge(rows, numbers, ["over-n", "over-mu"])
    assert [claim.where for claim in claims] == ["fig2", "fig2", "fig3-top", "fig3-bottom", "fig3-bottom"]
    agreements = [claim for claim in claims if claim.claim == "the published means come out"]
    assert [claim.verdict for claim in agreements] == [HOLDS, HOLDS]
    assert [claim.measured.split(" within")[0] for claim in agreements] == ["10 of 10", "8 of 8"]
    assert [claim.where for claim in judge(rows, numbers, ["over-n"])] == ["fig2", "fig2"]


@pytest.mark.parametrize(
    ("certify", "thompson", "verdicts"),
    [
        ([100, 100, 100], [20, 20, 20], [HOLDS, HOLDS, HOLDS]),
        ([124, 124, 126], [20, 20, 41], [IN_PART, IN_PART, IN_PART]),
        ([200, 200, 200], [41, 41, 41], [FAILS, FAILS, FAILS]),
    ],
)
def test_this_librarys_policies_are_claimed_to_lose_so_many_times_less_at_every_mean(certify, thompson, verdicts):
    lost = {SAM: [1000] * 3, "escb": [2000] * 3, "rank1-certify": certify, "rank1-thompson": thompson}
    rows = [
        Row("s", policy, mu, run, 100, regret + 0.01 * run)
        for policy, regrets in lost.items()
        for mu, regret in zip((0.5, 0.6, 0.8), regrets, strict=True)
        for run in range(3)
    ]
    claims = practical_claims(rows, "s", "here")
    assert [claim.verdict for claim in claims] == verdicts
    assert claims[0].claim == f"{SAM} loses at least 8 times as much as rank1-certify"
    assert claims[0].measured == "times: " + ", ".join(
        f"{1000 / lost:.0f} at {mu}" for lost, mu in zip(certify, (0.5, 0.6, 0.8), strict=True)
    )

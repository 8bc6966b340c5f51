import numpy as np
import pytest
from reference.rows import rows_by_hand

from matchbandit.studies import over_mu
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS
from matchbandit.studies.over_mu import MEANS, SAM
from matchbandit.studies.published import published

ROUNDS = (10, 20, 30, 40)
KNOWN, IN_TIME = published()["over-mu"], published()["over-mu-in-time"]


def timed(ours, theirs, at_the_end=((1.5, 2.0, 3.0), (1.0, 1.0, 1.0)), noise=0.1):
    """Two runs at μ = 0.5 over four rounds, and the regrets of both policies at the last round for larger μ."""
    made = []
    for policy, early, late in ((SAM, ours, at_the_end[1]), ("escb", theirs, at_the_end[0])):
        of = {"policy": policy, "horizon": 40}
        for run, shift in ((0, -noise), (1, noise)):
            pairs = zip(ROUNDS, early, strict=True)
            made += [{**of, "mean": 0.5, "run": run, "round": at, "regret": r + shift} for at, r in pairs]
            for mu, regret in zip(MEANS[1:], late, strict=True):
                made += [{**of, "mean": mu, "run": run, "round": at, "regret": 0.1 * at * regret} for at in ROUNDS]
    return rows_by_hand(made)


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
    claim, _, _ = over_mu.claims(timed(ours, theirs))
    assert (claim.where, claim.verdict) == ("fig3-top", verdict)
    assert claim.measured == f"{words}; at the horizon {ours[-1]} against {theirs[-1]}"


@pytest.mark.parametrize("noise", [0.1, 0.9])
def test_overtaking_within_the_noise_holds_in_part(noise):
    # Two standard errors of the difference of two means of two runs are 2 √2 times the noise.
    claim, _, _ = over_mu.claims(timed([5, 6, 6, 6], [1, 3, 5, 7], noise=noise))
    assert claim.verdict == (HOLDS if 2 * np.sqrt(2) * noise < 1 else PARTLY_HOLDS)
    claim, _, _ = over_mu.claims(timed([1.5, 6, 6, 6], [1, 7, 8, 9], noise=0.2))
    assert claim.verdict == PARTLY_HOLDS  # never clearly behind


@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [
        ((1.5, 2.0, 3.0), HOLDS),
        ((1.5, 3.0, 2.0), PARTLY_HOLDS),  # a rank correlation of exactly 0.8, but it falls at the end
        ((2.0, 1.5, 3.0), HOLDS),
        ((3.0, 2.0, 1.5), FAILS),
        ((0.9, 0.8, 0.7), FAILS),
    ],
)
def test_the_lead_grows_where_the_ratio_rises_with_mu_to_the_end(theirs, verdict):
    rows = timed([4, 4, 4, 4], [1, 2, 3, 4], at_the_end=(theirs, (1.0, 1.0, 1.0)))
    _, claim, _ = over_mu.claims(rows)
    assert (claim.where, claim.verdict) == ("fig3-bottom", verdict)
    assert "1.00 at μ = 0.5" in claim.measured
    assert f"{theirs[-1]:.2f} at 0.8" in claim.measured


def as_published(rounds=(50_000, 100_000, 200_000)):
    return rows_by_hand(
        {
            "policy": policy, "mean": mu, "run": run, "horizon": 200_000, "round": at,
            "regret": mean * at / 200_000 + run - 1,
        }
        for policy in (SAM, "escb")
        for mu, mean in zip(KNOWN["x"], KNOWN[policy]["mean"], strict=True)
        for run in range(3)
        for at in rounds
    )  # fmt: skip


def test_the_published_numbers_agree_with_themselves():
    _, _, claim = over_mu.claims(as_published())
    assert (claim.where, claim.verdict, claim.measured[:6]) == ("fig3-bottom", HOLDS, "8 of 8")


def test_figure_3_top_is_regret_over_time_at_one_half():
    chart, _ = over_mu.charts(as_published())
    ours, theirs, its_range, end, their_range, points = chart.lines
    assert ours.x.tolist() == theirs.x.tolist() == [50_000, 100_000, 200_000]
    assert np.allclose(ours.y, [1634 / 4, 1634 / 2, 1634])
    assert np.allclose(theirs.y, [2451 / 4, 2451 / 2, 2451])
    assert (end.x.tolist(), end.y.tolist(), its_range.y.tolist()) == ([200_000], [1634], [1503, 1810])
    assert points.y.tolist() == IN_TIME["escb"]["mean"]
    assert (their_range.x[0], their_range.y.tolist(), their_range.label) == (200_000, [2044, 2823], "")


def test_figure_3_bottom_is_regret_over_mu_at_the_horizon_with_both_records():
    _, chart = over_mu.charts(as_published())
    ours, theirs, *published_points, second = chart.lines
    assert np.allclose(ours.y, [1634, 1245, 900, 689])
    assert np.allclose(theirs.y, [2451, 2376, 2437, 2400])
    assert [line.y.tolist() for line in published_points] == [KNOWN[SAM]["mean"], KNOWN["escb"]["mean"]]
    assert (second.label, second.x.tolist(), second.y.tolist()) == ("published, second record", [0.5], [1748])
    assert "two records of Simple Adaptive Matching: 1 634, which the paper draws, and 1 748" in chart.caption
    assert chart.x_ticks == (0.5, 0.6, 0.7, 0.8)


def test_the_study_stands_where_the_published_numbers_do():
    (study,) = over_mu.studies(None)
    assert (study.problem["mean"], study.horizon, study.runs) == (KNOWN["x"], KNOWN["horizon"], 100)
    assert set(IN_TIME["x"]) <= set(study.checkpoints)
    assert study.policies == [SAM, "escb"]
    players = {point.problem.parameters["mean"]: point.problem.draw().u for point in study.points}
    assert np.allclose(players[0.5], [0.65, 0.65, 0.55, 0.55, 0.45, 0.45, 0.35, 0.35])
    assert np.allclose(players[0.8] - players[0.5], 0.3)

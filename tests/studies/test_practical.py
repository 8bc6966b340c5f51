import numpy as np
import pytest
from reference.rows import rows_by_hand

from matchbandit.studies import over_mu, practical
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS
from matchbandit.studies.over_mu import SAM

PLACES = (0.5, 0.6, 0.8)


def runs(lost):
    """Three runs of each policy at three means."""
    return rows_by_hand(
        {
            "study": "over-mu" if policy in (SAM, "escb") else "practical",
            "policy": policy, "mean": mu, "run": run, "regret": regret + 0.01 * run,
        }
        for policy, regrets in lost.items()
        for mu, regret in zip(PLACES, regrets, strict=True)
        for run in range(3)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("certify", "thompson", "verdicts"),
    [
        ([100, 100, 100], [20, 20, 20], [HOLDS, HOLDS, HOLDS]),
        ([124, 124, 126], [20, 20, 41], [PARTLY_HOLDS, PARTLY_HOLDS, PARTLY_HOLDS]),
        ([200, 200, 200], [41, 41, 41], [FAILS, FAILS, FAILS]),
    ],
)
def test_this_librarys_policies_are_claimed_to_lose_so_many_times_less_at_every_mean(certify, thompson, verdicts):
    lost = {SAM: [1000] * 3, "escb": [2000] * 3, "rank1-certify": certify, "rank1-thompson": thompson}
    claims = practical.claims(runs(lost))
    assert [claim.verdict for claim in claims] == verdicts
    assert {claim.where for claim in claims} == {"practical"}
    assert claims[0].claim == f"{SAM} loses at least 8 times as much as rank1-certify"
    assert claims[0].threshold == "ratio of mean regrets at least 8 at every μ"
    assert claims[0].measured == "times at each μ: " + ", ".join(
        f"{1000 / lost:.0f} at {mu}" for lost, mu in zip(certify, PLACES, strict=True)
    )


def test_policies_with_a_proof_are_told_by_line_mark_and_word():
    lost = {SAM: [1000, 900, 800], "rank1-certify": [100, 90, 80], "rank1-thompson": [30, 20, 10]}
    (chart,) = practical.charts(runs(lost))
    looks = {line.label: (line.key, line.dash, line.hollow) for line in chart.lines}
    assert looks == {
        SAM: (SAM, "solid", False),
        "rank1-certify": ("rank1-certify", "solid", False),
        "rank1-thompson †": ("rank1-thompson", "dashed", True),
    }
    assert [np.round(line.y).tolist() for line in chart.lines] == [*lost.values()]  # from above to below
    assert chart.lines[1].x.tolist() == list(PLACES)
    assert np.allclose(chart.lines[1].low, np.array([100, 90, 80]) + 0.001)
    assert chart.y_log
    assert "3 runs of the two in Figure 3, 3 runs of those that use the products, seed 0" in chart.caption


def test_every_policy_is_in_the_picture_and_figure_3_is_not_played_again():
    figure3, ours, blind = practical.studies(None)
    assert figure3 == over_mu.studies(None)[0]
    assert figure3.problem == ours.problem == blind.problem
    assert figure3.horizon == ours.horizon == blind.horizon
    assert (ours.runs, blind.runs, practical.ENTRY.beside) == (20, 10, ("practical-blind",))
    judged = {policy for other, ours_one, _ in practical.AT_LEAST for policy in (other, ours_one)}
    assert judged <= {*figure3.policies, *ours.policies}
    policies = {policy: [10.0] * 3 for policy in (*figure3.policies, *ours.policies, *blind.policies)}
    (chart,) = practical.charts(runs(policies))
    assert {line.key for line in chart.lines} == set(policies)
    assert len(policies) == 8

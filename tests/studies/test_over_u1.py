import numpy as np
import pytest
from reference.rows import rows_by_hand

from matchbandit.studies import over_u1
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS
from matchbandit.studies.over_u1 import PLACES, POLICIES
from matchbandit.studies.published import published

KNOWN = published()["over-u1"]


def runs(gains):
    """Pair-Elim loses as published, Rank1Elim so many times as much; three runs each."""
    return rows_by_hand(
        {"policy": policy, "u1": x, "run": run, "regret": mean * (gain if policy == "rank1-elim" else 1) + run}
        for policy in POLICIES
        for x, mean, gain in zip(PLACES, KNOWN["pair-elim"]["mean"], gains, strict=True)
        for run in range(3)
    )


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ([1.3, 1.6, 1.9, 2.2, 2.5, 2.8], HOLDS),
        ([1.3, 1.6, 1.9, 2.2, 2.8, 2.5], PARTLY_HOLDS),
        ([1.30, 1.82, 2.21, 2.35, 2.72, 2.22], PARTLY_HOLDS),  # as published: a rank correlation of 0.83
        ([1.30, 1.82, 2.21, 2.35, 2.72, 2.0], FAILS),
        ([2.8, 2.5, 2.2, 1.9, 1.6, 1.3], FAILS),
    ],
)
def test_an_advantage_that_falls_at_the_end_grows_in_part_at_most(gains, verdict):
    _, claim = over_u1.claims(runs(gains))
    assert (claim.where, claim.verdict) == ("u1-ratio", verdict)
    assert claim.threshold == "rank correlation with the axis at least 0.8, and the largest value at the end"


def test_the_published_means_are_judged_beside_their_own_figure():
    claim, _ = over_u1.claims(runs([2] * 6))
    assert claim.where == "u1-regret"
    assert claim.threshold == "at least 11 of 12"


def test_the_figures_are_the_regret_and_the_ratio():
    regret, ratios = over_u1.charts(runs([1.5, 2, 2, 2, 2, 3]))
    assert regret.lines[0].x.tolist() == PLACES
    assert np.allclose(regret.lines[0].y, np.array(KNOWN["pair-elim"]["mean"]) + 1)
    assert regret.lines[3].y.tolist() == KNOWN["rank1-elim"]["mean"]
    assert np.allclose(ratios.lines[0].y, [1.5, 2, 2, 2, 2, 3], rtol=1e-3)
    assert np.isclose(ratios.lines[1].y[-1], 44827 / 20225)


def test_the_study_stands_where_the_published_numbers_do():
    (study,) = over_u1.studies(None)
    assert (study.problem["u1"], study.horizon, study.runs) == (KNOWN["x"], KNOWN["horizon"], 100)

import numpy as np
import pytest
from reference.rows import rows_by_hand

from matchbandit.studies import over_time
from matchbandit.studies.claims import FAILS, HOLDS
from matchbandit.studies.over_time import POLICIES
from matchbandit.studies.published import published

KNOWN = published()["over-time"]


def runs(shift=0.0):
    """Three runs around the published means."""
    return rows_by_hand(
        {
            "policy": policy, "run": run, "horizon": 200_000, "round": at,
            "regret": mean * (1 + 0.1 * (run - 1)) + shift,
        }
        for policy in POLICIES
        for at, mean in zip(KNOWN["x"], KNOWN[policy]["mean"], strict=True)
        for run in range(3)
    )  # fmt: skip


def test_the_published_curves_come_out_where_they_lie_in_the_band():
    (claim,) = over_time.claims(runs())
    assert (claim.where, claim.verdict) == ("fig1-top", HOLDS)
    assert (claim.measured[:8], claim.threshold) == ("20 of 20", "at least 18 of 20")
    (claim,) = over_time.claims(runs(shift=10_000))
    assert claim.verdict == FAILS


def test_the_figure_is_regret_over_rounds_with_the_published_numbers():
    (chart,) = over_time.charts(runs())
    ours, theirs, *points = chart.lines
    assert [line.key for line in chart.lines] == [*POLICIES, *(policy for policy in POLICIES for _ in (1, 2))]
    assert ours.x.tolist() == KNOWN["x"]
    assert np.allclose(theirs.y, KNOWN["rank1-elim"]["mean"])
    assert np.allclose(ours.high, 1.09 * np.array(KNOWN["pair-elim"]["mean"]))
    assert [(point.label, point.kind) for point in points] == [("", "reference"), ("published", "points")] * 2
    assert (points[1].y.tolist(), points[1].low) == (KNOWN["pair-elim"]["mean"], None)
    assert (points[0].x.tolist(), points[0].y.tolist()) == ([200_000, 200_000], [14166, 20720])
    assert (points[3].y.tolist(), points[2].y.tolist()) == (KNOWN["rank1-elim"]["mean"], [34193, 36728])
    assert "3 runs, seed 0" in chart.caption


def test_the_study_reads_the_regret_where_it_is_published():
    (study,) = over_time.studies(None)
    assert set(KNOWN["x"]) <= set(study.checkpoints)
    assert (study.horizon, study.runs, study.policies) == (KNOWN["horizon"], 100, POLICIES)


@pytest.mark.slow
def test_figure_1_top_has_the_published_shape(tmp_path):
    (study,) = over_time.studies(40)
    rows = study.run(tmp_path / "out", workers=1, part_runs=40).rows()
    for policy in POLICIES:
        low, high = np.percentile(rows.where(policy=policy).at_end()["regret"], [5, 95])
        assert low < KNOWN[policy]["mean"][-1] < high

import json

import numpy as np
import pytest
from reference.rows import rows_by_hand

import matchbandit as mb
from matchbandit.studies import growth
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS


def runs(fine, family="spiked"):
    """Two runs at growth 4, with a mean of 100, and two at 1.05."""
    return rows_by_hand(
        {"policy": "pair-elim", "family": family, "options": json.dumps({"growth": g}), "run": run, "regret": mean + d}
        for g, mean in ((4.0, 100.0), (1.05, fine))
        for run, d in ((0, -10.0), (1, 10.0))
    )


@pytest.mark.parametrize(("fine", "verdict"), [(40.0, HOLDS), (49.0, HOLDS), (51.0, PARTLY_HOLDS), (60.0, FAILS)])
def test_the_claim_about_growth_is_that_half_is_saved(fine, verdict):
    (claim,) = growth.claims(runs(fine))
    assert (claim.where, claim.verdict) == ("growth", verdict)
    assert f"{100 - fine:.0f} % saved" in claim.measured
    assert claim.threshold == "more than 50 % saved; in part: more than 40 %"


def test_the_figure_is_regret_over_growth_for_each_family():
    (chart,) = growth.charts(runs(40.0))
    (line,) = chart.lines
    assert (line.x.tolist(), line.y.tolist()) == ([1.05, 4.0], [40.0, 100.0])
    assert np.allclose(line.high, [49, 109])
    assert "2 runs, seed 0" in chart.caption


def test_the_study_is_pair_elim_on_both_families():
    (study,) = growth.studies(2)
    assert {(p.problem.name, p.spec.options["growth"]) for p in study.points} == {
        (family, g) for family in ("spiked", "fixed-mean") for g in (1.05, 1.2, 1.5, 2.0, 3.0, 4.0)
    }
    point = next(p for p in study.points if (p.problem.name, p.spec.options["growth"]) == ("fixed-mean", 2.0))
    spec = mb.policy("pair-elim", growth=2.0)
    by_hand = mb.simulate(
        mb.family("fixed-mean", n=8, u1=0.6, mean=0.2), spec, horizon=200_000, runs=2, checkpoints=[200_000]
    )
    assert point.play(0, 2).regret.tolist() == by_hand.regret.tolist()

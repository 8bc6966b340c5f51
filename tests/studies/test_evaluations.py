import numpy as np
import pytest
from reference.rows import rows_by_hand

import matchbandit as mb
from matchbandit.studies import evaluations
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS
from matchbandit.studies.evaluations import SEEKERS, SIZES


def evaluated(times):
    """Matching-Id uses 100 N³ pairs, Pair-Select so many times more, rank1-certify 5 N³."""
    made = []
    for n, ratio in zip(SIZES, times, strict=True):
        for policy, most in (("matching-id", 10_000), ("pair-select", 10_000 * ratio), ("rank1-certify", 500)):
            for run, share in ((0, 0.9), (1, 1.1)):
                pairs = round(most * n**3 * share)
                made.append({"policy": policy, "n": n, "run": run, "rounds": pairs // n, "pairs": pairs})
    return rows_by_hand(made)


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ([1, 1, 1, 1, 1, 1, 1], HOLDS),
        ([50, 50, 50, 50, 50, 50, 50], HOLDS),
        ([1, 1, 2.99, 1, 1, 1, 1], HOLDS),
        ([1, 1, 3.01, 1, 1, 1, 1], PARTLY_HOLDS),
        ([1, 2, 3, 4, 5, 6, 8.99], PARTLY_HOLDS),
        ([1, 2, 3, 4, 5, 6, 9.01], FAILS),
        ([10, 8, 6, 4, 2, 1.5, 1], FAILS),
    ],
)
def test_the_same_order_is_a_ratio_that_stays_within_a_factor_of_3(times, verdict):
    (claim,) = evaluations.claims(evaluated(times))
    assert (claim.where, claim.verdict) == ("evaluations", verdict)
    assert f"from {min(times):.2f} to {max(times):.2f} for N = 2 … 8" in claim.measured
    assert "and N^3.0. rank1-certify uses 20 to 20 times fewer than Matching-Id" in claim.measured
    assert claim.threshold == "the ratio changes at most by a factor 3 over N; in part: 9"


def test_the_figure_is_the_mean_number_of_pairs_over_n():
    (chart,) = evaluations.charts(evaluated([2] * 7))
    assert [line.key for line in chart.lines] == [*SEEKERS]
    for line, times in zip(chart.lines, (10_000, 20_000, 500), strict=True):
        assert line.x.tolist() == SIZES
        assert np.allclose(line.y, [times * n**3 for n in SIZES])
        assert np.allclose(line.low, [0.91 * times * n**3 for n in SIZES])
    assert chart.y_log


def test_the_study_counts_pairs_of_players_seen_until_the_answer():
    (study,) = evaluations.studies(None)
    assert len(study.points) == 3 * 7
    problem = mb.Monopartite([0.9, 0.9, 0.6, 0.6, 0.3, 0.3])
    for policy in SEEKERS:
        point = next(p for p in study.points if (p.spec.name, p.problem.parameters["n"]) == (policy, 3))
        assert np.allclose(point.problem.draw().u, problem.u)
        found = mb.identify(problem, mb.policy(policy, delta=0.05), runs=2)
        played = point.play(0, 2)
        assert played.pairs.tolist() == found.pairs.tolist()
        assert played.pairs.tolist() == (played.rounds * (1 if policy == "pair-select" else 3)).tolist()

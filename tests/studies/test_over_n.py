import numpy as np
import pytest
from reference.rows import rows_by_hand

from matchbandit.studies import over_n
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS
from matchbandit.studies.over_n import SAM
from matchbandit.studies.published import published

SIZES = range(2, 12)
KNOWN = published()["over-n"]


def sized(scaled, constant=()):
    """Three runs for each N whose mean regret is `scaled` · N log N / 0.01; without noise where N is in `constant`."""
    return rows_by_hand(
        {
            "policy": SAM, "n": n, "run": run,
            "regret": value * n * np.log(n) / 0.01 * (1 if n in constant else 1 + 0.01 * (run - 1)),
        }
        for n, value in zip(SIZES, scaled, strict=True)
        for run in range(3)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scaled", "verdict"),
    [
        ([4] * 10, HOLDS),
        ([4] * 9 + [5.99], HOLDS),
        ([4] * 9 + [6.01], FAILS),
        ([4] * 8 + [6.01, 4], FAILS),
        ([9] + [4] * 9, PARTLY_HOLDS),
        ([1, 2, 3, 4, 5, 5, 5, 5, 5, 5], PARTLY_HOLDS),
        ([4, 4, 4, 4, 9, 4, 4, 4, 4, 4], PARTLY_HOLDS),
        ([1, 1, 1, 1, 1, 4, 4, 4, 4, 6.01], FAILS),
    ],
)
def test_flat_in_n_log_n_means_a_largest_mean_of_at_most_three_halves_of_the_smallest(scaled, verdict):
    _, _, claim = over_n.claims(sized(scaled))
    assert (claim.where, claim.verdict) == ("fig2-scaled", verdict)
    assert claim.threshold.startswith("largest / smallest at most 1.5")


@pytest.mark.parametrize(
    ("power", "verdicts"),
    [
        (0.0, [HOLDS, HOLDS]),
        (0.22, [HOLDS, HOLDS]),
        (0.24, [HOLDS, PARTLY_HOLDS]),  # 5.5 times the size, and 1.51 times the regret
        (0.26, [FAILS, FAILS]),
        (-0.2, [HOLDS, HOLDS]),
        (-0.8, [HOLDS, FAILS]),
        (0.8, [FAILS, FAILS]),
    ],
)
def test_at_most_n_log_n_is_less_than_flat(power, verdicts):
    _, *claims = over_n.claims(sized([4 * n**power for n in SIZES]))
    assert [claim.verdict for claim in claims] == verdicts
    assert f"goes like N^{power:.2f}" in claims[0].measured
    assert f"in the upper half of N it goes like N^{power:.2f}" in claims[1].measured


def test_sizes_at_which_every_run_loses_the_same_have_not_split_and_are_left_out():
    scaled = [50, 20] + [4] * 8
    _, _, claim = over_n.claims(sized(scaled, constant=(2, 3)))
    assert claim.verdict == HOLDS
    assert claim.measured.startswith("4.0 at N = 4, 4.0 at 11: largest / smallest 1.00")
    _, _, claim = over_n.claims(sized(scaled))
    assert claim.verdict == PARTLY_HOLDS
    assert claim.measured.startswith("50.0 at N = 2, 4.0 at 11: largest / smallest 12.50; in the upper half of N")


def as_published(shift=0.0):
    return rows_by_hand(
        {"policy": SAM, "n": n, "run": run, "regret": mean + shift + (run - 1) * (n > 3)}
        for n, mean in zip(KNOWN["x"], KNOWN[SAM]["mean"], strict=True)
        for run in range(3)
    )


def test_the_published_numbers_agree_with_themselves():
    claim, at_most, flat = over_n.claims(as_published())
    assert (claim.where, claim.verdict, claim.measured[:8]) == ("fig2", HOLDS, "10 of 10")
    assert (at_most.verdict, flat.verdict) == (HOLDS, FAILS)  # they fall by half, to the end


def test_figure_2_is_regret_over_n_beside_c_n_log_n_through_the_last_place():
    regret, scaled = over_n.charts(as_published())
    ours, law, points = regret.lines
    assert ours.x.tolist() == list(SIZES)
    assert np.allclose(ours.y, KNOWN[SAM]["mean"])
    assert np.allclose(ours.low[2:], np.array(KNOWN[SAM]["mean"][2:]) - 0.9)
    assert np.isclose(law.y[-1], 23252)
    assert np.isclose(law.y[0], 23252 * 2 * np.log(2) / (11 * np.log(11)))
    assert (law.label, law.kind) == ("c N log N through N = 11", "reference")
    assert points.y.tolist()[:3] == [1333, 4800, 11386]
    assert scaled.lines[0].x.tolist() == list(range(4, 12))  # N = 2 and 3 never split
    assert np.isclose(scaled.lines[0].y[0], 0.01 * 11386 / (4 * np.log(4)))
    assert np.allclose(scaled.lines[0].y, scaled.lines[1].y)


def test_the_players_are_the_published_ones():
    (study,) = over_n.studies(None)
    assert (study.problem["n"], study.horizon, study.runs) == (KNOWN["x"], KNOWN["horizon"], 100)
    staircase = next(point for point in study.points if point.problem.parameters["n"] == 4)
    assert np.allclose(staircase.problem.draw().u, [0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0])
    assert {point.spec.name for point in study.points} == {SAM}


def test_the_first_two_published_means_are_those_of_a_tournament_that_never_splits():
    # u = .1 .1 0 0: the best matching pays 0.01, a tournament of three rounds 0.01 once.
    means = KNOWN[SAM]["mean"]
    assert means[0] == int(200_000 * (0.01 - 0.01 / 3))
    # u = .2 .2 .1 .1 0 0: 0.05 at best; all pairs together pay 0.04 + 0.01 + 4 · 0.02 = 0.13 in five rounds.
    assert means[1] == round(200_000 * (0.05 - 0.13 / 5))


def test_a_power_that_rounds_to_zero_has_no_sign():
    _, at_most, flat = over_n.claims(sized([4 * n**-1e-9 for n in SIZES]))
    assert "goes like N^0.00" in at_most.measured
    assert "goes like N^0.00" in flat.measured

import numpy as np
import pytest
from reference.rows import rows_by_hand

import matchbandit as mb
from matchbandit.studies import identification
from matchbandit.studies.claims import FAILS, HOLDS, PARTLY_HOLDS
from matchbandit.studies.identification import DELTAS, OTHER_SIZES, SIZES, exponent, slopes


def made_up(power, small_power):
    """Rounds = n^power log(1/δ) from n = 16 on, and smaller below."""
    return rows_by_hand(
        {
            "policy": policy, "family": family, "n": n, "delta": delta,
            "rounds": round(5e6 + 1e6 * 16**power * (n / 16) ** (small_power if n < 16 else power) * -np.log(delta)),
        }
        for family in ("half", "fading")
        for policy, sizes in (("pair-elim", SIZES), ("rank1-certify", OTHER_SIZES), ("track-and-stop", OTHER_SIZES))
        for n in sizes
        for delta in DELTAS
    )  # fmt: skip


def test_slopes_and_exponents_are_those_of_a_known_law():
    found = slopes(made_up(1.0, 1.0).where(family="half", policy="pair-elim"))
    assert list(found) == SIZES
    assert np.isclose(found[32], 32e6)
    assert np.isclose(exponent({4: 16.0, 8: 64.0, 16: 256.0}), 2)


@pytest.mark.parametrize(("powers", "verdict"), [((1, 1), HOLDS), ((1, 3), PARTLY_HOLDS), ((2, 2), FAILS)])
def test_the_claim_is_an_exponent_of_1(powers, verdict):
    claims = identification.claims(made_up(*powers))
    assert {claim.verdict for claim in claims} == {verdict}
    assert [claim.claim[-8:] for claim in claims] == [") (half)", "(fading)"]
    assert claims[0].threshold == "exponent of the slope at most 1.25 (N + M is 1, N·M is 2); in part: from N = 16 on"
    assert f"N^{powers[0]:.2f} for 16 … 64" in claims[0].measured


def test_the_figure_is_rounds_for_each_item_over_log_1_over_delta():
    (chart,) = identification.charts(made_up(1.0, 1.0))
    assert len(chart.lines) == len(SIZES) + 2 * len(OTHER_SIZES)
    line = chart.lines[1]
    assert (line.label, line.key) == ("Pair-Elim 8×8", "pair-elim")
    assert np.allclose(line.x, np.log(1 / np.array(DELTAS)))
    assert np.allclose(line.y, 1e6 * (5 + 8 * np.log(1 / np.array(DELTAS))) / 16)
    assert (np.diff(line.x) > 0).all()
    assert "1 of pair-elim, 1 of rank1-certify, 1 of track-and-stop" in chart.caption


def test_the_studies_name_all_that_is_sought():
    ours, certified, blind = identification.studies(None)
    assert [(s.name, s.runs, len(s.points)) for s in (ours, certified, blind)] == [
        ("identification", 20, 2 * 5 * 8),
        ("identification-certified", 20, 2 * 3 * 4),
        ("identification-blind", 5, 3 * 3),
    ]
    assert identification.ENTRY.beside == ("identification-blind",)
    assert {study.runs for study in identification.studies(3)} == {3}
    for n in (4, 8):
        strengths = {"half": [0.9] + [0.45] * (n - 1), "fading": [0.9, *np.linspace(0.45, 0.05, n - 1).tolist()]}
        for family, u in strengths.items():
            point = next(
                p for p in ours.points if (p.problem.name, p.problem.parameters["n"], p.delta) == (family, n, 1e-3)
            )
            found = mb.identify(mb.Bipartite(u, u), mb.policy("pair-elim", delta=1e-3), runs=2)
            assert point.play(0, 2).rounds.tolist() == found.rounds.tolist()

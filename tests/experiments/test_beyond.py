import numpy as np
import pytest

import matchbandit as mb
from matchbandit.experiments import beyond
from matchbandit.experiments.beyond import GrowthRow, IdentificationRow, WindowRow
from matchbandit.experiments.claims import FAILS, HOLDS, IN_PART


def nothing(_more):
    pass


def test_windows_count_pairs_by_how_many_of_their_items_are_sub_optimal(monkeypatch):
    monkeypatch.setattr(beyond, "HORIZONS", (500,))
    rows = beyond.window_rows(3, 1, 1, nothing)
    problem = mb.family("spiked", n=8, u1=0.9, gap=0.75).draw(seed=3)
    runs = mb.simulate(problem, "pair-elim", horizon=500, runs=3, seed=1, checkpoints=[500])
    assert [row.capped for row in rows] == [False, True]
    best = runs.plays[:, 0, 0]
    assert (np.add(rows[0].doubly, rows[0].singly) + best == 500).all()
    assert rows[0].doubly == [int(plays[1:, 1:].sum()) for plays in runs.plays]


@pytest.mark.parametrize(("at_the_end", "verdicts"), [((110, 230), [HOLDS, HOLDS]), ((130, 250), [FAILS, FAILS])])
def test_the_claims_about_windows_compare_10_to_the_5_with_10_to_the_12(at_the_end, verdicts):
    rows = [WindowRow(False, 10**5, [100], [100]), WindowRow(False, 10**12, *([n] for n in at_the_end))]
    assert [claim.verdict for claim in beyond.window_claims(rows)] == verdicts


@pytest.mark.parametrize(("fine", "verdict"), [(40.0, HOLDS), (60.0, FAILS)])
def test_the_claim_about_growth_is_that_half_is_saved(fine, verdict):
    rows = [GrowthRow("spiked", 4.0, [90.0, 110.0]), GrowthRow("spiked", 1.05, [fine])]
    (claim,) = beyond.growth_claims(rows)
    assert claim.verdict == verdict
    assert f"{1 - fine / 100:.0%} saved" in claim.measured


def made_up(power, small_power):
    """Rounds = n^power log(1/δ) from n = 16 on, and smaller below."""
    rows = []
    for name in beyond.IDENTIFICATION_FAMILIES:
        for kind, (sizes, _) in beyond.identification_parts().items():
            for n in sizes:
                for delta in beyond.DELTAS:
                    scale = 16**power * (n / 16) ** (power if n >= 16 else small_power)
                    rows.append(IdentificationRow(name, kind, n, delta, 5 + scale * np.log(1 / delta)))
    return rows


def test_slopes_and_exponents_are_those_of_a_known_law():
    rows = made_up(1.0, 1.0)
    assert np.isclose(beyond.slope(rows, "half", "pair-elim", 32), 32)
    assert np.isclose(beyond.exponent({4: 16.0, 8: 64.0, 16: 256.0}), 2)


@pytest.mark.parametrize(("powers", "verdict"), [((1, 1), HOLDS), ((1, 3), IN_PART), ((2, 2), FAILS)])
def test_the_claim_about_identification_is_an_exponent_of_1(powers, verdict):
    assert {claim.verdict for claim in beyond.identification_claims(made_up(*powers))} == {verdict}


def test_the_figures_beyond_are_drawn_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(beyond, "HORIZONS", (10**5, 10**12))
    monkeypatch.setattr(beyond, "GROWTHS", (1.05, 4.0))
    made = mb.reproduce(["windows", "growth"], runs=2, out=tmp_path, workers=1)
    assert [p.name for p in made.pictures] == ["windows.png", "growth.png"]
    assert [c.where for c in made.claims] == ["windows", "windows", "growth", "growth"]


def test_identification_rows_name_all_that_was_sought(tmp_path, monkeypatch):
    smaller = {"SIZES": (2, 3), "DELTAS": (0.2,), "CERTIFIED_SIZES": (3,), "BLIND_SIZES": (2,), "BLIND_DELTAS": (0.2,)}
    for name, value in smaller.items():
        monkeypatch.setattr(beyond, name, value)
    told = []
    rows = beyond.identification_rows(2, 1, 1, told.append)
    assert [row[:4] for row in rows if row.family == "half"] == [
        ("half", "pair-elim", 2, 0.2),
        ("half", "pair-elim", 3, 0.2),
        ("half", "rank1-certify", 3, 0.2),
        ("half", "track-and-stop", 2, 0.2),
    ]
    assert told == [2] * 8
    from matchbandit.figures import beyond as pictures
    from matchbandit.figures import draw

    path = draw("identification", lambda axes: pictures.identification(axes, rows), tmp_path)
    assert path.stat().st_size > 10_000

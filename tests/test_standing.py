"""Policies between lower and upper bounds, as `docs/make/bounds_table.py` measures them for the docs."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import matchbandit as mb
from matchbandit.placement import Placement

_spec = spec_from_file_location("standing", Path(__file__).parents[1] / "docs" / "make" / "standing.py")
standing = module_from_spec(_spec)
_spec.loader.exec_module(standing)


def test_fitting_places_every_policy_by_what_it_plays_and_seeks():
    every = [
        (of, *each)
        for p in standing.instances().values()
        for of in ("regret", "rounds")
        for each in standing.fitting(p, of)
    ]
    budget = {name for name, kind in mb.CATALOGUE.items() if kind.capabilities.fixed_budget}  # bounds are for δ
    no_bounds = {"grab", "pb-mhb"}  # they play matchings of slots
    assert set(mb.CATALOGUE) - {spec.name for _, spec, _, _ in every} == {*standing.TOLD_MORE, *budget, *no_bounds}
    roles = {(of, spec.name, plays, seeks) for of, spec, plays, seeks in every}
    assert {("rounds", "pair-select", "pair", "matching"), ("rounds", "matching-id", "matching", "matching")} <= roles


@pytest.mark.slow
def test_standing_of_two_problems_breaks_no_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(standing, "HORIZON", 5000)
    chosen = {"slots": mb.Bipartite([0.9, 0.3], [0.9, 0.5]), "players": mb.Monopartite([0.9, 0.9, 0.5, 0.5])}
    placed = list(standing.standing(tmp_path, runs=3, seed=3, workers=1, chosen=chosen))
    assert all(claim.holds for claim in standing.claims(placed))
    for row in placed:
        known = mb.bounds(chosen[row.instance], horizon=5000, delta=standing.DELTA)
        same = [b for b in known if (b.of, b.plays, b.seeks) == (row.of, row.plays, row.seeks) and b.met]
        assert row.lower == max(b.value for b in same if b.kind == "lower")
    measured = {(row.instance, row.of, row.policy): row.measured for row in placed}
    alone = mb.simulate(chosen["slots"], "pair-elim", horizon=5000, runs=3, seed=3, checkpoints=[5000])
    assert measured["slots", "regret", "pair-elim"] == alone.final.tolist()


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, [True, True]),
        ({"lower": 110.0}, [False, True]),
        ({"lower": 110.0, "binding": False}, [True, True]),
        ({"lower": 103.0}, [True, True]),  # within three standard errors
        ({"upper": 90.0}, [True, False]),
        ({"upper": 90.0, "explicit": False}, [True, True]),
        ({"lower": 110.0, "measured": []}, [True, True]),
    ],
)
def test_claims_name_a_broken_bound(changes, holds):
    row = Placement(
        "identification", "pair", "pair", "p", [100.0, 102.0], 50.0, "", True, 500.0, "", True, instance="x"
    )
    assert [claim.holds for claim in standing.claims([row, row._replace(**changes)])] == holds


@pytest.mark.slow
def test_standing_of_the_five_instances_breaks_no_bound(tmp_path):
    placed = standing.standing(tmp_path, runs=4, workers=2)  # the nearest bound is a factor of 3 away: few runs tell
    assert all(claim.holds for claim in standing.claims(list(placed)))

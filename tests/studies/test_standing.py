"""The policies between lower and upper bounds, as `docs/make/bounds_table.py` measures them for the docs."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.placement import Placement
from matchbandit.studies.claims import FAILS, HOLDS

_spec = spec_from_file_location("standing", Path(__file__).parents[2] / "docs" / "make" / "standing.py")
standing = module_from_spec(_spec)
_spec.loader.exec_module(standing)
claims, fitting, instances = standing.claims, standing.fitting, standing.instances


def test_there_are_five_instances_of_both_kinds():
    made = instances()
    assert len(made) == 5
    assert {type(problem) for problem in made.values()} == {mb.Bipartite, mb.Monopartite}
    assert any(isinstance(problem.rewards, mb.Gaussian) for problem in made.values())


def test_every_policy_stands_somewhere():
    placed = {spec.name for p in instances().values() for of in ("regret", "rounds") for spec, _, _ in fitting(p, of)}
    within = {name for name, kind in mb.CATALOGUE.items() if kind.capabilities.fixed_budget}  # bounds are for δ
    items_in_positions = {"grab", "pb-mhb"}  # matchings of slots, which the paper has no bounds for
    assert set(mb.CATALOGUE) - placed == {*standing.TOLD_MORE, *within, *items_in_positions}


def test_policies_stand_for_what_they_play_and_seek():
    problem = mb.Monopartite([0.9, 0.8, 0.4, 0.3])
    players = {
        (of, spec.name): (plays, seeks) for of in ("regret", "rounds") for spec, plays, seeks in fitting(problem, of)
    }
    assert players["rounds", "pair-select"] == ("pair", "matching")
    assert players["rounds", "matching-id"] == ("matching", "matching")
    assert players["rounds", "pair-elim-mono"] == ("pair", "pair")
    assert players["regret", "adaptive-matching"] == ("matching", "matching")
    assert ("regret", "simple-adaptive-matching") not in players  # partners are not equal
    twins = {spec.name for spec, _, _ in fitting(mb.Monopartite([0.9, 0.9, 0.4, 0.4]), "regret")}
    assert "simple-adaptive-matching" in twins


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    chosen = {
        "slots": mb.Bipartite([0.9, 0.3], [0.9, 0.5]),
        "players": mb.Monopartite([0.9, 0.9, 0.5, 0.5]),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standing, "HORIZON", 5000)
        out = tmp_path_factory.mktemp("standing")
        return list(standing.standing(out, runs=3, seed=3, workers=1, chosen=chosen)), chosen


def test_no_measured_value_breaks_a_bound(rows):
    made, _ = rows
    assert [claim.verdict for claim in claims(made)] == [HOLDS, HOLDS]
    assert {row.policy for row in made if row.binding} == {
        "pair-elim",
        "pair-elim-mono",
        "pair-select",
        "matching-id",
        "clucb",
        "rank1-certify",
    }
    assert {row.policy for row in made if row.explicit} == {
        "pair-elim",
        "pair-elim-mono",
        "pair-select",
        "matching-id",
        "simple-adaptive-matching",
        "rank1-certify",
    }


def test_rows_carry_the_highest_lower_bound_and_the_policys_own_upper_bound(rows):
    made, chosen = rows
    for row in made:
        known = mb.bounds(chosen[row.instance], horizon=5000, delta=standing.DELTA)
        same = [b for b in known if (b.of, b.plays, b.seeks) == (row.of, row.plays, row.seeks) and b.met]
        assert row.lower == max(b.value for b in same if b.kind == "lower")
        own = [b.value for b in same if b.kind == "upper" and b.about == row.policy]
        assert row.upper == (min(own) if own else None)
        assert len(row.measured) == 3


@pytest.mark.slow
def test_what_is_measured_is_what_simulate_and_identify_give(rows):
    made, chosen = rows
    by_hand = mb.simulate(chosen["slots"], "pair-elim", horizon=5000, runs=3, seed=3, checkpoints=[5000])
    found = mb.identify(chosen["players"], mb.policy("matching-id", delta=0.05), runs=3, seed=3, max_rounds=3_000_000)
    measured = {(row.instance, row.of, row.policy): row.measured for row in made}
    assert measured["slots", "regret", "pair-elim"] == by_hand.final.tolist()
    assert measured["players", "rounds", "matching-id"] == found.rounds.tolist()


@pytest.mark.slow
def test_a_policy_that_finds_no_answer_has_no_place(tmp_path, monkeypatch):
    monkeypatch.setattr(standing, "HORIZON", 10)
    monkeypatch.setattr(standing, "MAX_ROUNDS", 3)
    made = list(standing.standing(tmp_path, runs=2, workers=1, chosen={"slots": mb.Bipartite([0.9, 0.3], [0.9, 0.5])}))
    assert all(len(row.measured) == (2 if row.of == "regret" else 0) for row in made)


def made_row(**changes):
    made = Placement(
        "identification", "pair", "pair", "p", [100.0, 102.0], 50.0, "", True, 500.0, "", True, instance="x"
    )
    return made._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, [HOLDS, HOLDS]),
        ({"lower": 110.0}, [FAILS, HOLDS]),
        ({"lower": 110.0, "binding": False}, [HOLDS, HOLDS]),
        ({"lower": 103.0}, [HOLDS, HOLDS]),  # within three standard errors
        ({"upper": 90.0}, [HOLDS, FAILS]),
        ({"upper": 90.0, "explicit": False}, [HOLDS, HOLDS]),
        ({"lower": 110.0, "measured": []}, [HOLDS, HOLDS]),
    ],
)
def test_a_broken_bound_is_reported(changes, verdicts):
    assert [claim.verdict for claim in claims([made_row(), made_row(**changes)])] == verdicts


@pytest.mark.slow
def test_no_measured_value_breaks_a_bound_on_the_five_instances(tmp_path):
    made = list(standing.standing(tmp_path, workers=2))
    assert [claim.verdict for claim in claims(made)] == [HOLDS, HOLDS]
    assert np.isfinite([row.lower for row in made]).all()

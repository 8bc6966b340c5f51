import numpy as np
import pytest

import matchbandit as mb
from matchbandit.experiments import standing
from matchbandit.experiments.claims import FAILS, HOLDS
from matchbandit.experiments.standing import fitting, instances, standing_claims, standing_rows
from matchbandit.placement import Placement


def test_there_are_five_instances_of_both_kinds():
    made = instances()
    assert len(made) == 5
    assert {type(problem) for problem in made.values()} == {mb.Bipartite, mb.Monopartite}
    assert any(isinstance(problem.rewards, mb.Gaussian) for problem in made.values())


def test_every_policy_stands_somewhere():
    placed = {spec.name for problem in instances().values() for _, spec, _, _ in fitting(problem)}
    assert set(mb.CATALOGUE) - placed == set(standing.TOLD_MORE)


def test_policies_stand_for_what_they_play_and_seek():
    players = {
        (of, spec.name): (plays, seeks) for of, spec, plays, seeks in fitting(mb.Monopartite([0.9, 0.8, 0.4, 0.3]))
    }
    assert players["rounds", "pair-select"] == ("pair", "matching")
    assert players["rounds", "matching-id"] == ("matching", "matching")
    assert players["rounds", "pair-elim-mono"] == ("pair", "pair")
    assert players["regret", "adaptive-matching"] == ("matching", "matching")
    assert ("regret", "simple-adaptive-matching") not in players  # partners are not equal
    twins = {spec.name for _, spec, _, _ in fitting(mb.Monopartite([0.9, 0.9, 0.4, 0.4]))}
    assert "simple-adaptive-matching" in twins


@pytest.fixture(scope="module")
def rows():
    chosen = {
        "slots": mb.Bipartite([0.9, 0.3], [0.9, 0.5]),
        "players": mb.Monopartite([0.9, 0.9, 0.5, 0.5]),
        "gaussian": mb.Monopartite([0.9, 0.8, 0.4, 0.3], rewards=mb.Gaussian(sd=0.5)),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standing, "HORIZON", 5000)
        return list(standing_rows(6, 3, 1, lambda _: None, chosen)), chosen


def test_no_measured_value_breaks_a_bound(rows):
    made, _ = rows
    assert [claim.verdict for claim in standing_claims(made)] == [HOLDS, HOLDS]
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
        assert len(row.measured) == 6


def made_row(**changes):
    made = Placement("rounds", "pair", "pair", "p", [100.0, 102.0], 50.0, "", True, 500.0, "", True, "x")
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
    assert [claim.verdict for claim in standing_claims([made_row(), made_row(**changes)])] == verdicts


@pytest.mark.slow
def test_no_measured_value_breaks_a_bound_on_the_five_instances():
    made = list(standing_rows(20, 1, 2, lambda _: None))
    assert [claim.verdict for claim in standing_claims(made)] == [HOLDS, HOLDS]
    assert np.isfinite([row.lower for row in made]).all()

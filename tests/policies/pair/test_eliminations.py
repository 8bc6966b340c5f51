"""Who left when, on which average, by whom: the record of every elimination policy."""

import json
from math import ceil, exp, log, sqrt

import numpy as np
import pytest
from reference.tape import Roll, Tape

import matchbandit as mb
from matchbandit.policies.explanation import Elimination
from matchbandit.simulation.engines import jump, step
from matchbandit.simulation.score import Score

SLOTS = mb.Bipartite([1.0, 0.5, 0.1], [0.1, 1.0, 0.4, 0.8])
PLAYERS = mb.Monopartite([0.2, 1.0, 0.1, 0.9, 0.5, 0.4])
CASES = {
    "pair-elim": (SLOTS, {"growth": 1.05}),
    "pair-elim identifying": (SLOTS, {"delta": 0.2}),
    "rank1-elim": (SLOTS, {}),
    "rank1-elim-kl": (SLOTS, {}),
    "pair-elim-mono": (PLAYERS, {"growth": 1.05}),
    "pair-elim-mono identifying": (PLAYERS, {"delta": 0.2, "growth": 1.5}),
    "pair-select": (PLAYERS, {"delta": 0.2, "growth": 1.5}),
}


def build(case, horizon=40):
    problem, options = CASES[case]
    return problem, mb.policy(case.split()[0], **options).build(problem.graph, horizon=horizon, seed=4)


def played(case, engine, rounds=60_000):
    """The policy after so many rounds, or when it is done; the same tape for both engines."""
    problem, policy = build(case)
    tape = Tape if problem is PLAYERS else Roll
    engine(policy, tape.bernoulli(problem.means, rounds, 3), Score(problem, "pair", np.array([rounds])))
    return policy


def ask_and_tell(policy, rounds, reward):
    for _ in range(rounds):
        pairs = policy.ask()
        policy.tell(pairs, [reward(*pairs[0].tolist())])


@pytest.mark.parametrize("case", CASES)
def test_the_losers_interval_lies_below_the_winners(case):
    policy = played(case, jump)
    sides = {"row": policy.graph.shape[0], "column": policy.graph.shape[1], "player": policy.graph.shape[0]}
    assert len(policy.eliminations) >= 3
    assert [gone.round for gone in policy.eliminations] == sorted(gone.round for gone in policy.eliminations)
    for gone in policy.eliminations:
        assert gone.item != gone.by
        assert max(gone.item, gone.by) < sides[gone.side]
        assert gone.interval[0] <= gone.estimate <= gone.interval[1] <= gone.by_interval[0] <= gone.by_estimate
        assert policy.name == "rank1-elim" or gone.interval[1] < gone.by_interval[0]
        assert gone.on == "all opponents" or gone.on not in ((gone.item, gone.by) if gone.side == "player" else ())


@pytest.mark.parametrize("case", CASES)
def test_a_restored_policy_has_the_same_record(case):
    policy = played(case, jump)
    twin = mb.restore(json.loads(json.dumps(policy.state())))
    assert twin.eliminations == policy.eliminations != []
    assert all(isinstance(gone, Elimination) and isinstance(gone.interval, tuple) for gone in twin.eliminations)
    assert twin.explain()["eliminations"] == [gone.describe() for gone in policy.eliminations]
    json.dumps(twin.explain(), allow_nan=False)


@pytest.mark.parametrize("case", ["pair-elim-mono", "pair-elim-mono identifying", "pair-select"])
@pytest.mark.sampled(1)
def test_step_and_jump_have_the_same_record_where_the_schedule_is_fixed(case):
    slow, fast = played(case, step, 9000), played(case, jump, 9000)
    assert slow.eliminations == fast.eliminations != []


def test_who_is_out_is_on_record_and_nobody_else():
    for name in ("rank1-elim", "rank1-elim-kl"):
        policy = played(name, jump)
        for side, ledger in (("row", policy.rows), ("column", policy.columns)):
            out = {gone.item for gone in policy.eliminations if gone.side == side}
            assert out == set(range(len(ledger.dominators))) - set(ledger.active.tolist())


def test_by_hand_rank1_elim():
    # T = 8: n_0 = ceil(4 log 8) = 9 sweeps of 3 rounds; radius sqrt(log 8 / 9).
    policy = mb.policy("rank1-elim").build(mb.bipartite(2, 1), horizon=8)
    ask_and_tell(policy, 27, lambda i, j: float(i == 0))
    r = sqrt(log(8) / 9)
    assert policy.eliminations == [
        Elimination(27, "row", 1, 0, "all opponents", None, 0.0, (-r, r), 1.0, (1 - r, 1 + r))
    ]


def test_by_hand_rank1_elim_kl():
    # T = 1000: n_0 = ceil(16 log T) = 111 sweeps of three rounds. kl(0, q) = −log(1 − q), kl(1, q) = −log q.
    policy = mb.policy("rank1-elim-kl").build(mb.bipartite(2, 1), horizon=1000)
    sweeps = ceil(16 * log(1000))
    ask_and_tell(policy, 3 * sweeps, lambda i, j: float(i == 0))
    (gone,) = policy.eliminations
    budget = (log(1000) + 3 * log(log(1000))) / sweeps
    assert gone[:7] == (3 * sweeps, "row", 1, 0, "all opponents", None, 0.0)
    assert gone.interval == pytest.approx((0.0, 1 - exp(-budget)), abs=1e-9)
    assert gone.by_interval == pytest.approx((exp(-budget), 1.0), abs=1e-9)


def test_by_hand_pair_elim_mono():
    # T = 8, every chance: at the ninth sweep of 12 rounds player 2 is beaten by 0 against 1, and by 1 against 0.
    policy = mb.policy("pair-elim-mono", growth=1.0).build(mb.monopartite(3), horizon=8)
    ask_and_tell(policy, 9 * 12, lambda i, j: float((i, j) == (0, 1)))
    r = sqrt(log(8) / 9)
    numbers = 0.0, (-r, r), 1.0, (1 - r, 1 + r)
    assert policy.eliminations == [
        Elimination(108, "player", 2, 0, 1, None, *numbers),
        Elimination(108, "player", 2, 1, 0, None, *numbers),
    ]


def test_by_hand_pair_elim_mono_on_all_thirds():
    # Four players, T = 8: 5 sweeps of 24 rounds bring 10 samples in common, on which 0 beats the others by 1 to 0.
    policy = mb.policy("pair-elim-mono", growth=1.0).build(mb.monopartite(4), horizon=8)
    ask_and_tell(policy, 5 * 24, lambda i, j: float(i == 0))
    assert [(gone.item, gone.by, gone.on) for gone in policy.eliminations] == [
        (j, 0, "all opponents") for j in (1, 2, 3)
    ]
    assert {gone.interval for gone in policy.eliminations} == {(-sqrt(log(8) / 10), sqrt(log(8) / 10))}


def test_by_hand_of_three_who_beat_a_player_at_once_the_first_two_are_on_record():
    policy = mb.policy("pair-elim-mono", growth=1.0).build(mb.monopartite(4), horizon=8)
    ask_and_tell(policy, 5 * 24, lambda i, j: float(j != 3))  # as above: 0, 1 and 2 beat 3 by 1 to 0
    assert policy.above[:, 3].tolist() == [True, True, True, False]
    assert [(gone.item, gone.by) for gone in policy.eliminations] == [(3, 0), (3, 1)]


def test_a_player_has_at_most_two_records_for_good_and_two_in_each_window():
    policy = played("pair-elim-mono", jump)
    seen = [(gone.item, gone.window) for gone in policy.eliminations]
    assert max(seen.count(of) for of in seen) == 2
    for item in np.flatnonzero(policy.above.sum(axis=0) >= 2):
        assert (item, None) in seen


def test_by_hand_a_column_leaves_for_a_window_and_its_record_stays_when_it_comes_back():
    # One row; window 4 (β = 65536) looks from 45 ≥ 4 log β on; columns are compared against the row.
    policy = mb.policy("pair-elim", growth=1.0).build(mb.bipartite(1, 2), horizon=10**9, seed=1)
    policy.window.number = 4
    ask_and_tell(policy, 45 * 3, lambda i, j: float(j == 0))
    r = sqrt(16 * log(2) / 45)
    gone = Elimination(135, "column", 1, 0, 0, 4, 0.0, (-r, r), 1.0, (1 - r, 1 + r))
    assert policy.eliminations == [gone]
    assert policy.columns.active.tolist() == [0]
    policy.window.samples = 65536  # one sweep more, and it is over
    assert [item["active"] for item in policy.explain()["items"]] == [True, True, False]
    ask_and_tell(policy, 2, lambda i, j: 1.0)
    assert policy.window.number == 5
    assert [item["active"] for item in policy.explain()["items"]] == [True, True, True]
    assert policy.eliminations == [gone]


def test_columns_that_are_certified_leave_for_good():
    policy = played("pair-elim identifying", jump)
    assert policy.done
    last = policy.eliminations[-1]
    assert (last.side, last.window, last.by) == ("column", None, policy.recommend()[0, 1])


def test_the_record_shows_the_average_that_decided_where_the_pooled_ones_overlap():
    # Row 0 pays against column 0 alone and row 1 against column 1 half of the time: against column 0 they are far
    # apart. Pooled over both, the interval of row 1 overlaps that of the winner.
    policy = mb.policy("pair-elim", growth=1.05).build(mb.bipartite(2, 2), horizon=1000, seed=1)
    while len(policy.rows.active) == 2:
        ask_and_tell(policy, 1, lambda i, j: [[1.0, 0.0], [0.0, 0.5]][i][j])
    (gone,) = [gone for gone in policy.eliminations if gone.side == "row"]
    assert (gone.item, gone.by, gone.on) == (1, 0, 0)
    assert gone.interval[1] < gone.by_interval[0]
    rows = [item for item in policy.explain()["items"] if item["side"] == "row"]
    assert rows[1]["interval"] is None or rows[1]["interval"][1] > rows[0]["interval"][0]


def test_policies_that_eliminate_nobody_have_no_record():
    for name in ("uts", "adaptive-matching", "matching-id"):
        graph = mb.bipartite(2, 2) if name == "uts" else mb.monopartite(4)
        policy = mb.policy(name).build(graph, horizon=100)
        assert policy.eliminations == policy.explain()["eliminations"] == []

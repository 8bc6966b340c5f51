from math import log, sqrt

import numpy as np
import pytest
from reference.outcomes import out_at

import matchbandit as mb
from matchbandit.policies.pair.ledger import POOLED, Ledger, within
from matchbandit.problems import Bipartite
from matchbandit.simulation.play import Job


def play(policy, rounds, reward):
    """Ask and tell; the reward is a function of the pair. Gives the pairs played."""
    played = []
    for _ in range(rounds):
        pairs = policy.ask()
        played.append(tuple(pairs[0].tolist()))
        policy.tell(pairs, [reward(*played[-1])])
    return played


def test_by_hand_a_row_leaves_at_the_ninth_sweep():
    # T = 8, every chance: checks start at count 9 ≥ 4 log 8 = 8.3. Row 0 always pays, row 1 never; with radius
    # sqrt(log 8 / 9) = 0.4807 the interval of row 1 ends at 0.4807 and that of row 0 starts at 0.5193.
    policy = mb.policy("pair-elim", growth=1.0).build(mb.bipartite(2, 1), horizon=8, seed=0)
    play(policy, 26, lambda i, j: float(i == 0))
    assert policy.rows.active.tolist() == [0, 1]
    play(policy, 1, lambda i, j: float(i == 0))
    assert policy.rows.active.tolist() == [0]
    assert out_at(policy, "row") == [-1, 27]
    assert policy.rows.dominators.tolist() == [0, 0]
    assert play(policy, 4, lambda i, j: 1.0) == [(0, 0)] * 4


def test_by_hand_rows_in_index_order_then_columns_in_index_order():
    policy = mb.policy("pair-elim").build(mb.bipartite(3, 2), horizon=100, seed=4)
    for _ in range(20):
        sweep = play(policy, 5, lambda i, j: 0.0)
        assert [i for i, _ in sweep[:3]] == [0, 1, 2]
        assert len({j for _, j in sweep[:3]}) == 1
        assert [j for _, j in sweep[3:]] == [0, 1]
        assert len({i for i, _ in sweep[3:]}) == 1


def test_by_hand_windows_end_when_their_samples_exceed_two_to_the_two_to_the_w():
    # One row, one column: a sweep has 2 rounds. Window 0 lasts 2 sweeps (4 > 2), window 1 three (6 > 4),
    # window 2 nine (18 > 16), window 3 129 (258 > 256).
    policy = mb.policy("pair-elim").build(mb.bipartite(1, 1), horizon=1000)
    ends = [4, 4 + 6, 4 + 6 + 18, 4 + 6 + 18 + 258]
    for window, end in enumerate(ends):
        play(policy, end - 1 - policy.rounds, lambda i, j: 1.0)
        assert policy.window.number == window
        play(policy, 1, lambda i, j: 1.0)
        assert policy.window.number == window + 1


def test_columns_come_back_with_the_next_window_and_rows_do_not():
    policy = mb.policy("pair-elim", growth=1.05).build(mb.bipartite(2, 2), horizon=50, seed=2)
    left, back = False, False
    for _ in range(4000):
        play(policy, 1, lambda i, j: float(i == 0 and j == 1))
        left = left or len(policy.columns.active) == 1
        back = back or (left and len(policy.columns.active) == 2)
    assert left
    assert back
    assert policy.rows.active.tolist() == [0]


def test_an_average_is_checked_only_when_its_count_reaches_the_schedule():
    # growth 4, T = 20: k_1 = ceil(16 log 20) = 48. Row 1 never pays, but until the 48th sweep nobody looks.
    policy = mb.policy("pair-elim").build(mb.bipartite(2, 1), horizon=20)
    play(policy, 47 * 3, lambda i, j: float(i == 0))
    assert len(policy.rows.active) == 2
    play(policy, 3, lambda i, j: float(i == 0))
    assert out_at(policy, "row") == [-1, 48 * 3]
    radius = sqrt(log(20) / 48)
    (gone,) = policy.eliminations
    assert np.allclose([gone.by_interval, gone.interval], [[1 - radius, 1 + radius], [-radius, radius]])


def test_capped_windows_check_columns_sooner():
    # Window 4 has β = 65536, capped at T = 50. Play up to its start, then count sweeps until column 1 is out.
    def sweeps_to_elimination(cap):
        policy = mb.policy("pair-elim", growth=1.05, cap_windows=cap).build(mb.bipartite(1, 2), horizon=50, seed=1)
        while policy.window.number < 4:
            play(policy, 1, lambda i, j: 1.0)
        start = policy.rounds
        while len(policy.columns.active) == 2:
            play(policy, 1, lambda i, j: float(j == 0))
        return (policy.rounds - start) // 3

    # Both averages separate 1 from 0 once 2 sqrt(log β / k_l) < 1, at the first scheduled k_l above 4 log β.
    schedule = {cap: min(k for k in _schedule(1.05, log_beta) if k > 4 * log_beta) for cap, log_beta in _BETAS.items()}
    assert {cap: sweeps_to_elimination(cap) for cap in _BETAS} == schedule


_BETAS = {False: 16 * log(2), True: log(50)}


def _schedule(growth, log_beta):
    return [int(np.ceil(4 * growth**level * log_beta)) for level in range(1, 50)]


def test_dominators_are_followed_to_an_active_item_and_keep_their_weight():
    ledger = Ledger.empty("row", 4, 1)
    ledger.counts[:] = 100
    ledger.sums[:, 0] = [10, 40, 60, 90]
    ledger.check(POOLED, within(0.12), now=5)  # 60 + 12 < 90 − 12: all but item 3 are beaten by item 3
    assert ledger.dominators.tolist() == [3, 3, 3, 3]
    ledger = Ledger.empty("row", 4, 2)
    ledger.counts[:] = 100
    ledger.sums[:] = [[0, 50], [90, 50], [50, 90], [60, 0]]
    left = ledger.check(0, within(0.14), now=1)  # against opponent 0: 0, 2 and 3 fall to 1
    assert ledger.dominators.tolist() == [1, 1, 1, 1]
    assert [(gone.item, gone.by, gone.on, gone.round) for gone in left] == [(0, 1, 0, 1), (2, 1, 0, 1), (3, 1, 0, 1)]
    ledger = Ledger.empty("row", 4, 2)
    ledger.counts[:] = 100
    ledger.sums[:] = [[0, 50], [70, 10], [60, 90], [60, 85]]
    ledger.check(0, within(0.29), now=1)  # 0 falls to 1
    assert ledger.dominators.tolist() == [1, 1, 2, 3]
    ledger.check(1, within(0.29), now=2)  # 1 falls to 2, and 0 with it
    assert ledger.dominators.tolist() == [2, 2, 2, 3]
    assert ledger.active.tolist() == [2, 3]


def test_strictly_below_is_beaten_and_a_tie_is_not():
    for ties_lose, left in ((False, [0, 1]), (True, [0])):
        ledger = Ledger.empty("row", 2, 1)
        ledger.counts[:] = 4
        ledger.sums[:, 0] = [4, 2]
        ledger.check(POOLED, within(0.25), now=1, ties_lose=ties_lose)  # 0.5 + 0.25 against 1 − 0.25
        assert ledger.active.tolist() == left


def test_equal_best_values_have_the_lowest_index_as_dominator():
    ledger = Ledger.empty("row", 3, 1)
    ledger.counts[:] = 10
    ledger.sums[:, 0] = [0, 9, 9]
    ledger.check(POOLED, within(0.1), now=1)
    assert ledger.dominators.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("growth", "cap", "runs"),
    [
        (4.0, False, 100),
        pytest.param(1.05, False, 100, marks=pytest.mark.slow),
        pytest.param(1.05, True, 100, marks=pytest.mark.slow),
    ],
)
def test_the_best_row_survives_in_all_runs(growth, cap, runs):
    # The proof allows a failure rate of about 2 (N + 1)(M + 1) / T per check; at T = 10^6 that is nothing.
    slots = Bipartite([0.9, 0.6, 0.5], [0.9, 0.7, 0.3, 0.2])
    job = Job(slots, mb.policy("pair-elim", growth=growth, cap_windows=cap), np.array([10**6]), 3, "jump", 10**6)
    for run in range(runs):
        policy, _ = job.play(run)
        assert 0 in policy.rows.active
        assert policy.recommend().tolist() == [[0, 0]]


@pytest.mark.slow
def test_smaller_growth_has_less_than_two_thirds_of_the_regret():
    spiked = mb.family("spiked", n=8, u1=0.9, gap=0.75)
    regret = {
        growth: mb.simulate(
            spiked, mb.policy("pair-elim", growth=growth), horizon=200_000, runs=30, seed=1, checkpoints=[200_000]
        ).final.mean()
        for growth in (1.05, 4.0)
    }
    assert regret[1.05] < 2 / 3 * regret[4.0]


def test_explain_names_who_is_out_and_why():
    policy = mb.policy("pair-elim", growth=1.0).build(mb.bipartite(2, 1), horizon=8, seed=0)
    play(policy, 27, lambda i, j: float(i == 0))
    said = policy.explain()
    rows = [item for item in said["items"] if item["side"] == "row"]
    shown = ("item", "active", "samples", "estimate", "dominator")
    assert [[row[key] for key in shown] for row in rows] == [[0, True, 9, 1.0, 0], [1, False, 9, 0.0, 0]]
    radius = sqrt(log(8) / 9)
    assert rows[0]["interval"] == [1 - radius, 1 + radius]
    assert rows[1]["interval"] is None  # beaten against column 0, before anyone looked at the pooled average
    assert said["eliminations"] == [
        {
            "round": 27, "side": "row", "item": 1, "by": 0, "on": 0, "window": None,
            "estimate": 0.0, "interval": [-radius, radius], "by_estimate": 1.0, "by_interval": [1 - radius, 1 + radius],
        }
    ]  # fmt: skip
    assert said["details"]["window"]["number"] == policy.window.number
    assert said["recommendation"] == [[0, 0]]


def test_the_recommendation_uses_samples_of_the_unfinished_plan():
    policy = mb.policy("pair-elim").build(mb.bipartite(2, 2), horizon=10**6, seed=0)
    play(policy, 40, lambda i, j: float(i == 1 and j == 1))
    assert policy.recommend().tolist() == [[1, 1]]

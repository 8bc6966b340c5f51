from math import ceil, log

import numpy as np
from reference.outcomes import out_at

import matchbandit as mb


def play(policy, rounds, reward):
    for _ in range(rounds):
        pairs = policy.ask()
        policy.tell(pairs, [reward(*pairs[0].tolist())])


def test_by_hand_a_row_leaves_at_the_end_of_stage_0():
    # T = 8: n_0 = ceil(4 log 8) = 9 sweeps of 3 rounds; radius sqrt(log 8 / 9) = 0.4807.
    policy = mb.policy("rank1-elim").build(mb.bipartite(2, 1), horizon=8)
    play(policy, 26, lambda i, j: float(i == 0))
    assert policy.rows.active.tolist() == [0, 1]
    play(policy, 1, lambda i, j: float(i == 0))
    assert out_at(policy, "row") == [-1, 27]
    assert policy.stage == 1


def test_by_hand_stages_end_at_four_times_as_many_samples():
    policy = mb.policy("rank1-elim").build(mb.bipartite(2, 2), horizon=10, seed=1)
    for stage in range(3):
        end = ceil(4 ** (stage + 1) * log(10)) * 4
        play(policy, end - 1 - policy.rounds, lambda i, j: 1.0)
        assert policy.stage == stage
        play(policy, 1, lambda i, j: 1.0)
        assert policy.stage == stage + 1


def test_both_sides_are_eliminated_for_good():
    policy = mb.policy("rank1-elim").build(mb.bipartite(2, 3), horizon=100, seed=1)
    play(policy, 2000, lambda i, j: float(i == 1 and j == 2))
    assert policy.rows.active.tolist() == [1]
    assert policy.columns.active.tolist() == [2]
    assert policy.rows.dominators.tolist() == [1, 1]
    assert policy.columns.dominators.tolist() == [2, 2, 2]
    play(policy, 100, lambda i, j: 0.0)
    assert policy.recommend().tolist() == [[1, 2]]


def test_regret_is_linear_when_nothing_can_be_told_apart():
    slots = mb.Bipartite([0.5, 0.5], [0.5, 0.5])
    runs = mb.simulate(slots, "rank1-elim", horizon=10**9, runs=5, seed=1)
    assert np.allclose(runs.final, 0.0)
    assert (runs.plays > 10**8).all()


def test_in_expectation_a_sweep_plays_opponents_uniformly():
    # Before the first stage ends nothing is eliminated, so every pair is played equally often on average:
    # in n sweeps each pair is met n/M times in the row half and n/N times in the column half.
    slots = mb.Bipartite([0.9, 0.5, 0.4], [0.9, 0.2])
    sweeps = ceil(4 * log(10**6))
    runs = mb.simulate(slots, "rank1-elim", horizon=10**6, runs=1, seed=1, checkpoints=[sweeps * 5])
    assert len(runs.rounds) == 2
    spec = mb.policy("rank1-elim")
    plays = np.zeros((400, 3, 2))
    for run in range(400):
        policy = spec.build(mb.bipartite(3, 2), horizon=10**6, seed=5, run=run)
        plan = policy.current
        made, counts = plan.leap(policy.pending, 10**9, policy.rng)
        assert made == sweeps
        plays[run] = counts.reshape(2, 3, 2).sum(axis=0)
    expected = sweeps / 2 + sweeps / 3
    error = np.sqrt(sweeps * (1 / 4 + 2 / 9) / 400)
    assert (np.abs(plays.mean(axis=0) - expected) < 4 * error).all()

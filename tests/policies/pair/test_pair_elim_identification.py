from math import log, pi, sqrt

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError


def build(n_rows, n_columns, delta=0.5, **options):
    return mb.policy("pair-elim", delta=delta, **options).build(mb.bipartite(n_rows, n_columns), seed=0)


def play(policy, rounds, reward):
    """Ask and tell; the reward is a function of the pair. Gives the pairs played."""
    played = []
    for _ in range(rounds):
        pairs = policy.ask()
        played.append(tuple(pairs[0].tolist()))
        policy.tell(pairs, [reward(*played[-1])])
    return played


def test_one_row_and_one_column_are_done_at_once():
    policy = build(1, 1)
    assert policy.done
    assert policy.recommend().tolist() == [[0, 0]]
    assert play(policy, 3, lambda i, j: 1.0) == [(0, 0)] * 3


def test_by_hand_one_row_only_plays_the_column_half():
    # K = 2·3 = 6, δ = 0.5: c = π sqrt(6 / 1.5) = 2π, k_1 = ceil(16 log 2π) = ceil(29.41) = 30; the radius
    # sqrt(1.8379 / 30) = 0.2475 separates 1 from 0. A sweep has a round for each of the two columns.
    policy = build(1, 2)
    assert not policy.done
    assert play(policy, 59, lambda i, j: float(j == 1)) == [(0, 0), (0, 1)] * 29 + [(0, 0)]
    assert not policy.done
    play(policy, 1, lambda i, j: float(j == 1))
    assert policy.done
    assert policy.recommend().tolist() == [[0, 1]]
    assert play(policy, 4, lambda i, j: 0.0) == [(0, 1)] * 4


def test_by_hand_one_column_is_certain_once_the_row_is():
    # K = 3·2 = 6 again, and 30 sweeps of two rows and one column.
    policy = build(2, 1)
    assert play(policy, 2, lambda i, j: float(i == 1)) == [(0, 0), (1, 0)]
    play(policy, 90 - 2 - 1, lambda i, j: float(i == 1))
    assert not policy.done
    play(policy, 1, lambda i, j: float(i == 1))
    assert policy.done
    assert policy.recommend().tolist() == [[1, 0]]
    assert play(policy, 4, lambda i, j: 0.0) == [(1, 0)] * 4


def test_by_hand_the_column_phase_starts_from_an_empty_ledger_with_all_columns():
    # K = 9, δ = 0.5: c = π sqrt(6) = 7.695, k_1 = ceil(16 log c) = ceil(32.65) = 33, radius 0.2487. The pooled average
    # of the rows separates at sweep 33 of four rounds. Then the columns, of which nothing is kept, take 33 sweeps of
    # two rounds, all against the best row.
    policy = build(2, 2)
    play(policy, 33 * 4 - 1, lambda i, j: float(i == 0))
    assert not policy.certifying
    play(policy, 1, lambda i, j: float(i == 0))
    assert policy.certifying
    assert policy.columns.active.tolist() == [0, 1]
    assert not policy.columns.counts.any()
    assert not policy.columns.sums.any()
    assert policy.column_checks == policy.row_checks
    assert play(policy, 65, lambda i, j: float(j == 1)) == ([(0, 0), (0, 1)] * 33)[:-1]
    assert not policy.done
    play(policy, 1, lambda i, j: float(j == 1))
    assert policy.done
    assert policy.columns.counts.tolist() == [[33, 0], [33, 0]]
    assert policy.recommend().tolist() == [[0, 1]]


def test_a_column_that_is_out_for_a_window_is_back_for_the_column_phase():
    # Column 0 pays nothing until the best row is known, and everything from then on.
    policy = build(2, 2, growth=1.05, delta=1e-9)
    policy.window.number = 4  # it looks from 47 samples on, the rows later
    policy.window.samples = 0
    left = False
    while not policy.certifying:
        play(policy, 1, lambda i, j: float(j == 1) * (1.0 if i == 0 else 0.5))
        left = left or policy.columns.active.tolist() == [1]
    assert left
    assert policy.columns.active.tolist() == [0, 1]
    while not policy.done:
        play(policy, 1, lambda i, j: float(j == 0))
    assert policy.recommend().tolist() == [[0, 0]]


def test_the_number_of_averages_is_n_plus_1_times_m_plus_1():
    policy = build(3, 5, delta=0.1)
    assert np.isclose(policy.row_checks.log_beta, log(pi * sqrt(4 * 6 / 0.3)))
    assert policy.row_checks.by_level


def test_windows_keep_their_own_beta_until_the_best_row_is_known():
    policy = build(3, 5, delta=0.1)
    assert not policy.column_checks.by_level
    assert np.isclose(policy.column_checks.log_beta, log(2))
    capped = build(3, 5, delta=0.1, cap_windows=True)
    capped.window.number = 5
    assert np.isclose(capped.column_checks.log_beta, log(10))  # T becomes 1/δ


def test_without_delta_it_is_for_regret_and_never_done():
    policy = mb.policy("pair-elim").build(mb.bipartite(1, 1), horizon=10)
    assert policy.goal == "regret"
    assert not policy.done
    assert build(2, 2).goal == "identification"


def test_no_horizon_is_needed_with_delta_and_one_is_without():
    build(2, 2)
    with pytest.raises(MatchbanditError, match="horizon"):
        mb.policy("pair-elim").build(mb.bipartite(2, 2))


def test_explain_has_no_window_once_the_column_is_certified():
    policy = build(2, 2)
    play(policy, 5, lambda i, j: float(i == 0))
    assert policy.explain()["details"]["window"]["number"] == 1
    play(policy, 33 * 4 - 5, lambda i, j: float(i == 0))
    said = policy.explain()
    assert said["details"]["window"] is None
    assert said["eliminations"][0]["item"] == 1
    assert said["next_check"] == {"after_sweeps_at_most": 33, "rounds_a_sweep": 2}


def test_a_state_of_the_column_phase_is_restored():
    policy = build(2, 2)
    play(policy, 33 * 4 + 7, lambda i, j: float(i == 0))
    twin = mb.restore(policy.state())
    assert twin.certifying
    assert play(twin, 80, lambda i, j: float(j == 1)) == play(policy, 80, lambda i, j: float(j == 1))
    assert twin.done
    assert policy.done


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, float("nan"), float("inf"), "0.1", True])
def test_a_delta_outside_0_and_1_is_refused(delta):
    with pytest.raises(MatchbanditError, match="delta must"):
        build(2, 2, delta=delta)


def test_every_chance_is_refused_with_delta():
    with pytest.raises(MatchbanditError, match=r"growth 1 .* is for regret only; with delta take 4"):
        build(2, 2, growth=1.0)

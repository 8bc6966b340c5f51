from itertools import product
from math import log, sqrt

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.simulation.engines import jump
from matchbandit.simulation.score import Score

FIRST_TWO = {(0, 1): 1.0}
"""Players 0 and 1 together always pay, nobody else ever."""
ALL_OF_THREE = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]


def play(policy, rounds, rewards):
    """Ask and tell; pairs that are not named pay nothing. Gives the pairs played."""
    played = []
    for _ in range(rounds):
        pairs = policy.ask()
        played.append(tuple(pairs[0].tolist()))
        policy.tell(pairs, [rewards.get(played[-1], 0.0)])
    return played


class Constant:
    """Every play of a pair pays the same."""

    def __init__(self, rewards):
        self.rewards = np.asarray(rewards, dtype=float)

    def sums(self, edges, counts):
        return self.rewards[edges] * counts


def leap(policy, rounds, rewards):
    """So many rounds at once, or until the policy is done. Gives the plays of each pair."""
    score = Score(mb.Monopartite(np.full(policy.n, 0.5)), "pair", np.array([rounds]))
    jump(policy, Constant(rewards), score)
    return score.plays


def build(n, horizon=None, **options):
    return mb.policy("pair-elim-mono", **options).build(mb.monopartite(n), horizon=horizon, seed=0)


def active(policy):
    return [tuple(pair) for pair in np.argwhere(policy.active).tolist()]


def relation(n, *pairs):
    above = np.zeros((n, n), dtype=bool)
    for better, worse in pairs:
        above[better, worse] = True
    return above


def test_by_hand_a_sweep_plays_every_ordered_pair_twice_in_lexicographic_order():
    policy = build(3, 1000)
    assert (
        play(policy, 12, {}) == [(0, 1)] * 2 + [(0, 2)] * 2 + [(0, 1)] * 2 + [(1, 2)] * 2 + [(0, 2)] * 2 + [(1, 2)] * 2
    )


def test_by_hand_a_player_leaves_at_the_ninth_sweep():
    # T = 8, every chance: from count 9 ≥ 4 log 8 = 8.3 on. Of three players each two have one third to meet, once a
    # sweep. Against 1, player 0 always gets 1 and player 2 always 0; with radius sqrt(log 8 / 9) = 0.4807 they are
    # apart. The same against 0. Columns: windows 0 to 2 end after 1, 2 and 4 sweeps (12 > 2, 12 > 4, 24 > 16), before
    # their 4 log β = 2.8, 5.5, 11.1 samples; window 3 needs 22.2.
    policy = build(3, 8, growth=1.0)
    play(policy, 9 * 12 - 1, FIRST_TWO)
    assert not policy.above.any()
    play(policy, 1, FIRST_TWO)
    assert policy.above.tolist() == relation(3, (0, 2), (1, 2)).tolist()
    radius = sqrt(log(8) / 9)
    assert np.allclose(policy.row_single.lower[[0, 1, 2], [1, 0, 0]], [1 - radius, 1 - radius, -radius])
    assert active(policy) == [(0, 1), (1, 0)]
    assert play(policy, 8, FIRST_TWO) == [(0, 1)] * 8


def test_by_hand_with_growth_4_nobody_looks_before_the_48th_sweep():
    # T = 20: k_1 = ceil(16 log 20) = 48. Window 4, from sweep 26 on, looks at 16 log 65536 = 178 samples only.
    policy = build(3, 20)
    play(policy, 48 * 12 - 1, FIRST_TWO)
    assert not policy.above.any()
    play(policy, 1, FIRST_TWO)
    assert policy.above.tolist() == relation(3, (0, 2), (1, 2)).tolist()


def test_by_hand_a_column_leaves_for_a_window_and_comes_back_with_the_next():
    # T = 10^9, every chance: rows are looked at from 83 ≥ 4 log T on. Windows 0 to 3 end after 1, 2, 4 and 26 sweeps
    # of 12 samples; window 4 (β = 65536) looks from 45 ≥ 44.4 on, that is after sweep 26 + 45 = 71. Column 2 is then
    # beaten by both others and loses its entries (0, 2) and (1, 2); its row stays.
    policy = build(3, 10**9, growth=1.0)
    play(policy, 71 * 12 - 1, FIRST_TWO)
    assert active(policy) == ALL_OF_THREE
    play(policy, 1, FIRST_TWO)
    assert policy.window_above.tolist() == relation(3, (0, 2), (1, 2)).tolist()
    assert not policy.above.any()
    assert active(policy) == [(0, 1), (1, 0), (2, 0), (2, 1)]
    # From here on nothing pays, and so rows never come apart: at n sweeps 71 / n is below 2 sqrt(log T / n).
    # The window has 45 · 12 = 540 samples. Let it be nearly over: with 8 a sweep it ends with the second.
    assert policy.window.samples == 540
    policy.window.samples = 65536 - 12
    play(policy, 15, {})
    assert policy.window.number == 4
    assert policy.window_above.any()
    play(policy, 1, {})
    assert policy.window.number == 5
    assert not policy.window_above.any()
    assert not policy.column_single.counts.any()
    assert not policy.column_pooled.counts.any()
    assert policy.row_single.counts.tolist() == [[0, 73, 71], [73, 0, 71], [73, 73, 0]]
    assert active(policy) == ALL_OF_THREE


def test_a_window_that_ends_keeps_what_is_known_for_good():
    policy = build(3, 8, growth=1.0)
    play(policy, 9 * 12, FIRST_TWO)
    window, counts = policy.window.number, policy.row_single.counts.copy()
    while policy.window.number == window:
        play(policy, 1, FIRST_TWO)
    assert policy.above.tolist() == relation(3, (0, 2), (1, 2)).tolist()
    assert (policy.row_single.counts >= counts).all()
    assert active(policy) == [(0, 1), (1, 0)]


def test_beaten_for_good_by_one_keeps_only_the_pair_with_that_one():
    policy = build(4, 100)
    policy.above = relation(4, (1, 2))
    assert [pair for pair in active(policy) if 2 in pair] == [(1, 2), (2, 1)]
    assert len(active(policy)) == 6 + 2


def test_beaten_for_good_by_two_leaves_the_graph():
    policy = build(4, 100)
    policy.above = relation(4, (1, 2), (3, 2))
    assert active(policy) == [(0, 1), (0, 3), (1, 0), (1, 3), (3, 0), (3, 1)]


def test_two_beaten_by_the_same_one_do_not_meet_each_other():
    policy = build(4, 100)
    policy.above = relation(4, (0, 2), (0, 3))
    assert [pair for pair in active(policy) if pair[0] < pair[1]] == [(0, 1), (0, 2), (0, 3)]


def test_a_column_beaten_in_the_window_by_one_keeps_only_that_row_and_its_own_row_stays():
    policy = build(4, 100)
    policy.window_above = relation(4, (1, 2))
    assert [pair for pair in active(policy) if pair[1] == 2] == [(1, 2)]
    assert [pair for pair in active(policy) if pair[0] == 2] == [(2, 0), (2, 1), (2, 3)]
    assert len(active(policy)) == 12 - 2


def test_a_column_beaten_in_the_window_by_two_loses_all_its_entries_and_its_own_row_stays():
    policy = build(4, 100)
    policy.window_above = relation(4, (1, 2), (3, 2))
    assert [pair for pair in active(policy) if pair[1] == 2] == []
    assert [pair for pair in active(policy) if pair[0] == 2] == [(2, 0), (2, 1), (2, 3)]


def test_the_window_and_the_permanent_relation_are_not_added_up():
    # Beaten once for good by 0 and once in the window by 1: neither makes two, but as a column 2 has no row in common.
    policy = build(3, 100)
    policy.above, policy.window_above = relation(3, (0, 2)), relation(3, (1, 2))
    assert active(policy) == [(0, 1), (1, 0), (2, 0)]


def test_who_is_beaten_by_a_beaten_player_is_beaten_by_its_beaters_too():
    # 1 is above 2, so that 2 meets nobody but 1, and is never compared with 0 or 3 on anything that differs. Then 0 and
    # 3 turn out above 1: 0 and 3 get 1 from each other and 1 gets nothing from either.
    policy = build(4, 8, growth=1.0)
    policy.above = relation(4, (1, 2))
    assert len(active(policy)) == 8
    play(policy, 9 * 16, {(0, 3): 1.0})
    assert policy.above.tolist() == relation(4, (1, 2), (0, 1), (3, 1), (0, 2), (3, 2)).tolist()
    assert active(policy) == [(0, 3), (3, 0)]


def test_by_hand_the_pooled_average_counts_sweeps_in_which_both_met_the_third():
    # Four players, nothing removed: two thirds for each two. 5 sweeps bring 10 ≥ 4 log 8 = 8.3 samples in common, while
    # a single average has 5. On them player 0 has 1 from both thirds and 3 has 0: the radius sqrt(log 8 / 10) = 0.456
    # separates. It separates 0 from 1 and 2 as well: these have 1 only from 0, who is no third between them and 0.
    star = {(0, 1): 1.0, (0, 2): 1.0, (0, 3): 1.0}
    policy = build(4, 8, growth=1.0)
    play(policy, 5 * 24 - 1, star)
    assert not policy.above.any()
    play(policy, 1, star)
    assert policy.above.tolist() == relation(4, (0, 1), (0, 2), (0, 3)).tolist()
    # Now 1, 2 and 3 meet only 0. Each two of them have one common third a sweep, 0 has none with anybody.
    play(policy, 12, star)
    assert policy.row_pooled.counts.tolist() == [
        [0, 10, 10, 10],
        [10, 0, 11, 11],
        [10, 11, 0, 11],
        [10, 11, 11, 0],
    ]


def test_by_hand_with_delta_the_two_best_of_three_are_known_after_35_sweeps():
    # δ = 0.5, K = 2·3·2 = 12: c = π sqrt(12 / 1.5) = 8.886, k_1 = ceil(16 log c) = ceil(34.95) = 35, and the radius
    # sqrt(2.1845 / 35) = 0.2498 separates 1 from 0. Until then no window looks: 16 log β = 12, 23, 45, 89, 178 samples.
    policy = build(3, delta=0.5)
    play(policy, 35 * 12 - 1, FIRST_TWO)
    assert not policy.done
    play(policy, 1, FIRST_TWO)
    assert policy.done
    assert np.isclose(policy.row_single.upper[2, 0], sqrt(log(np.pi * sqrt(8)) / 35))
    assert policy.recommend().tolist() == [[0, 1]]


@pytest.mark.parametrize("best", [(0, 1), (0, 3), (2, 3), (1, 4)])
def test_after_done_the_answer_is_what_is_played(best):
    policy = build(5, delta=0.3)
    rewards = {best: 1.0}
    while not policy.done:
        play(policy, 1, rewards)
    assert policy.recommend().tolist() == [list(best)]
    assert play(policy, 50, {}) == [best] * 50
    assert policy.recommend().tolist() == [list(best)]


def test_two_players_are_done_at_once_with_delta_and_never_without():
    assert build(2, delta=0.1).done
    assert play(build(2, delta=0.1), 3, {}) == [(0, 1)] * 3
    policy = build(2, 100)
    assert play(policy, 100, {}) == [(0, 1)] * 100
    assert not policy.done


def test_the_order_of_the_two_best_need_not_be_known():
    policy = build(4, delta=0.2)
    leap(policy, 10**6, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert policy.done
    assert not policy.above[:2, :2].any()


@pytest.mark.parametrize("options", [{"delta": 0.2}, {"delta": 0.2, "growth": 1.3}, {}, {"growth": 2.0}])
@pytest.mark.sampled(1)
def test_contradictory_intervals_do_not_crash(options):
    # All tables of four players with rewards 0 and 1: most have no ranking behind them.
    horizon = None if "delta" in options else 20
    contradictory = 0
    for rewards in product([0.0, 1.0], repeat=6):
        policy = build(4, horizon, **options)
        plays = leap(policy, 2500, rewards)
        assert policy.done or plays.sum() == 2500
        assert not np.diag(policy.above).any()
        contradictory += (policy.above & policy.above.T).any()
        assert len(policy.explain()["recommendation"]) == 1
    assert contradictory > 0


def test_when_all_beat_each_other_the_two_first_are_played():
    policy = build(4, 100)
    policy.above = ~np.eye(4, dtype=bool)
    assert active(policy) == [(0, 1), (1, 0)]
    assert play(policy, 8, {}) == [(0, 1)] * 8


def test_when_nothing_is_left_to_play_the_next_window_starts():
    # Three columns that beat each other in a circle keep one row each. Closed, which is done at the ninth sweep (of 6
    # rounds: 9 ≥ 4 log 8), each is beaten by two, and none is left.
    policy = build(3, 8, growth=1.0)
    policy.window.number = 5
    policy.window_above = relation(3, (0, 1), (1, 2), (2, 0))
    assert active(policy) == [(0, 1), (1, 2), (2, 0)]
    play(policy, 54 - 1, {})
    assert policy.window.number == 5
    play(policy, 1, {})
    assert (policy.window.number, policy.window.samples) == (6, 0)
    assert active(policy) == ALL_OF_THREE


def test_capped_windows_look_at_columns_sooner():
    # Window 4 has 4 log β = 44.4, capped at T = 50 it is 15.6; rows, if they were looked at, would be out by then.
    def sweeps(cap):
        policy = build(3, 50, growth=1.0, cap_windows=cap)
        policy.window.number = 4
        policy.row_checks = mb.policy("pair-elim-mono").build(mb.monopartite(3), horizon=10**15).row_checks
        while not policy.window_above.any():
            play(policy, 12, FIRST_TWO)
        return policy.rounds // 12

    assert (sweeps(False), sweeps(True)) == (45, 16)


def test_the_recommendation_uses_samples_of_the_unfinished_plan():
    policy = build(4, 10**6)
    policy.window.number = 5
    play(policy, 24, {(1, 3): 1.0})
    assert policy.pending.sweeps == 1
    assert policy.recommend().tolist() == [[1, 3]]


def test_explain_names_who_beats_whom_what_is_played_and_when_it_looks_again():
    policy = build(3, 10**9, growth=1.0)
    play(policy, 71 * 12, FIRST_TWO)  # column 2 is out for the window, see above
    said = policy.explain()
    assert said["policy"] == "pair-elim-mono"
    assert said["rounds"] == 852
    assert said["recommendation"] == [[0, 1]]
    assert (said["items"][2]["beaten_by"], said["items"][2]["beaten_in_this_window_by"]) == ([], [0, 1])
    assert said["items"][0] == {
        "item": 0, "side": "player", "active": True, "samples": 142, "estimate": 0.5, "interval": None,
        "beaten_by": [], "beaten_in_this_window_by": [],
    }  # fmt: skip
    assert said["details"]["active_pairs"] == [[0, 1], [1, 0], [2, 0], [2, 1]]
    assert said["details"]["window"] == {"number": 4, "samples": 540, "ends_above": 65536}
    assert said["next_check"] == {"after_sweeps_at_most": 1, "rounds_a_sweep": 8}
    policy = build(3, 8, growth=1.0)
    play(policy, 9 * 12 + 4, FIRST_TWO)
    assert policy.explain()["items"][2]["beaten_by"] == [0, 1]
    assert [item["active"] for item in policy.explain()["items"]] == [True, True, False]
    assert policy.explain()["details"]["window"]["samples"] == 5 * 12 + 4


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, float("nan"), "0.1", True])
def test_a_delta_outside_0_and_1_is_refused(delta):
    with pytest.raises(MatchbanditError, match="delta must"):
        build(4, delta=delta)


def test_every_chance_is_refused_with_delta():
    with pytest.raises(MatchbanditError, match=r"growth 1 .* is for regret only; with delta take 4"):
        build(4, delta=0.1, growth=1.0)


def test_capped_windows_are_yes_or_no():
    with pytest.raises(MatchbanditError, match="cap_windows must be true or false; got 'yes'"):
        build(4, 100, cap_windows="yes")


def test_rows_and_columns_are_not_players():
    with pytest.raises(MatchbanditError):
        mb.policy("pair-elim-mono").build(mb.bipartite(2, 2), horizon=10)

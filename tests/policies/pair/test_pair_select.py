from itertools import product
from math import log, pi, sqrt

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.policies.ranking import closed, unranked
from matchbandit.simulation.engines import jump
from matchbandit.simulation.score import Score

THREE_PAIRS = [1.0, 1.0, 0.5, 0.5, 0.0, 0.0]
BY_HAND = 14 * 60 + 40 * 24  # rounds of the first part with THREE_PAIRS and δ = 0.5, see the first test


def build(n, delta=0.5, **options):
    return mb.policy("pair-select", delta=delta, **options).build(mb.monopartite(n), seed=0)


def play(policy, rounds, u):
    """Ask and tell; every pair pays its mean. Gives the pairs played."""
    played = []
    for _ in range(rounds):
        pairs = policy.ask()
        i, j = pairs[0].tolist()
        played.append((i, j))
        policy.tell(pairs, [u[i] * u[j]])
    return played


class Fickle:
    """Each pair pays the same for a while, and then all pay something else: nothing that intervals could hold for."""

    def __init__(self, n, seed, change):
        self.rng = np.random.default_rng(seed)
        self.n_pairs, self.change = n * (n - 1) // 2, change
        self.rewards = self._drawn()

    def _drawn(self):
        return self.rng.choice([0.0, 0.5, 1.0], self.n_pairs)

    def sums(self, edges, counts):
        if self.rng.random() < self.change:
            self.rewards = self._drawn()
        return self.rewards[edges] * counts


class Constant:
    def __init__(self, rewards):
        self.rewards = np.asarray(rewards, dtype=float)

    def sums(self, edges, counts):
        return self.rewards[edges] * counts


def leap(policy, rounds, source):
    score = Score(mb.Monopartite(np.full(policy.n, 0.5)), "pair", np.array([rounds]))
    jump(policy, source, score)
    return score.plays


def test_by_hand_the_first_part_finds_the_two_best_with_half_of_delta():
    # δ/2 = 0.25, K = 2·6·5 = 60: c = π sqrt(60 / 0.75), log c = 3.336, k_1 = ceil(53.4) = 54, radius 0.2485.
    # A sweep has 30 ordered pairs, twice: 60 rounds. Each two share four thirds: at sweep 14 the pooled counts are 56.
    # 0 and 4 then have (1 + ½ + ½ + 0)/4 = ½ against 0, apart; 0 and 2 have 3/8 against 3/16, not; 2 and 4 have 5/16
    # against 0, not. So 4 and 5 are beaten by 0 and 1, and leave; 12 ordered pairs are left, 24 rounds a sweep.
    # At sweep 54 the single averages of 0 to 3 have 54 samples: against 0, player 1 has 1 and 2 has ½, apart: 0.4970.
    # Windows 0 to 3 end after sweeps 1, 2, 3 and 8; their checks are at 12, 23, 45, 89, 178 samples, never reached.
    policy = build(6)
    play(policy, 14 * 60 - 1, THREE_PAIRS)
    assert not policy.above.any()
    play(policy, 1, THREE_PAIRS)
    assert np.argwhere(policy.above).tolist() == [[0, 4], [0, 5], [1, 4], [1, 5]]
    play(policy, 40 * 24 - 1, THREE_PAIRS)
    assert policy.explain()["details"]["phase"] == "the two best"
    play(policy, 1, THREE_PAIRS)
    assert policy.rounds == BY_HAND
    assert policy.explain()["details"]["phase"] == "ranking against the two best"
    assert policy.explain()["details"]["best"] == [0, 1]
    assert policy.above[:2, 2:].all()
    assert not policy.above[:, :2].any()
    assert not policy.above[2:].any()


def test_by_hand_the_second_part_ranks_the_others_against_the_two_best():
    # δ/2 = 0.25, K = 6: c = π sqrt(6 / 0.75) = 8.886, k_1 = ceil(16 log c) = 35. Two samples a sweep: 36 after 18
    # sweeps, with the radius sqrt(log c / 35) = 0.24983 scheduled for 35; ½ and 0 are apart. A sweep has 8 rounds.
    policy = build(6)
    play(policy, BY_HAND, THREE_PAIRS)
    sweep = [(0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4), (0, 5), (1, 5)]
    assert play(policy, 18 * 8 - 1, THREE_PAIRS) == (18 * sweep)[:-1]
    assert policy.unranked.tolist() == [False, False, True, True, True, True]
    assert not policy.done
    play(policy, 1, THREE_PAIRS)
    assert policy.done
    assert policy.against_best.counts.tolist() == [0, 0, 36, 36, 36, 36]
    assert np.allclose(policy.against_best.upper[2:], [0.5 + 0.24983] * 2 + [0.24983] * 2, atol=1e-5)
    assert np.isclose(policy.against_best.upper[4], sqrt(log(pi * sqrt(8)) / 35))
    assert policy.recommend().tolist() == [[0, 1], [2, 3], [4, 5]]
    pairs = play(policy, 30, THREE_PAIRS)  # the answer, in turn
    assert pairs[0] != pairs[1]
    assert sorted(pairs) == [(0, 1)] * 10 + [(2, 3)] * 10 + [(4, 5)] * 10


def test_what_the_first_part_has_learnt_of_the_order_is_kept():
    policy = build(6)
    play(policy, BY_HAND, THREE_PAIRS)
    known = policy.above.copy()
    play(policy, 18 * 8, THREE_PAIRS)
    assert (policy.above | ~known).all()
    assert np.argwhere(policy.above & ~known).tolist() == [[2, 4], [2, 5], [3, 4], [3, 5]]


def test_only_the_unranked_are_played_in_the_second_part():
    # Eight players of which 6 and 7 are the worst by far: they are ranked at the first look, the four between go on.
    u = [1.0, 1.0, 0.75, 0.75, 0.625, 0.625, 0.0, 0.0]
    policy = build(8)
    seen = set()
    while not policy.done:
        leap(policy, policy.current.length, _Means(u))
        if policy.first.finished and policy.unranked.any():
            seen.add(tuple(np.flatnonzero(policy.unranked).tolist()))
            played = {int(edge) for edge in policy.current.edges[policy.current.rounds.ravel()]}
            pairs = {tuple(policy.graph.pairs[edge].tolist()) for edge in played}
            assert pairs == {(best, i) for best in (0, 1) for i in np.flatnonzero(policy.unranked).tolist()}
    assert seen == {(2, 3, 4, 5, 6, 7), (2, 3, 4, 5)}
    assert policy.recommend().tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


class _Means:
    def __init__(self, u):
        self.means = mb.Monopartite(u).means

    def sums(self, edges, counts):
        return self.means[edges] * counts


def test_four_players_need_no_second_part():
    # Once the two best are known the other two are partners, whatever their order.
    policy = build(4, delta=0.1)
    leap(policy, 10**6, _Means([0.2, 1.0, 0.1, 0.9]))
    assert policy.done
    assert not policy.against_best.counts.any()
    assert policy.recommend().tolist() == [[1, 3], [0, 2]]
    assert sorted(play(policy, 6, [0.0] * 4)) == [(0, 2)] * 3 + [(1, 3)] * 3


def test_two_players_are_done_at_once():
    policy = build(2)
    assert policy.done
    assert policy.recommend().tolist() == [[0, 1]]
    assert play(policy, 3, [0.0] * 2) == [(0, 1)] * 3


def test_who_is_ranked_once_stays_ranked():
    policy = build(6, growth=1.1)
    source = mb.Monopartite([1.0, 0.9, 0.6, 0.5, 0.2, 0.1])
    rng = np.random.default_rng(0)
    ranked = ~policy.unranked
    while not policy.done:
        pairs = policy.ask()
        policy.tell(pairs, rng.random(1) < source.means[policy.graph.edges(pairs)])
        assert (~policy.unranked | ~ranked).all()
        ranked = ~policy.unranked
    assert ranked.all()


def test_both_parts_have_half_of_delta_and_their_own_number_of_averages():
    policy = build(6, delta=0.1, growth=2.0)
    assert np.isclose(policy.first.row_checks.log_beta, log(pi * sqrt(60 / (3 * 0.05))))
    assert np.isclose(policy.rank_checks.log_beta, log(pi * sqrt(6 / (3 * 0.05))))
    assert policy.first.row_checks.growth == policy.rank_checks.growth == 2.0
    assert policy.first.row_checks.by_level
    assert policy.rank_checks.by_level


def test_capped_windows_are_capped_at_the_first_parts_own_two_over_delta():
    # Window 5 has log β = 32 log 2 = 22.2; the first part runs with δ/2, so its cap is log(2/δ).
    policy = build(6, delta=0.1, cap_windows=True)
    policy.first.window.number = 5
    assert np.isclose(policy.first.column_checks.log_beta, log(2 / 0.1))
    policy.first.window.number = 1
    assert np.isclose(policy.first.column_checks.log_beta, 2 * log(2))


def test_the_guess_before_the_end_is_a_perfect_matching_with_the_best_averages():
    policy = build(6)
    play(policy, 60, THREE_PAIRS)
    assert policy.recommend().tolist() == [[0, 1], [2, 3], [4, 5]]
    play(policy, BY_HAND + 7, THREE_PAIRS)  # in the middle of the second part
    assert sorted(policy.recommend().ravel().tolist()) == [0, 1, 2, 3, 4, 5]
    assert policy.recommend()[0].tolist() == [0, 1]


def test_explain_says_who_is_unranked_and_when_it_looks_again():
    policy = build(6)
    play(policy, BY_HAND + 8, THREE_PAIRS)
    said = policy.explain()
    assert said["details"]["unranked"] == [2, 3, 4, 5]
    assert said["details"]["best"] == [0, 1]
    assert said["items"][4]["beaten_by"] == [0, 1]
    assert said["next_check"] == {"after_sweeps_at_most": 17, "rounds_a_sweep": 8}
    assert said["recommendation"] == policy.recommend().tolist()


@pytest.mark.parametrize("growth", [1.3, 4.0])
def test_contradictory_constant_rewards_do_not_crash(growth):
    contradictory = 0
    for rewards in product([0.0, 1.0], repeat=6):
        policy = build(4, growth=growth)
        plays = leap(policy, 3000, Constant(rewards))
        assert policy.done or plays.sum() == 3000
        contradictory += (policy.above & policy.above.T).any()
        assert sorted(policy.explain()["recommendation"][0] + policy.explain()["recommendation"][1]) == [0, 1, 2, 3]
    assert contradictory > 0


def test_contradictions_that_leave_a_best_player_unranked_still_leave_something_to_play():
    # 0, 1 and 2 beat each other in a circle and 3 is open with all: 3 is the only one with fewer than two beaters, is
    # one of the two best therefore, and alone unranked.
    policy = build(4)
    policy.above = closed(np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=bool))
    policy.first.above = policy.above
    policy.unranked &= unranked(policy.above)
    assert policy.finished or policy.plan().length > 0


@pytest.mark.parametrize("n", [4, 6])
@pytest.mark.slow
def test_rewards_that_change_do_not_crash_it(n):
    for seed in range(60):
        policy = build(n, growth=1.5)
        plays = leap(policy, 20_000, Fickle(n, seed, 0.3))
        assert policy.done or plays.sum() == 20_000


def test_nobody_is_above_itself_even_when_the_two_parts_contradict_each_other():
    # The first part has 2 above 3 and 4 above 5; the second sees 3 above 2 and 5 above 4.
    policy = build(6)
    policy.above = np.triu(np.ones((6, 6), dtype=bool), 1)
    policy.above[2, 4] = policy.above[2, 5] = policy.above[3, 4] = policy.above[3, 5] = False
    policy.first.above = policy.above
    policy.unranked = unranked(policy.above)
    assert policy.unranked.tolist() == [False, False, True, True, True, True]
    leap(policy, 10**5, _Means([1.0, 1.0, 0.0, 1.0, 0.0, 1.0]))
    assert not np.diag(policy.above).any()


def test_an_odd_number_of_players_is_refused():
    with pytest.raises(MatchbanditError):
        build(5)


@pytest.mark.parametrize("delta", [0, 1, 2.0, float("nan"), None])
def test_a_delta_outside_0_and_1_is_refused(delta):
    with pytest.raises(MatchbanditError, match="delta"):
        build(4, delta=delta)


def test_every_chance_is_refused():
    with pytest.raises(MatchbanditError, match="growth 1"):
        build(4, growth=1.0)

import json
from itertools import product
from math import log, pi, sqrt

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.errors import MatchbanditError
from matchbandit.plans import Tally
from matchbandit.policies.ranking import closed, unranked
from matchbandit.simulation.engines import jump
from matchbandit.simulation.score import Score

INSTANCES = {
    "of the notes": [0.95, 0.9, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35],
    "equal partners": [0.5, 0.9, 0.5, 0.2, 0.9, 0.2],
    "near-ties across pairs": [0.9, 0.62, 0.6, 0.32, 0.3, 0.1],
    "small": [0.3, 0.05, 0.25, 0.1],
    "three close astride a border": [0.9, 0.6, 0.55, 0.5, 0.2, 0.1],
    "two pairs of equals": [0.8, 0.8, 0.7, 0.7],
    "ten": [0.95, 0.9, 0.75, 0.7, 0.55, 0.5, 0.35, 0.3, 0.1, 0.05],
    "five close ones in the middle": [0.9, 0.58, 0.56, 0.52, 0.5, 0.48, 0.1, 0.05],
}


def build(n, delta=0.5, **options):
    return mb.policy("matching-id", delta=delta, **options).build(mb.monopartite(n), seed=0)


def play(policy, rounds, u):
    """Ask and tell; every pair pays its mean. Gives the rounds played."""
    means, played = mb.Monopartite(u).means, []
    for _ in range(rounds):
        pairs = policy.ask()
        played.append(sorted(map(tuple, pairs.tolist())))
        policy.tell(pairs, means[policy.graph.edges(pairs)])
    return played


def leap(policy, rounds, source):
    score = Score(mb.Monopartite(np.full(policy.n, 0.5)), "matching", np.array([rounds]))
    jump(policy, source, score)
    return score


class Means:
    def __init__(self, u):
        self.means = mb.Monopartite(u).means

    def sums(self, edges, counts):
        return self.means[edges] * counts


class Fickle:
    """Each pair pays the same for a while, and then all pay something else: nothing that intervals could hold for."""

    def __init__(self, n, seed):
        self.rng, self.n_pairs = np.random.default_rng(seed), n * (n - 1) // 2
        self.rewards = self._drawn()

    def _drawn(self):
        return self.rng.choice([0.0, 0.5, 1.0], self.n_pairs)

    def sums(self, edges, counts):
        if self.rng.random() < 0.3:
            self.rewards = self._drawn()
        return self.rewards[edges] * counts


def knowing(n, unordered):
    """A policy for which lower indices are better, and all is known but the order of these pairs."""
    policy = build(n)
    policy.above = np.triu(np.ones((n, n), dtype=bool), 1)
    for i, j in unordered:
        policy.above[i, j] = False
    assert (closed(policy.above) == policy.above).all()
    policy.unranked = unranked(policy.above)
    return policy


def places(mask):
    return np.flatnonzero(mask).tolist()


# By hand


def test_by_hand_four_players():
    # δ = 0.5, K = 4: c = π sqrt(4 / 1.5), log c = 1.6351, k_1 = ceil(26.2) = 27, radius sqrt(1.6351 / 27) = 0.246. Each
    # has three samples a sweep of three rounds: 27 after 9 sweeps. Averages are 1/3 and 0, not separated. k_2 =
    # ceil(64 log 2c) = ceil(149.01) = 150, radius sqrt(2.3283 / 150) = 0.1246: separated after 50 sweeps, 150 rounds.
    # 1 and 3 are then above 0 and 2; who of the two is better does not matter.
    u = [0.0, 1.0, 0.0, 1.0]
    policy = build(4)
    tournament = [[(0, 3), (1, 2)], [(0, 2), (1, 3)], [(0, 1), (2, 3)]]
    assert play(policy, 27, u) == tournament * 9
    assert policy.averages.counts.tolist() == [27] * 4
    assert np.allclose(policy.averages.upper, [0.24609, 1 / 3 + 0.24609] * 2, atol=1e-5)
    assert np.isclose(policy.averages.upper[0], sqrt(log(pi * sqrt(4 / 1.5)) / 27))
    assert not policy.above.any()
    assert play(policy, 122, u) == (tournament * 41)[:-1]
    assert not policy.done
    play(policy, 1, u)
    assert policy.done
    assert policy.rounds == 150
    assert np.argwhere(policy.above).tolist() == [[1, 0], [1, 2], [3, 0], [3, 2]]
    assert policy.recommend().tolist() == [[1, 3], [0, 2]]
    assert play(policy, 5, u) == [[(0, 2), (1, 3)]] * 5


def test_by_hand_six_players_are_ordered_in_two_steps():
    # δ = 0.5, K = 6: c = 2π, log c = 1.8379; k_1 = 30 (6 sweeps of 5), k_2 = ceil(161.99) = 162, radius 0.12499, at 33
    # sweeps, k_3 = ceil(256 log 3c) = 752, radius 0.0625, at 151 sweeps. 1, 1, 0.4, 0.4, 0, 0 have averages of 0.36,
    # 0.192 and 0: the first are above the last after 165 rounds, all is known after 755.
    u = [1.0, 1.0, 0.4, 0.4, 0.0, 0.0]
    policy = build(6)
    play(policy, 164, u)
    assert not policy.above.any()
    play(policy, 1, u)
    assert np.argwhere(policy.above).tolist() == [[0, 4], [0, 5], [1, 4], [1, 5]]
    assert policy.unranked.all()
    play(policy, 589, u)
    assert not policy.done
    play(policy, 1, u)
    assert policy.rounds == 755
    assert policy.done
    assert policy.recommend().tolist() == [[0, 1], [2, 3], [4, 5]]


def test_by_hand_the_best_play_for_the_unranked_and_the_rest_beside_them():
    # 3 and 4 are unordered with three above: S = {3, 4}, B = {0, 1}, A = both. 2 and 5, 6 and 7 play beside.
    policy = knowing(8, [(3, 4)])
    assert places(policy.unranked) == [3, 4]
    assert places(policy.candidates) == [0, 1]
    rounds = play(policy, 3, [0.5] * 8)
    assert rounds == [
        [(0, 4), (1, 3), (2, 5), (6, 7)],
        [(0, 3), (1, 4), (2, 5), (6, 7)],
        [(0, 1), (2, 5), (3, 4), (6, 7)],
    ]
    # Two samples a sweep, those against B; k_1 = ceil(16 log(π sqrt(8 / 1.5))) = 32: 16 sweeps.
    assert policy.current.limit == 16
    play(policy, 15 * 3, [0.5] * 8)
    assert policy.averages.counts.tolist() == [0, 0, 0, 32, 32, 0, 0, 0]
    assert np.allclose(policy.averages.sums, [0, 0, 0, 8, 8, 0, 0, 0])


def test_by_hand_samples_of_the_unranked_against_each_other_are_not_booked():
    # S = {4, 5, 6, 7}, B = {0, 1, 2, 3}: a sweep of all eight, four samples each.
    policy = knowing(8, [(4, 6), (5, 6), (4, 7), (5, 7), (4, 5), (6, 7)])
    assert places(policy.unranked) == [4, 5, 6, 7]
    assert places(policy.candidates) == [0, 1, 2, 3]
    assert policy.current.length == 7
    u = [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5]
    play(policy, 7 * policy.current.limit, u)
    assert policy.averages.counts.tolist() == [0] * 4 + [32] * 4
    assert policy.averages.sums.tolist() == [0.0] * 4 + [16.0] * 4


def test_by_hand_the_best_placed_player_outside_makes_the_number_even():
    # S = {1, 2}, B = {0, 1, 2}: 3 joins the tournament of A, and is not booked.
    policy = knowing(6, [(1, 2)])
    assert places(policy.unranked) == [1, 2]
    assert places(policy.candidates) == [0, 1, 2]
    rounds = play(policy, 3, [0.5] * 6)
    assert all((4, 5) in pairs for pairs in rounds)
    assert {pair for pairs in rounds for pair in pairs} == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 5)}
    play(policy, 3 * (policy.current.limit - 1), [0.5] * 6)
    counts = policy.averages.counts.tolist()
    assert counts == [0, counts[1], counts[1], 0, 0, 0]
    assert counts[1] == 30


def test_by_hand_unordered_players_join_the_candidates_one_after_the_other():
    # Each of 2 to 6 is unordered with its neighbours alone. 2 is ranked, with two above and 3 alone open; 3, 4, 5 and 6
    # are S, with 2, 3, 4 and 5 above them: 0 to 4 have fewer than four. 5 is unordered with 4, and 6 with 5.
    policy = knowing(8, [(2, 3), (3, 4), (4, 5), (5, 6)])
    assert places(policy.unranked) == [3, 4, 5, 6]
    assert policy.above.sum(axis=0).tolist() == [0, 1, 2, 2, 3, 4, 5, 7]
    assert places(policy.candidates) == [0, 1, 2, 3, 4, 5, 6]
    play(policy, policy.current.length * policy.current.limit, [0.5] * 8)
    assert len(set(policy.averages.counts[3:7].tolist())) == 1


def test_partners_need_no_order_if_an_even_number_is_above_them():
    assert not knowing(8, [(0, 1), (2, 3), (6, 7)]).unranked.any()
    assert places(knowing(8, [(0, 1), (1, 2)]).unranked) == [1, 2]
    assert knowing(4, [(0, 1), (2, 3)]).finished


def test_who_is_ranked_once_stays_ranked_and_no_order_is_withdrawn():
    problem = mb.Monopartite([1.0, 0.9, 0.6, 0.5, 0.2, 0.1])
    policy, rng = build(6, growth=1.1), np.random.default_rng(0)
    ranked, above = ~policy.unranked, policy.above
    while not policy.done:
        pairs = policy.ask()
        policy.tell(pairs, rng.random(3) < problem.means[policy.graph.edges(pairs)])
        assert (~policy.unranked | ~ranked).all()
        assert (policy.above | ~above).all()
        ranked, above = ~policy.unranked, policy.above
    assert policy.recommend().tolist() == [[0, 1], [2, 3], [4, 5]]


def test_intervals_that_touch_are_not_separated():
    for lower, ordered in ((0.5, False), (0.5001, True)):
        policy = build(4)
        policy.averages.lower[:], policy.averages.upper[:] = [lower, lower, 0.0, 0.0], [1.0, 1.0, 0.5, 0.5]
        policy.learn(Tally.empty(6))
        assert policy.above[:2, 2:].all() == policy.above.any() == ordered


def test_a_ranked_player_does_not_come_back():
    # 1 and 2 are unordered with one above; 1 is taken for ranked all the same, as contradictory rewards can make it.
    policy = knowing(4, [(1, 2)])
    policy.unranked[1] = False
    policy.learn(Tally.empty(6))
    assert places(policy.unranked) == [2]


# Histories


class Histories:
    """Looks at the players that are still compared, after everything that the policy learns."""

    def __init__(self, policy):
        self.policy, self.learn, self.least = policy, policy.learn, policy.n
        policy.learn = self

    def __call__(self, tally):
        self.learn(tally)
        policy = self.policy
        counts, inside = policy.averages.counts, policy.candidates
        for i, j in product(places(policy.unranked), repeat=2):
            if i != j and not policy.above[i, j] and not policy.above[j, i]:
                assert counts[i] == counts[j]
                assert inside[i] == inside[j]
        self.least = min(self.least, *[int(policy.unranked.sum()) or policy.n])


@pytest.mark.parametrize("name", INSTANCES)
def test_two_unordered_players_always_have_the_same_history(name):
    fewest = 10
    for seed in range(6):
        problem = mb.Monopartite(INSTANCES[name])
        policy = build(len(problem.u), growth=1.5)
        looks = Histories(policy)
        leap(policy, 10**9, _Drawn(problem, seed))
        assert policy.done
        fewest = min(fewest, looks.least)
    assert fewest <= 4


class _Drawn:
    def __init__(self, problem, seed):
        self.problem, self.rng = problem, np.random.default_rng(seed)

    def sums(self, edges, counts):
        return self.problem.rewards.sums(self.problem.means[edges], counts, self.rng)


@pytest.mark.parametrize("n", [4, 6, 8])
def test_rewards_that_change_do_not_crash_it(n):
    for seed in range(25):
        policy = build(n, growth=1.5)
        Histories(policy)
        score = leap(policy, 20_000, Fickle(n, seed))
        assert policy.done or score.round == 20_000


# Answers


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.sampled(2)
def test_it_ends_and_is_right(name):
    found = mb.identify(mb.Monopartite(INSTANCES[name]), mb.policy("matching-id", delta=0.2), runs=60, seed=1)
    assert found.identified.all()
    assert (~found.correct).mean() <= 0.2
    assert (found.pairs == found.rounds * (len(INSTANCES[name]) // 2)).all()


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("name", INSTANCES)
def test_it_is_wrong_with_probability_at_most_delta(name, delta):
    found = mb.identify(mb.Monopartite(INSTANCES[name]), mb.policy("matching-id", delta=delta), runs=500, seed=2)
    assert found.identified.all()
    assert (~found.correct).mean() <= delta


def test_a_gap_of_one_hundredth_needs_many_rounds_and_few_decisions():
    found = mb.identify(mb.Monopartite([0.52, 0.51, 0.5, 0.49, 0.48, 0.47]), "matching-id", runs=3, seed=1)
    assert found.identified.all()
    assert found.correct.all()
    assert (found.rounds > 10**6).all()


def test_equal_players_on_both_sides_of_a_border_are_never_told_apart():
    found = mb.identify(mb.Monopartite([0.9, 0.5, 0.5, 0.1]), "matching-id", runs=3, seed=1, max_rounds=10**7)
    assert not found.identified.any()
    assert (found.rounds == 10**7).all()
    with pytest.raises(MatchbanditError, match="the answer depends on them"):
        mb.identify(mb.Monopartite([0.9, 0.5, 0.5, 0.1]), "matching-id")


def test_once_everyone_is_ranked_its_plan_is_the_answer():
    policy = build(6)
    policy.above = np.triu(np.ones((6, 6), dtype=bool), 1)
    policy.unranked = unranked(policy.above)
    assert policy.finished
    assert policy.graph.pairs[policy.plan().rounds].tolist() == [policy.recommend().tolist()]


def test_two_players_are_done_at_once():
    policy = build(2)
    assert policy.done
    assert play(policy, 3, [0.5] * 2) == [[(0, 1)]] * 3


def test_explain_says_who_is_unranked_and_who_is_above_whom():
    policy = build(4)
    json.dumps(policy.explain(), allow_nan=False)
    play(policy, 28, [0.0, 1.0, 0.0, 1.0])
    said = json.loads(json.dumps(policy.explain(), allow_nan=False))
    assert said["details"]["unranked"] == said["details"]["candidates"] == [0, 1, 2, 3]
    assert said["items"][1]["samples"] == 27
    assert np.isclose(said["items"][1]["estimate"], 1 / 3)
    assert np.allclose(said["items"][1]["interval"], [1 / 3 - 0.24609, 1 / 3 + 0.24609], atol=1e-5)
    assert said["next_check"] == {"after_sweeps_at_most": 41, "rounds_a_sweep": 3}
    play(policy, 122, [0.0, 1.0, 0.0, 1.0])
    said = policy.explain()
    assert said["details"]["unranked"] == []
    assert said["next_check"] is None
    assert said["items"][0]["beaten_by"] == [1, 3]


@pytest.mark.parametrize("delta", [0, 1, 2.0, float("nan"), None])
def test_a_delta_outside_0_and_1_is_refused(delta):
    with pytest.raises(MatchbanditError, match="delta"):
        build(4, delta=delta)


def test_every_chance_is_refused():
    with pytest.raises(MatchbanditError, match="growth 1"):
        build(4, growth=1.0)

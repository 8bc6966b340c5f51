import numpy as np
import pytest

import matchbandit as mb


def play(policy, rewards):
    """Tell these rewards one after the other; give the pairs played."""
    played = []
    for reward in rewards:
        pairs = policy.ask()
        played.append(tuple(pairs[0].tolist()))
        policy.tell(pairs, [reward])
    return played


def test_by_hand_every_pair_once_then_the_leader():
    # γ = 1: the leader is always played. Means after four rounds: 1, 0, 0, 1 → a tie of (0,0) and (1,1) …
    policy = mb.policy("uts", gamma=1).build(mb.bipartite(2, 2), seed=3)
    assert play(policy, [1, 0, 0, 1]) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    # … and whoever fails first loses the lead to the other, which keeps it while it succeeds.
    first = play(policy, [0])[0]
    other = ({(0, 0), (1, 1)} - {first}).pop()
    assert play(policy, [1, 1, 1]) == [other] * 3


def test_ties_are_broken_at_random():
    leaders = {tuple(play(mb.policy("uts", gamma=1).build(mb.bipartite(2, 2), seed=s), [1] * 5)[4]) for s in range(40)}
    assert leaders == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_by_hand_every_second_lead_is_played_and_the_others_stay_in_row_and_column():
    policy = mb.policy("uts").build(mb.bipartite(3, 3), seed=1)
    start = [0] * 9
    start[4] = 1  # (1, 1) leads for a long time: all others have mean 0
    play(policy, start)
    for _ in range(50):
        drawn, played = play(policy, [1, 1]) if policy.arrays.leads[4] % 2 == 0 else (None, None)
        assert played == (1, 1)
        assert drawn[0] == 1 or drawn[1] == 1
        if policy.arrays.sums.argmax() != 4:
            break


@pytest.mark.slow
def test_draws_follow_the_beta_posterior():
    # One row, two columns, (1 + S, 1 + F) = (3, 1) and (1, 3): the leader wins with P(Beta(3,1) > Beta(1,3)).
    # That probability is 1 − ∫ 3x² (1−x)³ dx = 1 − 3 B(3, 4) = 1 − 3/60.
    from matchbandit.policies.pair.uts import UtsArrays, choose

    rng, edges = np.random.default_rng(2), np.zeros(1, dtype=np.int64)
    n, wins = 20_000, 0
    for _ in range(n):
        counts = np.array([2, 2])
        arrays = UtsArrays(counts, np.array([2.0, 0.0]), np.array([2, 0]), np.zeros(2, dtype=np.int64), 2, 2)
        choose(arrays, rng, edges)
        wins += edges[0] == 0
    p = 1 - 3 / 60
    assert abs(wins / n - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_a_reward_between_0_and_1_is_a_success_with_that_probability():
    policy = mb.policy("uts").build(mb.bipartite(1, 1), rewards=mb.Binomial(4), seed=1)
    play(policy, [0.25] * 4000)
    assert abs(policy.arrays.wins[0] / 4000 - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
    assert policy.arrays.sums[0] == 1000.0
    play(policy, [1.0] * 10 + [0.0] * 10)
    assert policy.arrays.sums[0] == 1010.0


@pytest.mark.parametrize("law", [pytest.param(mb.Bernoulli(), marks=pytest.mark.slow), mb.Binomial(5)])
@pytest.mark.slow
def test_regret_grows_like_the_logarithm(law):
    slots = mb.Bipartite([0.9, 0.4, 0.3], [0.9, 0.5, 0.2, 0.1], rewards=law)
    runs = mb.simulate(slots, "uts", horizon=100_000, runs=20, seed=1, checkpoints=[50_000, 100_000])
    assert runs.final.mean() < 60
    assert (runs.regret[:, 1] - runs.regret[:, 0]).mean() < 0.3 * runs.final.mean()

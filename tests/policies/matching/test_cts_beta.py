import numpy as np
import pytest
from reference.combinatorial import Naive, total

import matchbandit as mb
from matchbandit.policies.matching.cts_beta import CtsBeta
from matchbandit.seeding import stream


class NaiveBeta(Naive):
    """Draws from the same random stream, pair by pair; successes by coin flips from it, in the order told."""

    def __init__(self, graph, rng):
        super().__init__(graph, 0.5)
        self.rng = rng

    def weights(self):
        return {pair: self.rng.beta(1 + sum(s), 1 + len(s) - sum(s)) for pair, s in self.rewards.items()}

    def tell(self, pairs, rewards):
        flips = [float(r if r in (0, 1) else self.rng.random() < r) for r in rewards]
        super().tell(pairs, flips)


@pytest.mark.parametrize(
    "problem",
    [
        mb.Monopartite([0.9, 0.7, 0.6, 0.3]),
        mb.Monopartite([0.2, 0.9, 0.5, 0.6, 0.8, 0.3], rewards=mb.Binomial(3)),
        mb.Bipartite([0.9, 0.4], [0.3, 0.8, 0.5], rewards=mb.Binomial(2)),
        mb.Bipartite([0.9, 0.4, 0.6], [0.3, 0.8]),
    ],
    ids=lambda problem: f"{problem.graph} {problem.rewards}",
)
@pytest.mark.sampled(1)
def test_plays_what_the_definition_plays(problem):
    policy = mb.policy("cts-beta").build(problem.graph, rewards=problem.rewards, seed=3)
    naive, rng = NaiveBeta(problem.graph, stream(3, "policy", "cts-beta", 0)), np.random.default_rng(1)
    for _ in range(300):
        pairs, weights = [tuple(pair) for pair in policy.ask().tolist()], naive.weights()
        assert total(pairs, weights) == pytest.approx(total(naive.best(weights), weights), rel=0, abs=1e-12)
        rewards = problem.rewards.draw(problem.means[problem.graph.edges(pairs)], rng)
        policy.tell(pairs, rewards)
        naive.tell(pairs, rewards.tolist())
    assert policy.arrays.sums.tolist() == [sum(naive.rewards[pair]) for pair in naive.pairs]


def test_draws_follow_the_beta_posterior():
    # (1 + S, 1 + F) = (3, 1) and (1, 3): the first wins with 1 − ∫ 3x² (1−x)³ dx = 1 − 3 B(3, 4) = 1 − 3/60.
    policy = mb.policy("cts-beta").warm_start([(0, 0), (0, 1)], [2, 2], [2, 0]).build(mb.bipartite(1, 2), seed=1)
    edges, n, wins = np.zeros(1, dtype=np.int64), 20_000, 0
    for _ in range(n):
        CtsBeta.choose(policy.arrays, policy.rng, edges)
        wins += edges[0] == 0
    p = 1 - 3 / 60
    assert abs(wins / n - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_each_matching_is_chosen_as_often_as_it_is_the_best_of_the_posterior():
    graph, plays, wins = mb.monopartite(4), np.array([5, 3, 8, 8, 4, 1]), np.array([4, 2, 3, 4, 2, 0])
    policy = mb.policy("cts-beta").warm_start(graph.pairs, plays, wins).build(graph, seed=2)
    n, edges, counts = 20_000, np.zeros(2, dtype=np.int64), np.zeros(3)
    for _ in range(n):
        CtsBeta.choose(policy.arrays, policy.rng, edges)
        counts[edges[0]] += 1  # the matchings are [0, 5], [1, 4] and [2, 3]
    draws = np.random.default_rng(7).beta(1 + wins, 1 + plays - wins, size=(n, 6))
    expected = np.bincount((draws[:, :3] + draws[:, [5, 4, 3]]).argmax(axis=1), minlength=3) / n
    assert (abs(counts / n - expected) < 4 * np.sqrt(2 * expected * (1 - expected) / n)).all()
    assert expected.min() > 0.1


def test_the_prior_stands_in_for_an_opening():
    # Nothing played: each matching is as likely as the others.
    first = [mb.policy("cts-beta").build(mb.monopartite(4), seed=seed).ask()[0, 1] for seed in range(600)]
    assert (abs(np.bincount(first)[1:] / 600 - 1 / 3) < 4 * np.sqrt(2 / 9 / 600)).all()
    # Where a solver is called, too: the first round is a draw, not that of a tour.
    assert len({str(mb.policy("cts-beta").build(mb.monopartite(12), seed=seed).ask()) for seed in range(5)}) == 5
    # 12 players have 66 pairs, and 5 rounds play 30 of them at most.
    policy = mb.policy("cts-beta").build(mb.monopartite(12), seed=1)
    for _ in range(5):
        policy.tell(policy.ask(), np.ones(6))
    assert (policy.arrays.plays == 0).any()
    assert policy.recommend().shape == (6, 2)


def test_a_reward_between_0_and_1_is_a_success_with_that_probability():
    policy = mb.policy("cts-beta").build(mb.bipartite(1, 1), rewards=mb.Binomial(4), seed=1)
    for _ in range(4000):
        policy.tell(policy.ask(), [0.25])
    wins = policy.arrays.sums[0]
    assert wins == int(wins)
    assert abs(wins / 4000 - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
    for reward in [1.0] * 10 + [0.0] * 10:
        policy.tell(policy.ask(), [reward])
    assert policy.arrays.sums[0] == wins + 10
    assert policy.explain()["pairs"][0]["posterior"] == {"beta": [int(wins) + 11, 4020 - int(wins) - 9]}


def test_a_warm_start_takes_the_nearest_number_of_successes():
    log = mb.policy("cts-beta").warm_start([(0, 0), (0, 1), (1, 0)], counts=[4, 4, 2], sums=[2.75, 1.25, 2.0])
    policy = log.build(mb.bipartite(2, 2), rewards=mb.Binomial(4))
    assert [pair["posterior"]["beta"] for pair in policy.explain()["pairs"]] == [[4, 2], [2, 4], [3, 1], [1, 1]]


@pytest.mark.parametrize("law", [mb.Bernoulli(), mb.Binomial(3)], ids=str)
@pytest.mark.parametrize("kind", ["players", "slots"])
@pytest.mark.sampled(1)
def test_the_compiled_loop_plays_what_ask_and_tell_play(kind, law):
    players, slots = mb.Monopartite([0.9, 0.2, 0.7, 0.4], rewards=law), mb.Bipartite([0.9, 0.3], [0.4] * 3, rewards=law)
    problem = players if kind == "players" else slots
    slow, fast = (
        mb.simulate(problem, "cts-beta", horizon=500, runs=2, seed=4, engine=engine, checkpoints=range(1, 501))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()


def test_rewards_outside_0_and_1_are_refused():
    with pytest.raises(mb.MatchbanditError, match=r"cts-beta needs rewards in \[0, 1\]"):
        mb.policy("cts-beta").build(mb.bipartite(2, 2), rewards=mb.Gaussian(0.5))

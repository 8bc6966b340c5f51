from math import erf, sqrt

import numpy as np
import pytest
from reference.combinatorial import Naive, total

import matchbandit as mb
from matchbandit.policies.matching.cts_gaussian import CtsGaussian
from matchbandit.seeding import stream

PROBLEMS = [
    mb.Monopartite([0.9, 0.7, 0.6, 0.3]),
    mb.Monopartite([0.2, 0.9, 0.5, 0.6, 0.8, 0.3], rewards=mb.Gaussian(0.2)),
    mb.Bipartite([0.9, 0.4], [0.3, 0.8, 0.5], rewards=mb.Gaussian(2.0)),
    mb.Bipartite([0.9, 0.4, 0.6], [0.3, 0.8], rewards=mb.Binomial(4)),
]


class NaiveGaussian(Naive):
    """Draws from the same random stream, pair by pair."""

    def weights(self, rng):
        return {pair: rng.normal(self.mean(pair), self.sigma / sqrt(self.plays(pair))) for pair in self.pairs}


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"{problem.graph} {problem.rewards}")
@pytest.mark.sampled(1)
def test_plays_what_the_definition_plays(problem):
    policy = mb.policy("cts-gaussian").build(problem.graph, rewards=problem.rewards, seed=3)
    naive, rng = NaiveGaussian(problem.graph, problem.rewards.sigma), np.random.default_rng(1)
    shared = stream(3, "policy", "cts-gaussian", 0)
    for _ in range(300):
        pairs = [tuple(pair) for pair in policy.ask().tolist()]
        opening = naive.opening()
        if opening:
            assert pairs == opening
        else:
            weights = naive.weights(shared)
            assert total(pairs, weights) == pytest.approx(total(naive.best(weights), weights), rel=0, abs=1e-11)
        rewards = problem.rewards.draw(problem.means[problem.graph.edges(pairs)], rng)
        policy.tell(pairs, rewards)
        naive.tell(pairs, rewards.tolist())


@pytest.mark.parametrize(("law", "sigma"), [(mb.Bernoulli(), 0.5), (mb.Binomial(4), 0.25), (mb.Gaussian(2.0), 2.0)])
@pytest.mark.sampled(1)
def test_a_matching_is_chosen_as_often_as_its_sum_of_draws_is_the_larger(law, sigma):
    # Two matchings of 2×2, with sums of draws N(0.5 + 0.5, σ² (1/4 + 1/2)) and N(0.4 + 0.5, σ² (1/5 + 1)).
    graph, plays, sums = mb.bipartite(2, 2), [4, 5, 1, 2], [2.0, 2.0, 0.5, 1.0]
    policy = mb.policy("cts-gaussian").warm_start(graph.pairs, plays, sums).build(graph, rewards=law, seed=1)
    n, edges, wins = 20_000, np.zeros(2, dtype=np.int64), 0
    for _ in range(n):
        CtsGaussian.choose(policy.arrays, policy.rng, edges)
        wins += edges[0] == 0
    p = (1 + erf(0.1 / (sigma * sqrt(sum(1 / k for k in plays))) / sqrt(2))) / 2
    assert abs(wins / n - p) < 4 * sqrt(p * (1 - p) / n)
    assert [pair["deviation"] for pair in policy.explain()["pairs"]] == pytest.approx([sigma / sqrt(k) for k in plays])


def test_nothing_is_known_of_unplayed_pairs():
    policy = mb.policy("cts-gaussian").build(mb.bipartite(1, 2))
    policy.tell(policy.ask(), [1])
    assert [pair["deviation"] for pair in policy.explain()["pairs"]] == [0.5, None]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"{problem.graph} {problem.rewards}")
@pytest.mark.sampled(1)
def test_the_compiled_loop_plays_what_ask_and_tell_play(problem):
    slow, fast = (
        mb.simulate(problem, "cts-gaussian", horizon=500, runs=2, seed=4, engine=engine, checkpoints=range(1, 501))
        for engine in ("step", "loop")
    )
    assert slow.regret.tolist() == fast.regret.tolist()
    assert slow.plays.tolist() == fast.plays.tolist()

"""How fast matchings are simulated: `make bench`."""

import numpy as np
import pytest

import matchbandit as mb
from matchbandit.certificates import Target
from matchbandit.policies.information import choose_listed
from matchbandit.rewards import Noise

CENTRED = mb.family("centred", n=4, mean=0.5, gap=0.1)
TWENTY = mb.Monopartite(np.sort(np.random.default_rng(0).random(20))[::-1])


def simulated(benchmark, problem, policy, horizon, *, rounds=3, engine="auto"):
    mb.simulate(problem, policy, horizon=min(horizon, 100), checkpoints=[1])  # compiled before it is measured
    benchmark.pedantic(
        lambda: mb.simulate(problem, policy, horizon=horizon, seed=1, checkpoints=[horizon], engine=engine),
        rounds=rounds,
        warmup_rounds=1 if engine == "auto" and horizon > 10**6 else 0,
    )


@pytest.mark.parametrize("name", ["simple-adaptive-matching", "adaptive-matching"])
def test_eight_players(benchmark, name):
    simulated(benchmark, CENTRED, name, 200_000)


def test_twenty_players_for_a_billion_rounds(benchmark):
    simulated(benchmark, TWENTY, "adaptive-matching", 10**9)


def test_simple_adaptive_matching_by_ask_and_tell(benchmark):
    simulated(benchmark, CENTRED, "simple-adaptive-matching", 20_000, engine="step")


@pytest.mark.parametrize("name", ["escb", "ols-ucb", "cucb", "cts-beta", "cts-gaussian", "aescb", "rank1-thompson"])
def test_eight_players_in_the_compiled_loop(benchmark, name):
    simulated(benchmark, CENTRED, name, 200_000)


def test_escb_1(benchmark):
    simulated(benchmark, CENTRED, mb.policy("escb", version=1), 20_000)


@pytest.mark.parametrize("name", ["cucb", "cts-beta", "cts-gaussian"])
def test_eight_by_eight_by_a_compiled_solver(benchmark, name):
    simulated(benchmark, mb.Bipartite(np.linspace(0.9, 0.2, 8), np.linspace(0.95, 0.1, 8)), name, 200_000)


@pytest.mark.parametrize("name", ["cucb", "cts-beta"])
def test_forty_players_by_a_solver(benchmark, name):
    simulated(benchmark, mb.Monopartite(np.linspace(0.95, 0.05, 40)), name, 2000, rounds=2)


def test_a_batch_of_rank1_certify_fifty_by_fifty(benchmark):
    graph, strengths = mb.bipartite(50, 50), np.tile(np.linspace(0.95, 0.1, 50), 2)
    ends, pairs = graph.pairs + np.array([0, 50]), np.arange(graph.n_pairs)[:, None]
    links = Target.of(graph, "pair").borders(np.arange(100))
    evidence = Noise(1, 0.0), np.outer(strengths, strengths), links, np.full(len(links), 10.0)

    def choose():
        plays = np.full((100, 100), -1.0)
        plays[:50, 50:] = plays[50:, :50] = 1.0
        times = np.zeros(len(pairs), dtype=np.int64)
        choose_listed(*evidence, plays, 4000, ends, pairs, np.ones(len(pairs)), times)

    benchmark.pedantic(choose, rounds=5, warmup_rounds=1)


def test_rank1_thompson_with_two_hundred_players(benchmark):
    simulated(benchmark, mb.Monopartite(np.linspace(0.95, 0.05, 200)), "rank1-thompson", 1000, rounds=2)


def test_a_gap_of_a_hundredth(benchmark):
    close = mb.Monopartite([0.9, 0.8, 0.79, 0.6, 0.5, 0.4])
    benchmark.pedantic(lambda: mb.identify(close, "matching-id", seed=1), rounds=3, warmup_rounds=1)

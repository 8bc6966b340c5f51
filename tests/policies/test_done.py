"""`done` is final: it stays, reading it changes nothing, the answer is frozen and played."""

import json

import numpy as np
import pytest

import matchbandit as mb

SD = 1e-4
CASES = [
    ("track-and-stop", mb.bipartite(2, 2), {}),
    ("clucb", mb.bipartite(2, 2), {"selection": "pair"}),
    ("clucb", mb.bipartite(2, 2), {"selection": "matching"}),
    ("clucb", mb.monopartite(12), {"selection": "pair"}),
]
each_case = pytest.mark.parametrize(("name", "graph", "options"), CASES, ids=[f"{c[0]} {c[1]} {c[2]}" for c in CASES])


def means_of(graph):
    """Products of strengths that are far apart, for rewards that hardly vary."""
    rows, columns = (np.linspace(0.95, 0.05, n) for n in graph.shape)
    return rows[graph.pairs[:, 0]] * columns[graph.pairs[:, 1]]


def finished(name, graph, options, seed=1):
    """A policy that has found its answer, and its random rewards."""
    policy = mb.policy(name, delta=0.2, **options).build(graph, rewards=mb.Gaussian(SD), seed=3)
    rng, means = np.random.default_rng(seed), means_of(graph)
    for _ in range(5000):
        if policy.done:
            return policy, rng
        pairs = policy.ask()
        policy.tell(pairs, rng.normal(means[graph.edges(pairs)], SD))
    raise AssertionError(f"{name} has not found its answer")


@each_case
def test_once_done_the_answer_is_frozen_and_played_whatever_comes_back(name, graph, options):
    policy, _ = finished(name, graph, options)
    answer = policy.recommend().tolist()
    played = []
    for _ in range(4 * len(answer)):
        pairs = policy.ask()
        played.append(pairs.tolist())
        policy.tell(pairs, np.full(len(pairs), -3.0))  # as bad as can be
        assert policy.done
        assert policy.recommend().tolist() == answer
    if policy.round_size == len(answer):
        assert played == [answer] * len(played)
    else:  # its pairs in turn
        assert sorted(pair for [pair] in played) == sorted(answer * 4)
        assert sorted(pair for [pair] in played[: len(answer)]) == sorted(answer)


@each_case
def test_reading_done_changes_nothing(name, graph, options):
    policy = mb.policy(name, delta=0.2, **options).build(graph, rewards=mb.Gaussian(SD), seed=3)
    rng, means = np.random.default_rng(1), means_of(graph)
    for _ in range(150):
        before = json.dumps(policy.state())
        assert policy.done in (True, False)
        assert json.dumps(policy.state()) == before
        pairs = policy.ask()
        policy.tell(pairs, rng.normal(means[graph.edges(pairs)], SD))


@each_case
def test_a_restored_policy_is_still_done(name, graph, options):
    policy, _ = finished(name, graph, options)
    twin = mb.restore(json.loads(json.dumps(policy.state())))
    assert twin.done
    assert twin.recommend().tolist() == policy.recommend().tolist()
    assert twin.ask().tolist() == policy.ask().tolist()

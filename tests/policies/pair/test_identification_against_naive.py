"""Policies with delta, and those for players, play by play against tests/reference/mono.py.

Rewards are 0 or 1, so that sums are exact and both sides decide on the same numbers.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import mono

import matchbandit as mb

values = st.sampled_from([0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])
players = st.lists(values, min_size=2, max_size=6)
sides = st.lists(values, min_size=1, max_size=4)
certain_growths = st.sampled_from([1.05, 1.5, 4.0])
deltas = st.sampled_from([0.01, 0.05, 0.2, 0.4])
seeds = st.integers(0, 100)
examples = settings(max_examples=40, deadline=None, derandomize=True)


def bernoulli(u, v, seed):
    """The reward of a pair, drawn anew at each call."""
    rng = np.random.default_rng(seed)
    return lambda i, j: float(rng.random() < u[i] * v[j])


def library(spec, graph, rounds, reward, *, seed=0, horizon=None):
    """The pairs that the library plays until it is done or these rounds are over, and the policy then."""
    policy = spec.build(graph, horizon=horizon)
    policy.rng = np.random.default_rng(seed)
    played = []
    while len(played) < rounds and not policy.done:
        pairs = policy.ask()
        played.append(tuple(pairs[0].tolist()))
        policy.tell(pairs, [reward(*played[-1])])
    return played, policy


def same(ours, policy, theirs):
    """The same pairs in the same order, and the same answer, if there is one."""
    assert ours == theirs.pairs
    assert policy.done == theirs.identified
    if theirs.identified:
        assert policy.recommend().tolist() == [list(pair) for pair in theirs.answer]


def pair_elim_agrees(u, v, growth, delta, seed, rounds):
    spec = mb.policy("pair-elim", growth=growth, delta=delta)
    draws = bernoulli(u, v, seed), bernoulli(u, v, seed)
    ours, policy = library(spec, mb.bipartite(len(u), len(v)), rounds, draws[0], seed=seed + 1)
    theirs = mono.pair_elim_pac(
        np.outer(u, v), delta, np.random.default_rng(seed + 1), rounds, growth=growth, draw=draws[1], record=True
    )
    same(ours, policy, theirs)
    return policy


def mono_agrees(u, growth, cap, seed, horizon):
    spec = mb.policy("pair-elim-mono", growth=growth, cap_windows=cap)
    draws = bernoulli(u, u, seed), bernoulli(u, u, seed)
    ours, policy = library(spec, mb.monopartite(len(u)), horizon, draws[0], horizon=horizon)
    theirs = mono.pair_elim_mono(u, horizon, growth=growth, cap_windows=cap, draw=draws[1], record=True)
    assert ours == theirs.pairs
    assert not policy.done
    assert policy.above.tolist() == theirs.above.tolist()
    return policy


def certain_agrees(name, reference, u, growth, delta, seed, rounds):
    spec = mb.policy(name, growth=growth, delta=delta)
    draws = bernoulli(u, u, seed), bernoulli(u, u, seed)
    ours, policy = library(spec, mb.monopartite(len(u)), rounds, draws[0])
    theirs = reference(u, delta, rounds, growth=growth, draw=draws[1], record=True)
    same(ours, policy, theirs)
    assert policy.above.tolist() == theirs.above.tolist()
    return policy


@pytest.mark.slow
@examples
@given(u=sides, v=sides, growth=certain_growths, delta=deltas, seed=seeds, rounds=st.integers(1, 8000))
def test_pair_elim_with_delta_plays_what_the_definition_plays(u, v, growth, delta, seed, rounds):
    pair_elim_agrees(u, v, growth, delta, seed, rounds)


@pytest.mark.slow
@examples
@given(
    u=players,
    growth=st.sampled_from([1.0, 1.05, 1.5, 4.0]),
    cap=st.booleans(),
    seed=seeds,
    horizon=st.integers(1, 4000),
)
def test_pair_elim_mono_plays_what_the_definition_plays(u, growth, cap, seed, horizon):
    mono_agrees(u, growth, cap, seed, horizon)


@pytest.mark.slow
@examples
@given(u=players, growth=certain_growths, delta=deltas, seed=seeds, rounds=st.integers(1, 8000))
def test_pair_elim_mono_with_delta_plays_what_the_definition_plays(u, growth, delta, seed, rounds):
    certain_agrees("pair-elim-mono", mono.pair_elim_mono_pac, u, growth, delta, seed, rounds)


@examples
@given(
    u=players.filter(lambda u: len(u) % 2 == 0),
    growth=certain_growths,
    delta=deltas,
    seed=seeds,
    rounds=st.integers(1, 8000),
)
def test_pair_select_plays_what_the_definition_plays(u, growth, delta, seed, rounds):
    certain_agrees("pair-select", mono.pair_select, u, growth, delta, seed, rounds)


@pytest.mark.parametrize("growth", [1.05, 4.0])
def test_pair_elim_with_delta_agrees_through_both_phases_to_the_answer(growth):
    policy = pair_elim_agrees([0.3, 1.0, 0.6], [0.5, 0.2, 1.0, 0.1], growth, 0.1, 5, 10**6)
    assert policy.done
    assert policy.window.number >= 3
    assert policy.recommend().tolist() == [[1, 2]]


@pytest.mark.slow
@pytest.mark.parametrize(("growth", "cap"), [(1.0, False), (1.05, True), (4.0, False)])
def test_pair_elim_mono_agrees_on_a_long_run_of_several_windows(growth, cap):
    horizon = 15_000 if growth < 4 else 40_000
    policy = mono_agrees([0.3, 1.0, 0.1, 0.9, 0.2], growth, cap, 7, horizon)
    assert policy.window.number >= 4
    assert (policy.above.sum(axis=0) >= 2).sum() == 3  # all but the two best have left


@pytest.mark.parametrize("growth", [1.05, 4.0])
def test_pair_elim_mono_with_delta_agrees_to_the_answer(growth):
    policy = certain_agrees("pair-elim-mono", mono.pair_elim_mono_pac, [0.3, 1.0, 0.1, 0.9], growth, 0.1, 2, 10**6)
    assert policy.done
    assert policy.window.number >= 3
    assert policy.recommend().tolist() == [[1, 3]]


@pytest.mark.parametrize("growth", [1.05, 4.0])
def test_pair_select_agrees_through_both_phases_to_the_answer(growth):
    u = [0.2, 1.0, 0.55, 0.95, 0.25, 0.6]
    policy = certain_agrees("pair-select", mono.pair_select, u, growth, 0.2, 3, 10**6)
    assert policy.done
    assert policy.against_best.counts.sum() > 700  # there was something to rank
    assert policy.recommend().tolist() == [[1, 3], [2, 5], [0, 4]]

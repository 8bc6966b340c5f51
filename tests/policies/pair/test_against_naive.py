"""Play by play against the naive implementations in tests/reference, which were written from the definitions alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import naive
from reference.outcomes import out_at

import matchbandit as mb

strengths = st.lists(st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.8, 1.0]), min_size=1, max_size=4)


def library_pairs(spec, W, horizon, law, seed, reward_of):
    """The pairs that the library plays when the n-th round of a pair pays reward_of(pair)."""
    policy = spec.build(mb.bipartite(*W.shape), rewards=law, horizon=horizon)
    policy.rng = np.random.default_rng(seed)
    played = []
    for _ in range(horizon):
        pairs = policy.ask()
        i, j = pairs[0].tolist()
        played.append((i, j))
        policy.tell(pairs, [reward_of(i, j)])
    return played, policy


def agree(spec, reference, u, v, horizon, seed, law, **options):
    W = np.outer(u, v)
    draws = [np.random.default_rng(seed + 1), np.random.default_rng(seed + 1)]
    reward = [lambda i, j, rng=rng: float(law.draw(np.array([W[i, j]]), rng)[0]) for rng in draws]
    ours, policy = library_pairs(spec, W, horizon, law, seed, reward[0])
    theirs = reference(W, horizon, np.random.default_rng(seed), draw=reward[1], record=True, **options)
    assert ours == theirs.pairs
    return policy, theirs


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    u=strengths,
    v=strengths,
    horizon=st.integers(1, 3000),
    growth=st.sampled_from([1.0, 1.05, 1.5, 4.0]),
    cap=st.booleans(),
    law=st.sampled_from([mb.Bernoulli(), mb.Gaussian(0.1), mb.Gaussian(0.8), mb.Binomial(16)]),
    seed=st.integers(0, 100),
)
@pytest.mark.slow
def test_pair_elim_plays_what_the_definition_plays(u, v, horizon, growth, cap, law, seed):
    spec = mb.policy("pair-elim", growth=growth, cap_windows=cap)
    options = {"growth": growth, "cap_windows": cap, "sigma": law.sigma}
    policy, theirs = agree(spec, naive.pair_elim, u, v, horizon, seed, law, **options)
    assert out_at(policy, "row") == theirs.rows_out.tolist()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    u=strengths,
    v=strengths,
    horizon=st.integers(1, 3000),
    law=st.sampled_from([mb.Bernoulli(), mb.Gaussian(0.1), mb.Binomial(16)]),
    seed=st.integers(0, 100),
)
@pytest.mark.slow
def test_rank1_elim_plays_what_the_definition_plays(u, v, horizon, law, seed):
    spec = mb.policy("rank1-elim")
    policy, theirs = agree(spec, naive.rank1_elim, u, v, horizon, seed, law, sigma=law.sigma)
    assert out_at(policy, "row") == theirs.rows_out.tolist()
    assert out_at(policy, "column") == theirs.columns_out.tolist()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    u=strengths,
    v=strengths,
    horizon=st.integers(1, 2000),
    gamma=st.integers(1, 4),
    law=st.sampled_from([mb.Bernoulli(), mb.Binomial(3)]),
    seed=st.integers(0, 100),
)
def test_uts_plays_what_the_definition_plays(u, v, horizon, gamma, law, seed):
    agree(mb.policy("uts", gamma=gamma), naive.uts, u, v, horizon, seed, law, gamma=gamma)


@pytest.mark.slow
@pytest.mark.parametrize("growth", [1.05, 4.0])
def test_pair_elim_agrees_on_a_long_run_through_four_windows(growth):
    u, v = [0.9, 0.3, 0.25, 0.1], [0.9, 0.5, 0.2]
    spec = mb.policy("pair-elim", growth=growth)
    policy, theirs = agree(spec, naive.pair_elim, u, v, 80_000, 3, mb.Bernoulli(), growth=growth)
    assert policy.window.number == 5
    assert (theirs.rows_out[1:] > 0).all()
    assert out_at(policy, "row") == theirs.rows_out.tolist()

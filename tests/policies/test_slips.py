"""One Gaussian reward beyond belief does not end a policy."""

import json

import numpy as np
import pytest

import matchbandit as mb

NAMES = [
    "rank1-thompson",
    "uniform",
    "cucb",
    "ols-ucb",
    "escb",
    "cts-gaussian",
    "clucb",
    "track-and-stop",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("slip", [1e150, -1e150])
def test_a_policy_goes_on_after_rewards_beyond_belief(name, slip):
    policy = mb.policy(name).build(mb.monopartite(4), rewards=mb.Gaussian(0.5), seed=1)
    rng = np.random.default_rng(2)
    for n in range(200):
        pairs = policy.ask()
        rewards = rng.normal(0.5, 0.5, len(pairs))
        if n in (3, 4, 30):
            rewards[0] = slip
        policy.tell(pairs, rewards)
    policy.recommend()
    told = json.dumps(policy.explain(), allow_nan=False)
    assert "Infinity" not in told


@pytest.mark.parametrize("name", NAMES)
def test_what_floats_cannot_square_is_refused(name):
    policy = mb.policy(name).build(mb.monopartite(4), rewards=mb.Gaussian(0.5), seed=1)
    pairs = policy.ask()
    with pytest.raises(mb.MatchbanditError, match=r"1e\+308"):
        policy.tell(pairs, np.full(len(pairs), 1e308))

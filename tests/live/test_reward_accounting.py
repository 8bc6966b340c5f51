"""What a result adds to the sums of a policy."""

import numpy as np
import pytest

from matchbandit.live.reward_accounting import RewardAccounting
from matchbandit.rewards import Bernoulli, Binomial, Gaussian


@pytest.mark.parametrize("policy", ["rank1-thompson", "cucb", "adaptive-matching"])
def test_most_policies_count_rewards_as_they_are(policy):
    accounting = RewardAccounting(policy, Bernoulli(), 1, "club")
    assert accounting.is_identity
    assert accounting.credit(0.3, 1, 2, 3) == 0.3
    assert accounting.credit_total(4, 1.2) == 1.2


def test_slips_are_clipped_for_rank1_thompson():
    accounting = RewardAccounting("rank1-thompson", Gaussian(sd=0.5), 1, "club")
    assert not accounting.is_identity
    assert [accounting.credit(reward, 1, 2, 3) for reward in (0.7, 1e6, -1e6)] == [0.7, 21.0, -20.0]
    assert accounting.credit_totals(np.array([4]), np.array([1e9])).tolist() == [44.0]


def test_coins_of_cts_beta_are_their_own():
    accounting = RewardAccounting("cts-beta", Binomial(4), 1, "club")
    assert [accounting.credit(reward, 1, 2, 3) for reward in (0.0, 1.0)] == [0.0, 1.0]
    flips = [accounting.credit(0.25, number, a, 9) for number in range(1, 41) for a in range(1, 11)]
    assert set(flips) == {0.0, 1.0}
    assert sum(flips) == pytest.approx(100, abs=4 * np.sqrt(400 * 0.25 * 0.75))
    again = RewardAccounting("cts-beta", Binomial(4), 1, "club")
    assert [again.credit(0.25, number, a, 9) for number in range(1, 41) for a in range(1, 11)] == flips
    other = RewardAccounting("cts-beta", Binomial(4), 1, "other")
    assert [other.credit(0.25, number, a, 9) for number in range(1, 41) for a in range(1, 11)] != flips
    of_pairs = {accounting.credit(0.5, 1, a, b) for a, b in [(1, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 4), (1, 5)]}
    assert of_pairs == {0.0, 1.0}  # each pair of a proposal has a coin of its own
    assert accounting.credit_total(10, 3.75) == 4.0

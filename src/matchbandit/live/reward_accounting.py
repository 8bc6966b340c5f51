"""What a result adds to a policy's sums: its reward, or what the policy makes of it."""

import numpy as np

from matchbandit.graphs import monopartite
from matchbandit.policies.catalogue import CATALOGUE, counts_policy
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.rewards import Bernoulli, Counts, Floats, RewardDistribution
from matchbandit.seeding import stream
from matchbandit.strengths import clip_outliers


class RewardAccounting:
    """How a policy counts results: cts-beta flips a coin for rewards between 0 and 1, rank1-thompson clips slips."""

    def __init__(self, policy: str, rewards: RewardDistribution, seed: int, key: str) -> None:
        """As this policy does it, in the league of this seed and key."""
        self.policy, self.rewards, self.seed, self.key = policy, rewards, seed, key
        kind = CATALOGUE[policy]
        in_unit = rewards.low >= 0.0
        self._credits: CountsPolicy | None = None
        encodes = issubclass(kind, CountsPolicy) and kind.encode_rewards is not CountsPolicy.encode_rewards
        if encodes and not (in_unit and policy == "rank1-thompson"):
            # Stored rewards count whatever they are in [0, 1], which Bernoulli takes and Binomial refuses.
            self._credits = counts_policy(policy, monopartite(2), Bernoulli() if in_unit else rewards)
        self._flips = in_unit
        """Coins are flipped for rewards in [0, 1] only; for others no stream is made."""
        self._no_stream = stream(seed, "booking", key)

    @property
    def is_plain(self) -> bool:
        """Does it take rewards as they are?"""
        return self._credits is None

    def one(self, reward: float, number: int, a: int, b: int) -> float:
        """What one result adds, by a stream of its own: the same whenever it is asked."""
        if self._credits is None or reward in (0.0, 1.0):
            return reward
        rng = stream(self.seed, "booking", self.key, number, a, b) if self._flips else self._no_stream
        return float(self._credits.encode_rewards([reward], rng)[0])

    def totals(self, counts: Counts, paid: Floats) -> Floats:
        """What so many results that paid so much in total add, as a warm start with them would."""
        if self.policy == "cts-beta":
            return np.asarray(np.rint(paid))
        return paid if self._credits is None else np.asarray(clip_outliers(self.rewards.noise, counts, paid))

    def total(self, count: int, paid: float) -> float:
        """`totals` of one pair."""
        return float(self.totals(np.array([count]), np.array([paid]))[0])

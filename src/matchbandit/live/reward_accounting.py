"""Credits: what a result adds to the sums of a policy."""

import numpy as np

from matchbandit.graphs import monopartite
from matchbandit.policies.catalogue import CATALOGUE, counts_policy
from matchbandit.policies.counts_policy import CountsPolicy
from matchbandit.rewards import Counts, Floats, RewardDistribution
from matchbandit.seeding import stream
from matchbandit.strengths import clip_outliers


class RewardAccounting:
    """How a policy counts results: cts-beta flips a coin for rewards in (0, 1), rank1-thompson clips outliers."""

    def __init__(self, policy: str, rewards: RewardDistribution, seed: int, key: str) -> None:
        """For a policy in the league with this seed and key."""
        self.policy, self.rewards, self.seed, self.key = policy, rewards, seed, key
        kind = CATALOGUE[policy]
        in_unit = rewards.low >= 0.0
        self._policy: CountsPolicy | None = None
        encodes = issubclass(kind, CountsPolicy) and kind.encode_rewards is not CountsPolicy.encode_rewards
        if encodes and not (in_unit and policy == "rank1-thompson"):
            self._policy = counts_policy(policy, monopartite(2), rewards)
        self._flips = in_unit
        """Coins are flipped for rewards in [0, 1] only; others need no stream."""
        self._no_stream = stream(seed, "booking", key)

    @property
    def is_identity(self) -> bool:
        """Is the credit always the reward itself?"""
        return self._policy is None

    def credit(self, reward: float, number: int, a: int, b: int) -> float:
        """The credit of one result; its random stream is its own, so the credit is reproducible."""
        if self._policy is None or reward in (0.0, 1.0):
            return reward
        rng = stream(self.seed, "booking", self.key, number, a, b) if self._flips else self._no_stream
        return float(self._policy.encode_rewards([reward], rng)[0])

    def credit_totals(self, counts: Counts, paid: Floats) -> Floats:
        """The total credits of aggregated results, as in a warm start."""
        if self.policy == "cts-beta":
            return np.asarray(np.rint(paid))
        return paid if self._policy is None else np.asarray(clip_outliers(self.rewards.noise, counts, paid))

    def credit_total(self, count: int, paid: float) -> float:
        """The total credit of one pair."""
        return float(self.credit_totals(np.array([count]), np.array([paid]))[0])

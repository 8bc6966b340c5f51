"""What a result adds to a policy's sums: its reward, or what the policy makes of it."""

from dataclasses import dataclass

import numpy as np

from matchbandit.policies.rank1_model import FARTHEST, credible
from matchbandit.rewards import Counts, Floats, RewardDistribution, succeeds
from matchbandit.seeding import stream


@dataclass(frozen=True)
class Booking:
    """How the policy of a league counts results."""

    policy: str = ""
    rewards: RewardDistribution | None = None
    seed: int = 0
    key: str = ""

    @classmethod
    def plain(cls) -> "Booking":
        """The rewards as they are."""
        return cls()

    @classmethod
    def of(cls, policy: str, rewards: RewardDistribution, seed: int, key: str) -> "Booking":
        """As this policy does: `cts-beta` flips coins for rewards between 0 and 1, `rank1-thompson` clips slips."""
        flips = policy == "cts-beta"
        clips = policy == "rank1-thompson" and rewards.noise.sd > 0
        return cls(policy, rewards, seed, key) if flips or clips else cls()

    @property
    def is_plain(self) -> bool:
        """Does it take rewards as they are?"""
        return not self.policy

    def one(self, reward: float, number: int, a: int, b: int) -> float:
        """What one result adds, by a stream of its own: the same whenever it is asked."""
        if self.policy == "cts-beta" and 0.0 < reward < 1.0:
            return float(succeeds(reward, stream(self.seed, "booking", self.key, number, a, b)))
        if self.policy == "rank1-thompson" and self.rewards is not None:
            reach = FARTHEST * self.rewards.noise.sd
            return min(max(reward, -reach), 1.0 + reach)
        return reward

    def totals(self, counts: Counts, paid: Floats) -> Floats:
        """What so many results that paid so much in total add, as a warm start with them would."""
        if self.policy == "cts-beta":
            return np.asarray(np.rint(paid))
        return paid if self.rewards is None else np.asarray(credible(self.rewards.noise, counts, paid))

    def total(self, count: int, paid: float) -> float:
        """`totals` of one pair."""
        return float(self.totals(np.array([count]), np.array([paid]))[0])

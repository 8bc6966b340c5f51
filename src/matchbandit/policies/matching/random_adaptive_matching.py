"""Random Adaptive Matching: clusters and chains as in Adaptive-Matching, but every round drawn at random."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import ClassVar

import numpy as np

from matchbandit.confidence import NEVER
from matchbandit.plans import ShuffledRounds, Tally
from matchbandit.plans.chains import Group
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.matching.clusters import ClusterPolicy, Players, find_separations
from matchbandit.policies.options import Growth
from matchbandit.rewards import Floats


class RandomAdaptiveMatching(ClusterPolicy):
    """Adaptive-Matching for many players: balanced in expectation in every round, so there is no period to wait for.

    Clusters and chains are those of Adaptive-Matching [Sentenac2021]. But in every round each cluster draws one
    of its schemes uniformly at random, independently of the others and of the past. Then any two players i, j of a
    cluster meet every third player k with the same probability p_k, whatever cluster k is in. Let Z_t be the difference
    of their rewards in round t. Given the past, E[Z_t] = (u_i − u_j) Σ_k p_k u_k: it has the sign of u_i − u_j, in
    every round that they spend in the same cluster, which is every round so far. Hence players of a cluster are
    compared on their *total rewards*, every round counts, nothing is dropped at a split, and all share one count, the
    number of rounds n. Rewards lie in [0, 1], so Z_t − E[Z_t] are martingale differences in an interval of length 2,
    and by Azuma and Hoeffding P(Σ Z_t − E Σ Z_t ≥ 2 sqrt(n log T)) ≤ T^−2: the same rule as in Adaptive-Matching, two
    averages ± sqrt(log T / n) that do not overlap, is wrong for one pair at one check with probability at most T^−2,
    for all pairs and checks together at most 2N²/T. This holds whatever the earlier splits, so it has no gap there. For
    rewards outside [0, 1] with σ-sub-Gaussian noise, Z_t is sqrt(1 + 2σ²)-sub-Gaussian, and the radius grows so.

    What it gives up: opponents are drawn, not balanced, so a player's reward varies with the opponent even if there is
    no noise, and the intervals pay for that: where rewards have little noise (σ far below 1/2) Adaptive-Matching is far
    better. And samples against worse players count as well, which in a good cluster are worth less. What it gains: the
    published period, up to (2N)^4 rounds, is gone.

    Parameters
    ----------
    growth : float, default 1.05
        g, by which the counts grow at which all clusters are checked; 1 checks after every round.
    clusters : list of lists of players, optional
        Ordered clusters to start from, the best first, for example [[0, 1], [2, 3, 4, 5]]; by default one with all.
    """

    name: ClassVar[str] = "random-adaptive-matching"
    summary: ClassVar[str] = "Adaptive-Matching for many players: balanced in expectation, no period to wait for"
    reference: ClassVar[str] = "this library, after [Sentenac2021]"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",), graphs=("monopartite",), horizon=True, clusters=True, assumes_product=True
    )
    state_fields: ClassVar[tuple[str, ...]] = (*ClusterPolicy.state_fields, "count", "sums")

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: Growth = 1.05,
        clusters: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Nothing sampled; all players in one cluster, or in those to start from."""
        super().__init__(setting, rng, growth=growth, clusters=clusters)
        paid = setting.rewards
        sigma = 0.5 if paid.low >= 0 and paid.high <= 1 else sqrt(1 / 4 + paid.sigma**2 / 2)
        self.checks = replace(self.checks, sigma=sigma)
        self.count = 0
        """Rounds, the samples of each player."""
        self.sums = np.zeros(self.n)
        """The total reward of each player."""

    def plan(self) -> ShuffledRounds:
        """Rounds drawn at random, until all clusters are checked."""
        can_split = any(group.splittable(k) for group in self.groups for k in range(len(group.clusters)))
        limit = self.checks.following(self.count) - self.count if can_split else NEVER
        return ShuffledRounds(self.groups, limit=limit)

    def learn(self, tally: Tally) -> None:
        """Add up the rewards of each player, and split every cluster where two neighbours are separated."""
        pairs = np.concatenate([group.pairs for group in self.groups])
        np.add.at(self.sums, pairs, tally.sums[:, None])
        self.count += tally.sweeps
        radius, means = self.checks.radius(self.count), self.averages()
        clusters: list[Players] = []
        for group in self.groups:
            for k, members in enumerate(group.clusters):
                ranked, places = find_separations(members, means[members], radius)
                clusters += np.split(ranked, places if group.splittable(k) else [])
        if len(clusters) > len(self.clusters):
            self.arrange(clusters)

    def averages(self) -> Floats:
        """The average reward of each player."""
        return np.asarray(self.sums / max(1, self.count))

    def samples(self, group: Group, k: int) -> int:
        """All rounds count for everyone."""
        return self.count

"""Random Adaptive Matching: clusters and chains as in Adaptive-Matching, but every round drawn at random."""

from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchbandit.confidence import NEVER
from matchbandit.plans import Plan, ShuffledRounds, Tally
from matchbandit.policies.fits import Fits
from matchbandit.policies.matching.clusters import ClusterPolicy, Group
from matchbandit.rewards import Floats


class RandomAdaptiveMatching(ClusterPolicy):
    """Adaptive-Matching for many players: balanced in expectation in every round, so there is no period to wait for.

    Clusters and chains are those of Adaptive-Matching (Sentenac et al. 2021). But in every round each cluster draws one
    of its schemes uniformly at random, independently of the others and of the past. Then any two players i, j of a
    cluster meet every third player k with the same probability p_k, whatever cluster k is in. Let Z_t be the difference
    of their rewards in round t. Given the past, E[Z_t] = (u_i − u_j) Σ_k p_k u_k: it has the sign of u_i − u_j, in
    every round that they spend in the same cluster, which is every round so far. Hence players of a cluster are
    compared on their *total rewards*, every round counts, nothing is dropped at a split, and all share one count, the
    number of rounds n. Rewards lie in [0, 1], so Z_t − E[Z_t] are martingale differences in an interval of length 2,
    and by Azuma and Hoeffding P(Σ Z_t − E Σ Z_t ≥ 2 sqrt(n log T)) ≤ T^−2: the same rule as in Adaptive-Matching, two
    averages ± sqrt(log T / n) that do not overlap, is wrong for one pair at one check with probability at most T^−2,
    for all pairs and checks together at most 2N²/T. This holds whatever the earlier splits, so it has no gap there. For
    laws outside [0, 1] with σ-sub-Gaussian noise, Z_t is sqrt(1 + 2σ²)-sub-Gaussian, and the radius grows accordingly.

    What it gives up: opponents are drawn, not balanced, so a player's reward varies with the opponent even if there is
    no noise, and the intervals pay for that: where rewards have little noise (σ far below 1/2) Adaptive-Matching is far
    better. And samples against worse players count as well, which in a good cluster are worth less. What it gains: the
    published period, up to (2N)^4 rounds, is gone.

    Options: `growth` g of the counts at which all clusters are checked; `clusters`, ordered clusters to start from.
    """

    name: ClassVar[str] = "random-adaptive-matching"
    summary: ClassVar[str] = "Adaptive-Matching for many players: balanced in expectation, no period to wait for"
    reference: ClassVar[str] = "this library, after Sentenac et al. 2021"
    fits: ClassVar[Fits] = Fits(
        selections=("matching",), graphs=("monopartite",), proved=("regret",), horizon=True, clusters=True
    )
    remembered: ClassVar[tuple[str, ...]] = (*ClusterPolicy.remembered, "count", "sums")

    def empty_ledgers(self) -> None:
        """Nothing sampled."""
        self.count = 0
        """Rounds, the samples of each player."""
        self.sums = np.zeros(self.n)
        """The total reward of each player."""

    @property
    def spread(self) -> float:
        """1/2 for rewards in [0, 1]; else that of a Gaussian which dominates the difference of two rewards."""
        law = self.setting.rewards
        in_unit = law.low >= 0 and law.high <= 1
        return 0.5 if in_unit else sqrt(1 / 4 + law.sigma**2 / 2)

    def plan(self) -> Plan:
        """Rounds drawn at random, until all clusters are checked."""
        groups = self.layout.groups
        can_split = any(group.splittable(k) for group in groups for k in range(len(group.chain.sizes)))
        return ShuffledRounds(
            edges=np.concatenate([group.edges for group in groups]),
            chains=tuple(group.chain for group in groups),
            limit=self.checks.following(self.count) - self.count if can_split else NEVER,
        )

    def learn(self, tally: Tally) -> None:
        """Add up the rewards of each player, and split every cluster where two neighbours are separated."""
        pairs = np.concatenate([group.pairs for group in self.layout.groups])
        np.add.at(self.sums, pairs, tally.sums[:, None])
        self.count += tally.sweeps
        radius, means = self.checks.radius(self.count), self.averages()
        clusters: list[NDArray[np.int64]] = []
        for group in self.layout.groups:
            for k in range(len(group.chain.sizes)):
                members = group.members(k)
                clusters += self.cut(members, means[members], radius) if group.splittable(k) else [members]
        if len(clusters) > len(self.sizes):
            self.arrange(clusters)
            self.record()

    def averages(self) -> Floats:
        """The average reward of each player."""
        return np.asarray(self.sums / max(1, self.count))

    def _of_cluster(self, group: Group, k: int) -> dict[str, Any]:
        following = self.checks.following(self.count)
        can = group.splittable(k) and following < NEVER
        return {"samples_each": self.count, "next_check_at_samples": following if can else None}

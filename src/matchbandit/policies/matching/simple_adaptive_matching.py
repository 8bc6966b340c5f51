"""Simple Adaptive Matching: Adaptive-Matching for players that come in equal pairs."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from matchbandit.errors import warn_user
from matchbandit.plans import ChainRounds, Tally
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import Capabilities, TheoremOption
from matchbandit.policies.matching.clusters import ClusterPolicy, Clusters, check_clusters, find_separations
from matchbandit.policies.options import Growth


class SimpleAdaptiveMatching(ClusterPolicy):
    """simple-Adaptive-Matching, Section 4 of [Sentenac2021]; Theorem 4.3: O(N log N log T / Δ_min).

    It assumes that u_(2i−1) = u_(2i) for all i, so the ordered clusters are split at even places only, and stay even.
    Each round every cluster S plays the next round of its own round-robin, of |S| − 1 rounds, and commits its samples
    X̃, C̃ to X, C when that is complete; nothing is ever dropped. Player i's average Q(i) pools its committed samples
    against its own and better clusters, ± sqrt(log T / k_l) whenever their number reaches k_l (see `confidence.Checks`,
    β = T). Then S is split wherever the upper bound of a player is below the lower bound of the one before, in the
    order of Q. Two players are finished.

    Two neighbours at an odd place who are separated, and clusters of odd size to start from, contradict the assumption:
    the policy warns once, and goes on with even clusters (those to start from are joined with the next ones until they
    are even). For players of whom no two are equal use adaptive-matching.

    The published figures check after every completed tournament (`growth` 1); 1.05, the default, gives the same regret
    within a few percent at a hundredth of the cost. The proof has 4, which nearly doubles the regret. After a split the
    opponents that are pooled were chosen by looking at the same samples; the paper's union bound passes over that.

    Parameters
    ----------
    growth : float, default 1.05
        g, by which the counts k_l grow at which clusters are checked; 1 checks at every chance.
    clusters : list of lists of players, optional
        Ordered clusters to start from, the best first, for example [[0, 1], [2, 3, 4, 5]]; by default one with all.
    """

    name: ClassVar[str] = "simple-adaptive-matching"
    summary: ClassVar[str] = "Adaptive-Matching for players that come in equal pairs: clusters stay even"
    reference: ClassVar[str] = "[Sentenac2021], simple-Adaptive-Matching"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        graphs=("monopartite",),
        proved=("regret",),
        theorem_options=(TheoremOption("growth", maximum=4), TheoremOption("clusters", (None,))),
        horizon=True,
        clusters=True,
        assumes_product=True,
    )
    state_fields: ClassVar[tuple[str, ...]] = (*ClusterPolicy.state_fields, "warned")

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: Growth = 1.05,
        clusters: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """All players in one cluster, or in those to start from."""
        first_clusters = check_clusters(clusters, setting.graph)
        even = None if first_clusters is None else _joined(first_clusters)
        super().__init__(setting, rng, growth=growth, clusters=even)
        self.warned = False
        if even != first_clusters:
            self._warn("clusters of odd size are given; they are joined with the next ones")

    def learn(self, tally: Tally) -> None:
        """Commit the round-robins that are complete; check the clusters whose count has reached a k_l; split."""
        assert isinstance(self.current, ChainRounds)
        parts = {}
        for S, _, closing, still_open in self.current.by_cluster(tally):  # even clusters are in no chain with others
            before = self.samples(S, 0)
            if closing.sweeps:
                self.ledger.commit(S, 0, closing)
            self.ledger.keep_open(S, 0, still_open)
            count = self.samples(S, 0)
            if S.splittable(0) and count >= self.checks.following(before):
                ranked, places = find_separations(S.clusters[0], self.means(S, 0), self.checks.radius(count))
                even = [place for place in places if place % 2 == 0]
                if even != places:
                    self._warn("two players are told apart who would have to be partners of equal strength")
                parts[S.first_cluster] = np.split(ranked, even)
        self.ages = [age + tally.sweeps for age in self.ages]
        self.split(parts)

    def _warn(self, why: str) -> None:
        if not self.warned:
            warn_user(
                f"{self.name} assumes players in equal pairs and splits at even places only, but {why}. "
                f"adaptive-matching makes no such assumption."
            )
        self.warned = True


def _joined(clusters: Clusters) -> Clusters:
    """The clusters, those of odd size joined with the next ones until they are even."""
    even: Clusters = []
    for cluster in clusters:
        if even and len(even[-1]) % 2:
            even[-1] = sorted(even[-1] + cluster)
        else:
            even.append(cluster)
    return even

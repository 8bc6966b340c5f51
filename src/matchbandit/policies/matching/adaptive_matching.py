"""Adaptive-Matching: matchings within ordered clusters, which split as soon as their players are distinguishable."""

from typing import ClassVar

import numpy as np

from matchbandit.plans import ChainRounds, Tally
from matchbandit.policies.capabilities import Capabilities, TheoremOption
from matchbandit.policies.matching.clusters import ClusterPolicy, find_separations


class AdaptiveMatching(ClusterPolicy):
    """Adaptive-Matching with Sample-Matching, appendix of [Sentenac2021]; Theorem 4.4: O(N log N log T / Δ_min).

    Players are kept in ordered clusters. Each plays its own round-robin; clusters of odd size are joined to chains, in
    which in every round one item of each cluster meets one of the next (see `schedules.chains`). A cluster *commits*
    its samples whenever a period is complete: then any two of its players have met every third player of their own and
    better clusters equally often. Player i's average pools its committed samples against its own and better clusters;
    all players of a cluster share the count. It is checked when the count reaches k_1 < k_2 < … (see
    `confidence.Checks`, β = T), and the cluster is split wherever two neighbours in the order of averages are
    separated. When a cluster of a chain splits, the chain's uncommitted samples are dropped and its parts form new
    chains; other chains go on undisturbed. Two players who have only each other left are finished.

    Deviations from the paper as printed, all needed for the balance: "lower ranked" in the pooled average reads smaller
    index; a scheme between two clusters removes one pair of a round, not all before it too; a commit counts rounds; the
    ledger is directed, as neighbours commit at different rounds. The growth of the checks is 1.05 by default where the
    proof has 4: β = T pays for a check at every count, and larger steps only cost regret.

    After a split the opponents that are pooled were chosen by looking at the same samples; the paper's union bound
    passes over that. The failure rate of 4N/T is the paper's, with this gap.

    A period can reach (2N)^4 rounds.

    Parameters
    ----------
    growth : float, default 1.05
        g, by which the counts grow at which clusters are checked; the paper's is 4, and 1 checks at every chance.
    clusters : list of lists of players, optional
        Ordered clusters to start from, the best first, for example [[0, 1], [2, 3, 4, 5]]; by default one with all.
    """

    name: ClassVar[str] = "adaptive-matching"
    summary: ClassVar[str] = "matchings within ordered clusters, which split when players are distinguishable"
    reference: ClassVar[str] = "[Sentenac2021], Adaptive-Matching"
    capabilities: ClassVar[Capabilities] = Capabilities(
        selections=("matching",),
        graphs=("monopartite",),
        proved=("regret",),
        theorem_options=(TheoremOption("growth", maximum=4), TheoremOption("clusters", (None,))),
        horizon=True,
        clusters=True,
        assumes_product=True,
    )

    def learn(self, tally: Tally) -> None:
        """Commit what is complete; check the clusters whose count has reached a check; split."""
        assert isinstance(self.current, ChainRounds)
        parts = {}
        for group, k, closing, still_open in self.current.by_cluster(tally):
            before = self.samples(group, k)
            if closing.sweeps:
                self.ledger.commit(group, k, closing)
            self.ledger.keep_open(group, k, still_open)
            count = self.samples(group, k)
            if group.splittable(k) and count >= self.checks.following(before):
                ranked, places = find_separations(group.clusters[k], self.means(group, k), self.checks.radius(count))
                parts[group.first_cluster + k] = np.split(ranked, places)
        self.ages = [age + tally.sweeps for age in self.ages]
        self.split(parts)

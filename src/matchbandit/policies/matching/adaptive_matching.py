"""Adaptive-Matching: matchings within ordered clusters, which split as soon as their players can be told apart."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchbandit.confidence import NEVER
from matchbandit.plans import ChainRounds, Plan, Tally
from matchbandit.policies.fits import Fits
from matchbandit.policies.matching.clusters import ClusterPolicy, Group
from matchbandit.rewards import Floats


class AdaptiveMatching(ClusterPolicy):
    """Sentenac et al. 2021, Adaptive-Matching with Sample-Matching (appendix); Theorem 4.4: O(N log N log T / Δ_min).

    Players are kept in ordered clusters. Each plays its own round-robin; clusters of odd size are joined to chains, in
    which in every round one item of each cluster meets one of the next (see `schedules.chains`). A cluster *commits*
    its samples whenever a period is complete: then any two of its players have met every third player of their own and
    better clusters equally often. Player i's average pools its committed samples against its own and better clusters;
    all players of a cluster share the count. It is checked when the count reaches k_1 < k_2 < … (see
    `confidence.Checks`, β = T), and the cluster is split wherever two neighbours in the order of averages are
    separated. When a cluster of a chain splits, the chain's uncommitted samples are dropped and its parts form new
    chains; other chains go on undisturbed. Two players who have only each other left are finished.

    Deviations from the print, all needed for the balance: "lower ranked" in the pooled average reads smaller index; a
    scheme between two clusters removes one pair of a round, not all before it too; a commit counts rounds; the ledger
    is directed, as neighbours commit at different rounds. The growth of the checks is 1.05 by default where the proof
    has 4: β = T pays for a check at every count, and larger steps only cost regret.

    After a split the opponents that are pooled were chosen by looking at the same samples; the paper's union bound
    passes over that. The failure rate of 4N/T is the paper's, with this gap.

    A period can reach (2N)^4 rounds. For many players see random-adaptive-matching.

    Options: `growth` g; `clusters`, ordered clusters to start from, for example [[0, 1], [2, 3, 4, 5]].
    """

    name: ClassVar[str] = "adaptive-matching"
    summary: ClassVar[str] = "matchings within ordered clusters, which split when players can be told apart"
    reference: ClassVar[str] = "Sentenac et al. 2021, Adaptive-Matching"
    fits: ClassVar[Fits] = Fits(
        selections=("matching",), graphs=("monopartite",), proved=("regret",), horizon=True, clusters=True
    )
    remembered: ClassVar[tuple[str, ...]] = (
        *ClusterPolicy.remembered,
        "ages",
        "counts",
        "sums",
        "open_counts",
        "open_sums",
    )

    def empty_ledgers(self) -> None:
        """Nothing sampled; every chain at its beginning."""
        self.ages = np.zeros(len(self.layout.groups), dtype=np.int64)
        """Rounds since each chain began."""
        self.counts, self.sums = np.zeros((self.n, self.n), dtype=np.int64), np.zeros((self.n, self.n))
        """Committed samples: row i holds those of player i."""
        self.open_counts, self.open_sums = np.zeros(self.graph.n_pairs, dtype=np.int64), np.zeros(self.graph.n_pairs)
        """Samples of periods that are not complete."""

    def plan(self) -> Plan:
        """All chains, until the first cluster reaches a check."""
        groups = self.layout.groups
        edges = np.concatenate([group.edges for group in groups])
        checked = [self._to_check(group, k, age) for group, age in self._aged() for k in _splittable(group)]
        return ChainRounds(
            edges=np.concatenate([edges, edges]),
            chains=tuple(group.chain for group in groups),
            ages=tuple(self.ages.tolist()),
            limit=min(checked, default=NEVER),
        )

    def learn(self, tally: Tally) -> None:
        """Commit what is complete; check the clusters whose count has reached a check; split."""
        plan = self.current
        assert isinstance(plan, ChainRounds)
        pieces: dict[int, list[NDArray[np.int64]]] = {}
        for number, (group, age) in enumerate(self._aged()):
            for k, period in enumerate(group.chain.periods):
                before = self.samples(group, k)
                cells = slice(plan.firsts[number] + group.cells(k).start, plan.firsts[number] + group.cells(k).stop)
                self._book(
                    group, k, tally, cells, plan.firsts[-1], commits=(age + tally.sweeps) // period > age // period
                )
                count = self.samples(group, k)
                if group.splittable(k) and count >= self.checks.following(before) > before:
                    parts = self.cut(group.members(k), self._means(group, k), self.checks.radius(count))
                    if len(parts) > 1:
                        pieces[group.first_cluster + k] = parts
        self.ages += tally.sweeps
        if pieces:
            self._split(pieces)

    def samples(self, group: Group, k: int) -> int:
        """Committed samples of each player of a cluster against its own and better clusters."""
        return int(self.counts[group.members(k)[0], self._pool(group, k)].sum())

    def averages(self) -> Floats:
        """The pooled average of each player."""
        means = np.zeros(self.n)
        for group in self.layout.groups:
            for k in range(len(group.chain.sizes)):
                means[group.members(k)] = self._means(group, k)
        return means

    def _means(self, group: Group, k: int) -> Floats:
        members, pool = group.members(k), self._pool(group, k)
        return np.asarray(self.sums[np.ix_(members, pool)].sum(axis=1) / max(1, self.samples(group, k)))

    def _pool(self, group: Group, k: int) -> NDArray[np.int64]:
        """The players of this cluster and of all better ones."""
        return self.order[: int(self.sizes[: group.first_cluster + k + 1].sum())]

    def _aged(self) -> list[tuple[Group, int]]:
        return list(zip(self.layout.groups, self.ages.tolist(), strict=True))

    def _to_check(self, group: Group, k: int, age: int) -> int:
        """Rounds until a cluster's count reaches its next check, at the end of one of its periods."""
        period, gain, count = group.chain.periods[k], group.chain.gains[k], self.samples(group, k)
        missing = self.checks.following(count) - count
        return min((age // period + -(-missing // gain)) * period - age, NEVER)

    def _book(self, group: Group, k: int, tally: Tally, cells: slice, half: int, *, commits: bool) -> None:
        """Take in what a plan brought to the pairs that a cluster uses."""
        edges, still_open = group.edges[group.cells(k)], slice(cells.start + half, cells.stop + half)
        if commits:
            closed_counts = self.open_counts[edges] + tally.counts[cells]
            closed_sums = self.open_sums[edges] + tally.sums[cells]
            better, own = group.pairs[group.cells(k)].T
            within = len(edges) if k == 0 else group.chain.sizes[k] * (group.chain.sizes[k] - 1) // 2
            for ledger, closed in ((self.counts, closed_counts), (self.sums, closed_sums)):
                ledger[own, better] += closed
                ledger[better[:within], own[:within]] += closed[:within]
            self.open_counts[edges] = 0
            self.open_sums[edges] = 0
        self.open_counts[edges] += tally.counts[still_open]
        self.open_sums[edges] += tally.sums[still_open]

    def _split(self, pieces: dict[int, list[NDArray[np.int64]]]) -> None:
        """Replace clusters by their parts; a chain of which one splits begins anew, without its open samples."""
        clusters: list[NDArray[np.int64]] = []
        starts: dict[int, int] = {}
        for group, age in self._aged():
            numbers = range(group.first_cluster, group.first_cluster + len(group.chain.sizes))
            broken = any(number in pieces for number in numbers)
            if broken:
                self.open_counts[group.edges], self.open_sums[group.edges] = 0, 0
            starts[int(group.items[0])] = 0 if broken else age
            for number in numbers:
                clusters += pieces.get(number, [self.layout.clusters[number]])
        self.arrange(clusters)
        self.ages = np.array([starts.get(int(group.items[0]), 0) for group in self.layout.groups])
        self.record()

    def _of_cluster(self, group: Group, k: int) -> dict[str, Any]:
        count = self.samples(group, k)
        following = self.checks.following(count)
        can = group.splittable(k) and following < NEVER
        return {
            "samples_each": count,
            "period": group.chain.periods[k],
            "next_check_at_samples": following if can else None,
        }


def _splittable(group: Group) -> list[int]:
    return [k for k in range(len(group.chain.sizes)) if group.splittable(k)]

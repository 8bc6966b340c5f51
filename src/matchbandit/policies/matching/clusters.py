"""What policies share that cut the players into ordered clusters, finer and finer."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchbandit.confidence import NEVER, Checks
from matchbandit.errors import MatchbanditError, check_int
from matchbandit.graphs import Graph, Pairs
from matchbandit.plans import ChainRounds, Tally
from matchbandit.plans.chains import Group, group_clusters
from matchbandit.policies.base import Setting
from matchbandit.policies.options import Growth
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Counts, Floats
from matchbandit.schedules.chains import chain_ends

Clusters = list[list[int]]
Players = NDArray[np.int64]


@dataclass
class ClusterLedger:
    """Samples of players in clusters: committed when a period of their cluster is complete, open until then."""

    counts: Counts
    """Committed: row i holds those of player i. A pair across two clusters is booked for the lower player alone."""
    sums: Floats
    open_counts: Counts
    """Of periods that are not complete, by edge."""
    open_sums: Floats

    @classmethod
    def empty(cls, graph: Graph) -> "ClusterLedger":
        """Nothing sampled."""
        shape, n = graph.shape, graph.n_pairs
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(n, dtype=np.int64), np.zeros(n))

    def commit(self, group: Group, k: int, tally: Tally) -> None:
        """A period of a group's k-th cluster is complete: commit what was open of the pairs that it uses, and this."""
        edges = group.edges[group.cells(k)]
        better, own = group.pairs[group.cells(k)].T
        within = group.chain.sizes[k] * (group.chain.sizes[k] - 1) // 2  # both players of these are of the cluster
        parts = ((self.counts, self.open_counts, tally.counts), (self.sums, self.open_sums, tally.sums))
        for totals, open_totals, last in parts:
            complete = open_totals[edges] + last
            totals[own, better] += complete
            totals[better[:within], own[:within]] += complete[:within]
            open_totals[edges] = 0

    def keep_open(self, group: Group, k: int, tally: Tally) -> None:
        """Keep these until the period is complete."""
        edges = group.edges[group.cells(k)]
        self.open_counts[edges] += tally.counts
        self.open_sums[edges] += tally.sums

    def drop(self, group: Group) -> None:
        """Forget what is open of a group."""
        self.open_counts[group.edges], self.open_sums[group.edges] = 0, 0


class ClusterPolicy(PlannedPolicy):
    """Keeps an order of clusters: every player of a cluster is better than all of the next, with high probability.

    Players are judged by committed samples against their own and better clusters.
    """

    state_fields: ClassVar[tuple[str, ...]] = ("clusters", "history", "ledger", "ages")

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
        super().__init__(setting, rng, clusters=first_clusters)
        self.n = self.graph.n_items
        self.checks = Checks(self.options["growth"], log(setting.horizon or 1), setting.rewards.sigma)
        self.clusters: Clusters = first_clusters or [list(range(self.n))]
        """The players of each cluster, the best cluster first; replaced as a whole, never changed."""
        self.history: list[Any] = []
        self._layout: tuple[Clusters, tuple[Group, ...], Players] = ([], (), np.zeros(0, dtype=np.int64))
        self.ledger = ClusterLedger.empty(self.graph)
        self.ages = [0] * len(self.groups)
        """Rounds since each chain began."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """The clusters in their chains."""
        return self._current_layout()[1]

    def better(self, group: Group, k: int) -> Players:
        """The players of a group's k-th cluster and of all better ones."""
        return self._current_layout()[2][: group.ends[k]]

    def _current_layout(self) -> tuple[Clusters, tuple[Group, ...], Players]:
        """The clusters with their groups and all players in order, worked out anew when the clusters are others."""
        if self._layout[0] is not self.clusters:
            groups = group_clusters(self.clusters, self.graph)
            self._layout = self.clusters, groups, np.concatenate([c for group in groups for c in group.clusters])
        return self._layout

    @property
    def chains(self) -> list[Clusters]:
        """The clusters of each chain."""
        return [[cluster.tolist() for cluster in group.clusters] for group in self.groups]

    @property
    def splits(self) -> list[tuple[int, Clusters]]:
        """The round after which each split was made, and the clusters from then on."""
        return [(at, [list(cluster) for cluster in clusters]) for at, clusters, _ in self.history]

    def arrange(self, clusters: Sequence[Players]) -> None:
        """Replace the clusters by their parts after a split; the players of a split cluster are in order of averages.

        The history keeps the round, the new clusters, and the averages and the radius that separated two parts.
        """
        separations = self._separations(clusters)
        self.clusters = [sorted(cluster.tolist()) for cluster in clusters]
        self.history.append([self.rounds, self.clusters, separations])

    def _separations(self, parts: Sequence[Players]) -> list[list[float]]:
        """Return [above, below, average above, average below, radius] for every two neighbouring parts of a cluster."""
        averages = self.averages()
        clusters = [(group, k) for group in self.groups for k in range(len(group.clusters))]
        cluster_of = {player: at for at, (group, k) in enumerate(clusters) for player in group.clusters[k].tolist()}
        separations = []
        for upper, lower in pairwise(parts):
            above, below = int(upper[-1]), int(lower[0])
            if cluster_of[above] == cluster_of[below]:
                radius = self.checks.radius(self.samples(*clusters[cluster_of[above]]))
                separations.append([above, below, float(averages[above]), float(averages[below]), radius])
        return separations

    def plan(self) -> ChainRounds:
        """Each cluster's own rounds, until one of them reaches a check, which it does at the end of a period."""
        waits = []
        for group, age in zip(self.groups, self.ages, strict=True):
            for k, (period, gain) in enumerate(zip(group.chain.periods, group.chain.gains, strict=True)):
                if group.splittable(k):
                    count = self.samples(group, k)
                    periods = -(-(self.checks.following(count) - count) // gain)
                    waits.append(periods * period - age % period)
        return ChainRounds(self.groups, self.ages, limit=min([*waits, NEVER]))

    def samples(self, group: Group, k: int) -> int:
        """Committed samples of each player of a cluster against its own and better clusters."""
        return int(self.ledger.counts[group.clusters[k][0], self.better(group, k)].sum())

    def means(self, group: Group, k: int) -> Floats:
        """Their averages; 0 before the first sample."""
        sums = self.ledger.sums[np.ix_(group.clusters[k], self.better(group, k))].sum(axis=1)
        return np.asarray(sums / max(1, self.samples(group, k)))

    def averages(self) -> Floats:
        """The pooled average of each player."""
        means = np.zeros(self.n)
        for group in self.groups:
            for k, members in enumerate(group.clusters):
                means[members] = self.means(group, k)
        return means

    def split(self, parts_of: dict[int, list[Players]]) -> None:
        """Replace clusters by their parts; a chain of which one splits begins anew, without its open samples."""
        clusters: list[Players] = []
        ages: list[int] = []
        for group, age in zip(self.groups, self.ages, strict=True):
            parts = [parts_of.get(group.first_cluster + k, [members]) for k, members in enumerate(group.clusters)]
            now = [part for of_cluster in parts for part in of_cluster]
            clusters += now
            if len(now) == len(parts):
                ages.append(age)
            else:
                self.ledger.drop(group)
                ages += [0] * len(chain_ends(tuple(map(len, now))))
        self.ages = ages
        if len(clusters) > len(self.clusters):
            self.arrange(clusters)

    def recommend(self) -> Pairs:
        """Neighbours in the order of clusters, within a cluster of averages (ties: the lower index)."""
        averages = self.averages()
        ranked = [sorted(cluster, key=lambda player: -averages[player]) for cluster in self.clusters]  # a stable sort
        return np.sort(np.concatenate(ranked).reshape(-1, 2), axis=1)

    def explain_extra(self) -> dict[str, Any]:
        """The clusters, and when they are checked."""
        return {**self.describe_clusters(), "next_check": self.next_check()}

    def describe_clusters(self) -> dict[str, Any]:
        """The clusters as plain data, for `explain`."""
        averages, clusters = self.averages(), []
        for group in self.groups:
            for k, members in enumerate(group.clusters):
                count = self.samples(group, k)
                following = self.checks.following(count) if group.splittable(k) else NEVER
                clusters.append({
                    "players": members.tolist(),
                    "samples": count,
                    "estimates": averages[members].tolist() if count else None,
                    "radius": self.checks.radius(count) if count else None,
                    "next_check_at_samples": following if following < NEVER else None,
                })  # fmt: skip
        names = ("above", "below", "average_above", "average_below", "radius")
        splits = [
            {
                "round": at,
                "clusters": [list(cluster) for cluster in parts],
                "separations": [dict(zip(names, numbers, strict=True)) for numbers in separations],
            }
            for at, parts, separations in self.history
        ]
        periods = [period for group in self.groups for period in group.chain.periods]
        return {"clusters": clusters, "details": {"chains": self.chains, "splits": splits, "periods": periods}}


def find_separations(members: Players, means: Floats, radius: float) -> tuple[Players, list[int]]:
    """The players in the order of their averages, and after how many of them two neighbours are separated."""
    order = np.lexsort((members, -means))
    low, high = means[order][1:] + radius, means[order][:-1] - radius
    return members[order], (np.flatnonzero(low < high) + 1).tolist()


def check_clusters(clusters: Any, graph: Graph) -> Clusters | None:
    """Clusters that name each player once, best cluster first; None: all together.

    On a graph that has no players the policy is refused for that, and nothing is looked at here.
    """
    if clusters is None or graph.is_bipartite:
        return None
    n_items = graph.n_items
    try:
        parts = [[check_int("clusters", item, minimum=0, maximum=n_items - 1) for item in part] for part in clusters]
    except (TypeError, MatchbanditError):
        parts, why = [], "something in it is not a player"
    else:
        players = [item for part in parts for item in part]
        missing = sorted(set(range(n_items)) - set(players))
        twice = sorted({item for item in players if players.count(item) > 1})
        empty = "" if all(parts) else "one of them is empty"
        why = f"missing: {missing}" if missing else f"twice: {twice}" if twice else empty
    if why:
        raise MatchbanditError(
            f"clusters must list each of the players 0 … {n_items - 1} once, best cluster first, "
            f"such as [[0, 1], [2, 3]]; got {clusters!r} ({why})."
        )
    return [sorted(part) for part in parts]

"""What policies share that cut the players into ordered clusters, finer and finer."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchbandit.confidence import Checks
from matchbandit.errors import MatchbanditError, whole_number
from matchbandit.graphs import Edges, Graph, Pairs
from matchbandit.policies.base import Setting
from matchbandit.policies.planned_policy import PlannedPolicy
from matchbandit.rewards import Floats
from matchbandit.schedules.chains import Chain, chain, chain_ends

Clusters = list[list[int]]


@dataclass(frozen=True, eq=False)
class Group:
    """A chain of clusters with the players in it."""

    chain: Chain
    items: NDArray[np.int64]
    """The players, cluster after cluster."""
    first_cluster: int
    """The number of its first cluster among all."""
    pairs: Pairs
    """The players of each cell of the chain, the one of the better cluster first."""
    edges: Edges

    def members(self, k: int) -> NDArray[np.int64]:
        """The players of its k-th cluster."""
        return self.items[self.chain.firsts[k] : self.chain.firsts[k + 1]]

    def cells(self, k: int) -> slice:
        """The cells that its k-th cluster uses."""
        return slice(self.chain.first_cells[k], self.chain.first_cells[k + 1])

    def splittable(self, k: int) -> bool:
        """May its k-th cluster split? Not if it is a single player, or two who play each other anyway."""
        size = self.chain.sizes[k]
        return size > 1 and not (size == 2 and len(self.chain.sizes) == 1)


@dataclass(frozen=True, eq=False)
class Layout:
    """Ordered clusters, grouped into chains."""

    clusters: tuple[NDArray[np.int64], ...]
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, clusters: Sequence[NDArray[np.int64]], graph: Graph) -> "Layout":
        """The clusters with their chains."""
        sizes = tuple(len(cluster) for cluster in clusters)
        groups, first = [], 0
        for end in chain_ends(sizes):
            schedule, items = chain(sizes[first:end]), np.concatenate(clusters[first:end])
            pairs = items[schedule.pairs]
            groups.append(Group(schedule, items, first, pairs, graph.edges(pairs)))
            first = end
        return cls(tuple(clusters), tuple(groups))


class ClusterPolicy(PlannedPolicy):
    """Keeps an order of clusters: every player of a cluster is better than all of the next, with high probability."""

    remembered: ClassVar[tuple[str, ...]] = ("order", "sizes", "history")

    def __init__(
        self,
        setting: Setting,
        rng: np.random.Generator,
        *,
        growth: float = 1.05,
        clusters: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """All players in one cluster, or in those to start from."""
        self.begin(setting, rng, growth=growth, clusters=clusters)

    def begin(self, setting: Setting, rng: np.random.Generator, *, growth: float, **options: Any) -> None:
        """Nothing sampled, in the first clusters; for constructors with other options."""
        super().__init__(setting, rng, growth=growth, **options)
        self.n = self.graph.shape[0]
        self.checks = Checks(growth, log(setting.horizon or 1), self.spread)
        self.history: list[Any] = []
        self.arrange([np.array(cluster) for cluster in self.first_clusters()])
        self.empty_ledgers()

    @abstractmethod
    def empty_ledgers(self) -> None:
        """Nothing sampled."""

    def first_clusters(self) -> Clusters:
        """The clusters to start from."""
        if self.options["clusters"] is None:
            return [list(range(self.n))]
        self.options["clusters"] = checked_clusters(self.options["clusters"], self.n)
        return list(self.options["clusters"])

    @property
    def spread(self) -> float:
        """σ of what is compared."""
        return self.setting.rewards.sigma

    @property
    def clusters(self) -> Clusters:
        """The players of each cluster, the best cluster first."""
        return [cluster.tolist() for cluster in self.layout.clusters]

    @property
    def chains(self) -> list[Clusters]:
        """The clusters of each chain."""
        return [[g.members(k).tolist() for k in range(len(g.chain.sizes))] for g in self.layout.groups]

    @property
    def splits(self) -> list[tuple[int, Clusters]]:
        """The round after which each split was made, and the clusters from then on."""
        return [(at, [list(cluster) for cluster in clusters]) for at, clusters in self.history]

    @cached_property
    def layout(self) -> Layout:
        """The clusters and their chains."""
        cuts = np.cumsum(self.sizes)[:-1]
        return Layout.of([np.sort(part) for part in np.split(self.order, cuts)], self.graph)

    def arrange(self, clusters: Sequence[NDArray[np.int64]]) -> None:
        """Take these for the clusters from now on."""
        self.order = np.concatenate(clusters).astype(np.int64)
        self.sizes = np.array([len(cluster) for cluster in clusters])
        self.__dict__.pop("layout", None)

    def record(self) -> None:
        """Note the clusters after a split."""
        self.history.append([self.rounds, self.clusters])

    def cut(self, members: NDArray[np.int64], means: Floats, radius: float) -> list[NDArray[np.int64]]:
        """The parts of a cluster: split wherever two neighbours in the order of averages are separated."""
        ranked = np.lexsort((members, -means))
        low, high = means[ranked][1:] + radius, means[ranked][:-1] - radius
        return [np.sort(part) for part in np.split(members[ranked], self.places(low < high))]

    def places(self, separated: NDArray[np.bool_]) -> NDArray[np.int64]:
        """After how many players to split, given between which neighbours it is possible: everywhere."""
        return np.flatnonzero(separated) + 1

    def recommend(self) -> Pairs:
        """Neighbours in the order of clusters, within a cluster of averages (ties: the lower index)."""
        places = np.repeat(np.arange(len(self.sizes)), self.sizes)[np.argsort(self.order)]
        ranked = np.lexsort((np.arange(self.n), -self.averages(), places))
        return np.sort(ranked.reshape(-1, 2), axis=1)

    @abstractmethod
    def averages(self) -> Floats:
        """What each player is judged by within the cluster; 0 before the first sample."""

    def _remember(self, memory: dict[str, Any]) -> None:
        self.__dict__.pop("layout", None)
        super()._remember(memory)

    def reasons(self) -> dict[str, Any]:
        averages = self.averages()
        return {
            "clusters": [
                {
                    "players": members.tolist(),
                    "estimates": averages[members].tolist() if known["samples_each"] else None,
                    **known,
                }
                for group in self.layout.groups
                for k in range(len(group.chain.sizes))
                for members, known in ((group.members(k), self._of_cluster(group, k)),)
            ],
            "chains": self.chains,
            "splits": [{"round": at, "clusters": clusters} for at, clusters in self.splits],
            "next_check": self.next_check(),
        }

    @abstractmethod
    def _of_cluster(self, group: Group, k: int) -> dict[str, Any]:
        """What `explain` says of a cluster beyond its players."""


def checked_clusters(clusters: Any, n_items: int) -> Clusters:
    """Clusters that name each player once, best cluster first."""
    otherwise = ""
    try:
        listed = [[whole_number("clusters", item, least=0, most=n_items - 1) for item in part] for part in clusters]
    except (TypeError, MatchbanditError):
        listed, otherwise = [], "something in it is no player"
    named = [item for part in listed for item in part]
    if sorted(named) != list(range(n_items)) or not all(listed):
        missing = sorted(set(range(n_items)) - set(named))
        twice = sorted({item for item in named if named.count(item) > 1})
        why = otherwise or (
            f"missing: {missing}" if missing else f"twice: {twice}" if twice else "one of them is empty"
        )
        raise MatchbanditError(
            f"clusters must list each of the players 0 … {n_items - 1} once, best cluster first, "
            f"such as [[0, 1], [2, 3]]; "
            f"got {clusters!r} ({why})."
        )
    return [sorted(part) for part in listed]

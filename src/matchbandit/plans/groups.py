"""Ordered clusters of players, grouped into the chains that play together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from matchbandit.graphs import Edges, Graph, Pairs
from matchbandit.schedules.chains import Chain, chain, chain_ends


@dataclass(frozen=True, eq=False)
class Group:
    """A chain of clusters with the players in it."""

    chain: Chain
    clusters: tuple[NDArray[np.int64], ...]
    """The players of each of its clusters."""
    first_cluster: int
    """The number of its first cluster among all."""
    ends: tuple[int, ...]
    """How many players there are in each of its clusters and all better ones together."""
    pairs: Pairs
    """The players of each cell of the chain, the one of the better cluster first."""
    edges: Edges

    def cells(self, k: int) -> slice:
        """The cells that its k-th cluster uses."""
        return slice(self.chain.first_cells[k], self.chain.first_cells[k + 1])

    def splittable(self, k: int) -> bool:
        """May its k-th cluster split? Not if it is a single player, or two who play each other anyway."""
        size = self.chain.sizes[k]
        return size > 1 and not (size == 2 and len(self.chain.sizes) == 1)


def grouped(clusters: Sequence[Sequence[int]], graph: Graph) -> tuple[Group, ...]:
    """The clusters, best first, in their chains."""
    arrays = [np.array(cluster, dtype=np.int64) for cluster in clusters]
    sizes = tuple(map(len, arrays))
    ends = tuple(accumulate(sizes))
    groups, first = [], 0
    for end in chain_ends(sizes):
        schedule = chain(sizes[first:end])
        pairs = np.concatenate(arrays[first:end])[schedule.pairs]
        groups.append(Group(schedule, tuple(arrays[first:end]), first, ends[first:end], pairs, graph.edges(pairs)))
        first = end
    return tuple(groups)

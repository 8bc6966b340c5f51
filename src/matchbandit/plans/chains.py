"""Chains of clusters of players, played side by side by a schedule."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from matchbandit.graphs import Edges, Graph, Pairs
from matchbandit.plans.base import Cells, Plan, Tally
from matchbandit.rewards import Counts
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


def group_clusters(clusters: Sequence[Sequence[int]], graph: Graph) -> tuple[Group, ...]:
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


@dataclass(frozen=True, eq=False)
class ChainRounds(Plan):
    """The rounds of several groups of clusters, played together; every round is a sweep of its own.

    A cluster commits its samples in whole periods only, and clusters end theirs at different rounds. When the plan is
    made it is known when it ends, so every play is counted in one of two cells of its pair: the *closing* one if the
    period of the cluster that uses it ends within the plan, else the *open* one, whose samples wait for the next plan.
    """

    edges: Edges = field(init=False)
    """The pairs of all groups' cells, twice: closing, then open."""
    groups: tuple[Group, ...]
    ages: list[int]
    """How many rounds of each group's chain have been played when the plan begins."""

    def __post_init__(self) -> None:
        """List the pairs."""
        object.__setattr__(self, "edges", np.concatenate([group.edges for group in self.groups] * 2))

    def by_cluster(self, tally: Tally) -> Iterator[tuple[Group, int, Tally, Tally]]:
        """What the whole plan brought to each cluster: its group, its place k there, closing and open samples.

        The sweeps of the first are the closing rounds: 0 if no period of the cluster has ended.
        """
        counts, sums = tally.counts.reshape(2, -1), tally.sums.reshape(2, -1)
        for first, group, age, closes in zip(self._firsts, self.groups, self.ages, self._closes, strict=False):
            for k, end in enumerate(closes):
                cells = slice(first + group.cells(k).start, first + group.cells(k).stop)
                closing = max(0, end - age)
                yield (group, k, Tally(closing, counts[0, cells], sums[0, cells]),
                       Tally(tally.sweeps - closing, counts[1, cells], sums[1, cells]))  # fmt: skip

    @cached_property
    def _firsts(self) -> list[int]:
        """The first cell of each group, and the number of all."""
        return list(accumulate((len(group.edges) for group in self.groups), initial=0))

    @cached_property
    def _closes(self) -> list[list[int]]:
        """For each cluster of each group, up to which of the chain's rounds plays are closing."""
        return [
            [(age + self.limit) // period * period for period in group.chain.periods]
            for group, age in zip(self.groups, self.ages, strict=True)
        ]

    @cached_property
    def _users(self) -> list[Counts]:
        chains = [group.chain for group in self.groups]
        return [np.repeat(np.arange(len(c.sizes)), np.diff(c.first_cells)) for c in chains]

    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """The round whose turn it is, group after group."""
        cells = []
        for k, (group, age) in enumerate(zip(self.groups, self.ages, strict=True)):
            played = group.chain.round(age + number)
            is_open = age + number >= np.array(self._closes[k])[self._users[k][played]]
            cells.append(self._firsts[k] + played + is_open * self._firsts[-1])
        return np.concatenate(cells)[None, :]

    def draw(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """The counts are a function of the rounds; nothing is drawn."""
        counts = []
        for group, age, closes in zip(self.groups, self.ages, self._closes, strict=True):
            start, end = age + pending.sweeps, age + pending.sweeps + most
            for k, closed in enumerate(closes):
                times = np.array([min(start, closed), min(end, closed), max(start, closed), max(end, closed)])
                met = group.chain.meetings(k, times)
                counts.append([met[1] - met[0], met[3] - met[2]])
        return most, np.concatenate([np.concatenate(of_half) for of_half in zip(*counts, strict=True)])

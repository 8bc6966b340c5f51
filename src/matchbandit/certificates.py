"""What must be certified for an answer, how often a certificate could be wrong, and what follows from those there are.

The answer is an ordered partition of the items of each side into *blocks*: it is right if every item of a block is
above every item of the next. A *link* a > b is bad if, in one fixed order that agrees with the strengths (ties: the
lower index first), a lies in a later block than b. docs/certified.md has the proof that an answer made of links none of
which is bad is right.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import comb, inf

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled
from matchbandit.graphs import Graph, Selection
from matchbandit.rewards import Counts, Floats

Links = NDArray[np.int64]
"""Ordered pairs of items, shape (k, 2)."""
Relation = NDArray[np.bool_]
"""Who is above whom, items × items."""


@dataclass(frozen=True)
class Target:
    """The answer that is sought, as blocks of each side; items are numbered consecutively, rows first."""

    sides: tuple[int, ...]
    """Where each side begins, and where the last one ends."""
    blocks: tuple[tuple[int, ...], ...]
    """The sizes of the blocks of each side, the strongest first."""
    loss_exponent: int = 1
    """κ: an answer whose order is wrong by ratios whose product is r is worth at least r^-κ of the optimum."""

    @classmethod
    def of(cls, graph: Graph, answer: Selection) -> "Target":
        """The blocks that make out the best pair or the best matching.

        >>> from matchbandit.graphs import bipartite, monopartite
        >>> Target.of(monopartite(6), "matching").blocks, Target.of(monopartite(5), "pair").blocks
        (((2, 2, 2),), ((2, 3),))
        >>> Target.of(bipartite(2, 4), "matching").blocks, Target.of(bipartite(2, 4), "pair").blocks
        (((1, 1), (1, 1, 2)), ((1, 1), (1, 3)))
        """
        pairs = 1 if answer == "pair" else graph.matching_size
        if graph.is_bipartite:
            return cls((0, graph.n_rows, graph.n_items), tuple(_blocks((1,) * pairs, n) for n in graph.side_sizes))
        kappa = 2 if answer == "pair" else 1
        return cls((0, graph.n_items), (_blocks((2,) * pairs, graph.n_items),), kappa)

    @cached_property
    def bad_links(self) -> int:
        """F: how many links would be bad, whatever the truth.

        >>> from matchbandit.graphs import bipartite, monopartite
        >>> Target.of(monopartite(6), "matching").bad_links, Target.of(bipartite(2, 4), "matching").bad_links
        (12, 6)
        """
        return sum(comb(sum(sizes), 2) - sum(comb(size, 2) for size in sizes) for sizes in self.blocks)

    @cached_property
    def n_links(self) -> int:
        """How many pairs of items of a side there are: of each, one order is wrong at most."""
        return sum(comb(sum(sizes), 2) for sizes in self.blocks)

    def log_loss(self, order: Counts, log_ratios: Floats) -> float:
        """The sum over the sides of the largest log ratio of an item to one of an earlier block of this order."""
        total = 0.0
        for first, sizes in zip(self.sides, self.blocks, strict=False):
            block = np.repeat(np.arange(len(sizes)), sizes)
            items = order[first : first + len(block)]
            before = block[:, None] < block[None, :]
            total += float(log_ratios[np.ix_(items, items)][before].max(initial=0.0))
        return total

    @cached_property
    def n_items(self) -> int:
        """How many items there are on all sides."""
        return self.sides[-1]

    @cached_property
    def starts(self) -> Counts:
        """The sides, for compiled code."""
        return np.array(self.sides)

    @cached_property
    def comparable(self) -> Relation:
        """Which items are compared: two of a side."""
        side = np.repeat(np.arange(len(self.blocks)), np.diff(self.starts))
        return np.asarray((side[:, None] == side[None, :]) & ~np.eye(len(side), dtype=bool))

    @cached_property
    def opponents(self) -> Counts:
        """How many opponents each item has in common with another of its side."""
        within = len(self.blocks) == 1
        common = [self.n_items - 2] if within else np.diff(self.starts)[::-1]
        return np.repeat(common, np.diff(self.starts))

    @cached_property
    def places(self) -> Links:
        """The borders of an order, as places in it: every place of a block before every place of the next."""
        links: list[tuple[int, int]] = []
        for first, sizes in zip(self.sides, self.blocks, strict=False):
            start = first
            for size, following in pairwise(sizes):
                middle, end = start + size, start + size + following
                links += [(a, b) for a in range(start, middle) for b in range(middle, end)]
                start = middle
        return np.array(links, dtype=np.int64).reshape(-1, 2)

    def borders(self, order: Counts) -> Links:
        """The links that certify the answer of this order: every item of a block above every item of the next."""
        return np.asarray(order[self.places])

    def weakest(self, order: Counts, chains: Floats) -> float:
        """By which log E the answer of this order is known: that of its weakest link; ∞ if it needs none."""
        links = self.borders(order)
        return float(chains[links[:, 0], links[:, 1]].min()) if len(links) else inf

    def missing(self, order: Counts, chains: Floats, needed: float) -> Links:
        """The links of the answer that lack evidence."""
        links = self.borders(order)
        return links[~(chains[links[:, 0], links[:, 1]] >= needed)]


def _blocks(first: tuple[int, ...], n_items: int) -> tuple[int, ...]:
    rest = n_items - sum(first)
    return (*first, rest) if rest else first


@compiled
def bottleneck_closure(links: Floats) -> Floats:
    """By which evidence a lies above b: that of the strongest chain of links from a to b.

    A chain is as strong as its weakest link: this is the transitive closure, for every threshold at once.
    """
    chains = links.copy()
    for via in range(len(chains)):
        for a in range(len(chains)):
            for b in range(len(chains)):
                if a != b:
                    chains[a, b] = max(chains[a, b], min(chains[a, via], chains[via, b]))
    return chains


@compiled
def shortest_chains(lengths: Floats) -> Floats:
    """The length of the shortest chain of links from every item to every other."""
    chains = lengths.copy()
    for via in range(len(chains)):
        for a in range(len(chains)):
            for b in range(len(chains)):
                if a != b:
                    chains[a, b] = min(chains[a, b], chains[a, via] + chains[via, b])
    return chains


@compiled
def linear_extension(strengths: Floats, sides: Counts, certified: Relation) -> Counts:
    """An order of the items of each side that agrees with what is certified, and beyond that with the strengths.

    Place by place the strongest of those that nobody left is above. Items that are certified above each other count as
    not certified: what stands above or below both is not touched by that, if `certified` has every chain of its links.

    >>> linear_extension(np.array([0.9, 0.8]), np.array([0, 2]), np.array([[False, False], [True, False]])).tolist()
    [1, 0]
    >>> both = np.array([[False, True, True], [True, False, True], [False, False, False]])
    >>> linear_extension(np.array([0.2, 0.3, 0.9]), np.array([0, 3]), both).tolist()
    [1, 0, 2]
    """
    order = np.empty(len(strengths), dtype=np.int64)
    left = np.ones(len(strengths), dtype=np.bool_)
    for side in range(len(sides) - 1):
        for place in range(sides[side], sides[side + 1]):
            best, best_is_beaten = -1, True
            for a in range(sides[side], sides[side + 1]):
                if left[a]:
                    is_beaten = False
                    for b in range(sides[side], sides[side + 1]):
                        if left[b] and certified[b, a] and not certified[a, b]:
                            is_beaten = True
                    if (
                        best < 0
                        or (best_is_beaten and not is_beaten)
                        or (is_beaten == best_is_beaten and strengths[a] > strengths[best])
                    ):
                        best, best_is_beaten = a, is_beaten
            order[place] = best
            left[best] = False
    return order

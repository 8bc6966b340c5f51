"""What must be certified for an answer, how often a certificate could be wrong, and what follows from those there are.

The answer is an ordered partition of the items of each side into *blocks*: it is right if every item of a block is
above every item of the next. A *link* a > b is bad if, in one fixed order that agrees with the strengths (ties: the
lower index first), a lies in a later block than b. docs/certified.md has the proof that an answer made of links none of
which is bad is right.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from matchbandit.compiled import compiled
from matchbandit.graphs import Graph, Selection
from matchbandit.rewards import Counts, Floats

Links = NDArray[np.int64]
"""Ordered pairs of items, shape (k, 2)."""


@dataclass(frozen=True)
class Goal:
    """The blocks of each side; items are numbered through, rows before columns."""

    sides: tuple[int, ...]
    """Where each side begins, and where the last one ends."""
    blocks: tuple[tuple[int, ...], ...]
    """The sizes of the blocks of each side, the strongest first."""

    @classmethod
    def of(cls, graph: Graph, answer: Selection) -> "Goal":
        """The blocks that make out the best pair or the best matching.

        >>> from matchbandit.graphs import bipartite, monopartite
        >>> Goal.of(monopartite(6), "matching").blocks, Goal.of(monopartite(5), "pair").blocks
        (((2, 2, 2),), ((2, 3),))
        >>> Goal.of(bipartite(2, 4), "matching").blocks, Goal.of(bipartite(2, 4), "pair").blocks
        (((1, 1), (1, 1, 2)), ((1, 1), (1, 3)))
        """
        if graph.kind == "monopartite":
            n, pairs = graph.shape[0], 1 if answer == "pair" else graph.shape[0] // 2
            return cls((0, n), (_blocks((2,) * pairs, n),))
        rows, columns = graph.shape
        ones = (1,) if answer == "pair" else (1,) * min(rows, columns)
        return cls((0, rows, rows + columns), (_blocks(ones, rows), _blocks(ones, columns)))

    @property
    def bad_links(self) -> int:
        """F: how many links would be bad, whatever the truth.

        >>> from matchbandit.graphs import bipartite, monopartite
        >>> Goal.of(monopartite(6), "matching").bad_links, Goal.of(bipartite(2, 4), "matching").bad_links
        (12, 6)
        """
        return sum(comb(sum(sizes), 2) - sum(comb(size, 2) for size in sizes) for sizes in self.blocks)

    def borders(self, order: Counts) -> Links:
        """The links that certify the answer of this order: every item of a block above every item of the next."""
        links: list[tuple[int, int]] = []
        for first, sizes in zip(self.sides, self.blocks, strict=False):
            start = first
            for size, following in zip(sizes, sizes[1:], strict=False):
                middle, end = start + size, start + size + following
                links += [(a, b) for a in order[start:middle].tolist() for b in order[middle:end].tolist()]
                start = middle
        return np.array(links, dtype=np.int64).reshape(-1, 2)


def _blocks(first: tuple[int, ...], n_items: int) -> tuple[int, ...]:
    rest = n_items - sum(first)
    return (*first, rest) if rest else first


@compiled
def strongest_chains(links: Floats) -> Floats:
    """By which evidence a lies above b: that of a chain of links from a to b is its weakest; the strongest chain counts.

    A chain of certified links is a certificate: this is the transitive closure for every threshold at once.
    """
    chains = links.copy()
    for via in range(len(chains)):
        for a in range(len(chains)):
            for b in range(len(chains)):
                if a != b:
                    chains[a, b] = max(chains[a, b], min(chains[a, via], chains[via, b]))
    return chains


def extension(strengths: Floats, sides: tuple[int, ...], *above: NDArray[np.bool_]) -> Counts:
    """An order of the items of each side that agrees with these relations, and beyond them with the strengths.

    Place by place the strongest of those that nobody left is above. Where the relations contradict each other, or
    themselves, the last ones give way, and in the end all of them.

    >>> known = np.array([[False, False], [True, False]])
    >>> extension(np.array([0.9, 0.8]), (0, 2), known).tolist(), extension(np.array([0.9, 0.8]), (0, 2)).tolist()
    ([1, 0], [0, 1])
    """
    relations = [np.logical_or.reduce(above[:k]) for k in range(len(above), 0, -1)]
    order: list[int] = []
    for first, end in zip(sides, sides[1:], strict=False):
        left = np.array(sorted(range(first, end), key=lambda item: (-strengths[item], item)))
        while len(left):
            beaten = [relation[np.ix_(left, left)].any(axis=0) for relation in relations]
            free = next((~below for below in beaten if not below.all()), np.ones(len(left), dtype=bool))
            order.append(int(left[free][0]))
            left = left[left != order[-1]]
    return np.array(order, dtype=np.int64)

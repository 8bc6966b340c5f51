"""Who can meet whom, and how a pair or a matching is written down.

A pair is two items, `(i, j)`: row i and column j of a bipartite graph, or players i < j of a monopartite one.
Pairs travel as int arrays of shape (k, 2). Inside the library each pair also has a number, its *edge*.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.compiled import compiled
from matchbandit.errors import MatchbanditError, check_int, unknown

Pairs = NDArray[np.int64]
Edges = NDArray[np.int64]
Selection = Literal["pair", "matching"]

MAX_PAIRS = 20_000_000
"""Graphs with more pairs are not listed: a number for each pair would take gigabytes."""
MAX_COUNTED_PAIRS = 1_000_000
"""Of graphs with more pairs, results name those that were played, in place of a count for each pair."""


@dataclass(frozen=True)
class Graph(ABC):
    """The items and the pairs that they can form."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape of a matrix with an entry for each pair."""

    @property
    @abstractmethod
    def matching_size(self) -> int:
        """How many pairs a largest matching has."""

    @cached_property
    @abstractmethod
    def pairs(self) -> Pairs:
        """All pairs, in the order of their edges."""

    @abstractmethod
    def _edges(self, pairs: Pairs) -> Edges:
        """The edges of pairs that are known to be valid."""

    @abstractmethod
    def pairs_of(self, edges: Edges) -> Pairs:
        """The pairs of these edges, without a list of all pairs.

        >>> monopartite(4).pairs_of(np.array([0, 5])).tolist()
        [[0, 1], [2, 3]]
        """

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """How many pairs there are."""

    @property
    def has_few_pairs(self) -> bool:
        """Is there a number for each pair in results, or only for those that were played?"""
        return self.n_pairs <= MAX_COUNTED_PAIRS

    def edges(self, pairs: ArrayLike) -> Edges:
        """The edge of each pair; players may come in either order.

        >>> monopartite(4).edges([(0, 1), (3, 2)]).tolist()
        [0, 5]
        """
        try:
            given = np.asarray(pairs)
        except ValueError:  # rows of uneven length
            given = np.asarray(None)
        if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
            raise MatchbanditError(
                f"pairs must be whole numbers of shape (k, 2), as ask() gives them; "
                f"got shape {given.shape} of {given.dtype}."
            )
        no_pair = (given < 0) | (given >= self.shape)
        if self.kind == "monopartite":
            given = np.stack([given.min(axis=1), given.max(axis=1)], axis=1)
            no_pair |= given[:, :1] == given[:, 1:]
        if no_pair.any():
            first = tuple(np.asarray(pairs)[no_pair.any(axis=1)][0].tolist())
            raise MatchbanditError(f"{first} is not a pair of {self}. Items are numbered from 0.")
        return self._edges(given.astype(np.int64, copy=False))

    def matrix(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values given per edge (last axis) as a matrix over the pairs; entries that are no pair are 0."""
        out = np.zeros((*values.shape[:-1], *self.shape), dtype=values.dtype)
        out[..., self.pairs[:, 0], self.pairs[:, 1]] = values
        return out

    def describe(self) -> dict[str, Any]:
        """The graph as plain data; `graph_from` reads it back."""
        return {"kind": self.kind, "shape": list(self.shape)}


@dataclass(frozen=True)
class BipartiteGraph(Graph):
    """Every row can meet every column."""

    n_rows: int
    n_columns: int
    kind: ClassVar[str] = "bipartite"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows × columns."""
        return self.n_rows, self.n_columns

    @property
    def matching_size(self) -> int:
        """The smaller side is fully matched."""
        return min(self.shape)

    @property
    def n_pairs(self) -> int:
        """Rows times columns."""
        return self.n_rows * self.n_columns

    @cached_property
    def pairs(self) -> Pairs:
        """All pairs, row by row."""
        refuse_if_too_large(self)
        return _read_only(np.stack(np.divmod(np.arange(self.n_pairs), self.n_columns), axis=1))

    def _edges(self, pairs: Pairs) -> Edges:
        return pairs[:, 0] * self.n_columns + pairs[:, 1]

    def pairs_of(self, edges: Edges) -> Pairs:
        """Quotient and remainder."""
        return np.stack(np.divmod(edges, self.n_columns), axis=1)

    def __str__(self) -> str:
        """Short words for error messages."""
        return f"bipartite {self.n_rows}×{self.n_columns}"


@dataclass(frozen=True)
class MonopartiteGraph(Graph):
    """Every player can meet every other player."""

    n_items: int
    kind: ClassVar[str] = "monopartite"

    @property
    def shape(self) -> tuple[int, int]:
        """Players × players; a pair stands at (i, j) with i < j."""
        return self.n_items, self.n_items

    @property
    def matching_size(self) -> int:
        """Half of the players; one sits out if their number is odd."""
        return self.n_items // 2

    @property
    def n_pairs(self) -> int:
        """Every two players once."""
        return self.n_items * (self.n_items - 1) // 2

    @cached_property
    def pairs(self) -> Pairs:
        """All pairs i < j, in lexicographic order."""
        refuse_if_too_large(self)
        return _read_only(np.stack(np.triu_indices(self.n_items, k=1), axis=1).astype(np.int64))

    def _edges(self, pairs: Pairs) -> Edges:
        i, j = pairs[:, 0], pairs[:, 1]
        return self._before(i) + (j - i - 1)

    def _before(self, i: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many pairs have a lower first player than i."""
        return i * (2 * self.n_items - i - 1) // 2

    def pairs_of(self, edges: Edges) -> Pairs:
        """The first player by the root of a quadratic equation, which floats may round to a neighbour.

        Counted from the end, m = n_pairs − 1 − edge, the last pair but k (k + 1)/2 has the first player n − 2 − k.
        """
        edges = np.asarray(edges, dtype=np.int64)
        last = self.n_items - 2
        i = last - ((np.sqrt(8.0 * (self.n_pairs - 1 - edges) + 1.0) - 1.0) / 2.0).astype(np.int64)
        i -= edges < self._before(i)
        i += edges >= self._before(i + 1)
        return np.stack([i, edges - self._before(i) + i + 1], axis=1)

    def __str__(self) -> str:
        """Short words for error messages."""
        return f"monopartite with {self.n_items} players"


def n_items(graph: Graph) -> int:
    """Rows and columns, or players.

    >>> n_items(bipartite(2, 3)), n_items(monopartite(4))
    (5, 4)
    """
    return sum(graph.shape) if graph.kind == "bipartite" else graph.shape[0]


@compiled
def player_edge(i: int, j: int, n_items: int) -> int:
    """The edge of two of n players, in either order: `MonopartiteGraph.edges` for compiled code."""
    low, high = min(i, j), max(i, j)
    return low * (2 * n_items - low - 1) // 2 + high - low - 1


def bipartite(n_rows: int, n_columns: int) -> BipartiteGraph:
    """The graph of n_rows rows and n_columns columns."""
    hint = "A bipartite graph needs an item on each side."
    return BipartiteGraph(
        check_int("n_rows", n_rows, minimum=1, hint=hint),
        check_int("n_columns", n_columns, minimum=1, hint=hint),
    )


def monopartite(n_items: int) -> MonopartiteGraph:
    """The graph of n_items players."""
    return MonopartiteGraph(check_int("n_items", n_items, minimum=2, hint="A pair needs two players."))


def _read_only(pairs: Pairs) -> Pairs:
    pairs.setflags(write=False)
    return pairs


def refuse_if_too_large(graph: Graph, hint: str = "Take fewer items.") -> None:
    """Refuse to keep a number for each pair of a graph that has too many, rather than run out of memory."""
    if graph.n_pairs > MAX_PAIRS:
        raise MatchbanditError(
            f"{graph} has {graph.n_pairs} pairs, and at most {MAX_PAIRS} can be kept in memory. {hint}"
        )


def graph_from(description: dict[str, Any]) -> Graph:
    """The graph that `describe` described."""
    kind, shape = description["kind"], description["shape"]
    if kind == "bipartite":
        return bipartite(*shape)
    if kind == "monopartite":
        return monopartite(shape[0])
    raise unknown("graph", kind, ["bipartite", "monopartite"])

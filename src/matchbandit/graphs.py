"""Who can meet whom, and how a pair or a matching is written down.

A pair is two items, `(i, j)`: row i and column j of a bipartite graph, or players i < j of a monopartite one.
Pairs travel as int arrays of shape (k, 2). Inside the library each pair also has a number, its *edge*, and each item
has one, its *item number*: items are numbered consecutively, rows first.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import MatchbanditError, check_int, unknown

Pairs = NDArray[np.int64]
Edges = NDArray[np.int64]
Selection = Literal["pair", "matching"]
Side = Literal["row", "column", "player"]

MAX_ITEMS = 10_000_000
"""Graphs with more items are refused: a few numbers for each item would take gigabytes."""

MAX_PAIRS = 20_000_000
"""Graphs with more pairs are not listed: a number for each pair would take gigabytes."""
MAX_COUNTED_PAIRS = 1_000_000
"""Of graphs with more pairs, results name those that were played, in place of a count for each pair."""


@dataclass(frozen=True)
class Graph(ABC):
    """The items and the pairs that they can form."""

    kind: ClassVar[str]
    is_bipartite: ClassVar[bool]
    n_items: int = field(init=False, repr=False, compare=False)
    """Rows and columns, or players."""
    n_rows: int = field(init=False, repr=False, compare=False)
    """The item number of the first column; 0 for players, who have no sides."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape of a matrix with an entry for each pair."""

    @property
    def side_sizes(self) -> tuple[int, ...]:
        """How many rows and how many columns; of players, their number alone.

        >>> bipartite(2, 3).side_sizes, monopartite(4).side_sizes
        ((2, 3), (4,))
        """
        return self.shape if self.is_bipartite else self.shape[:1]

    @property
    @abstractmethod
    def matching_size(self) -> int:
        """How many pairs a largest matching has."""

    @property
    def has_bye(self) -> bool:
        """Does a largest matching leave one player out, as their number is odd?"""
        return not self.is_bipartite and self.n_items % 2 == 1

    @cached_property
    @abstractmethod
    def pairs(self) -> Pairs:
        """All pairs, in the order of their edges."""

    @abstractmethod
    def _edges(self, pairs: Pairs) -> Edges:
        """The edges of pairs that are known to be valid."""

    @abstractmethod
    def pairs_of(self, edges: Edges) -> Pairs:
        """Return the pair of each edge, without a list of all pairs: the inverse of `edges`.

        Parameters
        ----------
        edges : array of int, shape (k,)

        Returns
        -------
        array of int, shape (k, 2)

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
        """Return the edge of each pair.

        Parameters
        ----------
        pairs : array_like of int, shape (k, 2)
            Players may come in either order.

        Returns
        -------
        array of int, shape (k,)

        >>> monopartite(4).edges([(0, 1), (3, 2)]).tolist()
        [0, 5]
        """
        try:
            array = np.asarray(pairs)
        except ValueError:  # rows of uneven length
            array = np.asarray(None)
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
            raise MatchbanditError(
                f"pairs must be whole numbers of shape (k, 2), as ask() gives them; "
                f"got shape {array.shape} of {array.dtype}."
            )
        invalid = (array < 0) | (array >= self.shape)
        if not self.is_bipartite:
            first, second = array.T  # quicker than the minimum and the maximum along an axis of two
            array = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
            invalid |= array[:, :1] == array[:, 1:]
        if invalid.any():
            first = tuple(np.asarray(pairs)[invalid.any(axis=1)][0].tolist())
            raise MatchbanditError(f"{first} is not a pair of {self}. Items are numbered from 0.")
        return self._edges(array.astype(np.int64, copy=False))

    def items_of(self, pairs: Pairs) -> Pairs:
        """The item numbers of pairs.

        >>> bipartite(2, 3).items_of(np.array([[1, 0]])).tolist()
        [[1, 2]]
        """
        return pairs + np.array([0, self.n_rows]) if self.is_bipartite else pairs

    def ends(self, edges: Edges) -> Pairs:
        """The item numbers of the two ends of each edge.

        >>> bipartite(2, 3).ends(np.array([3])).tolist()
        [[1, 2]]
        """
        return self.items_of(self.pairs_of(edges))

    def edges_between(self, items: ArrayLike) -> Edges:
        """The edge between each two items, given by their item numbers: the inverse of `ends`."""
        return self.edges(np.asarray(items) - np.array([0, self.n_rows]))

    def side_of(self, item: int) -> Side:
        """Is this item number that of a row, a column or a player?"""
        return "player" if not self.is_bipartite else "row" if item < self.n_rows else "column"

    def index_of(self, item: int) -> int:
        """The index of an item number on its own side, as it stands in a pair.

        >>> graph = bipartite(2, 3)
        >>> [f"{graph.side_of(item)} {graph.index_of(item)}" for item in range(graph.n_items)]
        ['row 0', 'row 1', 'column 0', 'column 1', 'column 2']
        """
        return item - self.n_rows if item >= self.n_rows else item

    def item_at(self, side: Side, index: int) -> int:
        """The item number of a row, a column or a player."""
        return index + self.n_rows if side == "column" else index

    def matrix(self, values: NDArray[Any]) -> NDArray[Any]:
        """Arrange values by edge, the last axis, in a matrix of `shape`; entries that are not pairs are 0.

        Parameters
        ----------
        values : array, shape (..., n_pairs)

        Returns
        -------
        array, shape (..., *shape)
        """
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
    is_bipartite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Count the items."""
        object.__setattr__(self, "n_items", self.n_rows + self.n_columns)

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
    n_rows: int = field(default=0, init=False, repr=False, compare=False)
    kind: ClassVar[str] = "monopartite"
    is_bipartite: ClassVar[bool] = False

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


def bipartite(n_rows: int, n_columns: int) -> BipartiteGraph:
    """Make the graph in which every row can meet every column.

    Parameters
    ----------
    n_rows, n_columns : int
        How many items there are on each side, at least 1; together at most `MAX_ITEMS`.

    Returns
    -------
    BipartiteGraph

    >>> print(bipartite(2, 3), bipartite(2, 3).n_pairs)
    bipartite 2×3 6
    """
    hint = "A bipartite graph needs an item on each side."
    graph = BipartiteGraph(
        check_int("n_rows", n_rows, minimum=1, hint=hint),
        check_int("n_columns", n_columns, minimum=1, hint=hint),
    )
    _refuse_too_many_items(graph)
    return graph


def monopartite(n_items: int) -> MonopartiteGraph:
    """Make the graph in which every player can meet every other.

    Parameters
    ----------
    n_items : int
        How many players there are, at least 2 and at most `MAX_ITEMS`.

    Returns
    -------
    MonopartiteGraph

    >>> print(monopartite(4), monopartite(4).n_pairs)
    monopartite with 4 players 6
    """
    graph = MonopartiteGraph(check_int("n_items", n_items, minimum=2, hint="A pair needs two players."))
    _refuse_too_many_items(graph)
    return graph


def _refuse_too_many_items(graph: Graph) -> None:
    if graph.n_items > MAX_ITEMS:
        raise MatchbanditError(f"a graph has at most {MAX_ITEMS} items; got {graph}. Use fewer items.")


def _read_only(pairs: Pairs) -> Pairs:
    pairs.setflags(write=False)
    return pairs


def refuse_if_too_large(graph: Graph, hint: str = "Use fewer items.") -> None:
    """Refuse to store a number for each pair of a graph that has too many, rather than run out of memory."""
    if graph.n_pairs > MAX_PAIRS:
        raise MatchbanditError(f"{graph} has {graph.n_pairs} pairs, and at most {MAX_PAIRS} fit into memory. {hint}")


def graph_from(description: dict[str, Any]) -> Graph:
    """The graph that `describe` described."""
    kind, shape = description["kind"], description["shape"]
    if kind == "bipartite":
        return bipartite(*shape)
    if kind == "monopartite":
        return monopartite(shape[0])
    raise unknown("graph", kind, ["bipartite", "monopartite"])

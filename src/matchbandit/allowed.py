"""Which pairs may be formed: who is present, and who must not meet, without a list of all pairs."""

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Graph, refuse_if_too_large

Items = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Allowed:
    """The pairs of a graph that may be formed: both items are present, and no rule forbids the pair.

    Neither thousands of players nor a few exclusions need a list of all pairs.

    Parameters
    ----------
    graph : Graph
    present : array_like of bool, shape (n_items,), optional
        True for each item that is present, rows first; by default all are.
    forbidden : array_like of int, optional
        Edges that must not be played; `graph.edges(pairs)` gives them.
    only : array_like of int, optional
        Edges of which the played ones must be; by default any.

    Examples
    --------
    >>> from matchbandit.graphs import monopartite
    >>> today = Allowed(monopartite(4), present=[True, True, True, False], forbidden=[0])
    >>> today.graph.pairs_of(today.edges).tolist()
    [[0, 2], [1, 2]]
    """

    graph: Graph
    _: KW_ONLY
    present: ArrayLike | None = None
    forbidden: ArrayLike | None = None
    only: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Validate the rules, and sort the edges."""
        if self.present is not None:
            present = np.asarray(self.present)
            items = self.graph.n_items
            if present.shape != (items,) or present.dtype != np.bool_:
                raise MatchbanditError(
                    f"present says True or False of each of the {items} items of {self.graph}; "
                    f"got shape {present.shape} of {present.dtype}."
                )
            object.__setattr__(self, "present", None if present.all() else present.copy())
        for name in ("forbidden", "only"):
            edges = getattr(self, name)
            object.__setattr__(self, name, None if edges is None else _sorted_edges(self.graph, name, edges))
        if self.forbidden is not None and not np.size(self.forbidden):
            object.__setattr__(self, "forbidden", None)

    @classmethod
    def read(cls, graph: Graph, allowed: "Allowed | ArrayLike | None") -> "Allowed":
        """Make one from nothing (all pairs), from pairs of shape (k, 2), or from an `Allowed` of this graph."""
        if allowed is None:
            return cls(graph)
        if isinstance(allowed, Allowed):
            if allowed.graph != graph:
                raise MatchbanditError(f"allowed is about {allowed.graph}; this policy plays on {graph}.")
            return allowed
        return cls(graph, only=graph.edges(allowed) if np.size(allowed) else np.zeros(0, dtype=np.int64))

    @property
    def is_unrestricted(self) -> bool:
        """May all pairs of the graph be formed?"""
        return self.present is None and self.has_no_pair_rules

    @property
    def has_no_pair_rules(self) -> bool:
        """May all who are present meet each other?"""
        return self.forbidden is None and self.only is None

    @property
    def without_pair_rules(self) -> "Allowed":
        """The same items, who may all meet each other."""
        return self if self.has_no_pair_rules else Allowed(self.graph, present=self.present)

    @cached_property
    def is_present(self) -> NDArray[np.bool_]:
        """True for each item that is present."""
        present = self.present
        return np.ones(self.graph.n_items, dtype=np.bool_) if present is None else np.asarray(present)

    @cached_property
    def items(self) -> Items:
        """The item numbers of those present, in rising order."""
        return np.flatnonzero(self.is_present)

    def allows(self, edges: Edges) -> NDArray[np.bool_]:
        """Which of these edges may be played."""
        fine = np.ones(len(edges), dtype=np.bool_)
        if self.present is not None:
            fine &= self.is_present[self.graph.ends(edges)].all(axis=1)
        if self.only is not None:
            fine &= _among(edges, np.asarray(self.only))
        if self.forbidden is not None:
            fine &= ~_among(edges, np.asarray(self.forbidden))
        return fine

    @cached_property
    def edges(self) -> Edges:
        """All that may be played, in rising order; a graph with too many pairs to list is refused."""
        edges = self.only
        if edges is None:
            graph, items = self.graph, self.items
            if len(items) > 1:
                refuse_if_too_large(graph, "Use fewer items, or name the pairs that are allowed.")
            if graph.is_bipartite:
                rows, columns = np.split(items, [np.searchsorted(items, graph.n_rows)])
                ends = np.stack([np.repeat(rows, len(columns)), np.tile(columns, len(rows))], axis=1)
            else:
                ends = items[np.stack(np.triu_indices(len(items), k=1), axis=1)]
            edges = graph.edges_between(ends)
        edges = np.asarray(edges)
        return np.asarray(edges[self.allows(edges)])


def _sorted_edges(graph: Graph, name: str, values: ArrayLike) -> Edges:
    edges = np.asarray(values)
    if edges.ndim != 1 or (edges.size and edges.dtype.kind not in "iu"):
        raise MatchbanditError(
            f"{name} takes edges, a flat array of whole numbers; got shape {edges.shape} of {edges.dtype}. "
            f"graph.edges(pairs) gives them."
        )
    edges = np.unique(edges.astype(np.int64))
    if edges.size and (edges[0] < 0 or edges[-1] >= graph.n_pairs):
        wrong = int(edges[0] if edges[0] < 0 else edges[-1])
        raise MatchbanditError(f"{name} has the edge {wrong}; {graph} has {graph.n_pairs} pairs, numbered from 0.")
    return edges


def _among(edges: Edges, others: Edges) -> NDArray[np.bool_]:
    """Which of these edges are among others, which are sorted."""
    if not len(others):
        return np.zeros(len(edges), dtype=np.bool_)
    places = np.minimum(np.searchsorted(others, edges), len(others) - 1)
    return np.asarray(others[places] == edges)

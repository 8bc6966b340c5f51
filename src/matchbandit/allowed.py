"""Which pairs may be formed today: who is there, and who must not meet, without a list of all pairs."""

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Graph, refuse_if_too_large

Items = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Allowed:
    """The pairs of a graph of which both items are present, that are not forbidden, and if `only` is given are there.

    Items are numbered through, rows before columns. Neither thousands of players nor a few exclusions need a list of
    all pairs.

    >>> from matchbandit.graphs import monopartite
    >>> today = Allowed(monopartite(4), present=[True, True, True, False], forbidden=[0])
    >>> today.graph.pairs_of(today.edges).tolist()
    [[0, 2], [1, 2]]
    """

    graph: Graph
    _: KW_ONLY
    present: ArrayLike | None = None
    """True for each item that is there, rows before columns; None: all are."""
    forbidden: ArrayLike | None = None
    """Edges that must not be played."""
    only: ArrayLike | None = None
    """Edges of which the played ones must be; None: any."""

    def __post_init__(self) -> None:
        """Check them once; edges are kept sorted."""
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
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else _sorted_edges(self.graph, name, given))
        if self.forbidden is not None and not np.size(self.forbidden):
            object.__setattr__(self, "forbidden", None)

    @classmethod
    def read(cls, graph: Graph, allowed: "Allowed | ArrayLike | None") -> "Allowed":
        """What a caller gives: nothing, pairs of shape (k, 2), or an `Allowed` of the same graph."""
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
        """True for each item that is there."""
        present = self.present
        return np.ones(self.graph.n_items, dtype=np.bool_) if present is None else np.asarray(present)

    @cached_property
    def items(self) -> Items:
        """The items that are there, in rising order, rows before columns."""
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
        listed = self.only
        if listed is None:
            graph, there = self.graph, self.items
            if len(there) > 1:
                refuse_if_too_large(graph, "Use fewer items, or name the pairs that are allowed.")
            if graph.is_bipartite:
                rows, columns = np.split(there, [np.searchsorted(there, graph.n_rows)])
                ends = np.stack([np.repeat(rows, len(columns)), np.tile(columns, len(rows))], axis=1)
            else:
                ends = there[np.stack(np.triu_indices(len(there), k=1), axis=1)]
            listed = graph.edges_between(ends)
        listed = np.asarray(listed)
        return np.asarray(listed[self.allows(listed)])


def _sorted_edges(graph: Graph, name: str, given: ArrayLike) -> Edges:
    edges = np.asarray(given)
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


def _among(edges: Edges, known: Edges) -> NDArray[np.bool_]:
    """Which of these edges are among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(edges), dtype=np.bool_)
    places = np.minimum(np.searchsorted(known, edges), len(known) - 1)
    return np.asarray(known[places] == edges)

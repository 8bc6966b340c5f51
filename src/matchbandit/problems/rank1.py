"""Problems in which the mean reward of a pair is the product of its items' strengths."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Graph, Pairs, Selection, bipartite, monopartite, refuse_if_too_large
from matchbandit.problems.base import Problem, as_numbers, read_only, refuse_partial_matchings
from matchbandit.rewards import Counts, Floats, RewardDistribution, check_rewards
from matchbandit.solvers import sorted_across, sorted_pairing


@dataclass(frozen=True, eq=False, repr=False)
class Bipartite(Problem):
    """Rows and columns with strengths: the pair (i, j) pays u_i v_j on average.

    Parameters
    ----------
    u, v : array_like
        The strengths of the rows and of the columns, one or more each, in [0, 1].
    rewards : RewardDistribution, optional
        `Bernoulli()` by default.

    Examples
    --------
    >>> slots = Bipartite(u=[.9, .3, .2], v=[.9, .5, .1])
    >>> slots
    Bipartite 3×3, u = 0.9 0.3 0.2, v = 0.9 0.5 0.1, Bernoulli rewards
    >>> slots.best_pair.tolist(), round(slots.regret([(1, 0)], selection="pair"), 3)
    ([[0, 0]], 0.54)
    """

    u: Floats
    v: Floats
    kind: ClassVar[str] = "bipartite"

    def __init__(self, u: ArrayLike, v: ArrayLike, *, rewards: RewardDistribution | None = None) -> None:
        """Validate the strengths."""
        object.__setattr__(self, "u", _strengths("u", u, minimum=1))
        object.__setattr__(self, "v", _strengths("v", v, minimum=1))
        object.__setattr__(self, "rewards", check_rewards(rewards))

    @cached_property
    def graph(self) -> Graph:
        """The complete graph of rows and columns."""
        return bipartite(len(self.u), len(self.v))

    @cached_property
    def means(self) -> Floats:
        """W = u vᵀ, row by row; read-only."""
        refuse_if_too_large(self.graph)
        return read_only(np.outer(self.u, self.v).ravel())

    def _means_between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Floats:
        """u_i v_j."""
        return np.asarray(self.u[i] * self.v[j])

    @property
    def best_pair(self) -> Pairs:
        """Best row and best column."""
        return self.best_matching[:1]

    @cached_property
    def best_matching(self) -> Pairs:
        """Best row with best column, and so on: optimal by the rearrangement inequality; read-only."""
        return read_only(sorted_across(self.u, self.v))

    def tie(self, selection: Selection) -> str | None:
        """Name two equal best rows or columns; for a matching, any two of a side of which one is matched."""
        last = 1 if selection == "pair" else self.graph.matching_size
        borders = range(1, last + 1)
        return _tie("rows", self.u, borders) or _tie("columns", self.v, borders)

    def describe(self) -> dict[str, Any]:
        """The problem as JSON data."""
        return {
            "kind": self.kind,
            "u": self.u.tolist(),
            "v": self.v.tolist(),
            "rewards": self.rewards.describe(),
        }

    def __repr__(self) -> str:
        """Shape, strengths and rewards."""
        return self._repr(f"{len(self.u)}×{len(self.v)}", f"u = {_some(self.u)}", f"v = {_some(self.v)}")


@dataclass(frozen=True, eq=False, repr=False)
class Monopartite(Problem):
    """Players with strengths: the pair {i, j} pays u_i u_j on average.

    Parameters
    ----------
    u : array_like
        The strengths of the players, two or more, in [0, 1].
    rewards : RewardDistribution, optional
        `Bernoulli()` by default.

    Examples
    --------
    >>> players = Monopartite(u=[.3, .9, .6, .8])
    >>> players
    Monopartite 4 players, u = 0.3 0.9 0.6 0.8, Bernoulli rewards
    >>> players.best_matching.tolist(), round(players.optimum("matching"), 3)
    ([[1, 3], [0, 2]], 0.9)
    """

    u: Floats
    kind: ClassVar[str] = "monopartite"

    def __init__(self, u: ArrayLike, *, rewards: RewardDistribution | None = None) -> None:
        """Validate the strengths."""
        object.__setattr__(self, "u", _strengths("u", u, minimum=2))
        object.__setattr__(self, "rewards", check_rewards(rewards))

    @cached_property
    def graph(self) -> Graph:
        """The complete graph of the players."""
        return monopartite(len(self.u))

    @cached_property
    def means(self) -> Floats:
        """W = u uᵀ, the entries i < j; read-only."""
        return read_only(self._means_between(*self.graph.pairs.T))

    def _means_between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Floats:
        """u_i u_j."""
        return np.asarray(self.u[i] * self.u[j])

    @property
    def best_pair(self) -> Pairs:
        """The two best."""
        return self.best_matching[:1]

    @cached_property
    def best_matching(self) -> Pairs:
        """The two best together, then the next two; of an odd number the weakest sits out. Read-only."""
        return read_only(sorted_pairing(self.u))

    def _best_with_byes(self, sat_out: Counts) -> tuple[Edges, Counts]:
        """Edges and counts of the best matchings, given how often each player sits out."""
        edges, times = _best_with_byes(self.graph, self.u[None], sat_out[None])
        return edges[0], times[0]

    def tie(self, selection: Selection) -> str | None:
        """Name two equal players on both sides of a border between pairs; equal partners are harmless."""
        last = 1 if selection == "pair" else self.graph.matching_size
        return _tie("players", self.u, range(2, 2 * last + 1, 2))

    def describe(self) -> dict[str, Any]:
        """The problem as JSON data."""
        return {"kind": self.kind, "u": self.u.tolist(), "rewards": self.rewards.describe()}

    def __repr__(self) -> str:
        """How many players, their strengths and the rewards."""
        return self._repr(f"{len(self.u)} players", f"u = {_some(self.u)}")


def regrets_of_stretches(
    graph: Graph, strengths: Floats, plays: Counts, rounds: Counts, *, selection: Selection
) -> Floats:
    """The regret of stretches of rounds in each of which the strengths are constant.

    Parameters
    ----------
    graph : Graph
    strengths : array of float, shape (stretches, items)
        Of all items, rows first.
    plays : array of int, shape (stretches, pairs)
        In each stretch.
    rounds : array of int, shape (stretches,)
        Their lengths.
    selection : {"pair", "matching"}

    Returns
    -------
    array of float, shape (stretches,)
        As `Problem.regrets_of_plays`, against the optimum for the strengths of each stretch.
    """
    means = means_of_strengths(graph, strengths)
    if selection == "pair":
        return np.asarray((plays * (means.max(axis=1, keepdims=True) - means)).sum(axis=1))
    if graph.has_bye:
        meetings = graph.matrix(plays)
        sat_out = rounds[:, None] - meetings.sum(axis=1) - meetings.sum(axis=2)
        refuse_partial_matchings(sat_out, plays.sum(axis=1), rounds)
        edges, times = _best_with_byes(graph, strengths, sat_out)
    else:
        edges = _best_matchings(graph, strengths)
        times = np.broadcast_to(rounds[:, None], edges.shape)
    missed = -plays
    np.add.at(missed, (np.arange(len(plays))[:, None], edges), times)
    return np.asarray((missed * means).sum(axis=1))


def means_of_strengths(graph: Graph, strengths: Floats) -> Floats:
    """The means of all pairs for each row of strengths, shape (rows, pairs)."""
    first, second = graph.items_of(graph.pairs).T
    return np.asarray(strengths[:, first] * strengths[:, second])


def _best_matchings(graph: Graph, strengths: Floats) -> Edges:
    """The edges of the best matching for each row of strengths, shape (rows, pairs): in sorted order."""
    size = graph.matching_size
    if graph.is_bipartite:
        first = np.argsort(-strengths[:, : graph.n_rows], axis=1, kind="stable")[:, :size]
        second = np.argsort(-strengths[:, graph.n_rows :], axis=1, kind="stable")[:, :size]
    else:
        order = np.argsort(-strengths, axis=1, kind="stable")
        first, second = order[:, : 2 * size : 2], order[:, 1 : 2 * size : 2]
    return _edges_of_rows(graph, first, second)


def _best_with_byes(graph: Graph, strengths: Floats, sat_out: Counts) -> tuple[Edges, Counts]:
    """Edges and counts of the best matchings for each row of strengths, given how often each player sits out.

    Without the k-th strongest (from 0) those before are paired as (0, 1), (2, 3), …, those behind as (1, 2), (3, 4), …,
    and with k odd its neighbours meet.
    """
    order = np.argsort(-strengths, axis=1, kind="stable")
    sat_out = np.take_along_axis(sat_out, order, axis=1)
    so_far = np.cumsum(sat_out, axis=1)
    first = np.concatenate([order[:, :-1:2], order[:, 1::2], order[:, :-1:2]], axis=1)
    second = np.concatenate([order[:, 1::2], order[:, 2::2], order[:, 2::2]], axis=1)
    times = np.concatenate([so_far[:, -1:] - so_far[:, 1::2], so_far[:, :-1:2], sat_out[:, 1::2]], axis=1)
    return _edges_of_rows(graph, first, second), times


def _edges_of_rows(graph: Graph, first: NDArray[np.int64], second: NDArray[np.int64]) -> Edges:
    """The edges of pairs that are given by their two ends, of any shape."""
    return graph.edges(np.stack([first.ravel(), second.ravel()], axis=1)).reshape(first.shape)


def _strengths(name: str, values: ArrayLike, *, minimum: int) -> Floats:
    """Validate the strengths of one side, and return them as a read-only array."""
    strengths = as_numbers(name, values, "a list of numbers")
    if strengths.ndim != 1:
        raise MatchbanditError(f"{name} must be a flat list of numbers; got an array of shape {strengths.shape}.")
    if len(strengths) < minimum:
        count = "no items" if len(strengths) == 0 else "only 1 item"
        raise MatchbanditError(f"{name} has {count}; it needs at least {minimum}. List one strength per item.")
    bad = np.flatnonzero(~((strengths >= 0) & (strengths <= 1)))
    if len(bad):
        raise MatchbanditError(
            f"{name} must lie in [0, 1]; got {strengths[bad[0]]:g} at position {bad[0]}. Rescale the rewards first."
        )
    return read_only(strengths)


def _tie(side: str, strengths: Floats, borders: range) -> str | None:
    """Name the first two equal items around one of these positions in the order of strengths."""
    order = np.argsort(-strengths, kind="stable")
    places = np.array([place for place in borders if place < len(order)], dtype=np.int64)
    equal = places[strengths[order[places - 1]] == strengths[order[places]]]
    if not len(equal):
        return None
    one, other = order[equal[0] - 1], order[equal[0]]
    return f"{side} {one} and {other} both have strength {strengths[other]:g}"


def _some(strengths: Floats) -> str:
    """The first few strengths."""
    more = " …" if len(strengths) > 8 else ""
    return " ".join(f"{strength:.3g}" for strength in strengths[:8]) + more

"""Problems with arbitrary mean rewards."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Graph, Pairs, Selection, bipartite, monopartite
from matchbandit.problems.base import Problem, as_numbers, read_only
from matchbandit.rewards import Counts, Floats, RewardDistribution, check_rewards
from matchbandit.solvers import best_matching

ROUNDING = 1e-6
"""Logarithms of means that differ by less are equal."""


@dataclass(frozen=True, eq=False, repr=False)
class Means(Problem):
    """Arbitrary means: the pair (i, j) pays matrix[i][j] on average.

    Parameters
    ----------
    matrix : array_like of shape (rows, columns)
        The mean rewards, in [0, 1].
    players : bool, default False
        The items are players on one side: the matrix is square and symmetric, and its diagonal is ignored. A symmetric
        matrix alone does not make players of rows and columns.
    rewards : RewardDistribution, optional
        `Bernoulli()` by default.

    Examples
    --------
    >>> tastes = Means([[.9, .2, .1], [.8, .7, .1]])
    >>> tastes
    Means 2×3, from 0.1 to 0.9, Bernoulli rewards
    >>> tastes.best_pair.tolist(), tastes.best_matching.tolist()
    ([[0, 0]], [[0, 0], [1, 1]])
    """

    table: Floats
    """The matrix; of players with zeros on its diagonal."""
    players: bool
    kind: ClassVar[str] = "means"

    def __init__(self, matrix: ArrayLike, players: bool = False, *, rewards: RewardDistribution | None = None) -> None:
        """Validate the matrix."""
        if not isinstance(players, bool | np.bool_):
            raise MatchbanditError(f"players must be True or False; got {players!r}.")
        object.__setattr__(self, "table", _check_matrix(matrix, bool(players)))
        object.__setattr__(self, "players", bool(players))
        object.__setattr__(self, "rewards", check_rewards(rewards))

    @cached_property
    def graph(self) -> Graph:
        """The complete graph of rows and columns, or of players."""
        return monopartite(len(self.table)) if self.players else bipartite(*self.table.shape)

    @cached_property
    def means(self) -> Floats:
        """The entries of the matrix, row by row, of players those with i < j; read-only."""
        return read_only(self._means_between(*self.graph.pairs.T))

    def _means_between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Floats:
        """The entries of the matrix."""
        return np.asarray(self.table[i, j])

    @property
    def best_pair(self) -> Pairs:
        """The first pair with the greatest mean."""
        return self.graph.pairs[[int(np.argmax(self.means))]]

    @cached_property
    def best_matching(self) -> Pairs:
        """The largest matching with the greatest sum of means, by a solver; read-only."""
        return read_only(self.graph.pairs[best_matching(self.graph, self.means)])

    def tie(self, selection: Selection) -> str | None:
        """Name a second pair or matching that is worth the optimum, if there is one."""
        best = self.graph.edges(self.best(selection))
        if selection == "pair":
            others = np.delete(np.arange(self.graph.n_pairs), best)
            second = others[[np.argmax(self.means[others])]] if len(others) else best
        else:
            second = max((self._without(edge) for edge in best), key=lambda edges: float(self.means[edges].sum()))
        pairs = self.graph.pairs[second]
        if len(np.intersect1d(best, second)) == len(best) or not self.is_optimal(pairs, selection):
            return None
        worth = "both have the mean" if selection == "pair" else "are both worth"
        what = "pairs" if selection == "pair" else "matchings"
        return f"the {what} {_join(self.best(selection))} and {_join(pairs)} {worth} {self.optimum(selection):g}"

    def _without(self, edge: int) -> Edges:
        """The best matching that does not play this pair, if there is one."""
        weights = self.means.copy()
        weights[edge] = -float(len(weights))
        return best_matching(self.graph, weights)

    def _best_with_byes(self, sat_out: Counts) -> tuple[Edges, Counts]:
        absent = np.flatnonzero(sat_out)
        edges = [self._best_of_others(player) for player in absent.tolist()]
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *edges]), np.repeat(sat_out[absent], self.graph.matching_size)

    def _best_of_others(self, player: int) -> Edges:
        """The edges of the best matching without this player, cached."""
        if player not in self._best_without:
            others = np.delete(np.arange(len(self.table)), player)
            graph = monopartite(len(others))
            i, j = others[graph.pairs].T
            pairs = others[graph.pairs[best_matching(graph, self.table[i, j])]]
            self._best_without[player] = self.graph.edges(pairs)
        return self._best_without[player]

    @cached_property
    def _best_without(self) -> dict[int, Edges]:
        return {}

    def describe(self) -> dict[str, Any]:
        """The problem as JSON data."""
        return {
            "kind": self.kind,
            "matrix": self.table.tolist(),
            "players": self.players,
            "rewards": self.rewards.describe(),
        }

    def __repr__(self) -> str:
        """Shape, range of the means and rewards."""
        n, m = self.table.shape
        shape = f"{n} players" if self.players else f"{n}×{m}"
        return self._repr(shape, f"from {self.means.min():.3g} to {self.means.max():.3g}")


def is_product(matrix: ArrayLike, *, players: bool) -> bool:
    """Are the means products of strengths, up to rounding?

    Items with zeros only have strength 0; the logarithms of the other entries are then sums, a_i + b_j.

    Parameters
    ----------
    matrix: array-like
        The means, of rows × columns or of players.
    players: bool
        With players the matrix is symmetric, and its diagonal is ignored.

    Examples
    --------
    >>> is_product([[.72, .36], [.18, .09]], players=False), is_product([[.8, .2], [.1, .7]], players=False)
    (True, False)
    """
    table = np.array(matrix, dtype=np.float64)
    if players:
        np.fill_diagonal(table, 0.0)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    if players:
        np.fill_diagonal(table, 1.0)
    if (table == 0).any():
        return False
    logs = np.log(table)
    n = len(logs)
    if not players:
        sums = logs.mean(axis=1, keepdims=True) + logs.mean(axis=0) - logs.mean() if logs.size else logs
    elif n <= 3:
        return True  # as many strengths as pairs
    else:
        strengths = (logs.sum(axis=1) - logs.sum() / (2 * (n - 1))) / (n - 2)
        sums = strengths[:, None] + strengths
        np.fill_diagonal(sums, 0.0)
    return bool(np.allclose(logs, sums, rtol=0.0, atol=ROUNDING))


def _check_matrix(matrix: ArrayLike, players: bool) -> Floats:
    """Validate the matrix, and return it as a read-only array; of players with zeros on its diagonal."""
    table = as_numbers("matrix", matrix, "rows of numbers, all of one length")
    if table.ndim != 2 or table.size == 0:
        raise MatchbanditError(f"matrix must have rows and columns; got an array of shape {table.shape}.")
    if players:
        if table.shape[0] != table.shape[1] or len(table) < 2:
            raise MatchbanditError(
                f"the matrix of players must be square, at least 2×2; got shape {table.shape}. "
                f"Leave players=True out for rows and columns."
            )
        np.fill_diagonal(table, 0.0)
    bad = np.argwhere(~((table >= 0) & (table <= 1)))
    if len(bad):
        i, j = bad[0].tolist()
        raise MatchbanditError(
            f"matrix must lie in [0, 1]; got {table[i, j]:g} at ({i}, {j}). Rescale the rewards first."
        )
    uneven = np.argwhere(table != table.T) if players else bad
    if len(uneven):
        i, j = uneven[0].tolist()
        raise MatchbanditError(
            f"the matrix of players must be symmetric; got {table[i, j]} at ({i}, {j}) and {table[j, i]} at "
            f"({j}, {i}). Leave players=True out for rows and columns."
        )
    return read_only(table)


def _join(pairs: Pairs) -> str:
    return " ".join(f"({i}, {j})" for i, j in pairs.tolist())

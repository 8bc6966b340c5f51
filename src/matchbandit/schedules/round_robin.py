"""Rounds of matchings in which every pair meets exactly once."""

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Graph, Pairs


def round_robin(n_items: int) -> Pairs:
    """The n−1 rounds of a tournament of n players (circle method), shape (n−1, n/2, 2), pairs i < j.

    Player n−1 stays in place while the others move round by one seat a round.

    >>> round_robin(4).tolist()
    [[[0, 3], [1, 2]], [[1, 3], [0, 2]], [[2, 3], [0, 1]]]
    """
    if n_items < 2 or n_items % 2:
        raise MatchbanditError(
            f"a round-robin needs an even number of players; got {n_items}. Leave one out or add one."
        )
    seats = n_items - 1
    rounds = np.arange(seats)[:, None]
    steps = np.arange(1, n_items // 2)[None, :]
    moving = np.stack([(rounds + steps) % seats, (rounds - steps) % seats], axis=2)
    fixed = np.stack([rounds, np.full_like(rounds, seats)], axis=2)
    return np.sort(np.concatenate([fixed, moving], axis=1), axis=2)


def latin_design(n_rows: int, n_columns: int) -> Pairs:
    """max(N, M) rounds in which every row meets every column once, shape (rounds, min(N, M), 2).

    >>> latin_design(1, 3).tolist()
    [[[0, 0]], [[0, 1]], [[0, 2]]]
    """
    rounds = np.arange(max(n_rows, n_columns))[:, None]
    short = np.arange(min(n_rows, n_columns))[None, :]
    short, other = np.broadcast_arrays(short, (rounds + short) % len(rounds))
    sides = (short, other) if n_rows <= n_columns else (other, short)
    return np.stack(sides, axis=2)


def all_meet(graph: Graph) -> Edges:
    """Rounds of matchings in which every pair of the graph meets once, as edges, shape (rounds, pairs a round).

    Of an odd number of players each sits out once: the one whom the others' last seat would play.

    >>> from matchbandit.graphs import monopartite
    >>> all_meet(monopartite(4)).tolist()
    [[2, 3], [4, 1], [5, 0]]
    """
    if graph.is_bipartite:
        rounds = latin_design(*graph.shape)
    else:
        odd = graph.n_items % 2
        rounds = round_robin(graph.n_items + odd)[:, odd:]  # the first pair of a round is that of the last seat
    return graph.edges(rounds.reshape(-1, 2)).reshape(rounds.shape[:2])

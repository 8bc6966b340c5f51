"""The score of a run: plays and rewards of each pair, or of those that were played, and regret at checkpoints."""

from bisect import bisect_right
from typing import ClassVar

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Selection
from matchbandit.problems import Problem
from matchbandit.problems.drifting import DriftPath
from matchbandit.problems.rank1 import means_of_strengths, regrets_of_stretches
from matchbandit.rewards import Counts, Floats, RewardDistribution

LATEST = 100_000
"""Plays that are kept unsorted, at least."""
MAX_SNAPSHOT_NUMBERS = 100_000
"""Plays at checkpoints that are kept until their regret is computed, all at once."""


class Score:
    """Counts plays, adds up rewards and computes the regret at checkpoints, the last of which is the horizon.

    It has *stops*: the checkpoints, and in a `MovingScore` also the rounds after which the means change. The plays at
    stops are kept as rows of `_snapshots`, and their regret is computed when these are full. Of graphs with more than
    `MAX_COUNTED_PAIRS` pairs only those that were played are kept, sorted, with the plays since the last sorting apart;
    their regret is computed at once.
    """

    means_change: ClassVar[bool] = False
    """May the means be others after a stop?"""

    def __init__(self, problem: Problem, selection: Selection, checkpoints: Counts) -> None:
        """Nothing played, nothing read."""
        self.problem = problem
        self.selection = selection
        self.checkpoints = checkpoints.tolist()
        self.round = 0
        self._stops: list[int] = self.checkpoints
        """The rounds at which playing pauses, as far as they are known; the horizon is among them in the end."""
        self.lists_all = problem.graph.has_few_pairs
        """Is there a count for each pair?"""
        self._plays: Counts = np.zeros(problem.graph.n_pairs if self.lists_all else 0, dtype=np.int64)
        self._sums: Floats = np.zeros(len(self._plays))
        self._edges: Edges = np.zeros(0, dtype=np.int64)
        self._new: list[tuple[Edges, Counts, Floats]] = []
        self._n_new = 0
        rows = min(len(checkpoints), max(1, MAX_SNAPSHOT_NUMBERS // max(1, len(self._plays))))
        self._snapshots = np.empty((rows if self.lists_all else 0, len(self._plays)), dtype=np.int64)
        self._regret = np.zeros(len(checkpoints))
        self._n_computed = 0
        """Stops whose regret is known; the snapshots are of those that follow."""
        self._n_reached = 0

    @property
    def finished(self) -> bool:
        """Has the horizon been reached?"""
        return self.round >= int(self.checkpoints[-1])

    @property
    def to_stop(self) -> int:
        """Rounds until the next stop, within which the means are constant."""
        return int(self._stops[self._n_reached]) - self.round

    @property
    def rewards(self) -> RewardDistribution:
        """Their distribution."""
        return self.problem.rewards

    def means_of(self, edges: Edges) -> Floats:
        """The mean rewards of these edges in the next round."""
        return self.problem.means_of(edges)

    def next_means(self, n: int) -> Floats:
        """The means of all pairs until each of the next n stops; a single row if they are constant."""
        return np.array(self.problem.means, ndmin=2)  # a copy: a read-only array is another type to numba

    def next_snapshots(self, max_rounds: int, *, one_only: bool = False) -> tuple[Counts, Counts]:
        """The rounds until each of the next stops, and a row for each in which to write its plays.

        With fewer rounds than to the next stop, or if not all pairs are counted, there is no row to write.
        """
        if not self.lists_all or self.to_stop > max_rounds:
            return np.array([min(self.to_stop, max_rounds)]), self._snapshots[:0]
        first = self._n_reached - self._n_computed
        n = 1 if one_only or self.round == 0 else len(self._snapshots) - first  # faults show at the first
        rounds = np.array(self._stops[self._n_reached : self._n_reached + n]) - self.round
        rounds = rounds[rounds <= max_rounds]
        return rounds, self._snapshots[first : first + len(rounds)]

    @property
    def plays(self) -> Counts:
        """Plays of each pair, where they are all counted; the caller may add to them."""
        if not self.lists_all:
            raise ValueError(f"{self.problem.graph} has too many pairs to count each; see played")
        return self._plays

    @property
    def played(self) -> tuple[Edges, Counts]:
        """The edges that were played, sorted, and how often."""
        if self.lists_all:
            edges = np.flatnonzero(self._plays)
            return edges, self._plays[edges]
        if self._new:
            edges = np.concatenate([self._edges, *(edges for edges, _, _ in self._new)])
            counts = np.concatenate([self._plays, *(counts for _, counts, _ in self._new)])
            sums = np.concatenate([self._sums, *(sums for _, _, sums in self._new)])
            order = np.argsort(edges, kind="stable")
            edges = edges[order]
            first = np.flatnonzero(np.diff(edges, prepend=-1))
            self._edges, self._new, self._n_new = edges[first], [], 0
            self._plays, self._sums = (np.add.reduceat(values[order], first) for values in (counts, sums))
        return self._edges, self._plays

    @property
    def sums(self) -> Floats:
        """The sum of rewards of each pair, which the caller may add to; in large graphs, of each edge of `played`."""
        if not self.lists_all:
            _ = self.played  # merges the latest
        return self._sums

    @property
    def regret(self) -> Floats:
        """The regret at the checkpoints; at those that a run did not reach, its regret at the end."""
        self._compute_regret()
        regret = self._regret.copy()
        if not self.finished:
            regret[np.array(self.checkpoints) > self.round] = self.regret_so_far()
        return regret

    def regret_so_far(self) -> float:
        """The regret of the rounds played so far."""
        if self.lists_all:
            return self.problem.regret_of_plays(self._plays, self.round, selection=self.selection)
        return self.problem.regret_of_played(*self.played, self.round, selection=self.selection)

    def count(self, rounds: int, edges: Edges, counts: Counts | int, sums: Floats | float = 0.0) -> None:
        """Add rounds that do not go past the next stop, with their plays and the sums of their rewards.

        Rewards that are drawn after the plays were counted follow in a call with no rounds and no plays.
        """
        if self.lists_all:
            np.add.at(self._plays, edges, counts)
            np.add.at(self._sums, edges, sums)
            if rounds and not self.finished and rounds == self.to_stop:
                self._snapshots[self._n_reached - self._n_computed] = self._plays
        elif len(edges):
            times = np.broadcast_to(np.asarray(counts, dtype=np.int64), edges.shape)
            self._new.append((edges, times, np.broadcast_to(np.asarray(sums, dtype=np.float64), edges.shape)))
            self._n_new += len(edges)
            if self._n_new > max(len(self._edges), LATEST):
                _ = self.played  # sorted whenever it has doubled: no more than log m times
        self.advance(rounds)

    def advance(self, rounds: int) -> None:
        """Add rounds whose plays are counted already, also in the snapshots at the stops among them."""
        is_first = self._n_reached == 0
        self.round += rounds
        self._n_reached = bisect_right(self._stops, self.round, lo=self._n_reached)
        n_waiting = self._n_reached - self._n_computed
        if n_waiting and (is_first or n_waiting >= len(self._snapshots)):
            self._compute_regret()

    def _compute_regret(self) -> None:
        """Compute the regret at the stops that have been reached since the last time."""
        reached = slice(self._n_computed, self._n_reached)
        rounds = np.array(self.checkpoints[reached])
        if not len(rounds):
            return
        if self.lists_all:
            plays = self._snapshots[: len(rounds)]
            if self.selection == "matching":
                self._refuse_overlaps(np.arange(plays.shape[1]), plays, rounds)
            self._regret[reached] = self.problem.regrets_of_plays(plays, rounds, selection=self.selection)
        else:
            edges, counts = self.played
            if self.selection == "matching":
                self._refuse_overlaps(edges, counts[None], rounds)
            self._regret[reached] = self.regret_so_far()
        self._n_computed = self._n_reached

    def _refuse_overlaps(self, edges: Edges, plays: Counts, rounds: Counts) -> None:
        """Refuse rounds that were not matchings: an item would be in more pairs than there were rounds."""
        graph = self.problem.graph
        ends, n = graph.ends(edges), len(rounds)
        cells = np.arange(n)[:, None, None] * graph.n_items + ends
        meetings = np.bincount(cells.ravel(), np.repeat(plays, 2), minlength=n * graph.n_items).reshape(n, -1)
        wrong = np.flatnonzero(meetings.max(axis=1) > rounds * (1 + 1e-9))
        if len(wrong):
            item, most = int(meetings[wrong[0]].argmax()), meetings[wrong[0]].max()
            raise MatchbanditError(
                f"{graph.side_of(item)} {graph.index_of(item)} was in {most:.0f} pairs in {rounds[wrong[0]]} rounds: "
                f"these are not matchings. Fix the policy's choose() or plan(); check_policy shows where."
            )


class MovingScore(Score):
    """The score of a run on a drifting problem: each round is compared with the best one for its own strengths.

    The regret is added up over the stretches between stops, in each of which the strengths are constant.
    """

    means_change = True

    def __init__(self, path: DriftPath, selection: Selection, checkpoints: Counts) -> None:
        """Nothing played; the first changes are known."""
        super().__init__(path.problem, selection, checkpoints)
        rows = max(1, MAX_SNAPSHOT_NUMBERS // max(1, len(self._plays)))
        self._snapshots = np.empty((rows, len(self._plays)), dtype=np.int64)
        self._ends = path.problem.graph.items_of(path.problem.graph.pairs)
        self._checkpoints = checkpoints
        self._blocks = path.blocks()
        self._strengths = path.start[None]
        """Those now, and after each change that is known."""
        self._rows: Counts = np.zeros(0, dtype=np.int64)
        """Which of them hold until each stop."""
        self._computed_plays = self._plays.copy()
        self._computed_round = 0
        self._computed_regret = 0.0
        self._load_stops()

    def means_of(self, edges: Edges) -> Floats:
        """The mean rewards of these edges in the next round."""
        strengths = self._strengths[self._rows[self._n_reached]]
        return np.asarray(strengths[self._ends[edges, 0]] * strengths[self._ends[edges, 1]])

    def next_means(self, n: int) -> Floats:
        """The means of all pairs until each of the next n stops."""
        rows = self._rows[self._n_reached : self._n_reached + n]
        return means_of_strengths(self.problem.graph, self._strengths[rows])

    def advance(self, rounds: int) -> None:
        """Add rounds whose plays are counted already, also in the snapshots at the stops among them."""
        super().advance(rounds)
        if self._n_reached == len(self._stops) and not self.finished:
            self._compute_regret()
            self._load_stops()

    def regret_so_far(self) -> float:
        """The regret of the rounds played so far."""
        self._compute_regret()
        if self.round == self._computed_round:
            return self._computed_regret
        row = self._rows[[self._n_reached]]
        return self._computed_regret + float(self._regrets(row, self._plays[None], np.array([self.round]))[0])

    def _load_stops(self) -> None:
        """Replace the stops that have been reached by those of the next block of changes, and the checkpoints there."""
        stops = np.zeros(0, dtype=np.int64)
        while not len(stops):  # as in a block whose only change is before round 1
            changes = next(self._blocks, None)
            rounds, last = np.zeros(0, dtype=np.int64), self._checkpoints[-1]
            self._strengths = self._strengths[-1:]
            if changes is not None:
                rounds, last = changes.rounds, min(changes.rounds[-1], last)
                self._strengths = np.concatenate([self._strengths, changes.strengths])
            first, end = np.searchsorted(self._checkpoints, [self.round, last], side="right")
            stops = np.union1d(rounds[(rounds > self.round) & (rounds <= last)], self._checkpoints[first:end])
        self._rows = np.searchsorted(rounds, stops, side="left")
        self._stops, self._n_reached, self._n_computed = stops.tolist(), 0, 0

    def _compute_regret(self) -> None:
        """Add the regret of the stretches that have been played since the last time."""
        reached = slice(self._n_computed, self._n_reached)
        rounds = np.array(self._stops[reached], dtype=np.int64)
        if not len(rounds):
            return
        plays = self._snapshots[: len(rounds)]
        if self.selection == "matching":
            self._refuse_overlaps(np.arange(plays.shape[1]), plays, rounds)
        regret = self._computed_regret + np.cumsum(self._regrets(self._rows[reached], plays, rounds))
        places = np.searchsorted(self._checkpoints, rounds)
        is_checkpoint = self._checkpoints[places] == rounds
        self._regret[places[is_checkpoint]] = regret[is_checkpoint]
        self._computed_plays, self._computed_round = plays[-1].copy(), int(rounds[-1])
        self._computed_regret = float(regret[-1])
        self._n_computed = self._n_reached

    def _regrets(self, rows: Counts, plays: Counts, rounds: Counts) -> Floats:
        """The regret of consecutive stretches, from the plays and rounds at their ends."""
        return regrets_of_stretches(
            self.problem.graph,
            self._strengths[rows],
            np.diff(plays, axis=0, prepend=self._computed_plays[None]),
            np.diff(rounds, prepend=self._computed_round),
            selection=self.selection,
        )

"""The score of a run: plays and rewards of each pair, or of those that were played, and regret at checkpoints."""

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Selection
from matchbandit.problems import Problem
from matchbandit.rewards import Counts, Floats

LATEST = 100_000
"""Plays that are kept unsorted, at least."""


class Score:
    """Counts plays, adds up rewards and reads the regret whenever a checkpoint is reached. The last one is the horizon.

    Of graphs with more than `MAX_COUNTED_PAIRS` pairs only those that were played are kept, sorted, and apart what
    came since they were last sorted.
    """

    def __init__(self, problem: Problem, selection: Selection, checkpoints: Counts) -> None:
        """Nothing played, nothing read."""
        self.problem = problem
        self.selection = selection
        self.checkpoints = checkpoints.tolist()
        self.round = 0
        self.lists_all = problem.graph.has_few_pairs
        """Is there a count for each pair?"""
        self._plays: Counts = np.zeros(problem.graph.n_pairs if self.lists_all else 0, dtype=np.int64)
        self._sums: Floats = np.zeros(len(self._plays))
        self._edges: Edges = np.zeros(0, dtype=np.int64)
        self._new: list[tuple[Edges, Counts, Floats]] = []
        self._n_new = 0
        self._regret: list[float] = []

    @property
    def finished(self) -> bool:
        """Has the horizon been reached?"""
        return len(self._regret) == len(self.checkpoints)

    @property
    def to_checkpoint(self) -> int:
        """Rounds until the next checkpoint."""
        return int(self.checkpoints[len(self._regret)]) - self.round

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
        """The regret at the checkpoints; at those that a run did not live to see, its regret at the end."""
        last = self.regret_so_far()
        return np.array(self._regret + [last] * (len(self.checkpoints) - len(self._regret)))

    def count(self, rounds: int, edges: Edges, counts: Counts | int, sums: Floats | float = 0.0) -> None:
        """Add rounds that do not go past the next checkpoint, with their plays and the sums of their rewards.

        Rewards that are drawn after the plays were counted follow in a call with no rounds and no plays.
        """
        if self.lists_all:
            np.add.at(self._plays, edges, counts)
            np.add.at(self._sums, edges, sums)
        elif len(edges):
            times = np.broadcast_to(np.asarray(counts, dtype=np.int64), edges.shape)
            self._new.append((edges, times, np.broadcast_to(np.asarray(sums, dtype=np.float64), edges.shape)))
            self._n_new += len(edges)
            if self._n_new > max(len(self._edges), LATEST):
                _ = self.played  # sorted whenever it has doubled: no more than log m times
        self.passed(rounds)

    def regret_so_far(self) -> float:
        """The regret of the rounds played so far."""
        if self.lists_all:
            return self.problem.regret_of_plays(self._plays, self.round, selection=self.selection)
        return self.problem.regret_of_played(*self.played, self.round, selection=self.selection)

    def _refuse_overlaps(self) -> None:
        """Refuse rounds that were no matchings: an item would be in more pairs than there were rounds."""
        graph = self.problem.graph
        edges, plays = self.played
        met = np.bincount(graph.ends(edges).ravel(), np.repeat(plays, 2), minlength=graph.n_items)
        if met.max() > self.round * (1 + 1e-9):
            item = int(met.argmax())
            raise MatchbanditError(
                f"{graph.side_of(item)} {graph.index_of(item)} was in {met.max():.0f} pairs in {self.round} rounds: "
                f"these are not matchings. Fix the policy's choose() or plan(); check_policy shows where."
            )

    def passed(self, rounds: int) -> None:
        """Add rounds whose plays are counted already."""
        self.round += rounds
        if self.selection == "matching" and (not self.finished and self.to_checkpoint == 0):
            self._refuse_overlaps()
        if not self.finished and self.to_checkpoint == 0:
            self._regret.append(self.regret_so_far())

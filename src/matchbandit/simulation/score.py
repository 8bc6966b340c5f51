"""The score of a run: plays of each pair, and the regret at the checkpoints."""

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import Edges, Selection
from matchbandit.problems import Problem
from matchbandit.rewards import Counts, Floats


class Score:
    """Counts plays and reads the regret whenever a checkpoint is reached. The last checkpoint is the horizon."""

    def __init__(self, problem: Problem, selection: Selection, checkpoints: Counts) -> None:
        """Nothing played, nothing read."""
        self.problem = problem
        self.selection = selection
        self.checkpoints = checkpoints.tolist()
        self.round = 0
        self.plays: Counts = np.zeros(problem.graph.n_pairs, dtype=np.int64)
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
    def regret(self) -> Floats:
        """The regret at the checkpoints; at those that a run did not live to see, its regret at the end."""
        last = self.problem.regret_of_plays(self.plays, self.round, selection=self.selection)
        return np.array(self._regret + [last] * (len(self.checkpoints) - len(self._regret)))

    def count(self, rounds: int, edges: Edges, counts: Counts | int) -> None:
        """Add rounds that do not go past the next checkpoint, with the plays that they made."""
        np.add.at(self.plays, edges, counts)
        self.passed(rounds)

    def _refuse_overlaps(self) -> None:
        """Refuse rounds that were no matchings: an item would be in more pairs than there were rounds."""
        graph = self.problem.graph
        for ends, n_items in zip(graph.pairs.T, graph.shape, strict=True):
            met = np.bincount(ends, self.plays, minlength=n_items)
            if graph.kind == "monopartite":
                met += np.bincount(graph.pairs[:, 1], self.plays, minlength=n_items)
            if met.max() > self.round * (1 + 1e-9):
                raise MatchbanditError(
                    f"item {met.argmax()} was in {met.max():.0f} pairs in {self.round} rounds: these are no matchings. "
                    f"Mend the policy's choose() or plan(); check_policy shows where."
                )
            if graph.kind == "monopartite":
                return

    def passed(self, rounds: int) -> None:
        """Add rounds whose plays are counted already."""
        self.round += rounds
        if self.selection == "matching" and (not self.finished and self.to_checkpoint == 0):
            self._refuse_overlaps()
        if not self.finished and self.to_checkpoint == 0:
            now = self.problem.regret_of_plays(self.plays, self.round, selection=self.selection)
            self._regret.append(now)

"""A fixed list of rounds, played over and over."""

from dataclasses import dataclass

import numpy as np

from matchbandit.plans.base import Cells, Plan, Tally
from matchbandit.rewards import Counts


@dataclass(frozen=True, eq=False)
class Cycle(Plan):
    """The given rounds in turn; every round is a sweep of its own, so that decisions may fall anywhere."""

    rounds: Cells
    """The cells of each round, shape (rounds, pairs a round)."""

    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """The round whose turn it is."""
        turn = number % len(self.rounds)
        return self.rounds[turn : turn + 1]

    def draw(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """Whole cycles are one multiplication; the rest is counted."""
        n_rounds = len(self.rounds)
        whole, rest = divmod(most, n_rounds)
        turns = np.full(n_rounds, whole)
        turns[(pending.sweeps + np.arange(rest)) % n_rounds] += 1
        counts = np.zeros(len(self.edges), dtype=np.int64)
        np.add.at(counts, self.rounds, turns[:, None])
        return most, counts

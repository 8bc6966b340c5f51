"""The same rounds in every sweep, until so many sweeps are done."""

from dataclasses import dataclass

import numpy as np

from matchbandit.plans.base import Cells, Plan, Tally
from matchbandit.rewards import Counts


@dataclass(frozen=True, eq=False)
class FixedSweeps(Plan):
    """The given rounds, over and over; the policy decides after `limit` sweeps."""

    rounds: Cells
    """The cells of each round of a sweep, shape (rounds, pairs a round)."""

    @property
    def length(self) -> int:
        """All the given rounds."""
        return len(self.rounds)

    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """Always the same."""
        return self.rounds

    def draw(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """One multiplication."""
        return most, most * np.bincount(self.rounds.ravel(), minlength=len(self.edges))

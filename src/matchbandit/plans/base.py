"""The contract of a plan, and the tally of what came of it.

A plan is a sequence of *sweeps*, each of the same number of rounds. Only between two sweeps may the policy decide.
Each play is counted in a *cell*: a policy with several ledgers has several cells for the same pair.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from matchbandit.confidence import NEVER
from matchbandit.graphs import Edges
from matchbandit.rewards import Counts, Floats

Cells = NDArray[np.int64]


@dataclass
class Tally:
    """How often each cell was played in whole sweeps of a plan, and how much it paid."""

    sweeps: int
    counts: Counts
    sums: Floats

    @classmethod
    def empty(cls, n_cells: int) -> "Tally":
        """Nothing played yet."""
        return cls(0, np.zeros(n_cells, dtype=np.int64), np.zeros(n_cells))

    def copy(self) -> "Tally":
        """A tally with arrays of its own."""
        return Tally(self.sweeps, self.counts.copy(), self.sums.copy())

    def add(self, more: "Tally") -> None:
        """Add the results of further sweeps."""
        self.sweeps += more.sweeps
        self.counts += more.counts
        self.sums += more.sums


@dataclass(frozen=True, eq=False)
class Plan(ABC):
    """What a policy will play until it next decides: round by round, or all its counts at once."""

    edges: Edges
    """The pair that each cell plays."""
    limit: int = field(default=NEVER, kw_only=True)
    """The policy decides after this number of sweeps at the latest."""

    @property
    def length(self) -> int:
        """How many rounds a sweep has: one, where a policy may decide after any round."""
        return 1

    def due(self, pending: Tally) -> bool:
        """Does the policy want to decide, after these whole sweeps?"""
        return pending.sweeps >= self.limit

    def leap(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """Draw sweeps at once, with exactly the distribution of playing sweep by sweep after the `pending` ones.

        Parameters
        ----------
        pending : Tally
            What was played since the policy last decided.
        most : int
            Draw at most this number of sweeps.
        rng : numpy.random.Generator

        Returns
        -------
        sweeps : int
            How many sweeps follow until the policy decides, or `most`.
        counts : array of int, shape (len(edges),)
            How often they play each cell.
        """
        return self.draw(pending, min(most, self.limit - pending.sweeps), rng)

    @abstractmethod
    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """The cells of every round of the sweep of this number (from 0), shape (length, pairs a round)."""

    @abstractmethod
    def draw(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """What `leap` gives, where `most` sweeps stay within the limit."""

"""Plans whose rounds are known beforehand: the same sweep over and over, a cycle of rounds, or a batch."""

from dataclasses import dataclass

import numpy as np

from matchbandit.plans.base import Cells, Plan, Tally
from matchbandit.rewards import Counts


@dataclass(frozen=True, eq=False)
class FixedSweeps(Plan):
    """The same rounds in every sweep; the policy decides after `limit` sweeps."""

    rounds: Cells
    """The cells of each round of a sweep, shape (rounds, pairs a round)."""

    @property
    def length(self) -> int:
        """All rounds of the list."""
        return len(self.rounds)

    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """Always the same."""
        return self.rounds

    def draw(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """One multiplication."""
        return most, most * np.bincount(self.rounds.ravel(), minlength=len(self.edges))


@dataclass(frozen=True, eq=False)
class Cycle(Plan):
    """A list of rounds, in turn, over and over; every round is a sweep, so that decisions may fall anywhere."""

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


@dataclass(frozen=True, eq=False)
class Batch(Plan):
    """The first round `times[0]` times, then the second `times[1]` times, …: then the policy decides."""

    rounds: Cells
    """The cells of each kind of round, shape (kinds, pairs a round)."""
    times: Counts
    """How often each kind is played; their sum is the `limit`."""

    @classmethod
    def of(cls, edges: Cells, rounds: Cells, times: Counts) -> "Batch":
        """The batch that plays these rounds so often; kinds that are never played are left out."""
        played = np.flatnonzero(times)
        return cls(edges=edges, rounds=rounds[played], times=times[played], limit=int(times.sum()))

    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """The round whose turn it is."""
        kind = int(np.searchsorted(np.cumsum(self.times), number, side="right"))
        return self.rounds[kind : kind + 1]

    def draw(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """Of each kind what lies between the rounds played and those to come."""
        ends = np.cumsum(self.times)
        first, last = pending.sweeps, pending.sweeps + most
        turns = np.clip(ends, first, last) - np.clip(ends - self.times, first, last)
        counts = np.zeros(len(self.edges), dtype=np.int64)
        np.add.at(counts, self.rounds, turns[:, None])
        return most, counts

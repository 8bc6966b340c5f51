"""So many rounds of each kind, one kind after the other."""

from dataclasses import dataclass

import numpy as np

from matchbandit.plans.base import Cells, Plan, Tally
from matchbandit.rewards import Counts


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

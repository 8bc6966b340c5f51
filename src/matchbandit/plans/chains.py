"""Chains of clusters side by side, each cluster with a clock of its own."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from matchbandit.plans.base import Cells, Plan, Tally
from matchbandit.rewards import Counts
from matchbandit.schedules.chains import Chain


@dataclass(frozen=True, eq=False)
class ChainRounds(Plan):
    """The rounds of several chains, played together; every round is a sweep of its own.

    A cluster commits its samples in whole periods only, and clusters end theirs at different rounds. When the plan is
    made it is known when it ends, so every play is booked in one of two cells of its pair: the *closing* one if the
    period of the cluster that uses it ends within the plan, else the *open* one, whose samples wait for the next plan.
    `edges` lists the pairs of all chains' cells twice: closing, then open.
    """

    chains: tuple[Chain, ...]
    ages: tuple[int, ...]
    """How many rounds of each chain have been played when the plan begins."""

    @property
    def length(self) -> int:
        """One round."""
        return 1

    @cached_property
    def firsts(self) -> list[int]:
        """The first cell of each chain, and the number of all."""
        return list(accumulate((chain.first_cells[-1] for chain in self.chains), initial=0))

    @cached_property
    def closes(self) -> list[list[int]]:
        """For each cluster of each chain, up to which of the chain's rounds plays are closing."""
        return [
            [(age + self.limit) // period * period for period in chain.periods]
            for chain, age in zip(self.chains, self.ages, strict=True)
        ]

    @cached_property
    def _users(self) -> list[Counts]:
        return [np.repeat(np.arange(len(c.sizes)), np.diff(c.first_cells)) for c in self.chains]

    def sweep(self, number: int, rng: np.random.Generator) -> Cells:
        """The round whose turn it is, chain after chain."""
        cells = []
        for k, (chain, age) in enumerate(zip(self.chains, self.ages, strict=True)):
            played = chain.round(age + number)
            is_open = age + number >= np.array(self.closes[k])[self._users[k][played]]
            cells.append(self.firsts[k] + played + is_open * self.firsts[-1])
        return np.concatenate(cells)[None, :]

    def due(self, pending: Tally) -> bool:
        """Is the limit reached?"""
        return pending.sweeps >= self.limit

    def leap(self, pending: Tally, most: int, rng: np.random.Generator) -> tuple[int, Counts]:
        """The counts are a function of the rounds; nothing is drawn."""
        sweeps = min(most, self.limit - pending.sweeps)
        counts = np.zeros((2, self.firsts[-1]), dtype=np.int64)
        for k, (chain, age) in enumerate(zip(self.chains, self.ages, strict=True)):
            start, end = age + pending.sweeps, age + pending.sweeps + sweeps
            for cluster, closes in enumerate(self.closes[k]):
                cells = slice(
                    self.firsts[k] + chain.first_cells[cluster], self.firsts[k] + chain.first_cells[cluster + 1]
                )
                times = np.array([min(start, closes), min(end, closes), max(start, closes), max(end, closes)])
                met = chain.meetings(cluster, times)
                counts[0, cells], counts[1, cells] = met[1] - met[0], met[3] - met[2]
        return sweeps, counts.ravel()

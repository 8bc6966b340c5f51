"""Where rewards come from: drawn from the truth, or from a tape in tests."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from matchbandit.graphs import Edges
from matchbandit.problems import Problem
from matchbandit.rewards import Counts, Floats


class RewardSource(Protocol):
    """Pays for plays. All that an engine knows of rewards."""

    def sums(self, edges: Edges, counts: Counts) -> Floats:
        """The sum of the next counts[k] rewards of the pair edges[k], for every k."""


@dataclass(frozen=True)
class DrawnRewards:
    """Rewards drawn from the problem's reward distribution."""

    problem: Problem
    rng: np.random.Generator

    def sums(self, edges: Edges, counts: Counts) -> Floats:
        """Each sum in a single draw."""
        return self.problem.rewards.sums(self.problem.means_of(edges), counts, self.rng)

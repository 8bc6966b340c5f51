"""One round at a time, through ask and tell: slow, obvious, the reference."""

import numpy as np

from matchbandit.policies import Policy
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import RewardSource


def step(policy: Policy, source: RewardSource, score: Score) -> None:
    """Play until the horizon, or until the policy is done."""
    while not (score.finished or policy.done):
        pairs = policy.ask()
        edges = policy.graph.edges(pairs)
        policy.tell(pairs, source.sums(edges, np.ones(len(edges), dtype=np.int64)))
        score.count(1, edges, 1)

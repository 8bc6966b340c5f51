"""One round at a time, through ask and tell: slow, obvious, the reference."""

import numpy as np

from matchbandit.policies import Policy
from matchbandit.simulation.observing import Observer, nobody
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import RewardSource
from matchbandit.simulation.stops import Until, done


def step(policy: Policy, source: RewardSource, score: Score, until: Until = done, observe: Observer = nobody) -> None:
    """Play until the horizon or an earlier end; whoever observes looks after every round."""
    while not (score.finished or until(policy)):
        pairs = policy.ask()
        edges = policy.graph.edges(pairs)
        rewards = source.sums(edges, np.ones(len(edges), dtype=np.int64))
        policy.tell(pairs, rewards)
        score.count(1, edges, 1, rewards)
        observe(policy, score)

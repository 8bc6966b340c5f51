"""Planned policies leap from decision to decision: the cost depends on the decisions, not on the horizon."""

import numpy as np

from matchbandit.plans import Tally
from matchbandit.policies import PlannedPolicy
from matchbandit.simulation.observing import Observer, nobody
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import RewardSource
from matchbandit.simulation.stops import Until, done


def jump(
    policy: PlannedPolicy, source: RewardSource, score: Score, until: Until = done, observe: Observer = nobody
) -> None:
    """Play to the horizon or an earlier end in whole sweeps; only one with a checkpoint inside goes round by round.

    Whoever observes looks after every leap, so after every decision too.
    """
    while not (score.finished or until(policy)):
        whole_sweeps = score.to_checkpoint // policy.current.length
        if whole_sweeps:
            _leap(policy, source, score, whole_sweeps)
        else:
            _cut_sweep(policy, source, score)
        observe(policy, score)


def _leap(policy: PlannedPolicy, source: RewardSource, score: Score, most: int) -> None:
    """As many sweeps at once as fit before the next decision."""
    plan = policy.current
    sweeps, counts = plan.leap(policy.pending, most, policy.rng)
    played = np.flatnonzero(counts)
    edges = plan.edges[played]
    sums = np.zeros(len(counts))
    sums[played] = source.sums(edges, counts[played])
    score.count(sweeps * plan.length, edges, counts[played], sums[played])
    policy.advance(Tally(sweeps, counts, sums))


def _cut_sweep(policy: PlannedPolicy, source: RewardSource, score: Score) -> None:
    """One sweep in which checkpoints lie: read the regret on the way, book the sweep as a whole."""
    plan = policy.current
    cells = plan.sweep(policy.pending.sweeps, policy.rng)
    rounds = min(len(cells), score.checkpoints[-1] - score.round)  # the horizon may cut the sweep
    for of_round in cells[:rounds]:
        score.count(1, plan.edges[of_round], 1)
    counts = np.bincount(cells[:rounds].ravel(), minlength=len(plan.edges))
    sums = np.zeros(len(counts))
    played = np.flatnonzero(counts)
    sums[played] = source.sums(plan.edges[played], counts[played])
    score.count(0, plan.edges[played], 0, sums[played])
    if rounds == len(cells):
        policy.advance(Tally(1, counts, sums))

"""Planned policies leap from decision to decision: the cost depends on the decisions, not on the horizon."""

import numpy as np

from matchbandit.plans import Tally
from matchbandit.policies import PlannedPolicy
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import RewardSource


def jump(policy: PlannedPolicy, source: RewardSource, score: Score) -> None:
    """Play until the horizon, in whole sweeps; only a sweep with a checkpoint inside is played round by round."""
    while not (score.finished or policy.done):
        whole_sweeps = score.to_checkpoint // policy.current.length
        if whole_sweeps:
            _leap(policy, source, score, whole_sweeps)
        else:
            _cut_sweep(policy, source, score)


def _leap(policy: PlannedPolicy, source: RewardSource, score: Score, most: int) -> None:
    """As many sweeps at once as fit before the next decision."""
    plan = policy.current
    sweeps, counts = plan.leap(policy.pending, most, policy.rng)
    played = np.flatnonzero(counts)
    edges = plan.edges[played]
    sums = np.zeros(len(counts))
    sums[played] = source.sums(edges, counts[played])
    score.count(sweeps * plan.length, edges, counts[played])
    policy.advance(Tally(sweeps, counts, sums))


def _cut_sweep(policy: PlannedPolicy, source: RewardSource, score: Score) -> None:
    """One sweep in which checkpoints lie: read the regret on the way, book the sweep as a whole."""
    plan = policy.current
    cells = plan.sweep(policy.pending.sweeps, policy.rng)
    for of_round in cells:
        if score.finished:
            return  # the horizon cuts the sweep here
        score.count(1, plan.edges[of_round], 1)
    counts = np.bincount(cells.ravel(), minlength=len(plan.edges))
    sums = np.zeros(len(counts))
    played = np.flatnonzero(counts)
    sums[played] = source.sums(plan.edges[played], counts[played])
    policy.advance(Tally(1, counts, sums))

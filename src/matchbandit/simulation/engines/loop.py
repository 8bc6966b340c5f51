"""Round policies play in one compiled loop over the same two functions that ask and tell call."""

import numpy as np

from matchbandit.policies import RoundPolicy
from matchbandit.policies.round_policy import compiled_loop
from matchbandit.simulation.score import Score
from matchbandit.simulation.sources import DrawnRewards

_LONGEST_CALL = 1_000_000
"""Rounds in one call of compiled code, which nothing can interrupt."""


def loop(policy: RoundPolicy, source: DrawnRewards, score: Score) -> None:
    """Play until the horizon, one call for each stretch between checkpoints."""
    rewards = source.problem.rewards
    play = compiled_loop(type(policy), type(rewards).draw_one)
    edges = np.zeros(policy.round_size, dtype=np.int64)
    while not (score.finished or policy.done):
        most = min(score.to_checkpoint, _LONGEST_CALL)
        rounds = play(
            policy.arrays, policy.rng, source.rng, rewards.noise, source.problem.means, score.plays, edges, most
        )
        policy.rounds += rounds
        score.passed(rounds)
        policy.end_if_finished()

"""Whoever looks on while a run is played: it sees the policy and the score, and changes neither."""

from collections.abc import Callable

from matchbandit.policies import Policy
from matchbandit.simulation.score import Score

Observer = Callable[[Policy, Score], None]
"""Called between rounds: after every leap, after every stretch between checkpoints, or after every round."""


def nobody(policy: Policy, score: Score) -> None:
    """Nobody looks on."""

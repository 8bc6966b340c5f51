"""Replay of logs: estimate what policies would earn in the future from results of the past."""

from matchbandit.lab.replay.proposal import ProposedPairs, propose
from matchbandit.lab.replay.result import AS_BEFORE, Difference, RankedPolicy, Replay
from matchbandit.lab.replay.run import replay

__all__ = ["AS_BEFORE", "Difference", "ProposedPairs", "RankedPolicy", "Replay", "propose", "replay"]

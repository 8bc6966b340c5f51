"""What a policy will play, whatever it sees, until it next decides."""

from matchbandit.plans.base import Plan, Tally
from matchbandit.plans.chains import ChainRounds
from matchbandit.plans.fixed import Batch, Cycle, FixedSweeps
from matchbandit.plans.sweeps import Sweeps

__all__ = ["Batch", "ChainRounds", "Cycle", "FixedSweeps", "Plan", "Sweeps", "Tally"]

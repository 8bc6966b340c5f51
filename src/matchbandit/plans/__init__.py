"""What a policy will play, whatever it sees, until it next decides."""

from matchbandit.plans.base import Plan, Tally
from matchbandit.plans.cycle import Cycle
from matchbandit.plans.fixed import FixedSweeps
from matchbandit.plans.sweeps import Sweeps

__all__ = ["Cycle", "FixedSweeps", "Plan", "Sweeps", "Tally"]

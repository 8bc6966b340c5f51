"""What a policy will play, whatever it sees, until it next decides."""

from matchbandit.plans.base import Plan, Tally
from matchbandit.plans.batch import Batch
from matchbandit.plans.chains import ChainRounds
from matchbandit.plans.cycle import Cycle
from matchbandit.plans.fixed import FixedSweeps
from matchbandit.plans.shuffled import ShuffledRounds
from matchbandit.plans.sweeps import Sweeps

__all__ = ["Batch", "ChainRounds", "Cycle", "FixedSweeps", "Plan", "ShuffledRounds", "Sweeps", "Tally"]

"""How time passes: one round at a time, or jumping from decision to decision."""

from matchbandit.simulation.answers import identify
from matchbandit.simulation.job import Interrupted
from matchbandit.simulation.runs import log_spaced, simulate

__all__ = ["Interrupted", "identify", "log_spaced", "simulate"]

"""How time passes: one round at a time, or jumping from decision to decision."""

from matchbandit.simulation.compare import compare
from matchbandit.simulation.identify import identify
from matchbandit.simulation.play import Interrupted
from matchbandit.simulation.simulate import log_spaced, simulate

__all__ = ["Interrupted", "compare", "identify", "log_spaced", "simulate"]

"""Play policies on problems: regret, identification and comparisons."""

from matchbandit.simulation.compare import compare
from matchbandit.simulation.identify import identify
from matchbandit.simulation.play import Interrupted
from matchbandit.simulation.simulate import log_spaced, simulate

__all__ = ["Interrupted", "compare", "identify", "log_spaced", "simulate"]

"""How time passes: one round at a time, or jumping from decision to decision."""

from matchbandit.simulation.simulate import Interrupted, log_spaced, simulate

__all__ = ["Interrupted", "log_spaced", "simulate"]

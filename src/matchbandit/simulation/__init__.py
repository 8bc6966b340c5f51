"""How time passes: one round at a time, or jumping from decision to decision."""

from matchbandit.simulation.simulate import log_spaced, simulate

__all__ = ["log_spaced", "simulate"]

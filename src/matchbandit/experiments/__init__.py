"""Studies as data, and what they say about the paper's claims."""

from matchbandit.experiments.reproduce import FIGURES, Reproduction, reproduce

__all__ = ["FIGURES", "Reproduction", "reproduce"]

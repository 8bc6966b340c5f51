"""Studies as data, and what they say about the paper's claims."""

from matchbandit.experiments.reproduce import FIGURES, Reproduction, kept_of, reproduce

__all__ = ["FIGURES", "Reproduction", "kept_of", "reproduce"]

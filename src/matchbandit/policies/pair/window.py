"""Windows of doubly exponential length, in which columns are eliminated only for a while."""

from dataclasses import dataclass
from math import log
from typing import Any

from matchbandit.confidence import NEVER

ENDLESS = 6
"""2^(2^6) does not fit 64 bits: from here on a window never ends."""


@dataclass
class Window:
    """Window w = 0, 1, 2, … lasts until its own samples exceed 2^(2^w), and has β = 2^(2^w)."""

    number: int = 0
    samples: int = 0

    @property
    def length(self) -> int:
        """The window ends once its samples exceed this."""
        return 2**2**self.number if self.number < ENDLESS else NEVER

    @property
    def log_beta(self) -> float:
        """log 2^(2^w)."""
        return float(2**self.number) * log(2)

    @property
    def over(self) -> bool:
        """Has it ended?"""
        return self.samples > self.length

    def sweeps_left(self, sweep: int) -> int:
        """How many sweeps of so many samples end it."""
        return (self.length - self.samples) // sweep + 1

    def following(self) -> "Window":
        """The next one, empty."""
        return Window(self.number + 1)

    def reasons(self, pending: int) -> dict[str, Any]:
        """The window as plain data, for `explain`."""
        ends = self.length if self.number < ENDLESS else None
        return {"number": self.number, "samples": self.samples + pending, "ends_above": ends}

"""Windows of doubly exponential length, in which columns are eliminated only for a while."""

from dataclasses import dataclass
from math import inf, log
from typing import Any

from matchbandit.confidence import NEVER, Checks, check_delta
from matchbandit.policies.base import Setting
from matchbandit.policies.capabilities import TheoremOption

ENDLESS = 6
"""2^(2^6) does not fit 64 bits: from here on a window never ends."""
WINDOW_THEOREMS = (
    TheoremOption("growth", maximum=4, goals=("regret",)),
    TheoremOption("growth", (4,), goals=("identification",)),
    TheoremOption("cap_windows", (False,)),
)
"""The options that Theorems 3.1 to 3.5 are about: growth 4, for regret also less, and windows without a cap."""


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
        """How many sweeps of this number of samples end it."""
        return (self.length - self.samples) // sweep + 1

    def following(self) -> "Window":
        """The next one, empty."""
        return Window(self.number + 1)

    def describe(self, pending: int) -> dict[str, Any]:
        """The window as plain data, for `explain`."""
        ends = self.length if self.number < ENDLESS else None
        return {"number": self.number, "samples": self.samples + pending, "ends_above": ends}


@dataclass(frozen=True)
class TimeScales:
    """The checks of an elimination on two time scales: rows for good, columns within a window."""

    permanent: Checks
    """β = T; for identification β_l = c l."""
    largest_log_beta: float
    """What log β of a window is capped at."""

    @classmethod
    def of(
        cls, setting: Setting, *, growth: float, cap_windows: bool, delta: float | None, n_averages: int
    ) -> "TimeScales":
        """From a policy's options; with `delta`, T becomes 1/δ and `n_averages` are tracked for good."""
        sigma = setting.rewards.sigma
        if delta is None:
            log_horizon = log(setting.horizon or 1)
            permanent = Checks(growth, log_horizon, sigma)
        else:
            log_horizon = -log(check_delta(delta))
            permanent = Checks.fixed_confidence(growth, n_averages, delta, sigma)
        return cls(permanent, log_horizon if cap_windows else inf)

    def within(self, window: Window) -> Checks:
        """β of the window, or T if that is smaller and windows are capped."""
        log_beta = min(window.log_beta, self.largest_log_beta)
        return Checks(self.permanent.growth, log_beta, self.permanent.sigma)

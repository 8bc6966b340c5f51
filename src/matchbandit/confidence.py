"""At which counts an average is checked, and how wide its interval is."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, log, pi, sqrt

from matchbandit.errors import MatchbanditError, check_float

NEVER = 2**62
"""A count that no average reaches."""
SMALLEST_DELTA = 1e-300
"""The least δ whose inverse floats still hold, with some room."""


@dataclass(frozen=True)
class Checks:
    """The counts k_1 < k_2 < … at which an average is checked, and its radius there.

    k_l = ceil(4 g^l log β_l), l = 1, 2, …, with g = `growth`; g = 4 is the paper's. The radius at a count is
    2σ sqrt(log β_l / k_l), with the largest k_l that the count has reached: scheduled, not actual, so that the
    guarantee holds when a count overshoots. Below 4 log β nothing in [0, 1] can be separated.

    For regret β_l = β at every level; g = 1 is then *every chance*: from 4 log β on, each count is a check of its own.
    For identification (`by_level`) β_l = β l, see `Checks.fixed_confidence`.
    """

    growth: float
    log_beta: float
    sigma: float = 0.5
    by_level: bool = False

    def __post_init__(self) -> None:
        """Check the growth."""
        check_growth(self.growth)
        if self.by_level and self.growth == 1:
            raise MatchbanditError("growth 1 (every chance) is for regret only; with delta take 4, as the paper does.")

    @classmethod
    def fixed_confidence(cls, growth: float, n_averages: int, delta: float, sigma: float) -> "Checks":
        """β_l = c l with c = π sqrt(K / 3δ), K the number of averages: all checks together fail with probability δ."""
        return cls(growth, log(pi * sqrt(n_averages / (3 * delta))), sigma, by_level=True)

    def scheduled(self, level: int) -> int:
        """k_l."""
        return ceil(4 * self.growth**level * self._log_beta(level))

    def following(self, count: int) -> int:
        """The smallest scheduled count above this one.

        >>> Checks(growth=4, log_beta=1.0).following(0), Checks(growth=4, log_beta=1.0).following(16)
        (16, 64)
        """
        if self.log_beta <= 0:
            return NEVER
        if self.growth == 1:
            return max(self.scheduled(0), count + 1)
        return min(self.scheduled(_level(self, count) + 1), NEVER)

    def radius(self, count: int) -> float:
        """Half the width of the interval of an average that is checked at this count."""
        if self.growth == 1:
            return 2 * self.sigma * sqrt(self.log_beta / count)
        level = _level(self, count)
        return 2 * self.sigma * sqrt(self._log_beta(level) / self.scheduled(level))

    def _log_beta(self, level: int) -> float:
        return self.log_beta + log(level) if self.by_level else self.log_beta

    @cached_property
    def levels(self) -> range:
        """All l whose k_l a count can reach."""
        return range(1, 2 + ceil(log(NEVER) / log(self.growth)))


@lru_cache(maxsize=4096)
def _level(checks: Checks, count: int) -> int:
    """The largest l with k_l up to this count; 0 if there is none."""
    return bisect_right(checks.levels, count, key=checks.scheduled)


def check_growth(growth: float) -> float:
    """The factor by which counts grow from check to check, or an error."""
    if not 1 <= check_float("growth", growth) <= 1e6:
        raise MatchbanditError(f"growth must lie between 1 (every chance) and 10^6; got {growth!r}. The paper uses 4.")
    return growth


def check_delta(delta: float) -> float:
    """The error probability δ, or an error."""
    if not 0 < check_float("delta", delta) < 1:
        raise MatchbanditError(
            f"delta must lie between 0 and 1; got {delta!r}. It is the probability of a wrong answer."
        )
    if delta < SMALLEST_DELTA:
        raise MatchbanditError(f"delta must be at least {SMALLEST_DELTA:g}, or floats cannot tell; got {delta!r}.")
    return float(delta)


def check_epsilon(epsilon: float) -> float:
    """The share ε of the optimum that an answer may lack, or an error; 0 asks for the optimum itself."""
    if not 0 <= check_float("epsilon", epsilon) < 1:
        raise MatchbanditError(
            f"epsilon must be at least 0 and below 1; got {epsilon!r}. It is the share of the optimum that an answer "
            f"may lack."
        )
    return float(epsilon)

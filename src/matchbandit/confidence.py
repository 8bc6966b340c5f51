"""At which counts an average is checked, and how wide its interval is."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, log, sqrt

from matchbandit.errors import MatchbanditError, real_number

NEVER = 2**62
"""A count that no average reaches."""


@dataclass(frozen=True)
class Checks:
    """The counts k_1 < k_2 < … at which an average is checked, and its radius there.

    k_l = ceil(4 g^l log β), l = 1, 2, …, with g = `growth`; g = 4 is the paper's. The radius at a count is
    2σ sqrt(log β / k_l), with the largest k_l that the count has reached: scheduled, not actual, so that the
    guarantee holds when a count overshoots. Below 4 log β nothing in [0, 1] can be separated.

    g = 1 is *every chance*: from 4 log β on, each count is a check of its own.
    """

    growth: float
    log_beta: float
    sigma: float = 0.5

    def __post_init__(self) -> None:
        """Check the growth."""
        if not 1 <= real_number("growth", self.growth) <= 1e6:
            raise MatchbanditError(
                f"growth must lie between 1 (every chance) and 10^6; got {self.growth!r}. The paper takes 4."
            )

    def scheduled(self, level: int) -> int:
        """k_l."""
        return ceil(4 * self.growth**level * self.log_beta)

    def following(self, count: int) -> int:
        """The smallest scheduled count above this one.

        >>> Checks(growth=4, log_beta=1.0).following(0), Checks(growth=4, log_beta=1.0).following(16)
        (16, 64)
        """
        if self.log_beta <= 0:
            return NEVER
        if self.growth == 1:
            return max(self.scheduled(0), count + 1)
        return min(_scheduled_after(self, count)[1], NEVER)

    def radius(self, count: int) -> float:
        """Half the width of the interval of an average that is checked at this count."""
        reached = count if self.growth == 1 else _scheduled_after(self, count)[0]
        return 2 * self.sigma * sqrt(self.log_beta / reached)

    @cached_property
    def levels(self) -> range:
        """All l whose k_l a count can reach."""
        return range(1, 2 + ceil(log(NEVER) / log(self.growth)))


@lru_cache(maxsize=4096)
def _scheduled_after(checks: Checks, count: int) -> tuple[int, int]:
    """The largest k_l up to this count, and the smallest above it."""
    level = bisect_right(checks.levels, count, key=checks.scheduled)
    return checks.scheduled(level), checks.scheduled(level + 1)

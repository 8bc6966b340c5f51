"""Statistics over runs: means with standard errors, paired differences with confidence intervals, and bands."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from matchbandit.formatting import short

CONFIDENCE = 0.95
"""Of the intervals of paired differences."""
BAND_LEVEL = 0.9
"""Of bands over draws of an unknown."""


class Summary(NamedTuple):
    """Mean, standard error of the mean, 5 % and 95 % percentile of some runs."""

    mean: float
    se: float | None
    """None for a single run."""
    p5: float
    p95: float

    @property
    def mean_text(self) -> str:
        """The mean with its standard error."""
        return with_error(self.mean, self.se)

    @property
    def range_text(self) -> str:
        """The percentiles."""
        return f"{short(self.p5)} to {short(self.p95)}"


def summarize(values: ArrayLike) -> Summary:
    """Summarize one number of each run.

    >>> summarize([1, 2, 3]).mean_text
    '2 ± 0.58'
    """
    numbers = np.asarray(values, dtype=np.float64)
    low, high = np.percentile(numbers, [5, 95])
    return Summary(float(numbers.mean()), standard_error(numbers), float(low), float(high))


def standard_error(values: ArrayLike) -> Any:
    """Estimate the standard error of the mean over the first axis.

    Parameters
    ----------
    values: array of shape (runs,) or (runs, C)
        One number of each run, or several.

    Returns
    -------
    float or list of float
        With `ddof=1`. None in place of each number if there is a single run: one run says nothing about the spread.
    """
    numbers = np.asarray(values, dtype=np.float64)
    n = len(numbers)
    if n < 2:
        return None if numbers.ndim == 1 else [None] * numbers.shape[1]
    is_equal = (numbers == numbers[0]).all(axis=0)  # the mean of equal numbers is rounded, so their spread is not 0
    return np.where(is_equal, 0.0, numbers.std(axis=0, ddof=1) / sqrt(n)).tolist()


def with_error(mean: float, se: float | None) -> str:
    """Format a mean with its standard error, which is given to two digits.

    >>> with_error(1234.56, 12.34), with_error(0.5, None)
    ('1,235 ± 12', '0.5')
    """
    return short(mean) if se is None else f"{short(mean)} ± {short(float(f'{se:.2g}'))}"


@dataclass(frozen=True)
class PairedDifference:
    """The mean difference between two policies over the runs that both have, with a 95 % confidence interval.

    Runs of the same number play the same instance and draw from reward streams of the same name, so differences run by
    run vary less than the policies do. The interval is Student's, with one degree of freedom less than there are runs.
    """

    runs: int
    """Runs that both have."""
    mean: float | None = None
    """None without such runs."""
    se: float | None = None
    """The standard error of the mean difference; None for fewer than two such runs."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval; None for fewer than two runs in common."""
        if self.mean is None or self.se is None:
            return None
        margin = float(stdtrit(self.runs - 1, (1 + CONFIDENCE) / 2)) * self.se
        return self.mean - margin, self.mean + margin

    @property
    def is_distinguishable(self) -> bool:
        """Does the interval exclude 0? Without an interval nothing can be distinguished."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]

    @property
    def text(self) -> str:
        """The difference with its interval.

        >>> paired_difference([0, 1, 2], [3, 5, 4], [0, 1, 2], [1, 2, 3]).text
        '2 (−0.4841 to 4.484)'
        """
        if self.mean is None:
            return "no runs in common"
        if self.interval is None:
            return short(self.mean)
        low, high = self.interval
        return f"{short(self.mean)} ({short(low)} to {short(high)})"


def paired_difference(
    numbers: ArrayLike, values: ArrayLike, other_numbers: ArrayLike, other_values: ArrayLike
) -> PairedDifference:
    """Compare two policies run by run.

    Parameters
    ----------
    numbers, other_numbers: array of int
        The number of each run of either policy.
    values, other_values: array of shape (runs,)
        What was measured of each of these runs.

    Returns
    -------
    PairedDifference
        The first minus the other.
    """
    _, at, other_at = np.intersect1d(numbers, other_numbers, return_indices=True)
    differences = np.asarray(values, dtype=np.float64)[at] - np.asarray(other_values, dtype=np.float64)[other_at]
    if not len(differences):
        return PairedDifference(0)
    return PairedDifference(len(differences), float(differences.mean()), standard_error(differences))


def average_out_noise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate what each of several draws is worth on average, by some runs in each, shape (draws, runs).

    The means of R runs vary by V = B + W/R over M draws, of which only B, between draws, is sought. They are scaled
    around their common mean to the variance B + V/M: the second part is what the common mean lacks.

    >>> average_out_noise(np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])).tolist()  # nothing but noise
    [2.0, 2.0, 2.0]
    """
    draws, runs = values.shape
    means = np.asarray(values.mean(axis=1))
    variance = float(means.var(ddof=1))
    if variance == 0:
        return means
    noise = float(values.var(axis=1, ddof=1).mean()) / runs
    share = min(1.0, max(variance - noise, 0.0) / variance + 1 / draws)
    return np.asarray(means.mean() + np.sqrt(share) * (means - means.mean()))


def simultaneous_bands(values: NDArray[np.float64]) -> list[tuple[float, float, float]]:
    """Return mean and band of each quantity, shape (quantities, draws): all bands hold at once in 90 % of cases.

    Each band leaves out as many draws at either end as the others do, and as many as can be while 90 % of the draws lie
    within all of them [Besag1995].

    >>> simultaneous_bands(np.array([np.arange(99.0)]))
    [(49.0, 4.0, 94.0)]
    >>> simultaneous_bands(np.array([np.arange(99.0), 37 * np.arange(99.0) % 99]))
    [(49.0, 2.0, 96.0), (49.0, 2.0, 96.0)]
    """
    draws = values.shape[1]
    ranks = np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1, kind="stable")
    farthest = np.sort(np.maximum(ranks, draws - 1 - ranks).max(axis=0))
    last = int(farthest[min(draws, ceil(BAND_LEVEL * (draws + 1))) - 1])
    ends = np.sort(values, axis=1)[:, [draws - 1 - last, last]].tolist()
    return [(float(each.mean()), low, high) for each, (low, high) in zip(values, ends, strict=True)]

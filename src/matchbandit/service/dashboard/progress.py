"""How a league gets on, as charts: what pairs achieved, what the model holds for possible, and what learning costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matchbandit.figures.chart import Chart, Line, Numbers

MOST_POINTS = 240
"""Of a line; of longer histories each point is the average of as many proposals as it takes."""
WINDOW = 10
"""Proposals of which the achieved reward is the running average."""


@dataclass(frozen=True)
class Past:
    """What is drawn of one proposal, each a pair: results are noisy, expectations are the model's at that time."""

    number: int
    told: int
    """Results that it has, without void ones."""
    reward: float
    """Their sum."""
    expected: float | None
    best: float | None
    """Of the pairs as proposed, and of the best guess then."""


def charts(past: Sequence[Past]) -> list[Chart]:
    """Reward over time against the model's own optimum, and the share of it that exploring was expected to cost."""
    drawn = [one for one in past if one.told or one.expected is not None]
    return [made for made in (_reward(drawn), _exploring(drawn)) if made is not None]


def running(told: Numbers, sums: Numbers, window: int = WINDOW) -> Numbers:
    """The average reward of all results of the last `window` proposals; NaN where there are none.

    >>> running(np.array([2.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0]), window=2).tolist()
    [0.5, 0.5, 1.0]
    """

    def moving(values: Numbers) -> Numbers:
        whole = np.concatenate([np.zeros(1), np.cumsum(values)])
        ends = np.arange(1, len(values) + 1)
        return np.asarray(whole[ends] - whole[np.maximum(ends - window, 0)])

    counts = moving(told)
    return np.asarray(np.divide(moving(sums), counts, out=np.full(len(told), np.nan), where=counts > 0))


def _reward(past: Sequence[Past]) -> Chart | None:
    if not any(one.told for one in past):
        return None
    numbers = np.array([one.number for one in past], dtype=np.float64)
    told = np.array([one.told for one in past], dtype=np.float64)
    achieved = running(told, np.array([one.reward for one in past]))
    expected = _numbers([one.expected for one in past])
    best = _numbers([one.best for one in past])
    lines = (
        _line("achieved", numbers, achieved, key="matching-id", strong=True),
        _line("expected", numbers, expected, key="rank1-certify"),
        _line("best guess", numbers, best, kind="reference"),
    )
    caption = (
        f"Reward a pair. Achieved: average of the last {WINDOW} proposals. Expected: what the model expected of the "
        "pairs when it proposed them. Best guess: what it expected of the pairs that it held for the best under the "
        "same rules."
    )
    return Chart("reward", "Reward against the model’s own optimum", "proposal", "reward a pair", lines, caption)


def _exploring(past: Sequence[Past]) -> Chart | None:
    known = [one for one in past if one.expected is not None and one.best is not None and one.best > 0]
    if not known:
        return None
    numbers = np.array([one.number for one in known], dtype=np.float64)
    costs = np.array([100.0 * max(0.0, 1.0 - (one.expected or 0.0) / (one.best or 1.0)) for one in known])
    lines = (
        Line("", numbers, costs, key="rank1-certify", kind="cloud") if len(known) <= MOST_POINTS else None,
        _line("share", numbers, running(np.ones(len(costs)), costs), key="rank1-certify", strong=True),
    )
    caption = (
        f"The share of the best guess that was expected to be given up to learn: the average of {WINDOW} proposals"
        f"{', and each one as a dot' if lines[0] else ''}. It falls as the league knows more."
    )
    title, along = "Share of exploration", "share given up (%)"
    return Chart("exploration", title, "proposal", along, tuple(line for line in lines if line), caption)


def _line(label: str, x: Numbers, y: Numbers, **look: object) -> Line:
    """A line of at most `MOST_POINTS` points."""
    held = np.isfinite(y)
    x, y = _thinned(x[held]), _thinned(y[held])
    return Line(label, x, y, **look)  # type: ignore[arg-type]


def _thinned(values: Numbers) -> Numbers:
    """Averages of as many neighbours as it takes; the last group may be smaller."""
    size = -(-len(values) // MOST_POINTS)
    if size <= 1:
        return values
    starts = np.arange(0, len(values), size)
    return np.asarray(np.add.reduceat(values, starts) / np.diff([*starts, len(values)]))


def _numbers(values: Sequence[float | None]) -> Numbers:
    return np.array([np.nan if value is None else value for value in values])

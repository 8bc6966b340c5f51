"""How a league gets on, as charts: what pairs achieved, what the model expected, and what learning costs."""

from collections.abc import Sequence

import numpy as np

from matchbandit.figures.chart import Chart, Line, Numbers
from matchbandit.live.records import ProposalSummary

MAX_POINTS = 240
"""Of a line; in longer histories each point is the average of several proposals."""
WINDOW = 10
"""Proposals of which all curves are the running average."""


def charts(history: Sequence[ProposalSummary]) -> list[Chart]:
    """Reward over time against the model's own optimum, and the share of it that exploring was expected to cost."""
    return [chart for chart in (_reward(history), _exploring(history)) if chart is not None]


def running_mean(counts: Numbers, sums: Numbers, window: int = WINDOW) -> Numbers:
    """The mean over all results of the last `window` proposals; NaN where there are none.

    >>> running_mean(np.array([2.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0]), window=2).tolist()
    [0.5, 0.5, 1.0]
    """

    def moving_sum(values: Numbers) -> Numbers:
        total = np.concatenate([np.zeros(1), np.cumsum(values)])
        ends = np.arange(1, len(values) + 1)
        return np.asarray(total[ends] - total[np.maximum(ends - window, 0)])

    totals = moving_sum(counts)
    return np.asarray(np.divide(moving_sum(sums), totals, out=np.full(len(counts), np.nan), where=totals > 0))


def _reward(history: Sequence[ProposalSummary]) -> Chart | None:
    """All three curves are means over the same results, so that they can be compared."""
    history = [one for one in history if one.told > one.void]
    if not history:
        return None
    numbers, results = _array([one.number for one in history]), _array([one.told - one.void for one in history])
    is_expected = np.array([one.expected is not None and one.best is not None for one in history])
    best = _array([(one.best or 0.0) / one.pairs for one in history])
    lines = (
        _line("achieved", numbers, running_mean(results, _array([one.reward for one in history])), strong=True),
        _line(
            "expected",
            numbers,
            running_mean(results * is_expected, _array([one.expected_of_told for one in history]) * is_expected),
            key="rank1-certify",
        ),
        _line("best guess", numbers, running_mean(results * is_expected, results * best), key="", kind="reference"),
    )
    caption = (
        f"Reward per pair: averages over the results of the last {WINDOW} proposals. Expected: what the model expected "
        "of the same pairs when it proposed them. Best guess: what it expected of the pairs that it took for the best "
        "under the same rules."
    )
    return Chart("reward", "Reward against the model’s own optimum", "proposal", "reward per pair", lines, caption)


def _exploring(history: Sequence[ProposalSummary]) -> Chart | None:
    known = [(one.number, 100.0 * one.explored) for one in history if one.explored is not None]
    if not known:
        return None
    numbers, shares = (_array(column) for column in zip(*known, strict=True))
    lines = (
        Line("", numbers, shares, key="rank1-certify", kind="cloud") if len(known) <= MAX_POINTS else None,
        _line("share", numbers, running_mean(np.ones(len(shares)), shares), key="rank1-certify", strong=True),
    )
    caption = (
        f"The share of the best guess that was expected to be given up to learn: the average of {WINDOW} proposals"
        f"{', and each one as a dot' if lines[0] else ''}. It falls as the league knows more."
    )
    title, label = "Share of exploration", "share given up (%)"
    return Chart("exploration", title, "proposal", label, tuple(line for line in lines if line), caption)


def _line(label: str, x: Numbers, y: Numbers, *, key: str = "matching-id", **style: object) -> Line:
    """A line of at most `MAX_POINTS` points."""
    finite = np.isfinite(y)
    return Line(label, _thinned(x[finite]), _thinned(y[finite]), key=key, **style)  # type: ignore[arg-type]


def _thinned(values: Numbers) -> Numbers:
    """Averages of neighbours, in groups as large as it takes; the last group may be smaller."""
    size = -(-len(values) // MAX_POINTS)
    if size <= 1:
        return values
    starts = np.arange(0, len(values), size)
    return np.asarray(np.add.reduceat(values, starts) / np.diff([*starts, len(values)]))


def _array(values: Sequence[float]) -> Numbers:
    return np.array(values, dtype=np.float64)

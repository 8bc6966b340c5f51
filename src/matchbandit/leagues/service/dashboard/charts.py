"""Numbers drawn by the server: who met whom as a matrix, and rewards over time as the lines of an SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from matchbandit.formatting import short
from matchbandit.leagues import League
from matchbandit.leagues.records import Item, LeagueInfo, PairResult

MAX_MATRIX = 24
"""Items up to which a table shows every pair."""
MAX_POINTS = 100
"""Points of a line; in long leagues each is of several proposals."""
MAX_PROPOSALS = 5_000
"""Proposals that are drawn, the latest ones."""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 720, 340, 80, 60, 16, 16


# Who met whom --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matrix:
    """The results of every pair of a small league; None where an item would meet itself."""

    columns: Sequence[Item]
    rows: Sequence[tuple[Item, Sequence[PairResult | int | None]]]


def matrix(league: League, info: LeagueInfo) -> Matrix | None:
    """Who met whom; None if there are too many items, or no results."""
    if info.items > MAX_MATRIX or not info.results:
        return None
    items = league.items(limit=MAX_MATRIX).rows
    results = {row.ids: row for row in league.results(limit=MAX_MATRIX**2)}
    rows = [item for item in items if info.sides is None or item.side == info.sides[0]]
    columns = rows if info.sides is None else [item for item in items if item.side == info.sides[1]]

    def cell(a: int, b: int) -> PairResult | int | None:
        return None if a == b else results.get((min(a, b), max(a, b)) if info.sides is None else (a, b), 0)

    return Matrix(columns, [(row, [cell(row.id, column.id) for column in columns]) for row in rows])


# Progress ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProgressPoint:
    """Totals from the first proposal that is drawn to this one."""

    proposal: int
    results: int
    achieved: float
    expected: float | None
    """Of the same results; None while there were no data."""
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Chart:
    """The geometry of a chart: lines as lists of points, ticks as positions with a label."""

    expected: str
    achieved: str
    band: str
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    description: str
    frame: dict[str, Any]


def progress_chart(points: Sequence[ProgressPoint]) -> Chart | None:
    """Expected and achieved totals over proposals; None without results."""
    if not points:
        return None
    known = [point for point in points if point.expected is not None]
    values = [value for point in points for value in (point.achieved, point.expected, point.low, point.high)]
    numbers = [0.0, *(value for value in values if value is not None)]
    low, high = min(numbers), max(numbers)
    high = high if high > low else low + 1.0
    first, last = points[0].proposal - 1, points[-1].proposal

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - first) / max(last - first, 1)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (value - low) / (high - low)

    def line(values: Sequence[tuple[int, float]]) -> str:
        return " ".join(f"{x(number):.1f},{y(value):.1f}" for number, value in values)

    lower = [(point.proposal, point.low or 0.0) for point in known]
    upper = [(point.proposal, point.high or 0.0) for point in known]
    final = points[-1]
    description = f"Up to proposal {final.proposal}, {final.results} results achieved {final.achieved:.2f} in all"
    if final.expected is not None:
        description += f"; {final.expected:.2f} were expected of them"
    return Chart(
        expected=line([(point.proposal, point.expected or 0.0) for point in known]),
        achieved=line([(first, 0.0), *((point.proposal, point.achieved) for point in points)]),
        band=line([*lower, *reversed(upper)]),
        x_ticks=[(x(tick), short(tick)) for tick in ticks(first, last, 5) if tick == round(tick)],
        y_ticks=[(y(tick), short(tick)) for tick in ticks(low, high, 5)],
        description=f"{description}.",
        frame={"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "bottom": HEIGHT - BOTTOM},
    )


def ticks(low: float, high: float, count: int) -> list[float]:
    """About so many round numbers from `low` to `high`.

    >>> ticks(0, 97, 5), ticks(0, 1, 4)
    ([0.0, 20.0, 40.0, 60.0, 80.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    size = 10.0 ** floor(log10((high - low) / count))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor * count >= 0.999 * (high - low))
    start = -floor(-low / step)
    return [round(step * k, 12) for k in range(start, floor(high / step + 1e-9) + 1)]

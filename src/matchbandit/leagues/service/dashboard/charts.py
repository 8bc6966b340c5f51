"""Numbers that the server draws: who met whom as a matrix, and rewards over time as the lines of an SVG."""

from collections.abc import Sequence
from math import floor, log10
from typing import Any

from matchbandit.formatting import fixed, plural, short
from matchbandit.leagues import League
from matchbandit.leagues.records import LeagueInfo, ProgressBin

MAX_MATRIX = 24
"""Items up to which a table shows every pair."""
MAX_POINTS = 100
"""Points of a line; in long leagues each is of several proposals."""
WIDTH, HEIGHT, LEFT, BOTTOM, MARGIN = 720, 340, 80, 40, 16


def matrix(league: League, info: LeagueInfo) -> dict[str, Any] | None:
    """The results of every pair of a small league, None where an item would meet itself; None if it is large."""
    if info.items > MAX_MATRIX or not info.results:
        return None
    items, results = league.items().rows, {row.ids: row for row in league.results()}
    rows = columns = items
    if info.sides is not None:
        rows, columns = ([item for item in items if item.side == side] for side in info.sides)

    def cell(a: int, b: int) -> Any:
        return None if a == b else results.get((a, b), results.get((b, a), 0))

    return {"columns": columns, "rows": [(row, [cell(row.id, column.id) for column in columns]) for row in rows]}


def running_totals(bins: Sequence[ProgressBin]) -> list[dict[str, float]]:
    """Totals of the results up to the last proposal of each bin, leaving out those before there were data."""
    points = list[dict[str, float]]()
    totals: dict[str, float] = dict.fromkeys(("results", "reward", "expected", "low", "high", "best"), 0)
    for part in bins:
        if part.expected is not None:
            totals = {name: total + getattr(part, name) for name, total in totals.items()}
            points.append({"proposal": part.last, "achieved": totals["reward"], **totals})
    return points


def progress_chart(points: Sequence[dict[str, float]]) -> dict[str, Any] | None:
    """The lines and ticks of expected and achieved totals over proposals; None without results."""
    if not points or not points[-1]["results"]:
        return None
    values = [0.0, *(point[name] for point in points for name in ("achieved", "low", "high"))]
    low, high, last = min(values), max(values), points[-1]
    high = max(high, low + 1.0)

    def x(number: float) -> float:
        return round(LEFT + (WIDTH - LEFT - MARGIN) * number / last["proposal"], 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - MARGIN) * (value - low) / (high - low), 1)

    def line(name: str) -> list[str]:
        return [f"{x(0)},{y(0)}", *(f"{x(point['proposal'])},{y(point[name])}" for point in points)]

    return {
        "expected": line("expected"),
        "achieved": line("achieved"),
        "band": [*line("low"), *reversed(line("high"))],
        "x_ticks": [(x(tick), short(tick)) for tick in ticks(0, last["proposal"], 6) if tick == round(tick)],
        "y_ticks": [(y(tick), short(tick)) for tick in ticks(low, high, 6)],
        "description": f"{plural(int(last['results']), 'result')} achieved {fixed(last['achieved'], 2)} in all, where "
        f"{fixed(last['expected'], 2)} were expected (between {fixed(last['low'], 2)} and {fixed(last['high'], 2)}). "
        f"The best guesses promised {fixed(last['best'], 2)}: the difference was the cost of learning.",
    }


def ticks(low: float, high: float, count: int) -> list[float]:
    """About so many round numbers from `low` to `high`.

    >>> ticks(0, 97, 5), ticks(0, 1, 4)
    ([0.0, 20.0, 40.0, 60.0, 80.0], [0.0, 0.5, 1.0])
    """
    size = 10.0 ** floor(log10((high - low) / count))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor * count >= 0.999 * (high - low))
    return [round(step * k, 12) for k in range(-floor(-low / step), floor(high / step + 1e-9) + 1)]

"""Who met whom, as data for the map and as a table for few."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matchbandit.live.league_view import LeagueView
from matchbandit.live.records import Item, PairResult

MAX_MATRIX = 24
"""Items per side whose meetings fit into a table with a row and a column for each."""
MAX_SQUARES = 400
"""Items per side that the map shows: the first of the ranking."""
MAX_CELLS = 10_000
"""Pairs in the data of the map; of leagues in which more met, fewer items are shown."""
MAX_LABEL = 40
"""Characters of a name in a map of more than `MAX_MATRIX` items."""


@dataclass(frozen=True)
class MeetingsMap:
    """The meetings of a league: data for the script, and what stands on the page."""

    data: dict[str, Any] | None
    words: str
    columns: Sequence[Item]
    matrix: Sequence[tuple[Item, Sequence[int | None]]] | None


def meetings_of(view: LeagueView, results: Sequence[PairResult]) -> MeetingsMap:
    """Who met whom, in the order of the ranking; those who left come last."""
    order = {row.id: place for place, row in enumerate(view.ranking())}
    sides: Sequence[str] = view.config["sides"] or ()
    took_part = {item for row in results for item in row.ids}
    items = [item for item in view.items() if item.active or item.id in took_part]
    items.sort(key=lambda item: (order.get(item.id, len(order)), item.id))
    rows = [item for item in items if not sides or item.side == sides[0]]
    return meetings_map(rows, [item for item in items if item.side == sides[1]] if sides else None, results)


def meetings_map(rows: Sequence[Item], columns: Sequence[Item] | None, results: Sequence[PairResult]) -> MeetingsMap:
    """The map of these results; without columns all are players, and a pair stands on both sides of the diagonal."""
    same = columns is None
    across = rows if columns is None else columns
    possible = len(rows) * (len(rows) - 1) // 2 if columns is None else len(rows) * len(across)
    words = f"{len(results)} of {possible} possible pairs have met."
    if not results:
        return MeetingsMap(None, words, across, None)
    larger = max(len(rows), len(across))
    limit, cells = min(MAX_SQUARES, larger), list[list[float]]()
    places = {item.id: k for k, item in enumerate(rows)} | {item.id: k for k, item in enumerate(across)}
    for row in sorted(results, key=lambda row: max(places[row.ids[0]], places[row.ids[1]])):
        at, beside = places[row.ids[0]], places[row.ids[1]]
        if max(at, beside) >= limit or len(cells) == MAX_CELLS:
            limit = min(limit, max(at, beside))
            break
        cells.append([at, beside, row.count, float(f"{row.mean:.3g}")])
    cells = [cell for cell in cells if max(cell[:2]) < limit]
    means = [cell[3] for cell in cells] or [0.0]
    data = {
        "same": same,
        "rows": _labels(rows, limit),
        "columns": _labels(across, limit),
        "cells": cells,
        "most": max([cell[2] for cell in cells], default=1),
        "means": [min(means), max(means)],
        "words": words,
    }
    if larger > limit:
        words += f" The map shows the first {limit} of the ranking."
    small = larger <= MAX_MATRIX
    return MeetingsMap(data, words, across, _matrix(rows, across, results, same=same) if small else None)


def _labels(items: Sequence[Item], limit: int) -> list[str]:
    """Names, shortened where there are many."""
    names = [item.name for item in items[:limit]]
    if len(names) <= MAX_MATRIX:
        return names
    return [name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…" for name in names]


def _matrix(
    rows: Sequence[Item], columns: Sequence[Item], results: Sequence[PairResult], *, same: bool
) -> list[tuple[Item, list[int | None]]]:
    """How often every two met; nothing where an item would meet itself."""
    times = {row.ids: row.count for row in results}
    if same:
        times |= {(b, a): count for (a, b), count in times.items()}
    return [
        (row, [None if same and row.id == column.id else times.get((row.id, column.id), 0) for column in columns])
        for row in rows
    ]

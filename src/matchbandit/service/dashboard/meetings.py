"""Who met whom, as a map for the eye and as a table for everybody."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_MATRIX = 24
"""Items a side whose meetings fit into a table with a row and a column for each."""
MOST_LISTED = 200
"""Pairs in the list that stands in its place."""
MOST_SQUARES = 400
"""Items a side that the map shows: the first of the ranking."""


@dataclass(frozen=True)
class Place:
    """An item, in the order of the ranking."""

    id: int
    name: str


@dataclass(frozen=True)
class Met:
    """Two items, how often they met, and what they achieved on average."""

    ids: tuple[int, int]
    names: tuple[str, str]
    meetings: int
    mean: float


@dataclass(frozen=True)
class Map:
    """All of it: data for the script, and what stands on the page."""

    data: dict[str, Any] | None
    words: str
    columns: Sequence[Place]
    matrix: Sequence[tuple[Place, Sequence[int | None]]] | None
    most: Sequence[Met]
    table_words: str


def drawn(rows: Sequence[Place], columns: Sequence[Place] | None, met: Sequence[Met]) -> Map:
    """The map of these meetings; without columns all are players, and a pair stands on both sides of the diagonal."""
    same = columns is None
    across = rows if columns is None else columns
    possible = len(rows) * (len(rows) - 1) // 2 if columns is None else len(rows) * len(across)
    words = f"{len(met)} of {possible} possible pairs have met."
    if not met:
        return Map(None, words, across, None, (), "")
    shown = {place.id: k for k, place in enumerate(rows[:MOST_SQUARES])}
    beside = shown if same else {place.id: k for k, place in enumerate(across[:MOST_SQUARES])}
    cells = [
        [shown[a], beside[b], one.meetings, float(f"{one.mean:.4g}")]
        for one in met
        for a, b in [one.ids]
        if a in shown and b in beside
    ]
    means = [cell[3] for cell in cells] or [0.0]
    left_out = max(len(rows), len(across)) > MOST_SQUARES
    data = {
        "same": same,
        "rows": [place.name for place in rows[:MOST_SQUARES]],
        "columns": [place.name for place in across[:MOST_SQUARES]],
        "cells": cells,
        "most": max([cell[2] for cell in cells], default=1),
        "means": [min(means), max(means)],
        "words": words,
    }
    if left_out:
        words += f" The map shows the first {MOST_SQUARES} of the ranking."
    most = sorted(met, key=lambda one: (-one.meetings, one.ids))[:MOST_LISTED]
    small = max(len(rows), len(across)) <= MOST_MATRIX
    listed = f"The {len(most)} pairs that met most often" if len(met) > len(most) else "All pairs that met"
    table_words = f"{listed}. The page of an item lists all its partners."
    return Map(data, words, across, _matrix(rows, across, met, same=same) if small else None, most, table_words)


def _matrix(
    rows: Sequence[Place], columns: Sequence[Place], met: Sequence[Met], *, same: bool
) -> list[tuple[Place, list[int | None]]]:
    """How often every two met; nothing where an item would meet itself."""
    times = {one.ids: one.meetings for one in met}
    if same:
        times |= {(b, a): meetings for (a, b), meetings in times.items()}
    return [
        (row, [None if same and row.id == column.id else times.get((row.id, column.id), 0) for column in columns])
        for row in rows
    ]

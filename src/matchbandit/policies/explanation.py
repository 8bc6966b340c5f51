"""What `explain()` says: one schema for all policies, and the records that it is made of.

Every policy gives all of these, in plain JSON data:

- `policy`, `options`, `selection`, `goal`: who it is and what it is for;
- `rounds` told so far, `round`, the number of the open or next one, `asked`, its pairs if they were asked,
  `waiting_for`, those of them that did not take place and are played again;
- `done`, whether identification has ended, and `recommendation`, the best guess now or the final answer;
- `items`: a record for each item that the policy keeps count of: `item`, `side` ("row", "column" or "player"),
  `active`, `samples`, `estimate`, `interval` of its last check;
- `pairs`: a record for each pair that it keeps count of: `pair`, `plays`, `estimate`, `interval`;
- `clusters`: ordered groups of players: `players`, `samples`, `estimates`;
- `eliminations`: who left when, on which average, by whom, with both intervals: see `Elimination`;
- `next_check`: after how many sweeps of how many rounds it decides again; None if it decides every round;
- `warnings`: sentences for a human, such as that the data do not fit a product;
- `details`: what only this policy has.

`estimate` and `interval` are None where there is none yet. A record may have more keys than these.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

from matchbandit.graphs import Selection, Side
from matchbandit.policies.capabilities import Goal

PARTS: dict[str, tuple[str, ...]] = {
    "items": ("item", "side", "active", "samples", "estimate", "interval"),
    "pairs": ("pair", "plays", "estimate", "interval"),
    "clusters": ("players", "samples", "estimates"),
}
"""The keys that every record of a part has."""


class Explanation(TypedDict):
    """What `explain()` returns."""

    policy: str
    options: dict[str, Any]
    selection: Selection
    goal: Goal
    rounds: int
    round: int
    asked: list[list[int]] | None
    waiting_for: list[list[int]]
    done: bool
    recommendation: list[list[int]]
    items: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    clusters: list[dict[str, Any]]
    eliminations: list[dict[str, Any]]
    next_check: dict[str, Any] | None
    warnings: list[str]
    details: dict[str, Any]


class Elimination(NamedTuple):
    """An item that was beaten: when, on which average, by whom, and the numbers that decided it."""

    round: int
    """After which round."""
    side: Side
    """"row", "column" or "player"."""
    item: int
    by: int
    """The item that beat it."""
    on: int | str
    """The opponent against whom both were compared, or "all opponents"."""
    window: int | None
    """The window for which it is out; None: for good."""
    estimate: float
    interval: tuple[float, float]
    by_estimate: float
    by_interval: tuple[float, float]

    @classmethod
    def restored(cls, record: Sequence[Any]) -> "Elimination":
        """The elimination again, after a trip through JSON, which makes lists of tuples."""
        return cls._make(tuple(value) if isinstance(value, list) else value for value in record)

    def describe(self) -> dict[str, Any]:
        """The elimination as plain data."""
        return {**self._asdict(), "interval": list(self.interval), "by_interval": list(self.by_interval)}


def item_record(item: int, side: Side, *, samples: int, estimate: float | None, active: bool = True,
                interval: tuple[float, float] | None = None, **more: Any) -> dict[str, Any]:  # fmt: skip
    """The record of an item."""
    return {"item": item, "side": side, "active": active, "samples": samples, "estimate": estimate,
            "interval": None if interval is None else [float(end) for end in interval], **more}  # fmt: skip


def pair_record(pair: list[int], *, plays: int, estimate: float | None,
                interval: tuple[float, float] | None = None, **more: Any) -> dict[str, Any]:  # fmt: skip
    """The record of a pair."""
    return {"pair": pair, "plays": plays, "estimate": estimate,
            "interval": None if interval is None else [float(end) for end in interval], **more}  # fmt: skip

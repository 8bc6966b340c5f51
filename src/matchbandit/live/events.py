"""Events: the append-only log of a league. Events hold ids, never names."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar, Final

from matchbandit.live.errors import LeagueError
from matchbandit.live.tally import key_of

KINDS: Final = (
    "created",
    "joined",
    "left",
    "returned",
    "renamed",
    "forgotten",
    "excluded",
    "allowed",
    "wished",
    "unwished",
    "configured",
    "began",
    "proposed",
    "told",
    "corrected",
    "expired",
    "archived",
    "deleted",
    "restored",
)
"""All kinds of events. A kind may gain keys but never loses or changes one, so old logs stay readable."""
NAMING: Final = frozenset({"joined", "renamed", "forgotten"})
"""Kinds that change the names table."""
LIFE_CYCLE: Final = frozenset({"archived", "deleted", "restored"})
"""Kinds that change whether the league is active; see `lifecycle`."""
DECIDING: Final = frozenset(KINDS) - LIFE_CYCLE - {"renamed", "told", "corrected", "expired", "began"}
"""Kinds that invalidate a decision in progress: proposals and changes of the roster, the rules or the settings.

Outcomes do not: a proposal may be decided just before a result arrives."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the log."""

    __pydantic_config__: ClassVar = {"use_attribute_docstrings": True}

    seq: int
    """Consecutive numbers from 1."""
    at: str
    """Time in UTC, such as 2026-11-16T09:30:00.000000Z."""
    kind: str
    """One of `KINDS`."""
    data: dict[str, Any]
    """The content: plain JSON, with ids instead of names."""
    by: str = "python"
    """The interface or token it came through, or "clock"."""


@dataclass(frozen=True)
class Draft:
    """An event that is not written yet, with its changes to the names table."""

    kind: str
    data: dict[str, Any]
    names: tuple[tuple[int, str | None], ...] = ()
    """(id, name) writes a name, (id, None) erases one."""

    def event(self, seq: int, at: str, by: str = "python") -> Event:
        """The event with its number, time and origin."""
        return Event(seq, at, self.kind, self.data, by)

    @property
    def proposal(self) -> int | None:
        """The number of the proposal it refers to, if any."""
        return proposal_number(self.kind, self.data)


def proposal_number(kind: str, data: Mapping[str, Any]) -> int | None:
    """The number of the proposal an event refers to, if any."""
    if kind == "proposed":
        return int(data["number"])
    return int(data["proposal"]) if kind in ("told", "corrected", "expired") else None


def pair_estimates(data: Mapping[str, Any]) -> dict[int, float]:
    """The reward the model expected of each pair of a proposal, by pair key; 0 where it was not recorded."""
    keys = [key_of(a, b) for a, b in data["pairs"]]
    estimates = data.get("estimates") or [None] * len(keys)
    return {key: estimate or 0.0 for key, estimate in zip(keys, estimates, strict=True)}


def to_json(data: Mapping[str, Any]) -> str:
    """Serialize event data as it is stored: compact ASCII JSON.

    >>> to_json({"items": [[1, 0]]})
    '{"items":[[1,0]]}'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


@cache
def this_version() -> str:
    """The installed version of matchbandit, which events about decisions record."""
    return version("matchbandit")


def utc_now() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


def format_time(time: datetime) -> str:
    """Format a time as the log has it: UTC with microseconds, so that string order is time order.

    >>> format_time(datetime(2026, 11, 16, 9, 30, tzinfo=UTC))
    '2026-11-16T09:30:00.000000Z'
    """
    if time.tzinfo is None:
        raise LeagueError("bad-value", f"times need a time zone; got {time.isoformat()} without one. Use UTC.")
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_time(at: str) -> datetime:
    """Inverse of `format_time`."""
    return datetime.fromisoformat(at)


def add_seconds(at: str, seconds: float) -> str:
    """Add seconds to a logged time.

    >>> add_seconds("2026-11-16T09:30:00.000000Z", 90)
    '2026-11-16T09:31:30.000000Z'
    """
    return format_time(parse_time(at) + timedelta(seconds=seconds))

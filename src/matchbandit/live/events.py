"""The log of a league: what happened, in order. Ids only, never a name; what is written is never changed."""

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
"""All kinds of events. A kind gains keys, and never loses or changes one: old logs stay readable."""
NAMING: Final = frozenset({"joined", "renamed", "forgotten"})
"""Kinds that go with a change of the names table."""
LIFE_CYCLE: Final = frozenset({"archived", "deleted", "restored"})
"""Kinds that say whether the league is active; see `lifecycle`."""
DECIDING: Final = frozenset(KINDS) - LIFE_CYCLE - {"renamed", "told", "corrected", "expired", "began"}
"""Kinds that make a decision out of date which was taken before them: proposals, the roster, rules and settings.

Outcomes do not: a proposal may be decided a moment before a result arrives."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    __pydantic_config__: ClassVar = {"use_attribute_docstrings": True}

    seq: int
    """From 1, without a gap."""
    at: str
    """When, in UTC: 2026-11-16T09:30:00.000000Z."""
    kind: str
    """One of `KINDS`."""
    data: dict[str, Any]
    """What: plain JSON, with ids in the place of names."""
    by: str = "python"
    """Which door it came through, or "clock"."""


@dataclass(frozen=True)
class Draft:
    """An event that is about to happen, and the rows of the names table that go with it."""

    kind: str
    data: dict[str, Any]
    names: tuple[tuple[int, str | None], ...] = ()
    """(id, name) to write, (id, None) to erase."""

    def event(self, seq: int, at: str, by: str = "python") -> Event:
        """As it happens."""
        return Event(seq, at, self.kind, self.data, by)

    @property
    def proposal(self) -> int | None:
        """The number of the proposal that it is about, if any."""
        return proposal_of(self.kind, self.data)


def proposal_of(kind: str, data: Mapping[str, Any]) -> int | None:
    """The number of the proposal that an event is about, if any."""
    if kind == "proposed":
        return int(data["number"])
    return int(data["proposal"]) if kind in ("told", "corrected", "expired") else None


def pair_estimates(data: Mapping[str, Any]) -> dict[int, float]:
    """What the model expected of each pair of a proposal, by the key of the pair; 0 where it is not recorded."""
    keys = [key_of(a, b) for a, b in data["pairs"]]
    estimates = data.get("estimates") or [None] * len(keys)
    return {key: estimate or 0.0 for key, estimate in zip(keys, estimates, strict=True)}


def written(data: Mapping[str, Any]) -> str:
    """Data as it is stored: compact JSON, in plain ASCII.

    >>> written({"items": [[1, 0]]})
    '{"items":[[1,0]]}'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


@cache
def this_version() -> str:
    """That of this program, which events of decisions name."""
    return version("matchbandit")


def utc_now() -> datetime:
    """The clock of the wall."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A moment as it is logged: UTC, with microseconds, so that texts are in the order of time.

    >>> stamp(datetime(2026, 11, 16, 9, 30, tzinfo=UTC))
    '2026-11-16T09:30:00.000000Z'
    """
    if moment.tzinfo is None:
        raise LeagueError("bad-value", f"times need their zone; got {moment.isoformat()} without one. Take UTC.")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment(at: str) -> datetime:
    """The moment that was logged."""
    return datetime.fromisoformat(at)


def later(at: str, seconds: float) -> str:
    """So many seconds after a logged moment.

    >>> later("2026-11-16T09:30:00.000000Z", 90)
    '2026-11-16T09:31:30.000000Z'
    """
    return stamp(moment(at) + timedelta(seconds=seconds))

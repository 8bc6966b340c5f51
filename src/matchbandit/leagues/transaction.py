"""A transaction on one league: its row, who writes, the audit trail, and idempotency keys."""

import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, insert, select, update

from matchbandit.leagues import library, schema
from matchbandit.leagues.errors import LeagueError

if TYPE_CHECKING:
    from matchbandit.rewards import RewardDistribution

MAX_KEY_LENGTH = 200
"""Characters of an idempotency key."""


def format_time(time: datetime) -> str:
    """UTC with microseconds, so that the order of texts is the order of times.

    >>> format_time(datetime(2026, 11, 16, 9, 30, tzinfo=UTC))
    '2026-11-16T09:30:00.000000Z'
    """
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def add_seconds(at: str, seconds: float) -> str:
    """Add seconds to a time written by `format_time`."""
    return format_time(datetime.fromisoformat(at) + timedelta(seconds=seconds))


def seconds_between(first: str, second: str) -> float:
    """Seconds from one time to another; 0 if the clock was set back."""
    return max((datetime.fromisoformat(second) - datetime.fromisoformat(first)).total_seconds(), 0.0)


@dataclass(frozen=True)
class LeagueRow:
    """The row of a league; see `schema.league`."""

    id: int
    slug: str
    sides: list[str] | None
    rewards: str
    seed: int
    stream: str
    settings: dict[str, Any]
    version: int
    decision_version: int
    rules_version: int
    items_version: int
    n_results: int
    fit: dict[str, Any] | None
    n_proposals: int
    created_at: str
    archived_at: str | None
    deleted_at: str | None

    @cached_property
    def distribution(self) -> "RewardDistribution":
        """The distribution of its rewards."""
        return library.parse_rewards(self.rewards)

    @property
    def kind(self) -> str:
        """ "players" or "sides"."""
        return "players" if self.sides is None else "sides"

    @property
    def half_life(self) -> float | None:
        """Proposals after which a result counts half, for policies that discount."""
        half_life: float | None = self.settings["options"].get("half_life")
        return half_life

    @property
    def any_size(self) -> bool:
        """Whether its policy stores less than a number per pair."""
        return library.capabilities(self.settings["policy"]).any_size


class Statement:
    """A statement that the driver executes as text, compiled once: Core takes longer than the database for many.

    Values are those of the driver: JSON is text, and SQLite has 0 and 1 for false and true.
    """

    def __init__(self, statement: Any) -> None:
        """Parameters are bound by name."""
        self._statement = statement
        self._compiled: dict[str, tuple[str, list[str], dict[str, Any]]] = {}

    def _text(self, connection: Connection) -> tuple[str, list[str], dict[str, Any]]:
        """The text, its parameters in order, and the values of those that the statement itself contains."""
        dialect = connection.dialect
        if dialect.name not in self._compiled:
            kind: Any = type(dialect)
            positional = kind(paramstyle="qmark" if dialect.name == "sqlite" else "format")
            compiled = self._statement.compile(dialect=positional)
            literals = {name: value for name, value in compiled.params.items() if value is not None}
            self._compiled[dialect.name] = str(compiled), compiled.positiontup, literals
        return self._compiled[dialect.name]

    def execute(self, connection: Connection, **values: Any) -> Any:
        """Execute it; returns the cursor of the driver."""
        text, order, literals = self._text(connection)
        values = literals | values
        return connection.connection.cursor().execute(text, [values[name] for name in order])

    def rows(self, connection: Connection, **values: Any) -> list[tuple[Any, ...]]:
        """The rows as plain tuples."""
        return self.execute(connection, **values).fetchall()  # type: ignore[no-any-return]

    def execute_many(
        self, connection: Connection, names: Sequence[str], rows: Iterable[tuple[Any, ...]], **common: Any
    ) -> None:
        """Execute it for each row of values of these names, and with values that all have in common."""
        text, order, literals = self._text(connection)
        common = literals | common
        columns = [*names, *common]
        pick, rest = itemgetter(*map(columns.index, order)), tuple(common.values())
        if parameters := [pick((*row, *rest)) for row in rows]:
            connection.connection.cursor().executemany(text, parameters)


LEAGUE_COLUMNS = [schema.league.c[field.name] for field in fields(LeagueRow)]
# Statements that every request executes are built once: building one takes longer than executing it.
_FIND = select(*LEAGUE_COLUMNS).where(schema.league.c.slug == bindparam("slug"))
_FIND_AND_LOCK = _FIND.with_for_update()
COUNTERS = ("version", "decision_version", "rules_version", "items_version", "n_results", "n_proposals")
_INSERT_CHANGE = Statement(insert(schema.change))
_NEW_VERSION = Statement(
    update(schema.league)
    .where(schema.league.c.id == bindparam("of_league"))
    .values({name: bindparam(f"new_{name}") for name in COUNTERS})
)
is_replay: ContextVar[bool] = ContextVar("is_replay", default=False)
"""Whether the last writing request of this thread or task got a stored answer."""
_key = schema.idempotency_key
_FIND_ANSWER = select(_key.c.request, _key.c.answer).where(
    _key.c.scope == bindparam("scope"), _key.c.key == bindparam("key")
)


def find_league(connection: Connection, slug: str, *, lock: bool = False, deleted: bool = False) -> LeagueRow:
    """The row of a league by name; `lock` keeps other writers of this league out until the transaction ends."""
    row = connection.execute(_FIND_AND_LOCK if lock else _FIND, {"slug": slug}).one_or_none()
    if row is None or (row.deleted_at is not None and not deleted):
        raise LeagueError("unknown-league", f"there is no league {slug!r}.")
    return LeagueRow(*row)


class Transaction:
    """A write transaction on one league, whose row it has locked."""

    def __init__(self, connection: Connection, league: LeagueRow, now: str, by: str) -> None:
        """Begin with the row of the league."""
        self.connection, self.league, self.now, self.by = connection, league, now, by

    def record(
        self,
        action: str,
        data: Mapping[str, Any],
        *,
        decides: bool = True,
        rules: bool = False,
        items: bool = False,
        results: int = 0,
        proposals: int = 0,
    ) -> int:
        """Append a change to the audit trail; returns the new version of the league.

        `decides`: decisions in progress must not miss this change, as they may miss an outcome. `rules`: it changes
        exclusions or pins. `items`: it changes names, or who is active. `results` and `proposals`: how many
        more there are.
        """
        version = self.league.version + 1
        _INSERT_CHANGE.execute(
            self.connection,
            league_id=self.league.id,
            version=version,
            at=self.now,
            by=self.by,
            action=action,
            data=json.dumps(data, separators=(",", ":")),
        )
        changes = {"decision": decides, "rules": rules, "items": items}
        new: dict[str, Any] = {f"{name}_version": version for name, is_changed in changes.items() if is_changed}
        new |= {"n_results": self.league.n_results + results, "n_proposals": self.league.n_proposals + proposals}
        self.league = replace(self.league, version=version, **new)
        counters = {f"new_{name}": getattr(self.league, name) for name in COUNTERS}
        _NEW_VERSION.execute(self.connection, of_league=self.league.id, **counters)
        return version

    def update(self, **values: Any) -> None:
        """Change the row of the league."""
        self.connection.execute(update(schema.league).where(schema.league.c.id == self.league.id).values(values))
        self.league = replace(self.league, **values)


@dataclass(frozen=True)
class Request:
    """A writing request, with the key under which it may be repeated."""

    key: str | None
    action: str
    content: Any
    """What was asked for, as plain JSON data."""

    def __post_init__(self) -> None:
        """Refuse keys that nobody can have meant."""
        if self.key is not None and not (isinstance(self.key, str) and 1 <= len(self.key) <= MAX_KEY_LENGTH):
            raise LeagueError(
                "bad-value", f"an idempotency key is a text of 1 to {MAX_KEY_LENGTH} characters; got {self.key!r:.80}."
            )


def stored_answer(connection: Connection, secret: str, scope: str, request: Request) -> Any | None:
    """The answer that an equal request under this key has been given, if any; an error if they differ."""
    is_replay.set(False)
    if request.key is None:
        return None
    row = connection.execute(_FIND_ANSWER, {"scope": scope, "key": _hash(secret, scope, request.key)}).one_or_none()
    if row is None:
        return None
    if not hmac.compare_digest(row.request, _hash(secret, request.action, request.content)):
        raise LeagueError("key-reused", "this idempotency key was used for another request. Use a new key.")
    is_replay.set(True)
    return row.answer


def store_answer(connection: Connection, secret: str, scope: str, request: Request, answer: Any, now: str) -> None:
    """Keep the answer of a request that has a key."""
    if request.key is not None:
        row = {"scope": scope, "key": _hash(secret, scope, request.key), "answer": answer, "at": now}
        row["request"] = _hash(secret, request.action, request.content)
        connection.execute(insert(schema.idempotency_key).values(row))


def _hash(secret: str, *content: Any) -> str:
    """A keyed hash: what is hashed may contain names."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hmac.new(bytes.fromhex(secret), text.encode("utf-8", "surrogatepass"), sha256).hexdigest()

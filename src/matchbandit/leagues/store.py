"""A store of leagues: a SQLite file or a PostgreSQL database."""

import gzip
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, delete, func, insert, select, update

from matchbandit.leagues import items, library, outcomes, reading, schema, transfer
from matchbandit.leagues.database import Database
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.league import League, new_settings
from matchbandit.leagues.names import check_slug
from matchbandit.leagues.settings import check_integer
from matchbandit.leagues.records import LeagueInfo, Page
from matchbandit.leagues.state import CachedLeague, LeagueCache
from matchbandit.leagues.transaction import (
    LeagueRow,
    Request,
    Transaction,
    add_seconds,
    find_league,
    format_time,
    store_answer,
    stored_answer,
)

GRACE_S = 30 * 86_400.0
"""How long a deleted league can be restored, and idempotency keys are kept."""
MAX_SEED = 2**63 - 1
_league = schema.league


class Store:
    """Leagues in one database; thread-safe, and several processes may share it.

    >>> with Store("sqlite:///:memory:") as store:  # doctest: +SKIP
    ...     club = store.create("club", players=["ann", "bob"])
    """

    def __init__(self, url: str, *, timeout: float = 20.0, clock: Callable[[], datetime] | None = None) -> None:
        """Open a store, or create it: sqlite:///file.db or postgresql://user@host/name."""
        self.database = Database(url, timeout=timeout)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._cache = LeagueCache()

    def now(self) -> str:
        """The time now, as it is stored."""
        return format_time(self._clock())

    # Transactions ----------------------------------------------------------------------------------------------------

    def cached(self, league_id: int) -> CachedLeague:
        """What this process has in memory of a league."""
        return self._cache.get(league_id)

    @contextmanager
    def reading(self, slug: str) -> Iterator[tuple[Connection, CachedLeague, LeagueRow]]:
        """A read transaction on a league."""
        with self.database.reading() as connection:
            league = find_league(connection, slug)
            yield connection, self.cached(league.id), league

    def stored_answer(self, connection: Connection, league: LeagueRow, request: Request) -> Any | None:
        """The answer that an equal request was given."""
        return stored_answer(connection, self.database.secret, str(league.id), request)

    def write(self, slug: str, request: Request, command: Callable[[Transaction], Any], *, by: str) -> Any:
        """Execute a command on a league, in one transaction: everything of it is on disk, or nothing.

        A command that returns None has not been executed; its request may be tried again.
        """
        with self.database.writing() as connection:
            league = find_league(connection, slug, lock=True)
            answer = self.stored_answer(connection, league, request)
            if answer is not None:
                return answer
            if league.archived_at is not None:
                raise LeagueError("league-archived", f"the league {slug!r} is archived. Restore it first.")
            tx = Transaction(connection, league, self.now(), by)
            outcomes.expire(tx)
            answer = command(tx)
            if answer is not None:
                store_answer(connection, self.database.secret, str(league.id), request, answer, tx.now)
            return answer

    def _write_store(self, request: Request, command: Callable[[Connection], str]) -> str:
        """Execute a command about the list of leagues; only one at a time."""
        with self.database.writing() as connection:
            connection.execute(select(schema.store.c.id).with_for_update())
            answer = stored_answer(connection, self.database.secret, "store", request)
            if answer is None:
                answer = command(connection)
                store_answer(connection, self.database.secret, "store", request, answer, self.now())
            return str(answer)

    # Leagues ---------------------------------------------------------------------------------------------------------

    def create(
        self,
        slug: str,
        *,
        players: Iterable[str] | None = None,
        sides: Mapping[str, Iterable[str]] | None = None,
        rewards: Any = "bernoulli",
        seed: int = 0,
        past: Any = None,
        key: str | None = None,
        by: str = "python",
        **settings: Any,
    ) -> League:
        """Create a league of `players` or of two `sides`, with settings of `LeagueSettings`.

        `past` are earlier results; items that only occur there join as well.
        """
        check_slug(slug)
        seed = check_integer("seed", seed, maximum=MAX_SEED)
        if players is not None and sides is not None:
            raise LeagueError("bad-value", "a league has players or two sides, not both.")
        if sides is not None and len(sides) != 2:
            raise LeagueError("bad-value", "sides name two sides, such as {'ads': ['a', 'b'], 'slots': ['top']}.")
        distribution = library.parse_rewards(rewards)
        results = None if past is None else library.read_past_results(past)
        rows = [] if results is None else [(a, b, int(n), float(total)) for a, b, n, total in results.rows()]
        groups: list[tuple[str | None, list[str]]] = [(None, list(players or ()))]
        if sides is not None:
            groups = [(str(side), list(names)) for side, names in sides.items()]
        for place, (_, names) in enumerate(groups):
            columns = (0, 1) if sides is None else (place,)
            names += sorted({row[column] for row in rows for column in columns} - set(names))
        config = new_settings("players" if sides is None else "sides", distribution, settings)
        values = {
            "slug": slug,
            "sides": None if sides is None else [side for side, _ in groups],
            "rewards": distribution.notation,
            "seed": seed,
            "stream": slug,
            "settings": config,
            **dict.fromkeys(("version", "decision_version", "rules_version", "items_version", "n_proposals"), 0),
            "created_at": self.now(),
        }

        def create(connection: Connection) -> str:
            self._refuse_taken(connection, slug)
            connection.execute(insert(_league).values(values))
            tx = Transaction(connection, find_league(connection, slug), self.now(), by)
            tx.record("create", {name: values[name] for name in ("sides", "rewards", "seed", "settings")})
            for side, names in groups:
                items.join(tx, names, side)
            if rows:
                transfer.import_results(tx, rows)
            return slug

        self._write_store(Request(key, "create", [values | {"created_at": ""}, groups, rows]), create)
        return League(self, slug)

    def open(self, slug: str) -> League:
        """A league by name."""
        with self.database.reading() as connection:
            find_league(connection, slug)
        return League(self, slug)

    def leagues(
        self,
        *,
        after: str = "",
        limit: int = 1000,
        slugs: Iterable[str] | None = None,
        search: str = "",
        status: str = "active",
    ) -> Page[LeagueInfo]:
        """Leagues in the order of their names; `status` is "active", "archived" or "deleted"."""
        query = select(*[_league.c[name] for name in LeagueRow.__dataclass_fields__]).where(_league.c.slug > after)
        if slugs is not None:
            query = query.where(_league.c.slug.in_(list(slugs)))
        if search:
            query = query.where(_league.c.slug.contains(search.lower(), autoescape=True))
        query = query.where(
            _league.c.deleted_at.is_not(None) if status == "deleted" else _league.c.deleted_at.is_(None)
        )
        if status != "deleted":
            is_archived = _league.c.archived_at.is_not(None)
            query = query.where(is_archived if status == "archived" else ~is_archived)
        with self.database.reading() as connection:
            rows = [LeagueRow(*row) for row in connection.execute(query.order_by(_league.c.slug).limit(limit + 1))]
            infos = reading.league_info(connection, rows[:limit])
        return Page(infos, infos[-1].slug if len(rows) > limit else None)

    def n_items(self, slug: str) -> int:
        """How many items ever joined a league."""
        with self.database.reading() as connection:
            league = find_league(connection, slug)
            query = select(func.max(schema.item.c.id)).where(schema.item.c.league_id == league.id)
            return connection.execute(query).scalar_one() or 0

    def n_open_proposals(self) -> int:
        """How many proposals wait for outcomes, in all leagues."""
        with self.database.reading() as connection:
            query = select(func.count()).select_from(schema.proposal).where(schema.proposal.c.n_waiting > 0)
            return connection.execute(query).scalar_one()

    def archive(self, slug: str, *, key: str | None = None, by: str = "python") -> None:
        """Archive a league: it becomes read-only and is not listed; its deadlines are suspended."""
        self._change(slug, "archive", {"archived_at": self.now()}, key, by)

    def restore(self, slug: str, *, key: str | None = None, by: str = "python") -> None:
        """Make an archived or deleted league active again."""
        self._change(slug, "restore", {"archived_at": None, "deleted_at": None}, key, by)

    def delete(self, slug: str, *, now: bool = False, key: str | None = None, by: str = "python") -> None:
        """Delete a league: it is hidden, and erased after 30 days, or `now`."""

        def erase(connection: Connection) -> str:
            erased = connection.execute(delete(_league).where(_league.c.slug == slug)).rowcount
            if not erased:
                raise LeagueError("unknown-league", f"there is no league {slug!r}.")
            return slug

        if now:
            self._write_store(Request(key, "erase", slug), erase)
            self.database.wipe()
        else:
            self._change(slug, "delete", {"deleted_at": self.now()}, key, by)

    def _change(self, slug: str, action: str, values: dict[str, Any], key: str | None, by: str) -> None:
        def change(connection: Connection) -> str:
            league = find_league(connection, slug, lock=True, deleted=True)
            tx = Transaction(connection, league, self.now(), by)
            tx.record(action, {})
            tx.update(**values)
            return slug

        self._write_store(Request(key, action, slug), change)

    def import_league(
        self, path: str | Path, *, slug: str | None = None, key: str | None = None, by: str = "python"
    ) -> League:
        """Import a league that `League.export` wrote."""
        source, name = repr(os.fspath(path)), None if slug is None else check_slug(slug)
        if not Path(path).is_file():
            raise LeagueError("bad-value", f"there is no file {source}.")
        with Path(path).open("rb") as plain:
            digest = hashlib.file_digest(plain, "sha256").hexdigest()
            plain.seek(0)
            packed = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
            with gzip.GzipFile(fileobj=plain) if packed else plain as file:

                def read(connection: Connection) -> str:
                    if name is not None:
                        self._refuse_taken(connection, name)
                    file.seek(0)
                    tx = transfer.import_league(connection, file, source, name, self.now())  # type: ignore[arg-type]
                    return tx.league.slug

                return League(self, self._write_store(Request(key, "import", [digest, name]), read))

    @staticmethod
    def _refuse_taken(connection: Connection, slug: str) -> None:
        if connection.execute(select(_league.c.id).where(_league.c.slug == slug)).first() is not None:
            raise LeagueError("league-exists", f"there is a league {slug!r} already. Use another name.")

    # Operations ------------------------------------------------------------------------------------------------------

    def run_maintenance(self) -> int:
        """Apply passed deadlines, and erase what is old; returns in how many leagues a deadline had passed."""
        now, limit = self.now(), add_seconds(self.now(), -GRACE_S)
        table = schema.proposal
        query = select(_league.c.slug).join(table, table.c.league_id == _league.c.id).distinct()
        active = _league.c.archived_at.is_(None), _league.c.deleted_at.is_(None)
        with self.database.reading() as connection:
            overdue = (
                connection.execute(query.where(table.c.n_waiting > 0, table.c.due <= now, *active)).scalars().all()
            )
        for slug in overdue:
            self.write(slug, Request(None, "expire", None), lambda _: True, by="deadline")
        with self.database.writing() as connection:
            for statement in (
                delete(schema.idempotency_key).where(schema.idempotency_key.c.at < limit),
                delete(_league).where(_league.c.deleted_at < limit),
                delete(schema.session).where(schema.session.c.expires_at < now),
                delete(schema.token).where(func.coalesce(schema.token.c.revoked_at, schema.token.c.expires_at) < limit),
            ):
                connection.execute(statement)
        return len(overdue)

    def backup(self, path: str | Path) -> None:
        """Copy a SQLite store that is in use, and check the copy."""
        self.database.backup(Path(path))

    def ready(self) -> None:
        """A cheap check that the store can be read and written; raises if not."""
        with self.database.writing() as connection:
            connection.execute(update(schema.store).values(id=schema.store.c.id))

    def close(self) -> None:
        """Close all connections."""
        self.database.engine.dispose()

    def __enter__(self) -> Self:
        """For `with Store(...) as store`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

"""A store of leagues: a SQLite file or a PostgreSQL database."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import IO, Any
from weakref import WeakValueDictionary

from sqlalchemy import Connection, Text, case, cast, delete, func, insert, select, update

from matchbandit.errors import unknown
from matchbandit.leagues import items, library, model, outcomes, reading, schema, transfer
from matchbandit.leagues.database import Database
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.league import League
from matchbandit.leagues.names import check_slug, normalize_name
from matchbandit.leagues.records import LeagueInfo, Page, Pruned, StoreCheck, StoreInfo
from matchbandit.leagues.settings import LeagueSettings, check_integer
from matchbandit.leagues.state import CachedLeague, LeagueCache
from matchbandit.leagues.transaction import (
    COUNTERS,
    LEAGUE_COLUMNS,
    LeagueRow,
    Request,
    Transaction,
    add_seconds,
    find_league,
    format_time,
    seconds_between,
    store_answer,
    stored_answer,
)
from matchbandit.leagues.workers import WorkerPool

GRACE = timedelta(days=30)
"""How long a deleted league can be restored, and idempotency keys and ended tokens are kept."""
_MAX_AGE = timedelta(days=36_500)
_PRUNE_INTERVAL_S = 86_400.0
MAX_SEED = 2**63 - 1
_league = schema.league
_STATUSES = ("active", "archived", "deleted")
_status = case(
    (_league.c.deleted_at.is_not(None), "deleted"), (_league.c.archived_at.is_not(None), "archived"), else_="active"
)


class Store(AbstractContextManager["Store"]):
    """Leagues in one database; thread-safe, and several processes may share it.

    >>> with Store("sqlite://") as store:  # in memory, for tests
    ...     store.create("club", players=["ann", "bob"]).ask().pairs[0].names
    ('ann', 'bob')
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 20.0,
        decision_timeout: float = 20.0,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Open a store, or create it: sqlite:///file.db or postgresql://user@host/name."""
        self.database = Database(url, timeout=timeout)
        self._clock = clock or (lambda: datetime.now(UTC))
        self.cache = LeagueCache()
        self._pruned_at: str | None = None
        self._deciding: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._lock = Lock()
        self.workers = WorkerPool(decision_timeout)

    def now(self) -> str:
        """The time now, as it is stored."""
        return format_time(self._clock())

    # Transactions ----------------------------------------------------------------------------------------------------

    def deciding(self, slug: str) -> Lock:
        """The lock that is held while a proposal of this league is decided in this process."""
        with self._lock:
            return self._deciding.setdefault(slug, Lock())

    @contextmanager
    def reading(self, slug: str) -> Iterator[tuple[Connection, CachedLeague, LeagueRow]]:
        """A read transaction on a league."""
        with self.database.reading() as connection:
            league = find_league(connection, slug)
            yield connection, self.cache.get(league), league

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
        exist_ok: bool = False,
        key: str | None = None,
        by: str = "python",
        **settings: Any,
    ) -> League:
        """Create a league of `players` or of two `sides`, with settings of `LeagueSettings`.

        `past` are earlier results; items that only occur there join as well. With `exist_ok`, a league that exists
        already is opened as it is, so that a script can be run again.
        """
        check_slug(slug)
        seed = check_integer("seed", seed, maximum=MAX_SEED)
        if players is not None and sides is not None:
            raise LeagueError("bad-value", "a league has players or two sides, not both.")
        if sides is not None and (not isinstance(sides, Mapping) or len(set(map(normalize_name, sides))) != 2):
            raise LeagueError("bad-value", "sides name two sides, such as {'ads': ['a', 'b'], 'slots': ['top']}.")
        distribution = library.parse_rewards(rewards)
        kind = "sides" if sides is not None else "players" if players is not None else None
        results = None if past is None else library.read_past_results(past, kind, distribution)
        if kind is None and results is not None and results.kind == "sides":
            sides = dict.fromkeys(results.sides or ("rows", "columns"), ())
        rows = [] if results is None else [(a, b, int(n), float(total)) for a, b, n, total in results.rows()]
        groups: list[tuple[str | None, list[str]]] = [(None, items.as_list("players", players or ()))]
        if sides is not None:
            groups = [(normalize_name(side), items.as_list("items", names)) for side, names in sides.items()]
        for place, (_, names) in enumerate(groups):
            columns = (0, 1) if sides is None else (place,)
            in_rows = dict.fromkeys(normalize_name(row[column]) for row in rows for column in columns)
            known = set(map(normalize_name, names))
            names.extend(name for name in in_rows if name not in known)  # in the order of the log
        kind = "players" if sides is None else "sides"
        data = {
            "sides": None if sides is None else [side for side, _ in groups],
            "rewards": distribution.notation,
            "seed": seed,
            "settings": LeagueSettings().replace(settings).validate(kind, distribution).to_config(),
        }

        def create(connection: Connection) -> str:
            if self._exists(connection, slug, exist_ok=exist_ok):
                return slug
            now = self.now()
            values = {"slug": slug, "stream": slug, "created_at": now, **data, **dict.fromkeys(COUNTERS, 0)}
            connection.execute(insert(_league).values(values))
            tx = Transaction(connection, find_league(connection, slug), now, by)
            tx.record("create", data)
            for side, names in groups:
                items.join(tx, names, side)
            if rows:
                transfer.import_results(tx, rows)
            return slug

        self._write_store(Request(key, "create", [slug, data, groups, rows]), create)
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
        limit: int | None = 1000,
        slugs: Iterable[str] | None = None,
        search: str = "",
        status: str = "active",
    ) -> Page[LeagueInfo]:
        """Leagues in the order of their names; `status` is "active", "archived" or "deleted".

        `search` is part of the name or of the title; without a `limit`, all are listed.
        """
        query = select(*LEAGUE_COLUMNS).where(_league.c.slug > after)
        if slugs is not None:
            query = query.where(_league.c.slug.in_(list(slugs)))
        if search:
            in_title = _league.c.settings["title"].as_string().icontains(search, autoescape=True)
            query = query.where(in_title | _league.c.slug.icontains(search, autoescape=True))
        if status not in _STATUSES:
            raise LeagueError("bad-value", str(unknown("status", status, _STATUSES)))
        query = query.where(_status == status)
        query = query.order_by(_league.c.slug).limit(None if limit is None else limit + 1)
        with self.database.reading() as connection:
            rows = [LeagueRow(*row) for row in connection.execute(query)]
            infos = reading.league_info(connection, rows[:limit])
        return Page(infos, infos[-1].slug if len(rows) > len(infos) else None)

    def n_items(self, slug: str) -> int:
        """How many items ever joined a league."""
        with self.database.reading() as connection:
            league = find_league(connection, slug)
            query = select(func.max(schema.item.c.id)).where(schema.item.c.league_id == league.id)
            return connection.execute(query).scalar_one() or 0

    def archive(self, slug: str, *, key: str | None = None, by: str = "python") -> None:
        """Archive a league: it becomes read-only and is not listed; its deadlines are suspended."""
        self._change(slug, "archive", key, by)

    def restore(self, slug: str, *, key: str | None = None, by: str = "python") -> None:
        """Make an archived or deleted league active again; its deadlines are later by as long as it was not."""
        self._change(slug, "restore", key, by)

    def delete(self, slug: str, *, now: bool = False, key: str | None = None, by: str = "python") -> None:
        """Delete a league: it is hidden, and erased after 30 days, or `now`.

        On PostgreSQL, erased rows are on disk until it vacuums the tables.
        """

        def erase(connection: Connection) -> str:
            if not _erase(connection, _league.c.slug == slug):
                raise LeagueError("unknown-league", f"there is no league {slug!r}.")
            return slug

        if now:
            self._write_store(Request(key, "erase", slug), erase)
            self.database.wipe()
        else:
            self._change(slug, "delete", key, by)

    def _change(self, slug: str, action: str, key: str | None, by: str) -> None:
        """Archive, delete or restore a league; no effect if it is in that state already."""

        def change(connection: Connection) -> str:
            league = find_league(connection, slug, lock=True, deleted=True)
            tx = Transaction(connection, league, self.now(), by)
            state = {"archived_at": league.archived_at, "deleted_at": league.deleted_at}
            since = [at for at in state.values() if at is not None]
            column = f"{action}d_at"
            new = dict.fromkeys(state) if action == "restore" else state | {column: state[column] or tx.now}
            if new != state:
                tx.record(action, {})
                tx.update(**new)
                if action == "restore":
                    outcomes.postpone(tx, seconds_between(min(since), tx.now))
            return slug

        self._write_store(Request(key, action, slug), change)

    def import_league(
        self,
        source: str | Path | IO[bytes],
        *,
        slug: str | None = None,
        max_bytes: int | None = None,
        key: str | None = None,
    ) -> League:
        """Import a league that `League.export` wrote, from a path or an open file; all of it, or nothing.

        Its name is that in the file unless `slug` says otherwise. Files of more than `max_bytes` once they are unpacked
        are refused.
        """
        from matchbandit.leagues.verification import verify

        name = None if slug is None else check_slug(slug)
        with transfer.open_export(source, max_bytes) as file:
            header = verify(file.lines(), file.source)
            new, checksum = name or header["slug"], file.checksum

            def read(connection: Connection) -> str:
                self._exists(connection, new)
                transfer.import_league(connection, file.lines(), header, new)
                if file.checksum != checksum:
                    raise LeagueError("damaged", f"{file.source} was changed while it was read. Import it again.")
                return str(new)

            return League(self, self._write_store(Request(key, "import", [checksum, slug]), read))

    @staticmethod
    def _exists(connection: Connection, slug: str, *, exist_ok: bool = False) -> bool:
        """Is there a league of this name? An error unless that is fine."""
        query = select(_league.c.deleted_at).where(_league.c.slug == slug)
        row = connection.execute(query).one_or_none()
        if row is not None and row.deleted_at is not None:
            raise LeagueError("league-exists", f"the league {slug!r} was deleted. Restore it, or use another name.")
        if row is not None and not exist_ok:
            raise LeagueError("league-exists", f"there is a league {slug!r} already. Use another name.")
        return row is not None

    # Operations ------------------------------------------------------------------------------------------------------

    def run_maintenance(self) -> int:
        """Apply passed deadlines, and once a day prune; returns in how many leagues a deadline had passed."""
        now, table = self.now(), schema.proposal
        query = select(_league.c.slug).join(table, table.c.league_id == _league.c.id).distinct()
        query = query.where(_league.c.archived_at.is_(None), _league.c.deleted_at.is_(None))
        with self.database.reading() as connection:
            overdue = connection.execute(query.where(table.c.n_waiting > 0, table.c.due <= now)).scalars().all()
        for slug in overdue:
            try:
                self.write(slug, Request(None, "expire", None), lambda _: True, by="deadline")
            except LeagueError as error:
                if error.code not in ("unknown-league", "league-archived"):  # since it was listed
                    raise
        if self.database.unwiped:
            self.database.wipe()
        if self._pruned_at is None or now >= add_seconds(self._pruned_at, _PRUNE_INTERVAL_S):
            self.prune()
            self._pruned_at = now
        with self.database.reading() as connection:
            untested = model.large_leagues_to_test(connection)
        for slug in untested[:1]:  # one at a time: deadlines come first
            with suppress(LeagueError):
                League(self, slug).fit()
        return len(overdue)

    def prune(self, *, older_than: timedelta = GRACE, dry_run: bool = False) -> Pruned:
        """Erase what is no longer needed; returns what was erased or, with `dry_run`, would be.

        Answers under idempotency keys, ended tokens and ended sessions go if they are `older_than` this, and leagues
        30 days after they were deleted.
        """
        if not timedelta(0) <= older_than <= _MAX_AGE:
            raise LeagueError("bad-value", f"older_than lies between 0 and {_MAX_AGE.days} days; got {older_than}.")
        key, token, session, now = schema.idempotency_key, schema.token, schema.session, self.now()
        before = add_seconds(now, -older_than.total_seconds())
        old = {  # sessions before the tokens that end them
            "sessions": (session, session.c.expires_at < before),
            "tokens": (token, func.coalesce(token.c.revoked_at, token.c.expires_at) < before),
            "keys": (key, key.c.at < before),
        }
        is_old = _league.c.deleted_at < add_seconds(now, -GRACE.total_seconds())
        with self.database.reading() as connection:
            leagues = connection.execute(select(_league.c.slug).where(is_old).order_by(_league.c.slug)).scalars().all()
            counts = {
                name: connection.execute(select(func.count()).select_from(table).where(condition)).scalar_one()
                for name, (table, condition) in old.items()
            }
        if not dry_run:
            for slug in leagues:  # a transaction for each, as others wait for it; it may have been restored
                with self.database.writing() as connection:
                    _erase(connection, _league.c.slug == slug, is_old)
            with self.database.writing() as connection:
                for table, condition in old.values():
                    connection.execute(delete(table).where(condition))
            self.database.wipe()
        return Pruned(leagues=list(leagues), **counts)

    def info(self) -> StoreInfo:
        """Size and contents of the store."""
        change, proposal = schema.change, schema.proposal
        its_change = (change.c.league_id == proposal.c.league_id) & (change.c.version == proposal.c.version)
        open_ = select(func.count().label("open_proposals"), func.min(change.c.at).label("oldest_open"))
        open_ = open_.select_from(proposal).join(_league, _league.c.id == proposal.c.league_id).join(change, its_change)
        counts: dict[str, Any] = {
            "changes": select(func.coalesce(func.sum(_league.c.version), 0)),
        }
        for name in ("idempotency_key", "token", "session"):
            counts[f"{name}s"] = select(func.count()).select_from(getattr(schema, name))
        for name, status in zip(("leagues", "archived", "deleted"), _STATUSES, strict=True):
            counts[name] = select(func.count()).where(_status == status)
        columns = [query.scalar_subquery().label(name) for name, query in counts.items()]
        with self.database.reading() as connection:
            size, free = self.database.size(connection)
            row = connection.execute(select(*columns)).one()
            of_open = connection.execute(open_.where(proposal.c.n_waiting > 0, _status == "active")).one()
        return StoreInfo(self.database.display_url, schema.VERSION, size, free, **row._mapping, **of_open._mapping)

    def check(self) -> StoreCheck:
        """Check the file and every league, deleted ones included."""
        problems = self.database.check()
        leagues: dict[str, list[str]] = {}
        if not problems:  # a damaged file cannot be checked further
            with self.database.reading() as connection:
                rows = connection.execute(select(*LEAGUE_COLUMNS).order_by(_league.c.slug)).all()
            for row in rows:
                with self.database.reading() as connection:
                    leagues[row.slug] = transfer.check(connection, LeagueRow(*row))
        return StoreCheck(problems, leagues)

    def vacuum(self) -> None:
        """Return unused space to the disk; SQLite rewrites the file, and nobody can write meanwhile."""
        self.database.vacuum()

    def backup(self, path: str | Path) -> None:
        """Copy a SQLite store that is in use to a new file, and check the copy."""
        self.database.backup(Path(path))

    def warm_up(self) -> None:
        """Compile what the policies of the active leagues need, so that no request waits for it."""
        from matchbandit.leagues.warm_up import warm_up

        warm_up(self.leagues(limit=None))

    def ready(self) -> None:
        """A cheap check that the store can be read and written; raises if not."""
        store = schema.store
        free = select(store.c.id).with_for_update(skip_locked=True)  # an import may hold the row for long
        with self.database.writing() as connection:
            connection.execute(update(store).where(store.c.id.in_(free)).values(id=store.c.id))

    def close(self) -> None:
        """Close all connections, and end the worker process."""
        self.workers.close()
        self.database.engine.dispose()

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _erase(connection: Connection, *conditions: Any) -> int:
    """Erase leagues; all rows that refer to them go as well. Returns their number."""
    key = schema.idempotency_key
    scopes = select(cast(_league.c.id, Text)).where(*conditions)
    connection.execute(delete(key).where(key.c.scope.in_(scopes)))
    return connection.execute(delete(_league).where(*conditions)).rowcount

"""Store leagues in a SQLite file or a PostgreSQL database."""

import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from itertools import islice
from threading import Lock
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from matchbandit.errors import MatchbanditError
from matchbandit.live import commands, lifecycle, log, maintenance, projection, schema, snapshots, transfer
from matchbandit.live.compute import WorkerPool
from matchbandit.live.database import Database
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Draft, add_seconds, format_time, this_version, utc_now
from matchbandit.live.keys import Key, KeyTable, item_ids, pair_ids
from matchbandit.live.league import League
from matchbandit.live.lifecycle import LeagueStatus
from matchbandit.live.maintenance import Pruned, Retention, StoreCheck, StoreInfo
from matchbandit.live.names import Directory
from matchbandit.live.records import LeagueSummary
from matchbandit.live.replica import Replica
from matchbandit.live.settings import LeagueSettings
from matchbandit.live.state import State
from matchbandit.past_results import PastResults, ResultsKind, is_table, read_results
from matchbandit.rewards import RewardDistribution

CACHE_BYTES = 128 * 2**20
"""Estimated memory of the leagues that a process caches; the least recently used are evicted and loaded
again on demand."""

_NOT_DELETED = schema.leagues.c.deleted.is_(None)

Past = PastResults | str | os.PathLike[str] | Mapping[str, Sequence[Any]] | Iterable[Sequence[Any]]


class Store:
    """All leagues of a database; thread-safe, and several processes may share the database.

    Parameters
    ----------
    url : str
        `sqlite:///club.db` (three slashes: a relative path; four: an absolute one), or `postgresql://user@host/database`.
    clock : callable, optional
        Returns the current time with its time zone; for tests and simulations.
    lock_timeout : float, default 10
        Seconds that a request waits for others before it fails with `store-busy`.
    retention : Retention, optional
        How long idempotency keys, ended tokens and sessions, and deleted leagues are kept; by default 30 days each.
    compute : WorkerPool, optional
        Runs slow decisions and fits, with a time limit; the caller closes it. By default the calling thread computes
        everything, however long it takes.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], datetime] = utc_now,
        lock_timeout: float = 10.0,
        retention: Retention | None = None,
        compute: WorkerPool | None = None,
    ) -> None:
        """Open the store; create it if necessary."""
        self.clock = clock
        self.compute = compute
        self._replicas: OrderedDict[str, Replica] = OrderedDict()
        self._replica_bytes: dict[str, int] = {}
        """Estimated bytes of each replica when it was last opened."""
        self._opening = Lock()
        self.retention = retention or Retention()
        self._pruning: Iterator[object] | None = None
        self._next_prune = ""
        self.database = Database(url, lock_timeout=lock_timeout)
        try:
            self.database.prepare(now=self.now(), program=this_version())
        except BaseException:
            self.database.close()
            raise

    @property
    def where(self) -> str:
        """The URL without the password."""
        return self.database.where

    @property
    def engine(self) -> Engine:
        """The SQLAlchemy engine."""
        return self.database.engine

    def now(self) -> str:
        """The current time in the format of the log."""
        return format_time(self.clock())

    def reading(self) -> AbstractContextManager[Connection]:
        """A read transaction: a consistent snapshot, without locks."""
        return self.database.reading()

    def writing(self) -> AbstractContextManager[Connection]:
        """A write transaction. Be quick: on SQLite it is the only one at a time."""
        return self.database.writing()

    def create(
        self,
        slug: str,
        settings: LeagueSettings | None = None,
        *,
        players: Iterable[str] | None = None,
        sides: Mapping[str, Iterable[str]] | None = None,
        rewards: str | RewardDistribution = "bernoulli",
        seed: int | None = None,
        past: Past | None = None,
        key: str | None = None,
        by: str = "python",
        **changes: Any,
    ) -> League:
        """Create a league, of players or of two sides.

        Parameters
        ----------
        slug : str
            Its name, which is part of its URLs: lower-case letters, digits and hyphens.
        settings : LeagueSettings, optional
            Its settings; the defaults if omitted.
        players : iterable of str, optional
            All on one side: anyone can be paired with anyone.
        sides : mapping, optional
            Two sides, such as `{"ads": [...], "slots": [...]}`: a pair is one of each.
        rewards : str or RewardDistribution
            How rewards are distributed, such as "bernoulli" or "gaussian:0.5".
        seed : int, optional
            Of its random streams; 0 by default.
        past : optional
            Earlier results: what `read_results` returns or reads, such as a CSV or Parquet file or a data frame; or
            rows (name, name, reward) or (name, name, count, sum). Items that only they name join, too.
        key : str, optional
            An idempotency key: the same request with the same key creates the league once.
        by : str
            Who creates it, for the log.
        **changes
            Fields of `LeagueSettings` that differ from `settings`, such as `policy="cucb"` or `deadline=3600`.

        Returns
        -------
        League
        """
        if isinstance(sides, Mapping):
            sides = {side: _as_list(names) for side, names in sides.items()}
        results = None if past is None else _read_past(past, players=players, sides=sides)
        if results is not None:
            _refuse_impossible(results, commands.resolve_rewards(rewards))
        if results is not None and results.kind == "sides" and players is None and sides is None:
            sides = dict.fromkeys(results.sides or ("rows", "columns"), ())
        merged = (settings or LeagueSettings()).replace(changes)
        items_and_rewards: dict[str, Any] = {
            "players": None if players is None else _as_list(players),
            "sides": sides,
            "rewards": rewards,
            "seed": seed,
            "past": None if results is None else results.rows(),
        }
        content = {**asdict(merged), **items_and_rewards}
        request = Key.of(key, "create", lambda directory: {"slug": slug, **_with_ids(directory, content)})
        drafts = commands.create(slug, merged, **items_and_rewards)
        with self._new_league(slug), self.writing() as connection:
            league_id = self._find(connection, slug)
            if league_id is None:
                self._insert_league(connection, slug, drafts, request, by)
        if league_id is not None and not self._was_created_by(slug, request):
            with self.reading() as connection:
                raise self._exists_error(connection, slug)
        return self.open(slug)

    @contextmanager
    def _new_league(self, slug: str) -> Iterator[None]:
        """Translate the error when another process creates a league with the same name at the same time."""
        try:
            yield
        except IntegrityError:
            with self.reading() as connection:
                raise self._exists_error(connection, slug) from None

    def _exists_error(self, connection: Connection, slug: str) -> LeagueError:
        status = lifecycle.status(connection, slug, self.retention.deleted)
        if status is not None and status.status == "deleted":
            return LeagueError(
                "league-exists",
                f"the name {slug!r} belongs to a league that was deleted; it is free again once that is erased, after "
                f"{status.erase_after}. Use another name, or erase it: matchbandit league delete {slug} --now",
            )
        return LeagueError(
            "league-exists", f"there is a league {slug!r} in the store already. Use another name, or open it."
        )

    def _insert_league(self, connection: Connection, slug: str, drafts: list[Draft], key: Key | None, by: str) -> None:
        now = self.now()
        league = self._add_row(connection, slug)
        events = [draft.event(seq, now, by) for seq, draft in enumerate(drafts, start=1)]
        state = State().fold(events)
        log.append(connection, league, events, summary=state.summary())
        log.write_names(connection, league, [named for draft in drafts for named in draft.names])
        if key is not None:
            rows = log.names(connection, league)
            directory = Directory.of(state.config["sides"], state.sides_by_item, rows)
            KeyTable(self.database.secret, league).save(connection, now, {key.text: key.answered(directory, {})})

    def _add_row(self, connection: Connection, slug: str, *, deleted: str | None = None) -> int:
        """Insert the row of a new league; returns its id."""
        row: dict[str, Any] = {"slug": slug, "head": 0, "created": self.now(), "deleted": deleted}
        if self.database.is_sqlite:
            row["id"] = lifecycle.next_id(connection)
        return int(connection.execute(insert(schema.leagues).values(row).returning(schema.leagues.c.id)).scalar_one())

    def _was_created_by(self, slug: str, request: Key | None) -> bool:
        """Was this the request that created the league? False for a deleted one."""
        if request is None:
            return False
        with self.reading() as connection:
            if self._find(connection, slug, deleted=False) is None:
                return False
        return self.open(slug)._was_created_by(request)

    def open(self, slug: str) -> League:
        """Open an existing league."""
        replica = self._replicas.get(slug)
        if replica is None or replica.is_gone:
            self._replicas.pop(slug, None)
            with self.reading() as connection:
                league = self._find(connection, slug, deleted=False)
                if league is None:
                    raise self._unknown_error(connection, slug)
            replica = Replica(self.database, league, slug, self.now)
            with replica.reading():  # load it: the cache counts its memory
                pass
        return League(self, self._cache(slug, replica))

    def _cache(self, slug: str, replica: Replica) -> Replica:
        """Cache a replica as the most recently used; all threads share it."""
        with self._opening:
            replica = self._replicas.setdefault(slug, replica)
            self._replicas.move_to_end(slug)
            self._replica_bytes[slug] = replica.memory()
            for gone in self._replica_bytes.keys() - self._replicas.keys():  # deleted since
                del self._replica_bytes[gone]
            while sum(self._replica_bytes.values()) > CACHE_BYTES and len(self._replicas) > 1:
                oldest, _ = self._replicas.popitem(last=False)
                del self._replica_bytes[oldest]
            return replica

    def _unknown_error(self, connection: Connection, slug: str) -> LeagueError:
        status = None if self._find(connection, slug) is None else lifecycle.status(connection, slug, self._grace)
        if status is not None and status.since != lifecycle.ERASING:
            return lifecycle.deleted_error(status)
        slugs = self._slugs(connection)
        near = get_close_matches(str(slug)[:80], slugs, n=1)
        hint = (
            f"; did you mean {near[0]!r}?"
            if near
            else f". Known: {', '.join(slugs[:10])}{', …' if len(slugs) > 10 else ''}."
            if slugs
            else "."
        )
        return LeagueError("unknown-league", f"there is no league {str(slug)[:80]!r} in {self.where}{hint}")

    def leagues(self, *, archived: bool = False) -> list[str]:
        """Sorted names of all leagues; archived ones only on request, deleted ones never."""
        with self.reading() as connection:
            return self._slugs(connection, archived=archived)

    def statuses(self) -> list[LeagueStatus]:
        """The status of all leagues, sorted by name."""
        with self.reading() as connection:
            return lifecycle.statuses(connection, self._grace)

    def archive(self, slug: str, *, by: str = "python") -> LeagueStatus:
        """Archive a league: it becomes read-only and is not listed. Its deadlines are suspended."""
        return self._change(slug, "archived", by)

    def restore(self, slug: str, *, by: str = "python") -> LeagueStatus:
        """Make an archived or deleted league active again; passed deadlines apply with the next write."""
        return self._change(slug, "restored", by)

    def delete(self, slug: str, *, now: bool = False, by: str = "python") -> LeagueStatus:
        """Delete a league: it is hidden at once, and erased once its grace period is over.

        Parameters
        ----------
        slug : str
            Its name, which is free again once it is erased.
        now : bool, default False
            Erase it at once, also if it was deleted before. Nothing of it can be restored then.
        by : str
            Who deletes it, for the log.

        Returns
        -------
        LeagueStatus
            Until when it can be restored.
        """
        with self.reading() as connection:
            league = self._find(connection, slug)
            status = None if league is None else lifecycle.status(connection, slug, self._grace)
        if status is None or status.status != "deleted" or not now:
            status = self._change(slug, "deleted", by)
        if now:
            for _ in lifecycle.erase(self.database, slug):
                pass
        return status

    def _change(self, slug: str, kind: lifecycle.Change, by: str) -> LeagueStatus:
        with self.writing() as connection:
            if self._find(connection, slug, deleted=kind == "restored") is None:
                raise self._unknown_error(connection, slug)
            lifecycle.change(connection, slug, kind, now=self.now(), by=by)
            status = lifecycle.status(connection, slug, self._grace)
        assert status is not None
        if kind == "deleted":
            self._replicas.pop(slug, None)
        return status

    @property
    def _grace(self) -> timedelta:
        return self.retention.deleted

    def prune(self, *, older_than: timedelta | None = None, dry_run: bool = False) -> Pruned:
        """Erase idempotency keys, ended tokens and sessions, and deleted leagues whose grace period is over.

        Parameters
        ----------
        older_than : timedelta, optional
            The age of keys, tokens and sessions; that of `retention` by default. Leagues keep their grace period.
        dry_run : bool, default False
            Only count them.

        Returns
        -------
        Pruned
            How many there were.
        """
        retention = self.retention
        if older_than is not None:
            retention = replace(retention, keys=older_than, access=older_than)
        if dry_run:
            with self.reading() as connection:
                return maintenance.prunable(connection, now=self.now(), retention=retention)
        return maintenance.prune(self.database, now=self.now(), retention=retention)

    def info(self) -> StoreInfo:
        """Size and contents of the store."""
        return maintenance.info(self.database, grace=self._grace)

    def check(self, *, progress: Callable[[str], None] = lambda league: None) -> StoreCheck:
        """Check the file, the tables and the log of every league; `progress` is called with the name of each league."""
        return maintenance.check(self.database, progress=progress)

    def vacuum(self) -> None:
        """Free unused disk space; on SQLite nobody else can write meanwhile."""
        maintenance.vacuum(self.database)

    def _prune_some(self) -> None:
        """Prune once a day, with a few transactions per tick."""
        if self._pruning is None:
            if self.now() < self._next_prune:
                return
            self._pruning = maintenance.prune_steps(self.database, now=self.now(), retention=self.retention)
            self._next_prune = add_seconds(self.now(), maintenance.PRUNE_INTERVAL_S)
        steps, self._pruning = self._pruning, None  # after a failure it starts again the next day
        if len(list(islice(steps, maintenance.STEPS_PER_TICK))) == maintenance.STEPS_PER_TICK:
            self._pruning = steps

    def _drop_deleted(self) -> None:
        """Drop cached leagues that were deleted: another league may get the name."""
        with self.reading() as connection:
            existing = set(connection.execute(select(schema.leagues.c.id).where(_NOT_DELETED)).scalars())
        for slug, replica in list(self._replicas.items()):
            if replica.league not in existing:
                self._replicas.pop(slug, None)

    def summaries(
        self,
        *,
        after: str = "",
        limit: int | None = None,
        names: Iterable[str] | None = None,
        search: str = "",
        archived: bool = False,
    ) -> list[LeagueSummary]:
        """Summaries of leagues, sorted by name, without loading the leagues.

        Parameters
        ----------
        after : str
            The name after which the page starts.
        limit : int, optional
            The largest number of leagues; all if omitted.
        names : iterable of str, optional
            Only leagues with these names.
        search : str
            Only leagues whose name or title contains this text, ignoring case.
        archived : bool, default False
            Also leagues that are archived.

        Returns
        -------
        list of LeagueSummary
        """
        table, text, page = schema.leagues.c, search.casefold(), list[LeagueSummary]()
        query = select(table.slug, table.summary, table.archived).where(table.slug > after, table.deleted.is_(None))
        if names is not None:
            query = query.where(table.slug.in_(list(names)))
        if not archived:
            query = query.where(table.archived.is_(None))
        with self.reading() as connection:
            rows = connection.execute(query.order_by(table.slug).limit(None if text else limit)).all()
        for slug, stored, since in rows:
            values = self._summarize(slug) if stored is None else json.loads(stored)
            if values is None:
                continue
            if text in slug or text in values["title"].casefold():
                page.append(LeagueSummary(name=slug, archived=since, **values))
            if len(page) == limit:
                break
        return page

    def _summarize(self, slug: str) -> dict[str, Any] | None:
        """Compute the summary of a league that has none yet, and store it; None if the league was deleted meanwhile."""
        try:
            with self.open(slug).view() as view:
                values = view.state_summary
        except LeagueError as error:
            if error.code != "unknown-league":
                raise
            return None
        where = (schema.leagues.c.slug == slug, schema.leagues.c.head == view.seq)
        with suppress(LeagueError), self.writing() as connection:
            connection.execute(update(schema.leagues).where(*where).values(summary=json.dumps(values)))
        return values

    def tick(self) -> int:
        """Apply passed deadlines in all leagues; returns the number of leagues with one.

        It also finishes wiping the data erased by `forget`, and prunes the store once a day.
        """
        if self.database.unwiped:
            self.database.wipe_log()
        with self.reading() as connection:
            slugs = projection.overdue(connection, self.now())
        errors: list[LeagueError] = []
        for slug in slugs:
            try:
                self.open(slug).expire()
            except LeagueError as error:  # the deadlines of other leagues still apply
                errors.append(error)
        try:
            self._drop_deleted()
            self._prune_some()
        except LeagueError as error:
            errors.append(error)
        if errors:
            raise errors[0]
        return len(slugs)

    def import_league(
        self,
        path: str | os.PathLike[str],
        *,
        slug: str | None = None,
        source: str | None = None,
        max_bytes: int | None = None,
    ) -> League:
        """Import a league that `League.export` wrote; an archived one stays archived.

        Parameters
        ----------
        path : str or path
            The export, compressed or not.
        slug : str, optional
            Its name here; that of the export by default.
        source : str, optional
            The name of the file in error messages; its path by default.
        max_bytes : int, optional
            Refuse a file that is larger when decompressed.

        Returns
        -------
        League
            The new league.
        """
        source = source or repr(os.fspath(path))
        with transfer.open_export(path) as file:
            export = transfer.Export(file, source, max_bytes)
            name = commands.check_slug(export.header.get("slug") if slug is None else slug)
            contents = transfer.fold(export)  # most of the work, so without the write lock
            file.seek(0)
            self._write_import(name, transfer.Export(file, source, max_bytes), contents)
        return self.open(name)

    def _write_import(self, name: str, export: transfer.Export, contents: transfer.Contents) -> None:
        """Write a league page by page under a hidden name, and rename it in the last transaction."""
        hidden = f"{lifecycle.IMPORTING}{secrets.token_hex(8)}"
        with self.writing() as connection:
            if self._find(connection, name) is not None:
                raise self._exists_error(connection, name)
            league = self._add_row(connection, hidden, deleted=self.now())
        try:
            for page in transfer.pages(export):
                with self.writing() as connection:
                    log.append(connection, league, page)
            snapshot = snapshots.encode(contents.state)
            with self._new_league(name), self.writing() as connection:
                transfer.write_derived(connection, league, export.names, contents, snapshot)
                row = update(schema.leagues).where(schema.leagues.c.id == league)
                connection.execute(row.values(slug=name, deleted=None))
        except BaseException:
            with suppress(LeagueError):  # otherwise the next pruning finds it
                for _ in lifecycle.erase(self.database, hidden):
                    pass
            raise

    def _find(self, connection: Connection, slug: str, *, deleted: bool = True) -> int | None:
        """The id of a league by name, optionally of a deleted one."""
        try:
            commands.check_slug(slug)
        except LeagueError:  # databases refuse some strings even in a query
            return None
        row = select(schema.leagues.c.id).where(schema.leagues.c.slug == slug)
        return connection.execute(row if deleted else row.where(_NOT_DELETED)).scalar_one_or_none()

    def _slugs(self, connection: Connection, *, archived: bool = True) -> list[str]:
        query = select(schema.leagues.c.slug).where(_NOT_DELETED).order_by(schema.leagues.c.slug)
        if not archived:
            query = query.where(schema.leagues.c.archived.is_(None))
        return list(connection.execute(query).scalars())

    def ready(self) -> None:
        """Cheap check that the store can be used; raises if not."""
        with self.reading() as connection:
            if not schema.exists(connection, self.where):
                raise LeagueError(
                    "store-unusable", f"the store {self.where} has lost its tables. Restore it from a backup."
                )
        self.database.check_writes()

    def usage(self) -> tuple[int, float]:
        """Measure the store in one statement.

        Returns
        -------
        size : int
            Bytes of the SQLite file without its write-ahead log, or of the tables and indexes in PostgreSQL.
        age : float
            Seconds since the oldest open proposal of a league that is neither archived nor deleted; 0 without one.
        """
        with self.reading() as connection:
            size, oldest = maintenance.measure(connection)
        age = (self.clock() - datetime.fromisoformat(oldest)).total_seconds() if oldest is not None else 0.0
        return size, max(0.0, age)

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def __enter__(self) -> Self:
        """For `with Store(...) as store`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def _as_list(values: Iterable[Any]) -> Any:
    """Turn an iterable into a list; the command refuses other types."""
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping) else values


def _with_ids(directory: Directory, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `create` with ids instead of names, for a digest."""
    sides, past = settings["sides"], settings["past"]
    if sides is not None:
        sides = [(str(side), [item_ids(directory, name, at) for name in sides[side]]) for at, side in enumerate(sides)]
    if past is not None:
        past = [(pair_ids(directory, row[:2]), *row[2:]) for row in past]
    players = settings["players"]
    if players is not None:
        players = [item_ids(directory, name) for name in players]
    return {**settings, "players": players, "sides": sides, "past": past}


def _refuse_impossible(results: PastResults, rewards: RewardDistribution) -> None:
    """Check rewards row by row, since the sum of a pair may look possible; errors name the row."""
    try:
        results.refuse_outside(rewards)
    except MatchbanditError as error:
        raise LeagueError("reward-outside", str(error)) from None


def _read_past(past: Past, *, players: object, sides: object) -> PastResults:
    """Read earlier results; players or sides as given to `create`."""
    kind: ResultsKind | None = "sides" if sides is not None else "players" if players is not None else None
    try:
        if isinstance(past, PastResults):
            return past
        if isinstance(past, str | os.PathLike) or is_table(past):
            return read_results(past, kind=kind)
        return PastResults.from_rows(past, kind=kind or "players")
    except MatchbanditError as error:
        raise LeagueError("bad-value", str(error)) from None

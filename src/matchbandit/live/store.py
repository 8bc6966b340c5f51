"""A store: where leagues are kept. A file of SQLite, or a database of PostgreSQL."""

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

from matchbandit.deprecation import warn_renamed
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
"""Of the leagues whose state a process keeps, by estimate; those not used for longest are let go, and read again when
they are asked for."""

_IS_THERE = schema.leagues.c.deleted.is_(None)

Past = PastResults | str | os.PathLike[str] | Mapping[str, Sequence[Any]] | Iterable[Sequence[Any]]


class Store:
    """All leagues of a database, for all threads of a process; other processes may use the same database.

    Parameters
    ----------
    url : str
        `sqlite:///club.db` (three strokes: a file here; four: an absolute path), or `postgresql://user@host/database`.
    clock : callable, optional
        What time it is, with its zone. Tests and simulations have their own.
    lock_timeout : float, default 10
        How many seconds a request waits for others before the store is said to be busy.
    retention : Retention, optional
        For how long idempotency keys, ended tokens and sessions, and deleted leagues are kept; 30 days each by default.
    compute : WorkerPool, optional
        Where slow decisions and fits are computed, and refused if they take too long; whoever made it closes it. By
        default the calling thread computes everything, however long it takes.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], datetime] = utc_now,
        lock_timeout: float = 10.0,
        retention: Retention | None = None,
        compute: WorkerPool | None = None,
        patience: float | None = None,
    ) -> None:
        """Open it, make it if it is new, bring it up to date if it is old."""
        if patience is not None:
            warn_renamed("patience", "lock_timeout")
            lock_timeout = patience
        self.clock = clock
        self.compute = compute
        self._replicas: OrderedDict[str, Replica] = OrderedDict()
        self._sizes: dict[str, int] = {}
        """Their bytes, by estimate, when they were last opened."""
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
        """Its URL, without the password."""
        return self.database.where

    @property
    def engine(self) -> Engine:
        """What SQLAlchemy calls it."""
        return self.database.engine

    def now(self) -> str:
        """What time it is, as it is logged."""
        return format_time(self.clock())

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that sees one moment of the store, and waits for nobody."""
        return self.database.reading()

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that is kept whole, or not at all. Be quick: on SQLite it is the only one that writes."""
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
            sides = {side: _listed(names) for side, names in sides.items()}
        results = None if past is None else _results(past, players=players, sides=sides)
        if results is not None:
            _refuse_impossible(results, commands.resolve_rewards(rewards))
        if results is not None and results.kind == "sides" and players is None and sides is None:
            sides = dict.fromkeys(results.sides or ("rows", "columns"), ())
        chosen = (settings or LeagueSettings()).replace(changes)
        items_and_rewards: dict[str, Any] = {
            "players": None if players is None else _listed(players),
            "sides": sides,
            "rewards": rewards,
            "seed": seed,
            "past": None if results is None else results.rows(),
        }
        content = {**asdict(chosen), **items_and_rewards}
        request = Key.of(key, "create", lambda directory: {"slug": slug, **_with_ids(directory, content)})
        drafts = commands.create(slug, chosen, **items_and_rewards)
        with self._new_league(slug), self.writing() as connection:
            found = self._find(connection, slug)
            if found is None:
                self._begin(connection, slug, drafts, request, by)
        if found is not None and not self._was_created_by(slug, request):
            with self.reading() as connection:
                raise self._exists(connection, slug)
        return self.open(slug)

    @contextmanager
    def _new_league(self, slug: str) -> Iterator[None]:
        """If another process makes a league of the same name at the same moment, one of the two is refused."""
        try:
            yield
        except IntegrityError:
            with self.reading() as connection:
                raise self._exists(connection, slug) from None

    def _exists(self, connection: Connection, slug: str) -> LeagueError:
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

    def _begin(self, connection: Connection, slug: str, drafts: list[Draft], key: Key | None, by: str) -> None:
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
        """The row of a new league, and its id."""
        row: dict[str, Any] = {"slug": slug, "head": 0, "created": self.now(), "deleted": deleted}
        if self.database.is_sqlite:
            row["id"] = lifecycle.next_id(connection)
        return int(connection.execute(insert(schema.leagues).values(row).returning(schema.leagues.c.id)).scalar_one())

    def _was_created_by(self, slug: str, request: Key | None) -> bool:
        """Was this the request that created the league? Of a deleted one nothing is said."""
        if request is None:
            return False
        with self.reading() as connection:
            if self._find(connection, slug, deleted=False) is None:
                return False
        return self.open(slug)._was_created_by(request)

    def open(self, slug: str) -> League:
        """A league that is there."""
        replica = self._replicas.get(slug)
        if replica is None or replica.is_gone:
            self._replicas.pop(slug, None)
            with self.reading() as connection:
                league = self._find(connection, slug, deleted=False)
                if league is None:
                    raise self._unknown(connection, slug)
            replica = Replica(self.database, league, slug, self.now)
            replica.repair_proposals()
        return League(self, self._keep(slug, replica))

    def _keep(self, slug: str, replica: Replica) -> Replica:
        """Keep a league in memory, the one that is used last; all threads share one replica of it."""
        with self._opening:
            replica = self._replicas.setdefault(slug, replica)
            self._replicas.move_to_end(slug)
            self._sizes[slug] = replica.memory()
            for gone in self._sizes.keys() - self._replicas.keys():  # deleted since
                del self._sizes[gone]
            while sum(self._sizes.values()) > CACHE_BYTES and len(self._replicas) > 1:
                oldest, _ = self._replicas.popitem(last=False)
                del self._sizes[oldest]
            return replica

    def _unknown(self, connection: Connection, slug: str) -> LeagueError:
        status = None if self._find(connection, slug) is None else lifecycle.status(connection, slug, self._grace)
        if status is not None and status.since != lifecycle.ERASING:
            return lifecycle.deleted_error(status)
        known = self._slugs(connection)
        near = get_close_matches(str(slug)[:80], known, n=1)
        hint = (
            f"; did you mean {near[0]!r}?"
            if near
            else f". Known: {', '.join(known[:10])}{', …' if len(known) > 10 else ''}."
            if known
            else "."
        )
        return LeagueError("unknown-league", f"there is no league {str(slug)[:80]!r} in {self.where}{hint}")

    def leagues(self, *, archived: bool = False) -> list[str]:
        """The names of all leagues, sorted; those that are archived only if wanted, deleted ones never."""
        with self.reading() as connection:
            return self._slugs(connection, archived=archived)

    def statuses(self) -> list[LeagueStatus]:
        """Every league by name, active, archived or deleted, and since when."""
        with self.reading() as connection:
            return lifecycle.statuses(connection, self._grace)

    def archive(self, slug: str, *, by: str = "python") -> LeagueStatus:
        """Archive a league: it can be read and not written, and is not listed. Its deadlines do not pass meanwhile."""
        return self._change(slug, "archived", by)

    def restore(self, slug: str, *, by: str = "python") -> LeagueStatus:
        """Make an archived or deleted league active again; deadlines that are over pass with the next write."""
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
            Who, for the log.

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
                raise self._unknown(connection, slug)
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
        """What it holds, in numbers."""
        return maintenance.info(self.database, grace=self._grace)

    def check(self, *, progress: Callable[[str], None] = lambda league: None) -> StoreCheck:
        """Check the file, the tables and the log of every league; `progress` hears which league is next."""
        return maintenance.check(self.database, progress=progress)

    def vacuum(self) -> None:
        """Give unused space back to the disk; on SQLite others cannot write meanwhile."""
        maintenance.vacuum(self.database)

    def _prune_some(self) -> None:
        """Once a day, a few transactions in each tick until it is done."""
        if self._pruning is None:
            if self.now() < self._next_prune:
                return
            self._pruning = maintenance.prune_steps(self.database, now=self.now(), retention=self.retention)
            self._next_prune = add_seconds(self.now(), maintenance.PRUNE_INTERVAL_S)
        steps, self._pruning = self._pruning, None  # what fails begins again tomorrow
        if len(list(islice(steps, maintenance.STEPS_PER_TICK))) == maintenance.STEPS_PER_TICK:
            self._pruning = steps

    def _close_deleted(self) -> None:
        """Let go of leagues that are not there any more: another may get the name of one."""
        with self.reading() as connection:
            there = set(connection.execute(select(schema.leagues.c.id).where(_IS_THERE)).scalars())
        for slug, replica in list(self._replicas.items()):
            if replica.league not in there:
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
        """What lists of leagues show, in the order of names; no league is loaded for it.

        Parameters
        ----------
        after : str
            The name after which the page starts.
        limit : int, optional
            The largest number of leagues; all if omitted.
        names : iterable of str, optional
            Only leagues with these names.
        search : str
            Only leagues whose name or title contains this text, whatever its case.
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
        """Let deadlines pass, in all leagues; says in how many one had.

        What `forget` could not wipe is wiped, and once a day what is over is pruned.
        """
        if self.database.unwiped:
            self.database.wipe_log()
        with self.reading() as connection:
            slugs = projection.overdue(connection, self.now())
        failed: list[LeagueError] = []
        for slug in slugs:
            try:
                self.open(slug).expire()
            except LeagueError as error:  # the others' deadlines pass nevertheless
                failed.append(error)
        try:
            self._close_deleted()
            self._prune_some()
        except LeagueError as error:
            failed.append(error)
        if failed:
            raise failed[0]
        return len(slugs)

    def import_league(
        self,
        path: str | os.PathLike[str],
        *,
        slug: str | None = None,
        source: str | None = None,
        max_bytes: int | None = None,
    ) -> League:
        """Read a league that `League.export` wrote, with all its numbers; one that was archived stays so.

        Parameters
        ----------
        path : str or path
            The export, compressed or not.
        slug : str, optional
            Its name here; that of the export by default.
        source : str, optional
            What errors call the file; its path by default.
        max_bytes : int, optional
            Refuse a file that is larger once it is unpacked.

        Returns
        -------
        League
            The new league.
        """
        source = source or repr(os.fspath(path))
        with transfer.opened(path) as file:
            export = transfer.Export(file, source, max_bytes)
            name = commands.check_slug(export.header.get("slug") if slug is None else slug)
            contents = transfer.fold(export)  # before the write lock is taken: it is most of the work
            file.seek(0)
            self._write_import(name, transfer.Export(file, source, max_bytes), contents)
        return self.open(name)

    def _write_import(self, name: str, export: transfer.Export, contents: transfer.Contents) -> None:
        """Write a league page by page under a name that nobody reaches, and give it its own in the last transaction."""
        hidden = f"{lifecycle.IMPORTING}{secrets.token_hex(8)}"
        with self.writing() as connection:
            if self._find(connection, name) is not None:
                raise self._exists(connection, name)
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
            with suppress(LeagueError):  # else the next prune finds it
                for _ in lifecycle.erase(self.database, hidden):
                    pass
            raise

    def _find(self, connection: Connection, slug: str, *, deleted: bool = True) -> int | None:
        """The id of the league that has this name; also of one that was deleted, if wanted."""
        try:
            commands.check_slug(slug)
        except LeagueError:  # there is none; and some texts a database cannot even be asked for
            return None
        row = select(schema.leagues.c.id).where(schema.leagues.c.slug == slug)
        return connection.execute(row if deleted else row.where(_IS_THERE)).scalar_one_or_none()

    def _slugs(self, connection: Connection, *, archived: bool = True) -> list[str]:
        slugs = select(schema.leagues.c.slug).where(_IS_THERE).order_by(schema.leagues.c.slug)
        wanted = slugs if archived else slugs.where(schema.leagues.c.archived.is_(None))
        return list(connection.execute(wanted).scalars())

    def ready(self) -> None:
        """A cheap check that requests can be answered; an error says why not."""
        with self.reading() as connection:
            if not schema.is_current(connection, self.where):
                raise LeagueError(
                    "store-unusable", f"the store {self.where} is of an older version. Start this program again."
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
        """Let go of the database."""
        self.database.close()

    def __enter__(self) -> Self:
        """For `with Store(...) as store`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def _listed(given: Iterable[Any]) -> Any:
    """What can be read once only, as a list; what is no list of things is refused by the command."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else given


def _with_ids(directory: Directory, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of `create` with ids in the place of names, for a digest."""
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
    """Refuse rewards row by row, with their place: the sum over a pair may look possible."""
    try:
        results.refuse_outside(rewards)
    except MatchbanditError as error:
        raise LeagueError("reward-outside", str(error)) from None


def _results(past: Past, *, players: object, sides: object) -> PastResults:
    """Results from before; of a league that is named with its items, as many sides as that has."""
    kind: ResultsKind | None = "sides" if sides is not None else "players" if players is not None else None
    try:
        if isinstance(past, PastResults):
            return past
        if isinstance(past, str | os.PathLike) or is_table(past):
            return read_results(past, kind=kind)
        return PastResults.from_rows(past, kind=kind or "players")
    except MatchbanditError as error:
        raise LeagueError("bad-value", str(error)) from None

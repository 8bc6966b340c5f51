"""The replica of a league in this process: its state, kept in sync with the log, and the only writer of its events.

There are two fair locks. `_turn`: one thread writes at a time, and executes the queued requests of others as well, so
that one commit (and one disk sync) serves many. `_guard` protects the state; it is held while events are applied and
committed, so that nobody sees what may still fail.

Lock order: a connection first, then the guard. A thread that holds the guard never waits for a connection.
"""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection

from matchbandit.live import lifecycle, log, projection, snapshots
from matchbandit.live.commands import expire
from matchbandit.live.database import Database
from matchbandit.live.deciding import Decider
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Draft, Event, pair_estimates, proposal_number, to_json
from matchbandit.live.fair_lock import FairLock
from matchbandit.live.keys import Key, KeyTable, StoredAnswer
from matchbandit.live.league_view import LeagueView
from matchbandit.live.model import Fit, FitInputs, LeagueModel
from matchbandit.live.names import Directory
from matchbandit.live.projection import Estimates
from matchbandit.live.state import State

_MAX_BATCH = 64
"""Most requests per commit."""
_STORE_CODES = ("store-busy", "store-unusable", "unknown-league")
"""Errors that no request has caused."""
_EMPTY_BYTES, _ITEM_BYTES, _RESULT_BYTES, _RULE_BYTES, _OPEN_PAIR_BYTES = 40_000, 1200, 320, 150, 100
"""Memory of a league with its decider and model, measured: `python benchmarks/compute_costs.py memory`."""
_SLOW_START_S = 0.5
"""A slower start saves a snapshot for the next one."""

_T = TypeVar("_T")
Answer = dict[str, Any]
"""The answer to a request: plain JSON without names, since it is stored with the idempotency key."""


class View(NamedTuple):
    """What commands see: the state while the guard is held. Readers get a `LeagueView`, which stays valid."""

    state: State
    directory: Directory
    now: str
    connection: Connection
    pending: Sequence[Event] = ()
    """Events of this transaction that are not written yet."""

    def events_of(self, league: int, number: int) -> list[Event]:
        """All events of a proposal."""
        new = [event for event in self.pending if proposal_number(event.kind, event.data) == number]
        return log.read_proposal(self.connection, league, number) + new


Command = Callable[[View], tuple[list[Draft], Answer]]


class OutOfDateError(Exception):
    """Another proposal or a change of the rules came first; decide again."""


@dataclass
class _Job:
    """A request to write."""

    command: Command
    by: str
    key: Key | None
    answer: Answer = field(default_factory=dict)
    error: Exception | None = None
    done: bool = False


class Replica:
    """The state of one league, for all threads of this process."""

    def __init__(self, database: Database, league: int, slug: str, now: Callable[[], str]) -> None:
        """Nothing is loaded yet."""
        self.database, self.league, self.slug, self._now = database, league, slug, now
        observe = partial(database.observe_wait, "league")
        self._asking = FairLock(observe)
        self.decider = Decider()
        self._keys = KeyTable(database.secret, league)
        self._turn, self._guard = FairLock(observe), FairLock(observe)
        self._queue: deque[_Job] = deque()
        self._state: State | None = None
        self._directory = Directory()
        self._directory_seq = -1
        """The `names_seq` of the directory."""
        self._snapshot = 0
        """The event number of the last known snapshot."""
        self._was_slow = False
        self._model: LeagueModel | None = None
        self.is_gone = False
        """The league was deleted; another one may have its name."""
        self._memory = _EMPTY_BYTES

    def memory(self) -> int:
        """Estimated bytes, as of the last time the state was not being changed."""
        state = self._state
        if state is not None:
            self._memory = (
                _EMPTY_BYTES
                + _ITEM_BYTES * state.n_items
                + _RESULT_BYTES * len(state.tally.counts)
                + _RULE_BYTES * (len(state.exclusions) + len(state.wishes))
                + _OPEN_PAIR_BYTES * len(state.waiting)
            )
        return self._memory + self.decider.memory()

    # Reading ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[View]:
        """The current league, including writes of other processes; the guard is held, so be quick."""
        with self.database.reading() as connection, self._guarded():
            # The first query fixes the snapshot of the transaction. It comes after the guard, so that the state, which
            # other threads may advance until then, is never ahead of the snapshot.
            state = self._catch_up(connection, self._head(log.head(connection, self.league)))
            yield View(state, self._directory, self._now(), connection)
        self._save_snapshot()

    @contextmanager
    def view(self, *, model: bool = False, assess: Callable[[FitInputs], Fit] | None = None) -> Iterator[LeagueView]:
        """The current league for a reader, without the guard.

        `assess` tests the fit of the model, see `LeagueModel`.
        """
        with self.database.reading() as connection:
            with self._guarded():
                state = self._catch_up(connection, self._head(log.head(connection, self.league)))
                current = self._current_model(state, assess) if model else None
                view = LeagueView(state, self._directory, connection, self.league, self.slug, current)
            yield view
        self._save_snapshot()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A read transaction for an existing league; it blocks nobody."""
        with self.database.reading() as connection:
            self._head(log.head(connection, self.league))
            yield connection

    def prepare(self, key: Key | None, prepare: Callable[[View], _T]) -> _T | Answer:
        """Prepare a slow decision; returns the stored answer instead if the key was used before.

        Passed deadlines are applied first.
        """
        while True:
            with self.reading() as view:
                if key is not None:
                    stored = self._keys.read(view.connection, [key])
                    if stored:
                        return stored[key.text].repeat(key, view.directory)
                self._refuse_archived(view.state)
                if not expire(view.state, view.now):
                    return prepare(view)
            self.write(lambda _: ([], {}), by="clock")

    def stored_answer(self, key: Key) -> Answer | None:
        """The stored answer to an earlier request with this key, or None."""
        with self.reading() as view:
            stored = self._keys.read(view.connection, [key])
            return stored[key.text].repeat(key, view.directory) if stored else None

    def _current_model(self, state: State, assess: Callable[[FitInputs], Fit] | None) -> LeagueModel:
        """The model of this state, cached until the next event; using it needs no guard."""
        if self._model is None or self._model.seq != state.seq:
            self._model = LeagueModel(state, assess)
        return self._model

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """One thread decides at a time: a second decision would be out of date."""
        with self._hold(self._asking, "compute-busy"):
            yield

    def _guarded(self) -> AbstractContextManager[None]:
        return self._hold(self._guard)

    @contextmanager
    def _hold(self, lock: FairLock, code: str = "store-busy") -> Iterator[None]:
        if not lock.acquire(self.database.lock_timeout):
            raise self.busy(code, f"was busy for {self.database.lock_timeout:g} seconds")
        try:
            yield
        finally:
            lock.release()

    def busy(self, code: str, why: str) -> LeagueError:
        """The error for a busy league; `why` continues "the league club"."""
        return LeagueError(code, f"the league {self.slug} {why}. Try again.")

    def _head(self, head: int | None) -> int:
        if head is None:
            self.is_gone = True
            raise LeagueError("unknown-league", f"the league {self.slug} is no longer in the store.")
        return head

    def _refuse_archived(self, state: State) -> None:
        if state.archived is not None:
            raise lifecycle.archived_error(self.slug, state.archived)

    def _catch_up(self, connection: Connection, head: int) -> State:
        """The state after all events up to the head."""
        state = self._state
        if state is not None and state.seq > head:  # an older log: another database, or a restored backup
            state = None
        self._state = None  # loaded again after a failure
        started = time.monotonic()
        if state is None:
            state = snapshots.load(connection, self.league, up_to=head) or State()
            self._snapshot, self._directory_seq = state.seq, -1
        if state.seq < head:
            log.fold(connection, self.league, state)
        if self._directory_seq != state.names_seq:
            rows = log.names(connection, self.league)
            self._directory = Directory.of(state.config["sides"], state.sides_by_item, rows)
            self._directory_seq = state.names_seq
        self._was_slow |= time.monotonic() - started > _SLOW_START_S
        self._state = state
        return state

    # Writing ---------------------------------------------------------------------------------------------------------

    def write(self, command: Command, *, by: str, key: Key | None = None) -> Answer:
        """Execute a command and return its answer once its events are on disk, or the stored answer of a repeated key.

        The command sees the current league and is the only writer to it.
        """
        job = _Job(command, by, key)
        self._queue.append(job)
        try:
            with self._turn:
                while not job.done:  # otherwise the previous holder of the turn has executed it
                    self._serve(self._next_jobs())
        except BaseException:  # Ctrl-C while waiting: nobody may execute it later
            with suppress(ValueError):
                self._queue.remove(job)
            raise
        self._save_snapshot()
        if job.error is not None:
            raise job.error
        return job.answer

    def _next_jobs(self) -> list[_Job]:
        jobs: list[_Job] = []
        with suppress(IndexError):
            while len(jobs) < _MAX_BATCH:
                jobs.append(self._queue.popleft())
        return jobs

    def _serve(self, jobs: list[_Job]) -> None:
        """Execute commands in order, in one transaction."""
        try:
            with self.database.writing() as connection:
                head = self._head(log.head_locked(connection, self.league))
                with self._guarded():
                    self._execute(connection, head, jobs)
        except Exception as error:
            if isinstance(error, LeagueError) and error.code in _STORE_CODES:
                _fail(jobs, error.code, str(error))
            elif len(jobs) == 1:
                jobs[0].error = error
            else:  # one request must not fail the others
                for job in jobs:
                    self._serve([job])
        except BaseException:
            _fail(jobs, "store-busy", "the process was interrupted before this was written. Try again.")
            raise
        finally:
            for job in jobs:
                job.done = True

    def _execute(self, connection: Connection, head: int, jobs: list[_Job]) -> None:
        state = self._catch_up(connection, head)
        self._state = None  # until everything is committed
        directory = self._directory
        stored = self._keys.read(connection, [job.key for job in jobs if job.key is not None])
        events: list[Event] = []
        estimates: list[Estimates] = []
        names: list[tuple[int, str | None]] = []
        answers: dict[str, StoredAnswer] = {}

        def apply(drafts: list[Draft], now: str, by: str) -> None:
            nonlocal directory
            if directory is self._directory and any(draft.names for draft in drafts):
                directory = directory.copy()  # readers keep the old one
            for draft in drafts:
                # Round trip as through the log: anything but plain JSON fails here, and the state is that of a replay.
                event = Event(state.seq + 1, now, draft.kind, json.loads(to_json(draft.data)), by)
                estimates.append(self._estimates(connection, state, event))
                state.apply(event)
                directory.write(draft.names, state.sides_by_item)
                events.append(event)
                names.extend(draft.names)

        for job in jobs:
            now = self._now()
            job.error = None
            if state.archived is None:  # deadlines of an archived league do not pass
                apply(expire(state, now), now, "clock")
            try:
                if job.key is not None and job.key.text in stored:
                    job.answer = stored[job.key.text].repeat(job.key, directory)
                    continue
                self._refuse_archived(state)
                drafts, job.answer = job.command(View(state, directory, now, connection, events))
            except (LeagueError, OutOfDateError) as error:
                job.error = error
                continue
            apply(drafts, now, job.by)
            if job.key is not None:
                stored[job.key.text] = answers[job.key.text] = job.key.answered(directory, job.answer)
        log.append(connection, self.league, events, summary=state.summary() if events else None)
        projection.project(connection, self.league, zip(events, estimates, strict=True))
        log.write_names(connection, self.league, names)
        self._keys.save(connection, self._now(), answers)
        transaction = connection.get_transaction()
        assert transaction is not None
        transaction.commit()
        self._state, self._directory, self._directory_seq = state, directory, state.names_seq

    def _estimates(self, connection: Connection, state: State, event: Event) -> Estimates:
        """The estimates of an event's proposal, before the event is applied."""
        number = None if event.kind == "proposed" else proposal_number(event.kind, event.data)
        if number is None:
            return {}
        if number in state.open:
            return state.open[number].pairs
        events = log.read_proposal(connection, self.league, number)  # a late correction
        return pair_estimates(events[0].data) if events else {}

    # Snapshots -------------------------------------------------------------------------------------------------------

    def _save_snapshot(self) -> None:
        """Save a snapshot when it is due or after a slow start; it is written without the guard."""
        state = self._state
        if state is None or not (self._was_slow or snapshots.is_due(state, self._snapshot)):
            return
        # The request is already done: a busy or read-only store costs a snapshot, nothing more.
        with suppress(LeagueError):
            with self._guarded():
                state, self._was_slow = self._state, False
                if state is None or state.seq <= self._snapshot:
                    return
                seq, data = state.seq, snapshots.encode(state)
                self._snapshot = seq
            with self.database.writing() as connection:
                self._head(log.head_locked(connection, self.league))
                snapshots.save(connection, self.league, seq, data)


def _fail(jobs: list[_Job], code: str, message: str) -> None:
    for job in jobs:
        job.error = LeagueError(code, message)

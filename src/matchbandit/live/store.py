"""A store: where leagues are kept. A file of SQLite, or a database of PostgreSQL."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine

from matchbandit.live import schema
from matchbandit.live.database import Database
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import stamp, this_version, utc_now


class Store:
    """All leagues of a database, for all threads of a process; other processes may use the same database.

    Parameters
    ----------
    url : str
        `sqlite:///club.db` (three strokes: a file here; four: an absolute path), or `postgresql://user@host/database`.
    clock : callable, optional
        What time it is, with its zone. Tests and simulations have their own.
    patience : float, default 10
        How many seconds a request waits for others before the store is said to be busy.
    """

    def __init__(self, url: str, *, clock: Callable[[], datetime] = utc_now, patience: float = 10.0) -> None:
        """Open it, make it if it is new, bring it up to date if it is old."""
        self._clock = clock
        self.database = Database(url, patience=patience)
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
        return stamp(self._clock())

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that sees one moment of the store, and waits for nobody."""
        return self.database.reading()

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that is kept whole, or not at all. Be quick: on SQLite it is the only one that writes."""
        return self.database.writing()

    def ready(self) -> None:
        """A cheap check that requests can be answered; an error says why not."""
        with self.reading() as connection:
            if not schema.is_current(connection, self.where):
                raise LeagueError(
                    "store-unusable", f"the store {self.where} is of an older version. Start this program again."
                )

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

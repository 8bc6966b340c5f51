"""Writes of one league that wait at the same time share a transaction, and so one commit to disk."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sqlalchemy import Connection

from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.transaction import LeagueRow

MAX_WRITES = 16
"""Most writes that share a transaction."""


@dataclass(eq=False)
class Write:
    """A write of a league; `command` returns its answer and the row of the league afterwards."""

    slug: str
    command: Callable[[Connection, LeagueRow], tuple[Any, LeagueRow]]
    answer: Any = None
    error: Exception | None = None
    is_done: bool = False


class WriteQueue:
    """Writes in the order of their arrival; whoever has its turn also executes those of its league that wait."""

    def __init__(self, transaction: Callable[[str], AbstractContextManager[tuple[Connection, LeagueRow]]]) -> None:
        """`transaction` begins a write transaction on the league of this name."""
        self._transaction, self._turn, self._waiting = transaction, Lock(), list[Write]()

    def execute(self, write: Write) -> Any:
        """Execute a write; returns its answer once it is on disk."""
        self._waiting.append(write)
        try:
            with self._turn:
                if not write.is_done:
                    self._execute_waiting(write)
        finally:
            if write in self._waiting:  # interrupted before its turn
                self._waiting.remove(write)
        if write.error is not None:
            raise write.error
        return write.answer

    def _execute_waiting(self, first: Write) -> None:
        batch, reason = [first], LeagueError("store-busy", "the write was interrupted. Try again.")
        try:
            self._execute_together(batch, others=True)
        except Exception as error:
            if isinstance(error, LeagueError) and error.code in ("store-busy", "store-unusable"):
                # The others would only wait for the same error.
                batch += self._others(batch)
                reason = error
            elif len(batch) == 1:
                raise
            else:  # nothing was written; one by one, the error is that of the write that caused it
                for write in batch:
                    try:
                        self._execute_together([write])
                    except Exception as its_error:
                        write.error, write.is_done = its_error, True
        finally:
            for write in batch:
                write.error = write.error if write.is_done else reason
                write.is_done = True
                with suppress(ValueError):  # it was interrupted meanwhile, and has removed itself
                    self._waiting.remove(write)

    def _execute_together(self, batch: list[Write], *, others: bool = False) -> None:
        with self._transaction(batch[0].slug) as (connection, league):
            if others:
                batch += self._others(batch)[: MAX_WRITES - 1]
            after = league
            for write in batch:
                write.answer, after = write.command(connection, after)
        for write in batch:
            write.is_done = True

    def _others(self, batch: list[Write]) -> list[Write]:
        return [write for write in list(self._waiting) if write.slug == batch[0].slug and write not in batch]

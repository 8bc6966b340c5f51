"""Processes that use one league of a store at the same time, and report what was acknowledged to them.

They are forked from a process that has imported matchbandit once, so that a test can afford many of them.
"""

import multiprocessing
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from league_writes import WRITES

from matchbandit.leagues import League, LeagueError, Store
from matchbandit.leagues.records import Proposal

_PATIENCE = 120.0  # seconds without a report, after which a test has failed
Report = tuple[Any, ...]


class Worker:
    """A process with a connection to it."""

    def __init__(self, task: Callable[..., None], *arguments: Any) -> None:
        """Start it."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["warm_leagues", "league_processes"])
        self._here, there = context.Pipe()
        self._process = context.Process(target=task, args=(*arguments, there), daemon=True)
        self._process.start()
        there.close()

    def reports(self) -> Iterator[Report]:
        """All that it reports, until it says ("end",), ends or is killed."""
        while True:
            assert self._here.poll(_PATIENCE), "the process reports nothing any more"
            try:
                report = self._here.recv()
            except (EOFError, ConnectionResetError):
                return
            if report == ("end",):
                return
            yield report

    def resume(self) -> None:
        """Let it go on after ("end",)."""
        self._here.send(None)

    @property
    def exit_code(self) -> int | None:
        """How it ended; the negative number of a signal."""
        return self._process.exitcode

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.join(_PATIENCE)


@contextmanager
def working(*workers: Worker) -> Iterator[tuple[Worker, ...]]:
    """Workers that do not outlive their test."""
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()


def write(url: str, name: str, last: int | None, pipe: Connection) -> None:
    """Execute one of `WRITES`, and kill this process at the call of its `last` function; report how many it calls."""
    n_calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")
        if n_calls == last:
            os.kill(os.getpid(), signal.SIGKILL)

    with Store(url) as store:
        sys.setprofile(count)
        WRITES[name](store, "key")
        sys.setprofile(None)
    pipe.send((n_calls,))


def ask(club: League, key: str) -> Proposal:
    """Ask until there is an answer: many processes that ask at once may keep each other busy."""
    while True:
        try:
            return club.ask(key=key)
        except LeagueError as error:
            if error.code != "store-busy":
                raise


def play(url: str, name: str, rounds: int, pipe: Connection) -> None:
    """Ask, tell each pair twice, correct, join and exclude; then report what this process reads from its cache."""
    rng = random.Random(name)
    with Store(url) as store:
        club = store.open("club")
        for k in range(rounds):
            proposal = ask(club, f"{name}-{k}")
            pipe.send(("ask", proposal.number))
            for pair in proposal.pairs[:3]:
                for _ in range(2):
                    club.tell(proposal.number, {pair: 1})
                pipe.send(("tell", proposal.number, *pair.ids))
            club.correct(proposal.number, {proposal.pairs[0]: 0})
            pipe.send(("correct", proposal.number, *proposal.pairs[0].ids))
            (item,) = club.join(f"{name} {k}")
            pipe.send(("join", item.id))
            pair = rng.sample(range(1, item.id + 1), 2)
            try:
                club.exclude([pair])
                pipe.send(("exclude", *sorted(pair)))
            except LeagueError as error:  # another process has pinned it
                if error.code != "contradiction":
                    raise
        pipe.send(("end",))
        pipe.recv()  # until the others have ended
        pipe.send((club.info(), club.ranking(), club.results().rows))

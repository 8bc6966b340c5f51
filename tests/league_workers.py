"""Processes that use one league of a store at the same time, and say what was acknowledged to them.

They are forked from a server that has imported matchbandit once, so that a test can afford many of them.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from matchbandit.live import Store

_PATIENCE = 120.0  # seconds without an acknowledgement, after which a test has failed
Acknowledged = tuple[Any, ...]


class Worker:
    """A process, and what it says."""

    def __init__(self, task: Callable[..., None], *given: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["league_workers", "warm_league"])
        self._here, there = context.Pipe(duplex=False)
        self._process = context.Process(target=task, args=(*given, there), daemon=True)
        self._process.start()
        there.close()

    def heard(self) -> Iterator[Acknowledged]:
        """All that it says, until it ends or is killed."""
        while True:
            assert self._here.poll(_PATIENCE), "the process says nothing any more"
            try:
                yield self._here.recv()
            except EOFError:
                return

    def kill(self) -> None:
        """kill −9."""
        self._process.kill()

    def join(self) -> int | None:
        """Wait for its end; its exit code."""
        self._process.join(_PATIENCE)
        return self._process.exitcode


@contextmanager
def working(*workers: Worker) -> Iterator[tuple[Worker, ...]]:
    """Workers that do not outlive their test."""
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def play(url: str, who: str, rounds: int, says: Connection) -> None:
    """Ask, tell every pair, tell it again, and let somebody join: so many rounds, each step acknowledged."""
    with Store(url) as store:
        club = store.open("club")
        for number in range(rounds):
            proposal = club.ask(key=f"{who}-{number}")
            says.send(("asked", proposal.number))
            for pair, ids in zip(proposal.pairs, proposal.ids, strict=True):
                club.tell(proposal.number, {pair: 1})
                says.send(("told", proposal.number, ids))
                club.tell(proposal.number, {pair: 1})
            (item,) = club.join(f"{who} {number}")
            club.leave(item.id)
            says.send(("joined", item.id))

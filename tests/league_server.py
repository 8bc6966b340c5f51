"""Servers that are forked from a process which has everything imported: a start takes no time, a kill is a kill.

They stay at their port, so that clients find them again.
"""

import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx

from matchbandit.leagues import Store, tokens

PATIENCE = 60.0
"""Seconds for what takes one or two."""
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["matchbandit.leagues.service.app", "warm_leagues"])


def _serve(store: str, port: int, log: str) -> None:
    from matchbandit.leagues.service.app import serve
    from matchbandit.leagues.service.settings import Settings

    with Path(log).open("a") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    serve(Settings(store=store, port=port, token_seconds=0, maintenance_seconds=0.2, concurrency=8))


class Server:
    """A server at one port of this machine, which can be killed and started again."""

    def __init__(self, store: str, folder: Path) -> None:
        """For this store; its log is in the folder."""
        # Bound and never listening, it keeps the port from everybody who asks for any; the server may share it.
        self._reservation = socket.socket()
        self._reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reservation.bind(("127.0.0.1", 0))
        self.port = self._reservation.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.store, self.log = store, folder / f"{self.port}.log"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self.process = _FORKS.Process(target=_serve, args=(self.store, self.port, str(self.log)), daemon=True)
        self.process.start()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until it can write."""
        wait_until(self._is_ready)

    def _is_ready(self) -> bool:
        assert self.process.is_alive(), self.log.read_text()
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.address}/readyz", timeout=PATIENCE).is_success
        return False

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.join(PATIENCE)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._reservation.close()


def wait_until(condition: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for a condition, for as long as a loaded machine may need."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "what the test waits for does not happen"
        time.sleep(0.02)


def new_token(url: str, scope: str = "admin") -> str:
    """The text of a new token of a store."""
    with Store(url) as store:
        return tokens.create(store, "test", scope=scope)[1]

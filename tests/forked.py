"""Servers that are forked from a process which has everything imported: a start takes no time, a kill is a kill.

They stay at their port, so that clients find them again.
"""

import multiprocessing
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx

from matchbandit.cli import main

PATIENCE = 60.0
"""Seconds for what takes one or two."""
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["matchbandit.service.server", "matchbandit.cli", "matchbandit.live.store"])


def serve(words: list[str], log: str) -> None:
    """`matchbandit serve`, as if it were typed."""
    with Path(log).open("a") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
        sys.argv = ["matchbandit", "serve", *words]
        main()


class Server:
    """A server at one port of this machine, which can be killed and started again."""

    def __init__(self, store: str, folder: Path, *more: str) -> None:
        """Over this store; its log goes to the folder."""
        # Bound and never listening, it keeps the port from everybody who asks for any; the server may share it.
        self._reservation = socket.socket()
        self._reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reservation.bind(("127.0.0.1", 0))
        self.port = self._reservation.getsockname()[1]
        self.words = ["--store", store, "--port", str(self.port), *more]
        self.log = folder / f"{self.port}.log"
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        if "--workers" in self.words:  # processes of its own need a program of their own
            with self.log.open("ab") as log:
                command = [sys.executable, "-m", "matchbandit", "serve", *self.words]
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
        else:
            self.process = FORKS.Process(target=serve, args=(self.words, str(self.log)), daemon=True)
            self.process.start()
        end = time.monotonic() + PATIENCE
        while True:
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.address}/readyz").is_success:
                    return
            assert self._is_alive(), self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        """kill −9."""
        self.process.kill()
        self.process.wait(PATIENCE) if isinstance(self.process, subprocess.Popen) else self.process.join(PATIENCE)
        end = time.monotonic() + PATIENCE
        while self._has_listener():  # its worker processes end by themselves
            assert time.monotonic() < end, "a worker outlived its killed parent"
            time.sleep(0.02)

    def _is_alive(self) -> bool:
        return self.process.poll() is None if isinstance(self.process, subprocess.Popen) else self.process.is_alive()

    def _has_listener(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._reservation.close()

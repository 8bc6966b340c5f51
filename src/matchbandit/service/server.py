"""A server that runs the app: its port, its processes, its end."""

import contextlib
import ipaddress
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from matchbandit.errors import MatchbanditError, check_int
from matchbandit.live.store import Store
from matchbandit.service import logs, tokens
from matchbandit.service.app import create_app
from matchbandit.service.metrics import TOGETHER
from matchbandit.service.settings import Settings

LONGEST_GOODBYE = 20
"""Seconds that requests get to finish once the server was told to stop."""
LONGEST_SILENCE = 60
"""Seconds that one of several processes may be silent before it is replaced; to start takes some on a busy machine."""


@dataclass(frozen=True)
class Server:
    """Where to listen, with how many processes, over which store."""

    store: str
    """A URL, as `Store` takes it."""
    host: str = "127.0.0.1"
    port: int = 8000
    """0: any that is free; the log says which."""
    workers: int = 1
    behind_proxy: bool = False
    """A proxy on this machine speaks https with the world, and says who asks (X-Forwarded-For, -Proto)."""
    settings: Settings = field(default_factory=Settings)
    log_level: str = "info"

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_int("--port", self.port, minimum=0, maximum=65535)
        check_int("--workers", self.workers, minimum=1, maximum=64)

    def run(self) -> None:
        """Listen until TERM or INT; requests that are being answered get their answers first."""
        where = self._check_store()
        with contextlib.closing(self._listening()) as listener, _together(self.workers):
            config = self._config()
            logs.write_to(level=self.log_level)
            host, port = listener.getsockname()[:2]
            address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            logs.log("listening", {"address": address, "store": where, "workers": self.workers, "process": os.getpid()})
            if self.workers == 1:
                with _quiet_end():
                    uvicorn.Server(config).run(sockets=[listener])
            else:
                Multiprocess(config, [listener]).run()
            logs.log("stopped", {"process": os.getpid()})

    def _check_store(self) -> str:
        """Open the store once, so that what is wrong with it is said in one line; refuse to be open without keys.

        Its URL, without a password.
        """
        with Store(self.store) as store:
            if not _is_loopback(self.host) and not tokens.any_usable(store):
                raise MatchbanditError(
                    f"there is no token yet, so --host {self.host} would be open to a network with no key to it. "
                    "Make one first: matchbandit token new --label WHAT-FOR"
                )
            return store.where

    def _listening(self) -> socket.socket:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except (socket.gaierror, UnicodeError):
            raise MatchbanditError(f"--host {self.host!r} is no address of this machine.") from None
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(1024)
        except OSError as error:
            listener.close()
            hint = "Stop what listens there, or take another with --port."
            raise MatchbanditError(
                f"cannot listen on {self.host} port {self.port}: {(error.strerror or str(error)).lower()}. {hint}"
            ) from None
        listener.set_inheritable(True)
        return listener

    def _config(self) -> uvicorn.Config:
        return uvicorn.Config(
            partial(_app, self),
            factory=True,
            workers=self.workers,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=self.behind_proxy,
            forwarded_allow_ips="127.0.0.1,::1" if self.behind_proxy else "",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=LONGEST_GOODBYE,
            timeout_worker_healthcheck=LONGEST_SILENCE,
            ws="none",
        )


def _app(server: Server) -> FastAPI:
    """The app of one process, with its own connections to the store."""
    logs.write_to(level=server.log_level)
    store = Store(server.store, retention=server.settings.retention)
    return create_app(store, settings=server.settings)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextlib.contextmanager
def _together(workers: int) -> Iterator[None]:
    """A folder in which several processes add up their metrics; it goes with the server."""
    if workers == 1:
        yield
        return
    folder = tempfile.mkdtemp(prefix="matchbandit-metrics-")
    os.environ[TOGETHER] = folder
    try:
        yield
    finally:
        del os.environ[TOGETHER]
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _quiet_end() -> Iterator[None]:
    """Uvicorn stops well on TERM and INT, then raises them again; here they have done their work, and exit is 0."""
    handled = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: None) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

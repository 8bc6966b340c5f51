"""Run the app: bind the port, start the processes, stop them without losing a response."""

import contextlib
import ipaddress
import logging
import multiprocessing
import os
import re
import shutil
import signal
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.supervisors import Multiprocess

from matchbandit.errors import MatchbanditError
from matchbandit.live.store import Store
from matchbandit.service import logs, tokens
from matchbandit.service.app import create_app
from matchbandit.service.connections import (
    PROBE_CONNECTIONS,
    ConnectionLimiter,
    LimitedProtocol,
    as_networks,
    raise_file_limit,
)
from matchbandit.service.metrics import MULTIPROCESS_VARIABLE
from matchbandit.service.settings import Settings, check_fields
from matchbandit.service.store_metrics import ConnectionMetrics

SHUTDOWN_TIMEOUT_S = 20
"""Time for requests in progress to finish once the server is asked to stop."""
WORKER_TIMEOUT_S = 60
"""A worker that does not answer its parent for this long is replaced; on a busy machine it takes a while to start."""
LOOPBACK = ("127.0.0.0/8", "::1")
"""The proxies that `--behind-proxy` trusts."""
DEFAULT_STORE = "sqlite:///matchbandit.db"
_OTHER_FILES = 200
"""Open files of a process besides its connections: the store, libraries, pipes."""
_METRICS_FOLDER = "matchbandit-metrics-"


def _bounded(default: int, minimum: int, maximum: int) -> Any:
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum})


@dataclass(frozen=True)
class Server:
    """Where to listen, with how many processes, over which store."""

    store: str = field(default=DEFAULT_STORE, metadata={"variable": "MATCHBANDIT_STORE"})
    """Where leagues are kept: `sqlite:///FILE` or `postgresql://…`."""
    host: str = "127.0.0.1"
    """Address to listen on; beyond this machine only once there is a token."""
    port: int = _bounded(8000, 0, 65535)
    """Port to listen on; 0 chooses a free one, which the log names."""
    workers: int = _bounded(1, 1, 64)
    """Number of processes; one is right for SQLite."""
    behind_proxy: bool = False
    """Trust X-Forwarded-For and X-Forwarded-Proto of a proxy on this machine."""
    trusted_proxies: tuple[str, ...] = ()
    """Trust these headers of proxies with such an address or network (CIDR), separated by commas."""
    settings: Settings = field(default_factory=Settings)
    log_level: str = field(default="info", metadata={"choices": ("debug", "info", "warning", "error")})
    """Least severe lines of the log."""

    def __post_init__(self) -> None:
        """Check all values."""
        check_fields(self)

    def run(self) -> None:
        """Serve until TERM or INT; requests in progress are answered first."""
        logs.write_to(level=self.log_level)
        store_name = self._check_store()
        self._warn_of_exposure()
        _remove_stale_metrics()
        with contextlib.closing(self._bind()) as listener, _metrics_folder(self.workers):
            config = self._config()
            host, port = listener.getsockname()[:2]
            address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            content = {"address": address, "store": store_name, "workers": self.workers, "process": os.getpid()}
            if self.workers == 1:
                with _ignored_signals():
                    _AnnouncingServer(config, content).run(sockets=[listener])
            else:
                _AnnouncingWorkers(config, listener, content).run()
            logs.log("stopped", {"process": os.getpid()})

    @property
    def proxies(self) -> tuple[str, ...]:
        """Networks whose X-Forwarded headers are believed."""
        return (*self.trusted_proxies, *(LOOPBACK if self.behind_proxy else ()))

    def _check_store(self) -> str:
        """Open the store once, so that an unusable one is reported in one line; return its URL without a password."""
        with Store(self.store) as store:
            if not _is_loopback(self.host) and not tokens.any_usable(store):
                raise MatchbanditError(
                    f"there is no token yet, so --host {self.host} would offer the network a server that nobody can "
                    "use. Make one first: matchbandit token new --label WHAT-FOR"
                )
            path = store.database.file
            if path is not None and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                hint = f"it holds names and hashes of tokens: chmod 600 {path}"
                logs.log("store readable by others", {"hint": hint}, level=logging.WARNING)
            return store.where

    def _warn_of_exposure(self) -> None:
        """Log what an operator should change before strangers reach the server."""
        if not _is_loopback(self.host) and not self.proxies:
            hint = "tokens cross the network unencrypted. Put a TLS proxy in front and name it with --trusted-proxy"
            logs.log("public without proxy", {"host": self.host, "hint": hint}, level=logging.WARNING)
        needed = self.settings.max_connections + PROBE_CONNECTIONS + _OTHER_FILES
        limit = raise_file_limit(needed)
        if limit is not None:
            hint = f"raise LimitNOFILE to {needed} or lower max_connections"
            logs.log("few open files allowed", {"limit": limit, "hint": hint}, level=logging.WARNING)

    def _bind(self) -> socket.socket:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except (socket.gaierror, UnicodeError):
            raise MatchbanditError(f"--host {self.host!r} is not an address of this machine.") from None
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(1024)
        except OSError as error:
            listener.close()
            hint = "Stop the program that listens there, or choose another port with --port."
            raise MatchbanditError(
                f"cannot listen on {self.host} port {self.port}: {(error.strerror or str(error)).lower()}. {hint}"
            ) from None
        listener.set_inheritable(True)
        return listener

    def _config(self) -> uvicorn.Config:
        limiter = ConnectionLimiter(self.settings, trusted_proxies=self.proxies)
        return uvicorn.Config(
            partial(_create_worker_app, self, limiter),
            factory=True,
            http=cast(Any, partial(LimitedProtocol, limiter=limiter)),
            workers=self.workers,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(self.proxies),
            forwarded_allow_ips=[str(network) for network in as_networks(self.proxies)],
            timeout_keep_alive=cast(int, self.settings.idle_seconds),
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
            timeout_worker_healthcheck=WORKER_TIMEOUT_S,
            ws="none",
        )


class _AnnouncingServer(uvicorn.Server):
    """Logs "listening" once it accepts connections."""

    def __init__(self, config: uvicorn.Config, content: dict[str, Any]) -> None:
        super().__init__(config)
        self._content = content

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            logs.log("listening", self._content)


class _AnnouncingWorkers(Multiprocess):
    """Logs "listening" once every worker accepts connections."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, content: dict[str, Any]) -> None:
        super().__init__(config, [listener])
        self._content: dict[str, Any] | None = content

    def keep_subprocess_alive(self) -> None:
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            mark_process_dead(pid)  # type: ignore[no-untyped-call] # its gauges no longer count
        if self._content is None or self.should_exit.is_set():
            return
        if all(process.is_ready(WORKER_TIMEOUT_S) for process in self.processes):
            logs.log("listening", self._content)
            self._content = None


def _create_worker_app(server: Server, limiter: ConnectionLimiter) -> FastAPI:
    """The app of one process, with its own connections to the store."""
    logs.write_to(level=server.log_level)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_stop_after, args=(parent,), daemon=True).start()
    store = Store(server.store, retention=server.settings.retention)
    app = create_app(store, settings=server.settings)
    limiter.metrics = ConnectionMetrics(app.state.metrics.registry)
    return app


def _stop_after(parent: Any) -> None:
    """Wait for the parent to end, killed or not, then stop this worker: nobody else would, and it holds the port."""
    parent.join()
    logs.log("parent ended", {"process": os.getpid()}, level=logging.WARNING)
    os.kill(os.getpid(), signal.SIGTERM)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextlib.contextmanager
def _metrics_folder(workers: int) -> Iterator[None]:
    """A folder in which several processes add up their metrics; it is removed with the server."""
    if workers == 1:
        yield
        return
    folder = tempfile.mkdtemp(prefix=f"{_METRICS_FOLDER}{os.getpid()}-")
    os.environ[MULTIPROCESS_VARIABLE] = folder
    try:
        yield
    finally:
        del os.environ[MULTIPROCESS_VARIABLE]
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale_metrics() -> None:
    """Remove metrics folders of servers that were killed: none of the processes named in them is alive."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_METRICS_FOLDER}*"):
        with contextlib.suppress(OSError):
            names = [folder.name.removeprefix(_METRICS_FOLDER), *(file.stem for file in folder.iterdir())]
            pids = [int(digits) for name in names for digits in re.findall(r"(?:^|_)(\d+)(?:-|$)", name)]
            if pids and not any(map(_is_alive, pids)):
                shutil.rmtree(folder)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True


@contextlib.contextmanager
def _ignored_signals() -> Iterator[None]:
    """Uvicorn stops on TERM and INT, then raises them again; ignored here, they lead to exit code 0."""
    handled = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: None) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

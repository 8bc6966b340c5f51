"""Limits on connections before a request is parsed: their number, the size of headers, and time limits.

Uvicorn has no setting for these. `LimitedProtocol` adds them to its httptools protocol, which `server` selects.
"""

import asyncio
import ipaddress
import json
import logging
from collections import Counter
from collections.abc import Iterable
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from matchbandit.service.limits import IMPORT_PATH, UNLIMITED
from matchbandit.service.logs import log
from matchbandit.service.settings import Settings
from matchbandit.service.store_metrics import ConnectionMetrics

PROBE_CONNECTIONS = 32
"""Connections beyond the limit that are accepted for health checks."""
PROBE_HEADER_SECONDS = 2.0
"""Time limit for the headers on such a connection."""
MAX_PIPELINED = 16
"""Requests that a client may send on one connection before it has read the first response."""
LOG_INTERVAL_S = 10.0
"""Refusals with the same reason are logged at most once in this time, with their number."""
BODY_GRACE_S = 15.0
"""The app refuses a slow body with 408 after its time limit; this much later the connection is closed in any case."""
_REFUSALS = {"431 Request Header Fields Too Large": b"", "503 Service Unavailable": b"Retry-After: 1\r\n"}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def as_networks(texts: Iterable[str]) -> list[Network]:
    """Parse addresses and CIDR networks; an IPv4 network is also listed as a socket on `::` reports it."""
    networks: list[Network] = []
    for text in texts:
        network = ipaddress.ip_network(text)
        networks.append(network)
        if isinstance(network, ipaddress.IPv4Network):
            networks.append(ipaddress.ip_network(f"::ffff:{network.network_address}/{96 + network.prefixlen}"))
    return networks


class ConnectionLimiter:
    """Counts the open connections of one process, in total and by address, and logs those it refuses."""

    def __init__(self, settings: Settings, *, trusted_proxies: Iterable[str] = ()) -> None:
        """`trusted_proxies` have no limit of their own: they bring the connections of many clients."""
        self.settings = settings
        self.metrics: ConnectionMetrics | None = None
        """Set by the process that serves."""
        self._refused: Counter[str] = Counter()
        self._trusted = as_networks(trusted_proxies)
        self._open: Counter[str] = Counter()
        self.silent_probes: dict[LimitedProtocol, None] = {}
        """Connections accepted for health checks that have not sent a whole request, the oldest first."""
        self._last_logged: dict[str, tuple[float, int]] = {}

    def admit(self, address: str) -> str | None:
        """Count a new connection; return the reason for which it must be refused, or None.

        `release` must be called when it ends, whether it was refused or not.
        """
        key = self._key(address)
        self._open[key] += 1
        self._update_gauge()
        if key and self._open[key] > self.settings.connections_per_address:
            return "too-many-from-address"
        if self._open.total() > self.settings.max_connections + PROBE_CONNECTIONS and not self._make_room():
            return "too-many-connections"
        return None

    def _make_room(self) -> bool:
        """Close the connection that was accepted for health checks and has been silent longest, if there is one.

        A health check sends its request at once; connections that do not would take its place.
        """
        oldest = next(iter(self.silent_probes), None)
        if oldest is not None:
            oldest.close_for_another()
        return oldest is not None

    def release(self, address: str) -> None:
        """A connection has ended."""
        key = self._key(address)
        self._open[key] -= 1
        if self._open[key] <= 0:
            del self._open[key]
        self._update_gauge()

    @property
    def is_full(self) -> bool:
        """Is there room for health checks only?"""
        return self._open.total() > self.settings.max_connections

    def report(self, reason: str, address: str) -> None:
        """Count a refusal, and log it unless the same reason was logged a moment ago."""
        self._refused[reason] += 1
        if self.metrics is not None:
            self.metrics.refused.labels(reason).inc()
        now = self.settings.monotonic()
        logged_at, logged = self._last_logged.get(reason, (-LOG_INTERVAL_S, 0))
        if now - logged_at >= LOG_INTERVAL_S:
            self._last_logged[reason] = (now, self._refused[reason])
            content = {"reason": reason, "address": address, "count": self._refused[reason] - logged}
            log("connection refused", content, level=logging.WARNING)

    def _update_gauge(self) -> None:
        if self.metrics is not None:
            self.metrics.open.set(self._open.total())

    def _key(self, address: str) -> str:
        """What is counted together: an IPv4 address, an IPv6 /64 network, or "" for trusted proxies."""
        try:
            ip = ipaddress.ip_address(address)
        except ValueError:  # a Unix socket has no address
            return ""
        if any(ip in network for network in self._trusted):
            return ""
        if isinstance(ip, ipaddress.IPv6Address):
            if ip.ipv4_mapped is not None:
                return str(ip.ipv4_mapped)
            return str(ipaddress.ip_network((ip, 64), strict=False))
        return str(ip)


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol with the limits of `Settings` on headers, connections and waiting times."""

    def __init__(self, *args: Any, limiter: ConnectionLimiter, **options: Any) -> None:
        """One connection; `limiter` is shared by those of a process."""
        super().__init__(*args, **options)
        self._limiter = limiter
        self._settings = limiter.settings
        self._address = ""
        self._is_for_probes = False
        self._is_in_head = True
        self._head_bytes = 0
        self._bytes_without_body = 0
        """Received in trailers and chunk extensions since the last piece of a body."""
        self._cycles: list[RequestResponseCycle] = []
        """Requests without a whole response; uvicorn knows only the last one when the connection is lost."""
        self._receive_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, accept it for health checks only, or refuse it."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        reason = self._limiter.admit(self._address)
        if reason is not None:
            self._refuse(reason, "503 Service Unavailable")
            return
        self._is_for_probes = self._limiter.is_full
        if self._is_for_probes:
            self._limiter.silent_probes[self] = None
        seconds = PROBE_HEADER_SECONDS if self._is_for_probes else self._settings.header_seconds
        self._receive_timer = self._after(seconds, "slow-headers")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._limiter.silent_probes.pop(self, None)
        self._disconnect()
        self._limiter.release(self._address)
        self._stop_receive_timer()
        self._stop_send_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse in pieces, so that headers are refused as soon as they exceed their limit."""
        while data and not self.transport.is_closing():
            room = self._settings.header_bytes - (self._head_bytes if self._is_in_head else 0)
            if room <= 0:
                self._refuse("headers-too-large", "431 Request Header Fields Too Large")
                return
            piece, data = data[:room], data[room:]
            if self._is_in_head:
                self._head_bytes += len(piece)
                if self._receive_timer is None:
                    self._receive_timer = self._after(self._settings.header_seconds, "slow-headers")
            else:
                self._bytes_without_body += len(piece)
            super().data_received(piece)
            if self._bytes_without_body > self._settings.header_bytes:
                self._close("trailers-too-large")

    def on_body(self, body: bytes) -> None:
        """Receive a piece of a body."""
        self._bytes_without_body = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Wait for the body; requests other than health checks are refused on a connection kept for those."""
        self._is_in_head, self._bytes_without_body = False, 0
        self._stop_receive_timer()
        path = self.url.partition(b"?")[0].decode("latin-1")
        seconds = self._settings.import_seconds if path == IMPORT_PATH else self._settings.body_seconds
        self._receive_timer = self._after(seconds + BODY_GRACE_S, "slow-body")
        if self._is_for_probes and path not in UNLIMITED:
            self._limiter.report("too-many-connections", self._address)
            self.app = _answer_too_busy
        super().on_headers_complete()
        if self._is_for_probes:
            self._limiter.silent_probes.pop(self, None)
            self.cycle.keep_alive = False
        if self.cycle is not None:
            self._cycles = [*(cycle for cycle in self._cycles if not cycle.response_complete), self.cycle]
        if len(self.pipeline) > MAX_PIPELINED:
            self._close("too-many-pipelined")

    def on_message_complete(self) -> None:
        """Wait for the next request."""
        super().on_message_complete()
        self._is_in_head, self._head_bytes, self._bytes_without_body = True, 0, 0
        self._stop_receive_timer()

    def on_response_complete(self) -> None:
        """A response that ends the connection must be read in time as well."""
        super().on_response_complete()
        if self.transport.is_closing() and self.transport.get_write_buffer_size() > 0:
            self._start_send_timer()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, even if its last response was not read."""
        if self.transport.get_write_buffer_size() > 0:
            self._close("slow-reader")
        else:
            super().timeout_keep_alive_handler()

    def pause_writing(self) -> None:
        """The client does not read as fast as we write."""
        super().pause_writing()
        self._start_send_timer()

    def resume_writing(self) -> None:
        """The client has read enough."""
        super().resume_writing()
        self._stop_send_timer()

    def close_for_another(self) -> None:
        """Make room for another health check."""
        self._limiter.silent_probes.pop(self, None)
        self._close("too-many-connections")

    def _refuse(self, reason: str, status: str) -> None:
        self._limiter.report(reason, self._address)
        head = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n".encode()
        self.transport.write(head + _REFUSALS[status] + b"\r\n")
        self.transport.close()

    def _close(self, reason: str) -> None:
        self._limiter.report(reason, self._address)
        self._disconnect()
        self.transport.abort()

    def _disconnect(self) -> None:
        """Let no request write to a closed connection, which would be logged as a defect."""
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.message_event.set()
        self._cycles.clear()

    def _after(self, seconds: float, reason: str) -> asyncio.TimerHandle:
        return self.loop.call_later(seconds, self._close, reason)

    def _start_send_timer(self) -> None:
        self._stop_send_timer()
        self._send_timer = self._after(self._settings.send_seconds, "slow-reader")

    def _stop_send_timer(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

    def _stop_receive_timer(self) -> None:
        if self._receive_timer is not None:
            self._receive_timer.cancel()
            self._receive_timer = None


async def _answer_too_busy(_scope: Scope, _receive: Receive, send: Send) -> None:
    content = {"type": "/docs#too-busy", "title": "The service is busy", "status": 503, "code": "too-busy"}
    body = json.dumps({**content, "detail": "too many connections are open. Try again in a moment."}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"retry-after", b"1"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def raise_file_limit(needed: int) -> int | None:
    """Raise the soft limit on open files to `needed`; return the limit if it stays below, else None."""
    try:
        import resource  # noqa: PLC0415 - Unix only
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return None
    limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return None if limit >= needed else limit

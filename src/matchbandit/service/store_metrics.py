"""Metrics of the store and of connections: waits for locks, database connections in use, size, oldest open proposal."""

import logging
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import event

from matchbandit.live.errors import LeagueError
from matchbandit.live.store import Store
from matchbandit.service.logs import log

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
SHORTEST_WAIT_S = 0.001
"""Shorter waits are not counted: most locks are free."""


class StoreMetrics:
    """Watches one store for `/metrics`."""

    def __init__(self, store: Store, registry: CollectorRegistry) -> None:
        """Count from now on; the registry adds up the processes of a server."""
        self._store = store
        self._lock_waits = Histogram(
            "matchbandit_lock_wait_seconds",
            "Waits of at least 1 ms: for a league's lock in this process, or for the right to write to SQLite.",
            ("lock",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._in_use = Gauge(
            "matchbandit_store_connections_in_use",
            "Connections to the database in use.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        store.database.lock_observer = self._observe
        event.listen(store.engine, "checkout", lambda *_: self._in_use.inc())
        event.listen(store.engine, "checkin", lambda *_: self._in_use.dec())

    def _observe(self, lock: str, seconds: float) -> None:
        if seconds >= SHORTEST_WAIT_S:
            self._lock_waits.labels(lock).observe(seconds)

    def text(self) -> bytes:
        """Read what the store itself knows, in one statement; `matchbandit_store_up` is 0 if it cannot be read."""
        registry = CollectorRegistry()

        def gauge(name: str, text: str, value: float) -> None:
            Gauge(f"matchbandit_store_{name}", text, registry=registry).set(value)

        gauge(
            "connections_limit", "Connections to the database that a process may open.", self._store.database.pool_limit
        )
        try:
            size, age = self._store.usage()
        except LeagueError as error:
            log("store not measured", {"code": error.code}, level=logging.WARNING)
            gauge("up", "Whether the store could be read for these metrics.", 0)
            return generate_latest(registry)
        gauge("up", "Whether the store could be read for these metrics.", 1)
        gauge("size_bytes", "Size of the SQLite file, or of the tables and indexes in PostgreSQL.", size)
        gauge("oldest_open_proposal_seconds", "Age of the oldest open proposal of a league in use; 0: none.", age)
        return generate_latest(registry)


class ConnectionMetrics:
    """Counts refused connections by reason, for `ConnectionLimiter`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """All at 0."""
        options: dict[str, Any] = {"registry": registry}
        self.refused = Counter(
            "matchbandit_connections_refused", "Connections refused or closed early, by reason.", ("reason",), **options
        )
        self.open = Gauge("matchbandit_connections_open", "Open connections.", multiprocess_mode="livesum", **options)

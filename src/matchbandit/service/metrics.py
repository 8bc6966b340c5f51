"""Prometheus metrics of requests. No label names a league, item or token."""

import os
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable of the folder in which the processes of one server share their metrics."""
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The metrics of one app; several apps in one process have separate ones."""

    def __init__(self) -> None:
        """All at zero."""
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "matchbandit_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "matchbandit_request_seconds",
            "Time from the request's first byte to the answer's last.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "matchbandit_requests_in_flight",
            "Requests in progress or waiting.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.refused = Counter("matchbandit_refused", "Requests refused, by code.", ("code",), registry=self.registry)
        self.proposals = Counter("matchbandit_proposals", "Proposals handed out.", registry=self.registry)
        self.outcomes = Counter(
            "matchbandit_outcomes", "Outcomes recorded: new ones, and repeats.", ("which",), registry=self.registry
        )
        self.ticks = Counter("matchbandit_ticks", "Checks of the deadlines.", ("how",), registry=self.registry)
        if MULTIPROCESS_VARIABLE not in os.environ:  # summed over processes, this would be their number
            about = Gauge("matchbandit_build", "1; its label is the version.", ("version",), registry=self.registry)
            about.labels(version("matchbandit")).set(1)

    def text(self) -> bytes:
        """All metrics in the text format, summed over the processes of the server."""
        if MULTIPROCESS_VARIABLE not in os.environ:
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

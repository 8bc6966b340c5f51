"""A service over a store of its own, and clients with tokens for it."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from clocks import Clock
from starlette.testclient import TestClient

from matchbandit.live.store import Store
from matchbandit.live.warm_up import load_compiled_code
from matchbandit.service import logs, tokens
from matchbandit.service.app import create_app
from matchbandit.service.settings import Settings


class Ticks:
    """A clock for rates that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/store.db", clock=clock) as opened:
        yield opened


@pytest.fixture
def served(store: Store, ticks: Ticks) -> Iterator[Callable[..., TestClient]]:
    """Serve the store with these settings; gives a client without a token."""
    load_compiled_code()  # so that it is ready at once
    clients = []

    def serve(**settings: object) -> TestClient:
        chosen = Settings(**{"tick_seconds": 0.0, "monotonic": ticks, "dashboard": False, **settings})  # type: ignore[arg-type]
        client = TestClient(create_app(store, settings=chosen))
        client.__enter__()
        clients.append(client)
        return client

    yield serve
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def bearer(store: Store) -> Callable[..., dict[str, str]]:
    """The header of a new token."""

    def new(scope: str = "admin", *leagues: str) -> dict[str, str]:
        _, text = tokens.create(store, "test", scope=scope, leagues=leagues or None)
        return {"Authorization": f"Bearer {text}"}

    return new


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, object]]]]:
    """What the service has logged."""
    stream = io.StringIO()
    loggers = [logging.getLogger(name) for name in ("matchbandit.service", "uvicorn", "uvicorn.error")]
    before = [(logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    logs.write_to(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)

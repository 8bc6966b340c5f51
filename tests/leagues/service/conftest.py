"""The service over ASGI: requests through httpx, without a port, on an event loop of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from app_transport import AppTransport

from matchbandit.leagues import Store, tokens
from matchbandit.leagues.service import access
from matchbandit.leagues.service.app import create_app
from matchbandit.leagues.service.settings import Settings


@pytest.fixture(autouse=True)
def _quick_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals take a tenth of a second on purpose; tests need not wait for it."""
    monkeypatch.setattr(access, "_REFUSAL_SECONDS", 0.001)


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as opened:
        yield opened


@pytest.fixture
def store(sqlite_store: Store) -> Store:
    """The service does not see which database there is: tests of leagues run on both."""
    return sqlite_store


@pytest.fixture
def transport(store: Store, portal: BlockingPortal) -> Callable[..., AppTransport]:
    """Makes transports to an app over the store, with these settings."""

    def make(served: Store | None = None, **settings: Any) -> AppTransport:
        return AppTransport(create_app(served or store, Settings(**{"token_seconds": 0.0, **settings})), portal)

    return make


@pytest.fixture
def connect(store: Store, transport: Callable[..., AppTransport]) -> Iterator[Callable[..., httpx.Client]]:
    """Makes clients of one app, each with a new token of a scope for some leagues or all."""
    with ExitStack() as stack:
        shared: list[AppTransport] = []

        def make(scope: str = "admin", *slugs: str, token: str = "", **settings: Any) -> httpx.Client:
            if not shared or settings:
                shared[:] = [transport(**settings)]
            secret = token or tokens.create(store, "test", scope=scope, leagues=slugs or None)[1]
            headers = {"Authorization": f"Bearer {secret}"}
            return stack.enter_context(httpx.Client(transport=shared[0], base_url="http://here", headers=headers))

        yield make


@pytest.fixture
def api(connect: Callable[..., httpx.Client]) -> httpx.Client:
    """A client that may do everything."""
    return connect()


@pytest.fixture
def club(api: httpx.Client) -> str:
    """The path of a league of four."""
    answer = api.post("/v1/leagues", json={"slug": "club", "players": ["ann", "bob", "cem", "dee"]})
    assert answer.status_code == 201
    return "/v1/leagues/club"

"""The database is away, full, read-only or replaced: every route says 503 and when to try again, and recovers."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import postgres
import psycopg
import pytest
from app_transport import AppTransport, code_of
from sqlalchemy import event

from matchbandit.leagues import Store, tokens
from matchbandit.leagues.service import access

READS = ("/v1/leagues", "/v1/leagues/club", "/v1/leagues/club/items", "/v1/leagues/club/ranking", "/readyz", "/login")
WRITES = ("/v1/leagues/club/proposals", "/v1/leagues/club/archive", "/readyz")


@pytest.fixture(autouse=True)
def quick_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_REFUSAL_SECONDS", 0.001)
    monkeypatch.setattr("matchbandit.leagues.service.app._READY_SECONDS", 0.0)


@contextmanager
def connected(url: str, transport: Callable[..., AppTransport]) -> Iterator[httpx.Client]:
    """A service over the store at a URL, with a league, and a client that it knows."""
    with Store(url, timeout=1.0) as store:
        store.create("club", players=["ann", "bob", "cem", "dee"])
        secret = tokens.create(store, "test", scope="admin")[1]
        headers = {"Authorization": f"Bearer {secret}"}
        with httpx.Client(transport=transport(store), base_url="http://here", headers=headers) as http:
            assert up(http) == 1.0
            yield http


def up(http: httpx.Client) -> float:
    """What Prometheus sees."""
    answer = http.get("/metrics")
    assert answer.status_code == 200
    return next(float(line.split()[1]) for line in answer.text.splitlines() if line.startswith("matchbandit_store_up "))


def check_unavailable(http: httpx.Client, paths: tuple[str, ...], method: str = "GET") -> None:
    for path in paths:
        answer = http.request("GET" if path in ("/readyz", "/login") else method, path)
        if path != "/login":
            assert (path, answer.status_code) == (path, 503)
            assert code_of(answer) in ("store-unusable", "store-busy")
            assert int(answer.headers["retry-after"]) > 0
            assert "/" not in answer.json()["detail"]
        assert answer.status_code != 500


def test_postgresql_is_away_for_a_while(transport: Callable[..., AppTransport]) -> None:
    url = postgres.fresh_database()
    name = url.partition("@/")[2].partition("?")[0]
    with connected(url, transport) as http:

        def admit(allowed: bool) -> None:
            with psycopg.connect(postgres.server().url("postgres"), autocommit=True) as connection:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}")
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

        admit(False)
        check_unavailable(http, READS)
        check_unavailable(http, WRITES, "POST")
        assert up(http) == 0.0
        assert http.get("/healthz").status_code == 200
        admit(True)
        assert up(http) == 1.0
        assert http.post("/v1/leagues/club/proposals").json()["number"] == 1


def test_a_token_that_is_not_known_opens_no_metrics_during_an_outage(
    tmp_path: Path, transport: Callable[..., AppTransport]
) -> None:
    with connected(f"sqlite:///{tmp_path}/a.db", transport) as http:
        replace(tmp_path / "a.db")
        assert up(http) == 0.0
        stranger = {"Authorization": f"Bearer mbt_{0:012x}_{0:064x}"}
        assert http.get("/metrics", headers=stranger).status_code in (401, 503)


def damage(path: Path) -> None:
    path.write_bytes(b"this is no database " * 1000)


def replace(path: Path) -> None:
    other = path.with_suffix(".other")
    Store(f"sqlite:///{other}").close()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    other.replace(path)


@pytest.mark.parametrize("spoil", [damage, replace], ids=["damaged", "replaced"])
def test_the_file_is_damaged_or_replaced(spoil: Any, tmp_path: Path, transport: Callable[..., AppTransport]) -> None:
    file = tmp_path / "a.db"
    with connected(f"sqlite:///{file}", transport) as http:
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        spoil(file)
        for suffix in ("-wal", "-shm"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
        check_unavailable(http, WRITES, "POST")
        assert up(http) == 0.0


def test_the_disk_is_full(tmp_path: Path, transport: Callable[..., AppTransport]) -> None:
    with connected(f"sqlite:///{tmp_path}/a.db", transport) as http:
        store = http._transport.app.state.store  # type: ignore[attr-defined]
        limit = {"pages": 0}

        def restrict(connection: Any, *_: object) -> None:
            pages = connection.execute("PRAGMA page_count").fetchone()[0] if limit["pages"] else 2**30
            connection.execute(f"PRAGMA max_page_count = {pages}")

        event.listen(store.database.engine, "checkout", restrict)
        limit["pages"] = 1
        names = [f"{'n' * 100}{k}" for k in range(1000)]
        answer = http.post("/v1/leagues/club/items", json={"names": names})
        assert (answer.status_code, code_of(answer)) == (503, "store-unusable")
        assert http.get("/v1/leagues/club").json()["items"] == 4
        limit["pages"] = 0
        assert http.post("/v1/leagues/club/items", json={"names": names}).status_code == 201


def test_the_store_is_read_only(tmp_path: Path, transport: Callable[..., AppTransport]) -> None:
    with connected(f"sqlite:///{tmp_path}/a.db", transport) as http:
        store = http._transport.app.state.store  # type: ignore[attr-defined]

        def forbid(connection: Any, *_: object) -> None:
            connection.execute("PRAGMA query_only = 1")

        event.listen(store.database.engine, "checkout", forbid)
        check_unavailable(http, WRITES, "POST")
        assert http.get("/v1/leagues/club").status_code == 200


def test_another_process_holds_the_writer(tmp_path: Path, transport: Callable[..., AppTransport]) -> None:
    with connected(f"sqlite:///{tmp_path}/a.db", transport) as http:
        connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        answer = http.post("/v1/leagues/club/proposals")
        assert (answer.status_code, code_of(answer)) == (503, "store-busy")
        assert http.get("/v1/leagues/club").status_code == 200
        connection.close()
        assert http.post("/v1/leagues/club/proposals").status_code == 201

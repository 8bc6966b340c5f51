"""The database is away, full, read-only or replaced: every route says 503 and when to try again, and recovers."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import postgres
import psycopg
import pytest
from app_transport import code_of
from sqlalchemy import event

from matchbandit.leagues import Store, tokens

CLUB = "/v1/leagues/club"
READS = ("/v1/leagues", CLUB, f"{CLUB}/items", f"{CLUB}/ranking", f"{CLUB}/export", f"{CLUB}/why", "/readyz", "/login")
WRITES = (f"{CLUB}/proposals", f"{CLUB}/archive", "/readyz")


@pytest.fixture(autouse=True)
def quick_refusals(monkeypatch):
    monkeypatch.setattr("matchbandit.leagues.service.app._READY_SECONDS", 0.0)


@pytest.fixture
def connected(transport):
    """Makes services over the store at a URL, with a league, and clients that they know."""

    @contextmanager
    def connect(url: str) -> Iterator[httpx.Client]:
        with Store(url, timeout=0.2) as store:
            store.create("club", players=["ann", "bob", "cem", "dee"])
            headers = {"Authorization": f"Bearer {tokens.create(store, 'test', scope='admin')[1]}"}
            with httpx.Client(transport=transport(store), base_url="http://here", headers=headers) as http:
                assert up(http) == 1.0
                yield http

    return connect


def up(http: httpx.Client) -> float:
    """What Prometheus sees."""
    answer = http.get("/metrics")
    assert answer.status_code == 200
    return next(float(line.split()[1]) for line in answer.text.splitlines() if line.startswith("matchbandit_store_up "))


def check_unavailable(http: httpx.Client, paths: tuple[str, ...], method: str = "GET") -> None:
    for path in paths:
        answer = http.request("GET" if path in ("/readyz", "/login") else method, path)
        assert answer.status_code != 500
        if path != "/login":
            assert (path, answer.status_code) == (path, 503)
            assert code_of(answer) in ("store-unusable", "store-busy")
            assert int(answer.headers["retry-after"]) > 0
            assert "/" not in answer.json()["detail"]


def test_postgresql_is_away_for_a_while(connected, postgresql_url):
    name = postgresql_url.partition("@/")[2].partition("?")[0]
    with connected(postgresql_url) as http:

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
        assert http.post(f"{CLUB}/proposals").json()["number"] == 1


def damage(path: Path) -> None:
    path.write_bytes(b"this is no database " * 1000)


def replace(path: Path) -> None:
    other = path.with_suffix(".other")
    Store(f"sqlite:///{other}").close()
    other.replace(path)


@pytest.mark.parametrize("spoil", [damage, replace], ids=["damaged", "replaced"])
def test_the_file_is_damaged_or_replaced(spoil, sqlite_url, tmp_path, connected):
    with connected(sqlite_url) as http:
        with sqlite3.connect(tmp_path / "store.db") as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        spoil(tmp_path / "store.db")
        for suffix in ("-wal", "-shm"):
            (tmp_path / f"store.db{suffix}").unlink(missing_ok=True)
        check_unavailable(http, WRITES, "POST")
        assert up(http) == 0.0
        stranger = {"Authorization": f"Bearer mbt_{0:012x}_{0:064x}"}
        assert http.get("/metrics", headers=stranger).status_code in (401, 503)


def test_the_disk_is_full_or_the_store_read_only(sqlite_url, connected):
    limits = {"max_page_count": 2**30, "query_only": 0}

    def restrict(connection: Any, *_: object) -> None:
        for name, value in limits.items():
            connection.execute(f"PRAGMA {name} = {value}")

    with connected(sqlite_url) as http:
        event.listen(http._transport.app.state.store.database.engine, "checkout", restrict)
        limits["max_page_count"] = 1  # SQLite takes as many as there are
        names = [f"{'n' * 100}{k}" for k in range(1000)]
        answer = http.post(f"{CLUB}/items", json={"names": names})
        assert (answer.status_code, code_of(answer)) == (503, "store-unusable")
        assert http.get(CLUB).json()["items"] == 4
        limits.update(max_page_count=2**30, query_only=1)
        check_unavailable(http, WRITES, "POST")
        assert http.get(CLUB).status_code == 200
        limits["query_only"] = 0
        assert http.post(f"{CLUB}/items", json={"names": names}).status_code == 201


def test_another_process_holds_the_writer(sqlite_url, tmp_path, connected):
    with connected(sqlite_url) as http:
        connection = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        answer = http.post(f"{CLUB}/proposals")
        assert (answer.status_code, code_of(answer)) == (503, "store-busy")
        assert http.get(CLUB).status_code == 200
        connection.close()
        assert http.post(f"{CLUB}/proposals").status_code == 201

"""Databases that are away, full, read-only or replaced: requests fail with 503 and are repeated, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import postgres
import pytest
from league_load import PLAYERS, SLUG, Load, check
from league_server import Server, new_token

from matchbandit.leagues import Store


@pytest.fixture
def own_postgres() -> Iterator[postgres.Server]:
    """A PostgreSQL that the test may stop."""
    postgres.server()  # skips the test if there is none
    server = postgres.Server()
    yield server
    server.stop()


def get(server: Server, path: str, token: str) -> httpx.Response:
    return httpx.get(f"{server.address}{path}", headers={"Authorization": f"Bearer {token}"}, timeout=60)


def restart_under_load(database: postgres.Server, folder: Path, *, restarts: int, answers: int) -> None:
    url = database.url("postgres")
    with Store(url) as store:
        store.create(SLUG, players=PLAYERS, seed=3)
    token = new_token(url)
    with Server(url, folder) as server:
        load = Load([server.address], token)
        for _ in range(restarts):
            load.wait_for(answers)
            assert "matchbandit_store_up 1.0" in get(server, "/metrics", token).text
            database.crash()
            before = load.n_unavailable
            load.wait_until(lambda: load.n_unavailable >= before + 10)  # noqa: B023
            metrics = get(server, "/metrics", token)
            assert metrics.status_code == 200
            assert "matchbandit_store_up 0.0" in metrics.text
            assert get(server, "/healthz", token).status_code == 200
            assert get(server, "/readyz", token).status_code == 503
            for path in ("", "/ranking", "/items", "/history", "/export", "/why"):
                answer = get(server, f"/v1/leagues/{SLUG}{path}", token)
                assert (answer.status_code, answer.json()["code"]) == (503, "store-unusable"), path
                assert int(answer.headers["Retry-After"]) > 0
            database.start()
        load.wait_for(answers)
        load.stop()
        server.wait_until_ready()
        assert "matchbandit_store_up 1.0" in get(server, "/metrics", token).text
        check(url, load)
        assert " 500," not in server.log.read_text()


def test_restart_of_postgresql_under_load_loses_nothing(own_postgres: postgres.Server, tmp_path: Path):
    restart_under_load(own_postgres, tmp_path, restarts=2, answers=100)


@pytest.mark.slow
def test_many_restarts_of_postgresql_under_load_lose_nothing(own_postgres: postgres.Server, tmp_path: Path):
    restart_under_load(own_postgres, tmp_path, restarts=10, answers=500)

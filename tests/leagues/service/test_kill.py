"""Servers under load that are killed, whose database goes away, or whose disk is full: nothing is lost or doubled."""

import random
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import postgres
import pytest
from league_load import PLAYERS, SLUG, Load, check
from league_server import PATIENCE, Server, new_token, wait_until

from matchbandit.leagues import Store


class Site:
    """Servers of one store, and clients that play a league at them."""

    def __init__(self, servers: list[Server], token: str) -> None:
        self.servers, self._headers = servers, {"Authorization": f"Bearer {token}"}
        self.load = Load([server.address for server in servers], token)

    def get(self, path: str, server: int = 0) -> httpx.Response:
        return httpx.get(f"{self.servers[server].address}{path}", headers=self._headers, timeout=PATIENCE)

    def wait_for_refusals(self) -> None:
        before = self.load.n_unavailable
        self.load.wait_until(lambda: self.load.n_unavailable >= before + 10)


@contextmanager
def playing(url: str, folder: Path, servers: int = 1) -> Iterator[Site]:
    """A site under load; afterwards the store has what was acknowledged, and every server shows the same."""
    with Store(url) as store:
        store.create(SLUG, players=PLAYERS, seed=3)
    token = new_token(url)
    with ExitStack() as stack:
        site = Site([stack.enter_context(Server(url, folder)) for _ in range(servers)], token)
        yield site
        site.load.wait_for(20)
        site.load.stop()
        check(url, site.load)
        for path in ("", "/ranking", "/results", "/proposals?limit=1000"):
            answers = [site.get(f"/v1/leagues/{SLUG}{path}", k) for k in range(servers)]
            assert [answer.status_code for answer in answers] == [200] * servers
            assert len({answer.text for answer in answers}) == 1
        assert all('"status": 500' not in server.log.read_text() for server in site.servers)


def kill(url: str, folder: Path, *, servers: int, kills: int, outcomes: int = 0) -> None:
    """Kill servers in turn until so many outcomes are acknowledged, at least so many times."""
    rng = random.Random(kills)
    with playing(url, folder, servers) as site:
        done = 0
        while done < kills or (len(site.load.tells) < outcomes and not site.load.errors):
            site.load.wait_for(rng.randint(20, 40 + outcomes // (2 * kills)))
            repeated = site.load.n_repeated
            site.servers[done % servers].kill()
            site.load.wait_until(lambda: site.load.n_repeated > repeated)  # noqa: B023
            site.servers[done % servers].start()
            done += 1


def test_a_kill_loses_nothing(sqlite_url, tmp_path):
    kill(sqlite_url, tmp_path, servers=2, kills=1)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
def test_many_kills_lose_nothing(store_url, servers, tmp_path):
    kill(store_url, tmp_path, servers=servers, kills=12, outcomes=5000)


@pytest.mark.slow
def test_restarts_of_postgresql_lose_nothing(postgresql_url, tmp_path):
    database = postgres.server()
    with playing(postgresql_url, tmp_path) as site:
        for _ in range(10):
            site.load.wait_for(500)
            assert "matchbandit_store_up 1.0" in site.get("/metrics").text
            database.crash()
            try:
                site.wait_for_refusals()
                assert "matchbandit_store_up 0.0" in site.get("/metrics").text
                assert site.get("/healthz").status_code == 200
                wait_until(lambda: site.get("/readyz").status_code == 503)
            finally:
                database.start()
            site.servers[0].wait_until_ready()


@pytest.mark.slow
def test_a_full_disk_loses_nothing(sqlite_url, tmp_path):
    with playing(sqlite_url, tmp_path) as site:
        for _ in range(2):
            site.load.wait_for(60)
            limit: Any = (site.servers[0].process.pid, resource.RLIMIT_FSIZE)  # a full disk for one process
            resource.prlimit(*limit, (4096, resource.RLIM_INFINITY))
            site.wait_for_refusals()
            for path in ("", "/ranking", "/proposals", "/history"):
                assert site.get(f"/v1/leagues/{SLUG}{path}").status_code == 200, path
            resource.prlimit(*limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

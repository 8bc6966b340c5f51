"""Servers and databases that are killed again and again under load, and full disks: nothing is lost or doubled."""

import random
import resource
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import postgres
import pytest
from league_load import PLAYERS, SLUG, Load, check
from league_server import Server, new_token, wait_until

from matchbandit.leagues import Store


def kill_under_load(url: str, folder: Path, *, servers: int, kills: int, outcomes: int) -> None:
    """Kill servers in turn until so many outcomes are acknowledged, at least so many times."""
    with Store(url) as store:
        store.create(SLUG, players=PLAYERS, seed=3)
    token, rng = new_token(url, "play"), random.Random(kills)
    with ExitStack() as stack:
        running = [stack.enter_context(Server(url, folder)) for _ in range(servers)]
        load = Load([server.address for server in running], token)
        done = 0
        while done < kills or (len(load.tells) < outcomes and not load.errors):
            load.wait_for(rng.randint(20, 40 + outcomes // (2 * kills)))
            running[done % servers].kill()
            running[done % servers].start()
            done += 1
        load.wait_for(20)
        load.stop()
        assert load.n_repeated > 0
        check(url, load)
        headers = {"Authorization": f"Bearer {token}"}
        for path in ("", "/ranking", "/results", "/proposals?limit=1000"):
            answers = [httpx.get(f"{s.address}/v1/leagues/{SLUG}{path}", headers=headers) for s in running]
            assert [answer.status_code for answer in answers] == [200] * servers
            assert len({answer.text for answer in answers}) == 1


def test_two_kills_lose_nothing(store_url: str, tmp_path: Path):
    kill_under_load(store_url, tmp_path, servers=1, kills=2, outcomes=200)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
def test_many_kills_lose_nothing(store_url: str, servers: int, tmp_path: Path):
    kill_under_load(store_url, tmp_path, servers=servers, kills=12, outcomes=5000)


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
            wait_until(lambda: get(server, "/readyz", token).status_code == 503)
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
        assert '"status": 500' not in server.log.read_text()


def test_restart_of_postgresql_under_load_loses_nothing(own_postgres: postgres.Server, tmp_path: Path):
    restart_under_load(own_postgres, tmp_path, restarts=2, answers=100)


@pytest.mark.slow
def test_many_restarts_of_postgresql_under_load_lose_nothing(own_postgres: postgres.Server, tmp_path: Path):
    restart_under_load(own_postgres, tmp_path, restarts=10, answers=500)


class Limit:
    """A limit to the size of files that a server writes: a full disk for one process, whatever the disk."""

    def __init__(self, server: Server) -> None:
        self._pid = server.process.pid

    def fill(self) -> None:
        resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

    def free(self) -> None:
        resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class SmallDisk:
    """A disk that a file can fill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("this user may not mount a disk")

    def fill(self) -> None:
        with suppress(OSError), (self.folder / "ballast").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(512))

    def free(self) -> None:
        (self.folder / "ballast").unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    yield SmallDisk(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_under_load(url: str, folder: Path, disk: SmallDisk | None = None) -> None:
    with Store(url) as store:
        store.create(SLUG, players=PLAYERS, seed=3)
    token = new_token(url)
    with Server(url, folder) as server:
        full = disk or Limit(server)
        load = Load([server.address], token)
        for _ in range(2):
            load.wait_for(60)
            full.fill()
            before = load.n_unavailable
            load.wait_until(lambda: load.n_unavailable >= before + 10)  # noqa: B023
            for path in ("", "/ranking", "/proposals", "/history"):
                assert get(server, f"/v1/leagues/{SLUG}{path}", token).status_code == 200, path
            full.free()
        load.wait_for(60)
        load.stop()
        check(url, load)


def test_limit_of_file_sizes_under_load_loses_nothing(sqlite_url: str, tmp_path: Path):
    fill_under_load(sqlite_url, tmp_path)


@pytest.mark.slow
def test_full_disk_under_load_loses_nothing(small_disk: SmallDisk, tmp_path: Path):
    fill_under_load(f"sqlite:///{small_disk.folder}/store.db", tmp_path, small_disk)

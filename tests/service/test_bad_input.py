"""Bad input, at a real server and at the command line: one clear answer, nothing half-written, the server alive."""

import json
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import postgres
import pytest
from clocks import Clock
from forked import Server
from sqlalchemy import event, text
from starlette.testclient import TestClient

from matchbandit.cli import main
from matchbandit.live import LeagueError
from matchbandit.live.records import VOID
from matchbandit.live.store import Store
from matchbandit.service import tokens
from matchbandit.service.app import create_app
from matchbandit.service.settings import Settings

GIGABYTE = 10**9


class Service:
    """A server with a league of four, and one proposal of it that waits."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "store.db"
        self.url = f"sqlite:///{self.file}"
        clock = Clock()
        with Store(self.url) as store, Store(self.url, clock=clock) as of_the_past:
            league = store.create("club", players=["ann", "bob", "cem", "dee"], seed=1, no_rematch=1)
            league.exclude([("ann", "dee")])
            self.pairs = league.ask().pairs
            _, self.admin = tokens.create(store, "admin", scope="admin")
            clock.forward(days=-9)
            _, self.expired = tokens.create(of_the_past, "expired", lifetime=timedelta(days=1))
            revoked, self.revoked = tokens.create(store, "revoked")
            tokens.revoke(store, revoked.id)
        self.server = Server(self.url, folder)
        self.http = httpx.Client(base_url=self.server.address, timeout=60)

    def digest(self) -> str:
        with Store(self.url) as store:
            return store.open("club").digest()

    def refused(self, path: str, body: Any = None, *, token: str | None = None, **more: Any) -> dict[str, Any]:
        """The one answer to a bad request. Nothing was written, and the same server goes on."""
        before = self.digest()
        if body is not None:
            more["content"] = body if isinstance(body, bytes | Iterator) else json.dumps(body)
        headers = {"Authorization": f"Bearer {token or self.admin}", "Content-Type": "application/json"}
        answer = self.http.post(f"/v1/leagues/club{path}", headers=headers, **more)
        told = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.status_code == told["status"] >= 400
        assert told["detail"] and "\n" not in told["detail"] and len(told["detail"]) < 500  # noqa: PT018
        assert "Traceback" not in answer.text
        assert self.digest() == before
        assert self.server.process.is_alive()
        assert self.http.get("/readyz").is_success
        return told


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("service"))
    with made.server, made.http:
        yield made


def outcomes(*rows: tuple[str, str, Any]) -> dict[str, Any]:
    return {"outcomes": [{"pair": [one, two], "reward": reward} for one, two, reward in rows]}


@pytest.mark.slow
def test_an_unknown_name(service):
    told = service.refused("/proposals", {"available": ["ann", "bbo"]})
    assert told["code"] == "unknown-item"
    assert "did you mean 'bob'" in told["detail"]
    told = service.refused("/proposals/1/outcomes", outcomes(("ann", "bbo", 1)))
    assert "did you mean 'bob'" in told["detail"]


def test_a_result_for_a_pair_that_was_not_proposed(service):
    (one, two), (three, _) = service.pairs
    told = service.refused("/proposals/1/outcomes", outcomes((one, two, 1), (one, three, 1)))
    assert told["code"] == "not-proposed"
    assert one in told["detail"] and three in told["detail"]  # noqa: PT018


@pytest.mark.parametrize("reward", [1.5, -1, 1e308, 10**400, "1", None, [1]])
@pytest.mark.sampled(1)
def test_a_reward_outside_the_distribution(service, reward):
    one, two = service.pairs[0]
    told = service.refused("/proposals/1/outcomes", outcomes((one, two, reward)))
    assert told["code"] in ("reward-outside", "bad-request", "bad-json")


@pytest.mark.parametrize("reward", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_reward_that_is_no_number(service, reward):
    one, two = service.pairs[0]
    body = f'{{"outcomes": [{{"pair": ["{one}", "{two}"], "reward": {reward}}}]}}'.encode()
    assert service.refused("/proposals/1/outcomes", body)["code"] in ("bad-json", "bad-request", "reward-outside")


def test_an_infeasible_day(service):
    told = service.refused("/proposals", {"available": ["ann", "dee"]})
    assert told["code"] == "infeasible"
    assert "exclu" in told["detail"]
    told = service.refused("/proposals", {"available": list(service.pairs[0])})
    assert told["code"] == "infeasible"
    assert "rematch" in told["detail"]
    assert service.refused("/proposals", {"available": ["ann"]})["code"] == "infeasible"
    assert service.refused("/proposals", {"available": []})["code"] == "infeasible"


def test_a_wrong_or_ended_token(service):
    for token, code in (
        ("mbt_x_y", "wrong-token"),
        (service.admin[:-1] + ("a" if service.admin[-1] != "a" else "b"), "wrong-token"),
        ("x" * 5000, "wrong-token"),
        (service.expired, "ended-token"),
        (service.revoked, "ended-token"),
    ):
        told = service.refused("/proposals", {}, token=token)
        assert (told["status"], told["code"]) == (401, code)
        assert token not in json.dumps(told)


def test_a_body_of_a_gigabyte_that_is_announced(service):
    """It is refused before a byte of it is read."""
    with socket.create_connection(("127.0.0.1", service.server.port), timeout=60) as wire:
        wire.sendall(
            b"POST /v1/leagues/club/items HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer "
            + service.admin.encode()
            + f"\r\nContent-Type: application/json\r\nContent-Length: {GIGABYTE}\r\n\r\n".encode()
        )
        assert wire.recv(4096).startswith(b"HTTP/1.1 413")
    assert service.http.get("/readyz").is_success


def test_a_body_of_a_gigabyte_that_comes_in_parts(service):
    """It is not kept: the server needs no more memory than before."""
    sent = 0

    def parts() -> Iterator[bytes]:
        nonlocal sent
        part = b"x" * 2**16
        while sent < GIGABYTE:
            sent += len(part)
            yield part

    before = memory(service.server.process.pid)
    try:
        told = service.refused("/items", parts())
    except httpx.TransportError:  # it was cut off while it was speaking
        told = {"code": "body-too-large"}
    assert told["code"] == "body-too-large"
    assert memory(service.server.process.pid) < before + 50 * 2**20
    assert service.server.process.is_alive()
    assert service.http.get("/readyz").is_success


def memory(process: int | None) -> int:
    """Bytes; 0 where the system does not say."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def test_a_hundred_thousand_names_at_once(service, tmp_path):
    short = json.dumps({"names": [f"{k:x}" for k in range(100_000)]}, separators=(",", ":"))
    assert len(short) < 2**20
    assert service.refused("/items", short.encode())["code"] == "bad-request"
    assert service.refused("/items", {"names": [f"player {k}" for k in range(100_000)]})["code"] == "body-too-large"
    with Store(f"sqlite:///{tmp_path}/store.db") as store:
        with pytest.raises(LeagueError, match="10000"):
            store.create("many", players=[f"player {k}" for k in range(100_000)])
        assert store.leagues() == []


@pytest.mark.parametrize(
    "body",
    [b"", b"\x00", b"{", b"[]", b"null", b'{"outcomes": 1}', b"\xff\xfe", b"[" * 100_000, b'{"outcomes":' * 9999],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_request(service, body):
    assert service.refused("/proposals/1/outcomes", body)["status"] in (400, 415, 422)


# What happens to a store below a service ------------------------------------------------------------------------------


@pytest.fixture
def post(served: Callable[..., Any], bearer: Callable[..., dict[str, str]]) -> Callable[..., Any]:
    client, headers = served(), bearer()
    return lambda path, body=None: client.post(f"/v1{path}", json=body or {}, headers=headers)


def test_a_locked_store(bearer, store):
    """The answer comes once lock_timeout is at its end; reading goes on, and so does all else afterwards."""
    headers = bearer()
    club = store.create("club", players=["ann", "bob"])
    before = club.digest()
    with (
        Store(store.where, lock_timeout=0.2) as impatient,
        TestClient(create_app(impatient, settings=Settings(tick_seconds=0.0))) as client,
    ):
        with store.writing():
            refused = client.post("/v1/leagues/club/proposals", headers=headers)
            assert client.get("/v1/leagues/club", headers=headers).is_success
        assert (refused.status_code, refused.json()["code"]) == (503, "store-busy")
        assert int(refused.headers["retry-after"]) >= 1
        assert club.digest() == before
        assert client.post("/v1/leagues/club/proposals", headers=headers).json()["number"] == 1


def test_a_full_disk(store, post):
    league = store.create("club", players=["ann", "bob", "cem", "dee"])
    before = league.digest()
    with store.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    store.engine.dispose()  # connections that are opened from now on find no room
    limit = [pages + 3]

    @event.listens_for(store.engine, "connect")
    def small(connection: Any, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={limit[0]}")

    numbers = []
    while True:
        answer = post("/leagues/club/proposals")
        if not answer.is_success:
            break
        numbers.append(answer.json()["number"])
        before = league.digest()
        assert len(numbers) < 1000
    assert (answer.status_code, answer.json()["code"]) == (503, "store-unusable")
    assert league.digest() == before
    assert [proposal.number for proposal in league.proposals()] == numbers
    limit[0] = 2**30
    store.engine.dispose()
    assert post("/leagues/club/proposals").json()["number"] == len(numbers) + 1
    assert league.verify().ok


def test_a_postgresql_that_can_only_be_read_and_then_again_be_written(served, bearer):
    url = postgres.fresh_database()
    with Store(url) as store:
        league = store.create("club", players=["ann", "bob"])
        league.ask()
        before = league.digest()
        name = url.partition("@/")[2].partition("?")[0]

        def read_only(on: str) -> None:
            with store.writing() as connection:
                connection.execute(text("SET TRANSACTION READ WRITE"))
                connection.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = {on}"))
            store.engine.dispose()

        read_only("on")
        with pytest.raises(LeagueError, match="is read-only") as caught:
            league.tell(1, {("ann", "bob"): 1})
        assert caught.value.code == "store-unusable"
        assert league.digest() == before
        assert league.proposal(1).open  # reading goes on
        read_only("off")
        assert league.tell(1, {("ann", "bob"): VOID}).booked == 1


# At the command line --------------------------------------------------------------------------------------------------


def newer(file: Path) -> None:
    execute(file, "UPDATE mb_store SET version = version + 1")


def incomplete(file: Path) -> None:
    execute(file, "DROP TABLE mb_snapshots")


def damaged(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[100:5000] = b"\x5a" * 4900
    file.write_bytes(content)


def other(file: Path) -> None:
    file.write_text("a shopping list")


def gone(file: Path) -> None:
    file.unlink()
    file.mkdir()


def execute(file: Path, statement: str) -> None:
    wire = sqlite3.connect(file)
    with wire:
        wire.execute(statement)
    wire.close()


@pytest.mark.parametrize("harm", [newer, incomplete, damaged, other, gone])
@pytest.mark.parametrize("verb", ["league list", "league ask club", "serve --port 0", "token new --label x"])
@pytest.mark.sampled(5)
def test_a_store_that_cannot_be_used(harm, verb, tmp_path, monkeypatch, capsys):
    file = tmp_path / "store.db"
    with Store(f"sqlite:///{file}") as store:
        store.create("club", players=["ann", "bob"])
    harm(file)
    before = file.read_bytes() if file.is_file() else b""
    monkeypatch.setenv("MATCHBANDIT_STORE", f"sqlite:///{file}")
    monkeypatch.setattr(sys, "argv", ["matchbandit", *verb.split()])
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr()
    assert end.value.code == 2
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert str(file) in told.err
    assert file.is_dir() or file.read_bytes() == before

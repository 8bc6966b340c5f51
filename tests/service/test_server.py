"""The server as a process: it starts, answers, refuses what is too large, and ends well."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from serving import PATIENCE, Serving

from matchbandit.errors import MatchbanditError
from matchbandit.live.store import Store
from matchbandit.service import logs, tokens
from matchbandit.service import server as server_module
from matchbandit.service.server import Server, _is_loopback


@contextmanager
def serving(folder):
    """A store with a league and a token, a server on it, and a client with the token."""
    url = f"sqlite:///{folder}/store.db"
    with Store(url) as store:
        store.create("club", players=["ann", "bob", "cem", "dee"])
        _, text = tokens.create(store, "test", scope="admin")
    with Serving(url) as server:
        headers = {"Authorization": f"Bearer {text}"}
        with httpx.Client(base_url=server.address, headers=headers, timeout=PATIENCE) as http:
            yield server, http


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """One for the tests here that leave it running."""
    with serving(tmp_path_factory.mktemp("serve")) as server_and_client:
        yield server_and_client


def test_it_serves_a_league(kept):
    server, http = kept
    assert server.address.startswith("http://127.0.0.1:")
    events = [line["event"] for line in server.lines()]
    assert events.index("Application startup complete.") < events.index("listening")
    today = http.post("/v1/leagues/club/proposals", json={}).json()
    outcomes = [{"pair": pair["ids"], "reward": 1} for pair in today["pairs"]]
    answer = http.post(f"/v1/leagues/club/proposals/{today['number']}/outcomes", json={"outcomes": outcomes})
    assert answer.json()["booked"] == 2
    assert "server" not in answer.headers
    assert http.get("/").status_code in (200, 303)


def send_slowly(url, head, piece, pieces):
    """Send a request piece by piece until an answer comes; gives the answer and how many bytes were sent."""
    host, port = url.removeprefix("http://").split(":")
    sent = 0
    with socket.create_connection((host, int(port)), timeout=60) as wire:
        wire.sendall(head)
        try:
            for _ in range(pieces):
                wire.sendall(piece)
                sent += len(piece)
                wire.setblocking(False)
                try:
                    if wire.recv(1, socket.MSG_PEEK):
                        break
                except BlockingIOError:
                    pass
                finally:
                    wire.settimeout(60)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = b""
        while b"}" not in answer:
            part = wire.recv(65536)
            if not part:
                break
            answer += part
    return answer, sent


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.sampled(1)
def test_a_gigabyte_is_refused_after_a_megabyte_and_the_process_lives(kept, chunked):
    server, http = kept
    token = http.headers["Authorization"]
    head = f"POST /v1/leagues HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: {token}\r\n"
    head += "Transfer-Encoding: chunked\r\n\r\n" if chunked else f"Content-Length: {10**9}\r\n\r\n"
    part = b" " * 2**16
    piece = b"%x\r\n%s\r\n" % (len(part), part) if chunked else part
    answer, sent = send_slowly(server.address, head.encode(), piece, 10**9 // len(part))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code": "body-too-large"' in answer
    assert sent < 10**8
    assert http.get("/v1/leagues").json()["leagues"] == ["club"]


def test_what_is_being_answered_is_answered_before_it_ends(tmp_path):
    with serving(tmp_path) as (server, http):
        token = http.headers["Authorization"]
        host, port = server.address.removeprefix("http://").split(":")
        body = b'{"available": ["ann", "bob"]}'
        head = f"POST /v1/leagues/club/proposals HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=60) as wire:
            wire.sendall(head.encode() + body[:5])
            server.until(lambda: "matchbandit_requests_in_flight 2.0" in http.get("/metrics").text)
            http.close()
            ends = []
            ending = threading.Thread(target=lambda: ends.append(server.stop()))
            ending.start()
            server.until(lambda: any(line["event"] == "Shutting down" for line in server.lines()))
            wire.sendall(body[5:])  # the request ends only now
            answer = wire.recv(65536)
            ending.join()
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert ends == [0]
        assert server.lines()[-1]["event"] == "stopped"


@pytest.mark.parametrize(
    ("host", "so"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("192.168.1.7", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_what_is_this_machine_alone(host, so):
    assert _is_loopback(host) is so


@pytest.fixture
def no_server(monkeypatch):
    """Nothing is served here: whoever gets that far has not been refused."""

    def run(*_args, **_options):
        raise AssertionError("it listens")

    monkeypatch.setattr(uvicorn.Server, "run", run)


def test_it_does_not_listen_beyond_this_machine_without_a_token(tmp_path, no_server):
    url = f"sqlite:///{tmp_path}/store.db"
    with pytest.raises(MatchbanditError, match="no token yet"):
        Server(url, host="0.0.0.0", port=0).run()
    with Store(url) as store:
        token, _ = tokens.create(store, "ended")
        tokens.revoke(store, token.id)
    with pytest.raises(MatchbanditError, match="matchbandit token new"):
        Server(url, host="::", port=0).run()


def test_mistakes_are_told_in_one_line(tmp_path, no_server):
    url = f"sqlite:///{tmp_path}/store.db"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(MatchbanditError, match=f"cannot listen on 127.0.0.1 port {port}: address already in use"):
            Server(url, port=port).run()
    with Store(url) as store:
        tokens.create(store, "test")
    for options, words in [
        ({"port": 70_000}, "port must be"),
        ({"workers": 0}, "workers must be"),
        ({"log_level": "loud"}, "log_level must be one of"),
        ({"trusted_proxies": ("10.0.0.1/8",)}, "Use 10.0.0.0/8"),
        ({"trusted_proxies": ("example.org",)}, "trusted_proxies takes addresses"),
        ({"host": "no host"}, "--host"),
        ({"host": "192.0.2.1"}, "cannot listen"),
        ({"store": f"sqlite:///{tmp_path}/no/folder.db"}, "no folder"),
        ({"store": "mysql://x"}, "SQLite or PostgreSQL"),
    ]:
        with pytest.raises(MatchbanditError, match=words):
            Server(**{"store": url, **options}).run()


def test_a_public_address_without_a_proxy_is_warned_about(tmp_path, lines, monkeypatch):
    monkeypatch.setattr(logs, "write_to", lambda **_: None)
    url = f"sqlite:///{tmp_path}/store.db"
    for host, proxies, warned in [("0.0.0.0", (), True), ("::", (), True), ("0.0.0.0", ("10.0.0.0/8",), False),
                                  ("127.0.0.1", (), False)]:  # fmt: skip
        before = len(lines())
        Server(url, host=host, trusted_proxies=proxies)._warn_of_exposure()
        assert [line["event"] for line in lines()[before:]] == (["public without proxy"] if warned else [])


def test_a_store_that_others_can_read_is_warned_about(tmp_path, lines):
    server = Server(f"sqlite:///{tmp_path}/store.db")
    server._check_store()
    assert lines() == []
    (tmp_path / "store.db").chmod(0o640)
    server._check_store()
    assert [line["event"] for line in lines()] == ["store readable by others"]


def test_metrics_folders_of_dead_servers_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(server_module.tempfile, "gettempdir", lambda: str(tmp_path))
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    alive = os.getpid()
    contents = {  # folder, and the files in it
        f"matchbandit-metrics-{dead.pid}-x1": [],
        f"matchbandit-metrics-{dead.pid}-x2": [f"counter_{dead.pid}.db", f"gauge_livesum_{dead.pid}.db"],
        "matchbandit-metrics-abc": [f"counter_{dead.pid}.db"],
        f"matchbandit-metrics-{dead.pid}-x3": [f"counter_{alive}.db"],
        f"matchbandit-metrics-{alive}-x4": [],
        "matchbandit-metrics-def": [],
        "other-1": [],
    }
    for folder, files in contents.items():
        (tmp_path / folder).mkdir()
        for file in files:
            (tmp_path / folder / file).touch()
    server_module._remove_stale_metrics()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*contents][3:])


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_refused(address):
    try:
        httpx.get(f"{address}/healthz", timeout=PATIENCE)
    except httpx.ConnectError:
        return True
    except httpx.TransportError:  # it is ending at this moment
        return False
    return False


@pytest.mark.slow
def test_workers_end_with_a_parent_that_was_killed_and_listening_is_logged_once_all_accept(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    url = f"sqlite:///{tmp_path}/store.db"
    with Serving(url, None, "--workers", "2") as server:
        started = [line for line in server.lines() if line["event"] == "Application startup complete."]
        assert len(started) == 2  # before "listening", which is the last line read so far
        server.until(lambda: httpx.get(f"{server.address}/readyz", timeout=PATIENCE).status_code == 200)
        assert len(list(tmp_path.glob("matchbandit-metrics-*"))) == 1
        server.kill()
        wait_until(lambda: is_refused(server.address))
    monkeypatch.setattr(server_module.tempfile, "gettempdir", lambda: str(tmp_path))
    wait_until(lambda: not server_module._remove_stale_metrics() and not list(tmp_path.glob("matchbandit-metrics-*")))


@pytest.mark.slow
def test_several_processes_share_a_store_and_their_metrics(tmp_path):
    url = f"sqlite:///{tmp_path}/store.db"
    with Store(url) as store:
        club = store.create("club", players=["ann", "bob", "cem", "dee"])
        _, text = tokens.create(store, "test", scope="admin")
        server = Serving(url, None, "--workers", "2")
        numbers = []

        def calling():
            headers = {"Authorization": f"Bearer {text}"}
            return httpx.Client(base_url=server.address, headers=headers, timeout=PATIENCE)

        def ask():
            with calling() as http:
                numbers.extend(http.post("/v1/leagues/club/proposals").json()["number"] for _ in range(10))

        with server:
            askers = [threading.Thread(target=ask) for _ in range(6)]
            for asker in askers:
                asker.start()
            for asker in askers:
                asker.join()
            with calling() as http:
                assert "matchbandit_proposals_total 60.0" in http.get("/metrics").text
            assert server.stop(signal.SIGINT) == 0
        assert sorted(numbers) == list(range(1, 61))
        assert len(club.proposals()) == 60

"""Requests that are no HTTP, at a real server: they are refused or ignored, and the server goes on."""

import socket
from pathlib import Path

import httpx
import pytest
from serving import Serving

from matchbandit.leagues import Store, tokens


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    url = f"sqlite:///{folder}/store.db"
    with Store(url) as store:
        store.create("club", players=["ann", "bob"])
        secret = tokens.create(store, "test", scope="admin")[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATCHBANDIT_WARM_UP", "off")
        started = Serving(url, Path(folder))
    with started:
        yield started, secret
    assert {line["event"] for line in started.lines() if line["level"] == "error"} == set()


HEAD = b"GET /v1/leagues HTTP/1.1\r\nAuthorization: TOKEN\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (HEAD + b"Host: here\r\n\r\n", b"200"),
        (HEAD + b"\r\n", b"400"),
        (HEAD + b"Host: here\r\nHost: there\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00", b"400"),
        (b"GET /v1/\xff HTTP/1.1\r\nHost: here\r\n\r\n", b"40"),
        (HEAD + b"Host: here\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", b"4"),
        (HEAD.replace(b"/v1/leagues", b"/v1/leagues/%00"), b""),
        (HEAD.replace(b"GET", b"POST") + b"Host: here\r\nContent-Length: x\r\n\r\n", b"400"),
        (HEAD.replace(b"GET", b"POST") + b"Host: here\r\nContent-Length: 1000000000\r\n\r\n", b"413"),
        (HEAD.replace(b"GET", b"POST") + b"Host: here\r\nContent-Length: 100\r\n\r\n{", b""),  # it ends early
        (HEAD.replace(b"GET", b"BREW") + b"Host: here\r\n\r\n", b"40"),
        (HEAD.replace(b"TOKEN", b"Bearer \xff\xfe") + b"Host: here\r\n\r\n", b"401"),
    ],
)
def test_a_strange_request_is_refused(server, request_, status):
    started, secret = server
    host, port = started.address.removeprefix("http://").split(":")
    answer = b""
    with socket.create_connection((host, int(port)), timeout=60) as wire:
        wire.sendall(request_.replace(b"TOKEN", f"Bearer {secret}".encode()))
        if b"Content-Length: 1000000000" not in request_:
            wire.shutdown(socket.SHUT_WR)
        while part := wire.recv(2**16):
            answer += part
    assert httpx.get(f"{started.address}/readyz").status_code == 200
    assert b"500" not in answer[:16]
    if status and answer:
        assert answer.startswith(b"HTTP/1.1 " + status)

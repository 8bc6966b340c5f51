"""Limits on connections, seen from raw sockets: headers, idle and half-sent requests, floods, slow readers."""

import contextlib
import json
import select
import socket
import struct
import threading
import time
from ipaddress import ip_network

import pytest
import uvicorn

from matchbandit.live.store import Store
from matchbandit.service import connections, limits, logs, tokens
from matchbandit.service.connections import ConnectionLimiter, as_networks, raise_file_limit
from matchbandit.service.dashboard import assets
from matchbandit.service.server import Server
from matchbandit.service.settings import Settings

PATIENCE = 60.0
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('connections')}/store.db"
    with Store(url) as store:
        store.create("club", players=["ann", "bob", "cem", "dee"])
    return url


@pytest.fixture
def serve(url, lines, monkeypatch):
    """Run a server in a thread with these settings; gives its port."""
    monkeypatch.setattr(logs, "write_to", lambda **_: None)  # `lines` reads the log
    with contextlib.ExitStack() as stack:

        def start(*, trusted_proxies=(), behind_proxy=False, **settings):
            chosen = Settings(**{"tick_seconds": 0, **settings})
            configured = Server(
                url, settings=chosen, port=0, trusted_proxies=trusted_proxies, behind_proxy=behind_proxy
            )
            listener = stack.enter_context(configured._bind())
            server = uvicorn.Server(configured._config())
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            port = listener.getsockname()[1]
            thread.start()

            def stop():
                server.should_exit = True
                thread.join(PATIENCE)
                assert not thread.is_alive()

            stack.callback(stop)
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            return port

        yield start


@contextlib.contextmanager
def connect(port, data=b"", *, receive_buffer=None):
    with socket.socket() as wire:
        wire.settimeout(PATIENCE)
        if receive_buffer is not None:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        wire.connect(("127.0.0.1", port))
        wire.sendall(data)
        yield wire


def read_all(wire):
    """Everything until the server closes; a reset counts as the end."""
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while part := wire.recv(65536):
            answer += part
    return answer


def read_answer(wire) -> bytes:
    """One whole answer: its head and as many bytes as it announces, however the network cuts them."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += wire.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().splitlines() if line.startswith(b"content-length:"))
    while len(body) < length:
        body += wire.recv(65536)
    return head + b"\r\n\r\n" + body


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer else None


def head_of(size):
    """A complete head of this many bytes."""
    begin, end = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ", b"\r\nConnection: close\r\n\r\n"
    return begin + b"x" * (size - len(begin) - len(end)) + end


def test_headers_up_to_the_limit_are_read_and_larger_ones_refused(serve, lines):
    port = serve(header_bytes=2000)
    for size, status in [(2000, 200), (2001, 431), (300_000, 431)]:
        with connect(port) as wire:
            with contextlib.suppress(OSError):
                wire.sendall(head_of(size))
            assert status_of(read_all(wire)) in ((status,) if size < 10_000 else (status, None)), size  # or a reset
    refused = [line for line in lines() if line["event"] == "connection refused"]
    assert [(line["reason"], line["count"], line["address"]) for line in refused] == [
        ("headers-too-large", 1, "127.0.0.1")
    ]


def test_the_limit_counts_many_small_headers_a_long_path_and_pieces(serve):
    port = serve(header_bytes=2000)
    many = b"GET /healthz HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(300)) + b"\r\n"
    path = b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    for data in (many, path):
        with connect(port, data) as wire:
            assert status_of(read_all(wire)) == 431
    with connect(port) as wire:
        with contextlib.suppress(OSError):
            for _ in range(100):
                wire.sendall(b"X" * 100 if _ else b"GET / HTTP/1.1\r\nA: ")
                time.sleep(0.001)
        assert status_of(read_all(wire)) in (431, None)


def test_each_request_of_a_connection_has_the_whole_limit_and_bodies_do_not_count(serve):
    port = serve(header_bytes=2000)
    post = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n" + b"x" * 9000
    kept = head_of(1900).replace(b"Connection: close", b"Connection: keep")
    with connect(port) as wire:
        for data in (kept, kept, post, kept):
            wire.sendall(data)
            answer = b""
            while b"}" not in answer:
                part = wire.recv(65536)
                assert part
                answer += part
            assert status_of(answer) == (404 if data == post else 200)


@pytest.mark.parametrize("data", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
@pytest.mark.sampled(1)
def test_a_connection_that_sends_no_whole_request_is_closed(serve, data, lines):
    port = serve(header_seconds=0.2, idle_seconds=60)
    with connect(port, data) as wire:
        assert read_all(wire) == b""
    assert [line["reason"] for line in lines() if line["event"] == "connection refused"] == ["slow-headers"]


@pytest.mark.parametrize("data", [b"\r\n", b"GET / HT"])
@pytest.mark.slow
def test_a_later_request_must_be_whole_in_time_too(serve, data, lines):
    port = serve(header_seconds=2, idle_seconds=60)
    with connect(port, GET) as wire:
        assert status_of(read_answer(wire)) == 200
        time.sleep(2.5)  # idle: this is no half-sent request
        wire.sendall(data)
        assert read_all(wire) == b""
    assert [line["reason"] for line in lines() if line["event"] == "connection refused"] == ["slow-headers"]


def test_headers_that_trickle_are_cut_off(serve):
    port = serve(header_seconds=0.3)
    with connect(port, b"GET / HTTP/1.1\r\n") as wire:
        end, is_open = time.monotonic() + PATIENCE, True
        while is_open:
            assert time.monotonic() < end
            time.sleep(0.05)
            try:
                wire.sendall(b"X-A: b\r\n")
            except OSError:  # a reset or a broken pipe
                is_open = False


def test_a_body_that_is_never_read_by_the_app_does_not_hold_the_connection(serve, monkeypatch):
    monkeypatch.setattr(connections, "BODY_GRACE_S", 0.1)
    port = serve(body_seconds=0.2, idle_seconds=60)
    with connect(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + b"x" * 10) as wire:
        assert status_of(read_all(wire)) == 200


def test_an_import_has_a_time_limit_of_its_own(serve, url, monkeypatch):
    monkeypatch.setattr(connections, "BODY_GRACE_S", 0.0)
    port = serve(body_seconds=0.1)
    with Store(url) as store:
        _, text = tokens.create(store, "test", scope="admin")
    head = f"POST /v1/imports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {text}\r\nConnection: close\r\n"
    with connect(port, f"{head}Content-Length: 10\r\n\r\n".encode()) as wire:
        time.sleep(0.3)
        wire.sendall(b"no export.")
        assert status_of(read_all(wire)) == 422


def test_an_idle_connection_is_closed(serve):
    port = serve(idle_seconds=0.2)
    with connect(port, GET) as wire:
        assert status_of(read_all(wire)) == 200


def test_a_flood_leaves_room_for_health_checks(serve, lines):
    port = serve(max_connections=5, connections_per_address=1000)
    page = b"GET /login HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with contextlib.ExitStack() as flood:
        for _ in range(5):
            flood.enter_context(connect(port, b"GET /"))
        with connect(port, page) as wire:
            answer = read_all(wire)
            assert status_of(answer) == 503
            assert b"retry-after: 1" in answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "too-busy"
        with connect(port, GET) as wire:
            assert status_of(read_all(wire)) == 200  # and it does not keep the place
        for _ in range(connections.PROBE_CONNECTIONS + 5):
            flood.enter_context(connect(port, b"GET /"))
        with connect(port, GET) as wire:
            assert status_of(read_all(wire)) == 200
        with connect(port, page) as wire:
            assert status_of(read_all(wire)) in (503, None)  # a reset may overtake the answer
    refused = [line for line in lines() if line["event"] == "connection refused"]
    assert {line["reason"] for line in refused} == {"too-many-connections"}
    assert len(refused) == 1  # the rest follow in the next interval
    with connect(port, page) as wire:  # the flood is over
        assert status_of(read_all(wire)) == 200


def test_one_address_has_its_own_limit_and_a_trusted_proxy_has_none(serve):
    for proxies, expected in [((), (503, None)), (("127.0.0.0/8",), (200,))]:
        port = serve(connections_per_address=3, trusted_proxies=proxies)
        with contextlib.ExitStack() as stack:
            wires = [stack.enter_context(connect(port, GET)) for _ in range(3)]
            assert [status_of(read_answer(wire)) for wire in wires] == [200] * 3
            with connect(port) as wire:
                with contextlib.suppress(OSError):
                    wire.sendall(GET.replace(b"Host", b"Connection: close\r\nHost"))
                assert status_of(read_all(wire)) in expected


@pytest.mark.parametrize(
    ("proxies", "statuses"),
    [
        ({"trusted_proxies": ("127.0.0.0/8",)}, [401, 401, 401]),
        ({"behind_proxy": True}, [401, 401, 401]),
        ({"trusted_proxies": ("10.0.0.0/8",)}, [401, 429, 429]),
        ({}, [401, 429, 429]),
    ],
)
@pytest.mark.sampled(1)
def test_only_a_trusted_proxy_may_say_who_asks(serve, proxies, statuses):
    """One wrong token per minute is allowed from an address; an untrusted client cannot pretend to be many."""
    port = serve(wrong_tokens=1, **proxies)
    head = "GET /v1/leagues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer mbt_wrong\r\nConnection: close\r\n"
    answers = []
    for number in range(3):
        with connect(port, f"{head}X-Forwarded-For: 203.0.113.{number}\r\n\r\n".encode()) as wire:
            answers.append(status_of(read_all(wire)))
    assert answers == statuses


def test_a_client_that_does_not_read_is_cut_off(serve, lines):
    port = serve(send_seconds=0.3, idle_seconds=60)
    script = f"GET {assets.address('echarts.js')} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with connect(port, script * 15, receive_buffer=4096):  # 15 MB: more than all buffers between us hold
        end = time.monotonic() + PATIENCE
        while "slow-reader" not in [line.get("reason") for line in lines()]:
            assert time.monotonic() < end
            time.sleep(0.05)
    assert status_of_probe(port) == 200


def status_of_probe(port):
    with connect(port, GET) as wire:
        return status_of(read_answer(wire))


def test_pipelined_requests_are_limited(serve, lines):
    port = serve()
    with connect(port) as wire:
        with contextlib.suppress(OSError):
            wire.sendall(GET * 2000)
        read_all(wire)
    assert "too-many-pipelined" in [line.get("reason") for line in lines()]


def test_a_lost_connection_with_pipelined_requests_is_no_defect(serve, lines):
    page = b"GET /login HTTP/1.1\r\nHost: x\r\n\r\n"
    port = serve()
    for _ in range(20):
        with connect(port, page * 10) as wire:
            wire.recv(1)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
    with connect(port, page * 2000) as wire, contextlib.suppress(OSError):
        read_all(wire)
    with connect(port, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as wire:
        assert status_of(read_all(wire)) == 200
    assert [line for line in lines() if line["level"] == "error"] == []


@pytest.mark.parametrize("start", [b"0\r\nX: ", b"1;"])
@pytest.mark.slow
def test_trailers_and_chunk_extensions_are_limited_like_headers(serve, lines, start):
    port = serve(header_bytes=2000)
    head = b"POST /login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = b"".join(b"%x;e=%s\r\n%s\r\n" % (100, b"e" * 900, b"b" * 100) for _ in range(20))
    with connect(port, head + pieces + b"0\r\nX: " + b"a" * 900 + b"\r\n\r\n") as wire:
        assert status_of(read_all(wire)) == 403  # not a form of ours, but read
    with connect(port, head + start) as wire, contextlib.suppress(OSError):
        wire.sendall(b"a" * 5000)
        assert read_all(wire) == b""
    assert "trailers-too-large" in [line.get("reason") for line in lines()]


def test_anonymous_bodies_are_small_and_a_flood_of_them_is_turned_away(serve, url, monkeypatch):
    monkeypatch.setattr(limits, "_LINGER_SECONDS", 0.1)
    port = serve(anonymous_body_bytes=100, buffered_bytes=3000, body_bytes=2500)
    head = "POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n"
    with connect(port, head.format("/login", "", 101).encode()) as wire:
        assert b'"code": "body-too-large"' in read_all(wire)
    with Store(url) as store:
        _, text = tokens.create(store, "test", scope="admin")
    bearer = f"Authorization: Bearer {text}\r\nContent-Type: application/json\r\n"
    request = head.format("/v1/leagues", bearer, 2000).encode() + b" " * 1999
    with connect(port, request) as first, connect(port, request) as second:  # 3998 bytes, and neither is complete
        refused, _, _ = select.select([first, second], [], [], PATIENCE)  # whichever came last
        answer = read_all(refused[0])
        assert status_of(answer) == 503
        assert b"retry-after: 1" in answer
    form = head.format("/nowhere", "Cookie: session=x\r\n", 2000).encode()  # a cookie that may be a session's
    with connect(port, form + b"x" * 1999) as wire:  # more than the half that is for everybody
        assert status_of(read_all(wire)) == 503
    for _ in range(3):  # what was held is free again
        with connect(port, request + b" ") as wire:
            assert status_of(read_all(wire)) == 400


def test_refusals_are_logged_once_an_interval_with_their_number(ticks, lines):
    limiter = ConnectionLimiter(Settings(monotonic=ticks))
    for _ in range(5):
        limiter.report("slow-headers", "192.0.2.1")
    limiter.report("slow-body", "192.0.2.2")
    ticks.now += connections.LOG_INTERVAL_S
    limiter.report("slow-headers", "192.0.2.3")
    told = [(line["reason"], line["address"], line["count"]) for line in lines()]
    assert told == [("slow-headers", "192.0.2.1", 1), ("slow-body", "192.0.2.2", 1), ("slow-headers", "192.0.2.3", 5)]


def test_addresses_of_one_ipv6_network_count_together():
    limiter = ConnectionLimiter(Settings(connections_per_address=2), trusted_proxies=["10.0.0.0/8"])
    reasons = [limiter.admit(address) for address in ("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1")]
    assert reasons == [None, None, "too-many-from-address", None]
    assert [limiter.admit(address) for address in ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1")] == [
        None, None, "too-many-from-address",
    ]  # fmt: skip
    assert [limiter.admit(address) for address in ("::ffff:10.1.2.3", "10.1.2.3", "")] * 3 == [None] * 9
    limiter.release("2001:db8::1")
    limiter.release("2001:db8::2")
    assert limiter.admit("2001:db8::9") is None


def test_ipv4_networks_are_known_as_a_dual_stack_socket_names_them():
    expected = ["10.0.0.0/8", "::ffff:a00:0/104", "::1/128"]
    assert list(as_networks(["10.0.0.0/8", "::1"])) == [ip_network(network) for network in expected]


def test_the_limit_on_open_files_is_raised_or_reported(monkeypatch):
    resource = pytest.importorskip("resource")
    limits = {"soft": 100, "hard": 500}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limits["soft"], limits["hard"]))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.update(soft=pair[0]))
    assert (raise_file_limit(90), limits["soft"]) == (None, 100)
    assert (raise_file_limit(300), limits["soft"]) == (None, 300)
    assert (raise_file_limit(1000), limits["soft"]) == (500, 500)

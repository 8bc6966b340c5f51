"""Does one league slow another down? Requests to a small league, alone and beside attacks on others, over HTTP.

`python benchmarks/isolation.py [ATTACK …]` starts the server over a SQLite file with a small league, one of 5,000
players and others, and prints a table. Each attack has eight connections, whose tokens do not open the small league.
The goal: the neighbour's median stays below 4 times, its 99 % quantile below 10 times what they are alone.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from matchbandit.leagues import Store, tokens
from matchbandit.leagues.service.settings import Settings

CONNECTIONS = 8
ROUNDS = 100
"""Asks of the neighbour, each with a tell; the 99 % quantile of these 200 requests is the third largest."""
MAX_SECONDS = 60.0
MIB = 2**20 - 400


class Request(NamedTuple):
    """A request of an attack."""

    method: str
    path: str
    token: str = ""
    body: bytes | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


class Wire:
    """One connection, which is opened again when the server closes it."""

    def __init__(self, port: int) -> None:
        self._port, self._connection = port, HTTPConnection("127.0.0.1", port, timeout=120)

    def send(self, request: Request) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {request.token}"} if request.token else {}
        try:
            self._connection.request(request.method, request.path, request.body, headers | request.headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException):
            self._connection.close()
            self._connection = HTTPConnection("127.0.0.1", self._port, timeout=120)
            return 0, b""


def neighbour(port: int, token: str) -> list[float]:
    """The times of asks and tells of the small league."""
    wire, times, end = Wire(port), [], time.monotonic() + MAX_SECONDS
    path = "/v1/leagues/small/proposals"
    for k in range(ROUNDS):
        began = time.perf_counter()
        status, content = wire.send(Request("POST", path, token))
        asked = time.perf_counter()
        assert status == 201, (status, content)
        proposal = json.loads(content)
        outcomes = [{"pair": pair["names"], "reward": (i + k) % 2} for i, pair in enumerate(proposal["pairs"])]
        body = json.dumps({"outcomes": outcomes}).encode()
        told = time.perf_counter()
        status, content = wire.send(Request("POST", f"{path}/{proposal['number']}/outcomes", token, body))
        assert status == 200, (status, content)
        times += [asked - began, time.perf_counter() - told]
        if time.monotonic() > end:
            break
    return times


def attack(port: int, requests: list[Request], stop: Any, report: Any) -> None:
    """Send these requests in turn from each connection, as fast as they are answered."""
    statuses: Counter[int] = Counter()

    def connection(k: int) -> None:
        wire = Wire(port)
        for request in cycle(requests[k % len(requests) :] + requests[: k % len(requests)]):
            if stop.is_set():
                return
            statuses[wire.send(request)[0]] += 1

    threads = [Thread(target=connection, args=(k,), daemon=True) for k in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(MAX_SECONDS)
    report.send(dict(statuses))


def drip(port: int, requests: list[Request], stop: Any, report: Any) -> None:
    """Announce bodies of 1 MiB and send a byte of them at a time."""
    connections = []
    for request in requests * CONNECTIONS:
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        connection.putrequest(request.method, request.path)
        connection.putheader("Authorization", f"Bearer {request.token}")
        connection.putheader("Content-Length", "16000")
        connection.endheaders()
        connections.append(connection)
    while not stop.wait(0.02):
        for connection in connections:
            try:
                connection.send(b" ")
            except OSError:
                connection.close()
    report.send({})


def prepare(store: Store) -> dict[str, Any]:
    """Create the leagues; returns tokens and an export."""
    store.create("small", players=[f"player {k}" for k in range(20)])
    sizes = {"wide": 5000, "cts-300": 300, "cts-800": 800, "big-1": 10_000, "big-2": 10_000, "big-3": 10_000}
    for slug, n in sizes.items():
        policy = {"policy": "cts-beta"} if slug.startswith("cts") else {}
        store.create(slug, players=[f"p{k}" for k in range(n)], **policy)
    wide = store.open("wide")
    for k in range(8):
        proposal = wide.ask()
        wide.tell(proposal.number, [(*pair.ids, (i + k) % 2) for i, pair in enumerate(proposal.pairs)])
    wide.ask()

    def token(scope: str, *slugs: str) -> str:
        return tokens.create(store, "benchmark", scope=scope, leagues=slugs)[1]

    with tempfile.TemporaryDirectory() as folder:
        export = wide.export(Path(folder) / "wide.jsonl.gz").read_bytes()
    reader = token("read", "wide")
    found = tokens.find(store, reader)
    assert found is not None
    return {
        "small": token("play", "small"),
        "read": reader,
        "play": token("play", "wide"),
        "many": [token("play", "wide") for _ in range(CONNECTIONS)],
        "admin": token("admin", "wide", "copy"),
        "cts-300": token("play", "cts-300"),
        "cts-800": token("play", "cts-800"),
        "big": token("play", "big-1", "big-2", "big-3"),
        "session": tokens.log_in(store, found),
        "export": export,
    }


def attacks(given: dict[str, Any]) -> dict[str, list[Request]]:
    """Requests by the name of the attack."""
    path, read, play, admin = "/v1/leagues/wide", given["read"], given["play"], given["admin"]
    outcomes, proposals = f"{path}/proposals/1/outcomes", f"{path}/proposals"
    zeros = b'{"outcomes":[' + b"0," * (MIB // 2) + b"0]}"
    numbers = b'{"outcomes":[{"pair":[1,2],"reward":' + b"0" * MIB + b"}]}"
    keys = ("{" + ",".join(f'"k{i:06d}":0' for i in range(MIB // 13)) + "}").encode()
    wrong = ",".join(f'{{"pair":["x{i}","p2"],"reward":1}}' for i in range(9000))
    repeated = ",".join(f'{{"pair":["p{i}","p{i + 1}"],"reward":1}}' for i in range(4000))
    cookie = {"Cookie": f"matchbandit={given['session']}"}
    excluded = json.dumps({"pairs": [[k, k + 1] for k in range(1, 4900)]}).encode()

    def get(*paths: str, token: str = read, **headers: str) -> list[Request]:
        return [Request("GET", f"{path}{each}", token, None, headers) for each in paths]

    def pages(*paths: str) -> list[Request]:
        return [Request("GET", each, "", None, cookie) for each in paths]

    def settings(policy: str) -> Request:
        return Request("PATCH", f"{path}/settings", admin, json.dumps({"policy": policy}).encode())

    return {
        "zeros, read token": [Request("POST", outcomes, read, zeros)],
        "zeros": [Request("POST", outcomes, play, zeros)],
        "unknown keys": [Request("POST", outcomes, play, keys)],
        "wrong outcomes": [Request("POST", outcomes, play, f'{{"outcomes":[{wrong}]}}'.encode())],
        "pairs not proposed": [Request("POST", outcomes, play, f'{{"outcomes":[{repeated}]}}'.encode())],
        "deep JSON": [Request("POST", proposals, play, b'{"available":' + b"[" * MIB)],
        "long number": [Request("POST", outcomes, play, numbers)],
        "wrong tokens": [Request("GET", path, f"mbt_{k:012x}_{'0' * 64}") for k in range(100)],
        "read token": get("", "/settings"),
        "write token": [Request("POST", proposals, play, b'{"available":["p1","p2"]}')],
        "results": get("/results?limit=1000"),
        "proposals": get("/proposals?limit=1000"),
        "history": get("/history?limit=1000"),
        "ranking": get("/ranking?limit=1000"),
        "export": get("/export"),
        "progress": get("/progress", "/summaries?limit=1000"),
        "search": get("/items?limit=1000&search=9", "/ranking?search=9"),
        "dashboard": pages(
            "/leagues/wide", "/leagues/wide/history", "/leagues/wide/proposals/8", "/leagues/wide/results", "/"
        ),
        "asks of 5,000": [Request("POST", proposals, play)],
        "asks of cts-beta, 300": [Request("POST", "/v1/leagues/cts-300/proposals", given["cts-300"])],
        "asks of cts-beta, 800": [Request("POST", "/v1/leagues/cts-800/proposals", given["cts-800"])],
        "three leagues of 10,000": [Request("POST", f"/v1/leagues/big-{k}/proposals", given["big"]) for k in (1, 2, 3)],
        # Invented without regard to how the gate works:
        "eight tokens ask": [Request("POST", proposals, token) for token in given["many"]],
        "explanations": get("/why?proposal=8", "/why?pair=p1&pair=p2", "/why?item=p7", "/why", "/fit"),
        "slow bodies": [Request("POST", outcomes, play), Request("POST", "/v1/leagues", admin)],
        "anonymous pages": [Request("GET", each) for each in ("/readyz", "/openapi.json", "/docs", "/none", "/login")],
        "policies in turn": [settings("cts-beta"), settings("rank1-thompson")],
        "imports": [Request("POST", "/v1/imports?slug=copy", admin, given["export"])],
        "CSV, compressed": get(
            "/ranking?limit=1000&format=csv", "/proposals?limit=1000&format=csv", **{"Accept-Encoding": "gzip"}
        ),
        "rules": [Request("POST", f"{path}/rules/{each}", admin, excluded) for each in ("exclude", "unexclude")],
        "renames": [
            Request("POST", f"{path}/items/rename", admin, json.dumps({"name": 7, "new": f"n{k}"}).encode())
            for k in range(50)
        ],
        "reads after each write": [Request("POST", f"{path}/proposals/9/void", play), *get("/ranking", "/why")],
    }


@contextmanager
def server(store: str) -> Iterator[int]:
    """Serve the store; gives the port."""
    environment = {**os.environ, "MATCHBANDIT_STORE": store, "MATCHBANDIT_PORT": "0"}
    command = [sys.executable, "-m", "matchbandit", "serve"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines = (json.loads(line) for line in process.stderr)
    address = next(line["address"] for line in lines if line["event"] == "listening")
    next(line for line in lines if line["event"] in ("warm", "warm-up failed"))

    def watch() -> None:
        seen: set[str] = set()
        for line in lines:
            kind = f"{line['event']} {line.get('error')} {line.get('message')} {line.get('frames', [''])[-1]}"
            if line["level"] == "error" and kind not in seen:
                seen.add(kind)
                print(f"  the server logs: {kind}", flush=True)

    Thread(target=watch, daemon=True).start()
    try:
        yield int(address.rpartition(":")[2])
    finally:
        process.terminate()
        process.wait(30)


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[min(int(share * len(times)), len(times) - 1)]


def measure(port: int, token: str, requests: list[Request], how: Callable[..., None]) -> str:
    """A line of the table: the neighbour alone, and beside an attack."""
    context = multiprocessing.get_context("fork")
    alone, stop, (mine, its) = neighbour(port, token), context.Event(), context.Pipe()
    process = context.Process(target=how, args=(port, requests, stop, its), daemon=True)
    process.start()
    time.sleep(1.0)
    beside = neighbour(port, token)
    stop.set()
    statuses = mine.recv() if mine.poll(MAX_SECONDS) else {}
    process.join(10)
    process.kill()
    cells = [1000 * quantile(times, share) for times in (alone, beside) for share in (0.5, 0.99)]
    median, late = cells[2] / cells[0], cells[3] / cells[1]
    fails = "  !" if median >= 4 or late >= 10 else ""
    row = "".join(f"{cell:9.1f}" for cell in cells) + f"{median:9.1f}{late:9.1f}"
    return f"{row}  {dict(sorted(statuses.items()))}{fails}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/store.db"
        with Store(url) as store:
            given = prepare(store)
        with server(url) as port:
            neighbour(port, given["small"])
            columns = ("alone", "p99", "beside", "p99", "median ×", "p99 ×")
            print(f"{'attack':26}" + "".join(f"{name:>9}" for name in columns) + "  answers (times in ms)")
            for name, requests in attacks(given).items():
                if len(sys.argv) == 1 or name in sys.argv[1:]:
                    how = drip if name == "slow bodies" else attack
                    print(f"{name:26}{measure(port, given['small'], requests, how)}", flush=True)


if __name__ == "__main__":
    assert Settings().concurrency  # the settings of the environment are valid
    main()

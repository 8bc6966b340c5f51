"""The CPU that leagues cost, beside that of 1.0.0: `python benchmarks/leagues.py --baseline PATH`.

PATH is a checkout of 1.0.0. Both versions do the same in turn, each in a process of its own on a SQLite file: first
called from Python, then over HTTP. The ratios are of CPU seconds of the whole process; run it on an idle machine.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
CONNECTIONS = 8
GOALS = {"ask 8": 1.1, "ask 300": 1.1, "ask 5000": 1.4, "tell 1": 1.3, "tell 2500": 1.3, "eight clients": 1 / 0.7}
GOAL_BYTES = 1.5
_OLD = "from matchbandit.live import Store; from matchbandit.service import tokens; pairs = lambda p: p.pairs"
_NEW = "from matchbandit.leagues import Store, tokens; pairs = lambda p: [pair.names for pair in p.pairs]"
_CHILD = """
import json, sys, time
store = Store(sys.argv[1])
leagues = {}
for line in sys.stdin:
    do, slug, *rest = json.loads(line)
    start = time.process_time()
    if do == "create":
        answer = leagues[slug] = store.create(slug, players=rest[0], seed=1)
    elif do == "ask":
        answer = leagues[slug].ask()
    else:
        answer = leagues[slug].tell(rest[0], [tuple(row) for row in rest[1]])
    used = time.process_time() - start
    print(json.dumps([used, [answer.number, pairs(answer)] if do == "ask" else None]), flush=True)
"""
_TOKENS = """
import sys
store = Store(sys.argv[1])
for k in range(int(sys.argv[2])):
    print(tokens.create(store, str(k), scope="admin")[1])
"""


class Side:
    """One version, with a store of its own."""

    def __init__(self, stack: ExitStack, source: Path, imports: str) -> None:
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.url, self.imports = f"sqlite:///{self.folder}/store.db", imports
        self.environment = os.environ | {"PYTHONPATH": str(source / "src"), "OPENBLAS_NUM_THREADS": "1"}

    def start(self, stack: ExitStack, *command: str, **options: Any) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, *command], env=self.environment, cwd=self.folder, text=True, **options
        )
        stack.callback(process.wait, 30)
        stack.callback(process.terminate)
        return process

    @property
    def n_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.folder.glob("store.db*"))


class Called(Side):
    """From Python."""

    def __init__(self, stack: ExitStack, source: Path, imports: str, _command: list[str]) -> None:
        super().__init__(stack, source, imports)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = self.start(stack, "-c", f"{imports}\n{_CHILD}", self.url, **pipes)

    def create(self, slug: str, n: int) -> None:
        self._send("create", slug, [f"p{k}" for k in range(n)])

    def ask(self, slug: str) -> tuple[float, tuple[int, list[Any]]]:
        return self._send("ask", slug)

    def tell(self, slug: str, number: int, rows: list[Any]) -> float:
        return self._send("tell", slug, number, rows)[0]

    def _send(self, *command: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(command), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


class Served(Side):
    """Over HTTP."""

    def __init__(self, stack: ExitStack, source: Path, imports: str, command: list[str]) -> None:
        super().__init__(stack, source, imports)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        create = [sys.executable, "-c", f"{imports}\n{_TOKENS}", self.url, str(CONNECTIONS)]
        created = subprocess.run(create, env=self.environment, check=True, capture_output=True, text=True).stdout
        self.tokens = created.split()
        port = "MATCHBANDIT_SERVE_PORT" if imports == _OLD else "MATCHBANDIT_PORT"  # unknown variables are refused
        self.environment |= {"MATCHBANDIT_STORE": self.url, port: str(self.port)}
        self.process = self.start(stack, *command, stderr=subprocess.DEVNULL)
        while not self._is_ready():
            assert self.process.poll() is None, "the server does not start"
            time.sleep(0.1)
        self.clients = [Client(self, token) for token in self.tokens]

    def _is_ready(self) -> bool:
        with suppress(OSError):
            connection = HTTPConnection("127.0.0.1", self.port)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        return False

    def create(self, slug: str, n: int) -> None:
        self.clients[0].send("", {"slug": slug, "players": [f"p{k}" for k in range(n)], "seed": 1})

    def ask(self, slug: str) -> tuple[float, tuple[int, list[Any]]]:
        used, answer = self.clients[0].send(f"/{slug}/proposals", {})
        rows = [pair.get("names") or pair["pair"] for pair in answer["pairs"]]
        return used, (answer["number"], rows)

    def tell(self, slug: str, number: int, rows: list[Any], client: int = 0) -> float:
        body = {"outcomes": [{"pair": [a, b], "reward": reward} for a, b, reward in rows]}
        return self.clients[client].send(f"/{slug}/proposals/{number}/outcomes", body)[0]

    def tell_singly(self, slug: str, number: int, rows: list[Any]) -> float:
        """The seconds that all clients together need for outcomes one by one."""

        def work(client: int) -> None:
            for row in rows[client::CONNECTIONS]:
                self.tell(slug, number, [row], client)

        start = time.perf_counter()
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(work, range(CONNECTIONS)))
        return time.perf_counter() - start

    def cpu(self) -> float:
        return time.clock_gettime((~self.process.pid << 3) | 2)  # the clock of another process, as Linux numbers them


class Client:
    """A connection with a token of its own."""

    def __init__(self, server: Served, token: str) -> None:
        self.server, self.connection = server, HTTPConnection("127.0.0.1", server.port, timeout=120)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(self, path: str, body: Any) -> Any:
        """The CPU of the server, and its answer."""
        start = self.server.cpu()
        self.connection.request("POST", f"/v1/leagues{path}", json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status in (200, 201), content
        return self.server.cpu() - start, json.loads(content)


def outcomes(number: int, pairs: list[Any]) -> list[Any]:
    return [(a, b, int((7 * k + number) % 3 > 0)) for k, (a, b) in enumerate(pairs)]


def measure(sides: list[Any], report: Callable[[str, list[list[float]]], None]) -> None:
    """Asks and tells of leagues of different sizes, in turn."""
    for n, rounds in ((8, 60), (300, 40), (5000, 20)):
        for side in sides:
            side.create(f"n{n}", n)
        asks: list[list[float]] = [[], []]
        tells: list[list[float]] = [[], []]
        for k in range(rounds + 3):
            for which in (0, 1) if k % 2 else (1, 0):
                used, (number, pairs) = sides[which].ask(f"n{n}")
                told = sides[which].tell(f"n{n}", number, outcomes(number, pairs))
                if k >= 3:
                    asks[which].append(used)
                    tells[which].append(told)
        report(f"ask {n}", asks)
        report(f"tell {n // 2}", tells)
    single: list[list[float]] = [[], []]
    for which, side in enumerate(sides):
        side.create("single", 300)
        _, (number, pairs) = side.ask("single")
        single[which] = [side.tell("single", number, [row]) for row in outcomes(number, pairs)][10:]
    report("tell 1", single)


def measure_rate(sides: list[Any], report: Callable[[str, list[list[float]]], None]) -> None:
    """Eight clients that record outcomes of one league one by one."""
    taken: list[list[float]] = [[], []]
    for side in sides:
        side.create("busy", 400)
    for k in range(6):
        for which in (0, 1) if k % 2 else (1, 0):
            _, (number, pairs) = sides[which].ask("busy")
            rows = outcomes(number, pairs)
            taken[which].append(sides[which].tell_singly("busy", number, rows) / len(rows))
    report("eight clients", taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, required=True, help="a checkout of 1.0.0")
    parser.add_argument("--serve", default="-m matchbandit serve", help="how this version is served")
    options = parser.parse_args()
    versions = (
        (options.baseline, _OLD, ["-m", "matchbandit", "serve"]),
        (HERE, _NEW, options.serve.split()),
    )
    print(f"{'':8}{'':16}{'1.0.0':>12}{'now':>12}{'ratio':>8}{'at most':>9}")
    for name, kind in (("Python", Called), ("HTTP", Served)):

        def report(what: str, seconds: list[list[float]], name: str = name) -> None:
            old, new = (statistics.median(part) for part in seconds)
            goal = f"{GOALS[what]:9.2f}" if what in GOALS else ""
            print(f"{name:8}{what:16}{old * 1e3:9.2f} ms{new * 1e3:9.2f} ms{new / old:8.2f}{goal}", flush=True)

        with ExitStack() as stack:
            sides = [kind(stack, *version) for version in versions]
            before = [side.n_bytes for side in sides]
            measure(sides, report)
            if kind is Served:
                measure_rate(sides, report)
            else:
                sizes = [side.n_bytes - start for side, start in zip(sides, before, strict=True)]
                print(f"{name:8}{'bytes':16}{sizes[0]:12}{sizes[1]:12}{sizes[1] / sizes[0]:8.2f}{GOAL_BYTES:9.2f}")


if __name__ == "__main__":
    main()

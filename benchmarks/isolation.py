"""Does one league slow another down? Times of a quiet league while another one is attacked, over HTTP.

`python benchmarks/isolation.py [rules|star|cts-800|cts-2000|fit ...]`: each scenario starts `matchbandit serve` over a
SQLite file with a quiet league of 20 players and a hostile one, measures ask, tell and /healthz first alone, then
beside 20 concurrent hostile requests, whose token opens the hostile league only.
"""

import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from matchbandit.live import Store
from matchbandit.service import tokens

ROUNDS = 300
"""Asks and tells that are measured: the 99 % quantile is then the third largest."""
HOSTILE = 20
"""Concurrent hostile requests."""
TOLD = "/v1/leagues/{}/proposals"


class Wire:
    """One connection."""

    def __init__(self, port: int, token: str = "") -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())


def prepare(store: Store, scenario: str) -> tuple[str, str]:
    """Create both leagues; gives their tokens."""
    rng = np.random.default_rng(1)
    store.create("quiet", players=[f"player {k}" for k in range(20)], seed=1)
    n = {"cts-800": 800, "cts-2000": 2000, "fit": 800}.get(scenario, 3000)
    names = [f"player {k}" for k in range(n)]
    past = None
    if scenario == "fit":
        pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(20_000)}
        past = [(names[a], names[b], float(rng.random() < 0.4)) for a, b in sorted(pairs)]
    policy = "cts-beta" if scenario.startswith("cts") else "rank1-thompson"
    league = store.create("hostile", players=names, policy=policy, seed=1, past=past)
    rules: set[tuple[int, int]] = set()
    if scenario == "star":  # a few who may meet nobody
        rules = {(a, b) for a in range(1, 22) for b in range(a + 1, n + 1)}
    while scenario == "rules" and len(rules) < 64_000:
        a, b = sorted(rng.choice(n, 2, replace=False).tolist())
        rules.add((a + 1, b + 1))
    listed = sorted(rules)
    for first in range(0, len(listed), 10_000):
        league.exclude(listed[first : first + 10_000])
    _, quiet = tokens.create(store, "quiet", scope="play", leagues=["quiet"])
    _, hostile = tokens.create(store, "hostile", scope="play", leagues=["hostile"])
    return quiet, hostile


def attack(port: int, token: str, scenario: str, seconds: float, report: Any) -> None:
    """Hostile requests, again and again from each of many connections."""
    statuses: Counter[int] = Counter()
    end = time.monotonic() + seconds

    def client() -> None:
        wire = Wire(port, token)
        while time.monotonic() < end:
            try:
                if scenario == "fit":
                    status, _ = wire.send("GET", "/v1/leagues/hostile/fit")
                else:
                    status, _ = wire.send("POST", TOLD.format("hostile"), {})
            except (HTTPException, OSError):
                status, wire = 0, Wire(port, token)
            statuses[status] += 1
            if status not in (200, 201):
                time.sleep(0.1)

    threads = [Thread(target=client, daemon=True) for _ in range(HOSTILE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 40)
    report.send(dict(statuses))


def measure(port: int, token: str, until: Callable[[int], bool]) -> dict[str, list[float]]:
    """Asks and tells of the quiet league, one after the other, and /healthz beside them."""
    times: dict[str, list[float]] = {"ask": [], "tell": [], "healthz": []}
    is_over = False

    def watch() -> None:
        wire = Wire(port)
        while not is_over:
            began = time.perf_counter()
            wire.send("GET", "/healthz")
            times["healthz"].append(time.perf_counter() - began)
            time.sleep(0.05)

    watcher = Thread(target=watch)
    watcher.start()
    wire, done = Wire(port, token), 0
    while not until(done):
        began = time.perf_counter()
        status, proposal = wire.send("POST", TOLD.format("quiet"), {})
        times["ask"].append(time.perf_counter() - began)
        assert status == 201, proposal
        rows = [{"pair": pair["ids"], "reward": 1} for pair in proposal["pairs"]]
        began = time.perf_counter()
        status, receipt = wire.send("POST", f"{TOLD.format('quiet')}/{proposal['number']}/outcomes", {"outcomes": rows})
        times["tell"].append(time.perf_counter() - began)
        assert status == 200, receipt
        done += 1
        time.sleep(0.01)
    is_over = True
    watcher.join()
    return times


def compare_fits(port: int, token: str) -> None:
    """How long one /fit takes, and 20 at once, each time after a change of the league."""
    wire = Wire(port, token)
    for readers in (1, 1, HOSTILE):  # the first one starts a worker
        wire.send("POST", TOLD.format("hostile"), {})
        statuses: Counter[int] = Counter()

        def read(statuses: Counter[int] = statuses) -> None:
            statuses[Wire(port, token).send("GET", "/v1/leagues/hostile/fit")[0]] += 1

        threads = [Thread(target=read) for _ in range(readers)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"  {readers} x /fit: {time.perf_counter() - began:.2f} s, {dict(statuses)}", flush=True)


def show(title: str, times: dict[str, list[float]]) -> None:
    parts = []
    for name, values in times.items():
        p50, p99, most = 1000 * np.quantile(values, [0.5, 0.99, 1.0])
        parts.append(f"{name} p50 {p50:.1f} p99 {p99:.1f} max {most:.1f} ms ({len(values)})")
    print(f"  {title:8} " + ", ".join(parts), flush=True)


def run(scenario: str, folder: Path, seconds: float) -> None:
    url = f"sqlite:///{folder}/{scenario}.db"
    with Store(url) as store:
        quiet, hostile = prepare(store, scenario)
    command = [sys.executable, "-m", "matchbandit", "serve", "--port", "0", "--store", url]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        line: dict[str, Any] = {}
        while line.get("event") != "listening":
            text = server.stderr.readline()
            line = json.loads(text) if text.startswith("{") else {}
        lines = server.stderr
        Thread(target=lines.read, daemon=True).start()
        port = int(line["address"].rpartition(":")[2])
        measure(port, quiet, lambda done: done == 50)
        print(scenario)
        show("alone", measure(port, quiet, lambda done: done == ROUNDS))
        if scenario == "fit":
            compare_fits(port, hostile)
        here, there = multiprocessing.Pipe()
        end = time.monotonic() + seconds
        attacker = multiprocessing.get_context("fork").Process(
            target=attack, args=(port, hostile, scenario, seconds, there)
        )
        attacker.start()
        time.sleep(1.0)
        show("attacked", measure(port, quiet, lambda _: time.monotonic() > end))
        attacker.join()
        print(f"  the hostile requests got {here.recv()}", flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for scenario in sys.argv[1:] or ["rules", "star", "cts-800", "cts-2000", "fit"]:
            run(scenario, Path(folder), 20.0)

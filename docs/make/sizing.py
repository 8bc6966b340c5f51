"""Measure what a server needs, for the table in docs/production.md. Takes minutes; Linux, best on an idle machine.

Usage: python docs/make/sizing.py [ROUNDS]

Each row is a new SQLite store and a new server with one process. A round asks over HTTP and sends all outcomes at once.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

from matchbandit.leagues import Store, tokens

CASES = (("rank1-thompson", 20), ("rank1-thompson", 200), ("rank1-thompson", 2000), ("cts-beta", 20), ("cts-beta", 200))
MANY_LEAGUES = 1050
"""Leagues of the store whose `/metrics` is timed."""
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Process:
    """`matchbandit serve` on a free port, and a connection to it."""

    def __init__(self, url: str) -> None:
        with Store(url) as store:
            _, token = tokens.create(store, "sizing", scope="admin")
        command = [sys.executable, "-m", "matchbandit", "serve", "--port", "0", "--store", url, "--rate", "1e6"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = next(line for line in self.process.stderr if '"listening"' in line)
        self._log = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)
        port = int(json.loads(line)["address"].rpartition(":")[2])
        self._connection = HTTPConnection("127.0.0.1", port, timeout=600)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def request(self, method: str, path: str, body: Any = None) -> tuple[bytes, float]:
        began = time.perf_counter()
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        seconds = time.perf_counter() - began
        assert answer.status in (200, 201), content
        return content, seconds

    def play(self, league: str, rng: np.random.Generator) -> tuple[float, float, int]:
        """One round; gives the seconds and the CPU seconds of the ask, and the number of outcomes."""
        before = self.cpu_seconds()
        content, seconds = self.request("POST", f"/v1/leagues/{league}/proposals", {})
        cpu = self.cpu_seconds() - before
        proposal = json.loads(content)
        rows = [{"pair": pair["ids"], "reward": int(rng.random() < 0.4)} for pair in proposal["pairs"]]
        self.request("POST", f"/v1/leagues/{league}/proposals/{proposal['number']}/outcomes", {"outcomes": rows})
        return seconds, cpu, len(rows)

    def cpu_seconds(self) -> float:
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS_PER_SECOND

    def memory(self) -> int:
        """Resident bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.partition("VmRSS:")[2].split()[0])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self._log.wait()


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if not path.name.endswith("-shm"))


def measure(policy: str, players: int, rounds: int, folder: Path) -> str:
    more_leagues = min(100, 40_000 // players)  # of the same size, to measure the memory of one
    url = f"sqlite:///{folder}/store.db"
    names = [f"player {number}" for number in range(players)]
    with Store(url) as store:
        for number in range(1 + more_leagues):
            store.create(f"league-{number}", players=names, policy=policy, seed=number)
    before = size_of(folder)
    process = Process(url)
    rng = np.random.default_rng(1)
    try:
        process.play("league-0", rng)  # loads compiled code
        played = [process.play("league-0", rng) for _ in range(rounds)]
        memory = process.memory()
        others = [process.play(f"league-{number}", rng) for number in range(1, 1 + more_leagues)]
        memory = (process.memory() - memory) // more_leagues
    finally:
        process.stop()
    Store(url).close()  # the write-ahead log is written back
    size = size_of(folder) - before
    outcomes = sum(count for _, _, count in played + others)
    seconds = 1000 * np.array([each for each, _, _ in played])
    cpu = 1000 * sum(each for _, each, _ in played) / rounds
    return (
        f"| `{policy}` | {players} | {np.quantile(seconds, 0.5):.0f} ms | {np.quantile(seconds, 0.99):.0f} ms | "
        f"{cpu:.0f} ms | {memory / 1024:.0f} KiB | {size / outcomes * 1e5 / 2**20:.0f} MiB |"
    )


def time_scrapes(folder: Path) -> str:
    url = f"sqlite:///{folder}/store.db"
    with Store(url) as store:
        for number in range(MANY_LEAGUES):
            store.create(f"league-{number}", players=["ann", "bob", "cem", "dee"], seed=number).ask()
    process = Process(url)
    try:
        process.request("GET", "/metrics")
        seconds = [process.request("GET", "/metrics")[1] for _ in range(50)]
        memory = process.memory()
    finally:
        process.stop()
    return (
        f"{MANY_LEAGUES} leagues, each with an open proposal: /metrics takes {1000 * np.median(seconds):.1f} ms "
        f"(median of 50); the process has {memory / 2**20:.0f} MiB"
    )


def measure_days(folder: Path, leagues: int = 10, players: int = 10_000, days: int = 4) -> str:
    """Large leagues in turn, each with one ask and one request with all outcomes a day."""
    url = f"sqlite:///{folder}/store.db"
    names = [f"player {number}" for number in range(players)]
    with Store(url) as store:
        for number in range(leagues):
            store.create(f"league-{number}", players=names, seed=number)
    before = size_of(folder)
    process, rng, days_cpu, asks = Process(url), np.random.default_rng(1), [], []
    try:
        for _ in range(days):
            cpu = process.cpu_seconds()
            asks += [process.play(f"league-{number}", rng)[0] for number in range(leagues)]
            days_cpu.append((process.cpu_seconds() - cpu) / leagues)
        memory = process.memory()
    finally:
        process.stop()
    Store(url).close()
    size = (size_of(folder) - before) / leagues / days
    return (
        f"{leagues} leagues of {players} players in turn, {days} days: an ask takes {np.median(asks):.2f} s (p99 "
        f"{np.quantile(asks, 0.99):.2f} s), a day of a league {days_cpu[-1]:.2f} s of CPU (the first "
        f"{days_cpu[0]:.2f} s) and {size / 2**20:.2f} MiB; the process has {memory / 2**20:.0f} MiB"
    )


def main(rounds: int) -> None:
    print("| policy | players | ask, p50 | ask, p99 | CPU per ask | memory per league | file per 10⁵ outcomes |")
    print("|---|---|---|---|---|---|---|")
    for policy, players in CASES:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(policy, players, rounds, Path(folder)), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        print(f"\n{time_scrapes(Path(folder))}")
    with tempfile.TemporaryDirectory() as folder:
        print(f"\n{measure_days(Path(folder))}")
    print(f"\n{rounds} rounds, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

"""A server process of one's own, for tests: started, waited for, asked, stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

PATIENCE = 60.0  # seconds; it takes two or three


class Running:
    """`matchbandit serve` in a process; the lines of its log as they come."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.log = folder / "serve.log"
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "matchbandit", "serve", "--port", "0", *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        try:
            self.url = self._address()
            self.http = httpx.Client(base_url=self.url, timeout=PATIENCE)
            self.until(self._ready)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]

    def until(self, so: Callable[[], bool]) -> None:
        """Wait until this is so."""
        end = time.monotonic() + PATIENCE
        while not so():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop; gives its exit code."""
        self.process.send_signal(how)
        self.http.close()
        return self.process.wait(PATIENCE)

    def _address(self) -> str:
        self.until(lambda: any(line["event"] == "listening" for line in self.lines()))
        return next(str(line["address"]) for line in self.lines() if line["event"] == "listening")

    def _ready(self) -> bool:
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

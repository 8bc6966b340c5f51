"""A real server in a process of its own, on a port that is free."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

PATIENCE = 60.0  # seconds; it takes two or three
_COMMAND = (sys.executable, "-m", "matchbandit", "serve")


class Serving:
    """`matchbandit serve`, started, and ended with the block."""

    def __init__(
        self, store: str | None = None, folder: Path | None = None, *options: str, command: Sequence[str] = _COMMAND
    ) -> None:
        """Over this store; by default the one that the environment says, in this folder."""
        variables = {**os.environ, **({} if store is None else {"MATCHBANDIT_STORE": store})}
        self.process = subprocess.Popen(
            [*command, "--port", "0", *options],
            stderr=subprocess.PIPE,
            text=True,
            env=variables,
            cwd=folder,
        )
        assert self.process.stderr is not None
        self.said: list[str] = []
        for line in self.process.stderr:
            self.said.append(line)
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("event") == "listening":
                self.address: str = told["address"]
                break
        else:
            raise AssertionError(f"the server ended: {''.join(self.said)}")
        self._listener = Thread(target=self._listen, daemon=True)  # a pipe that nobody reads fills up: the server waits
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(self.process.stderr)

    def lines(self) -> list[dict[str, Any]]:
        """Its log so far."""
        return [json.loads(line) for line in self.said if line.startswith("{")]

    def until(self, so: Callable[[], bool]) -> None:
        """Wait until this is so."""
        end = time.monotonic() + PATIENCE
        while not so():
            assert self.process.poll() is None, "".join(self.said)
            assert time.monotonic() < end, "".join(self.said)
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop; gives its exit code once all that it said has been read."""
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self._listener.join(PATIENCE)
        return code

    def kill(self) -> None:
        """As a crash: at once, with no time to tidy up."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def __enter__(self) -> "Serving":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)

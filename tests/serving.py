"""A real server in a process of its own, on a port that is free."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

PATIENCE = 60.0  # seconds; it takes two or three


class Serving:
    """`matchbandit serve`, started, and ended with the block."""

    def __init__(self, store: str | None = None, folder: Path | None = None) -> None:
        """Over this store; by default the one that the environment says, in this folder."""
        variables = {**os.environ, **({} if store is None else {"MATCHBANDIT_STORE": store})}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "matchbandit", "serve", "--port", "0"],
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
        Thread(target=self._listen, daemon=True).start()  # a pipe that nobody reads fills up, and the server waits

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(self.process.stderr)

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

"""Slow computations in a worker process, with a time limit: in this one they would stop all other threads."""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Condition
from typing import Any

from matchbandit.leagues.errors import LeagueError

MAX_WAITING = 8
"""Computations that may wait for the worker; each league waits with one decision and one fit at most."""
START_TIMEOUT_S = 60.0
IDLE_S = 300.0
"""A worker that has nothing to do for this long ends, and frees its memory."""
_START = """
import sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
sys.path[:], timeout = connection.recv()
from matchbandit.leagues.workers import work
work(connection, timeout)
"""


class WorkerPool:
    """One worker process, started when it is needed, and killed when a computation exceeds the time limit.

    `multiprocessing` would import the main module in it, which may be a user's script without a guard.
    """

    def __init__(self, timeout: float) -> None:
        """For a time limit in seconds."""
        self.timeout = timeout
        self._queue: deque[object] = deque()
        """Who computes, and who waits, in the order of arrival."""
        self._changed = Condition()
        self._worker: tuple[subprocess.Popen[bytes], Connection] | None = None

    def run(self, task: Callable[..., Any], *arguments: Any, too_slow: str) -> Any:
        """Call a function of a module with picklable arguments; `too_slow` is the message if it takes too long."""
        with self._turn():
            for retried in (False, True):
                try:
                    done, answer = self._compute(task, arguments, too_slow)
                    break
                except (EOFError, OSError) as error:  # it was idle for long, or crashed: try a new one
                    self.close()
                    if retried:
                        raise LeagueError("too-slow", f"{too_slow} (Its process ended early twice.)") from error
                except BaseException:
                    self.close()
                    raise
        if not done:
            raise answer
        return answer

    def close(self) -> None:
        """Kill the worker; the next computation starts another."""
        if self._worker is not None:
            (process, connection), self._worker = self._worker, None
            process.kill()
            process.wait()
            connection.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the worker, in the order of arrival."""
        mine, busy = object(), LeagueError("workers-busy", "other slow computations come first. Try again in a moment.")
        with self._changed:
            if len(self._queue) > MAX_WAITING:
                raise busy
            self._queue.append(mine)
        try:
            with self._changed:
                if not self._changed.wait_for(lambda: self._queue[0] is mine, self.timeout):
                    raise busy
            yield
        finally:
            with self._changed:
                self._queue.remove(mine)
                self._changed.notify_all()

    def _compute(self, task: Callable[..., Any], arguments: tuple[Any, ...], too_slow: str) -> tuple[bool, Any]:
        if self._worker is None:
            here, there = Pipe()
            command = [sys.executable, "-c", _START, str(there.fileno())]
            process = subprocess.Popen(command, pass_fds=(there.fileno(),), stdin=subprocess.DEVNULL)
            self._worker = process, here
            there.close()
            here.send((sys.path, self.timeout))
            if not here.poll(START_TIMEOUT_S):
                raise LeagueError("workers-busy", "a worker process did not start in time. Try again in a moment.")
            here.recv()
        connection = self._worker[1]
        connection.send((task, arguments))
        if not connection.poll(self.timeout):
            raise LeagueError("too-slow", too_slow)
        answer: tuple[bool, Any] = connection.recv()
        return answer


def work(connection: Connection, timeout: float) -> None:
    """Compute what comes through this connection, until nothing comes for long or its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which kills this process
    os.nice(10)
    with suppress(EOFError, OSError):
        connection.send("ready")
        while connection.poll(IDLE_S):
            task, arguments = connection.recv()
            signal.alarm(round(timeout) + 5)  # ends this process if its parent was killed and cannot
            try:
                answer = True, task(*arguments)
            except LeagueError as error:
                answer = False, error
            except Exception as error:
                answer = False, RuntimeError(f"a worker process failed: {error!r}")
            signal.alarm(0)
            connection.send(answer)

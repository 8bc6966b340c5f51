"""Slow computations in a worker process, with a time limit: here they would hold the interpreter lock for seconds."""

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
from typing import Any, TypeVar

from matchbandit.leagues.errors import LeagueError

T = TypeVar("T")
MAX_WAITING = 8
"""Computations that may wait for the worker; a league waits with one decision and one fit at most."""
START_LIMIT_S = 60.0
IDLE_S = 300.0
"""A worker without work for this long ends, and frees its memory."""
_START = """
import sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
sys.path[:], timeout = connection.recv()
from matchbandit.leagues.workers import work
work(connection, timeout)
"""


class WorkerPool:
    """One worker process, which is started when it is needed, and killed when a computation exceeds the time limit.

    It is not started by `multiprocessing`, which would import the main module again: that may be a script without a
    guard.
    """

    def __init__(self, timeout: float) -> None:
        """`timeout` is the time limit in seconds; no process is started yet."""
        self.timeout = timeout
        self._changed = Condition()
        self._queue: deque[object] = deque()
        """Who computes, and who waits, in the order of arrival."""
        self._worker: tuple[subprocess.Popen[bytes], Connection] | None = None

    def run(self, task: Callable[..., T], *arguments: Any, hint: str) -> T:
        """What `task` returns for these arguments, all picklable; `hint` says what to do if it is too slow."""
        with self._turn():
            try:
                try:
                    answer = self._compute(task, arguments, hint)
                except (EOFError, OSError):  # it was idle for long, or crashed: try a new one
                    self.close()
                    answer = self._compute(task, arguments, hint)
            except (EOFError, OSError) as error:
                self.close()
                raise LeagueError("too-slow", f"its process ended twice, perhaps for lack of memory. {hint}") from error
            except BaseException:
                self.close()  # what it computes, nobody waits for any more
                raise
        if isinstance(answer, LeagueError):
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
        mine = object()
        busy = LeagueError("workers-busy", "other slow computations come first. Try again in a moment.")
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

    def _compute(self, task: Callable[..., T], arguments: tuple[Any, ...], hint: str) -> T | LeagueError:
        if self._worker is None:
            self._start()
        assert self._worker is not None
        _, connection = self._worker
        connection.send((task, arguments))
        if not connection.poll(self.timeout):
            raise LeagueError("too-slow", f"it took longer than {self.timeout:g} s. {hint}")
        done, answer = connection.recv()
        if not done:
            raise RuntimeError(f"a worker process failed: {answer}")
        return answer  # type: ignore[no-any-return]

    def _start(self) -> None:
        here, there = Pipe()
        command = [sys.executable, "-c", _START, str(there.fileno())]
        process = subprocess.Popen(command, pass_fds=(there.fileno(),), stdin=subprocess.DEVNULL)
        self._worker = process, here
        there.close()
        here.send((sys.path, self.timeout))
        if not here.poll(START_LIMIT_S):
            raise LeagueError("workers-busy", "a worker process did not start in time. Try again.")
        here.recv()


def work(connection: Connection, timeout: float) -> None:
    """Compute what comes through this connection, until nothing comes for long or its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which kills this process
    os.nice(10)
    with suppress(EOFError, OSError):
        connection.send("ready")
        while connection.poll(IDLE_S):
            task, arguments = connection.recv()
            signal.alarm(round(timeout) + 5)  # ends this process if its parent was killed and cannot
            connection.send(_answer(task, arguments))
            signal.alarm(0)


def _answer(task: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, task(*arguments)
    except LeagueError as error:
        return True, error
    except Exception as error:
        return False, repr(error)

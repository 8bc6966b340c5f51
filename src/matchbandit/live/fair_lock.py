"""A lock that is handed over in the order of arrival: under load nobody waits for long, and nobody for ever."""

import time
from collections import deque
from collections.abc import Callable
from threading import Lock
from types import TracebackType


class FairLock:
    """Like `threading.Lock`, first come, first served.

    A plain lock goes to whoever runs first, which under load is often the thread that has just released it.
    """

    def __init__(self, on_wait: Callable[[float], None] | None = None) -> None:
        """`on_wait` is called with the seconds of each wait for it."""
        self._on_wait = on_wait
        self._mutex = Lock()
        self._is_locked = False
        self._waiting: deque[Lock] = deque()

    def acquire(self, timeout: float = -1) -> bool:
        """Wait for it, at most so many seconds (−1: for ever); False if it did not come."""
        with self._mutex:
            if not self._is_locked:
                self._is_locked = True
                return True
            turn = Lock()
            turn.acquire()  # opened by whoever hands over
            self._waiting.append(turn)
        began = time.monotonic()
        try:
            if turn.acquire(timeout=timeout):
                return True
        except BaseException:  # Ctrl-C while waiting
            if not self._gave_up(turn):
                self.release()
            raise
        finally:
            if self._on_wait is not None:
                self._on_wait(time.monotonic() - began)
        return not self._gave_up(turn)

    def _gave_up(self, turn: Lock) -> bool:
        """Step out of the line; False if the lock was handed over at the last moment."""
        with self._mutex:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return True
        return False

    def release(self) -> None:
        """Hand it to the next in line."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_locked = False

    def __enter__(self) -> None:
        """Wait for it."""
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hand it on."""
        self.release()

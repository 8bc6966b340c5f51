"""A lock that is granted in order of arrival, so that no thread starves under load."""

import time
from collections import deque
from collections.abc import Callable
from threading import Lock
from types import TracebackType


class FairLock:
    """Like `threading.Lock`, but first come, first served.

    `threading.Lock` goes to whichever thread runs first, which under load is often the one that just released it.
    """

    def __init__(self, on_wait: Callable[[float], None] | None = None) -> None:
        """`on_wait` is called with the duration of each wait, in seconds."""
        self._on_wait = on_wait
        self._mutex = Lock()
        self._is_locked = False
        self._waiting: deque[Lock] = deque()

    def acquire(self, timeout: float = -1) -> bool:
        """Wait at most `timeout` seconds (−1: forever); returns whether the lock was acquired."""
        with self._mutex:
            if not self._is_locked:
                self._is_locked = True
                return True
            turn = Lock()
            turn.acquire()  # released by the thread that hands over
            self._waiting.append(turn)
        began = time.monotonic()
        try:
            if turn.acquire(timeout=timeout):
                return True
        except BaseException:  # Ctrl-C while waiting
            if not self._leave_queue(turn):
                self.release()
            raise
        finally:
            if self._on_wait is not None:
                self._on_wait(time.monotonic() - began)
        return not self._leave_queue(turn)

    def _leave_queue(self, turn: Lock) -> bool:
        """Leave the queue; False if the lock was handed over meanwhile."""
        with self._mutex:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return True
        return False

    def release(self) -> None:
        """Hand the lock to the next waiting thread."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_locked = False

    def __enter__(self) -> None:
        """Acquire the lock."""
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock."""
        self.release()

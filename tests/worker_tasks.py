"""Tasks for worker processes, which import them by the name of their module."""

import os
import signal

from matchbandit.leagues import LeagueError


def refuse(code: str) -> None:
    raise LeagueError(code, "no", field="pairs")


def crash_once(marker: str) -> int:
    """End the process abruptly the first time."""
    if not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()

"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable

PATIENCE_S = 60.0
_STEP_S = 0.01


def until(is_so: Callable[[], object]) -> None:
    """Wait until this is so; it takes milliseconds, seconds on a busy machine."""
    for _ in range(round(PATIENCE_S / _STEP_S)):
        if is_so():
            return
        time.sleep(_STEP_S)
    raise AssertionError(f"it did not happen within {PATIENCE_S:g} seconds")

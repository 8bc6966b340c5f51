"""Compiled code: numba, with a cache that is never stale and never breaks anyone."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function when it is first called."""
    made: Any = njit(cache=True)(function)
    return made  # type: ignore[no-any-return]

"""Compile functions with numba, and cache the machine code: never stale, and never in the way of another function.

numba's own cache looks at the file of the called function only: after an edit of a helper the old machine code runs.
And it keeps one index for each function, with the types of all callers in it: an entry that cannot be read breaks
all. `numba_cache` has a file for every compiled function instead, named by what it was made from: its bytecode, that
of all functions that it calls and the constants that they use, the types that it was called with, numba, Python and
the processor. That needs private names of numba; where they are missing, numba's own cache is used.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numba

from matchbandit.cache_folder import warn_once
from matchbandit.fingerprint import is_compiled

try:
    from matchbandit.numba_cache import FunctionCache, compile_notice
except (ImportError, AttributeError):
    HAS_PRIVATE_NAMES = False
else:
    HAS_PRIVATE_NAMES = True

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the machine code for the next process.

    >>> @compiled
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    if not HAS_PRIVATE_NAMES:
        return _compiled_by_numba_alone(function)
    dispatcher: Any = numba.njit(function)
    if is_compiled(dispatcher):  # with NUMBA_DISABLE_JIT=1 it is the function itself
        dispatcher._cache = FunctionCache(function)
    return dispatcher  # type: ignore[no-any-return]


def _compiled_by_numba_alone(function: Function) -> Function:
    """Compile with numba's cache, where that is never stale: functions of this package that are not closures."""
    warn_once(
        f"numba {numba.__version__} is newer than the versions that matchbandit was tested with: much is compiled "
        f"again in every process, which takes some seconds. Install the version that matchbandit requires."
    )
    dispatcher: Any = None
    if function.__module__.startswith("matchbandit.") and function.__closure__ is None:
        with contextlib.suppress(RuntimeError):  # there is no folder to write to
            dispatcher = numba.njit(cache=True)(function)
    return dispatcher or numba.njit(function)  # type: ignore[no-any-return]


def compiled_inline(function: Function) -> Function:
    """Compile a function as a part of each compiled function that calls it: quicker for a small one with few callers.

    It is not cached by itself, so it should not be called from Python.
    """
    dispatcher: Any = numba.njit(inline="always")(function)
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of this package that becomes part of its callers, or the function itself if it is a user's.

    Otherwise it would be compiled by itself, and then optimised once more within its caller. numba cannot inline
    every function, so those of users stay as they are.
    """
    if not is_compiled(function) or not function.__module__.startswith("matchbandit."):
        return function
    return compiled_inline(function.py_func)  # type: ignore[attr-defined,no-any-return]


@contextlib.contextmanager
def without_compile_notice() -> Iterator[None]:
    """No line about compiling within the block: the caller reports it."""
    if not HAS_PRIVATE_NAMES:
        yield
        return
    before, compile_notice.is_shown = compile_notice.is_shown, True
    try:
        yield
    finally:
        compile_notice.is_shown = before

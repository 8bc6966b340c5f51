"""Compiled code: numba, with a cache that is never stale, never breaks anyone else and never needs a home.

numba's own cache looks at the file of the called function only: after an edit of a helper the old machine code runs.
And it keeps one index for each function, with the types of all callers in it: one that cannot be read any more breaks
all. Here every compiled function has a file of its own, named by what it was made from: its bytecode, that of all
functions that it calls and the constants that they use, the types that it was called with, numba, Python and the
processor.
"""

import contextlib
import os
import pickle
import sys
import tempfile
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from numba.core import event
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from matchbandit.fingerprint import fingerprint, is_compiled, typed

Function = TypeVar("Function", bound=Callable[..., Any])

PATIENCE = 0.5
"""After so many seconds of compiling, a line on stderr says so."""
_DIGEST = 16


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the machine code for the next process.

    >>> @compiled
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    made: Any = numba.njit(function)
    if is_compiled(made):  # with NUMBA_DISABLE_JIT=1 it is the function itself
        made._cache = _FunctionCache(function)
    return made  # type: ignore[no-any-return]


def with_functions(template: Function, *, plain: bool = False, **functions: Callable[..., Any]) -> Function:
    """The template with these functions in the place of its globals of that name; compiled, unless it stays plain."""
    source: Any = getattr(template, "py_func", template)
    inside = {name: _inlined(function) for name, function in functions.items()}
    made = types.FunctionType(source.__code__, {**source.__globals__, **inside}, source.__name__)
    return made if plain else compiled(made)  # type: ignore[return-value]


def _inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Ours become part of what calls them: a function of its own would be compiled, and then optimised once more there.

    Yours are left as they are, for numba cannot do that to everything.
    """
    if not is_compiled(function) or not function.__module__.startswith("matchbandit."):
        return function
    inside: Callable[..., Any] = numba.njit(inline="always")(function.py_func)  # type: ignore[attr-defined]
    return inside


# --- the cache ---


class _FunctionCache(_Cache):
    """One file for each compiled function and each set of types that it is called with."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True
        self.first: str | None = None
        """The fingerprint when it was first compiled in this process."""

    @property
    def cache_path(self) -> str:
        """The folder, for numba's statistics."""
        return str(folder() or "")

    def enable(self) -> None:
        """Use it."""
        self._enabled = True

    def disable(self) -> None:
        """Do not use it."""
        self._enabled = False

    def flush(self) -> None:
        """Nothing is ever stale."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept for this signature; None if nothing was, or if it cannot be used."""
        target_context.refresh()
        place = self._place(sig, target_context.codegen()) if self._enabled else None
        try:
            if place is None:
                return None
            kept = place.read_bytes()
            if blake2b(kept[_DIGEST:], digest_size=_DIGEST).digest() != kept[:_DIGEST]:
                return None  # damaged: it is compiled and written anew
            return CompileResult._rebuild(target_context, *pickle.loads(kept[_DIGEST:]))
        except Exception:  # whatever a cache holds, the code can be compiled again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, whole or not at all."""
        place = self._place(sig, data.codegen) if self._enabled else None
        if place is None or any(not part.can_cache for part in data.lifted) or data.library.has_dynamic_globals:
            return
        unfinished = place.with_name(f"{place.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            body = dumps(data._reduce())
            place.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(blake2b(body, digest_size=_DIGEST).digest() + body)
            unfinished.replace(place)
        except (OSError, pickle.PicklingError, TypeError) as error:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
            if isinstance(error, OSError) and os.access(place.parent.parent, os.W_OK):
                _warn_once(
                    f"compiled code cannot be kept in {place.parent.parent}: {error.strerror or error}. It is compiled "
                    f"again in every process; make room there, or set MATCHBANDIT_CACHE to another folder."
                )

    def _place(self, sig: Any, codegen: Any) -> Path | None:
        where = folder()
        try:
            made_from = fingerprint(self._function)
        except Exception:  # something that it uses cannot be looked at, or has changed since it was compiled
            return None
        self.first = self.first or made_from
        if where is None or self.first != made_from:
            return None
        all_of_it = (made_from, typed(sig), codegen.magic_tuple(), _versions())
        name = blake2b(repr(all_of_it).encode(), digest_size=_DIGEST).hexdigest()
        return where / name[:2] / f"{self._function.__name__}-{name}"


@lru_cache(maxsize=1)
def folder() -> Path | None:
    """Where compiled code is kept: MATCHBANDIT_CACHE, else the user's folder for caches, else a temporary one or None.

    Code is loaded from there, so that nobody else may write into it: a folder in a place that all share must be ours.
    """
    given = named_folder()
    if given is not None:
        if (given.is_dir() or _can_make(given)) and _is_safe(given):
            return given
        _warn_once(f"compiled code is not kept in {given}: it cannot be made there, or others may write into it.")
    user = getattr(os, "getuid", lambda: os.environ.get("USERNAME", "user"))()
    for place in (_usual_place(), Path(tempfile.gettempdir()) / f"matchbandit-{user}"):
        if place is not None and _can_make(place) and _is_safe(place, ours=True):
            return place
    return None


def named_folder() -> Path | None:
    """The folder that the environment asks for."""
    if os.environ.get("MATCHBANDIT_CACHE"):
        return Path(os.environ["MATCHBANDIT_CACHE"]).expanduser().absolute()
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"]).expanduser().absolute() / "matchbandit"
    return None


def _usual_place() -> Path | None:
    """The folder for caches of this user, if there is a home."""
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "matchbandit" / "cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "matchbandit"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "matchbandit"
    except RuntimeError:  # no home
        return None


def _can_make(place: Path) -> bool:
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.access(place, os.W_OK)
    except OSError:
        return False


def _is_safe(place: Path, *, ours: bool = False) -> bool:
    """May nobody but us, and unless it must be ours the administrator, write into it?"""
    if not hasattr(os, "getuid"):
        return True
    kept = place.stat()
    owners = {os.getuid()} if ours else {os.getuid(), 0}
    return kept.st_uid in owners and not kept.st_mode & 0o022 and not (ours and place.is_symlink())


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    return sys.version, numba.__version__, llvmlite.__version__, np.__version__


_warned: set[str] = set()


def _warn_once(words: str) -> None:
    if words not in _warned:
        _warned.add(words)
        warnings.warn(words, stacklevel=2)


# --- a word while one waits ---


class _Patience(event.Listener):
    """Says once, on stderr, that code is being compiled, when that has taken longer than `PATIENCE`."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.said = False
        self._depth = 0
        self._began = 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled; a user's own is none of our business."""
        if not isinstance(event.data["dispatcher"]._cache, _FunctionCache) and not self._depth:
            return
        self._depth += 1
        if self._depth == 1 and not self.said:
            self._began = time.perf_counter()
            self._timer = threading.Timer(max(0.0, PATIENCE - self.spent), self.say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """It is done, or has failed."""
        if not self._depth:
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self.spent += time.perf_counter() - self._began
            self._timer = None

    def say(self) -> None:
        """Once."""
        if not self.said:
            self.said = True
            kept = "for this process only" if folder() is None else f"once; kept in {folder()}"
            sys.stderr.write(f"matchbandit: compiling for this machine, which takes some seconds ({kept}) ...\n")
            sys.stderr.flush()


patience = _Patience()
event.register("numba:compile", patience)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """No word of compiling in here: the caller reports it."""
    said, patience.said = patience.said, True
    try:
        yield
    finally:
        patience.said = said

"""All that is private in numba: the cache of compiled functions, and the notice that one is being compiled.

If a numba lacks one of these names, importing this module raises ImportError, and `compiled` does without it.
"""

import contextlib
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import event
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from matchbandit.cache_folder import folder, warn_once
from matchbandit.fingerprint import describe_type, fingerprint

if not (hasattr(CompileResult, "_reduce") and hasattr(CompileResult, "_rebuild")):
    raise ImportError("this numba stores compiled functions in another way")

NOTICE_AFTER_S = 0.5
"""After this many seconds of compiling, a line on stderr says so."""
_DIGEST_BYTES = 16


class FunctionCache(_Cache):
    """One file for each compiled function and each signature that it is called with."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Take the function before it is compiled."""
        self._function = function
        self._enabled = True
        self.first_fingerprint: str | None = None
        """The fingerprint when it was first compiled in this process."""

    @property
    def cache_path(self) -> str:
        """The folder, for numba's statistics."""
        return str(folder() or "")

    def enable(self) -> None:
        """Read and write files."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write files."""
        self._enabled = False

    def flush(self) -> None:
        """Do nothing: no file is ever stale."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was stored for this signature; None if nothing was, or if it cannot be used."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen()) if self._enabled else None
        try:
            if path is None:
                return None
            content = path.read_bytes()
            if blake2b(content[_DIGEST_BYTES:], digest_size=_DIGEST_BYTES).digest() != content[:_DIGEST_BYTES]:
                return None  # damaged: it is compiled and written again
            return CompileResult._rebuild(target_context, *pickle.loads(content[_DIGEST_BYTES:]))
        except Exception:  # whatever a file holds, the code can be compiled again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function, completely or not at all."""
        path = self._path(sig, data.codegen) if self._enabled else None
        if path is None or any(not part.can_cache for part in data.lifted) or data.library.has_dynamic_globals:
            return
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            body = dumps(data._reduce())
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(blake2b(body, digest_size=_DIGEST_BYTES).digest() + body)
            unfinished.replace(path)
        except (OSError, pickle.PicklingError, TypeError) as error:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
            if isinstance(error, OSError) and os.access(path.parent.parent, os.W_OK):
                warn_once(
                    f"compiled code cannot be kept in {path.parent.parent}: {error.strerror or error}. It is compiled "
                    f"again in every process; free space there, or set MATCHBANDIT_CACHE to another folder."
                )

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        """The file for this signature; None if there is no folder, or if the function has changed since."""
        where = folder()
        try:
            made_from = fingerprint(self._function)
        except Exception:  # something that it uses cannot be read, or has changed since it was compiled
            return None
        self.first_fingerprint = self.first_fingerprint or made_from
        if where is None or self.first_fingerprint != made_from:
            return None
        key = (made_from, describe_type(sig), codegen.magic_tuple(), _versions())
        name = blake2b(repr(key).encode(), digest_size=_DIGEST_BYTES).hexdigest()
        return where / name[:2] / f"{self._function.__name__}-{name}"


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    return sys.version, numba.__version__, llvmlite.__version__, np.__version__


class CompileNotice(event.Listener):
    """Says once, on stderr, that code is being compiled, when that has taken longer than `NOTICE_AFTER_S`."""

    def __init__(self) -> None:
        """Nothing was compiled yet."""
        self.is_shown = False
        self._seconds = 0.0
        self._depth = 0
        self._started_at = 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Compilation started; functions from user modules are ignored."""
        if not isinstance(event.data["dispatcher"]._cache, FunctionCache) and not self._depth:
            return
        self._depth += 1
        if self._depth == 1 and not self.is_shown:
            self._started_at = time.perf_counter()
            self._timer = threading.Timer(max(0.0, NOTICE_AFTER_S - self._seconds), self.show)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """Compilation ended or failed."""
        if not self._depth:
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._seconds += time.perf_counter() - self._started_at
            self._timer = None

    def show(self) -> None:
        """Write the line, unless it was written before."""
        if not self.is_shown:
            self.is_shown = True
            where = "for this process only" if folder() is None else f"once; kept in {folder()}"
            sys.stderr.write(f"matchbandit: compiling for this machine, which takes some seconds ({where}) ...\n")
            sys.stderr.flush()


compile_notice = CompileNotice()
event.register("numba:compile", compile_notice)

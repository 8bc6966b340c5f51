"""Where compiled code is cached on disk."""

import os
import sys
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def folder() -> Path | None:
    """The cache of compiled code: MATCHBANDIT_CACHE, else the user's folder for caches, else a temporary one or None.

    Code is loaded from there, so nobody else may write into it: a folder in a shared place must be owned by this user.
    """
    configured = named_folder()
    if configured is not None:
        if (configured.is_dir() or _can_make(configured)) and _is_safe(configured):
            return configured
        warn_once(f"compiled code is not kept in {configured}: it cannot be made there, or others may write into it.")
    user = getattr(os, "getuid", lambda: os.environ.get("USERNAME", "user"))()
    for place in (_default_folder(), Path(tempfile.gettempdir()) / f"matchbandit-{user}"):
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


def _default_folder() -> Path | None:
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
    """May only this user, or unless it must be `ours` the administrator, write into it?"""
    if not hasattr(os, "getuid"):
        return True
    status = place.stat()
    owners = {os.getuid()} if ours else {os.getuid(), 0}
    return status.st_uid in owners and not status.st_mode & 0o022 and not (ours and place.is_symlink())


_warned: set[str] = set()


def warn_once(message: str) -> None:
    """Warn, unless this process has done so before."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, stacklevel=2)

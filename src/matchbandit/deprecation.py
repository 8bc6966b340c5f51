"""Names that were public up to version 0.8: they keep working through 1.x, with a DeprecationWarning."""

import sys
import warnings
from collections.abc import Mapping
from typing import Any


def warn_renamed(old: str, new: str) -> None:
    """Warn the user that a name has changed."""
    _warn(f"{old} is now called {new}; the old name will be removed in matchbandit 2.0.")


def warn_removed(name: str, replacement: str) -> None:
    """Warn the user that a name will go."""
    _warn(f"{name} will be removed in matchbandit 2.0; use {replacement} instead.")


def _warn(message: str) -> None:
    """Warn at the first line outside this package, and outside `abc`, which creates subclasses."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("matchbandit", "abc"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DeprecationWarning, stacklevel=level)


class RenamedAttribute:
    """An attribute or method of a class under its old name; of the class itself, too."""

    def __init__(self, new: str) -> None:
        """Look up `new` instead."""
        self._new = new

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the old name."""
        self._old = name

    def __get__(self, instance: Any, owner: type) -> Any:
        """The attribute under its new name."""
        warn_renamed(f"{owner.__name__}.{self._old}", f"{owner.__name__}.{self._new}")
        return getattr(owner if instance is None else instance, self._new)


def adopt_renamed_attributes(kind: type, names: Mapping[str, str]) -> None:
    """Move what a subclass defines under an old name to the new one, as if it had been written there."""
    for old, new in names.items():
        if old in vars(kind) and new not in vars(kind):
            warn_renamed(f"{kind.__name__}.{old}", f"{kind.__name__}.{new}")
            setattr(kind, new, vars(kind)[old])
            delattr(kind, old)

"""Names that were public up to version 0.8: they keep working through 1.x, with a DeprecationWarning."""

import warnings
from collections.abc import Mapping
from typing import Any


def warn_renamed(old: str, new: str, *, stacklevel: int = 2) -> None:
    """Warn the caller's caller that a name has changed."""
    warnings.warn(
        f"{old} is now called {new}; the old name will be removed in matchbandit 2.0.",
        DeprecationWarning,
        stacklevel=stacklevel + 1,
    )


def warn_removed(name: str, replacement: str, *, stacklevel: int = 2) -> None:
    """Warn the caller's caller that a name will go."""
    warnings.warn(
        f"{name} will be removed in matchbandit 2.0; use {replacement} instead.",
        DeprecationWarning,
        stacklevel=stacklevel + 1,
    )


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
            warn_renamed(f"{kind.__name__}.{old}", f"{kind.__name__}.{new}", stacklevel=3)
            setattr(kind, new, vars(kind)[old])
            delattr(kind, old)

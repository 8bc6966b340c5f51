"""Deprecated names: they work through 1.x, with a DeprecationWarning, and will be removed in 2.0.

`RENAMED` and `REMOVED` are the only lists of them; warnings, tests and the documentation are made from these.
"""

from collections.abc import Mapping
from typing import Any

from matchbandit.errors import warn_user

RENAMED = {
    "matchbandit.Fits": "matchbandit.Capabilities",
    "matchbandit.Found": "matchbandit.Identification",
    "matchbandit.draw_bounds": "matchbandit.plot_bounds",
    "matchbandit.for_decisions": "matchbandit.counts_policy",
    "matchbandit.load_found": "matchbandit.load",
    "matchbandit.load_identification": "matchbandit.load",
    "Policy.fits": "Policy.capabilities",
    "Policy.remembered": "Policy.state_fields",
    "Policy.derived": "Policy.transient_fields",
    "Policy.reasons": "Policy.explain_extra",
    "Policy.take": "Policy.add_logged",
    "Policy.credited": "Policy.encode_rewards",
    "CountsPolicy.book": "CountsPolicy.add_results",
    "CountsPolicy.put": "CountsPolicy.set_counts",
    "League.bring_back": "League.rejoin",
    "RemoteLeague.bring_back": "RemoteLeague.rejoin",
    "Study.own_modules": "Study.user_modules",
    "Difference.told_apart": "Difference.is_distinguishable",
    "WatchedRun.film": "WatchedRun.recording",
    "Frame.beaten": "Frame.eliminations",
    "Store(patience=)": "Store(lock_timeout=)",
}
"""Old names with the new ones. Those of `Policy` are names that subclasses define."""
REMOVED = {
    "matchbandit.propose": "matchbandit.counts_policy(...).decide(...)",
    "Standing.error": "Standing.to_best.interval",
}
"""Names without a successor, with what to use instead."""


def warn_deprecated(name: str) -> None:
    """Warn the user of a name in `RENAMED` or `REMOVED`."""
    if name in RENAMED:
        warn_renamed(name, RENAMED[name])
    else:
        warn_user(
            f"{name} is deprecated and will be removed in matchbandit 2.0; use {REMOVED[name]} instead.",
            DeprecationWarning,
        )


def warn_renamed(old: str, new: str) -> None:
    """Warn the user that a name has changed."""
    warn_user(f"{old} is now called {new}; the old name will be removed in matchbandit 2.0.", DeprecationWarning)


class RenamedAttribute:
    """An attribute or method of a class, or of its instances, under its old name."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Look up the new name, which must be that of an attribute of the same class."""
        self._old = name
        self._new = RENAMED[f"{owner.__name__}.{name}"].removeprefix(f"{owner.__name__}.")

    def __get__(self, instance: Any, owner: type) -> Any:
        """Return the attribute under its new name."""
        warn_renamed(f"{owner.__name__}.{self._old}", f"{owner.__name__}.{self._new}")
        return getattr(owner if instance is None else instance, self._new)


def renamed_in(owner: str) -> dict[str, str]:
    """Return the names that changed in a class or a module.

    >>> renamed_in("CountsPolicy")
    {'book': 'add_results', 'put': 'set_counts'}
    """
    prefix = f"{owner}."
    return {
        old.removeprefix(prefix): new.removeprefix(prefix) for old, new in RENAMED.items() if old.startswith(prefix)
    }


def adopt_renamed_attributes(kind: type, names: Mapping[str, str]) -> None:
    """Move what a subclass defines under an old name to the new one, as if it had been written there."""
    for old, new in names.items():
        if old in vars(kind) and new not in vars(kind):
            warn_renamed(f"{kind.__name__}.{old}", f"{kind.__name__}.{new}")
            setattr(kind, new, vars(kind)[old])
            delattr(kind, old)

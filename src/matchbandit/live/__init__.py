"""Leagues of named items: propose pairs, record outcomes, explain decisions.

A reward is what a pair achieved *together*, not who won.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from matchbandit.extras import need

if TYPE_CHECKING:
    from matchbandit.live.errors import LeagueError as LeagueError
    from matchbandit.live.events import Event as Event
    from matchbandit.live.league import League as League
    from matchbandit.live.league_api import LeagueApi as LeagueApi
    from matchbandit.live.league_view import LeagueView as LeagueView
    from matchbandit.live.records import VOID as VOID
    from matchbandit.live.records import Item as Item
    from matchbandit.live.records import Outcome as Outcome
    from matchbandit.live.records import Proposal as Proposal
    from matchbandit.live.records import Receipt as Receipt
    from matchbandit.live.settings import LeagueSettings as LeagueSettings
    from matchbandit.live.store import Store as Store
    from matchbandit.live.why import Why as Why

_NAMES_BY_MODULE = {
    "errors": ("LeagueError",),
    "events": ("Event",),
    "league": ("League",),
    "league_api": ("LeagueApi",),
    "league_view": ("LeagueView",),
    "records": ("VOID", "Item", "Outcome", "Proposal", "Receipt"),
    "settings": ("LeagueSettings",),
    "store": ("Store",),
    "why": ("Why",),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
_NEED_SQLALCHEMY = ("league", "league_view", "store")
"""Modules that need SQLAlchemy."""

__all__ = [
    "VOID",
    "Event",
    "Item",
    "League",
    "LeagueApi",
    "LeagueError",
    "LeagueSettings",
    "LeagueView",
    "Outcome",
    "Proposal",
    "Receipt",
    "Store",
    "Why",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'matchbandit.live' has no attribute {name!r}")
    if _MODULE_BY_NAME[name] in _NEED_SQLALCHEMY:
        need("sqlalchemy", "a store of leagues")
    return getattr(import_module(f"matchbandit.live.{_MODULE_BY_NAME[name]}"), name)

"""Leagues of named items: whom to pair today, what came back, and why; kept safe, explained, never forgotten.

A reward is what a pair achieved *together*, not who won.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from matchbandit.extras import need

if TYPE_CHECKING:
    from matchbandit.live.errors import LeagueError as LeagueError
    from matchbandit.live.records import VOID as VOID
    from matchbandit.live.store import Store as Store

_HOME = {"LeagueError": "errors", "VOID": "records", "Store": "store"}
__all__ = ["VOID", "LeagueError", "Store"]


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first used: what decides and explains needs no database."""
    if name not in _HOME:
        raise AttributeError(f"module 'matchbandit.live' has no attribute {name!r}")
    if _HOME[name] == "store":
        need("sqlalchemy", "a store of leagues")
    return getattr(import_module(f"matchbandit.live.{_HOME[name]}"), name)

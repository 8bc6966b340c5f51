"""Leagues of named items: whom to pair today, what came back, and why; stored in SQLite or PostgreSQL.

Storage and decisions are here, the HTTP service, its client and the dashboard in `service`. The algorithms are the
library's.
"""

from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.league import League
from matchbandit.leagues.records import VOID
from matchbandit.leagues.store import Store

__all__ = ["VOID", "League", "LeagueError", "Store"]

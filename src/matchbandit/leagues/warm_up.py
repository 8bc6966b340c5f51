"""Compile what leagues need before the first request does; the machine code is cached on disk."""

from collections.abc import Iterable

from matchbandit.leagues.records import LeagueInfo
from matchbandit.leagues.settings import LeagueSettings
from matchbandit.leagues.store import Store

_SIZES = (5, 200)
"""Items: few are fitted with a dense factorization, many with conjugate gradients."""


def warm_up(leagues: Iterable[LeagueInfo] = ()) -> None:
    """Ask, tell and rank in leagues in memory, one for each policy of these leagues and the default one."""
    settings = {(info.settings["policy"], info.rewards, info.sides is None): info.settings for info in leagues}
    default = LeagueSettings().policy
    with Store("sqlite://") as store:
        store.create("many", players=[f"p{k}" for k in range(_SIZES[1])])
        _play(store, "many")

"""Compile what leagues need before the first request does; the machine code is cached on disk."""

from collections.abc import Iterable
from typing import Any

from matchbandit.leagues.league import League
from matchbandit.leagues.records import LeagueInfo
from matchbandit.leagues.store import Store

_FEW, _MANY = 5, 200
"""Items: few are fitted with a dense factorization, many with conjugate gradients."""


def warm_up(leagues: Iterable[LeagueInfo] = ()) -> None:
    """Ask, tell and rank in small leagues in memory: one like each kind of these, and the default ones."""
    kinds: dict[Any, dict[str, Any]] = {}
    for info in leagues:
        settings = {name: info.settings[name] for name in ("policy", "options", "selection")}
        kinds[settings["policy"], settings["selection"], info.rewards, info.sides is None] = settings
    with Store("sqlite://") as store:
        _play(store.create("few", players=_names(_FEW)))
        _play(store.create("many", players=_names(_MANY)))
        for number, ((_, _, rewards, has_players), settings) in enumerate(kinds.items()):
            items = {"players": _names(_FEW)} if has_players else {"sides": {"a": _names(_FEW), "b": _names(_FEW)}}
            _play(store.create(f"league-{number}", **items, rewards=rewards, **settings))


def _names(n: int) -> list[str]:
    return [f"item {k}" for k in range(n)]


def _play(league: League) -> None:
    for outcome in (1.0, 0.0):
        proposal = league.ask()
        league.tell(proposal.number, {pair: outcome for pair in proposal.pairs})
    league.ranking()
    league.fit()

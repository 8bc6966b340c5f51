"""`matchbandit league exclude`, `allow`, `wish`, `unwish`: who must not meet, and who should."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.league.opening import BY, STORE, LeagueName, StoreUrl, opened_league
from matchbandit.cli.league.shown import print_json
from matchbandit.cli.league.typed import pairs_typed
from matchbandit.cli.options import Json, counted

if TYPE_CHECKING:
    from matchbandit.live.league import League

Pairs = Annotated[list[str], typer.Argument(metavar="PAIR...", help="Such as ann+bob.", show_default=False)]


def exclude(league: LeagueName, pairs: Pairs, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Never propose these pairs."""
    _apply(store, league, pairs, lambda opened: opened.exclude, "excluded", as_json=as_json)


def allow(league: LeagueName, pairs: Pairs, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Propose excluded pairs again."""
    _apply(store, league, pairs, lambda opened: opened.allow, "allowed again", as_json=as_json)


def wish(league: LeagueName, pairs: Pairs, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Propose these pairs as soon as both are there, once."""
    _apply(store, league, pairs, lambda opened: opened.wish, "wished for", as_json=as_json)


def unwish(league: LeagueName, pairs: Pairs, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Take wishes back."""
    _apply(store, league, pairs, lambda opened: opened.unwish, "wished for no more", as_json=as_json)


def _apply(
    store: str,
    league: str,
    pairs: list[str],
    method: "Callable[[League], Callable[..., Any]]",
    done: str,
    *,
    as_json: bool,
) -> None:
    with opened_league(store, league) as opened:
        given = pairs_typed(pairs, lambda: [item.name for item in opened.items()])
        method(opened)(given, by=BY)
    if as_json:
        print_json({"pairs": given})
    else:
        typer.echo(f"{counted(len(given), 'pair')} {done}")

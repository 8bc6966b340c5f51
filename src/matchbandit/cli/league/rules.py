"""`matchbandit league exclude`, `allow`, `wish`, `unwish`: who must not meet, and who should."""

from typing import Annotated

import typer

from matchbandit.cli.league.opening import BY, STORE, LeagueName, StoreUrl, opened_league
from matchbandit.cli.league.shown import print_json
from matchbandit.cli.league.typed import pairs_typed
from matchbandit.cli.options import Json
from matchbandit.errors import plural

Pairs = Annotated[list[str], typer.Argument(metavar="PAIR...", help="Such as ann+bob.", show_default=False)]


def exclude(league: LeagueName, pairs: Pairs, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Never propose these pairs."""
    _apply(store, league, pairs, "exclude", "exclusions", "excluded", "excluded already", as_json=as_json)


def allow(league: LeagueName, pairs: Pairs, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Propose excluded pairs again."""
    _apply(store, league, pairs, "allow", "exclusions", "allowed again", "not excluded", as_json=as_json)


def wish(league: LeagueName, pairs: Pairs, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Propose these pairs as soon as both are there, once."""
    _apply(store, league, pairs, "wish", "wishes", "wished for", "wished for already", as_json=as_json)


def unwish(league: LeagueName, pairs: Pairs, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Take wishes back."""
    _apply(store, league, pairs, "unwish", "wishes", "wished for no more", "not wished for", as_json=as_json)


def _apply(
    store: str,
    league: str,
    pairs: list[str],
    verb: str,
    kept: str,
    done: str,
    before: str,
    *,
    as_json: bool,
) -> None:
    with opened_league(store, league) as opened:
        given = pairs_typed(pairs, lambda: [item.name for item in opened.items()])
        there = len(opened.about()[kept])
        getattr(opened, verb)(given, by=BY)
        changed = abs(len(opened.about()[kept]) - there)
    if as_json:
        print_json({"pairs": given})
    else:
        same = len(given) - changed
        typer.echo(f"{plural(changed, 'pair')} {done}{f', {same} {before}' if same else ''}")

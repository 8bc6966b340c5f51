"""`matchbandit league archive`, `delete`, `restore`: leagues that are over, or should not be there."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.common import BY, STORE, LeagueName, StoreUrl, moment, opened_store, print_json
from matchbandit.cli.options import Json
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.live.lifecycle import LeagueStatus


def archive(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Keep a league as it is: it can be read, not changed.

    It is not listed any more, and its deadlines do not pass.
    """
    with opened_store(store) as opened:
        status = opened.archive(league, by=BY)
    _print(status, f"archived at {moment(status.since or '')}", as_json=as_json)


def restore(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Make an archived or deleted league active again."""
    with opened_store(store) as opened:
        status = opened.restore(league, by=BY)
    _print(status, "active", as_json=as_json)


def delete(
    league: LeagueName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    now: Annotated[bool, typer.Option("--now", help="Erase it at once: nothing can be restored.")] = False,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Delete a league.

    It is hidden at once, can be restored for 30 days, and is then erased.
    """
    with opened_store(store) as opened:
        if not yes:
            _confirm(league, now=now)
        status = opened.delete(league, now=now, by=BY)
    words = "erased" if now else f"deleted; it can be restored until {moment(status.erase_after or '')}"
    _print(status, words, as_json=as_json)


def _confirm(league: str, *, now: bool) -> None:
    if not sys.stdin.isatty():
        raise MatchbanditError(f"nobody can be asked whether to delete {league!r}. Add --yes if you are sure.")
    what = "Erase for good" if now else "Delete"
    if not typer.confirm(f"{what} the league {league!r}?", err=True):
        raise MatchbanditError(f"{league!r} was not deleted.")


def _print(status: "LeagueStatus", words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(status)
    else:
        typer.echo(f"{status.name}: {words}")

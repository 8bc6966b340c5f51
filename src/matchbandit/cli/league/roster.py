"""`matchbandit league join`, `leave`, `rename`, `forget`: who is in a league."""

from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.opening import BY, STORE, LeagueName, StoreUrl, opened_league
from matchbandit.cli.league.shown import print_json
from matchbandit.cli.options import Json
from matchbandit.errors import plural

if TYPE_CHECKING:
    from matchbandit.live.league import League

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)]
Side = Annotated[str | None, typer.Option(help="Of which side, in a league of two.", show_default=False)]


def join(
    league: LeagueName,
    names: Names,
    side: Side = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Let items join, or come back.

    Who comes back is known as before.
    """
    with opened_league(store, league) as opened:
        opened.join(*names, side=side, by=BY)
        _say(opened, as_json=as_json)


def leave(league: LeagueName, names: Names, side: Side = None, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Let items leave.

    Their results stay, and what is open can still be told.
    """
    with opened_league(store, league) as opened:
        opened.leave(*names, side=side, by=BY)
        _say(opened, as_json=as_json)


def rename(
    league: LeagueName,
    old: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", show_default=False)],
    side: Side = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Give an item another name."""
    with opened_league(store, league) as opened:
        opened.rename(old, new, side=side, by=BY)
        _say(opened, as_json=as_json)


def forget(league: LeagueName, name: Name, side: Side = None, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Erase a name for good.

    Its results stay, under a number.
    """
    with opened_league(store, league) as opened:
        opened.forget(name, side=side, by=BY)
        _say(opened, as_json=as_json)


def _say(league: "League", *, as_json: bool) -> None:
    items = league.items()
    if as_json:
        print_json(items)
        return
    active = [item for item in items if item.active]
    left = len(items) - len(active)
    typer.echo(f"{league.name}: {plural(len(active), 'item')}{f', and {left} who left' if left else ''}")

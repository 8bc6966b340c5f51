"""`matchbandit league join`, `leave`, `rename`, `forget`, and rules for pairs: `exclude`, `allow`, `wish`, `unwish`."""

from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.common import BY, STORE, LeagueName, StoreUrl, opened_league, pairs_typed, print_json
from matchbandit.cli.options import Json
from matchbandit.formatting import plural

if TYPE_CHECKING:
    from matchbandit.live.league import League

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)]
Pairs = Annotated[list[str], typer.Argument(metavar="PAIR...", help="Such as ann+bob.", show_default=False)]
Side = Annotated[str | None, typer.Option(help="Of which side, in a league of two.", show_default=False)]


def join(
    league: LeagueName,
    names: Names,
    side: Side = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Add items, or bring back those that left.

    Who comes back keeps all results.
    """
    with opened_league(store, league) as opened:
        opened.join(*names, side=side, by=BY)
        _print_roster(opened, as_json=as_json)


def leave(league: LeagueName, names: Names, side: Side = None, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Take items out of a league.

    Their results stay, and outcomes of open proposals can still be told.
    """
    with opened_league(store, league) as opened:
        opened.leave(*names, side=side, by=BY)
        _print_roster(opened, as_json=as_json)


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
        _print_roster(opened, as_json=as_json)


def forget(league: LeagueName, name: Name, side: Side = None, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Erase a name for good.

    Its results stay, under a number.
    """
    with opened_league(store, league) as opened:
        opened.forget(name, side=side, by=BY)
        _print_roster(opened, as_json=as_json)


def _print_roster(league: "League", *, as_json: bool) -> None:
    items = league.items()
    if as_json:
        print_json(items)
        return
    active = [item for item in items if item.active]
    left = len(items) - len(active)
    typer.echo(f"{league.name}: {plural(len(active), 'item')}{f', and {left} who left' if left else ''}")


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
    rules: str,
    done: str,
    before: str,
    *,
    as_json: bool,
) -> None:
    with opened_league(store, league) as opened:
        names = pairs_typed(pairs, lambda: [item.name for item in opened.items()])
        n_before = len(opened.about()[rules])
        getattr(opened, verb)(names, by=BY)
        n_changed = abs(len(opened.about()[rules]) - n_before)
    if as_json:
        print_json({"pairs": names})
    else:
        n_same = len(names) - n_changed
        typer.echo(f"{plural(n_changed, 'pair')} {done}{f', {n_same} {before}' if n_same else ''}")

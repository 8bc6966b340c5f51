"""`matchbandit league join`, `leave`, `rename`, `forget`, and rules for pairs: `exclude`, `allow`, `wish`, `unwish`."""

from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.parameters import BY, LeagueName, StoreUrl, open_league, parse_pairs
from matchbandit.cli.output import Output, prints_output
from matchbandit.formatting import plural

if TYPE_CHECKING:
    from matchbandit.live.league import League

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)]
Pairs = Annotated[list[str], typer.Argument(metavar="PAIR...", help="Such as ann+bob.", show_default=False)]
Side = Annotated[
    str | None, typer.Option(metavar="NAME", help="The side of the item, in a league of two sides.", show_default=False)
]


@prints_output
def join(league: LeagueName, names: Names, side: Side = None, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Add items, or items that had left.

    Items that come back keep their results.
    """
    with open_league(store, league) as opened:
        opened.join(*names, side=side, by=BY)
        return _roster(opened)


@prints_output
def leave(league: LeagueName, names: Names, side: Side = None, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Remove items from future proposals.

    Their results stay, and outcomes of open proposals can still be recorded.
    """
    with open_league(store, league) as opened:
        opened.leave(*names, side=side, by=BY)
        return _roster(opened)


@prints_output
def rename(
    league: LeagueName,
    old: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", show_default=False)],
    side: Side = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Rename an item."""
    with open_league(store, league) as opened:
        opened.rename(old, new, side=side, by=BY)
        return _roster(opened)


@prints_output
def forget(league: LeagueName, name: Name, side: Side = None, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Erase a name permanently.

    Its results stay, under a number.
    """
    with open_league(store, league) as opened:
        opened.forget(name, side=side, by=BY)
        return _roster(opened)


def _roster(league: "League") -> Output:
    items = league.items()
    active = [item for item in items if item.active]
    left = len(items) - len(active)
    return Output(items, f"{league.name}: {plural(len(active), 'item')}{f', and {left} who left' if left else ''}")


@prints_output
def exclude(league: LeagueName, pairs: Pairs, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Never propose these pairs."""
    return _apply(store, league, pairs, "exclude", "exclusions", "excluded", "excluded already")


@prints_output
def allow(league: LeagueName, pairs: Pairs, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Allow excluded pairs again."""
    return _apply(store, league, pairs, "allow", "exclusions", "allowed again", "not excluded")


@prints_output
def wish(league: LeagueName, pairs: Pairs, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Propose these pairs once, as soon as both are available."""
    return _apply(store, league, pairs, "wish", "wishes", "wished for", "wished for already")


@prints_output
def unwish(league: LeagueName, pairs: Pairs, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Withdraw wishes."""
    return _apply(store, league, pairs, "unwish", "wishes", "no longer wished for", "not wished for")


def _apply(store: str, league: str, pairs: list[str], method: str, rules: str, changed: str, unchanged: str) -> Output:
    """Call a method of the league with these pairs, and count those that changed its rules."""
    with open_league(store, league) as opened:
        names = parse_pairs(pairs, lambda: [item.name for item in opened.items()])
        n_before = len(opened.about()[rules])
        getattr(opened, method)(names, by=BY)
        n_changed = abs(len(opened.about()[rules]) - n_before)
    n_same = len(names) - n_changed
    text = f"{plural(n_changed, 'pair')} {changed}{f', {n_same} {unchanged}' if n_same else ''}"
    return Output({"pairs": names}, text)

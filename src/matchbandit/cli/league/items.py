"""`matchbandit league join`, `leave`, `rename` and `rule`: who is in a league, and which pairs are allowed."""

from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.output import format_size
from matchbandit.cli.league.parameters import BY, Side, item_names, on_league, parse_pair
from matchbandit.cli.output import Output, print_records
from matchbandit.cli.parameters import argument, choice
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import plural

if TYPE_CHECKING:
    from matchbandit.leagues import League
    from matchbandit.leagues.records import Item

_RULES = {
    "exclude": ("excluded", "excluded already"),
    "unexclude": ("allowed again", "not excluded"),
    "pin": ("pinned", "pinned already"),
    "unpin": ("no longer pinned", "not pinned"),
}
"""What is said of the pairs that an action changes, and of those that it does not."""
ItemNames = Annotated[list[str], argument("NAME...")]


@on_league
def join(league: "League", names: ItemNames, side: Side = None) -> Output:
    """Add items, or items that had left.

    Items that come back keep their results.
    """
    return _items_output(league, league.join(*names, side=side, by=BY))


@on_league
def leave(
    league: "League",
    names: ItemNames,
    side: Side = None,
    erase_name: Annotated[bool, typer.Option("--erase-name", help="Erase the names permanently.")] = False,
) -> Output:
    """Remove items from future proposals.

    Their results stay, and outcomes of open proposals can still be recorded.
    """
    items = league.leave(*names, side=side, by=BY)  # all of them, or none if a name is unknown
    if erase_name:
        items = [league.erase_name(item.id, by=BY) for item in items]
    return _items_output(league, items)


@on_league
def rename(
    league: "League", old: Annotated[str, argument("NAME")], new: Annotated[str, argument("NEW")], side: Side = None
) -> Output:
    """Rename an item."""
    return _items_output(league, [league.rename(old, new, side=side, by=BY)])


def _items_output(league: "League", items: "list[Item]") -> Output:
    return Output(items, f"{league.slug}: {format_size(league.info())}")


@on_league
def rule(
    league: "League",
    action: Annotated[str | None, argument("[ACTION]", " | ".join(_RULES), choice("action", _RULES))] = None,
    pairs: Annotated[list[str] | None, argument("[PAIR]...", "Such as ann+bob.")] = None,
) -> Output:
    """Exclude pairs, or pin them for once; without an action, list the rules.

    An excluded pair is never proposed. A pinned one is part of the next proposal for which both are available.
    """
    if action is None:
        rules = league.rules().rows
        hint = f"no rule yet. Exclude a pair: matchbandit league rule {league.slug} exclude ann+bob"
        rows = [(each.kind, each.names) for each in rules]
        return Output(rules, (lambda: print_records(rows, ("rule", "pair"))) if rows else hint)
    if not pairs:
        raise MatchbanditError(f"say which pairs to {action}, such as ann+bob.")
    names = [parse_pair(text, lambda: item_names(league)) for text in pairs]
    changed = getattr(league, action)(names, by=BY)
    done, same = _RULES[action]
    unchanged = f", {len(names) - changed} {same}" if changed < len(names) else ""
    return Output(
        {"action": action, "pairs": names, "changed": changed}, f"{plural(changed, 'pair')} {done}{unchanged}"
    )

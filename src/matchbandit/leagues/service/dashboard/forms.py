"""What forms do: each calls a method of a league, and leads to a page or, if it is refused, shows what was typed."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from matchbandit.leagues import League, LeagueError
from matchbandit.leagues.names import collapse_spaces, item_label
from matchbandit.leagues.service.dashboard import fields, pages
from matchbandit.leagues.service.dashboard.frame import Form, Sent, Visit, Visitor

router = APIRouter()


def _submit(visitor: Visit, sent: Form, act: Callable[[], str], again: Callable[[Visit], Response]) -> Response:
    """Do what a form asks for, and go to the page that `act` names; if it is refused, show the form again."""
    try:
        path = act()
    except LeagueError as error:
        visitor.typed, visitor.error = sent, error
        return again(visitor)
    return RedirectResponse(path, 303)


def _check_action(action: str, *actions: str) -> None:
    if action not in actions:
        raise LeagueError("not-found", f"there is no action {action[:40]!r}.")


# Leagues -------------------------------------------------------------------------------------------------------------


@router.post("/new")
def create_league(visitor: Visitor, sent: Sent) -> Response:
    """Create a league of players, or of two sides."""
    visitor.require("admin")

    def create() -> str:
        slug, sides = sent.one("slug"), (sent.one("first-side"), sent.one("second-side"))
        if not visitor.token.sees(slug):
            raise LeagueError("not-allowed", "your token is for other leagues.")
        first, second = (fields.names_in(sent.lines(name)) for name in ("first-names", "second-names"))
        items: dict[str, Any] = {"players": first}
        if second or any(sides):
            if not all(sides) or sides[0] == sides[1]:
                raise LeagueError("bad-value", "two sides have different names, such as ads and slots.")
            items = {"sides": dict(zip(sides, (first, second), strict=True))}
        settings = fields.changed_settings(sent)
        visitor.store.create(slug, **items, rewards=sent.one("rewards"), **settings, **visitor.writing(sent))
        return f"/leagues/{slug}?done=create"

    return _submit(visitor, sent, create, pages.new_league)


@router.post("/leagues/{slug}/lifecycle/{action}")
def change_league(visitor: Visitor, sent: Sent, action: str) -> Response:
    """Archive, restore or delete the league."""
    visitor.require("admin")
    _check_action(action, *pages.LIFECYCLE)
    getattr(visitor.store, action)(visitor.slug, **visitor.writing(sent))
    return RedirectResponse(f"{'/' if action == 'delete' else visitor.path}?done={action}", 303)


@router.post("/leagues/{slug}/settings")
def configure(visitor: Visitor, sent: Sent) -> Response:
    """Save the settings that were changed."""
    visitor.require("admin")

    def save() -> str:
        changes = fields.changed_settings(sent)
        if changes:
            visitor.league.configure(**changes, **visitor.writing(sent))
        return f"{visitor.path}/settings?done={'saved' if changes else 'unchanged'}"

    return _submit(visitor, sent, save, pages.settings)


# Proposals and outcomes ----------------------------------------------------------------------------------------------


@router.post("/leagues/{slug}/ask")
def ask(visitor: Visitor, sent: Sent) -> Response:
    """Ask for a proposal of everybody but those who are absent."""
    visitor.require("play")

    def propose() -> str:
        absent, fixed = fields.names_in(sent.lines("absent")), fields.pairs_in(sent.lines("fixed"))
        available = _without(visitor.league, absent) if absent else None
        proposal = visitor.league.ask(available=available, fixed=fixed or None, **visitor.writing(sent))
        visitor.request.app.state.metrics.proposals.inc()
        return f"{visitor.path}?done=ask:{proposal.number}"

    return _submit(visitor, sent, propose, pages.league)


def _without(league: League, absent: list[str]) -> list[int]:
    """The ids of the active items but these; an error if one of the names is not theirs."""
    ids = defaultdict(list)
    present = {item.id for item in league.items(active=True)}
    for item in league.items(active=True):
        ids[item.name].append(item.id)
        ids[item_label(item.id)].append(item.id)
    for name in map(collapse_spaces, absent):
        if len(ids[name]) != 1:
            problem = "is on both sides: type # and its number" if ids[name] else "is not active in this league"
            raise LeagueError("unknown-item", f"{name[:80]!r} {problem}.")
        present -= set(ids[name])
    return sorted(present)


@router.post("/leagues/{slug}/proposals/{number}/{action}")
def record(visitor: Visitor, sent: Sent, number: int, action: str) -> Response:
    """Record or correct outcomes, or set all missing ones to void."""
    visitor.require("play")
    _check_action(action, "tell", "correct", "void")
    on_proposal = sent.one("from") == "proposal"

    def write() -> str:
        rows, writing = fields.outcomes(sent), visitor.writing(sent)
        done = "unchanged"
        if action == "void" or rows:
            receipt = getattr(visitor.league, action)(number, *([] if action == "void" else [rows]), **writing)
            for kind in ("recorded", "repeated"):
                visitor.request.app.state.metrics.outcomes.labels(kind).inc(getattr(receipt, kind))
            done = f"{action}:{receipt.recorded}"
        return f"{visitor.path}{f'/proposals/{number}' if on_proposal else ''}?done={done}"

    again = partial(pages.league, number=number)
    if on_proposal:
        search, position = sent.one("search"), sent.one("after")
        after = int(position) if position.isascii() and position.isdecimal() and len(position) < 10 else 0
        again = partial(pages.proposal, number=number, after=after, search=search, correct=action == "correct")
    return _submit(visitor, sent, write, again)


# Items and rules -----------------------------------------------------------------------------------------------------


@router.post("/leagues/{slug}/items")
def join(visitor: Visitor, sent: Sent) -> Response:
    """Add items; those that left come back."""
    visitor.require("admin")

    def add() -> str:
        side = sent.one("side") or None
        names = fields.names_in(sent.lines("names"))
        return f"{visitor.path}/items?done=join:{len(visitor.league.join(*names, side=side, **visitor.writing(sent)))}"

    return _submit(visitor, sent, add, pages.items)


@router.post("/leagues/{slug}/items/{id}/{action}")
def change_item(visitor: Visitor, sent: Sent, id: int, action: str) -> Response:
    """Rename an item, let it leave or rejoin, or erase its name."""
    visitor.require("admin")
    _check_action(action, "rename", "leave", "rejoin", "erase_name")

    def change() -> str:
        new = (sent.one("name"),) if action == "rename" else ()
        getattr(visitor.league, action)(item_label(id), *new, **visitor.writing(sent))
        return f"{visitor.path}/items/{id}?done={'erase_name' if action == 'erase_name' else 'saved'}"

    return _submit(visitor, sent, change, partial(pages.item, id=id))


@router.post("/leagues/{slug}/rules")
def change_rules(visitor: Visitor, sent: Sent) -> Response:
    """Exclude or pin a pair, or undo it; a pair is given by its ids or by two names."""
    visitor.require("admin")
    action = sent.one("action")
    _check_action(action, "exclude", "unexclude", "pin", "unpin")

    def change() -> str:
        pair = fields.pair_ids(sent.one("ids")) if "ids" in sent else (sent.one("first"), sent.one("second"))
        changed = getattr(visitor.league, action)([pair], **visitor.writing(sent))
        return f"{visitor.path}/rules?done={'saved' if changed else 'unchanged'}"

    return _submit(visitor, sent, change, pages.rules)

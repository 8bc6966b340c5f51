"""What forms do: each calls a method of a league, and leads to a page or, if that fails, shows what was typed again."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from matchbandit.leagues import League, LeagueError
from matchbandit.leagues.names import check_slug, collapse_spaces, item_label
from matchbandit.leagues.service.dashboard import fields, pages
from matchbandit.leagues.service.dashboard.frame import Sent, Visitor

router = APIRouter()


def _submit(act: Callable[[], str], again: Callable[[LeagueError], Response]) -> Response:
    """Do what a form asks for, and go to the page that `act` names; if it is refused, show the form again."""
    try:
        path = act()
    except LeagueError as error:
        return again(error)
    return RedirectResponse(path, 303)


# Leagues -------------------------------------------------------------------------------------------------------------


@router.post("/new")
def create_league(visitor: Visitor, sent: Sent) -> Response:
    """Create a league of players, or of two sides."""
    visitor.require("admin")

    def create() -> str:
        slug = check_slug(sent.one("slug"))
        if not visitor.token.sees(slug):
            raise LeagueError("not-allowed", "your token is for other leagues.")
        first, second = fields.names_in(sent.lines("first")), fields.names_in(sent.lines("second"))
        sides = sent.one("first-side"), sent.one("second-side")
        items: dict[str, Any] = {"players": first}
        if second or any(sides):
            if not all(sides) or sides[0] == sides[1]:
                raise LeagueError("bad-value", "two sides have different names, such as ads and slots.")
            items = {"sides": dict(zip(sides, (first, second), strict=True))}
        settings = fields.changed_settings(sent)
        visitor.store.create(slug, **items, rewards=sent.one("rewards"), **settings, **visitor.writing(sent))
        return f"/leagues/{slug}?done=create"

    return _submit(create, lambda error: pages.show_new_league(visitor, sent, error))


@router.post("/leagues/{slug}/lifecycle/{action}")
def change_league(visitor: Visitor, sent: Sent, action: str) -> Response:
    """Archive, restore or delete the league."""
    visitor.require("admin")
    if action not in pages.CONFIRM:
        raise LeagueError("not-found", f"there is no action {action!r}.")
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
        return f"{visitor.path}/settings?done={'configure' if changes else 'unchanged'}"

    return _submit(save, lambda error: pages.show_settings(visitor, sent, error))


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

    return _submit(propose, lambda error: pages.show_league(visitor, sent, error))


def _without(league: League, absent: list[str]) -> list[int]:
    """The ids of the active items but these; an error if one of the names is not theirs."""
    ids = defaultdict(list)
    page = league.items(active=True)
    while True:
        for item in page:
            ids[item.name].append(item.id)
            ids[item_label(item.id)].append(item.id)
        if page.next is None:
            break
        page = league.items(active=True, after=int(page.next))
    present = {each for found in ids.values() for each in found}
    for name in map(collapse_spaces, absent):
        if len(ids.get(name, ())) != 1:
            problem = "is on both sides: type # and its number" if name in ids else "is not active in this league"
            raise LeagueError("unknown-item", f"{name[:80]!r} {problem}.")
        present -= set(ids[name])
    return sorted(present)


@router.post("/leagues/{slug}/proposals/{number}/{action}")
def record(visitor: Visitor, sent: Sent, number: int, action: str) -> Response:
    """Record or correct outcomes, or set all missing ones to void."""
    visitor.require("play")
    if action not in ("tell", "correct", "void"):
        raise LeagueError("not-found", f"there is no action {action!r}.")
    from_proposal = sent.one("from") == "proposal"

    def write() -> str:
        rows, writing = fields.outcomes(sent), visitor.writing(sent)
        if action == "void":
            done = f"void:{visitor.league.void(number, **writing).recorded}"
        elif rows:
            receipt = getattr(visitor.league, action)(number, rows, **writing)
            done = f"{action}:{receipt.recorded}"
        else:
            done = "unchanged"
        return f"{visitor.path}{f'/proposals/{number}' if from_proposal else ''}?done={done}"

    def again(error: LeagueError) -> Response:
        if from_proposal:
            after, search = sent.one("after", "0"), sent.one("search")
            position = int(after) if after.isdecimal() and len(after) < 10 else 0
            return pages.show_proposal(visitor, number, position, search, action == "correct", sent, error)
        return pages.show_league(visitor, sent, error, number)

    return _submit(write, again)


# Items and rules -----------------------------------------------------------------------------------------------------


@router.post("/leagues/{slug}/items")
def join(visitor: Visitor, sent: Sent) -> Response:
    """Add items; those that left come back."""
    visitor.require("admin")

    def add() -> str:
        side = sent.one("side") or None
        joined = visitor.league.join(
            *fields.names_in(sent.lines("names"), side=side), side=side, **visitor.writing(sent)
        )
        return f"{visitor.path}/items?done=join:{len(joined)}"

    return _submit(add, lambda error: pages.show_items(visitor, typed=sent, error=error))


@router.post("/leagues/{slug}/items/{id}/{action}")
def change_item(visitor: Visitor, sent: Sent, id: int, action: str) -> Response:
    """Rename an item, let it leave or rejoin, or erase its name."""
    visitor.require("admin")
    if action not in ("rename", "leave", "rejoin", "erase_name"):
        raise LeagueError("not-found", f"there is no action {action!r}.")

    def change() -> str:
        new = (sent.one("name"),) if action == "rename" else ()
        getattr(visitor.league, action)(item_label(id), *new, **visitor.writing(sent))
        return f"{visitor.path}/items/{id}?done={action}"

    return _submit(change, lambda error: pages.show_item(visitor, id, typed=sent, error=error))


@router.post("/leagues/{slug}/rules")
def change_rules(visitor: Visitor, sent: Sent) -> Response:
    """Exclude or pin a pair, or undo it."""
    visitor.require("admin")
    action = sent.one("action")
    if action not in ("exclude", "unexclude", "pin", "unpin"):
        raise LeagueError("bad-request", f"there is no rule {action[:40]!r}.")

    def change() -> str:
        pair = fields.pair_ids(sent.one("ids")) if "ids" in sent else (sent.one("first"), sent.one("second"))
        changed = getattr(visitor.league, action)([pair], **visitor.writing(sent))
        return f"{visitor.path}/rules?done=rules:{changed}"

    return _submit(change, lambda error: pages.show_rules(visitor, typed=sent, error=error))



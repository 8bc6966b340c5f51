"""What forms do: each calls a method of a league, and leads to a page or, if it is refused, shows what was typed."""

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from matchbandit.errors import MatchbanditError
from matchbandit.leagues import League, LeagueError
from matchbandit.leagues.names import collapse_spaces, item_label
from matchbandit.leagues.service.access import MeasuredRoute
from matchbandit.leagues.service.dashboard import fields, pages
from matchbandit.leagues.service.dashboard.frame import Sent, Visitor

router = APIRouter(route_class=MeasuredRoute)
Act = Callable[..., str]
ItemAction = Literal["rename", "leave", "rejoin", "erase_name"]


def form(path: str, scope: str, again: Callable[..., Response] | None = None) -> Callable[[Act], Act]:
    """A route for a form: the function does what it asks for, and returns the path of the page to go to.

    If it is refused, `again` shows the page with what was typed; it gets the parameters of the path.
    """

    def decorate(act: Act) -> Act:
        @wraps(act)
        def route(visitor: Visitor, sent: Sent, **parameters: Any) -> Response:
            visitor.require(scope)
            try:
                return RedirectResponse(act(visitor, sent, **parameters), 303)
            except MatchbanditError as error:
                if again is None:
                    raise
                visitor.typed, visitor.error = sent, error
            parameters.pop("action", None)
            return again(visitor, **parameters)

        router.post(path, response_model=None)(route)
        return act

    return decorate


@form("/new", "admin", pages.new_league)
def create_league(visitor: Visitor, sent: Sent) -> str:
    """Create a league of players, or of two sides."""
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


@form("/leagues/{slug}/lifecycle/{action}", "admin")
def change_league(visitor: Visitor, sent: Sent, action: pages.Lifecycle) -> str:
    """Archive, restore or delete the league."""
    getattr(visitor.store, action)(visitor.slug, **visitor.writing(sent))
    return "/?done=delete" if action == "delete" else f"{visitor.path}?done=saved"


@form("/leagues/{slug}/settings", "admin", pages.settings)
def configure(visitor: Visitor, sent: Sent) -> str:
    """Save the settings that were changed."""
    changes = fields.changed_settings(sent)
    if changes:
        visitor.league.configure(**changes, **visitor.writing(sent))
    return f"{visitor.path}/settings?done={'saved' if changes else 'unchanged'}"


@form("/leagues/{slug}/ask", "play", pages.league)
def ask(visitor: Visitor, sent: Sent) -> str:
    """Ask for a proposal of everybody but those who are absent."""
    absent, fixed = fields.names_in(sent.lines("absent")), fields.pairs_in(sent.lines("fixed"))
    available = _without(visitor.league, absent) if absent else None
    proposal = visitor.league.ask(available=available, fixed=fixed or None, **visitor.writing(sent))
    visitor.request.app.state.metrics.proposals.inc()
    return f"{visitor.path}?done=ask:{proposal.number}"


def _without(league: League, absent: list[str]) -> list[int]:
    """The ids of the active items but these; an error if one of the names is not theirs."""
    ids, items = defaultdict(list), league.items(active=True).rows
    for item in items:
        ids[item.name].append(item.id)
        ids[item_label(item.id)].append(item.id)
    for name in map(collapse_spaces, absent):
        if len(ids[name]) != 1:
            problem = "is on both sides: type # and its number" if ids[name] else "is not active in this league"
            raise LeagueError("unknown-item", f"{name[:80]!r} {problem}.")
    return sorted({item.id for item in items}.difference(*(ids[collapse_spaces(name)] for name in absent)))


def _show_outcomes(visitor: Visitor, number: int) -> Response:
    """The page that a form with outcomes is on."""
    if visitor.typed.one("from") != "proposal":
        return pages.league(visitor, number)
    after, correct = visitor.typed.one("after"), "correct" in visitor.typed
    position = int(after) if after.isascii() and after.isdecimal() and len(after) < 10 else 0
    return pages.proposal(visitor, number, position, visitor.typed.one("search"), correct)


@form("/leagues/{slug}/proposals/{number}/{action}", "play", _show_outcomes)
def record(visitor: Visitor, sent: Sent, number: pages.Id, action: Literal["tell", "correct", "void"]) -> str:
    """Record or correct outcomes, or set all missing ones to void."""
    rows, done = fields.outcomes(sent), "unchanged"
    if action == "void" or rows:
        arguments = [number] if action == "void" else [number, rows]
        receipt = getattr(visitor.league, action)(*arguments, **visitor.writing(sent))
        for kind in ("recorded", "repeated"):
            visitor.request.app.state.metrics.outcomes.labels(kind).inc(getattr(receipt, kind))
        done = f"{action}:{receipt.recorded}"
    return f"{visitor.path}{f'/proposals/{number}' if sent.one('from') == 'proposal' else ''}?done={done}"


@form("/leagues/{slug}/items", "admin", pages.items)
def join(visitor: Visitor, sent: Sent) -> str:
    """Add items; those that left come back."""
    names, side = fields.names_in(sent.lines("names")), sent.one("side") or None
    return f"{visitor.path}/items?done=join:{len(visitor.league.join(*names, side=side, **visitor.writing(sent)))}"


@form("/leagues/{slug}/items/{id}/{action}", "admin", pages.item)
def change_item(visitor: Visitor, sent: Sent, id: pages.Id, action: ItemAction) -> str:
    """Rename an item, let it leave or rejoin, or erase its name."""
    new = (sent.one("name"),) if action == "rename" else ()
    getattr(visitor.league, action)(item_label(id), *new, **visitor.writing(sent))
    return f"{visitor.path}/items/{id}?done={'erase_name' if action == 'erase_name' else 'saved'}"


@form("/leagues/{slug}/rules", "admin", pages.rules)
def change_rules(visitor: Visitor, sent: Sent) -> str:
    """Exclude or pin a pair, or undo it; a pair is given by its ids or by two names."""
    action = sent.one("action")
    if action not in ("exclude", "unexclude", "pin", "unpin"):
        raise LeagueError("bad-request", f"there is no rule {action[:40]!r}.")
    pair = fields.pair_ids(sent.one("ids")) if "ids" in sent else (sent.one("first"), sent.one("second"))
    changed = getattr(visitor.league, action)([pair], **visitor.writing(sent))
    return f"{visitor.path}/rules?done={'saved' if changed else 'unchanged'}"

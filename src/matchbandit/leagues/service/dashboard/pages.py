"""The pages to look at. Forms that are refused call the same functions, to show what was wrong with what was typed."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from matchbandit.leagues import LeagueError, tokens
from matchbandit.leagues.reading import Bounds
from matchbandit.leagues.records import Item
from matchbandit.leagues.service.access import MeasuredRoute
from matchbandit.leagues.service.dashboard import charts
from matchbandit.leagues.service.dashboard.fields import REWARDS, setting_fields
from matchbandit.leagues.service.dashboard.frame import Form, Visit, Visitor
from matchbandit.leagues.settings import LeagueSettings

PAGE_SIZE = 50
"""Rows of a list on one page."""
MAX_OPEN, MAX_OPEN_PAIRS = 10, 100
"""Open proposals on the first page of a league, and their pairs; the others have pages of their own."""
MAX_RANKED, TOP = 500, 12
"""Active items up to which the first page fits the model for a ranking, and the rows of that ranking."""
MAX_NAMES = 200
"""Active items up to which those who are absent are ticked, not typed; and names that a field suggests."""
Lifecycle = Literal["archive", "restore", "delete"]
_EFFECTS = {
    "archive": "The league becomes read-only and is no longer listed; its deadlines are suspended. It can be restored.",
    "restore": "The league becomes active again, and its deadlines continue.",
    "delete": "The league is hidden, and after 30 days it is erased with its results. Until then it can be restored.",
}
router = APIRouter(route_class=MeasuredRoute)
Id = Annotated[int, Path(ge=1, le=2**62)]
After = Annotated[int, Query(ge=0, le=2**62)]
Text = Annotated[str, Query(max_length=200)]


@router.get("/")
def leagues(visitor: Visitor, after: Text = "", search: Text = "", status: Text = "active") -> Response:
    """The leagues that the token opens, by name."""
    status = status if status in ("archived", "deleted") else "active"
    slugs = visitor.token.leagues
    rows = visitor.store.leagues(after=after, limit=PAGE_SIZE, slugs=slugs, search=search, status=status)
    return visitor.store_page("leagues", "Leagues", rows=rows, search=search, status=status)


@router.get("/new")
def new_league(visitor: Visitor) -> Response:
    """The form for a new league."""
    visitor.require("admin")
    return visitor.store_page("new", "New league", fields=[*setting_fields(LeagueSettings())], rewards=REWARDS)


@router.get("/leagues/{slug}/confirm/{action}")
def confirm_lifecycle(visitor: Visitor, action: Lifecycle) -> Response:
    """Ask whether the league is really to be archived, restored or deleted."""
    visitor.require("admin")
    words, where = action.capitalize(), f"{visitor.path}/lifecycle/{action}"
    context = {"effect": _EFFECTS[action], "action": where, "button": words, "back": "/"}
    return visitor.store_page("confirm", f"{words} {visitor.slug}?", **context)


@router.get("/leagues/{slug}")
def league(visitor: Visitor, number: int = 0) -> Response:
    """What is open, with forms; `number` is the proposal whose form was refused."""
    info, shown, room = visitor.info, [], MAX_OPEN_PAIRS
    proposals = visitor.league.proposals(open_only=True, newest_first=True, limit=MAX_OPEN)
    for proposal in proposals:
        pairs = [pair for pair in proposal.pairs if pair.outcome is None][:room]
        room -= len(pairs)
        shown.append((proposal, pairs))
    context = {
        "open_proposals": shown,
        "more_open": proposals.next is not None,
        "ranking": visitor.league.ranking().rows if info.active <= MAX_RANKED else None,
        "top": TOP,
        "active": visitor.league.items(active=True).rows if info.active <= MAX_NAMES else None,
        "typed_number": number,
        "no_form": Form(),
    }
    return visitor.page("league", "Open", **context)


@router.get("/leagues/{slug}/proposals")
def proposals(visitor: Visitor, after: After = 0) -> Response:
    """All proposals, the newest first."""
    rows = visitor.league.summaries(after=after or None, limit=PAGE_SIZE, newest_first=True)
    return visitor.page("proposals", "Proposals", rows=rows)


@router.get("/leagues/{slug}/proposals/{number}")
def proposal(visitor: Visitor, number: Id, after: After = 0, search: Text = "", correct: bool = False) -> Response:
    """A proposal: its outcomes, with a form to record or to correct them, and why it has these pairs."""
    found, why, end = visitor.league.proposal(number), visitor.league.why(number), after + PAGE_SIZE
    text = search.casefold()
    pairs = [pair for pair in found.pairs if any(text in name.casefold() for name in pair.names)]
    context = {"proposal": found, "why": why, "correct": correct, "after": after, "search": search}
    context |= {"pairs": pairs[after:end], "next": end if end < len(pairs) else None}
    return visitor.page("proposal", f"Proposal {number}", **context)


@router.get("/leagues/{slug}/items")
def items(visitor: Visitor, after: After = 0, search: Text = "") -> Response:
    """Who is in the league, with a form for new names."""
    rows = visitor.league.items(after=after, limit=PAGE_SIZE, search=search)
    return visitor.page("items", "Items", rows=rows, search=search)


def find_item(visitor: Visit, id: int) -> Item:
    """An item by its id."""
    rows = visitor.league.items(after=id - 1, limit=1).rows
    if not rows:
        raise LeagueError("not-found", f"no item has the id {id}.")
    return rows[0]


@router.get("/leagues/{slug}/items/{id}")
def item(visitor: Visitor, id: Id, after: Text = "") -> Response:
    """An item: its strength, its results with others, and forms to change it."""
    found, why = find_item(visitor, id), visitor.league.why(item=f"#{id}")
    rows = visitor.league.results(item=f"#{id}", after=after, limit=PAGE_SIZE)
    return visitor.page("item", found.name, item=found, why=why, rows=rows)


@router.get("/leagues/{slug}/items/{id}/erase")
def confirm_erase(visitor: Visitor, id: Id) -> Response:
    """Ask whether a name is really to be erased."""
    visitor.require("admin")
    effect = f"The name is erased for good, and the item leaves. Its results stay under #{id}. This cannot be undone."
    path, heading = f"{visitor.path}/items/{id}", f"Erase the name {find_item(visitor, id).name}?"
    context = {"effect": effect, "action": f"{path}/erase_name", "button": "Erase the name", "back": path}
    return visitor.store_page("confirm", heading, **context)


@router.get("/leagues/{slug}/pair")
def pair(visitor: Visitor, first: Text = "", second: Text = "") -> Response:
    """A pair: what is expected of it and why; without names, a form to choose one."""
    why = None
    if first.strip() and second.strip():
        try:
            why = visitor.league.why((first, second))
            first, second = why.numbers["names"]
        except LeagueError as error:
            visitor.error = error
    return visitor.page("pair", "Pair", first=first, second=second, why=why, names=suggestions(visitor))


def suggestions(visitor: Visit) -> list[str]:
    """Names that fields for names suggest."""
    return [item.name for item in visitor.league.items(active=True, limit=MAX_NAMES)]


@router.get("/leagues/{slug}/rules")
def rules(visitor: Visitor, after: Text = "") -> Response:
    """Which pairs are excluded or pinned, with a form for new rules."""
    rows = visitor.league.rules(after=after, limit=PAGE_SIZE)
    return visitor.page("rules", "Rules", rows=rows, names=suggestions(visitor))


@router.get("/leagues/{slug}/ranking")
def ranking(visitor: Visitor, after: After = 0, search: Text = "") -> Response:
    """The ranking, with intervals."""
    rows = visitor.league.ranking(after=after, limit=PAGE_SIZE, search=search)
    return visitor.page("ranking", "Ranking", rows=rows, search=search)


@router.get("/leagues/{slug}/results")
def results(visitor: Visitor, after: Text = "") -> Response:
    """Who met whom how often, and what they achieved."""
    rows = visitor.league.results(after=after, limit=PAGE_SIZE)
    return visitor.page("results", "Results", rows=rows, matrix=charts.matrix(visitor.league, visitor.info))


@router.get("/leagues/{slug}/progress")
def progress(visitor: Visitor) -> Response:
    """What was expected and what was achieved, over time."""
    points = charts.running_totals(visitor.league.progress(charts.MAX_POINTS))
    return visitor.page("progress", "Progress", points=points, chart=charts.progress_chart(points))


@router.get("/leagues/{slug}/model")
def model(visitor: Visitor) -> Response:
    """Whether the results fit the model, and which pairs deviate; in a large league the test takes seconds."""
    return visitor.page("model", "Model", fit=visitor.league.fit())


@router.get("/leagues/{slug}/history")
def history(visitor: Visitor, after: After = 0, since: Text = "", until: Text = "") -> Response:
    """Who changed what, and when; the newest first."""
    bounds: Bounds = {"since": since or None, "until": until or None, "limit": PAGE_SIZE, "newest_first": True}
    rows = visitor.league.history(**bounds | {"after": after or None})
    labels = {f"token:{token.id}": token.label for token in tokens.list_all(visitor.store)}
    return visitor.page("history", "History", rows=rows, labels=labels)


@router.get("/leagues/{slug}/settings")
def settings(visitor: Visitor) -> Response:
    """The settings, and what can be done with the league as a whole."""
    current, kind = LeagueSettings.from_config(visitor.info.settings), "sides" if visitor.info.sides else "players"
    return visitor.page("settings", "Settings", fields=[*setting_fields(current, kind)])

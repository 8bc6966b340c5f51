"""The pages to look at. Forms call the same functions to show what was wrong with what was typed."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query
from fastapi.responses import Response

from matchbandit.leagues import LeagueError
from matchbandit.leagues.records import Item, Proposal
from matchbandit.leagues.service.dashboard import charts
from matchbandit.leagues.service.dashboard.fields import REWARDS, RewardRules, pair_ids, setting_fields
from matchbandit.leagues.service.dashboard.frame import Form, Visit, Visitor, page
from matchbandit.leagues.settings import LeagueSettings

T = TypeVar("T")
PAGE_SIZE = 50
"""Rows of a list on one page."""
MAX_OPEN, MAX_OPEN_PAIRS = 10, 100
"""Open proposals on the first page of a league, and their pairs; the others have pages of their own."""
MAX_RANKED, TOP = 500, 12
"""Active items up to which the first page fits the model for a ranking, and the rows of that ranking."""
MAX_CHECKBOXES = 200
"""Active items up to which those who are absent are ticked; in larger leagues their names are typed."""
MAX_SUGGESTIONS = 200
"""Names that a field suggests."""
DONE = {
    "ask": "Proposal {n} is ready.",
    "tell": "Outcomes recorded: {n}.",
    "correct": "Outcomes corrected: {n}. The history has both values.",
    "void": "Outcomes recorded as void: {n}.",
    "unchanged": "Nothing was entered, so nothing was recorded.",
    "join": "Names added: {n}.",
    "leave": "The item has left. Its results stay.",
    "rejoin": "The item is back, with its results.",
    "rename": "The item has a new name.",
    "erase_name": "The name was erased. The results stay.",
    "rules": "Rules changed: {n}.",
    "configure": "The settings were saved.",
    "create": "The league was created.",
    "archive": "The league was archived. It is read-only now.",
    "restore": "The league is active again.",
    "delete": "The league was deleted. It can be restored for 30 days.",
}
"""What a page says after an action; the address has the word and a number, never a name."""
CONFIRM = {
    "archive": (
        "Archive",
        "The league becomes read-only and is no longer listed; its deadlines are suspended. It can be restored.",
    ),
    "restore": ("Restore", "The league becomes active again, and its deadlines continue."),
    "delete": ("Delete", "The league is hidden, and erased with all its results after 30 days; until then it can be restored."),
}

router = APIRouter()
After = Annotated[int, Query(ge=0, le=2**62)]
Search = Annotated[str, Query(max_length=100)]


def done_text(done: str) -> str:
    """The sentence for `tell:3`; nothing for other texts.

    >>> done_text("tell:3"), done_text("leave"), done_text("nonsense")
    ('Outcomes recorded: 3.', 'The item has left. Its results stay.', '')
    """
    word, _, number = done.partition(":")
    return DONE.get(word, "").format(n=number[:20] if number.isdecimal() else "")


def matching(rows: Sequence[T], search: str, names: str) -> Sequence[T]:
    """The rows in one of whose names a text occurs, whatever its case."""
    text = search.casefold()
    return [row for row in rows if text in str(getattr(row, names)).casefold()] if text else rows


# Leagues -------------------------------------------------------------------------------------------------------------


@router.get("/")
def leagues(visitor: Visitor, after: str = "", search: Search = "", status: str = "active") -> Response:
    """The leagues that the token opens, by name."""
    status = status if status in ("archived", "deleted") else "active"
    rows = visitor.store.leagues(
        after=after, limit=PAGE_SIZE, slugs=visitor.token.leagues, search=search, status=status
    )
    done = done_text(visitor.request.query_params.get("done", ""))
    return page(visitor.request, "leagues", rows=rows, search=search, status=status, done=done)


@router.get("/new")
def new_league(visitor: Visitor) -> Response:
    """The form for a new league."""
    return show_new_league(visitor)


def show_new_league(visitor: Visit, typed: Form | None = None, error: LeagueError | None = None) -> Response:
    """The form for a new league, perhaps with an error."""
    visitor.require("admin")
    fields = setting_fields(LeagueSettings(), None)
    return page(visitor.request, "new", error=error, typed=typed or Form(), fields=fields, rewards=REWARDS)


@router.get("/leagues/{slug}/confirm/{action}")
def confirm_lifecycle(visitor: Visitor, action: str) -> Response:
    """Ask whether the league is really to be archived, restored or deleted."""
    visitor.require("admin")
    if action not in CONFIRM:
        raise LeagueError("not-found", f"there is no action {action!r}.")
    words, effect = CONFIRM[action]
    back = "/?status=deleted" if action == "restore" else f"{visitor.path}/settings"
    return _confirm(visitor, f"{words} {visitor.slug}", effect, f"{visitor.path}/lifecycle/{action}", words, back)


def _confirm(visitor: Visit, heading: str, effect: str, action: str, button: str, back: str) -> Response:
    context = {"heading": heading, "effect": effect, "action": action, "button": button, "back": back}
    return page(visitor.request, "confirm", **context)


# A league ------------------------------------------------------------------------------------------------------------


@router.get("/leagues/{slug}")
def league(visitor: Visitor) -> Response:
    """What is open, with forms for outcomes and for the next proposal, and the top of the ranking."""
    return show_league(visitor)


def show_league(
    visitor: Visit, typed: Form | None = None, error: LeagueError | None = None, number: int = 0
) -> Response:
    """The first page of a league, perhaps with what was wrong with a form: that of this proposal, or the one to ask."""
    info, shown = visitor.info, list[tuple[Proposal, Sequence[Any]]]()
    room = MAX_OPEN_PAIRS
    for proposal in visitor.league.proposals(open_only=True, limit=MAX_OPEN):
        pairs = [pair for pair in proposal.pairs if pair.outcome is None][:room]
        room -= len(pairs)
        shown.append((proposal, pairs))
    few = info.active <= MAX_CHECKBOXES
    context = {
        "open_proposals": shown,
        "ranking": visitor.league.ranking() if info.active <= MAX_RANKED else None,
        "top": TOP,
        "active": visitor.league.items(active=True, limit=MAX_CHECKBOXES).rows if few else None,
        "typed": typed or Form(),
        "typed_number": number,
        "rules": RewardRules.of(info.rewards),
    }
    return _show(visitor, "league", "Open", error, **context)


def _show(visitor: Visit, name: str, title: str, error: LeagueError | None = None, **context: Any) -> Response:
    done = done_text(visitor.request.query_params.get("done", ""))
    return visitor.page(name, title=title, error=error, done=done, **context)


# Proposals -----------------------------------------------------------------------------------------------------------


@router.get("/leagues/{slug}/proposals")
def proposals(visitor: Visitor, after: After = 0) -> Response:
    """All proposals, the newest first."""
    rows = visitor.league.summaries(after=after, limit=PAGE_SIZE)
    return _show(visitor, "proposals", "Proposals", rows=rows)


@router.get("/leagues/{slug}/proposals/{number}")
def proposal(visitor: Visitor, number: int, after: After = 0, search: Search = "", correct: bool = False) -> Response:
    """A proposal: its outcomes, and why it has these pairs."""
    return show_proposal(visitor, number, after, search, correct)


def show_proposal(
    visitor: Visit,
    number: int,
    after: int = 0,
    search: str = "",
    correct: bool = False,
    typed: Form | None = None,
    error: LeagueError | None = None,
) -> Response:
    """The page of a proposal, perhaps with what was wrong with a form."""
    why = visitor.league.why(number)
    found = visitor.league.proposal(number)
    pairs = matching(found.pairs, search, "names")
    context = {
        "proposal": found,
        "why": why,
        "pairs": pairs[after : after + PAGE_SIZE],
        "next": after + PAGE_SIZE if after + PAGE_SIZE < len(pairs) else None,
        "after": after,
        "search": search,
        "correct": correct and visitor.token.has("play"),
        "typed": typed or Form(),
        "rules": RewardRules.of(visitor.info.rewards),
    }
    return _show(visitor, "proposal", f"Proposal {number}", error, **context)


# Items and pairs -----------------------------------------------------------------------------------------------------


@router.get("/leagues/{slug}/items")
def items(visitor: Visitor, after: After = 0, search: Search = "") -> Response:
    """Who is in the league."""
    return show_items(visitor, after, search)


def show_items(
    visitor: Visit, after: int = 0, search: str = "", typed: Form | None = None, error: LeagueError | None = None
) -> Response:
    """The items, with a form for new ones."""
    rows = visitor.league.items(after=after, limit=PAGE_SIZE, search=search)
    return _show(visitor, "items", "Items", error, rows=rows, search=search, typed=typed or Form())


def find_item(visitor: Visit, id: int) -> Item:
    """An item by its id."""
    rows = visitor.league.items(after=id - 1, limit=1).rows if 1 <= id <= visitor.info.items else []
    if not rows:
        raise LeagueError("not-found", f"no item has the id {id}.")
    return rows[0]


@router.get("/leagues/{slug}/items/{id}")
def item(visitor: Visitor, id: int, after: After = 0) -> Response:
    """An item: its strength, and its results with others."""
    return show_item(visitor, id, after)


def show_item(
    visitor: Visit, id: int, after: int = 0, typed: Form | None = None, error: LeagueError | None = None
) -> Response:
    """The page of an item, with forms to change it."""
    found = find_item(visitor, id)
    why = visitor.league.why(item=f"#{id}")
    rows = visitor.league.results(item=id, after=after, limit=PAGE_SIZE)
    return _show(visitor, "item", found.name, error, item=found, why=why, rows=rows, typed=typed or Form())


@router.get("/leagues/{slug}/items/{id}/erase")
def confirm_erase(visitor: Visitor, id: int) -> Response:
    """Ask whether a name is really to be erased."""
    visitor.require("admin")
    found = find_item(visitor, id)
    effect = f"The name is erased for good, and the item leaves. Its results stay under #{id}. This cannot be undone."
    path = f"{visitor.path}/items/{id}"
    return _confirm(visitor, f"Erase the name {found.name}", effect, f"{path}/erase_name", "Erase the name", path)


@router.get("/leagues/{slug}/pair")
def pair(visitor: Visitor, first: Search = "", second: Search = "") -> Response:
    """A pair: what is expected of it and why; without names, a form to choose one."""
    context: dict[str, Any] = {"first": first, "second": second, "why": None, "names": suggestions(visitor)}
    error = None
    if first.strip() and second.strip():
        try:
            context["why"] = visitor.league.why((first, second))
        except LeagueError as problem:
            error = problem
    return _show(visitor, "pair", "Pair", error, **context)


def suggestions(visitor: Visit) -> list[str]:
    """Names that fields for names suggest."""
    return [item.name for item in visitor.league.items(active=True, limit=MAX_SUGGESTIONS)]


@router.get("/leagues/{slug}/rules")
def rules(visitor: Visitor, after: str = "") -> Response:
    """Which pairs are excluded or pinned."""
    return show_rules(visitor, after)


def show_rules(
    visitor: Visit, after: str = "", typed: Form | None = None, error: LeagueError | None = None
) -> Response:
    """The rules, with a form for new ones."""
    rows = visitor.league.rules(after=pair_ids(after or "0-0"), limit=PAGE_SIZE)
    return _show(visitor, "rules", "Rules", error, rows=rows, names=suggestions(visitor), typed=typed or Form())


# Results -------------------------------------------------------------------------------------------------------------


@router.get("/leagues/{slug}/ranking")
def ranking(visitor: Visitor, after: After = 0, search: Search = "") -> Response:
    """The ranking, with intervals."""
    rows = matching(visitor.league.ranking(), search, "name")
    more = after + PAGE_SIZE if after + PAGE_SIZE < len(rows) else None
    return _show(visitor, "ranking", "Ranking", rows=rows[after : after + PAGE_SIZE], next=more, search=search)


@router.get("/leagues/{slug}/results")
def results(visitor: Visitor, after: str = "") -> Response:
    """Who met whom how often, and what they achieved."""
    rows = visitor.league.results(after=pair_ids(after or "0-0"), limit=PAGE_SIZE)
    return _show(visitor, "results", "Results", rows=rows, matrix=charts.matrix(visitor.league, visitor.info))


@router.get("/leagues/{slug}/progress")
def progress(visitor: Visitor) -> Response:
    """What was expected and what was achieved, over time."""
    points = charts.progress_points(visitor.league)
    return _show(visitor, "progress", "Progress", points=points, chart=charts.progress_chart(points))


@router.get("/leagues/{slug}/model")
def model(visitor: Visitor) -> Response:
    """Whether the results fit the model, and which pairs stand out; in a large league the test takes seconds."""
    return _show(visitor, "model", "Model", fit=visitor.league.fit())


@router.get("/leagues/{slug}/history")
def history(visitor: Visitor, after: After = 0) -> Response:
    """Who changed what, and when; the newest first."""
    rows = visitor.league.history(after=after, limit=PAGE_SIZE)
    return _show(visitor, "history", "History", rows=rows)


# Settings ------------------------------------------------------------------------------------------------------------


@router.get("/leagues/{slug}/settings")
def settings(visitor: Visitor) -> Response:
    """The settings, and what can be done with the league as a whole."""
    return show_settings(visitor)


def show_settings(visitor: Visit, typed: Form | None = None, error: LeagueError | None = None) -> Response:
    """The settings, with a form for who may change them."""
    current = LeagueSettings.from_config(visitor.info.settings)
    fields = setting_fields(current, visitor.info)
    return _show(visitor, "settings", "Settings", error, fields=fields, typed=typed or Form())

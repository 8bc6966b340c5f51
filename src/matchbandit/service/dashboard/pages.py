"""The pages that one can look at. Each is a function that actions call, too, to show what went wrong."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from matchbandit.errors import MatchbanditError
from matchbandit.figures.echarts_renderer import chart_data
from matchbandit.live.league_view import LeagueView
from matchbandit.live.records import Ids
from matchbandit.live.settings import LeagueSettings
from matchbandit.policies.catalogue import CATALOGUE
from matchbandit.service.dashboard import assets, content, league_form, progress
from matchbandit.service.dashboard.content import PAGE_SIZE, Heading, Pager
from matchbandit.service.dashboard.guard import Guard, Visitor
from matchbandit.service.dashboard.html import page, refused
from matchbandit.service.dashboard.meetings import meetings_of
from matchbandit.service.problems import ApiError
from matchbandit.service.sessions import Session

TOP = 12
"""Rows of the ranking beside today's proposals."""
MAX_OPEN = 5
"""Open proposals on the page of today, the newest first; the others have their own pages."""
MAX_PAIRS = 50
"""Pairs on the page of today, of all proposals together."""
MAX_CHECKBOXES = 200
"""Items up to which those who are there are ticked in a list; of more, names are typed."""
MAX_SUGGESTIONS = 200
"""Names that a field suggests."""
LARGEST_ID = 2**31 - 1

FLASH_TEXTS = {
    "proposed": "Proposal {} is ready.",
    "told": "Saved: {}.",
    "nothing": "Nothing was entered, so nothing was saved.",
    "unchanged": "Nothing was changed, so nothing was saved.",
    "corrected": "Corrected: {}. The log has the trace.",
    "void": "Void now: {}.",
    "joined": "Added: {}.",
    "left": "Taken out of the league. Results stay.",
    "returned": "Back in the league.",
    "renamed": "Renamed.",
    "forgotten": "The name is erased. Results stay.",
    "rule": "The rules have changed.",
    "configured": "The settings have changed.",
    "created": "The league is ready.",
}
"""What a page says after an action; the address carries the word and a number, never a name."""
_COUNTED = {"told": "outcome", "corrected": "outcome", "void": "outcome", "joined": "name"}

TABS = (
    ("", "Today"),
    ("/ranking", "Ranking"),
    ("/meetings", "Meetings"),
    ("/progress", "Progress"),
    ("/proposals", "Proposals"),
    ("/items", "Roster"),
    ("/rules", "Rules"),
    ("/log", "Log"),
    ("/settings", "Settings"),
)
Typed = Mapping[str, str]
"""What was typed into a form that was refused, by field."""


def flash_text(done: str) -> str | None:
    """The sentence for `told:3`.

    >>> flash_text("told:3"), flash_text("told:1"), flash_text("nonsense")
    ('Saved: 3 outcomes.', 'Saved: 1 outcome.', None)
    """
    word, _, number = done.partition(":")
    if word not in FLASH_TEXTS or (number and not number.isdecimal()):
        return None
    number = number[:20]
    count = f"{number} {_COUNTED[word]}{'' if number == '1' else 's'}" if word in _COUNTED else number
    return FLASH_TEXTS[word].format(count)


# Pages of the server -------------------------------------------------------------------------------------------------


def login(*, next_path: str, error: str | None = None, status: int = 200) -> HTMLResponse:
    """Where a token is shown."""
    return page("login", None, status=status, error=error, next=next_path)


def leagues(
    guard: Guard, session: Session, *, done: str = "", after: str = "", search: str = "", archived: bool = False
) -> HTMLResponse:
    """The leagues that the token opens, by name."""
    rows = guard.store.summaries(
        after=after, limit=PAGE_SIZE + 1, names=session.token.leagues, search=search, archived=archived
    )
    shown = rows[:PAGE_SIZE]
    query = {"search": search} | ({"archived": "1"} if archived else {})
    pager = Pager(
        ("First page", content.query_string(query)) if after else None,
        ("Next", content.query_string(query, after=shown[-1].name)) if len(rows) > PAGE_SIZE else None,
    )
    data: dict[str, Any] = {
        "leagues": [Heading(row) for row in shown],
        "pager": pager,
        "search": search,
        "archived": archived,
    }
    return page("leagues", session, done=flash_text(done), may_create=session.token.may("admin"), **data)


def must_create(session: Session) -> None:
    """Refuse whoever may not make leagues."""
    if not session.token.may("admin"):
        raise ApiError("not-allowed", "a new league takes a token with the scope admin for all leagues.")


def new(session: Session, *, typed: Typed | None = None, error: MatchbanditError | None = None) -> Response:
    """The form for a new league."""
    must_create(session)
    data: dict[str, Any] = {
        "fields": league_form.setting_fields(LeagueSettings()),
        "reward_choices": league_form.REWARD_CHOICES,
        "key": secrets.token_hex(8),
        "typed": typed or {},
    }
    return page("new", session, **_failed(error), **data)


# Pages of a league ---------------------------------------------------------------------------------------------------


def today(
    visitor: Visitor,
    *,
    done: str = "",
    error: MatchbanditError | None = None,
    typed: Typed | None = None,
    typed_for: int | None = None,
    chosen: Sequence[int] | None = None,
) -> HTMLResponse:
    """Pending outcomes, the next proposal, and the top of the ranking."""
    with visitor.league.view(model=True) as view:
        records = view.records(open_only=True, newest_first=True, limit=MAX_OPEN)
        recent = view.history(newest_first=True, limit=content.RECENT)
    proposals, pairs, room = [content.proposal_view(view, record) for record in records], {}, MAX_PAIRS
    for proposal in proposals:
        pairs[proposal.number] = proposal.pending_first(room)
        room -= len(pairs[proposal.number])
    can_choose = CATALOGUE[view.config["policy"]].decides_from_counts
    few = view.summary.n_active <= MAX_CHECKBOXES
    data: dict[str, Any] = {
        "tiles": content.tiles(view, recent),
        "open": proposals,
        "pairs": pairs,
        "more_open": view.summary.n_open - len(proposals),
        "ranking": content.ranking(view),
        "rules": content.rules(view.rewards),
        "can_choose": can_choose,
        "active": view.items(active=True) if can_choose and few else None,
        "chosen": None if chosen is None else frozenset(chosen),
        "typed": typed or {},
        "typed_for": typed_for,
        "key": secrets.token_hex(8),
        "top": TOP,
    }
    return _league_page("today", visitor, view, "Today", error=error, done=done, **data)


def ranking(visitor: Visitor, *, after: int = 0, search: str = "") -> HTMLResponse:
    """The ranking, with intervals; the sides of a league turn their pages together."""
    with visitor.league.view(model=True) as view:
        pass
    sides = [content.Side(side.name, content.matching(side.rows, search, "name")) for side in content.ranking(view)]
    longest = max((side.rows for side in sides), key=len, default=[])
    pager = content.page_of(longest, after, search=search)[1]
    sides = [content.Side(side.name, content.page_of(side.rows, after)[0]) for side in sides]
    return _league_page("ranking", visitor, view, "Ranking", ranking=sides, pager=pager, search=search)


def meetings(visitor: Visitor, *, after: int = 0, search: str = "") -> HTMLResponse:
    """Who met whom."""
    with visitor.league.view(model=True) as view:
        pass
    results = view.results()
    by_count = sorted(content.matching(results, search, "names"), key=lambda row: (-row.count, row.ids))
    rows, pager = content.page_of(by_count, after, search=search)
    meetings_map = meetings_of(view, results)
    data: dict[str, Any] = {
        "map": meetings_map,
        "heat": meetings_map.data,
        "rows": rows,
        "pager": pager,
        "search": search,
    }
    return _league_page("meetings", visitor, view, "Meetings", **data)


def show_progress(visitor: Visitor) -> HTMLResponse:
    """Reward over time, exploration, the fit of the model, and the shadow."""
    with visitor.league.view(model=True) as view:
        figures = progress.charts(view.history())
    report = None if view.settings.shadow is None else visitor.league.shadow_report()
    data: dict[str, Any] = {
        "figures": figures,
        "charts": [chart_data(chart) for chart in figures] or None,
        "fit": content.fit(view) if view.n_items <= content.QUICK_FIT else None,
        "shadow": report,
        "shadow_rows": [] if report is None else content.shadow_rows(report),
    }
    return _league_page("progress", visitor, view, "Progress", **data)


def fit(visitor: Visitor) -> HTMLResponse:
    """Does the model fit? On a page of its own, since it may take seconds; scripts fetch it for others."""
    with visitor.league.view(model=True) as view:
        pass
    return _league_page("fit", visitor, view, "Progress", words="fit of the model", fit=content.fit(view))


def proposals(visitor: Visitor, *, before: int | None = None) -> HTMLResponse:
    """All proposals, the newest first."""
    with visitor.league.view() as view:
        first, end, pager = content.newest_first(view.last_number, before)
        history = view.history(after=first, before=end, newest_first=True)
    rows = [content.proposal_row(one) for one in history]
    return _league_page("proposals", visitor, view, "Proposals", rows=rows, pager=pager)


def proposal(
    visitor: Visitor,
    number: int,
    *,
    after: int = 0,
    search: str = "",
    done: str = "",
    error: MatchbanditError | None = None,
    typed: Typed | None = None,
    correcting: bool = False,
) -> HTMLResponse:
    """One proposal: its outcomes, and why it is as it is."""
    with visitor.league.view() as view:
        record = view.record(number)
    proposal = content.proposal_view(view, record)
    rows, pager = content.page_of(content.matching(proposal.pairs, search, "both"), after, search=search)
    data: dict[str, Any] = {
        "proposal": proposal,
        "pairs": rows,
        "pager": pager,
        "after": after,
        "search": search,
        "is_long": len(proposal.pairs) > PAGE_SIZE,
        "rules": content.rules(view.rewards),
        "numbers": content.proposal_numbers(proposal.why.numbers),
        "typed": typed or {},
        "correcting": correcting,
    }
    words = f"proposal {number}"
    return _league_page("proposal", visitor, view, "Proposals", error=error, done=done, words=words, **data)


def items(
    visitor: Visitor,
    *,
    after: int = 0,
    search: str = "",
    done: str = "",
    error: MatchbanditError | None = None,
    typed: Typed | None = None,
) -> HTMLResponse:
    """Who takes part."""
    with visitor.league.view() as view:
        pass
    rows, pager = content.items_page(view.items(search=search), after, search=search)
    data: dict[str, Any] = {"items": rows, "pager": pager, "search": search, "typed": typed or {}}
    return _league_page("items", visitor, view, "Roster", error=error, done=done, **data)


def rules(
    visitor: Visitor,
    *,
    after: Ids = (0, 0),
    done: str = "",
    error: MatchbanditError | None = None,
    typed: Typed | None = None,
) -> HTMLResponse:
    """Which pairs must not meet, and which are wished for."""
    with visitor.league.view() as view:
        pass
    is_first = after == (0, 0)
    exclusions = view.exclusion_ids(after=after, limit=PAGE_SIZE + 1)
    cursor = "{}-{}".format(*exclusions[PAGE_SIZE - 1]) if len(exclusions) > PAGE_SIZE else None
    pager = Pager(
        None if is_first else ("First page", ""),
        None if cursor is None else ("Next", content.query_string({}, after=cursor)),
    )
    sides: Sequence[str | None] = view.config["sides"] or (None,)
    data: dict[str, Any] = {
        "rows": content.rule_rows(view, after=after, limit=PAGE_SIZE, wishes=is_first),
        "pager": pager,
        "suggestions": [view.items(active=True, side=side, limit=MAX_SUGGESTIONS) for side in sides],
        "typed": typed or {},
    }
    return _league_page("rules", visitor, view, "Rules", error=error, done=done, **data)


def item(
    visitor: Visitor,
    number: int,
    *,
    after: int = 0,
    done: str = "",
    error: MatchbanditError | None = None,
    typed: Typed | None = None,
) -> HTMLResponse:
    """One item: what is known of it, and its partners."""
    with visitor.league.view(model=True) as view:
        one = content.item(view, number)
    why = view.why(item=number)()
    partners = content.partners(view.partners(number), number)
    rows, pager = content.page_of(partners, after)
    data: dict[str, Any] = {
        "item": one,
        "why": why,
        "numbers": content.item_numbers(why.numbers),
        "partners": rows,
        "n_partners": len(partners),
        "pager": pager,
        "typed": typed or {},
    }
    return _league_page("item", visitor, view, "Roster", error=error, done=done, words=one.name, **data)


def settings(
    visitor: Visitor, *, done: str = "", error: MatchbanditError | None = None, typed: Typed | None = None
) -> HTMLResponse:
    """The settings, which an admin can change."""
    with visitor.league.view() as view:
        pass
    data: dict[str, Any] = {"fields": league_form.setting_fields(view.settings), "typed": typed or {}}
    return _league_page("settings", visitor, view, "Settings", error=error, done=done, **data)


def log(visitor: Visitor, *, before: int | None = None) -> HTMLResponse:
    """What happened, line by line."""
    labels = content.token_labels(visitor.league.store)
    with visitor.league.view() as view:
        first, end, pager = content.newest_first(view.seq, before)
        lines = content.log_lines(view, labels, after=first, limit=end - 1 - first)
    return _league_page("log", visitor, view, "Log", lines=lines[::-1], pager=pager)


def _league_page(
    name: str,
    visitor: Visitor,
    view: LeagueView,
    tab: str,
    *,
    error: MatchbanditError | None = None,
    done: str = "",
    words: str = "",
    **data: Any,
) -> HTMLResponse:
    data |= {"league": content.heading(view), "tabs": TABS, "tab": tab, "tab_words": words or tab}
    data |= {"may_play": visitor.may("play"), "may_admin": visitor.may("admin")}
    return page(name, visitor.session, **_failed(error), done=flash_text(done), **data)


def _failed(error: MatchbanditError | None) -> dict[str, Any]:
    return {} if error is None else refused(error)


# Addresses -----------------------------------------------------------------------------------------------------------


def add_pages(routes: APIRouter, guard: Guard) -> None:
    """All addresses that are looked at."""
    Looking = Annotated[Visitor, Depends(guard.visitor("read"))]
    LoggedIn = Annotated[Session, Depends(guard.logged_in)]
    After = Annotated[int, Query(ge=0, le=2**62)]
    Before = Annotated[int | None, Query(ge=1, le=2**62)]
    Search = Annotated[str, Query(max_length=200)]

    @routes.get("/assets/{name}")
    async def asset(request: Request, name: str) -> Response:  # from memory: it needs no thread
        return assets.serve(request, name)

    @routes.get("/")
    def leagues_page(
        session: LoggedIn,
        done: str = "",
        after: Annotated[str, Query(max_length=64)] = "",
        search: Search = "",
        archived: bool = False,
    ) -> Response:
        return leagues(guard, session, done=done, after=after, search=search.strip(), archived=archived)

    @routes.get("/new")
    def new_page(session: LoggedIn) -> Response:
        return new(session)

    @routes.get("/leagues/{slug}")
    def today_page(visitor: Looking, done: str = "") -> Response:
        return today(visitor, done=done)

    @routes.get("/leagues/{slug}/ranking")
    def ranking_page(visitor: Looking, after: After = 0, search: Search = "") -> Response:
        return ranking(visitor, after=after, search=search.strip())

    @routes.get("/leagues/{slug}/meetings")
    def meetings_page(visitor: Looking, after: After = 0, search: Search = "") -> Response:
        return meetings(visitor, after=after, search=search.strip())

    @routes.get("/leagues/{slug}/progress")
    def progress_page(visitor: Looking) -> Response:
        return show_progress(visitor)

    @routes.get("/leagues/{slug}/fit")
    def fit_page(visitor: Looking) -> Response:
        return fit(visitor)

    @routes.get("/leagues/{slug}/proposals")
    def proposals_page(visitor: Looking, before: Before = None) -> Response:
        return proposals(visitor, before=before)

    @routes.get("/leagues/{slug}/proposals/{number}")
    def proposal_page(visitor: Looking, number: int, done: str = "", after: After = 0, search: Search = "") -> Response:
        return proposal(visitor, number, done=done, after=after, search=search.strip())

    @routes.get("/leagues/{slug}/items")
    def items_page(visitor: Looking, done: str = "", after: After = 0, search: Search = "") -> Response:
        return items(visitor, done=done, after=after, search=search.strip())

    @routes.get("/leagues/{slug}/items/{number}")
    def item_page(visitor: Looking, number: int, done: str = "", after: After = 0) -> Response:
        return item(visitor, number, done=done, after=after)

    @routes.get("/leagues/{slug}/rules")
    def rules_page(
        visitor: Looking, done: str = "", after: Annotated[str, Query(pattern=r"^\d{1,10}-\d{1,10}$")] = "0-0"
    ) -> Response:
        first, _, second = after.partition("-")
        return rules(visitor, done=done, after=(int(first), int(second)))

    @routes.get("/leagues/{slug}/settings")
    def settings_page(visitor: Looking, done: str = "") -> Response:
        return settings(visitor, done=done)

    @routes.get("/leagues/{slug}/log")
    def log_page(visitor: Looking, before: Before = None) -> Response:
        return log(visitor, before=before)

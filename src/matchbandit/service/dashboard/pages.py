"""The pages that one can look at. Each is a function that actions call, too, to show what went wrong."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from matchbandit.errors import MatchbanditError
from matchbandit.figures.interactive import chart_data
from matchbandit.service.dashboard import assets, meetings, progress, reading
from matchbandit.service.dashboard.guard import Guard, Visitor
from matchbandit.service.dashboard.html import page, refused
from matchbandit.service.problems import ApiError
from matchbandit.service.sessions import Session

TOP = 12
"""Rows of the ranking beside today's proposals."""
MOST_OPEN = 5
"""Open proposals on the page of today, the newest first; the others have their own pages."""
LOG_LINES = 50
PROPOSALS = 50
LARGEST_ID = 2**31 - 1

DONE = {
    "proposed": "Proposal {} is ready.",
    "told": "Saved: {}.",
    "nothing": "Nothing was entered, so nothing was saved.",
    "unchanged": "Nothing was changed, so nothing was corrected.",
    "corrected": "Corrected: {}. The log has the trace.",
    "void": "Void now: {}.",
    "joined": "They are in the league.",
    "left": "Taken out of the league. Results stay.",
    "returned": "Back in the league.",
    "renamed": "Renamed.",
    "forgotten": "The name is erased. Results stay.",
    "rule": "The rules have changed.",
    "created": "The league is ready.",
}
"""What a page says after an action; the address carries the word and a number, never a name."""
_OUTCOMES = ("told", "corrected", "void")


def flash_text(done: str) -> str | None:
    """The sentence for `told:3`.

    >>> flash_text("told:3"), flash_text("told:1"), flash_text("nonsense")
    ('Saved: 3 outcomes.', 'Saved: 1 outcome.', None)
    """
    word, _, number = done.partition(":")
    if word not in DONE or (number and not number.isdecimal()):
        return None
    many = f"{number} outcome{'' if number == '1' else 's'}" if word in _OUTCOMES else number
    return DONE[word].format(many[:24])


def login(*, next_path: str, error: str | None = None, status: int = 200) -> HTMLResponse:
    """Where a token is shown."""
    return page("login", None, status=status, error=error, next=next_path)


def leagues(guard: Guard, session: Session, *, done: str = "") -> HTMLResponse:
    """All leagues that the token opens."""
    seen = [slug for slug in guard.store.leagues() if session.token.sees(slug)]
    told: dict[str, Any] = {"leagues": [reading.heading(guard.store.open(slug)) for slug in seen]}
    return page("leagues", session, done=flash_text(done), may_create=session.token.may("admin"), **told)


def must_create(session: Session) -> None:
    """Refuse whoever may not make leagues."""
    if not session.token.may("admin"):
        raise ApiError("not-allowed", "a new league takes a token with the scope admin for all leagues.")


def new(session: Session, *, given: Mapping[str, str] | None = None, error: MatchbanditError | None = None) -> Response:
    """The form for a new league."""
    must_create(session)
    told: dict[str, Any] = {
        "policies": reading.policies(),
        "reward_choices": reading.REWARD_CHOICES,
        "key": secrets.token_hex(8),
    }
    return page("new", session, **_failed(error), given=given or {}, **told)


def today(
    visitor: Visitor,
    *,
    done: str = "",
    error: MatchbanditError | None = None,
    given: Mapping[str, str] | None = None,
    given_of: int | None = None,
    chosen: Sequence[int] = (),
) -> HTMLResponse:
    """What waits, what comes next, and who stands where."""
    league = visitor.league
    waiting = sorted(league.open_proposals(), key=lambda one: -one.number)
    told: dict[str, Any] = {
        "tiles": reading.tiles(league),
        "open": [reading.proposal_view(one, league.why(one.number)) for one in waiting[:MOST_OPEN]],
        "more_open": len(waiting[MOST_OPEN:]),
        "ranking": reading.ranking(league),
        "rules": reading.rules(league),
        "active": [item for item in league.items() if item.active],
        "can_choose": reading.can_choose(league),
        "chosen": frozenset(chosen),
        "given": given or {},
        "given_of": given_of,
        "key": secrets.token_hex(8),
        "top": TOP,
    }
    return _of_league("today", visitor, "Today", error=error, done=done, may_play=visitor.may("play"), **told)


def ranking(visitor: Visitor) -> HTMLResponse:
    """Everybody, with intervals."""
    return _of_league("ranking", visitor, "Ranking", ranking=reading.ranking(visitor.league))


def met(visitor: Visitor) -> HTMLResponse:
    """Who met whom."""
    found = reading.meetings_of(visitor.league)
    return _of_league("meetings", visitor, "Meetings", met=found, heat=found.data, limits=meetings)


def show_progress(visitor: Visitor) -> HTMLResponse:
    """Reward over time, exploration, the fit of the model, and the shadow."""
    drawn = progress.charts(reading.past(visitor.league))
    told: dict[str, Any] = {"figures": drawn, "charts": [chart_data(chart) for chart in drawn] or None}
    quick = visitor.league.about()["n_items"] <= reading.QUICK_FIT
    told |= {"fit": reading.fit(visitor.league) if quick else None, "shadow": reading.shadow(visitor.league)}
    return _of_league("progress", visitor, "Progress", **told)


def fit(visitor: Visitor) -> HTMLResponse:
    """Does the model fit? On a page of its own, since it may take seconds; scripts fetch it for others."""
    return _of_league("fit", visitor, "Progress", words="fit of the model", fit=reading.fit(visitor.league))


def proposals(visitor: Visitor, *, before: int | None = None) -> HTMLResponse:
    """All proposals, the newest first."""
    rows, newer, older = reading.proposals(visitor.league, before, PROPOSALS)
    return _of_league("proposals", visitor, "Proposals", rows=rows, newer=newer, older=older)


def proposal(
    visitor: Visitor,
    number: int,
    *,
    done: str = "",
    error: MatchbanditError | None = None,
    given: Mapping[str, str] | None = None,
    correcting: bool = False,
) -> HTMLResponse:
    """One proposal: its outcomes, and why it is as it is."""
    league = visitor.league
    why = league.why(number)
    sheet = reading.proposal_view(league.proposal(number), why)
    told: dict[str, Any] = {
        "proposal": sheet,
        "rules": reading.rules(league),
        "why": why,
        "numbers": reading.numbers_of_proposal(why.numbers),
        "reasons": reading.reasons(why.numbers),
        "given": given or {},
        "correcting": correcting,
    }
    words = f"proposal {number}"
    may = visitor.may("play")
    return _of_league("proposal", visitor, "Proposals", error=error, done=done, words=words, may_play=may, **told)


def items(
    visitor: Visitor, *, done: str = "", error: MatchbanditError | None = None, given: Mapping[str, str] | None = None
) -> HTMLResponse:
    """Who takes part, and the rules for pairs."""
    told: dict[str, Any] = {
        "items": visitor.league.items(),
        "rules_now": reading.rules_now(visitor.league),
        "given": given or {},
    }
    may = visitor.may("admin")
    return _of_league("items", visitor, "Roster", error=error, done=done, may_admin=may, **told)


def item(
    visitor: Visitor,
    number: int,
    *,
    done: str = "",
    error: MatchbanditError | None = None,
    given: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """One item: what is known of it, and its partners."""
    one = reading.item(visitor.league, number)
    why = reading.why_item(visitor.league, one)
    partners = reading.partners(visitor.league, one.id)
    told: dict[str, Any] = {
        "item": one,
        "why": why,
        "numbers": reading.numbers_of_item(why.numbers),
        "partners": partners,
        "given": given or {},
    }
    may = visitor.may("admin")
    return _of_league("item", visitor, "Roster", error=error, done=done, words=one.name, may_admin=may, **told)


def log(visitor: Visitor, *, before: int | None = None) -> HTMLResponse:
    """What happened, line by line."""
    lines, newer, older = reading.log(visitor.league, before, LOG_LINES)
    return _of_league("log", visitor, "Log", lines=lines, newer=newer, older=older)


TABS = (
    ("", "Today"),
    ("/ranking", "Ranking"),
    ("/meetings", "Meetings"),
    ("/progress", "Progress"),
    ("/proposals", "Proposals"),
    ("/items", "Roster"),
    ("/log", "Log"),
)


def _of_league(
    name: str,
    visitor: Visitor,
    tab: str,
    *,
    error: MatchbanditError | None = None,
    done: str = "",
    words: str = "",
    **told: Any,
) -> HTMLResponse:
    told |= {"league": reading.heading(visitor.league), "tabs": TABS, "tab": tab, "tab_words": words or tab}
    return page(name, visitor.session, **_failed(error), done=flash_text(done), **told)


def _failed(error: MatchbanditError | None) -> dict[str, Any]:
    return {} if error is None else refused(error)


def add_pages(routes: APIRouter, guard: Guard) -> None:
    """All addresses that are looked at."""
    Looking = Annotated[Visitor, Depends(guard.visitor("read"))]
    LoggedIn = Annotated[Session, Depends(guard.logged_in)]
    Before = Annotated[int | None, Query(ge=1, le=2**62)]

    @routes.get("/assets/{name}")
    async def asset(request: Request, name: str) -> Response:  # from memory: it needs no thread
        return assets.served(request, name)

    @routes.get("/")
    def leagues_page(session: LoggedIn, done: str = "") -> Response:
        return leagues(guard, session, done=done)

    @routes.get("/new")
    def new_page(session: LoggedIn) -> Response:
        return new(session)

    @routes.get("/leagues/{slug}")
    def today_page(visitor: Looking, done: str = "") -> Response:
        return today(visitor, done=done)

    @routes.get("/leagues/{slug}/ranking")
    def ranking_page(visitor: Looking) -> Response:
        return ranking(visitor)

    @routes.get("/leagues/{slug}/meetings")
    def meetings_page(visitor: Looking) -> Response:
        return met(visitor)

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
    def proposal_page(visitor: Looking, number: int, done: str = "") -> Response:
        return proposal(visitor, number, done=done)

    @routes.get("/leagues/{slug}/items")
    def items_page(visitor: Looking, done: str = "") -> Response:
        return items(visitor, done=done)

    @routes.get("/leagues/{slug}/items/{number}")
    def item_page(visitor: Looking, number: int, done: str = "") -> Response:
        return item(visitor, number, done=done)

    @routes.get("/leagues/{slug}/log")
    def log_page(visitor: Looking, before: Before = None) -> Response:
        return log(visitor, before=before)

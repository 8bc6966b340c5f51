"""Pages for people: log in with a token, ask for pairs, enter outcomes, see the ranking and the history.

A cookie that is SameSite=Lax and the check of Origin keep other sites from sending our forms.
"""

import secrets
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from jinja2 import StrictUndefined

from matchbandit.leagues import VOID, League, LeagueError, tokens
from matchbandit.leagues.errors import CODES
from matchbandit.leagues.tokens import Token

_FOLDER = Path(__file__).parent
STATIC = StaticFiles(directory=_FOLDER / "static")
TEMPLATES = Jinja2Templates(_FOLDER / "templates")
TEMPLATES.env.undefined = StrictUndefined
TEMPLATES.env.filters["outcome"] = lambda outcome: "void" if outcome is VOID else f"{outcome:g}"
COOKIE = "matchbandit"
MAX_FORM_BYTES = 2**20
MAX_SHOWN = 200
"""Most pairs of open proposals on the page of a league."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

router = APIRouter(include_in_schema=False, default_response_class=Response)
Form = dict[str, list[str]]


def page(request: Request, name: str, status: int = 200, **context: Any) -> Response:
    """A page from a template."""
    context = {"token": getattr(request.state, "visitor", None), "error": "", **context}
    return TEMPLATES.TemplateResponse(request, f"{name}.html", context, status, _HEADERS)


def show_problem(request: Request, error: LeagueError) -> Response:
    """The page for an error; who is not logged in may do so."""
    if error.code == "no-token":
        return RedirectResponse("/login", 303)
    return page(request, "base", CODES[error.code].status, error=str(error))


async def visitor(request: Request) -> Token:
    """Who is logged in; forms must have been sent from our own pages."""
    if request.method != "GET":
        origin = request.headers.get("origin")
        if origin is None or urlsplit(origin).netloc != request.headers.get("host"):
            raise LeagueError("not-allowed", "this form was not sent from a page of this server.")
    secret = request.cookies.get(COOKIE, "")
    if not secret:
        raise LeagueError("no-token", "log in first.")
    address = request.client.host if request.client else "unknown"
    token = await request.app.state.gate.token(secret, f"cookie {address}", tokens.find_session)
    request.state.visitor, request.state.token = token, token.id
    return token


async def form(request: Request) -> Form:
    """The fields of a form that was sent."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MAX_FORM_BYTES:
            raise LeagueError("body-too-large", "this form is too large.")
    return parse_qs(content.decode("utf-8", "replace"), max_num_fields=20_000)


Visitor = Annotated[Token, Depends(visitor)]
Sent = Annotated[Form, Depends(form)]


def find(request: Request, token: Token, slug: str, scope: str = "read") -> League:
    """The league in the path, if the visitor may do this there."""
    if not token.sees(slug):
        raise LeagueError("unknown-league", f"there is no league {slug!r}.")
    if not token.has(scope):
        raise LeagueError("not-allowed", f"this needs a token with the scope {scope}.")
    return League(request.app.state.store, slug)


# Logging in ----------------------------------------------------------------------------------------------------------


@router.get("/login")
async def login_page(request: Request) -> Response:
    """The form to log in."""
    return page(request, "login")


@router.post("/login")
async def log_in(request: Request, sent: Sent) -> Response:
    """Begin a session with a token."""
    state, address = request.app.state, request.client.host if request.client else "unknown"
    try:
        token = await state.gate.token(sent.get("token", [""])[0].strip(), address, tokens.find)
    except LeagueError as error:
        return page(request, "login", CODES[error.code].status, error=str(error))
    secret = await to_thread.run_sync(tokens.log_in, state.store, token)
    response = RedirectResponse("/", 303)
    age = int(tokens.SESSION_LIFETIME.total_seconds())
    response.set_cookie(COOKIE, secret, max_age=age, secure=state.settings.https, httponly=True, samesite="lax")
    return response


@router.post("/logout")
def log_out(request: Request, token: Visitor) -> Response:
    """End the session."""
    tokens.log_out(request.app.state.store, request.cookies[COOKIE])
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


# Pages ---------------------------------------------------------------------------------------------------------------


@router.get("/")
def leagues(request: Request, token: Visitor, after: str = "", search: str = "") -> Response:
    """The leagues that the token opens."""
    rows = request.app.state.store.leagues(after=after, limit=100, slugs=token.leagues, search=search)
    return page(request, "leagues", rows=rows, search=search)


@router.get("/leagues/{slug}")
def league_page(request: Request, token: Visitor, slug: str) -> Response:
    """What is open, with a form for outcomes, and the ranking."""
    return show_league(request, token, find(request, token, slug))


def show_league(request: Request, token: Token, league: League, **context: Any) -> Response:
    """The page of a league, perhaps with an error and what was typed."""
    context = {"typed": {}, "key": secrets.token_hex(8), **context}
    open_proposals, n_pairs = [], 0
    for proposal in league.proposals(open_only=True, limit=20).rows:
        n_pairs += len(proposal.pairs)
        if open_proposals and n_pairs > MAX_SHOWN:
            break
        open_proposals.append(proposal)
    context |= {"info": league.info(), "open": open_proposals, "ranking": league.ranking(limit=20).rows}
    status = context.pop("status", 200)
    return page(request, "league", status, league=league.slug, may_play=token.has("play"), **context)


@router.post("/leagues/{slug}/proposals")
def ask(request: Request, token: Visitor, sent: Sent, slug: str) -> Response:
    """Ask for a proposal of everybody but those who are named."""
    league = find(request, token, slug, "play")
    absent = {name.strip() for name in sent.get("absent", [""])[0].splitlines() if name.strip()}
    available = None
    try:
        if absent:
            available = [item.id for item in league.items(active=True, limit=10_000).rows if item.name not in absent]
        league.ask(available=available, **_writing(token, sent))
    except LeagueError as error:
        return show_league(
            request, token, league, typed=_typed(sent), error=str(error), status=CODES[error.code].status
        )
    return RedirectResponse(f"/leagues/{slug}", 303)


@router.post("/leagues/{slug}/proposals/{number}")
def tell(request: Request, token: Visitor, sent: Sent, slug: str, number: int) -> Response:
    """Record the outcomes that were typed; fields are named by the ids of a pair, such as `3-7`."""
    league = find(request, token, slug, "play")
    try:
        rows = [(*_ids(name), _outcome(texts[0])) for name, texts in sent.items() if name != "key" and texts[0].strip()]
        league.tell(number, rows, **_writing(token, sent))
    except LeagueError as error:
        return show_league(
            request, token, league, typed=_typed(sent), error=str(error), status=CODES[error.code].status
        )
    return RedirectResponse(f"/leagues/{slug}", 303)


@router.get("/leagues/{slug}/proposals/{number}")
def proposal_page(request: Request, token: Visitor, slug: str, number: int) -> Response:
    """A proposal and why it is what it is."""
    league = find(request, token, slug)
    proposal = league.proposal(number)
    return page(request, "proposal", league=slug, proposal=proposal, why=league.why(number))


@router.get("/leagues/{slug}/history")
def history_page(request: Request, token: Visitor, slug: str, after: int = 0) -> Response:
    """Who changed what, and when."""
    return page(request, "history", league=slug, rows=find(request, token, slug).history(after=after))


def _writing(token: Token, sent: Form) -> dict[str, Any]:
    """Who writes, and a key against double clicks."""
    key = sent.get("key", [""])[0]
    return {"by": f"token:{token.id}", "key": f"{token.id}:{key}" if key else None}


def _typed(sent: Form) -> dict[str, str]:
    return {name: texts[0] for name, texts in sent.items() if name != "key"}


def _ids(field: str) -> tuple[int, int]:
    first, _, second = field.partition("-")
    if not (first.isdecimal() and second.isdecimal()):
        raise LeagueError("bad-request", f"unknown field {field!r}.")
    return int(first), int(second)


def _outcome(text: str) -> Any:
    if text.strip().lower() == "void":
        return VOID
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise LeagueError("bad-value", f"an outcome is a number, or void; got {text[:40]!r}.") from None

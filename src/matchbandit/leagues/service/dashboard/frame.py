"""What all pages share: templates and headers, who is logged in, and the fields of forms."""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from matchbandit.errors import MatchbanditError
from matchbandit.formatting import fixed, float_text, grouped, plural
from matchbandit.leagues import League, LeagueError, Store, tokens
from matchbandit.leagues.errors import CODES
from matchbandit.leagues.records import VOID, LeagueInfo, Outcome
from matchbandit.leagues.service.access import chunks, client_address
from matchbandit.leagues.service.problems import to_league_error
from matchbandit.leagues.tokens import Token

COOKIE = "matchbandit"
MAX_LOGIN_BYTES, MAX_FIELDS = 2**12, 2_000
SMALL_BYTES = 2**14
"""Larger forms, which have long lists of names, are parsed in a thread."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    # Not "no-referrer": browsers would then send forms with the origin "null", and it could not be checked.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_DONE = {
    "ask": "Proposal {n} is ready.",
    "tell": "Outcomes recorded: {n}.",
    "correct": "Outcomes corrected: {n}. The history has both values.",
    "void": "Outcomes recorded as void: {n}.",
    "unchanged": "Nothing was changed, so nothing was saved.",
    "join": "Names added: {n}.",
    "erase_name": "The name was erased. The results stay.",
    "saved": "The change was saved.",
    "create": "The league was created.",
    "delete": "The league was deleted. It can be restored for 30 days.",
}
"""What a page says after an action; its address has the word and a number, never a name."""
_FOLDER = Path(__file__).parent
STATIC = StaticFiles(directory=_FOLDER / "static")
router = APIRouter(include_in_schema=False, default_response_class=Response)


# Templates -----------------------------------------------------------------------------------------------------------


def number_text(value: float | None, decimals: int = 2) -> str:
    """A number in a table; a dash where there is none.

    >>> number_text(0.7804), number_text(None), number_text(1234)
    ('0.78', '–', '1,234')
    """
    return "–" if value is None else grouped(value) if isinstance(value, int) else fixed(value, decimals)


def time_text(at: str) -> str:
    """A time for people; a script turns it into their own zone.

    >>> time_text("2026-11-16T09:30:00.000000Z")
    '16 Nov 2026, 09:30 UTC'
    """
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def outcome_text(outcome: Outcome | None) -> str:
    """An outcome as one types it; nothing while it is missing."""
    return "" if outcome is None else "void" if outcome is VOID else float_text(outcome)


def query(request: Request, **changes: object) -> str:
    """The query of a link to this page with other parameters; those that are empty are left out."""
    parameters = {**request.query_params, "done": "", **changes}
    return "?" + urlencode({name: value for name, value in parameters.items() if value not in ("", None)})


_ENVIRONMENT = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
_ENVIRONMENT.loader = FileSystemLoader(_FOLDER / "templates")
_ENVIRONMENT.filters |= {"number": number_text, "time": time_text, "outcome": outcome_text, "zip": zip}
_ENVIRONMENT.globals |= {"query": query, "plural": plural, "version": version("matchbandit")}
_ENVIRONMENT.globals["new_key"] = lambda: secrets.token_hex(8)
_TEMPLATES = Jinja2Templates(env=_ENVIRONMENT)


def page(
    request: Request, name: str, heading: str, *, error: MatchbanditError | None = None, **context: Any
) -> Response:
    """A page from a template, perhaps with what was wrong with the form that was sent."""
    message, status = "", 200
    if error is not None:
        shown = to_league_error(request, error)
        message, status, request.state.code = str(shown), CODES[shown.code].status, shown.code
    word, _, number = request.query_params.get("done", "").partition(":")
    done = "" if error else _DONE.get(word, "").format(n=number[:20] if number.isdecimal() else "")
    context |= {"heading": heading, "token": getattr(request.state, "visitor", None), "done": done}
    context["error"] = message[:1].upper() + message[1:]
    return _TEMPLATES.TemplateResponse(request, f"{name}.html", context, status, _HEADERS)


def show_problem(request: Request, error: LeagueError) -> Response:
    """The page for an error; who is not logged in may do so, and then sees the page that they wanted."""
    if error.code == "no-token":
        referer = request.headers.get("referer", "").partition("?")[0].split("/", 3)  # not parsed: it may be no URL
        path = request.url.path if request.method == "GET" else f"/{''.join(referer[3:])}"
        return RedirectResponse(f"/login?next={quote(local_path(path))}", 303, _HEADERS)
    _, title, retry_after = CODES[error.code]
    response = page(request, "problem", title, error=error)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


# Forms ---------------------------------------------------------------------------------------------------------------


class Form(dict[str, list[str]]):
    """The fields of a form that was sent; a field may occur several times."""

    def one(self, name: str, default: str = "") -> str:
        """The text of a field that occurs once."""
        return self.get(name, [default])[0].strip()

    def lines(self, name: str) -> list[str]:
        """The lines of a field, or of several, that are not empty."""
        return [line.strip() for text in self.get(name, []) for line in text.splitlines() if line.strip()]


def parse_form(content: bytes | bytearray) -> Form:
    """The fields of a form; an error if it cannot be read."""
    form = Form()
    try:
        fields = parse_qsl(content.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
        for name, value in fields:
            form.setdefault(name, []).append(value)
        if any("\0" in value for _, value in fields):
            raise ValueError
    except ValueError:
        raise LeagueError("bad-request", "the form cannot be read. Load the page again.") from None
    return form


async def read_form(request: Request, limit: int) -> Form:
    """A form from one of our own pages: browsers say where it is from, and no page can make them lie."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin", "").partition("://")[2]
    if site != "same-origin" if site else not origin or origin != request.headers.get("host"):
        raise LeagueError("not-allowed", "this form was not sent from a page of this server. Open the page, try again.")
    content = bytearray()
    async for chunk in chunks(request):
        content += chunk
        if len(content) > limit:
            raise LeagueError("body-too-large", f"this form may have at most {limit} bytes.")
    return await to_thread.run_sync(parse_form, content) if len(content) > SMALL_BYTES else parse_form(content)


# Who is logged in ----------------------------------------------------------------------------------------------------


@dataclass
class Visit:
    """A request of somebody who is logged in, to the pages of a league or to those of the store."""

    request: Request
    token: Token
    store: Store
    slug: str
    typed: Form = field(default_factory=Form)
    """The form that was sent, if it was refused: pages then show it again,"""
    error: MatchbanditError | None = None
    """and what was wrong."""

    @cached_property
    def league(self) -> League:
        """The league in the path."""
        return League(self.store, self.slug)

    @cached_property
    def info(self) -> LeagueInfo:
        """Its settings and counts."""
        return self.league.info()

    @property
    def path(self) -> str:
        """Where its pages are."""
        return f"/leagues/{self.slug}" if self.slug else ""

    def page(self, name: str, heading: str, **context: Any) -> Response:
        """A page of the league."""
        is_open = self.info.archived_at is None
        allowed = {f"may_{scope}": is_open and self.token.has(scope) for scope in ("play", "admin")}
        return self.store_page(name, heading, league=self.info, **allowed, **context)

    def store_page(self, name: str, heading: str, **context: Any) -> Response:
        """A page that is not about one league, or about one that is deleted."""
        return page(self.request, name, heading, error=self.error, typed=self.typed, path=self.path, **context)

    def require(self, scope: str) -> None:
        """An error unless the token has this scope."""
        if not self.token.has(scope):
            raise LeagueError("not-allowed", f"this needs the scope {scope}; your token has {self.token.scope}.")

    def writing(self, form: Form) -> dict[str, Any]:
        """Who writes, and an idempotency key, also of the content: a form changed after "back" is a new request."""
        content = sha256(urlencode(sorted(form.items())).encode()).hexdigest()[:32]
        return {"by": f"token:{self.token.id}", "key": f"{self.token.id}:form:{content}" if "key" in form else None}


async def visit(request: Request) -> AsyncIterator[Visit]:
    """A dependency: who is logged in, once it is their turn."""
    if not unquote(f"{request.url.path}?{request.url.query}").isprintable():
        raise LeagueError("bad-request", "an address has printable characters only.")
    secret, gate = request.cookies.get(COOKIE, ""), request.app.state.gate
    if not secret:
        raise LeagueError("no-token", "log in first.")
    token = await gate.token(secret, client_address(request), tokens.find_session)
    request.state.visitor, request.state.token = token, token.id
    slug = request.path_params.get("slug", "")
    async with gate.slot(token, slug):
        if slug and not token.sees(slug):
            raise LeagueError("unknown-league", f"there is no league {slug!r}, or your token does not open it.")
        yield Visit(request, token, request.app.state.store, slug)


Visitor = Annotated[Visit, Depends(visit)]


async def _form(request: Request, visitor: Visitor) -> Form:
    return await read_form(request, request.app.state.settings.max_body_bytes)


Sent = Annotated[Form, Depends(_form)]


def local_path(wanted: str) -> str:
    """A path of this server, or `/`."""
    is_local = wanted.startswith("/") and not wanted.startswith("//") and wanted.isprintable() and "\\" not in wanted
    return wanted if is_local else "/"


@router.get("/login")
async def login_page(request: Request, next: str = "/") -> Response:
    """The form to log in."""
    return page(request, "login", "Log in", next=local_path(next))


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Begin a session with a token."""
    form, state = await read_form(request, MAX_LOGIN_BYTES), request.app.state
    wanted = local_path(form.one("next", "/"))
    try:
        token = await state.gate.token(form.one("token"), client_address(request), tokens.find)
    except MatchbanditError as error:
        return page(request, "login", "Log in", error=error, next=wanted)
    secret = await to_thread.run_sync(tokens.log_in, state.store, token)
    response = RedirectResponse(wanted, 303, _HEADERS)
    options = {"secure": state.settings.https, "httponly": True, "samesite": "lax"}
    response.set_cookie(COOKIE, secret, max_age=int(tokens.SESSION_LIFETIME.total_seconds()), **options)
    return response


@router.post("/logout")
def log_out(visitor: Visitor, sent: Sent) -> Response:
    """End the session."""
    tokens.log_out(visitor.store, visitor.request.cookies[COOKIE])
    response = RedirectResponse("/login", 303, _HEADERS)
    response.delete_cookie(COOKIE)
    return response

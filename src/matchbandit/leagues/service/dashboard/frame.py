"""What all pages share: templates, headers, who is logged in, and the fields of forms."""

import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import ClientDisconnect

from matchbandit import __version__
from matchbandit.formatting import fixed, grouped, plural
from matchbandit.leagues import League, LeagueError, Store, tokens
from matchbandit.leagues.errors import CODES
from matchbandit.leagues.records import LeagueInfo
from matchbandit.leagues.tokens import Token

COOKIE = "matchbandit"
MAX_LOGIN_BYTES = 2**12
MAX_FIELDS = 2_000
"""Of a form: pages show far fewer pairs."""
SMALL_BYTES = 2**14
"""Larger forms, which have long lists of names, are parsed in a thread."""
_FORM = "application/x-www-form-urlencoded"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    # Not "no-referrer": browsers would then send forms with the origin "null", and it could not be checked.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_FOLDER = Path(__file__).parent
STATIC = StaticFiles(directory=_FOLDER / "static")
router = APIRouter(include_in_schema=False, default_response_class=Response)


# Templates -----------------------------------------------------------------------------------------------------------


def number(value: float | None, decimals: int = 2) -> str:
    """A number in a table; a dash where there is none.

    >>> number(0.7804), number(None), number(1234)
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


def query(request: Request, **changes: object) -> str:
    """The query of a link to this page with other parameters, without `done`; empty ones are left out."""
    parameters = {**request.query_params, "done": "", **changes}
    return "?" + urlencode({name: value for name, value in parameters.items() if value not in ("", None)})


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "time": time_text}
    environment.globals |= {"query": query, "plural": plural, "version": __version__}
    environment.globals["new_key"] = lambda: secrets.token_hex(8)
    return environment


_TEMPLATES = Jinja2Templates(env=_environment())


def page(request: Request, name: str, *, error: LeagueError | None = None, **context: Any) -> Response:
    """A page from a template, perhaps with what was wrong with the form that was sent."""
    status = 200 if error is None else CODES[error.code].status
    message = "" if error is None else str(error)
    context = {"token": getattr(request.state, "visitor", None), "error": message[:1].upper() + message[1:], **context}
    if error is not None:
        request.state.code = error.code
    return _TEMPLATES.TemplateResponse(request, f"{name}.html", context, status, _HEADERS)


def show_problem(request: Request, error: LeagueError) -> Response:
    """The page for an error; who is not logged in may do so, and then sees the page they wanted."""
    if error.code == "no-token":
        wanted = f"?next={quote(request.url.path)}" if request.method == "GET" and request.url.path != "/" else ""
        return RedirectResponse(f"/login{wanted}", 303, _HEADERS)
    response = page(request, "problem", error=error, code=CODES[error.code])
    if CODES[error.code].retry_after is not None:
        response.headers["Retry-After"] = str(CODES[error.code].retry_after)
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
    try:
        fields = parse_qsl(content.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        raise LeagueError("bad-request", "the form cannot be read.") from None
    form = Form()
    for name, value in fields:
        if "\0" in value:
            raise LeagueError("bad-request", "a field has a character that no text contains.")
        form.setdefault(name, []).append(value)
    return form


async def _read(request: Request, limit: int) -> bytearray:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise LeagueError("bad-request", f"a form is sent as {_FORM}.")
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > limit:
            raise LeagueError("body-too-large", f"this form may have at most {limit} bytes.")
    return content


def _refuse_other_sites(request: Request) -> None:
    """A form must come from a page of this server: browsers say where from, and no page can make them lie."""
    site = request.headers.get("sec-fetch-site")
    origin = urlsplit(request.headers.get("origin", "")).netloc
    if site != "same-origin" if site else not origin or origin != request.headers.get("host"):
        raise LeagueError("not-allowed", "this form was not sent from a page of this server. Open the page, try again.")


# Who is logged in ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Visit:
    """A request of somebody who is logged in, to the pages of a league or to those of the store."""

    request: Request
    token: Token
    store: Store
    slug: str

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
        return f"/leagues/{self.slug}"

    def page(self, name: str, *, title: str, error: LeagueError | None = None, **context: Any) -> Response:
        """A page of the league."""
        open_ = self.info.archived_at is None
        context |= {"league": self.info, "path": self.path, "page_title": title}
        context |= {"may_play": open_ and self.token.has("play"), "may_admin": open_ and self.token.has("admin")}
        return page(self.request, name, error=error, **context)

    def require(self, scope: str) -> None:
        """An error unless the token has this scope."""
        if not self.token.has(scope):
            raise LeagueError("not-allowed", f"this needs a token with the scope {scope}; yours has {self.token.scope}.")

    def writing(self, form: Form) -> dict[str, Any]:
        """What writing methods take: who, and an idempotency key.

        The key is of the form's content too: a form that was changed after the browser's "back" is another request.
        """
        content = sha256(urlencode(sorted(form.items())).encode()).hexdigest()[:32]
        return {"by": f"token:{self.token.id}", "key": f"{self.token.id}:form:{content}" if "key" in form else None}


async def visit(request: Request) -> AsyncIterator[Visit]:
    """A dependency: who is logged in, once it is their turn; forms must have been sent from our own pages."""
    if request.method not in ("GET", "HEAD"):
        _refuse_other_sites(request)
    if not unquote(f"{request.url.path}?{request.url.query}").isprintable():
        raise LeagueError("bad-request", "an address has printable characters only.")
    secret, gate = request.cookies.get(COOKIE, ""), request.app.state.gate
    if not secret:
        raise LeagueError("no-token", "log in first.")
    token = await gate.token(secret, _address(request), tokens.find_session)
    request.state.visitor, request.state.token = token, token.id
    slug = request.path_params.get("slug", "")
    async with gate.slot(token):
        if slug and not token.sees(slug):
            raise LeagueError("unknown-league", f"there is no league {slug!r}, or your token does not open it.")
        yield Visit(request, token, request.app.state.store, slug)


Visitor = Annotated[Visit, Depends(visit)]


async def _form(request: Request, visitor: Visitor) -> Form:
    content = await _read(request, request.app.state.settings.max_body_bytes)
    return await to_thread.run_sync(parse_form, content) if len(content) > SMALL_BYTES else parse_form(content)


Sent = Annotated[Form, Depends(_form)]


def _address(request: Request) -> str:
    return f"cookie {request.client.host if request.client else 'unknown'}"


def local_path(wanted: str) -> str:
    r"""A path of this server, or `/`.

    >>> [local_path(path) for path in ("/leagues/club", "//evil.example", "/\\evil.example", "https://evil.example")]
    ['/leagues/club', '/', '/', '/']
    """
    is_local = wanted.startswith("/") and not wanted.startswith("//") and wanted.isprintable() and "\\" not in wanted
    return wanted if is_local else "/"


@router.get("/login")
async def login_page(request: Request, next: str = "/") -> Response:
    """The form to log in."""
    return page(request, "login", next=local_path(next))


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Begin a session with a token."""
    _refuse_other_sites(request)
    form, state = parse_form(await _read(request, MAX_LOGIN_BYTES)), request.app.state
    wanted = local_path(form.one("next", "/"))
    try:
        token = await state.gate.token(form.one("token"), _address(request).removeprefix("cookie "), tokens.find)
    except LeagueError as error:
        return page(request, "login", error=error, next=wanted)
    secret = await to_thread.run_sync(tokens.log_in, state.store, token)
    response = RedirectResponse(wanted, 303, _HEADERS)
    age = int(tokens.SESSION_LIFETIME.total_seconds())
    response.set_cookie(COOKIE, secret, max_age=age, secure=state.settings.https, httponly=True, samesite="lax")
    return response


@router.post("/logout")
def log_out(visitor: Visitor) -> Response:
    """End the session."""
    tokens.log_out(visitor.store, visitor.request.cookies[COOKIE])
    response = RedirectResponse("/login", 303, _HEADERS)
    response.delete_cookie(COOKIE)
    return response

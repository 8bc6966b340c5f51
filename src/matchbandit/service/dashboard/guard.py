"""Who looks at a page, and whether a form was really sent from one of ours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import Request
from fastapi.responses import Response

from matchbandit.live.errors import LeagueError
from matchbandit.live.store import Store
from matchbandit.service import sessions
from matchbandit.service.dashboard.html import Elsewhere, OnceMore
from matchbandit.service.logs import CONTEXT
from matchbandit.service.problems import ApiError
from matchbandit.service.sessions import Session
from matchbandit.service.settings import Settings

if TYPE_CHECKING:
    from matchbandit.live.league import League

MAX_FIELDS = 20_000
"""Of a form: a proposal for 20 000 players has half as many."""
_FORM = "application/x-www-form-urlencoded"


class Form(dict[str, list[str]]):
    """What was typed, by field; a field may be there several times."""

    def one(self, name: str, default: str = "") -> str:
        """The text of a field that is there once."""
        return self.get(name, [default])[0].strip()

    def first_texts(self) -> dict[str, str]:
        """The first text of each field, to fill the form again."""
        return {name: texts[0] for name, texts in self.items() if name != "csrf"}


@dataclass(frozen=True)
class Visitor:
    """Somebody who is logged in, at a league that their token opens."""

    session: Session
    league: "League"

    @property
    def slug(self) -> str:
        """Of the league."""
        return self.league.name

    def may(self, scope: str) -> bool:
        """Does the token allow this much here?"""
        return self.session.token.may(scope, self.slug)

    def writing(self, key: str = "") -> dict[str, Any]:
        """What every writing method takes: who, and a key against double clicks."""
        token = self.session.token.id
        return {"by": f"token:{token}", "key": f"{token}:{key}" if key else None}


class Guard:
    """Knows visitors by their cookie."""

    def __init__(self, store: Store, settings: Settings) -> None:
        """For the sessions of this store."""
        self.store, self.settings = store, settings

    @property
    def cookie(self) -> str:
        """Its name."""
        return sessions.cookie_name(self.settings)

    def remember(self, response: Response, secret: str) -> None:
        """Give the cookie of a session: out of reach of scripts and of other sites."""
        max_age = int(sessions.LIFETIME.total_seconds())
        response.set_cookie(
            self.cookie, secret, max_age=max_age, path="/", secure=self.settings.https, httponly=True, samesite="strict"
        )

    def forget(self, response: Response) -> None:
        """Take the cookie back."""
        response.delete_cookie(self.cookie, path="/", secure=self.settings.https, httponly=True, samesite="strict")

    def session(self, request: Request) -> Session | None:
        """Whose request this is, if they are logged in."""
        secret = request.cookies.get(self.cookie)
        session = sessions.find(self.store, secret) if secret else None
        request.state.session = session
        if session is not None and CONTEXT in request.scope:
            request.scope[CONTEXT].token = session.token
        return session

    def logged_in(self, request: Request) -> Session:
        """Whose request this is; to the login page if nobody's.

        Browsers keep a strict cookie back when a link on another site leads here, such as one in a chat. Then the page
        is asked for once more, from here.
        """
        session = self.session(request)
        if session is not None:
            return session
        if request.method == "GET":
            if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
                raise OnceMore
            raise Elsewhere(f"/login?next={quote(request.url.path)}")
        raise Elsewhere(f"/login?ended=1&next={quote(_page_of(request))}")

    def visitor(self, scope: str) -> Callable[[Request, str], Visitor]:
        """A dependency: a league that the visitor's token opens this far."""

        def opened(request: Request, slug: str) -> Visitor:
            session = self.logged_in(request)
            unknown = ApiError("unknown-league", f"your token opens no league {slug[:64]!r}.")
            if not session.token.sees(slug):
                raise unknown
            try:
                league = self.store.open(slug)
            except LeagueError as error:
                raise (unknown if error.code == "unknown-league" else error) from None
            if CONTEXT in request.scope:
                request.scope[CONTEXT].league = slug
            visitor = Visitor(session, league)
            if not visitor.may(scope):
                words = f"your token has the scope {session.token.scope}; this needs {scope}."
                raise ApiError("not-allowed", words)
            return visitor

        return opened

    async def form(self, request: Request) -> Form:
        """A dependency: the fields of a form that was sent from one of our own pages."""
        refuse_other_sites(request)
        if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM:
            raise ApiError("bad-request", "a form is sent as a form.")
        try:
            text = (await request.body()).decode()
            fields = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
        except (ValueError, UnicodeDecodeError):
            raise ApiError("bad-request", "the form cannot be read.") from None
        form = Form()
        for name, value in fields:
            form.setdefault(name, []).append(value)
        return form


def _page_of(request: Request) -> str:
    """The page with the form that was sent."""
    page = urlsplit(request.headers.get("referer", ""))
    return safe_path(page.path) if page.netloc == request.headers.get("host", "") else "/"


def refuse_other_sites(request: Request) -> None:
    """A form must come from a page of this site: browsers say where from, and no page can make them lie."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        right = site == "same-origin"
    else:
        origin = urlsplit(request.headers.get("origin", ""))
        right = bool(origin.netloc) and origin.netloc == request.headers.get("host", "")
    if not right:
        raise ApiError("not-allowed", "this form was not sent from a page of this site. Open the page and try again.")


def check(session: Session, form: Form) -> None:
    """A form must carry what only pages of this session have."""
    if not session.has_csrf(form.one("csrf")):
        raise ApiError("not-allowed", "this form is of another session. Go back, load the page again, and try again.")


def safe_path(wanted: str) -> str:
    r"""A path of this site, or `/`.

    >>> [safe_path(path) for path in ("/leagues/club", "//evil.example", "/\\evil.example", "https://evil.example", "")]
    ['/leagues/club', '/', '/', '/', '/']
    """
    is_local = wanted.startswith("/") and not wanted.startswith("//") and wanted.isprintable() and "\\" not in wanted
    return wanted if is_local else "/"

"""Pages as HTML: templates that escape whatever users typed, headers that let nothing else run, errors as pages."""

import json
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import cache
from math import isfinite
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException

from matchbandit.errors import MatchbanditError
from matchbandit.figures.page import ECHARTS
from matchbandit.formatting import short
from matchbandit.service.dashboard.assets import address
from matchbandit.service.logs import CONTEXT
from matchbandit.service.problems import STATUSES, TITLES, ApiError, code_and_message
from matchbandit.service.sessions import Session

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    # Not "no-referrer": browsers would then send forms with the origin "null", and it could not be checked.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Of every page. No script or style but our own files, no frame around it, no form to elsewhere."""


class Elsewhere(Exception):  # noqa: N818 - no error: a way to go
    """The page is to be found at another address."""

    def __init__(self, where: str) -> None:
        """An address of this site."""
        super().__init__(where)
        self.where = where


class OnceMore(Exception):  # noqa: N818
    """The browser is to ask for this page again, from one of our own."""


class PageResponse(HTMLResponse):
    """A page, and the code of what was refused, which the log has."""

    code: str | None = None


class PageRoute(APIRoute):
    """A route for people: what goes wrong is told on a page, not as JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's own handler, with errors and headers for browsers."""
        answer = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                response = await answer(request)
            except Elsewhere as way:
                response = RedirectResponse(way.where, 303)
            except OnceMore:
                response = page("once_more", None)
            except (HTTPException, RequestValidationError, MatchbanditError) as error:
                response = _problem(request, error)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            if isinstance(response, PageResponse) and response.code and CONTEXT in request.scope:
                request.scope[CONTEXT].code = response.code
            return response

        return handler


def page(
    name: str, session: Session | None, *, status: int = 200, code: str | None = None, **shown: Any
) -> PageResponse:
    """A page by the name of its template; `code` is that of a refusal which it tells."""
    nothing = {"error": None, "done": None, "charts": None, "heat": None}
    text = _templates().get_template(f"{name}.html").render(session=session, **nothing | shown)
    response = PageResponse(text, status)
    response.code = code
    return response


def refused(error: MatchbanditError) -> dict[str, Any]:
    """What a page says of what a league refused: it is the same page again, with what was typed."""
    code, words = code_and_message(error)
    return {"error": _sentence(words), "code": code, "status": STATUSES[code]}


def _problem(request: Request, error: Exception) -> PageResponse:
    """What went wrong, on a page of its own."""
    context = request.scope.get(CONTEXT)
    request_id = "" if context is None else context.request_id
    if isinstance(error, ApiError):
        code, words = error.code, str(error.detail)
    elif isinstance(error, MatchbanditError):
        code, words = code_and_message(error, request_id)
    else:
        code, words = "not-found", "there is nothing at this address."
    session = getattr(request.state, "session", None)
    shown = {"heading": TITLES[code], "words": _sentence(words), "request_id": request_id}
    response = page("problem", session, status=STATUSES[code], code=code, **shown)
    response.headers.update((error.headers or {}) if isinstance(error, ApiError) else {})
    return response


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("matchbandit.service.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"when": when, "digits": digits, "fixed": fixed, "as_json": as_json}
    environment.globals |= {"asset": address, "echarts": ECHARTS}
    return environment


def when(at: str) -> str:
    """A logged time for people; a script turns it into their own zone.

    >>> when("2026-11-16T09:30:00.000000Z")
    '16 Nov 2026, 09:30 UTC'
    """
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def digits(value: float | None) -> str:
    """A number to three digits; a dash where there is none.

    >>> digits(0.61803), digits(None), digits(12)
    ('0.618', '–', '12')
    """
    return "–" if value is None or not isfinite(value) else short(float(f"{value:.3g}"))


def fixed(value: float) -> str:
    """A strength or an estimate in a column of them: two digits after the point, which is finer than it is known.

    >>> fixed(0.7804), fixed(1)
    ('0.78', '1.00')
    """
    return f"{value:z.2f}".replace("-", "−")


def as_json(data: Any) -> Markup:
    """Data inside a script element, which it cannot end."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))

"""Errors as application/problem+json (RFC 9457), with a code for programs; see `leagues.errors.CODES`."""

import json
import logging
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from matchbandit.errors import MatchbanditError
from matchbandit.leagues.errors import CODES, LeagueError

LOGGER = logging.getLogger("matchbandit.leagues")
MEDIA_TYPE = "application/problem+json"
_OF_STATUS = {404: "not-found", 405: "method-not-allowed"}
_STORE_MESSAGES = {
    "store-busy": "the store is busy with other requests. Send this request again, under the same Idempotency-Key.",
    "store-unusable": "the store cannot be used now, and the log of the server says why. If the connection was lost at "
    "the end of a write, that may be on disk: send this request again, under the same Idempotency-Key.",
}
"""Instead of the messages of the store, which name its file or host."""


def problem(
    request: Request, code: str, detail: str, *, field: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    """The response for an error."""
    status, title, retry_after = CODES[code]
    request.state.code = code
    content = {"status": status, "code": code, "title": title, "detail": detail, "field": field}
    content["request_id"] = getattr(request.state, "id", None)
    headers = dict(headers or {})
    if retry_after is not None:
        headers.setdefault("Retry-After", str(retry_after))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(json.dumps(content), status, headers, MEDIA_TYPE)


def to_league_error(request: Request, error: MatchbanditError) -> LeagueError:
    """The error that a client may see; that of a store is logged in full."""
    if not isinstance(error, LeagueError):
        return LeagueError("bad-value", str(error))
    if error.code not in _STORE_MESSAGES:
        return error
    content = {"id": getattr(request.state, "id", None), "code": error.code, "message": str(error)}
    LOGGER.error("store", extra={"content": content})
    return LeagueError(error.code, _STORE_MESSAGES[error.code])


def add_handlers(app: FastAPI, show_problem: Callable[[Request, LeagueError], Response]) -> None:
    """Answer every error of the app with a problem, or outside of the API with the page that `show_problem` gives."""

    def respond(request: Request, error: LeagueError, headers: dict[str, str] | None = None) -> Response:
        if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/"):
            return show_problem(request, error)
        return problem(request, error.code, str(error), field=error.field, headers=headers)

    @app.exception_handler(MatchbanditError)
    async def league_error(request: Request, error: MatchbanditError) -> Response:
        return respond(request, to_league_error(request, error))

    @app.exception_handler(RequestValidationError)
    async def parameters(request: Request, error: RequestValidationError) -> Response:
        first: dict[str, Any] = error.errors()[0]
        place, *names = (str(part) for part in first["loc"])
        name = ".".join(names)
        message = f"the {place} parameter {name}: {first['msg']}. See /docs."
        return respond(request, LeagueError("bad-request", message, field=name))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        code, headers = _OF_STATUS.get(error.status_code, "bad-request"), dict(error.headers or {})
        detail = f"{CODES[code].title}: {request.method} {request.url.path[:100]}. /docs lists what there is."
        if methods := app.openapi()["paths"].get(getattr(request.scope.get("route"), "path", "")):
            headers["Allow"] = ", ".join(sorted(method.upper() for method in methods))  # not of one route only
        return respond(request, LeagueError(code, detail), headers)

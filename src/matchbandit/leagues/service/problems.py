"""Errors as application/problem+json (RFC 9457), with a code for programs; see `live.errors.CODES`."""

import json
import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from matchbandit.leagues.errors import CODES, LeagueError
from matchbandit.leagues.service import dashboard

LOGGER = logging.getLogger("matchbandit.service")
_OF_STATUS = {404: "not-found", 405: "method-not-allowed"}


def problem(request: Request, code: str, detail: str, headers: dict[str, str] | None = None) -> Response:
    """The response for an error."""
    status, title, retry_after = CODES[code]
    request.state.code = code
    content = {"status": status, "code": code, "title": title, "detail": detail}
    content["request_id"] = getattr(request.state, "id", None)
    headers = dict(headers or {})
    if retry_after is not None:
        headers.setdefault("Retry-After", str(retry_after))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(json.dumps(content), status, headers, "application/problem+json")


def add_handlers(app: FastAPI) -> None:
    """Answer every error of the app with a problem."""

    @app.exception_handler(LeagueError)
    async def league_error(request: Request, error: LeagueError) -> Response:
        if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/"):
            return dashboard.show_problem(request, error)
        return problem(request, error.code, str(error))

    @app.exception_handler(RequestValidationError)
    async def parameters(request: Request, error: RequestValidationError) -> Response:
        first: dict[str, Any] = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return problem(request, "bad-request", f"{where}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        code = _OF_STATUS.get(error.status_code, "bad-request")
        return problem(request, code, CODES[code].title + ".", dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> Response:
        return problem(request, "internal-error", "The server has a defect; its log has the request id.")

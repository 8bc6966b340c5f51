"""Errors as `application/problem+json` (RFC 9457)."""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException as RoutingError
from starlette.types import Receive, Scope, Send

from matchbandit.errors import MatchbanditError
from matchbandit.live.errors import CODES, LeagueError
from matchbandit.service.logs import CONTEXT, RequestContext, log

MEDIA_TYPE = "application/problem+json"
OWN_CODES: dict[str, int] = {
    "no-token": 401,
    "wrong-token": 401,
    "ended-token": 401,
    "not-allowed": 403,
    "not-found": 404,
    "wrong-method": 405,
    "body-too-slow": 408,
    "body-too-large": 413,
    "no-json": 415,
    "bad-json": 400,
    "bad-request": 422,
    "too-many-requests": 429,
    "internal": 500,
    "too-busy": 503,
    "answer-too-slow": 503,
    "starting": 503,
}
"""Codes of the service and their statuses; the others are those of `LeagueError`."""
TITLES: dict[str, str] = {
    "no-token": "A token is needed",
    "wrong-token": "No such token",
    "ended-token": "The token has ended",
    "not-allowed": "The token does not allow this",
    "not-found": "Nothing was found at this path",
    "wrong-method": "The method is not supported at this path",
    "body-too-slow": "The body did not arrive in time",
    "body-too-large": "The body is too large",
    "no-json": "The body must be JSON",
    "bad-json": "The body is not JSON",
    "bad-request": "The request is invalid",
    "too-many-requests": "Too many requests",
    "internal": "Internal error of the service",
    "too-busy": "The service is busy",
    "answer-too-slow": "The answer did not come in time",
    "starting": "The service is starting",
    "bad-value": "A value is invalid",
    "bad-name": "A name is invalid",
    "unknown-league": "There is no such league",
    "unknown-item": "There is no such item",
    "unknown-proposal": "There is no such proposal",
    "not-proposed": "This pair was not proposed",
    "reward-outside": "The reward is outside its distribution",
    "contradiction": "Another outcome is known",
    "proposal-closed": "The proposal is closed",
    "round-open": "A round is open",
    "infeasible": "The rules leave no pair",
    "too-many-rules": "The league has too many rules",
    "name-taken": "The name is taken",
    "league-exists": "The league exists",
    "league-archived": "The league is archived",
    "key-reused": "The key was used for something else",
    "not-supported": "This league cannot do this",
    "damaged": "The record is damaged",
    "compute-limit": "The computation takes too long",
    "compute-busy": "Too many computations at a time",
    "store-busy": "The store is busy",
    "store-unusable": "The store cannot be used",
}
STATUSES = {**CODES, **OWN_CODES}
"""Every code and its status."""
_RETRY_AFTER_S = {
    "too-busy": "1",
    "compute-busy": "2",
    "store-busy": "1",
    "store-unusable": "5",
    "answer-too-slow": "1",
    "starting": "1",
}
_STORE_MESSAGES = {
    "store-busy": "others are writing to the store, and it took too long. Nothing was done; try again.",
    "store-unusable": "the store cannot be used now. Nothing was done; the operator's log says why.",
}
_MAX_ECHO_CHARS = 80
_MAX_MISTAKES = 20


class ApiError(HTTPException):
    """The service itself refused a request."""

    def __init__(self, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        """The code is one of `OWN_CODES`."""
        super().__init__(STATUSES[code], message, dict(headers or {}))
        self.code = code


class Problem(Response):
    """An error response; `mistakes` lists the invalid fields of a body."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        mistakes: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """The status is that of the code unless given."""
        status = STATUSES[code] if status is None else status
        self.code, self.mistakes, self.message = code, list(mistakes), message
        more = dict(headers or {})
        if code in _RETRY_AFTER_S:
            more.setdefault("Retry-After", _RETRY_AFTER_S[code])
        if status == 401:
            more.setdefault("WWW-Authenticate", 'Bearer realm="matchbandit"')
        super().__init__(None, status, more)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the problem with the request id, which is also in the log."""
        context: RequestContext = scope[CONTEXT]
        context.code = self.code
        content: dict[str, Any] = {
            "type": f"/docs#{self.code}",
            "title": TITLES[self.code],
            "status": self.status_code,
            "detail": self.message,
            "code": self.code,
            "request_id": context.request_id,
        }
        if self.mistakes:
            content["mistakes"] = self.mistakes
        self.body = json.dumps(content).encode()  # ASCII, so that any text can be sent
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Handle errors of the service and its router."""
    assert isinstance(error, RoutingError)
    if isinstance(error, ApiError):
        return Problem(error.code, str(error.detail), headers=error.headers)
    path = request.url.path[:_MAX_ECHO_CHARS]
    code, message = {
        404: ("not-found", f"there is nothing at {path!r}. /docs lists what there is."),
        405: ("wrong-method", f"{path!r} does not take {request.method}. /docs lists what it takes."),
    }.get(error.status_code, ("bad-request", "the request cannot be read."))
    headers = dict(error.headers or {})
    if error.status_code == 405:
        # The router names the methods of one route; others may share the path.
        methods = request.app.openapi()["paths"].get(getattr(request.scope.get("route"), "path", ""), {})
        headers |= {"Allow": ", ".join(sorted(method.upper() for method in methods))} if methods else {}
    return Problem(code, message, status=error.status_code, headers=headers)


async def on_league_error(request: Request, error: Exception) -> Response:
    """Handle errors of leagues, stores and policies."""
    return Problem(*code_and_message(error, request.scope[CONTEXT].request_id))


def code_and_message(error: Exception, request_id: str | None = None) -> tuple[str, str]:
    """The code and message of an error, for the client.

    The URL of the store and messages of its database go to the log only.
    """
    code = error.code if isinstance(error, LeagueError) and error.code in TITLES else "bad-value"
    if code not in _STORE_MESSAGES:
        return code, str(error)
    log("store", {"code": code, "words": str(error), "request_id": request_id}, level=logging.ERROR)
    return code, _STORE_MESSAGES[code]


async def on_bad_request(request: Request, error: Exception) -> Response:
    """Handle requests that fail validation."""
    assert isinstance(error, RequestValidationError)
    return bad_request(error)


def bad_request(error: RequestValidationError) -> Problem:
    """Translate errors of Pydantic."""
    errors = error.errors()
    mistakes = [{"where": _where(one["loc"]), "what": _what(one)} for one in errors[:_MAX_MISTAKES]]
    first = f"{mistakes[0]['where']} {mistakes[0]['what']}."
    more = f" There are {len(errors) - 1} more mistakes." if len(errors) > 2 else ""
    more = " There is one more mistake." if len(errors) == 2 else more
    return Problem("bad-request", first + more, mistakes=mistakes)


HANDLERS = {
    RoutingError: on_http_error,
    RequestValidationError: on_bad_request,
    MatchbanditError: on_league_error,
}


def _where(place: Sequence[int | str]) -> str:
    """The path of a mistake, such as `outcomes[2].reward`."""
    path = ""
    for part in place[1:]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.lstrip(".") or ("the body" if place[0] == "body" else str(place[0]))


def _what(mistake: Mapping[str, Any]) -> str:
    """Describe a mistake."""
    kind, value, context = mistake["type"], mistake.get("input"), mistake.get("ctx", {})
    if kind == "missing":
        return "is missing"
    message = {
        "extra_forbidden": "is not known here",
        "literal_error": f"must be one of {context.get('expected')}",
        "string_type": "must be a text",
        "string_too_short": f"must have at least {context.get('min_length')} characters",
        "string_too_long": f"must have at most {context.get('max_length')} characters",
        "string_pattern_mismatch": f"must match {context.get('pattern')}",
        "int_type": "must be a whole number",
        "int_parsing": "must be a whole number",
        "int_from_float": "must be a whole number",
        "float_type": "must be a number",
        "float_parsing": "must be a number",
        "finite_number": "must be a finite number",
        "bool_type": "must be true or false",
        "bool_parsing": "must be true or false",
        "greater_than_equal": f"must be at least {context.get('ge', 0):g}",
        "greater_than": f"must be more than {context.get('gt', 0):g}",
        "less_than_equal": f"must be at most {context.get('le', 0):g}",
        "list_type": "must be a list",
        "tuple_type": "must be a list",
        "too_short": f"must have at least {context.get('min_length')} entries",
        "too_long": f"must have at most {context.get('max_length')} entries",
        "dict_type": "must be an object",
        "model_type": "must be an object",
        "model_attributes_type": "must be an object",
        "value_error": str(context.get("error", "is not valid")),
    }.get(kind, "is not of a kind that is taken here")
    return f"{message}; got {_echo(value)}"


def _echo(value: Any) -> str:
    """The value as JSON, shortened if it is long."""
    try:
        text = json.dumps(value, default=lambda _: "…")
    except (ValueError, RecursionError):
        text = "…"
    return text if len(text) <= _MAX_ECHO_CHARS else f"{text[:_MAX_ECHO_CHARS]}…"

"""A structured log: one JSON object per line, without names, tokens or bodies; and the id of each request.

A request is logged with its id, method, route (the pattern, not the path), status, milliseconds, the token's public id
and, once the token has opened it, the league. A defect is logged with its type and its place in the code, without its
message, which may quote the request. Addresses are logged for refused connections only.
"""

import json
import logging
import re
import secrets
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any

from matchbandit.service.tokens import Token

LOGGER = logging.getLogger("matchbandit.service")
CONTEXT = "matchbandit"
"""The key of the `RequestContext` in a request's scope."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass
class RequestContext:
    """What the log and the metrics need to know about a request in progress."""

    request_id: str
    token: Token | None = None
    league: str | None = None
    """The slug, once the token has opened the league."""
    code: str | None = None
    """The code of the problem, if the request was refused."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Write time, level and event, then the record's `content`."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "content", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= describe_error(record.exc_info[1])
        return json.dumps(line)


def describe_error(error: BaseException) -> dict[str, Any]:
    """The type of an error and where it was raised, without its message."""
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    content: dict[str, Any] = {"error": type(error).__name__, "places": places[-12:]}
    if error.__cause__ is not None:
        content["cause"] = type(error.__cause__).__name__
    return content


def write_to(stream: IO[str] | None = None, level: str = "info") -> None:
    """Send the log of the service and of uvicorn to this stream; stderr by default."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonLines())
    for name in (LOGGER.name, "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level.upper())
        logger.propagate = name == "uvicorn.error"


def log(
    event: str, content: Mapping[str, Any], *, level: int = logging.INFO, error: BaseException | None = None
) -> None:
    """Write one line."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, event, extra={"content": {**content, **({} if error is None else describe_error(error))}})


def request_id(header: str | None) -> str:
    """The id from the client's header if it has only letters, digits and `._-`, else a new one."""
    return header if header is not None and _REQUEST_ID.fullmatch(header) else secrets.token_hex(8)

"""A structured log: a JSON object a line, without names, tokens or bodies; and the id of each request.

What is written of a request: its id, method, route (the pattern, not the path), status, milliseconds, the token's
public id, the league once the token has opened it. Of a defect: its kind and the places in the code, not its message,
which may quote what was sent.
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
"""Where a request's scope keeps what is context of it."""
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass
class RequestContext:
    """What is context of a request while it is answered, for the log and the metrics."""

    request_id: str
    token: Token | None = None
    league: str | None = None
    """Its slug, once the token has opened it."""
    code: str | None = None
    """Of the problem, if it was refused."""


class JsonLines(logging.Formatter):
    """Each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, event, and what the record has in `told`."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "told", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= defect(record.exc_info[1])
        return json.dumps(line)


def defect(error: BaseException) -> dict[str, Any]:
    """The kind of an error and where it was, without its message."""
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    told: dict[str, Any] = {"error": type(error).__name__, "places": places[-12:]}
    if error.__cause__ is not None:
        told["cause"] = type(error.__cause__).__name__
    return told


def write_to(stream: IO[str] | None = None, level: str = "info") -> None:
    """Send the service's lines, and those of the server below it, to this stream; stderr by default."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonLines())
    for name in (LOGGER.name, "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level.upper())
        logger.propagate = name == "uvicorn.error"


def log(event: str, told: Mapping[str, Any], *, level: int = logging.INFO, error: BaseException | None = None) -> None:
    """Write one line."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, event, extra={"told": {**told, **({} if error is None else defect(error))}})


def request_id(given: str | None) -> str:
    """The id that a client gave its request, if it is a plain one, or a new one."""
    return given if given is not None and _GIVEN_ID.fullmatch(given) else secrets.token_hex(8)

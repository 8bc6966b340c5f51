"""Errors of leagues, stores and the service: one table says everything about a code."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from matchbandit.errors import MatchbanditError


class LeagueError(MatchbanditError):
    """A league, its store or the service refused a request; nothing was written, unless its store broke meanwhile."""

    def __init__(self, code: str, message: str, *, field: str | None = None) -> None:
        """The code is one of `CODES`; `field` names the part of the request that is wrong."""
        super().__init__(message)
        self.code, self.field = code, field

    def __reduce__(self) -> Any:
        """For pickle, which would call it with the message alone."""
        return type(self), (self.code, str(self)), {"field": self.field}


@contextmanager
def errors_as(code: str) -> Iterator[None]:
    """Errors of the library are errors of leagues with this code; also a decorator."""
    try:
        yield
    except LeagueError:
        raise
    except MatchbanditError as error:
        raise LeagueError(code, str(error)) from error


class Code(NamedTuple):
    """What an error code means over HTTP."""

    status: int
    title: str
    retry_after: int | None = None
    """Seconds after which the same request may succeed; None: it needs another request."""


CODES: dict[str, Code] = {
    "bad-request": Code(400, "The request is not of the documented form"),
    "bad-value": Code(422, "A value is not valid"),
    "bad-name": Code(422, "A name is not valid"),
    "body-too-large": Code(413, "The body is larger than any valid request to this league"),
    "body-too-slow": Code(408, "The body did not arrive in time", retry_after=1),
    "unknown-league": Code(404, "There is no such league, or the token does not open it"),
    "unknown-item": Code(422, "There is no such item"),
    "unknown-proposal": Code(404, "There is no such proposal"),
    "not-found": Code(404, "There is nothing at this address"),
    "method-not-allowed": Code(405, "This address does not accept the method"),
    "not-proposed": Code(422, "The pair was not proposed"),
    "reward-outside": Code(422, "The reward is impossible in this league"),
    "contradiction": Code(409, "It contradicts what is recorded"),
    "infeasible": Code(409, "No pair is possible under the rules"),
    "too-many-rules": Code(422, "The league has too many rules"),
    "name-taken": Code(409, "The name is taken"),
    "league-exists": Code(409, "A league has this name"),
    "league-archived": Code(409, "The league is archived"),
    "changed-since": Code(412, "The settings have changed since they were read"),
    "key-reused": Code(422, "The idempotency key was used for another request"),
    "not-supported": Code(422, "This league does not support it"),
    "damaged": Code(422, "The file is damaged"),
    "no-token": Code(401, "The request has no valid token"),
    "not-allowed": Code(403, "The token does not allow this"),
    "too-many-requests": Code(429, "Too many requests", retry_after=1),
    "too-slow": Code(422, "The decision takes longer than the time limit"),
    "server-busy": Code(503, "The server has too many requests in progress", retry_after=1),
    "workers-busy": Code(503, "All worker processes are busy", retry_after=2),
    "store-busy": Code(503, "The store is busy", retry_after=1),
    "store-unusable": Code(503, "The store cannot be used", retry_after=10),
    "unreachable": Code(503, "The service gave no answer", retry_after=1),
    "internal-error": Code(500, "The server has a defect; its log has the id of the request"),
}
"""Every error code."""

"""Errors of leagues and stores, with a machine-readable code."""

from matchbandit.errors import MatchbanditError


class LeagueError(MatchbanditError):
    """A league or its store refused a request; nothing was written."""

    def __init__(self, code: str, message: str) -> None:
        """The code is one of `CODES`."""
        super().__init__(message)
        self.code = code


CODES: dict[str, int] = {
    "bad-value": 422,
    "bad-name": 422,
    "unknown-league": 404,
    "unknown-item": 422,
    "unknown-proposal": 404,
    "not-proposed": 422,
    "reward-outside": 422,
    "contradiction": 409,
    "proposal-closed": 409,
    "round-open": 409,
    "infeasible": 409,
    "too-many-rules": 422,
    "name-taken": 409,
    "league-exists": 409,
    "league-archived": 409,
    "key-reused": 422,
    "not-supported": 422,
    "damaged": 422,
    "compute-limit": 422,
    "compute-busy": 503,
    "store-busy": 503,
    "store-unusable": 503,
}
"""Every code and its HTTP status in the service."""

"""What a league refuses: an error with a code that programs can read, in words that people can act on."""

from matchbandit.errors import MatchbanditError


class LeagueError(MatchbanditError):
    """A request that a league or its store cannot take; nothing was written."""

    def __init__(self, code: str, words: str) -> None:
        """The code is one of `CODES`."""
        super().__init__(words)
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
"""Every code, and the HTTP status that the service gives it."""

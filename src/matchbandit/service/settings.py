"""What the service allows, and for how long: sizes, rates and times, each with a default that holds in production."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from matchbandit.errors import MatchbanditError, check_float, check_int
from matchbandit.live.maintenance import Retention

_WHOLE = ("body_bytes", "import_bytes", "in_flight", "burst", "wrong_tokens", "threads")
_POSITIVE = ("body_seconds", "import_seconds", "answer_seconds", "rate", "token_seconds")


@dataclass(frozen=True)
class Settings:
    """The limits of one server; each of its processes counts for itself."""

    body_bytes: int = 2**20
    """The largest body of a request; more is refused before it is read."""
    body_seconds: float = 20.0
    """A body must have arrived by then."""
    import_bytes: int = 16 * 2**20
    """The largest export that is imported over HTTP, before and after it is unpacked."""
    import_seconds: float = 120.0
    """An export must have arrived by then."""
    retention_days: float = 30.0
    """For how long idempotency keys, and tokens and sessions that have ended, are kept."""
    grace_days: float = 30.0
    """For how long a deleted league can be restored."""
    answer_seconds: float = 30.0
    """An answer must have begun by then; what was asked for may still be done, and a repeat with its key finds it."""
    in_flight: int = 200
    """Requests that are worked on or wait at the same time; more are turned away at once."""
    rate: float = 1000.0
    """Requests a second that a token may make in the long run."""
    burst: int = 2000
    """Requests that it may make at once after a rest."""
    wrong_tokens: int = 600
    """Wrong tokens a minute from one address, before its unknown tokens are not even looked up."""
    token_seconds: float = 1.0
    """For how long a token that was looked up is believed: revoking takes this long to reach a running server."""
    threads: int = 16
    """Requests that one process works on at the same time."""
    tick_seconds: float = 5.0
    """How often deadlines are looked at; 0: never, somebody else does."""
    https: bool = False
    """Browsers reach it by https (through a proxy): cookies are Secure, and they are told to stay with https."""
    dashboard: bool = True
    """Pages for people, beside the API."""
    monotonic: Callable[[], float] = time.monotonic
    """The clock of rates."""

    def __post_init__(self) -> None:
        """Check all numbers."""
        for name in _WHOLE:
            check_int(name, getattr(self, name), minimum=1)
        for name in (*_POSITIVE, "tick_seconds", "retention_days", "grace_days"):
            value = check_float(name, getattr(self, name))
            if value < 0 or (value == 0 and name in _POSITIVE):
                raise MatchbanditError(f"{name} must be positive; got {value!r}.")
        _ = self.retention  # refuses ages that are too long

    @property
    def retention(self) -> Retention:
        """The ages as a store takes them."""
        try:
            kept = timedelta(days=self.retention_days)
            return Retention(keys=kept, access=kept, deleted=timedelta(days=self.grace_days))
        except OverflowError:
            raise MatchbanditError("retention_days and grace_days are at most 36500.") from None

"""Clocks for tests: they show what they are told to."""

from datetime import UTC, datetime, timedelta


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def forward(self, **by: float) -> None:
        """So much later: `forward(hours=3)`."""
        self.moment += timedelta(**by)

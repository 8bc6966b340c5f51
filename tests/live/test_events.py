"""Events: their times, their text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Draft, Event, add_seconds, format_time, parse_time, to_json

MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))


@settings(deadline=None, derandomize=True)
@given(MOMENTS, MOMENTS)
def test_texts_are_in_the_order_of_time(one, other):
    assert (format_time(one) < format_time(other)) == (one < other)
    assert parse_time(format_time(one)) == one


def test_times_are_written_in_utc():
    east = timezone(timedelta(hours=2))
    assert format_time(datetime(2026, 1, 1, 1, 30, tzinfo=east)) == "2025-12-31T23:30:00.000000Z"
    with pytest.raises(LeagueError, match="need a time zone"):
        format_time(datetime(2026, 1, 1))


def test_add_seconds():
    assert add_seconds("2026-12-31T23:59:59.500000Z", 0.75) == "2027-01-01T00:00:00.250000Z"


def test_nan_is_not_written():
    with pytest.raises(ValueError, match="JSON"):
        to_json({"reward": float("nan")})


@pytest.mark.parametrize(
    ("draft", "proposal"),
    [
        (Draft("proposed", {"number": 3}), 3),
        (Draft("told", {"proposal": 4}), 4),
        (Draft("corrected", {"proposal": 5}), 5),
        (Draft("expired", {"proposal": 6}), 6),
        (Draft("left", {"items": [1]}), None),
    ],
)
def test_events_know_their_proposal(draft, proposal):
    assert draft.proposal == proposal
    assert draft.event(1, "now", "me") == Event(1, "now", draft.kind, draft.data, "me")

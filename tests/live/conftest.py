"""The databases on which stores are tested: the same tests on both."""

from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from clocks import Clock

from matchbandit.live.store import Store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, of each kind."""
    return postgres.fresh_database() if request.param == "postgresql" else f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """For what is the same on both, or of SQLite only."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def store(url: str, clock: Clock) -> Iterator[Store]:
    with Store(url, clock=clock) as opened:
        yield opened

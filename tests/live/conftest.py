"""The databases on which stores are tested: the same tests on both."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from clocks import Clock

from matchbandit.live.store import Store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of a store: to copy it is quicker than to make one."""
    path = tmp_path_factory.mktemp("made") / "store.db"
    Store(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="session")
def made_database() -> str:
    """The name of a database of PostgreSQL with the tables of a store."""
    url = postgres.fresh_database()
    Store(url).close()
    return url.partition("@/")[2].partition("?")[0]


@pytest.fixture
def sqlite_url(tmp_path: Path, made_store: Path) -> str:
    """A store for what is the same on both databases, or of SQLite only."""
    shutil.copyfile(made_store, tmp_path / "store.db")
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """A store without leagues, in a database of each kind."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_url"))
    return postgres.fresh_database(like=request.getfixturevalue("made_database"))


@pytest.fixture
def store(url: str, clock: Clock) -> Iterator[Store]:
    with Store(url, clock=clock) as opened:
        yield opened

"""Stores for the tests of leagues: each test that uses `store` or `store_url` runs on SQLite and on PostgreSQL."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from clocks import Clock

from matchbandit.leagues import Store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of a store: copying it is faster than creating one."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    Store(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="session")
def _postgresql_template() -> str:
    """The name of a PostgreSQL database with the tables of a store."""
    url = postgres.fresh_database()
    Store(url).close()
    return url.partition("@/")[2].partition("?")[0]


@pytest.fixture
def sqlite_url(tmp_path: Path, _sqlite_template: Path) -> str:
    """A store without leagues in `tmp_path / "store.db"`, for what does not depend on the database."""
    shutil.copyfile(_sqlite_template, tmp_path / "store.db")
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def postgresql_url(_postgresql_template: str) -> str:
    """A store without leagues in a PostgreSQL database of its own."""
    return postgres.fresh_database(like=_postgresql_template)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str:
    """A store without leagues, on each database."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def sqlite_store(sqlite_url: str, clock: Clock) -> Iterator[Store]:
    """An open store without leagues, for what does not depend on the database."""
    with Store(sqlite_url, clock=clock) as opened:
        yield opened


@pytest.fixture
def store(store_url: str, clock: Clock) -> Iterator[Store]:
    """An open store without leagues, on each database, whose time is that of `clock`."""
    with Store(store_url, clock=clock) as opened:
        yield opened

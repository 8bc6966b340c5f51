"""Stores for the tests of leagues: each test that uses `store` or `store_url` runs on SQLite and on PostgreSQL."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from clocks import Clock
from sqlalchemy import Row, insert, select

from matchbandit.leagues import Store, schema


@pytest.fixture
def tmp_path(folder_in_memory: Path) -> Path:
    return folder_in_memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of a store: copying it is faster than creating one."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    Store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path, _sqlite_template: Path) -> str:
    """A store without leagues in `tmp_path / "store.db"`, for what does not depend on the database."""
    shutil.copyfile(_sqlite_template, tmp_path / "store.db")
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(scope="session")
def _postgresql_store() -> tuple[str, Row]:
    """A PostgreSQL database with the tables of a store, and the row that describes it."""
    url = postgres.fresh_database()
    with Store(url) as store, store.database.reading() as connection:
        return url, connection.execute(select(schema.store)).one()


@pytest.fixture
def postgresql_url(_postgresql_store: tuple[str, Row]) -> Iterator[str]:
    """A store without leagues in PostgreSQL: always the same one, which is emptied."""
    url, row = _postgresql_store
    yield url
    with Store(url) as store, store.database.writing() as connection:
        names = ", ".join(schema.metadata.tables)
        connection.exec_driver_sql(f"TRUNCATE {names} RESTART IDENTITY CASCADE")
        connection.execute(insert(schema.store).values(row._asdict()))


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

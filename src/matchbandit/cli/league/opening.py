"""Which store, which league: the options that every verb of a league has."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need

if TYPE_CHECKING:
    from matchbandit.live.league import League
    from matchbandit.live.store import Store

STORE = "sqlite:///matchbandit.db"
BY = "shell"
"""Who acts, in the audit trail: no user's name, which would be personal data."""

StoreUrl = Annotated[
    str,
    typer.Option(
        "--store", envvar="MATCHBANDIT_STORE", help="Where leagues are kept: a file, sqlite:///FILE or postgresql://…."
    ),
]
LeagueName = Annotated[str, typer.Argument(metavar="LEAGUE", help="The league's name.", show_default=False)]
Number = Annotated[str, typer.Argument(metavar="NUMBER", help="The number of the proposal.", show_default=False)]


@contextmanager
def opened_store(url: str, *, may_be_new: bool = False) -> "Iterator[Store]":
    """The store of this URL; a file that is not there is made only by verbs that put something in."""
    url = url_of(url)
    from matchbandit.live import Store
    from matchbandit.live.database import sqlite_file

    file = sqlite_file(url)
    if file is not None and not may_be_new and not file.exists():
        raise MatchbanditError(
            f"there is no store {str(file)!r}. `matchbandit league new` makes one; --store, or the variable "
            "MATCHBANDIT_STORE, names another."
        )
    with Store(url) as store:
        yield store


def url_of(typed: str) -> str:
    """A URL; the name of a file stands for SQLite there.

    >>> url_of("club.db")
    'sqlite:///club.db'
    """
    need("sqlalchemy", "a league")
    from sqlalchemy import URL

    return typed if "://" in typed else URL.create("sqlite", database=typed).render_as_string()


@contextmanager
def opened_league(url: str, name: str) -> "Iterator[League]":
    """The league of this name."""
    with opened_store(url) as store:
        yield store.open(name)

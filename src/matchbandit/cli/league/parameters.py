"""What the league commands share: access to the store, parameters, and the parsers of names and pairs."""

import csv
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.completion import DEFAULT_STORE, STORE_VARIABLE, complete_league, sqlite_file
from matchbandit.cli.output import Output, prints_output, set_parameters
from matchbandit.cli.parameters import argument, optional
from matchbandit.errors import MatchbanditError
from matchbandit.extras import need

if TYPE_CHECKING:
    from matchbandit.leagues import League, Store

Names = tuple[str, str]
BY = "shell"
"""Who acts, in the history; not the user's name, which is personal data."""
_STORE_HELP = "The store of the leagues: a file, sqlite:///FILE or postgresql://…."
StoreUrl = Annotated[str, typer.Option("--store", metavar="URL", envvar=STORE_VARIABLE, help=_STORE_HELP)]
LeagueName = Annotated[str, argument("LEAGUE", "Name of the league.", autocompletion=complete_league)]
SomeLeague = Annotated[str | None, argument("[LEAGUE]", "Name of the league.", autocompletion=complete_league)]
Side = Annotated[str | None, optional("The side of the item, in a league of two sides.", metavar="NAME")]

# --- store ---


@contextmanager
def open_store(url: str, *, create: bool = False) -> "Iterator[Store]":
    """Open the store at this URL; a missing file is an error unless it may be created."""
    url = store_url(url)
    file = sqlite_file(url)
    if file is not None and not create and not file.exists():
        others = f"--store, or the variable {STORE_VARIABLE}, names another"
        raise MatchbanditError(f"there is no store {str(file)!r}. `matchbandit league new` creates one; {others}.")
    from matchbandit.leagues import Store

    with Store(url) as store:
        yield store


def store_url(text: str) -> str:
    """Return the URL of a store that is given by a URL or by the name of an SQLite file.

    >>> store_url("club.db")
    'sqlite:///club.db'
    """
    need("sqlalchemy", "a league")
    from sqlalchemy import URL

    return text if "://" in text else URL.create("sqlite", database=text).render_as_string()


def on_store(function: Callable[..., Output], *, create: bool = False) -> Callable[..., None]:
    """Make a command of a function whose first parameter is an open store: add --store and --json."""

    @wraps(function)
    def command(*, store: str = DEFAULT_STORE, **options: Any) -> Output:
        with open_store(store, create=create) as opened:
            return function(opened, **options)

    _, *parameters = inspect.signature(function).parameters.values()
    option = inspect.Parameter("store", inspect.Parameter.KEYWORD_ONLY, default=DEFAULT_STORE, annotation=StoreUrl)
    set_parameters(command, [*parameters, option])
    return prints_output(command)


def _open_league(store: "Store", slug: str) -> "League":
    """The league of this name; if there is none, the error says which is meant, or that it is deleted."""
    from matchbandit.leagues import LeagueError

    try:
        return store.open(slug)
    except LeagueError as error:
        if error.code != "unknown-league":
            raise
        hint = "`matchbandit league list` lists all."
        near = get_close_matches(slug, [info.slug for info in store.leagues(limit=None)], n=1)
        if near:
            hint = f"Did you mean {near[0]!r}?"
        if any(info.slug == slug for info in store.leagues(limit=None, status="deleted")):
            hint = f"It was deleted; `matchbandit league restore {slug}` brings it back."
        raise MatchbanditError(f"{error} {hint}") from None


def on_league(function: Callable[..., Output]) -> Callable[..., None]:
    """Make a command of a function whose first parameter is a league: add its name, --store and --json."""

    @wraps(function)
    def command(store: "Store", league: str, **options: Any) -> Output:
        return function(_open_league(store, league), **options)

    first, *parameters = inspect.signature(function).parameters.values()
    set_parameters(command, [first.replace(name="store"), first.replace(annotation=LeagueName), *parameters])
    return on_store(command)


def with_options(function: Callable[..., Output], *, name: str, options: dict[str, Any]) -> Callable[..., Output]:
    """Add options to a command, which gets those that were typed as one dict by this name."""

    @wraps(function)
    def command(*args: Any, **typed: Any) -> Output:
        given = {key: value for key in options if (value := typed.pop(key)) is not None}
        return function(*args, **typed, **{name: given})

    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != name]
    keyword = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY, default=None)
    set_parameters(command, [*parameters, *(keyword(key, annotation=kind) for key, kind in options.items())])
    return command


# --- names and pairs ---


def item_names(league: "League") -> list[str]:
    """Return the names of all items, in the order of their ids."""
    return [item.name for item in league.items()]


def parse_names(texts: Iterable[str], known: Iterable[str] = ()) -> list[str]:
    """Parse names separated by commas, as in a line of CSV; a `known` name that contains a comma may stand alone.

    >>> parse_names(["ann, bob", '"Dee, Jr.",eve', "Fay, Jr."], ["Fay, Jr."])
    ['ann', 'bob', 'Dee, Jr.', 'eve', 'Fay, Jr.']
    """
    cells: list[str] = []
    for text in texts:
        cells += [text] if text in known else next(csv.reader([text], skipinitialspace=True), [])
    return [cell.strip() for cell in cells if cell.strip()]


def parse_pair(text: str, known: Callable[[], Iterable[str]]) -> Names:
    """Parse the two names of `ann+bob`; where a name contains a +, `known` names tell which + separates.

    >>> parse_pair("ann + bob", list)
    ('ann', 'bob')
    >>> parse_pair("c+++java", lambda: ["c++", "java"])
    ('c++', 'java')
    """
    splits = [(text[:k].strip(), text[k + 1 :].strip()) for k, character in enumerate(text) if character == "+"]
    splits = [split for split in splits if all(split)]
    if len(splits) > 1:
        names = set(known())
        splits = [split for split in splits if names.issuperset(split)]
    if len(splits) != 1:
        raise MatchbanditError(f"a pair is typed like ann+bob, with the names of two items; got {text!r}.")
    return splits[0]

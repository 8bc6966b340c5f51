"""Parameters of the league commands, the parsers of their values, and access to the store."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import typer

from matchbandit.cli.completion import STORE_VARIABLE, complete_league
from matchbandit.cli.parameters import Setting, choice, integer, merge_settings, parse_float, parse_setting, parsed_by
from matchbandit.errors import MatchbanditError
from matchbandit.extras import need

if TYPE_CHECKING:
    from matchbandit.live.league import League
    from matchbandit.live.records import Outcome
    from matchbandit.live.store import Store

    Outcomes = list[tuple[str, str, Outcome]]

Names = tuple[str, str]
BY = "shell"
"""The actor in the audit trail; not the user's name, which is personal data."""
_COMMA = re.compile(r"\s*,\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw])")

# --- parameters ---

StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar=STORE_VARIABLE,
        help="The store of the leagues: a file, sqlite:///FILE or postgresql://….",
    ),
]
LeagueName = Annotated[
    str,
    typer.Argument(metavar="LEAGUE", help="Name of the league.", show_default=False, autocompletion=complete_league),
]
OptionalLeagueName = Annotated[
    str | None,
    typer.Argument(
        metavar="[LEAGUE]",
        help="Name of the league; by default all leagues of the store.",
        show_default=False,
        autocompletion=complete_league,
    ),
]
ProposalNumber = Annotated[
    int,
    typer.Argument(help="Number of the proposal.", show_default=False, **integer("NUMBER", metavar="NUMBER")),
]
KindName = Literal["players", "sides"]
Kind = Annotated[
    KindName | None,
    typer.Option(
        help="Are the items in the file on one side (players) or on two? By default inferred from their names.",
        show_default=False,
        **choice("kind of results", get_args(KindName)),
    ),
]
OnMissingName = Literal["error", "skip"]
OnMissing = Annotated[
    OnMissingName | None,
    typer.Option(
        help="What to do with rows of the file without a name; by default error.",
        show_default=False,
        **choice("choice of on_missing", get_args(OnMissingName)),
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=COLUMN", help="Columns of the file: first=ad,second=slot,reward=clicked."),
]

# --- store ---


@contextmanager
def open_store(url: str, *, create: bool = False) -> "Iterator[Store]":
    """Open the store at this URL; a missing file is an error unless it may be created."""
    url = store_url(url)
    from matchbandit.live import Store
    from matchbandit.live.database import sqlite_file

    file = sqlite_file(url)
    if file is not None and not create and not file.exists():
        raise MatchbanditError(
            f"there is no store {str(file)!r}. `matchbandit league new` creates one; --store, or the variable "
            f"{STORE_VARIABLE}, names another."
        )
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


@contextmanager
def open_league(url: str, name: str) -> "Iterator[League]":
    """Open the league with this name."""
    with open_store(url) as store:
        yield store.open(name)


# --- parsers ---


def parse_names(texts: Iterable[str] | None, known: Iterable[str] = ()) -> list[str]:
    """Parse names separated by commas, as in a line of CSV: a name with a comma is quoted, unless it is `known`.

    >>> parse_names(["ann, bob", '"Dee, Jr.",eve'])
    ['ann', 'bob', 'Dee, Jr.', 'eve']
    >>> parse_names(["eve, Dee, Jr."], ["Dee, Jr.", "eve"])
    ['eve', 'Dee, Jr.']
    """
    with_comma = {_COMMA.sub(",", name): name for name in known if "," in name}
    max_cells = 1 + max((name.count(",") for name in with_comma), default=0)
    names: list[str] = []
    for text in texts or []:
        cells = [cell.strip() for line in csv.reader([text], skipinitialspace=True) for cell in line]
        while cells:
            ends = [end for end in range(min(max_cells, len(cells)), 1, -1) if ",".join(cells[:end]) in with_comma]
            end = ends[0] if ends else 1
            name = ",".join(cells[:end])
            names += [with_comma.get(name, name)] if name else []
            del cells[:end]
    return names


def parse_pair(text: str, known: Callable[[], Iterable[str]]) -> Names:
    """Parse the two names of `ann+bob`; where a name contains a +, `known` names tell which + separates.

    >>> parse_pair("ann + bob", list)
    ('ann', 'bob')
    >>> parse_pair("c+++java", lambda: ["c++", "java"])
    ('c++', 'java')
    """
    splits = [(text[:k].strip(), text[k + 1 :].strip()) for k, character in enumerate(text) if character == "+"]
    splits = [(first, second) for first, second in splits if first and second]
    if len(splits) > 1:
        names = set(known())
        splits = [split for split in splits if names.issuperset(split)]
    if len(splits) != 1:
        raise MatchbanditError(f"a pair is typed like ann+bob, with the names of two items; got {text!r}.")
    return splits[0]


def parse_pairs(texts: Iterable[str], known: Callable[[], Iterable[str]]) -> list[Names]:
    """Parse the pairs of `ann+bob cem+dee`."""
    return [parse_pair(text, known) for text in texts]


def parse_outcome(text: str, *, where: str) -> "Outcome":
    """Parse a number, or `void` for a pair that never met.

    >>> parse_outcome("0.5", where="ann+bob"), parse_outcome("void", where="ann+bob")
    (0.5, VOID)
    """
    from matchbandit.live import VOID

    if text.strip().lower() == "void":
        return VOID
    try:
        return float(text)
    except ValueError:
        raise MatchbanditError(
            f"{where}: an outcome is a number, what the pair achieved together, or void if it never met; got {text!r}."
        ) from None


def parse_outcomes(texts: Iterable[str], known: Callable[[], Iterable[str]]) -> "Outcomes":
    """Parse the outcomes of `ann+bob=1 cem+dee=void`.

    >>> parse_outcomes(["ann+bob=1", "cem+dee=void"], list)
    [('ann', 'bob', 1.0), ('cem', 'dee', VOID)]
    """
    outcomes: Outcomes = []
    for text in texts:
        pair, equals, outcome = text.rpartition("=")
        if not equals:
            raise MatchbanditError(f"an outcome is typed like ann+bob=1 or ann+bob=void; got {text!r}.")
        outcomes.append((*parse_pair(pair, known), parse_outcome(outcome, where=pair)))
    return outcomes


class Duration(NamedTuple):
    """A duration that was typed; None for `none`."""

    seconds: float | None


def parse_duration(name: str, text: str) -> Duration:
    """Parse a duration such as 90m, 12h or 3d, or `none`.

    >>> parse_duration("--deadline", "3d"), parse_duration("--deadline", "none")
    (Duration(seconds=259200.0), Duration(seconds=None))
    """
    if text.strip().lower() == "none":
        return Duration(None)
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise MatchbanditError(f"{name} takes a duration such as 90m, 12h, 3d or 2w, or none; got {text!r}.")
    return Duration(float(match[1]) * _SECONDS[match[2]])


def duration_option(name: str) -> dict[str, Any]:
    """Return the arguments of `typer.Option` for durations."""
    return parsed_by(lambda text: parse_duration(name, text), "DURATION")


def parse_default(text: str) -> "Outcome":
    """Parse what is recorded when a deadline passes: `void`, or a number."""
    from matchbandit.live import VOID

    return VOID if text.strip().lower() == "void" else parse_float("--default", text, example="0, or void")


def parse_columns(texts: Iterable[str] | None) -> dict[str, str]:
    """Parse the columns of a file, from `first=ad,second=slot` or from one such option for each.

    >>> parse_columns(["first=ad,second=007", "reward=clicked, or not"])
    {'first': 'ad', 'second': '007', 'reward': 'clicked, or not'}
    """
    parts: list[str] = []
    for text in texts or []:
        first, *more = text.split(",")
        parts.append(first)
        for part in more:  # a comma that no role follows belongs to the name of a column
            if "=" in part:
                parts.append(part.strip())
            else:
                parts[-1] += f",{part}"
    return merge_settings("--column", map(_parse_column, parts))


def _parse_column(text: str) -> Setting:
    """Parse role=column; the name of a column stays as it is typed, also if it looks like a number."""
    setting = parse_setting("--column", text)
    return setting._replace(value=text.partition("=")[2])

"""What the commands of a league share: which store and league, what was typed, and what is printed."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.options import say, table
from matchbandit.cli.parsing import number
from matchbandit.errors import MatchbanditError, check_int
from matchbandit.extras import need
from matchbandit.formatting import float_text, plural

if TYPE_CHECKING:
    from matchbandit.live.league import League
    from matchbandit.live.records import Outcome, Proposal, Receipt
    from matchbandit.live.store import Store

    Outcomes = list[tuple[str, str, Outcome]]

Names = tuple[str, str]
_COMMA = re.compile(r"\s*,\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw])")

# Store and league ----------------------------------------------------------------------------------------------------

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
    """The store at this URL; a missing file is created only by commands that put something in."""
    url = url_of(url)
    from matchbandit.live import Store
    from matchbandit.live.database import sqlite_file

    file = sqlite_file(url)
    if file is not None and not may_be_new and not file.exists():
        raise MatchbanditError(
            f"there is no store {str(file)!r}. `matchbandit league new` creates one; --store, or the variable "
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


# What was typed ------------------------------------------------------------------------------------------------------


def names_in(texts: Iterable[str] | None, known: Iterable[str] = ()) -> list[str]:
    """Names separated by commas, as in a line of CSV: a name with a comma is quoted, unless it is `known`.

    >>> names_in(["ann, bob", '"Dee, Jr.",eve'])
    ['ann', 'bob', 'Dee, Jr.', 'eve']
    >>> names_in(["eve, Dee, Jr."], ["Dee, Jr.", "eve"])
    ['eve', 'Dee, Jr.']
    """
    with_comma = {_COMMA.sub(",", name): name for name in known if "," in name}
    most_cells = 1 + max((name.count(",") for name in with_comma), default=0)
    names: list[str] = []
    for text in texts or []:
        cells = [cell.strip() for line in csv.reader([text], skipinitialspace=True) for cell in line]
        while cells:
            ends = [end for end in range(min(most_cells, len(cells)), 1, -1) if ",".join(cells[:end]) in with_comma]
            end = ends[0] if ends else 1
            name = ",".join(cells[:end])
            names += [with_comma.get(name, name)] if name else []
            del cells[:end]
    return names


def pair_typed(text: str, known: Callable[[], Iterable[str]]) -> Names:
    """The two names of `ann+bob`; where a name has a + itself, `known` names tell which + is the one between.

    >>> pair_typed("ann + bob", list)
    ('ann', 'bob')
    >>> pair_typed("c+++java", lambda: ["c++", "java"])
    ('c++', 'java')
    """
    ways = [(text[:k].strip(), text[k + 1 :].strip()) for k, sign in enumerate(text) if sign == "+"]
    ways = [(first, second) for first, second in ways if first and second]
    if len(ways) > 1:
        names = set(known())
        ways = [way for way in ways if names.issuperset(way)]
    if len(ways) != 1:
        raise MatchbanditError(f"a pair is typed like ann+bob, with the names of two items; got {text!r}.")
    return ways[0]


def pairs_typed(texts: Iterable[str], known: Callable[[], Iterable[str]]) -> list[Names]:
    """The pairs of `ann+bob cem+dee`."""
    return [pair_typed(text, known) for text in texts]


def outcome_typed(text: str, *, where: str) -> "Outcome":
    """A number, or `void` for a pair that never met.

    >>> outcome_typed("0.5", where="ann+bob"), outcome_typed("void", where="ann+bob")
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


def outcomes_typed(texts: Iterable[str], known: Callable[[], Iterable[str]]) -> "Outcomes":
    """The outcomes of `ann+bob=1 cem+dee=void`.

    >>> outcomes_typed(["ann+bob=1", "cem+dee=void"], list)
    [('ann', 'bob', 1.0), ('cem', 'dee', VOID)]
    """
    outcomes: Outcomes = []
    for text in texts:
        pair, equals, outcome = text.rpartition("=")
        if not equals:
            raise MatchbanditError(f"an outcome is typed like ann+bob=1 or ann+bob=void; got {text!r}.")
        outcomes.append((*pair_typed(pair, known), outcome_typed(outcome, where=pair)))
    return outcomes


def seconds_typed(name: str, text: str) -> float | None:
    """A span of time such as 90m, 12h or 3d in seconds; `none` is None.

    >>> seconds_typed("--deadline", "3d"), seconds_typed("--deadline", "none")
    (259200.0, None)
    """
    if text.strip().lower() == "none":
        return None
    span = _SPAN.fullmatch(text.strip().lower())
    if span is None:
        raise MatchbanditError(f"{name} takes a span of time such as 90m, 12h, 3d or 2w, or none; got {text!r}.")
    return float(span[1]) * _SECONDS[span[2]]


def default_typed(text: str) -> "Outcome":
    """What is booked when a deadline has passed: `void`, or a number."""
    from matchbandit.live import VOID

    return VOID if text.strip().lower() == "void" else number("--default", text, example="0, or void")


# What is printed -----------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A record of a league as JSON data: VOID is "void"; what is known of pairs is a list of [first, second, value]."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        if value and all(isinstance(key, tuple) for key in value):
            return [[*key, plain(known)] for key, known in value.items()]
        return {str(key): plain(known) for key, known in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False))


def proposal_data(proposal: "Proposal") -> dict[str, Any]:
    """A proposal as JSON data, with the pairs that wait."""
    return {**plain(proposal), "waiting": plain(proposal.waiting), "open": proposal.open}


def outcome_shown(outcome: "Outcome | str | None") -> str:
    """An outcome as it would be typed, or that it is awaited."""
    if outcome is None:
        return "waiting"
    return float_text(outcome) if isinstance(outcome, float) else str(plain(outcome))


def moment(text: str) -> str:
    """A time of the log, to the minute.

    >>> moment("2026-11-16T09:30:00.000000Z")
    '2026-11-16 09:30 UTC'
    """
    return f"{text[:10]} {text[11:16]} UTC"


def span(seconds: float) -> str:
    """A span of time as it would be typed.

    >>> span(259_200), span(5400), span(7.5)
    ('3d', '90m', '7.5s')
    """
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def print_proposal(proposal: "Proposal") -> None:
    """The pairs and what is known of them, who sits out, when outcomes are due, and what is to be said of it."""
    due = f", outcomes by {moment(proposal.due)}" if proposal.due and proposal.open else ""
    typer.echo(f"proposal {proposal.number}{due}")
    for pair in proposal.pairs:
        fixed = " (fixed)" if pair in proposal.fixed else ""
        known = f" = {outcome_shown(proposal.outcomes[pair])}" if pair in proposal.outcomes else ""
        typer.echo(f"  {pair[0]} + {pair[1]}{known}{fixed}")
    for name in proposal.byes:
        if not any(note.startswith(f"{name} ") for note in proposal.notes):  # a note says why, too
            say(f"{name} sits out.", indent=2, first="")
    for note in proposal.notes:
        say(note, indent=2, first="")


def print_receipt(receipt: "Receipt") -> None:
    """What a tell did, in a line."""
    known = f", {receipt.repeated} known already" if receipt.repeated else ""
    waiting = f"waiting for {plural(receipt.waiting, 'pair')}" if receipt.waiting else "all outcomes recorded"
    typer.echo(f"proposal {receipt.proposal}: {plural(receipt.booked, 'outcome')} booked{known}; {waiting}")


def print_open(proposals: "list[Proposal]") -> None:
    """A line for each pair whose outcome is awaited."""
    lines = [
        (str(proposal.number), f"{first} + {second}", moment(proposal.due) if proposal.due else "")
        for proposal in proposals
        for first, second in proposal.waiting
    ]
    if lines:
        table(("proposal", "waiting for", "due"), lines)


def count_typed(name: str, text: str) -> int:
    """A whole number from 0 on."""
    digits = text.strip()
    return check_int(name, int(digits) if digits.isascii() and digits.isdecimal() else text, minimum=0)

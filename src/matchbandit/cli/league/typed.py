"""What was typed, as names, pairs, outcomes and spans of time."""

import csv
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from matchbandit.cli.parsing import number
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.live.records import Outcome

    Outcomes = list[tuple[str, str, Outcome]]

Names = tuple[str, str]

_COMMA = re.compile(r"\s*,\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw])")


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

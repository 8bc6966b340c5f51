"""Names of items: events carry ids only; names are in this directory and in a separate table."""

import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from matchbandit.live.errors import LeagueError

MAX_NAME_LENGTH = 200
"""Characters, once normalised."""
MAX_COMPARED = 2000
"""Names among which "did you mean" searches; of more, those with the same first letter."""
_DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that change the direction of writing: they can make one name look like another."""
_INVISIBLE = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0"
)
"""Invisible characters: two names that differ only in them look the same. Joiners (U+200C, U+200D) stay: Persian, Hindi
and emoji are written with them."""
_SHOWN = 60
"""Characters of a refused name that an error repeats."""


def normalize_name(name: object) -> str:
    """The name as it is stored: normalised (NFC), without space around it, with one plain space for any space inside.

    >>> normalize_name("  Ann \\t Lee ")
    'Ann Lee'
    """
    if not isinstance(name, str):
        raise LeagueError("bad-name", f"a name is a text; got {name!r}.")
    text = collapse_spaces(name)
    if not any(unicodedata.category(character)[0] in "LNPS" and character not in _INVISIBLE for character in text):
        raise LeagueError("bad-name", f"a name needs a character that can be seen; got {name[:_SHOWN]!r}.")
    if len(text) > MAX_NAME_LENGTH:
        raise LeagueError(
            "bad-name",
            f"a name has at most {MAX_NAME_LENGTH} characters; {text[:_SHOWN]!r}… has {len(text)}. Shorten it.",
        )
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs", "Cn") or character in _DIRECTION_MARKS | _INVISIBLE:
            raise LeagueError(
                "bad-name",
                f"a name has no control characters, and none that cannot be seen; {text[:_SHOWN]!r} has "
                f"U+{ord(character):04X}. Leave it out.",
            )
    if _number_of(text) is not None:
        raise LeagueError("bad-name", f"{text!r} stands for the item of that number. Use another name.")
    return text


def item_label(item: int) -> str:
    """How an item without a name is written.

    >>> item_label(7)
    '#7'
    """
    return f"#{item}"


def collapse_spaces(name: str) -> str:
    """Normalised (NFC), without space around it, with one plain space for any space inside."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def _number_of(text: str) -> int | None:
    """7 of `#7`; None for other texts."""
    digits = text[1:]
    return int(digits) if text[:1] == "#" and digits.isascii() and digits.isdigit() and len(digits) < 19 else None


class Directory:
    """Which item has which name: unique among players, or within a side."""

    def __init__(self, sides: Sequence[str] | None = None) -> None:
        """No items yet; `sides` names the two sides, None if all are players."""
        self.sides = None if sides is None else tuple(sides)
        self._names: dict[int, str] = {}
        self._side: dict[int, int] = {}
        self._ids: tuple[dict[str, int], dict[str, int]] = ({}, {})

    @classmethod
    def of(
        cls, sides: Sequence[str] | None, sides_by_item: Sequence[int], names: Iterable[tuple[int, str]]
    ) -> "Directory":
        """From the rows of the names table, and `State.sides_by_item`: the side of item k at place k − 1."""
        directory = cls(sides)
        directory._side = dict(enumerate(sides_by_item, start=1))
        directory.write(names, sides_by_item)
        return directory

    def put(self, item: int, side: int, name: str | None) -> None:
        """Write an item's name, or erase it (None)."""
        self._side[item] = side
        old = self._names.pop(item, None)
        if old is not None:
            del self._ids[side][old]
        if name is not None:
            self._names[item] = name
            self._ids[side][name] = item

    def write(self, names: Iterable[tuple[int, str | None]], sides_by_item: Sequence[int]) -> None:
        """Write and erase what goes with a draft, once the state has taken it in."""
        for item, name in names:
            self.put(item, sides_by_item[item - 1], name)

    def copy(self) -> "Directory":
        """One that can change by itself."""
        other = Directory(self.sides)
        other._names, other._side = dict(self._names), dict(self._side)
        other._ids = dict(self._ids[0]), dict(self._ids[1])
        return other

    def __len__(self) -> int:
        """How many items have a name."""
        return len(self._names)

    def name(self, item: int) -> str:
        """Its name, or `#7` once it is forgotten."""
        return self._names.get(item) or item_label(item)

    def pair(self, pair: Sequence[int]) -> tuple[str, str]:
        """The names of both."""
        return self.name(pair[0]), self.name(pair[1])

    def side(self, item: int) -> str | None:
        """The name of its side; None for players."""
        return None if self.sides is None else self.sides[self._side[item]]

    def rows(self) -> list[tuple[int, str]]:
        """All ids and names, as the names table has them."""
        return sorted(self._names.items())

    def find(self, name: str, side: int = 0) -> int | None:
        """The item of this name, which must be clean, or None."""
        return self._ids[side].get(name)

    def resolve(self, name: str | int, side: int | None = None) -> int:
        """The item of this name, of this id, or of `#id` once it has no name; an error with "did you mean" if none.

        >>> people = Directory()
        >>> people.put(1, 0, "ann")
        >>> people.resolve("ann"), people.resolve(1)
        (1, 1)
        >>> people.resolve("anne")
        Traceback (most recent call last):
        ...
        matchbandit.live.errors.LeagueError: no player is named 'anne'; did you mean 'ann'?
        """
        items = self.matches(name, side)
        if len(items) == 1:
            return items[0]
        searched = self._searched(side)
        if isinstance(name, int) and not isinstance(name, bool):
            raise self._unknown_id(name, searched)
        if not isinstance(name, str):
            raise LeagueError("unknown-item", f"items are given by name, or by id; got {name!r}.")
        text = collapse_spaces(name)
        number = _number_of(text)
        if number is not None:
            raise self._unknown_id(number, searched)
        if items:
            raise LeagueError(
                "unknown-item",
                f"{text!r} is the name of two items, one of {self.sides[0]} and one of {self.sides[1]}. "  # type: ignore[index]
                f"Say which side, or give its id.",
            )
        raise self._unknown(text, searched)

    def matches(self, name: object, side: int | None = None) -> list[int]:
        """The items of this name, of this id, or of `#id`: one, none, or one of each side."""
        searched = self._searched(side)
        number = name if isinstance(name, int) and not isinstance(name, bool) else None
        if isinstance(name, str):
            items = [self._ids[one][name] for one in searched if name in self._ids[one]]
            if items:  # as it is stored, most of the time
                return items
            text = collapse_spaces(name)
            number = _number_of(text)
            if number is None:
                return [self._ids[one][text] for one in searched if text in self._ids[one]]
        return [number] if number is not None and self._side.get(number) in searched else []

    def _searched(self, side: int | None) -> Sequence[int]:
        return range(2 if self.sides is not None else 1) if side is None else (side,)

    def resolve_pair(self, pair: object) -> tuple[int, int]:
        """The ids of a pair of names or ids: players in either order, the lower id first; else one of each side."""
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise LeagueError("bad-value", f"a pair is two names, such as ('ann', 'bob'); got {pair!r}.")
        if self.sides is not None:
            return self.resolve(pair[0], 0), self.resolve(pair[1], 1)
        a, b = self.resolve(pair[0]), self.resolve(pair[1])
        if a == b:
            raise LeagueError("bad-value", f"a pair is two players; got {self.name(a)!r} twice.")
        return min(a, b), max(a, b)

    def _unknown_id(self, item: int, searched: Iterable[int]) -> LeagueError:
        if item in self._side:
            side = self._side[item]
            return LeagueError("unknown-item", f"item {item} is of {self._kinds([side])}, not {self._kinds(searched)}.")
        return LeagueError("unknown-item", f"no item has the id {item}; there are {len(self._side)}.")

    def _kinds(self, searched: Iterable[int]) -> str:
        """The kinds of the searched items, for an error message."""
        return "the players" if self.sides is None else " or ".join(self.sides[side] for side in searched)

    def _unknown(self, name: str, searched: Iterable[int]) -> LeagueError:
        candidates = [other for side in searched for other in self._ids[side]]
        if len(candidates) > MAX_COMPARED:
            start = name[:1].casefold()
            candidates = [other for other in candidates if other[:1].casefold() == start][:MAX_COMPARED]
        alike = [other for other in candidates if other.casefold() == name.casefold()]
        parts = [other for other in candidates if name.casefold() in other.casefold().split()]  # one of its words
        near = (
            alike[:1]
            or (parts if len(parts) == 1 else [])
            or get_close_matches(name[:MAX_NAME_LENGTH], candidates, n=1)
        )
        hint = f"; did you mean {near[0]!r}?" if near else "."
        short = repr(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!r}…"
        if self.sides is None:
            return LeagueError("unknown-item", f"no player is named {short}{hint}")
        here = list(searched)
        if len(here) == 1 and name in self._ids[1 - here[0]]:
            first, second = self.sides
            hint = f"; it is among {self.sides[1 - here[0]]}. A pair is one of {first}, then one of {second}."
        return LeagueError("unknown-item", f"nothing among {self._kinds(here)} is named {short}{hint}")

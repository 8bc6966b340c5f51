"""Idempotency keys: a request that comes again under the same key gets the same answer, and does nothing.

What is stored of them holds no name, and so nothing that `forget` would have to erase: of the request, a digest with
ids instead of names; of the key itself, a hash keyed with a secret of the store.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Real
from typing import Any

from sqlalchemy import Connection, insert, select

from matchbandit.live import schema
from matchbandit.live.errors import LeagueError
from matchbandit.live.names import Directory

_TABLE = schema.keys.c
MAX_KEY_LENGTH = 200

Content = Callable[[Directory], Any]
"""What a request asks for, with ids instead of names. A name that no item has stands for nothing: the old one of
a rename that is repeated, say. It is evaluated once the request is done, and again when the key is used again."""


@dataclass(frozen=True)
class Key:
    """The key of a request, and what the request asks for."""

    text: str
    request: str
    """Its kind, such as "ask"."""
    content: Content

    @classmethod
    def of(cls, key: str | None, request: str, content: Content) -> "Key | None":
        """For a request with this content; None without a key."""
        if key is None:
            return None
        if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY_LENGTH or not key.isprintable():
            raise LeagueError(
                "bad-value", f"a key is a text of 1 to {MAX_KEY_LENGTH} characters; got {str(key)[:60]!r}."
            )
        return cls(key, request, content)

    def answered(self, directory: Directory, answer: dict[str, Any]) -> "StoredAnswer":
        """The answer to this request, to be stored under this key."""
        content = json.dumps([self.request, _canonical(self.content(directory))])
        return StoredAnswer(self.request, blake2b(content.encode(), digest_size=16).hexdigest(), answer)


@dataclass(frozen=True)
class StoredAnswer:
    """What a request was answered with, and a digest of the request."""

    request: str
    digest: str
    answer: dict[str, Any]

    def repeat(self, key: Key, directory: Directory) -> dict[str, Any]:
        """The answer, for the same request under this key; an error for another one."""
        if key.answered(directory, self.answer) != self:
            raise LeagueError(
                "key-reused",
                f"the key {key.text!r} was used for another request, or an item of it was renamed or forgotten since. "
                f"Give each request its own key.",
            )
        return self.answer


class KeyTable:
    """The keys that were used in one league."""

    def __init__(self, secret: str, league: int) -> None:
        """`secret` is that of the store."""
        self._secret, self._league = secret, league

    def read(self, connection: Connection, keys: Iterable[Key]) -> dict[str, StoredAnswer]:
        """What is stored under these keys, by their text."""
        texts = {self._hash(key.text): key.text for key in keys}
        if not texts:
            return {}
        query = select(_TABLE.key, _TABLE.request, _TABLE.digest, _TABLE.answer)
        rows = connection.execute(query.where(_TABLE.league_id == self._league, _TABLE.key.in_(texts)))
        return {texts[key]: StoredAnswer(request, digest, json.loads(answer)) for key, request, digest, answer in rows}

    def save(self, connection: Connection, at: str, answers: Mapping[str, StoredAnswer]) -> None:
        """Store answers by the texts of their keys."""
        rows = [
            {
                "league_id": self._league,
                "key": self._hash(text),
                "request": stored.request,
                "digest": stored.digest,
                "answer": json.dumps(stored.answer),
                "at": at,
            }
            for text, stored in answers.items()
        ]
        if rows:
            connection.execute(insert(schema.keys), rows)

    def _hash(self, text: str) -> str:
        return schema.hash_key(self._secret, self._league, text)


# Content of requests -------------------------------------------------------------------------------------------------


def item_ids(directory: Directory, name: object, side: object = None) -> list[int]:
    """The item of this name or id on this side; both, if the side is not said and each has one."""
    sides = directory.sides or (None,)
    places = [place for place, label in enumerate(sides) if side in (None, place, label)]
    return [item for place in places for item in directory.matches(name, place)]


def pair_ids(directory: Directory, pair: object) -> list[list[int]]:
    """The items of a pair: of players in either order, else one of each side."""
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        return []
    if directory.sides is not None:
        return [directory.matches(pair[0], 0), directory.matches(pair[1], 1)]
    return sorted(directory.matches(name) for name in pair)


def pairs_ids(directory: Directory, pairs: Iterable[object] | None) -> list[Any] | None:
    """Those of several pairs, in any order."""
    return None if pairs is None else sorted(pair_ids(directory, pair) for pair in pairs)


def outcomes_ids(directory: Directory, outcomes: object) -> list[Any]:
    """Outcomes with the ids of their pairs, in any order; of what is not a list of outcomes, nothing."""
    if isinstance(outcomes, Mapping):
        return sorted(([pair_ids(directory, pair), _canonical(reward)] for pair, reward in outcomes.items()), key=str)
    rows = outcomes if isinstance(outcomes, Sequence) else ()
    split = [(row[:2], row[2]) for row in rows if isinstance(row, Sequence) and len(row) == 3]
    return sorted(([pair_ids(directory, pair), _canonical(reward)] for pair, reward in split), key=str)


def _canonical(value: Any) -> Any:
    """Content as JSON in one form only: 1, 1.0 and True are equal; what has no order is sorted."""
    if isinstance(value, Mapping):
        return sorted(([_canonical(key), _canonical(inner)] for key, inner in value.items()), key=json.dumps)
    if isinstance(value, set | frozenset):
        return sorted(map(_canonical, value), key=json.dumps)
    if isinstance(value, list | tuple):
        return [_canonical(inner) for inner in value]
    if isinstance(value, Real):
        try:
            return float(value)
        except OverflowError:  # no request accepts it, and its check raises the error
            return "too large"
    return value if value is None else str(value)

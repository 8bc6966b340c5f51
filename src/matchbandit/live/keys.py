"""Idempotency keys: a request that comes again under the same key gets the same answer, and does nothing."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Real
from typing import Any

from sqlalchemy import Connection, insert, select, update

from matchbandit.live import schema
from matchbandit.live.errors import LeagueError

_TABLE = schema.keys.c
LONGEST_KEY = 200


@dataclass(frozen=True)
class Key:
    """The key of a request, and a digest of what it asks for."""

    text: str
    request: str
    """Its kind, such as "ask"."""
    digest: str

    @classmethod
    def of(cls, key: str | None, request: str, **content: Any) -> "Key | None":
        """For a request with this content; None without a key."""
        if key is None:
            return None
        if not isinstance(key, str) or not 1 <= len(key) <= LONGEST_KEY or not key.isprintable():
            raise LeagueError("bad-value", f"a key is a text of 1 to {LONGEST_KEY} characters; got {str(key)[:60]!r}.")
        text = json.dumps([request, _plain(content)])
        return cls(key, request, blake2b(text.encode(), digest_size=16).hexdigest())

    def answered(self, digest: str | None, request: str, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer that is kept under this key; an error if it was for something else."""
        if request != self.request or (digest is not None and digest != self.digest):
            raise LeagueError(
                "key-reused", f"the key {self.text!r} was used for another request. Give each request a key of its own."
            )
        return answer


def read(
    connection: Connection, league: int, texts: Iterable[str]
) -> dict[str, tuple[str | None, str, dict[str, Any]]]:
    """What is kept under these keys: digest, kind of request and answer."""
    wanted = list(texts)
    if not wanted:
        return {}
    kept = select(_TABLE.key, _TABLE.digest, _TABLE.request, _TABLE.answer)
    rows = connection.execute(kept.where(_TABLE.league_id == league, _TABLE.key.in_(wanted)))
    return {key: (digest, request, json.loads(answer)) for key, digest, request, answer in rows}


def save(connection: Connection, league: int, at: str, answers: Mapping[Key, dict[str, Any]]) -> None:
    """Keep the answers that were given under these keys."""
    rows = [
        {
            "league_id": league,
            "key": key.text,
            "request": key.request,
            "digest": key.digest,
            "answer": json.dumps(answer),
            "at": at,
        }
        for key, answer in answers.items()
    ]
    if rows:
        connection.execute(insert(schema.keys), rows)


def forget_contents(connection: Connection, league: int) -> None:
    """Erase the digests: from one of them a name that is to be forgotten could be guessed. The answers stay."""
    connection.execute(update(schema.keys).where(_TABLE.league_id == league).values(digest=None))


def _plain(value: Any) -> Any:
    """A request's content as JSON in one form only: 1, 1.0 and True are equal; what has no order is sorted."""
    if isinstance(value, Mapping):
        return sorted(([_plain(key), _plain(inner)] for key, inner in value.items()), key=json.dumps)
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=json.dumps)
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Real):
        try:
            return float(value)
        except OverflowError:  # no request takes it; which words it gets is not for us to say
            return "too large"
    return value if value is None else str(value)

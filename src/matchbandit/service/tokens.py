"""API tokens with a scope, for some leagues or all; the store holds only their hashes.

A token has the form `mbt_<id>_<secret>`. The id is public: lists, logs and events name a token by it. The secret has
256 random bits, so a plain SHA-256 is sufficient: dictionary attacks are impossible.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from hmac import compare_digest

from sqlalchemy import RowMapping, insert, select, update

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.live.events import add_seconds
from matchbandit.live.schema import tokens as table
from matchbandit.live.store import Store

SCOPES = ("read", "play", "admin")
"""Each scope includes those before it: read; ask and tell; change items, rules and leagues."""
MAX_LABEL_LENGTH = 100
MAX_LIFETIME = timedelta(days=36_500)
_PATTERN = re.compile(r"mbt_([0-9a-f]{12})_([0-9a-f]{64})")
_NO_HASH = "0" * 64
"""Compared with the secret of an unknown id, so that both cases take the same time."""


@dataclass(frozen=True)
class Token:
    """A token without its secret, which only its creator has."""

    id: str
    label: str
    scope: str
    leagues: tuple[str, ...] | None
    """The leagues it gives access to; None: all, including future ones."""
    created: str
    expires: str | None
    revoked: str | None

    def may(self, scope: str, slug: str | None = None) -> bool:
        """Does it grant this scope in this league? Without a league: in all leagues.

        >>> token = Token("0123456789ab", "phone", "play", ("club",), "2026-11-16T09:30:00.000000Z", None, None)
        >>> token.may("read", "club"), token.may("admin", "club"), token.may("read", "other"), token.may("read")
        (True, False, False, False)
        """
        has_scope = SCOPES.index(self.scope) >= SCOPES.index(scope)
        return has_scope and (self.leagues is None or slug in self.leagues)

    def sees(self, slug: str) -> bool:
        """Does it grant read access to this league?"""
        return self.may("read", slug)

    def end_reason(self, now: str) -> str | None:
        """Why the token is no longer valid; None while it is."""
        if self.revoked is not None:
            return f"the token {self.id} was revoked at {self.revoked}"
        if self.expires is not None and self.expires <= now:
            return f"the token {self.id} expired at {self.expires}"
        return None


def create(
    store: Store,
    label: str,
    *,
    scope: str = "play",
    leagues: Iterable[str] | None = None,
    lifetime: timedelta | None = None,
) -> tuple[Token, str]:
    """Create a token; its text cannot be read again.

    Parameters
    ----------
    store : Store
        Where its hash is stored.
    label : str
        What it is for, in a word or two; shown in lists.
    scope : str
        "read", "play" or "admin".
    leagues : iterable of str, optional
        The leagues it gives access to; all if omitted. They need not exist yet.
    lifetime : timedelta, optional
        How long it is valid; until it is revoked if omitted.

    Returns
    -------
    token : Token
    text : str
        The secret text `mbt_<id>_<secret>`.
    """
    label = " ".join(label.split())
    if not 1 <= len(label) <= MAX_LABEL_LENGTH or not label.isprintable():
        raise MatchbanditError(f"a label has 1 to {MAX_LABEL_LENGTH} printable characters; got {label[:120]!r}.")
    if scope not in SCOPES:
        raise unknown("scope", scope, SCOPES)
    if lifetime is not None and not timedelta(0) < lifetime <= MAX_LIFETIME:
        raise MatchbanditError(
            f"the lifetime of a token must be positive and at most {MAX_LIFETIME.days} days; got {lifetime}."
        )
    slugs = None if leagues is None else tuple(dict.fromkeys(leagues))
    if slugs == ():
        raise MatchbanditError("a token needs at least one league. Name one, or omit leagues for all.")
    now = store.now()
    token = Token(
        id=secrets.token_hex(6),
        label=label,
        scope=scope,
        leagues=slugs,
        created=now,
        expires=None if lifetime is None else add_seconds(now, lifetime.total_seconds()),
        revoked=None,
    )
    secret = secrets.token_hex(32)
    row: dict[str, str | None] = {
        "id": token.id,
        "label": label,
        "hash": _hash(secret),
        "scope": scope,
        "created": token.created,
    }
    row |= {"leagues": None if slugs is None else json.dumps(slugs), "expires": token.expires, "revoked": None}
    with store.writing() as connection:
        connection.execute(insert(table).values(row))
    return token, f"mbt_{token.id}_{secret}"


def lookup(store: Store, text: str) -> Token | None:
    """The token with this text, even if it is expired or revoked; None if there is none."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    with store.reading() as connection:
        row = connection.execute(select(table).where(table.c.id == match[1])).mappings().first()
    is_equal = compare_digest(_hash(match[2]), _NO_HASH if row is None else row["hash"])
    return _token(row) if is_equal and row is not None else None


def get(store: Store, id: str) -> Token | None:
    """The token with this id, even if it is expired or revoked; None if there is none."""
    with store.reading() as connection:
        row = connection.execute(select(table).where(table.c.id == id)).mappings().first()
    return None if row is None else _token(row)


def find_active(store: Store, text: str) -> Token | None:
    """The token with this text, if it is valid now."""
    token = lookup(store, text)
    return None if token is None or token.end_reason(store.now()) else token


def list_all(store: Store) -> list[Token]:
    """All tokens, oldest first, including ended ones."""
    with store.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.created, table.c.id)).mappings().all()
    return [_token(row) for row in rows]


def revoke(store: Store, id: str) -> Token:
    """Revoke a token permanently; revoking it again has no effect."""
    now = store.now()
    with store.writing() as connection:
        connection.execute(update(table).where(table.c.id == id, table.c.revoked.is_(None)).values(revoked=now))
        row = connection.execute(select(table).where(table.c.id == id)).mappings().first()
    if row is None:
        raise unknown("token", id, [token.id for token in list_all(store)])
    return _token(row)


def any_usable(store: Store) -> bool:
    """Is any token valid now?"""
    now = store.now()
    return any(token.end_reason(now) is None for token in list_all(store))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(row: RowMapping) -> Token:
    slugs = None if row["leagues"] is None else tuple(json.loads(row["leagues"]))
    columns = {name: row[name] for name in ("id", "label", "scope", "created", "expires", "revoked")}
    return Token(leagues=slugs, **columns)

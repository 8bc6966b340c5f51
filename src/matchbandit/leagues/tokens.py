"""API tokens with a scope, for some leagues or all, and sessions of the dashboard; the store holds only hashes.

A token has the form `mbt_<id>_<secret>`. The id is public: lists, logs and the history name a token by it. The secret
has 256 random bits, so that a plain SHA-256 is sufficient, and the database may compare the hashes.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, insert, select, update

from matchbandit.errors import unknown
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.schema import session as _session
from matchbandit.leagues.schema import token as _token
from matchbandit.leagues.store import Store
from matchbandit.leagues.transaction import add_seconds

SCOPES = ("read", "play", "admin")
"""Each scope includes those before it: read; ask and tell; change items, rules and leagues."""
SESSION_LIFETIME = timedelta(hours=12)
_PATTERN = re.compile(r"mbt_([0-9a-f]{12})_([0-9a-f]{64})")


@dataclass(frozen=True)
class Token:
    """A token without its secret, which only its creator has."""

    id: str
    label: str
    scope: str
    leagues: list[str] | None
    """The leagues that it opens; None: all, including future ones."""
    created_at: str
    expires_at: str | None
    revoked_at: str | None

    def sees(self, slug: str) -> bool:
        """Does it open this league?"""
        return self.leagues is None or slug in self.leagues

    def has(self, scope: str) -> bool:
        """Does it grant this scope?"""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def is_valid(self, now: str) -> bool:
        """Is it neither revoked nor expired?"""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


_COLUMNS = [_token.c[name] for name in Token.__dataclass_fields__]


def create(
    store: Store,
    label: str,
    *,
    scope: str = "play",
    leagues: Iterable[str] | None = None,
    lifetime: timedelta | None = None,
) -> tuple[Token, str]:
    """Create a token; returns it and its text, which cannot be read again."""
    label = " ".join(label.split())
    if not 1 <= len(label) <= 100 or not label.isprintable():
        raise LeagueError("bad-value", f"a label has 1 to 100 printable characters; got {label[:120]!r}.")
    if scope not in SCOPES:
        raise LeagueError("bad-value", str(unknown("scope", scope, SCOPES)))
    now, secret = store.now(), secrets.token_hex(32)
    expires = None if lifetime is None else add_seconds(now, lifetime.total_seconds())
    slugs = None if leagues is None else list(dict.fromkeys(leagues))
    token = Token(secrets.token_hex(6), label, scope, slugs, now, expires, None)
    with store.database.writing() as connection:
        connection.execute(insert(_token).values(**token.__dict__, hash=_hash(secret)))
    return token, f"mbt_{token.id}_{secret}"


def find(store: Store, text: str) -> Token | None:
    """The valid token with this text; None if there is none."""
    match = _PATTERN.fullmatch(text)
    return _find(store, _token.c.id == match[1], _token.c.hash == _hash(match[2])) if match else None


def list_all(store: Store) -> list[Token]:
    """All tokens, oldest first, including ended ones."""
    with store.database.reading() as connection:
        rows = connection.execute(select(*_COLUMNS).order_by(_token.c.created_at, _token.c.id)).all()
    return [Token(*row) for row in rows]


def revoke(store: Store, id: str) -> Token:
    """Revoke a token permanently, and end its sessions; revoking it again has no effect."""
    now = store.now()
    with store.database.writing() as connection:
        connection.execute(
            update(_token).where(_token.c.id == id, _token.c.revoked_at.is_(None)).values(revoked_at=now)
        )
        row = connection.execute(select(*_COLUMNS).where(_token.c.id == id)).one_or_none()
    if row is None:
        raise LeagueError("bad-value", str(unknown("token", id, [token.id for token in list_all(store)])))
    return Token(*row)


def log_in(store: Store, token: Token) -> str:
    """Begin a session; returns the secret for its cookie."""
    secret = secrets.token_urlsafe(32)
    expires = add_seconds(store.now(), SESSION_LIFETIME.total_seconds())
    with store.database.writing() as connection:
        connection.execute(insert(_session).values(id=_hash(secret), token_id=token.id, expires_at=expires))
    return secret


def find_session(store: Store, secret: str) -> Token | None:
    """The valid token of a session; None if it has ended."""
    is_open = (_session.c.id == _hash(secret)) & (_session.c.expires_at > store.now())
    return _find(store, _token.c.id == _session.c.token_id, is_open)


def log_out(store: Store, secret: str) -> None:
    """End a session."""
    with store.database.writing() as connection:
        connection.execute(delete(_session).where(_session.c.id == _hash(secret)))


def _find(store: Store, *conditions: Any) -> Token | None:
    """The token with these properties, if it is valid."""
    with store.database.reading() as connection:
        row = connection.execute(select(*_COLUMNS).where(*conditions)).one_or_none()
    token = None if row is None else Token(*row)
    return token if token is not None and token.is_valid(store.now()) else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()

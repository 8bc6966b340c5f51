"""Dashboard sessions: after a login with a token, a cookie whose hash is in the store.

A session ends after its lifetime, at logout, and when its token is revoked or expires.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from hmac import compare_digest

from sqlalchemy import delete, insert, select

from matchbandit.live.events import add_seconds
from matchbandit.live.schema import sessions as table
from matchbandit.live.store import Store
from matchbandit.service import tokens
from matchbandit.service.settings import Settings
from matchbandit.service.tokens import Token

LIFETIME = timedelta(hours=12)
"""One working day."""
_SECRET_BYTES = 32


@dataclass(frozen=True)
class Session:
    """A login with a valid token."""

    id: str
    """The hash of the cookie."""
    token: Token
    csrf: str
    """The token against cross-site request forgery, in every form of this session."""

    def has_csrf(self, form_csrf: str) -> bool:
        """Is this the CSRF token of this session?"""
        return compare_digest(self.csrf.encode(), form_csrf.encode())


def create(store: Store, token: Token) -> str:
    """Create a session and return the value of its cookie; expired sessions are deleted."""
    secret, now = secrets.token_urlsafe(_SECRET_BYTES), store.now()
    row = {"id": _hash(secret), "token_id": token.id, "csrf": secrets.token_urlsafe(_SECRET_BYTES)}
    row |= {"created": now, "expires": add_seconds(now, LIFETIME.total_seconds())}
    with store.writing() as connection:
        connection.execute(delete(table).where(table.c.expires <= now))
        connection.execute(insert(table).values(row))
    return secret


def find(store: Store, secret: str) -> Session | None:
    """The session of this cookie, if it and its token are valid."""
    now = store.now()
    with store.reading() as connection:
        row = connection.execute(select(table).where(table.c.id == _hash(secret))).mappings().first()
    if row is None or row["expires"] <= now:
        return None
    token = tokens.get(store, row["token_id"])
    if token is None or token.end_reason(now) is not None:
        return None
    return Session(row["id"], token, row["csrf"])


def delete_session(store: Store, session: Session) -> None:
    """Log out."""
    with store.writing() as connection:
        connection.execute(delete(table).where(table.c.id == session.id))


def cookie_name(settings: Settings) -> str:
    """The name of the cookie; with https one that browsers accept from this host only."""
    return "__Host-matchbandit" if settings.https else "matchbandit"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

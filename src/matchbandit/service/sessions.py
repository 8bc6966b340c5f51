"""Who is logged in at the dashboard: a token once shown, then a cookie whose hash the store keeps.

A session ends when its time is over, when somebody logs out, and as soon as its token is revoked or expires.
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
from matchbandit.service.tokens import Token

LASTING = timedelta(hours=12)
"""A working day; then the token is asked for again."""
_SECRET_BYTES = 32


@dataclass(frozen=True)
class Session:
    """Somebody who showed a token that opens something."""

    id: str
    """The hash under which the store has it, not what the cookie holds."""
    token: Token
    csrf: str
    """What every form of this session carries, and no other site can know."""

    def wrote(self, form_csrf: str) -> bool:
        """Was this form made for this session?"""
        return compare_digest(self.csrf.encode(), form_csrf.encode())


def begin(store: Store, token: Token) -> str:
    """A new session for this token: what the cookie is to hold. Sessions whose time is over are swept away."""
    secret, now = secrets.token_urlsafe(_SECRET_BYTES), store.now()
    row = {"id": _hashed(secret), "token_id": token.id, "csrf": secrets.token_urlsafe(_SECRET_BYTES)}
    row |= {"created": now, "expires": add_seconds(now, LASTING.total_seconds())}
    with store.writing() as connection:
        connection.execute(delete(table).where(table.c.expires <= now))
        connection.execute(insert(table).values(row))
    return secret


def find(store: Store, secret: str) -> Session | None:
    """The session of this cookie, if it and its token still hold."""
    now = store.now()
    with store.reading() as connection:
        row = connection.execute(select(table).where(table.c.id == _hashed(secret))).mappings().first()
    if row is None or row["expires"] <= now:
        return None
    token = tokens.by_id(store, row["token_id"])
    if token is None or token.ended(now) is not None:
        return None
    return Session(row["id"], token, row["csrf"])


def end(store: Store, session: Session) -> None:
    """Log out."""
    with store.writing() as connection:
        connection.execute(delete(table).where(table.c.id == session.id))


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

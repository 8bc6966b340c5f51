"""The keys to the service: tokens with a scope, for some leagues or all; the store holds their hashes only.

A token reads `mbt_<id>_<secret>`. The id is public: lists, logs and the event log name a token by it. The secret has
256 random bits, so a plain SHA-256 of it is enough: there is no dictionary to try.
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
"""Each may all that those before it may: look; ask and tell; change who takes part, the rules, and the leagues."""
LONGEST_LABEL = 100
LONGEST_LIFE = timedelta(days=36_500)
_FORM = re.compile(r"mbt_([0-9a-f]{12})_([0-9a-f]{64})")
_NO_HASH = "0" * 64
"""What the secret of an unknown id is compared with, so that both answers take the same time."""


@dataclass(frozen=True)
class Token:
    """What a token opens. Its secret is not here: only whoever made it has that."""

    id: str
    label: str
    scope: str
    leagues: tuple[str, ...] | None
    """The slugs that it opens; None: all leagues, also those to come."""
    created: str
    expires: str | None
    revoked: str | None

    def may(self, scope: str, slug: str | None = None) -> bool:
        """Does it allow this much in this league? Without a league: in all of them.

        >>> token = Token("0123456789ab", "phone", "play", ("club",), "2026-11-16T09:30:00.000000Z", None, None)
        >>> token.may("read", "club"), token.may("admin", "club"), token.may("read", "other"), token.may("read")
        (True, False, False, False)
        """
        enough = SCOPES.index(self.scope) >= SCOPES.index(scope)
        return enough and (self.leagues is None or slug in self.leagues)

    def sees(self, slug: str) -> bool:
        """May it know that this league exists?"""
        return self.may("read", slug)

    def ended(self, now: str) -> str | None:
        """Why it opens nothing any more, in words; None while it does."""
        if self.revoked is not None:
            return f"the token {self.id} was revoked at {self.revoked}"
        if self.expires is not None and self.expires <= now:
            return f"the token {self.id} expired at {self.expires}"
        return None


def new(
    store: Store,
    label: str,
    *,
    scope: str = "play",
    leagues: Iterable[str] | None = None,
    lasting: timedelta | None = None,
) -> tuple[Token, str]:
    """A new token and its text, which nobody can read again.

    Parameters
    ----------
    store : Store
        Where its hash is kept.
    label : str
        What it is for, in a word or two; shown in lists.
    scope : str
        "read", "play" or "admin".
    leagues : iterable of str, optional
        The leagues that it opens; all if left out. They need not exist yet.
    lasting : timedelta, optional
        How long it opens them; until it is revoked if left out.
    """
    label = " ".join(label.split())
    if not 1 <= len(label) <= LONGEST_LABEL or not label.isprintable():
        raise MatchbanditError(f"a label has 1 to {LONGEST_LABEL} printable characters; got {label[:120]!r}.")
    if scope not in SCOPES:
        raise unknown("scope", scope, SCOPES)
    if lasting is not None and not timedelta(0) < lasting <= LONGEST_LIFE:
        raise MatchbanditError(f"a token lasts between a moment and {LONGEST_LIFE.days} days; got {lasting}.")
    opened = None if leagues is None else tuple(dict.fromkeys(leagues))
    if opened == ():
        raise MatchbanditError("a token for no league opens nothing. Name a league, or leave them out for all.")
    now = store.now()
    token = Token(
        id=secrets.token_hex(6),
        label=label,
        scope=scope,
        leagues=opened,
        created=now,
        expires=None if lasting is None else add_seconds(now, lasting.total_seconds()),
        revoked=None,
    )
    secret = secrets.token_hex(32)
    row: dict[str, str | None] = {
        "id": token.id,
        "label": label,
        "hash": _hashed(secret),
        "scope": scope,
        "created": token.created,
    }
    row |= {"leagues": None if opened is None else json.dumps(opened), "expires": token.expires, "revoked": None}
    with store.writing() as connection:
        connection.execute(insert(table).values(row))
    return token, f"mbt_{token.id}_{secret}"


def known(store: Store, text: str) -> Token | None:
    """The token with this text, be it expired or revoked; None if there never was one."""
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    with store.reading() as connection:
        row = connection.execute(select(table).where(table.c.id == form[1])).mappings().first()
    right = compare_digest(_hashed(form[2]), _NO_HASH if row is None else row["hash"])
    return _token(row) if right and row is not None else None


def by_id(store: Store, id: str) -> Token | None:
    """The token with this public id, be it expired or revoked: for whoever has shown its secret before."""
    with store.reading() as connection:
        row = connection.execute(select(table).where(table.c.id == id)).mappings().first()
    return None if row is None else _token(row)


def find(store: Store, text: str) -> Token | None:
    """The token with this text, if it opens anything now."""
    token = known(store, text)
    return None if token is None or token.ended(store.now()) else token


def listed(store: Store) -> list[Token]:
    """All tokens, the oldest first, ended ones too."""
    with store.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.created, table.c.id)).mappings().all()
    return [_token(row) for row in rows]


def revoke(store: Store, id: str) -> Token:
    """End a token for good; to end it twice is no mistake, and the first time stays."""
    now = store.now()
    with store.writing() as connection:
        connection.execute(update(table).where(table.c.id == id, table.c.revoked.is_(None)).values(revoked=now))
        row = connection.execute(select(table).where(table.c.id == id)).mappings().first()
    if row is None:
        raise unknown("token", id, [token.id for token in listed(store)])
    return _token(row)


def any_usable(store: Store) -> bool:
    """Is there a token that opens anything now?"""
    now = store.now()
    return any(token.ended(now) is None for token in listed(store))


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(row: RowMapping) -> Token:
    opened = None if row["leagues"] is None else tuple(json.loads(row["leagues"]))
    kept = {name: row[name] for name in ("id", "label", "scope", "created", "expires", "revoked")}
    return Token(leagues=opened, **kept)

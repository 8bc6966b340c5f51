"""Names of items and of leagues: how they may be written, and how they are stored."""

import re
import unicodedata

from matchbandit.leagues.errors import LeagueError

MAX_NAME_LENGTH = 200
"""Characters, once normalised."""
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
    text, problem = collapse_spaces(name), None
    shown = repr(text[:_SHOWN])
    refused = _DIRECTION_MARKS | _INVISIBLE
    hidden = [each for each in text if each in refused or unicodedata.category(each) in ("Cc", "Cs", "Cn")]
    if not any(unicodedata.category(each)[0] in "LNPS" and each not in _INVISIBLE for each in text):
        problem = f"a name needs a character that can be seen; got {name[:_SHOWN]!r}."
    elif len(text) > MAX_NAME_LENGTH:
        problem = f"a name has at most {MAX_NAME_LENGTH} characters; {shown}… has {len(text)}. Shorten it."
    elif hidden:
        problem = f"a name has no control characters, and none that cannot be seen; {shown} has U+{ord(hidden[0]):04X}."
        problem += " Leave it out."
    elif label_number(text) is not None:
        problem = f"{text!r} stands for the item of that number. Use another name."
    if problem is not None:
        raise LeagueError("bad-name", problem)
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


def label_number(text: str) -> int | None:
    """7 of `#7`; None for other texts."""
    digits = text[1:]
    return int(digits) if text[:1] == "#" and digits.isascii() and digits.isdigit() and len(digits) < 19 else None


_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


def check_slug(slug: object) -> str:
    """Check the name of a league in URLs: lower-case letters, digits and hyphens.

    >>> check_slug("chess-club-2")
    'chess-club-2'
    """
    if isinstance(slug, str) and _SLUG.fullmatch(slug):
        return slug
    raise LeagueError(
        "bad-name",
        f"the name of a league is 1 to 64 lower-case letters, digits and hyphens, such as chess-club; "
        f"got {str(slug)[:80]!r}.",
    )

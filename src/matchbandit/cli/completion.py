"""Names that a shell completes: policies, families, figures and leagues.

They are listed here because completion must not import the library, which takes a second; a test compares them with it.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

import typer

POLICIES = (
    "pair-elim", "pair-elim-mono", "pair-select", "matching-id", "simple-adaptive-matching", "adaptive-matching",
    "exploration-first", "rank1-elim", "rank1-elim-kl", "uts", "kl-ucb", "track-and-stop", "cucb", "cts-beta",
    "cts-gaussian", "clucb", "escb", "aescb", "ols-ucb", "grab", "pb-mhb", "rank1-certify", "rank1-thompson",
    "rank1-track-and-stop", "sequential-halving", "uniform",
)  # fmt: skip
FAMILIES = (
    "spiked", "spiked-repeated", "fixed-mean", "half", "fading", "staircase", "centred", "two-best", "equal-pairs",
    "click-model",
)  # fmt: skip
PAPER_FIGURES = (
    "fig1-top", "fig1-bottom", "delta-ratio", "u1-regret", "u1-ratio", "fig2", "fig2-scaled", "fig3-top", "fig3-bottom",
)  # fmt: skip
OTHER_FIGURES = ("practical", "windows", "growth", "identification", "comparison", "evaluations", "click-models")
STUDIES = ("over-time", "over-gap", "over-u1", "over-n", "over-mu")
"""Studies that draw several figures; each of the others is named as its figure."""
REWARDS = ("bernoulli", "gaussian:", "binomial:")
DRIFTS = ("random-walk:", "seasons:", "jumps:")
DEFAULT_STORE = "sqlite:///matchbandit.db"
STORE_VARIABLE = "MATCHBANDIT_STORE"
_SQLITE_URL = re.compile(r"sqlite(?:\+pysqlite)?:///(?:file:)?([^?]*)(?:[?].*)?")


def complete_from(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that completes one of these names."""
    choices = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in choices if name.startswith(incomplete)]

    return complete


def sqlite_file(url: str) -> Path | None:
    """Return the file of a SQLite store, for any driver and query of the URL, or a file name; None for others.

    >>> print(sqlite_file("sqlite+pysqlite:///club.db?timeout=5"), sqlite_file("postgresql:///club"))
    club.db None
    """
    match = _SQLITE_URL.fullmatch(url)
    if match is None:
        return None if "://" in url else Path(url)
    return Path(unquote(match[1])) if match[1] not in ("", ":memory:") else None


def complete_league(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a league of a SQLite store; other stores would take too long to ask."""
    file = sqlite_file(context.params.get("store") or os.environ.get(STORE_VARIABLE) or DEFAULT_STORE)
    if file is None:
        return []
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as connection:
            rows = connection.execute("SELECT slug FROM mb_league WHERE deleted_at IS NULL ORDER BY slug")
            return [name for (name,) in rows if name.startswith(incomplete)]
    except sqlite3.Error:
        return []

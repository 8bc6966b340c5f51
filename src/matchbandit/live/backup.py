"""A copy of a SQLite store at one moment, whole and checked, while others write to it."""

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from matchbandit.live.database import sqlite_file
from matchbandit.live.errors import LeagueError
from matchbandit.live.private_files import create_private


@dataclass(frozen=True)
class Backup:
    """What a copy holds."""

    leagues: int
    events: int


def backup(url: str, path: Path) -> Backup:
    """Copy the store of this URL into a file, which appears whole or not at all.

    The copy is read in one transaction. In WAL mode that holds nobody up, and sees all of a commit or nothing of it.
    """
    source = sqlite_file(url)
    if source is None:
        raise LeagueError("not-supported", "only a SQLite file is copied so. PostgreSQL is backed up with pg_dump.")
    if path.exists():
        raise LeagueError("bad-value", f"{path} exists already. Name a new file, so that no older copy is lost.")
    part = path.with_name(f".{path.name}.part")
    create_private(part)
    try:
        with closing(_read_only(source)) as store, closing(sqlite3.connect(part)) as copy:
            store.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read from a medium without writing
            made = _checked(copy, part)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.rename(path)
    except (sqlite3.Error, OSError) as error:
        raise LeagueError("store-unusable", f"{source} cannot be copied to {path}: {error}.") from None
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
    return made


def _read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=10)


def _checked(copy: sqlite3.Connection, place: Path) -> Backup:
    """What the copy holds, once SQLite finds no fault in it."""
    (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
    if verdict != "ok":
        raise LeagueError("damaged", f"{place} is damaged: {verdict}. The store itself may be; verify it.")
    (leagues,) = copy.execute("SELECT count(*) FROM mb_leagues").fetchone()
    (events,) = copy.execute("SELECT count(*) FROM mb_events").fetchone()
    return Backup(leagues, events)

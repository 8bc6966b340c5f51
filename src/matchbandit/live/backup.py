"""Back up a SQLite store while others write to it."""

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
    """The contents of a backup."""

    leagues: int
    events: int


def backup(url: str, path: Path) -> Backup:
    """Copy a store into a new file, atomically.

    The copy is read in one transaction, which blocks nobody in WAL mode and sees each commit entirely or not at all.
    """
    source = sqlite_file(url)
    if source is None:
        raise LeagueError("not-supported", "this backs up SQLite files only. Use pg_dump for PostgreSQL.")
    if path.exists():
        raise LeagueError("bad-value", f"{path} exists already. Choose a new file, so that no older backup is lost.")
    partial = path.with_name(f".{path.name}.part")
    create_private(partial)
    try:
        with closing(_read_only(source)) as store, closing(sqlite3.connect(partial)) as copy:
            store.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, readable from read-only media
            counts = _check(copy, partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.rename(path)
    except (sqlite3.Error, OSError) as error:
        raise LeagueError("store-unusable", f"{source} cannot be copied to {path}: {error}.") from None
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
    return counts


def _read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=10)


def _check(copy: sqlite3.Connection, place: Path) -> Backup:
    """Check the integrity of the copy and count its contents."""
    (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
    if verdict != "ok":
        raise LeagueError("damaged", f"{place} is damaged: {verdict}. The store itself may be damaged, too: verify it.")
    (leagues,) = copy.execute("SELECT count(*) FROM mb_leagues").fetchone()
    (events,) = copy.execute("SELECT count(*) FROM mb_events").fetchone()
    return Backup(leagues, events)

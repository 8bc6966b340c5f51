"""A league as one file, and back: to move it, to keep it, to study it. With names or without.

JSON Lines, compressed if the file's name ends in .gz: a header, a line for each name (if wanted), a line for each
event, and a last line with their count and checksum. Exports of older versions stay readable: keys are only added.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from threading import get_ident
from typing import IO, Any, cast

from sqlalchemy import Connection, update

from matchbandit.live import log, projection, schema, snapshots
from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Event
from matchbandit.live.names import normalize_name
from matchbandit.live.private_files import create_private
from matchbandit.live.state import State

FORMAT = 1
_PAGE = 1000
"""Events that one transaction of an import writes."""
_MARK = "matchbandit-league"
_LONGEST_LINE = 256 * 2**20
"""Bytes; a proposal of 100 000 pairs has a few millions."""


def write(
    path: str | os.PathLike[str],
    *,
    header: dict[str, Any],
    names: Iterable[tuple[int, str]] | None,
    events: Iterable[Event],
) -> Path:
    """Write an export; the file is there whole, or as it was before."""
    target = Path(path).absolute()
    if target.is_dir():
        raise LeagueError("bad-value", f"{str(path)!r} is a folder. Give the export a file's name.")
    draft = target.with_name(f".{target.name}.{os.getpid()}-{get_ident()}")  # beside it, so that it can take its place
    try:
        create_private(draft)
        with draft.open("wb") as file:
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                    _write_lines(packed, header, names, events)
            else:
                _write_lines(file, header, names, events)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise LeagueError("bad-value", f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    finally:
        draft.unlink(missing_ok=True)
    return target


def _write_lines(
    file: BufferedIOBase, header: dict[str, Any], names: Iterable[tuple[int, str]] | None, events: Iterable[Event]
) -> None:
    digest, count = blake2b(digest_size=16), 0

    def line(content: Any) -> None:
        text = json.dumps(content, separators=(",", ":")).encode() + b"\n"
        digest.update(text)
        file.write(text)

    line({_MARK: FORMAT, **header, "names": names is not None})
    for item, name in names or ():
        line({"item": item, "name": name})
    for event in events:
        line({"seq": event.seq, "at": event.at, "kind": event.kind, "by": event.by, "data": event.data})
        count += 1
    file.write(json.dumps({"events": count, "checksum": digest.hexdigest()}).encode() + b"\n")


class Export:
    """An export that is being read: its header, its names, then its events one by one; damage is refused.

    What is read is right only once `events` has come to its end: the checksum is in the last line.
    """

    def __init__(self, file: IO[bytes], source: str, max_bytes: int | None = None) -> None:
        """Read the header and the names; a file of more bytes is refused."""
        self._file, self.source, self._digest = file, source, blake2b(digest_size=16)
        self._bytes_left = max_bytes
        self._number = 0
        header = self._next()
        version = header.get(_MARK) if isinstance(header, dict) else None
        if not isinstance(version, int):
            raise LeagueError("damaged", f"{source} is no export of a league: its first line does not say so.")
        if version > FORMAT:
            raise LeagueError(
                "not-supported",
                f"{source} is an export of format {version}; this matchbandit reads up to {FORMAT}. Update it.",
            )
        self.header: dict[str, Any] = header
        self.names: list[tuple[int, str]] = []
        self._first = self._next()
        while isinstance(self._first, dict) and "item" in self._first:
            self.names.append(self._name(self._first))
            self._first = self._next()

    def events(self) -> Iterator[Event]:
        """The events in order; an error at the first thing that is wrong."""
        line, last, before = self._first, 0, ""
        while isinstance(line, dict) and "seq" in line:
            parts = [line.get(name) for name in ("at", "kind", "by")]
            if not all(isinstance(part, str) for part in parts) or not isinstance(line.get("data"), dict):
                raise self._damage("is no whole event")
            if line["seq"] != last + 1:
                raise self._damage(f"has event {line['seq']!r} after {last}")
            last += 1
            yield Event(last, line["at"], line["kind"], line["data"], line["by"])
            before = self._digest.hexdigest()
            line = self._next()
        if not isinstance(line, dict) or "checksum" not in line:
            raise self._damage("is neither an event nor the end")
        if line["checksum"] != before or line.get("events") != last:
            raise LeagueError("damaged", f"{self.source} is damaged: its checksum does not fit. Export it again.")
        if self._read(1):  # at the end of the file its own checksum is compared, too
            raise self._damage("is the end, and more follows")

    def _next(self) -> Any:
        text = self._read(_LONGEST_LINE)
        self._number += 1
        if not text.endswith(b"\n"):
            raise LeagueError("damaged", f"{self.source} ends in line {self._number}: it was cut off. Copy it again.")
        self._digest.update(text)
        try:
            return json.loads(text, parse_constant=_refuse)
        except ValueError:
            raise self._damage("is no JSON") from None

    def _read(self, size: int) -> bytes:
        """A line, or the first bytes of it."""
        if self._bytes_left is not None:
            size = min(size, self._bytes_left + 1)
        try:
            line = bytes(self._file.readline(size))
        except (OSError, EOFError, zlib.error) as error:
            raise LeagueError("damaged", f"{self.source} cannot be unpacked: {error}.") from None
        if self._bytes_left is not None:
            self._bytes_left -= len(line)
            if self._bytes_left < 0:
                raise LeagueError(
                    "bad-value",
                    f"{self.source} is too large once it is unpacked. Import it on the server: matchbandit league "
                    "import FILE",
                )
        return line

    def _name(self, line: dict[str, Any]) -> tuple[int, str]:
        item, name = line["item"], line.get("name")
        if not isinstance(item, int) or normalize_name(name) != name:
            raise self._damage("has no proper name")
        return item, name

    def _damage(self, words: str) -> LeagueError:
        return LeagueError("damaged", f"{self.source} is damaged: line {self._number} {words}. Export it again.")


@dataclass(frozen=True)
class Contents:
    """An export that was read to its end: every event fits those before it."""

    state: State
    proposals: dict[int, dict[str, Any]]
    """The rows of the table of proposals, by number."""


def fold(export: Export) -> Contents:
    """Read a whole export, and check it: an error at the first thing that is wrong."""
    state, proposals = State(), dict[int, dict[str, Any]]()
    for event in projection.fold_rows(export.events(), proposals):
        state.apply(event)
    if not state.exists:
        raise LeagueError("damaged", f"{export.source} holds no league: it has no events.")
    for item, _ in export.names:
        if not 1 <= item <= state.n_items or state.forgotten[item - 1]:
            raise LeagueError("damaged", f"{export.source} has a name for item {item}, which is not there to have one.")
    taken = {(state.sides_by_item[item - 1], name) for item, name in export.names}
    if len(taken) < len(export.names):
        raise LeagueError("damaged", f"{export.source} gives one name to two items.")
    return Contents(state, proposals)


def pages(export: Export) -> Iterator[list[Event]]:
    """The events of an export, as many at a time as one short transaction writes."""
    events = export.events()
    while page := list(islice(events, _PAGE)):
        yield page


def write_derived(
    connection: Connection, league: int, names: Iterable[tuple[int, str]], contents: Contents, snapshot: bytes
) -> None:
    """Write all of a league whose events are written: its names, and what follows from its events."""
    state = contents.state
    projection.write(connection, league, contents.proposals)
    log.write_names(connection, league, names)
    snapshots.save(connection, league, state.seq, snapshot)
    row = update(schema.leagues).where(schema.leagues.c.id == league)
    connection.execute(row.values(summary=json.dumps(state.summary()), archived=state.archived))


def opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """The file of an export, unpacked if it is packed."""
    try:
        with Path(path).open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        return cast("IO[bytes]", gzip.open(path)) if is_packed else Path(path).open("rb")
    except OSError as error:
        raise LeagueError("bad-value", f"{str(path)!r} cannot be read: {error.strerror or error}.") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")

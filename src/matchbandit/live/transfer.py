"""Export a league to one file, with or without names, and read exports.

The format is JSON Lines, compressed if the file name ends in .gz: a header, a line per name (optional), a line per
event, and a last line with their count and checksum.
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
_PAGE_SIZE = 1000
"""Events per transaction of an import."""
_MARK = "matchbandit-league"
_MAX_LINE_BYTES = 256 * 2**20
"""A proposal of 100 000 pairs has a few million bytes."""


def write(
    path: str | os.PathLike[str],
    *,
    header: dict[str, Any],
    names: Iterable[tuple[int, str]] | None,
    events: Iterable[Event],
) -> Path:
    """Write an export, atomically."""
    target = Path(path).absolute()
    if target.is_dir():
        raise LeagueError("bad-value", f"{str(path)!r} is a folder. Give a file name.")
    partial = target.with_name(f".{target.name}.{os.getpid()}-{get_ident()}")  # same folder, so that it can be renamed
    try:
        create_private(partial)
        with partial.open("wb") as file:
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                    _write_lines(packed, header, names, events)
            else:
                _write_lines(file, header, names, events)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise LeagueError("bad-value", f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    finally:
        partial.unlink(missing_ok=True)
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
    """An export that is being read: its header and names, then its events one by one.

    The contents are verified only once `events` is exhausted: the checksum is in the last line.
    """

    def __init__(self, file: IO[bytes], source: str, max_bytes: int | None = None) -> None:
        """Read the header and the names; files larger than `max_bytes` are refused."""
        self._file, self.source, self._digest = file, source, blake2b(digest_size=16)
        self._bytes_left = max_bytes
        self._number = 0
        header = self._next()
        version = header.get(_MARK) if isinstance(header, dict) else None
        if not isinstance(version, int):
            raise LeagueError("damaged", f"{source} is not an export of a league: its first line has no such header.")
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
        """Yield the events in order; raise at the first error."""
        line, last, before = self._first, 0, ""
        while isinstance(line, dict) and "seq" in line:
            parts = [line.get(name) for name in ("at", "kind", "by")]
            if not all(isinstance(part, str) for part in parts) or not isinstance(line.get("data"), dict):
                raise self._damaged("is not a complete event")
            if line["seq"] != last + 1:
                raise self._damaged(f"has event {line['seq']!r} after {last}")
            last += 1
            yield Event(last, line["at"], line["kind"], line["data"], line["by"])
            before = self._digest.hexdigest()
            line = self._next()
        if not isinstance(line, dict) or "checksum" not in line:
            raise self._damaged("is neither an event nor the end")
        if line["checksum"] != before or line.get("events") != last:
            raise LeagueError("damaged", f"{self.source} is damaged: its checksum does not match. Export it again.")
        if self._read(1):  # reading to the end also verifies the checksum of gzip
            raise self._damaged("is the end, and more follows")

    def _next(self) -> Any:
        text = self._read(_MAX_LINE_BYTES)
        self._number += 1
        if not text.endswith(b"\n"):
            raise LeagueError("damaged", f"{self.source} ends in line {self._number}: it was cut off. Copy it again.")
        self._digest.update(text)
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except ValueError:
            raise self._damaged("is not JSON") from None

    def _read(self, size: int) -> bytes:
        """Read a line, or its first bytes."""
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
            raise self._damaged("has no valid name")
        return item, name

    def _damaged(self, what: str) -> LeagueError:
        return LeagueError("damaged", f"{self.source} is damaged: line {self._number} {what}. Export it again.")


@dataclass(frozen=True)
class Contents:
    """The contents of an export, completely read and checked."""

    state: State
    proposals: dict[int, dict[str, Any]]
    """Rows of the proposals table, by number."""


def fold(export: Export) -> Contents:
    """Read and check a whole export; raise at the first error."""
    state, proposals = State(), dict[int, dict[str, Any]]()
    for event in projection.fold_rows(export.events(), proposals):
        state.apply(event)
    if not state.exists:
        raise LeagueError("damaged", f"{export.source} holds no league: it has no events.")
    for item, _ in export.names:
        if not 1 <= item <= state.n_items or state.forgotten[item - 1]:
            raise LeagueError(
                "damaged", f"{export.source} has a name for item {item}, which does not exist or was forgotten."
            )
    taken = {(state.sides_by_item[item - 1], name) for item, name in export.names}
    if len(taken) < len(export.names):
        raise LeagueError("damaged", f"{export.source} gives one name to two items.")
    return Contents(state, proposals)


def pages(export: Export) -> Iterator[list[Event]]:
    """The events of an export, in pages for one short transaction each."""
    events = export.events()
    while page := list(islice(events, _PAGE_SIZE)):
        yield page


def write_derived(
    connection: Connection, league: int, names: Iterable[tuple[int, str]], contents: Contents, snapshot: bytes
) -> None:
    """Write the names of an imported league and the data derived from its events."""
    state = contents.state
    projection.write(connection, league, contents.proposals)
    log.write_names(connection, league, names)
    snapshots.save(connection, league, state.seq, snapshot)
    row = update(schema.leagues).where(schema.leagues.c.id == league)
    connection.execute(row.values(summary=json.dumps(state.summary()), archived=state.archived))


def open_export(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open an export for reading, decompressed if necessary."""
    try:
        with Path(path).open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        return cast("IO[bytes]", gzip.open(path)) if is_packed else Path(path).open("rb")
    except OSError as error:
        raise LeagueError("bad-value", f"{str(path)!r} cannot be read: {error.strerror or error}.") from None


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")

"""Export a league to one file, import and check it, and take in earlier results.

The file is JSON Lines, compressed if its name ends in .gz: a header, a line for each row of each table, and a last line
with a checksum; see `verification`.
"""

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from heapq import merge
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select

from matchbandit.leagues import library, schema
from matchbandit.leagues.database import new_file
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.items import pair_index
from matchbandit.leagues.transaction import LeagueRow, Transaction

_BATCH = 2000
MAX_LINE_BYTES = 2**23
"""A change of 100,000 outcomes has about 2 MB."""


# Export --------------------------------------------------------------------------------------------------------------


def export(connection: Connection, league: LeagueRow, path: Path, *, names: bool) -> Path:
    """Write a league to a file, which appears only once it is complete; equal leagues have equal files."""
    digest = blake2b(digest_size=16)
    try:
        with new_file(path) as partial, partial.open("wb") as plain, ExitStack() as stack:
            is_packed = path.suffix == ".gz"
            file: Any = stack.enter_context(gzip.GzipFile("", "wb", 6, plain, mtime=0)) if is_packed else plain
            for line in lines(connection, league, names=names):
                digest.update(line)
                file.write(line)
            file.write(_line({"checksum": digest.hexdigest()}))
    except OSError as error:
        raise LeagueError("bad-value", f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    return path


def lines(connection: Connection, league: LeagueRow, *, names: bool) -> Iterator[bytes]:
    """The lines of an export, all but the last."""
    from matchbandit.leagues.verification import FORMAT, HEADER, MARK, TABLES

    def rows(name: str) -> Iterator[dict[str, Any]]:
        table = TABLES[name]
        columns = [column for column in table.c if column.name != "league_id"]
        query = select(*columns).where(table.c.league_id == league.id).order_by(*table.primary_key)
        for row in connection.execution_options(yield_per=_BATCH).execute(query).mappings():
            yield {"table": name, **row}

    n_items = connection.scalar(select(func.count()).where(schema.item.c.league_id == league.id))
    yield _line({MARK: FORMAT, **{name: getattr(league, name) for name in HEADER}, "n_items": n_items})
    proposals = merge(rows("proposal"), rows("proposal_pair"), key=lambda row: row["number"])
    for row in chain(rows("item"), rows("change"), rows("past_result"), proposals, rows("rule")):
        if not names and row["table"] == "item":
            row["name"] = None
        yield _line(row)


def _line(content: Any) -> bytes:
    try:
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except ValueError:
        raise LeagueError("damaged", f"the store holds numbers that are none: {content!r:.200}.") from None


# Import --------------------------------------------------------------------------------------------------------------


class ExportFile:
    """An export that is open for reading, unpacked if necessary; its lines can be read several times."""

    def __init__(self, file: IO[bytes], source: str, max_bytes: int | None = None) -> None:
        """`max_bytes` limits its size once it is unpacked."""
        self.source, self.max_bytes, self.checksum = source, max_bytes, ""
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self._file: Any = gzip.GzipFile(fileobj=file) if is_packed else file

    def lines(self) -> Iterator[bytes]:
        """All lines but the last, which must be their checksum."""
        digest, before, number, left = blake2b(digest_size=16), b"", 0, self.max_bytes
        try:
            self._file.seek(0)
            while line := self._file.readline(MAX_LINE_BYTES):
                number += 1
                if not line.endswith(b"\n"):
                    raise self._damaged(f"line {number} was cut off, or is too long. Export it again")
                if left is not None and (left := left - len(line)) < 0:
                    raise LeagueError(
                        "bad-value",
                        f"{self.source} is too large once it is unpacked. Import it on the server.",
                    )
                if before:
                    digest.update(before)
                    yield before
                before = line
        except (OSError, EOFError, zlib.error) as error:
            raise self._damaged(f"it cannot be unpacked ({error}). Copy it again") from None
        if not number:
            raise self._damaged("it is empty")
        self.checksum = digest.hexdigest()
        if before != _line({"checksum": self.checksum}):
            raise self._damaged(f"line {number} is not the checksum of those before. Export it again")

    def _damaged(self, what: str) -> LeagueError:
        return LeagueError("damaged", f"{self.source} is damaged: {what}.")


@contextmanager
def open_export(source: str | Path | IO[bytes], max_bytes: int | None = None) -> Iterator[ExportFile]:
    """Open an export, by path or as a file."""
    if not isinstance(source, str | Path):
        yield ExportFile(source, "the file", max_bytes)
        return
    try:
        with Path(source).open("rb") as file:
            yield ExportFile(file, repr(str(source)), max_bytes)
    except OSError as error:
        raise LeagueError("bad-value", f"{str(source)!r} cannot be read: {error.strerror or error}.") from None


def import_league(connection: Connection, content: Iterator[bytes], header: dict[str, Any], slug: str) -> None:
    """Write the league of a verified export, within one transaction."""
    from matchbandit.leagues.verification import TABLES

    next(content)
    values = header | {"slug": slug}
    values |= dict.fromkeys(("decision_version", "rules_version", "items_version"), header["version"])
    (league_id,) = connection.execute(insert(schema.league).values(values).returning(schema.league.c.id)).one()
    rows = map(json.loads, content)
    while batch := list(islice(rows, _BATCH)):
        for name, table in TABLES.items():  # in this order: pairs refer to their proposals
            if part := [{"league_id": league_id, **row} for row in batch if row["table"] == name]:
                connection.execute(insert(table), [{k: v for k, v in row.items() if k != "table"} for row in part])


# Checks --------------------------------------------------------------------------------------------------------------


def check(connection: Connection, league: LeagueRow) -> list[str]:
    """What is wrong with a league in the store."""
    from matchbandit.leagues.verification import verify

    try:
        header = verify(lines(connection, league, names=True), f"the export of {league.slug!r}", "Restore a backup.")
    except LeagueError as error:
        return [str(error)]
    versions = [getattr(league, f"{name}_version") for name in ("decision", "rules", "items")]
    problems = [] if max(versions) <= league.version else ["its versions are later than its history"]
    if header["n_results"] != league.n_results:
        problems.append(f"it says that it has {league.n_results} results, and has {header['n_results']}")
    return problems


# Earlier results -----------------------------------------------------------------------------------------------------


def import_results(tx: Transaction, rows: Iterable[tuple[str, str, int, float]]) -> int:
    """Take in earlier results before the first proposal; returns their number."""
    league, listed = tx.league, list(rows)
    if league.n_proposals:
        raise LeagueError("not-supported", "earlier results can only be imported before the first proposal.")
    index = pair_index(tx.connection, league, [row[:2] for row in listed])
    past, new = schema.past_result, set()
    known = select(past.c.a, past.c.b, past.c.count, past.c.total).where(past.c.league_id == league.id)
    sums = {(a, b): (count, total) for a, b, count, total in tx.connection.execute(known)}
    for first, second, count, total in listed:
        pair = index.resolve_pair((first, second))
        before = sums.get(pair, (0, 0.0))
        is_possible = 1 <= count <= library.max_plays() - before[0] and math.isfinite(total)
        if not is_possible or league.distribution.impossible(np.array(total), count):
            raise LeagueError("reward-outside", f"{count} results of {first!r} and {second!r} cannot sum to {total!r}.")
        new.add(pair)
        sums[pair] = before[0] + count, before[1] + total
    n_results = sum(count for _, _, count, _ in listed)
    tx.record("import results", {"n_pairs": len(new), "results": n_results}, results=n_results)
    tx.connection.execute(delete(past).where(past.c.league_id == league.id))
    if sums:
        values = [dict(zip(past.c.keys(), (league.id, *pair, *row), strict=True)) for pair, row in sums.items()]
        tx.connection.execute(insert(past), values)
    return n_results

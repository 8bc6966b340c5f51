"""Export a league to one file, import and check it, and take in earlier results.

The file is JSON Lines, compressed if its name ends in .gz: a header, a line for each row of each table, and a last line
with a checksum. An import checks each row against its table, then the whole against the rules of a league, and computes
the totals itself.
"""

import gzip
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, Table, func, insert, select
from sqlalchemy.exc import IntegrityError

from matchbandit.leagues import library, schema, totals
from matchbandit.leagues.errors import LeagueError
from matchbandit.leagues.items import pair_index
from matchbandit.leagues.settings import LeagueSettings
from matchbandit.leagues.transaction import LeagueRow, Transaction

FORMAT = 1
_MARK = "matchbandit-league"
_TABLES = {
    table.name.removeprefix("mb_"): table
    for table in (schema.item, schema.rule, schema.past_result, schema.change, schema.proposal, schema.proposal_pair)
}
"""The tables of an export, in order; totals are derived, and keys and tokens belong to the store."""
_HEADER = (
    "slug",
    "sides",
    "rewards",
    "seed",
    "stream",
    "settings",
    "version",
    "n_proposals",
    "created_at",
    "archived_at",
)
_BATCH = 2000
_MAX_LINE_BYTES = 2**26


def export(connection: Connection, league: LeagueRow, path: Path, *, names: bool) -> Path:
    """Write a league to a file, which appears only once it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.touch(mode=0o600, exist_ok=False)
        opened: Any = gzip.open(partial, "wb") if path.suffix == ".gz" else partial.open("wb")
        with opened as file:
            digest = blake2b(digest_size=16)
            for line in lines(connection, league, names=names):
                digest.update(line)
                file.write(line)
            file.write(json.dumps({"checksum": digest.hexdigest()}).encode() + b"\n")
        partial.replace(path)
    except OSError as error:
        raise LeagueError("bad-value", f"{str(path)!r} cannot be written: {error.strerror or error}.") from None
    finally:
        partial.unlink(missing_ok=True)
    return path


def lines(connection: Connection, league: LeagueRow, *, names: bool) -> Iterator[bytes]:
    """The lines of an export, all but the last."""
    yield _line({_MARK: FORMAT, **{name: getattr(league, name) for name in _HEADER}})
    for name, table in _TABLES.items():
        columns = [column for column in table.c if column.name != "league_id"]
        query = select(*columns).where(table.c.league_id == league.id).order_by(*table.primary_key)
        for row in connection.execution_options(yield_per=_BATCH).execute(query).mappings():
            values = dict(row)
            if table is schema.item and not names:
                values["name"] = None
            yield _line({"table": name, **values})


def _line(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def import_league(connection: Connection, file: IO[bytes], source: str, slug: str | None, now: str) -> Transaction:
    """Write the league of an export, within one transaction; returns that of the new league."""
    reader = _Reader(file, source)
    header = reader.header()
    try:
        rewards = library.parse_rewards(header["rewards"])
        settings = LeagueSettings.from_config(header["settings"])
        settings = settings.validate("players" if header["sides"] is None else "sides", rewards).to_config()
    except (KeyError, TypeError, ValueError) as error:
        raise reader.damaged("is not a valid header") from error
    values = {name: header[name] for name in _HEADER} | {"settings": settings, "slug": slug or header["slug"]}
    values |= dict.fromkeys(("decision_version", "rules_version", "items_version"), header["version"]) | {
        "n_results": 0
    }
    league_id = connection.execute(insert(schema.league).values(values)).inserted_primary_key[0]
    rows = reader.rows()
    try:
        while batch := list(islice(rows, _BATCH)):
            for name in dict.fromkeys(name for name, _ in batch):
                part = [{"league_id": league_id, **row} for each, row in batch if each == name]
                connection.execute(insert(_TABLES[name]), part)
    except IntegrityError:
        raise reader.damaged("or one shortly before contradicts others") from None
    league = LeagueRow(
        id=league_id,
        deleted_at=None,
        fit=None,
        n_results=values["n_results"],
        **{name: values[name] for name in (*_HEADER, "decision_version", "rules_version", "items_version")},
    )
    problems = list(_contradictions(connection, league))
    if problems:
        raise LeagueError("damaged", f"{source} holds no valid league: {problems[0]}.")
    tx = Transaction(connection, league, now, "import")
    tx.update(n_results=totals.count_results(connection, league_id))
    return tx


class _Reader:
    """Reads an export line by line; the checksum is in the last line."""

    def __init__(self, file: IO[bytes], source: str) -> None:
        self._file, self._source, self._digest, self._number = file, source, blake2b(digest_size=16), 0

    def header(self) -> dict[str, Any]:
        content = self._next()
        if content.get(_MARK) != FORMAT:
            raise LeagueError("damaged", f"{self._source} is not an export of a league of format {FORMAT}.")
        return content

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The table and the values of each row, checked."""
        before = self._digest.hexdigest()
        while "checksum" not in (content := self._next()):
            name = content.pop("table", None)
            table = _TABLES.get(name)
            if table is None or not _fits(table, content):
                raise self.damaged("is no valid row")
            yield name, content
            before = self._digest.hexdigest()
        if content["checksum"] != before or self._file.read(1):
            raise LeagueError("damaged", f"{self._source} is damaged: its checksum does not match. Export it again.")

    def _next(self) -> dict[str, Any]:
        try:
            text = self._file.readline(_MAX_LINE_BYTES)
            content = json.loads(text, parse_constant=float)
        except (ValueError, OSError, EOFError):
            raise self.damaged("cannot be read: the file was cut off or changed") from None
        self._number += 1
        self._digest.update(text)
        if not isinstance(content, dict):
            raise self.damaged("is no object")
        return content

    def damaged(self, what: str) -> LeagueError:
        """An error about the line that was read last."""
        return LeagueError("damaged", f"{self._source} is damaged: line {self._number} {what}. Export it again.")


def _fits(table: Table, row: dict[str, Any]) -> bool:
    """Are these the columns of the table, with values of their types?"""
    columns = {column.name: column for column in table.c if column.name != "league_id"}
    if row.keys() != columns.keys():
        return False
    for name, value in row.items():
        column = columns[name]
        if value is None:
            if not column.nullable:
                return False
            continue
        kind = dict if name == "data" else list if column.type is schema.Json else column.type.python_type
        if kind is float and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            continue
        if type(value) is not kind or (kind is int and not 0 <= value < 2**62):
            return False
    return True


def check(connection: Connection, league: LeagueRow) -> list[str]:
    """What is wrong with a league in the store: contradictions, and totals that differ from the outcomes."""
    problems = list(_contradictions(connection, league))
    counted = totals.count_results(connection, league.id)
    if counted != league.n_results:
        problems.append(f"it has {counted} results, and says {league.n_results}")
    return problems


def _contradictions(connection: Connection, league: LeagueRow) -> Iterator[str]:
    """What the tables of a league say that cannot be: foreign keys and types are checked already."""
    item, pair, proposal, change = schema.item, schema.proposal_pair, schema.proposal, schema.change

    def of(table: Table, *columns: Any) -> list[Any]:
        return list(connection.execute(select(*columns).where(table.c.league_id == league.id)))

    sides = {row.id: row.side for row in of(item, item.c.id, item.c.side).__iter__()}
    if set(sides) != set(range(1, len(sides) + 1)) or not set(sides.values()) <= (
        {0} if league.sides is None else {0, 1}
    ):
        yield "its items are not numbered from 1, or are of no side"
        return
    positions = sorted((row.side, row.position) for row in of(item, item.c.side, item.c.position))
    if positions != sorted((side, k) for side in (0, 1) for k in range(sum(s == side for s in sides.values()))):
        yield "its items have no consecutive positions"
    for table in (pair, schema.rule, schema.past_result):
        for a, b in of(table, table.c.a, table.c.b):
            valid = a in sides and b in sides and (a < b if league.sides is None else (sides[a], sides[b]) == (0, 1))
            if not valid:
                yield f"{a} and {b} are no pair of its items"
                return
    for outcome, outcome_version in of(pair, pair.c.outcome, pair.c.outcome_version):
        if outcome is not None and not (league.distribution.is_possible(outcome) and outcome_version is not None):
            yield f"the outcome {outcome!r} is impossible"
            return
    numbers = [row.number for row in of(proposal, proposal.c.number)]
    if sorted(numbers) != list(range(1, league.n_proposals + 1)):
        yield "its proposals are not numbered from 1"
    versions = [row.version for row in of(change, change.c.version)]
    if sorted(versions) != list(range(1, league.version + 1)):
        yield "its history has gaps"
    waiting = select(pair.c.number, func.count(), func.count() - func.count(pair.c.outcome_version))
    counted = connection.execute(waiting.where(pair.c.league_id == league.id).group_by(pair.c.number))
    if {tuple(row) for row in counted} != {
        tuple(row) for row in of(proposal, proposal.c.number, proposal.c.n_pairs, proposal.c.n_waiting) if row[1]
    }:
        yield "its proposals miscount their pairs"


def import_results(tx: Transaction, rows: Iterable[tuple[str, str, int, float]]) -> int:
    """Take in earlier results before the first proposal; returns their number."""
    league, listed = tx.league, list(rows)
    if league.n_proposals:
        raise LeagueError("not-supported", "earlier results can only be imported before the first proposal.")
    index = pair_index(tx.connection, league, [row[:2] for row in listed])
    sums: dict[tuple[int, int], tuple[int, float]] = {}
    for first, second, count, total in listed:
        pair = index.resolve_pair((first, second))
        if (
            not 1 <= count <= library.max_plays()
            or not math.isfinite(total)
            or league.distribution.impossible(total, count)
        ):
            raise LeagueError("reward-outside", f"{count} results of {first!r} and {second!r} cannot sum to {total!r}.")
        before = sums.get(pair, (0, 0.0))
        sums[pair] = before[0] + count, before[1] + total
    n_results = sum(count for count, _ in sums.values())
    tx.record("import results", {"n_pairs": len(sums), "results": n_results}, results=n_results)
    table = [
        {"league_id": league.id, "a": a, "b": b, "count": n, "total": total} for (a, b), (n, total) in sums.items()
    ]
    if table:
        tx.connection.execute(insert(schema.past_result), table)
    return n_results

"""Logs of past results: who was paired with whom, and what the pair achieved together; from CSV, Parquet or rows.

A row is one meeting with its reward, or a pair's meetings counted and summed. Names stay as they are written, but for
blanks around them.
"""

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from math import isfinite, isnan
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.extras import need
from matchbandit.graphs import Graph, Pairs, bipartite, monopartite
from matchbandit.rewards import LARGEST_REWARD, Counts, Floats, RewardDistribution

ResultsKind = Literal["players", "sides"]
Columns = Mapping[str, str] | Sequence[str]

ROLES = ("first", "second", "reward", "sum", "mean", "count", "time")
"""What a column can be: the two items; the reward of one meeting, or sum or mean of as many as `count` says; when."""
PAID = ("reward", "sum", "mean")
VOID_CELLS = ("", "void", "nan")
"""What is written, in any case, where a pair never met: no result, and not 0."""
MOST_COUNTED = 2**53
"""Meetings of a row: floats hold them exactly."""
LONGEST_LINE = 1_000_000
_TRUTHS = {"true": 1.0, "false": 0.0}
_DELIMITERS = ",;\t|"


class Tally(NamedTuple):
    """Results by pair, with numbers for names: what policies and fits take."""

    graph: Graph
    names: tuple[tuple[str, ...], ...]
    """Of the players, or of rows and columns, each in the order in which they first came."""
    pairs: Pairs
    """The pairs that met, each once, in the order in which they first did."""
    counts: Counts
    sums: Floats

    def name(self, side: int, item: int) -> str:
        """The name of an item; players are on one side, whatever `side` says."""
        return self.names[side if len(self.names) > 1 else 0][item]

    def named(self, pairs: Pairs) -> list[tuple[str, str]]:
        """Pairs by name."""
        return [(self.name(0, i), self.name(1, j)) for i, j in pairs.tolist()]


@dataclass(frozen=True, eq=False, repr=False)
class PastResults:
    """Who was paired with whom, row by row, and what came of it.

    >>> PastResults.from_rows([("ann", "bob", 1), ("bob", "cem", 0), ("cem", "ann", None)])
    PastResults: 2 results of 2 pairs of 3 players, 1 void
    """

    first: list[str]
    second: list[str]
    rewards: Floats
    """What the meetings of each row paid in all; of a single meeting, its reward."""
    counts: Counts
    """How many meetings each row stands for."""
    kind: ResultsKind = "players"
    """All items on one side, or those of `first` and those of `second` on two."""
    sides: tuple[str, str] | None = None
    """What the two sides are called: the heads of their columns."""
    voids: int = 0
    """Rows of pairs that never met; they are left out."""
    times: list[str] | None = None
    """When, as it is written, if the log says so."""
    source: str = "the log"
    """Where the rows are from, for messages."""
    places: Sequence[int] | None = None
    """Which line, or row, of the source each is from."""
    place_word: str = "row"

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Sequence[Any]],
        *,
        kind: ResultsKind | None = None,
        sides: tuple[str, str] | None = None,
        source: str = "the log",
    ) -> "PastResults":
        """Results from rows (a, b, reward), None for a pair that never met; or (a, b, count, sum).

        Without a `kind`, items that are never on the other side of a pair make two sides.

        >>> PastResults.from_rows([("ad 1", "top", 20, 3), ("ad 2", "top", 10, 2)], kind="sides").rewards.tolist()
        [3.0, 2.0]
        """
        gathered = _Gathered(source, "row")
        for number, row in enumerate(rows, start=1):
            if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) not in (3, 4):
                raise MatchbanditError(
                    f"{source}, row {number}: a row is (a, b, reward) or (a, b, count, sum); got {row!r}."
                )
            counted = {"count": row[2], "sum": row[3]} if len(row) == 4 else {"reward": row[2]}
            gathered.add(number, {"first": row[0], "second": row[1], **counted}, {})
        return gathered.results(kind, sides)

    def __len__(self) -> int:
        """How many rows there are, without those of pairs that never met."""
        return len(self.first)

    @property
    def n_results(self) -> int:
        """How many meetings there were."""
        return int(self.counts.sum())

    @cached_property
    def tally(self) -> Tally:
        """The same results by pair; players count as the same pair in either order."""
        one_side = self.kind == "players"
        left: dict[str, int] = {}
        right = left if one_side else {}
        i, j = np.empty(len(self), dtype=np.int64), np.empty(len(self), dtype=np.int64)
        for k, (a, b) in enumerate(zip(self.first, self.second, strict=True)):
            i[k], j[k] = left.setdefault(a, len(left)), right.setdefault(b, len(right))
        names = (tuple(left),) if one_side else (tuple(left), tuple(right))
        graph: Graph = monopartite(len(left)) if one_side else bipartite(len(left), len(right))
        edges = graph.edges(np.stack([i, j], axis=1))
        known, begins, places = np.unique(edges, return_index=True, return_inverse=True)
        order = np.argsort(begins)
        counts = np.bincount(places, self.counts, minlength=len(known)).astype(np.int64)
        sums = np.bincount(places, self.rewards, minlength=len(known))
        return Tally(graph, names, graph.pairs_of(known[order]), counts[order], sums[order].astype(np.float64))

    def rows(self) -> list[tuple[str, str, int, float]]:
        """Each pair once, with the number of its meetings and the sum of their rewards: `from_rows` reads them."""
        tally = self.tally
        counted = zip(tally.named(tally.pairs), tally.counts.tolist(), tally.sums.tolist(), strict=True)
        return [(a, b, count, total) for (a, b), count, total in counted]

    def refuse_outside(self, rewards: RewardDistribution) -> None:
        """Refuse rewards that this distribution cannot give, naming the first and its place."""
        bad = (self.rewards < rewards.low * self.counts) | (self.rewards > rewards.high * self.counts)
        if bad.any():
            k = int(np.argmax(bad))
            n, got = int(self.counts[k]), float(self.rewards[k])
            what = "rewards lie" if n == 1 else f"rewards of {n} meetings sum to a number"
            range_ = f"in [{rewards.low * n:g}, {rewards.high * n:g}]"
            raise MatchbanditError(
                f"{self.where(k)}: {rewards.name} {what} {range_}; got {got:g} for {self.first[k]} and "
                f"{self.second[k]}. Rescale the rewards, or name their distribution, such as Gaussian(sd=…)."
            )

    def where(self, row: int) -> str:
        """The place that this row is from, in words."""
        return f"{self.source}, {self.place_word} {row + 1 if self.places is None else self.places[row]}"

    def __repr__(self) -> str:
        """How much there is."""
        tally = self.tally
        if self.kind == "players":
            items = f"{len(tally.names[0])} players"
        else:
            items = " × ".join(
                f"{len(names)} {side}"
                for names, side in zip(tally.names, self.sides or ("rows", "columns"), strict=True)
            )
        void = f", {self.voids} void" if self.voids else ""
        met = f"{len(tally.pairs)} pair{'s' * (len(tally.pairs) > 1)}"
        return f"PastResults: {self.n_results} result{'s' * (self.n_results > 1)} of {met} of {items}{void}"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"


def read_results(
    path: str | os.PathLike[str], *, columns: Columns | None = None, kind: ResultsKind | None = None
) -> PastResults:
    """The results in a CSV or Parquet file: two columns of items and what each pair achieved together.

    Parameters
    ----------
    path: str or Path
        The file. A CSV file names its columns in the first line; commas, semicolons, tabs or bars divide them.
    columns: mapping or sequence, optional
        Which column is what: `{"first": "ad", "second": "slot", "reward": "clicked"}`, or the names of these three.
        With `count`, the number of meetings that a row stands for, say `sum` or `mean` in the place of `reward`;
        `time` is kept as it is. Left alone, columns of these names are that, and the two others are the items.
    kind: {"players", "sides"}, optional
        Are all items on one side? Left alone: yes, if any item is in both columns.

    Returns
    -------
    PastResults
        Rows without a reward (empty, `void`, NaN) are pairs that never met: counted in `voids`, and left out.
    """
    file = Path(path)
    try:
        with file.open("rb") as opened:
            head = opened.read(4)
    except OSError as error:
        raise MatchbanditError(f"{file} cannot be read: {(error.strerror or 'it failed').lower()}.") from None
    if head[:2] == b"\x1f\x8b":
        raise MatchbanditError(f"{file} is compressed. Unpack it first, with gunzip for example.")
    if head[:1] == b"{":
        raise MatchbanditError(
            f"{file} is JSON, not CSV or Parquet. An exported league is taken in with `matchbandit league import`."
        )
    return _from_parquet(file, columns, kind) if head == b"PAR1" else _from_csv(file, columns, kind)


def _from_csv(file: Path, columns: Columns | None, kind: ResultsKind | None) -> PastResults:
    gathered = _Gathered(file.name, "line")
    with file.open(encoding="utf-8-sig", newline="") as opened:
        try:
            heads, reader = _opened_csv(file, opened)
            roles = _roles(file.name, heads, columns)
            for row in reader:
                if not any(cell.strip() for cell in row):
                    continue
                if len(row) != len(heads):
                    raise MatchbanditError(
                        f"{file.name}, line {reader.line_num}: {len(row)} cells, and the first line names "
                        f"{len(heads)} columns. Quote cells that hold the divider."
                    )
                cells = {role: row[at].strip() for role, at in roles.items()}
                gathered.add(reader.line_num, cells, {role: heads[at] for role, at in roles.items()})
        except UnicodeDecodeError:
            raise MatchbanditError(f"{file.name} is not UTF-8 text. Save it as CSV in UTF-8, or as Parquet.") from None
        except csv.Error as error:
            raise MatchbanditError(f"{file.name}, behind line {gathered.last}: {error}.") from None
    return gathered.results(kind, (heads[roles["first"]], heads[roles["second"]]))


def _opened_csv(file: Path, opened: Any) -> tuple[list[str], Any]:
    """The names of the columns, and a reader of what follows; the first line has most of the divider."""
    line = opened.readline(LONGEST_LINE)
    if not line.strip():
        raise MatchbanditError(f"{file.name} is empty. Its first line names the columns, such as first,second,reward.")
    divider = max(_DELIMITERS, key=line.count)
    opened.seek(0)
    reader = csv.reader(opened, delimiter=divider, strict=True)
    return [head.strip() for head in next(reader)], reader


def _from_parquet(file: Path, columns: Columns | None, kind: ResultsKind | None) -> PastResults:
    parquet, pa = need("pyarrow.parquet", "reading Parquet"), need("pyarrow", "reading Parquet")
    try:
        heads = parquet.read_schema(file).names
        roles = _roles(file.name, heads, columns)
        table = parquet.read_table(file, columns=[heads[at] for at in roles.values()])
    except (pa.ArrowException, OSError) as error:
        raise MatchbanditError(f"{file.name} cannot be read as Parquet: {str(error).splitlines()[0]}.") from None
    names = {role: heads[at] for role, at in roles.items()}
    gathered = _Gathered(file.name, "row")
    for number, row in enumerate(_rows_of(table, names), start=1):
        gathered.add(number, row, names)
    return gathered.results(kind, (names["first"], names["second"]))


def _rows_of(table: Any, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The rows of an Arrow table, by role, a batch at a time."""
    for batch in table.to_batches():
        lists = [batch.column(name).to_pylist() for name in names.values()]
        for cells in zip(*lists, strict=True):
            yield dict(zip(names, cells, strict=True))


def _roles(source: str, heads: Sequence[str], columns: Columns | None) -> dict[str, int]:
    """Which column plays which role, by its place."""
    twice = sorted({head for head in heads if heads.count(head) > 1})
    if twice:
        raise MatchbanditError(f"{source} has more than one column called {twice[0]!r}. Rename one.")
    named = _named(source, heads, columns)
    for role, head in named.items():
        if head not in heads:
            raise MatchbanditError(f"{source}: the column of {role}: {unknown('column', head, heads)}")
    if len(set(named.values())) < len(named):
        raise MatchbanditError(f"{source}: a column is named for two roles in columns={dict(named)}. Name each once.")
    if ("count" in named) == ("reward" in named):
        ways = "Call it sum or mean, or say columns={'sum': …} or columns={'mean': …}."
        if "count" not in named:
            ways = "Name the column of the count, or call it reward if each row is one meeting."
        what = "of so many meetings is a sum or a mean" if "count" in named else "needs a count of meetings"
        paid = next(role for role in PAID if role in named)
        raise MatchbanditError(f"{source}: the {paid} in column {named[paid]!r} {what}. {ways}")
    return {role: heads.index(head) for role, head in named.items()}


def _named(source: str, heads: Sequence[str], columns: Columns | None) -> dict[str, str]:
    """The head of each role's column: those that are told, and else those that are called so."""
    if columns is not None and not isinstance(columns, Mapping):
        if isinstance(columns, str) or not isinstance(columns, Sequence) or len(columns) != 3:
            raise MatchbanditError(f"columns are a mapping, or the names of first, second and reward; got {columns!r}.")
        columns = dict(zip(("first", "second", "reward"), columns, strict=True))
    told = dict(columns or {})
    for role in told:
        if role not in ROLES:
            raise unknown("role of a column", role, ROLES)
    known = {head.strip().lower(): head for head in heads if head not in told.values()}
    paid = [role for role in PAID if role in told]
    for role in ROLES:
        if role in known and role not in told and not (role in PAID and paid):
            told[role] = known[role]
    if len([role for role in PAID if role in told]) != 1:
        raise MatchbanditError(
            f"{source}: a log has one column of rewards, called reward, or sum or mean beside a count. The first line "
            f"names its columns; it says {', '.join(heads)}. Say which it is: columns={{'reward': …}}, or --column "
            f"reward=…."
        )
    left = [head for head in heads if head not in told.values()]
    missing = [role for role in ("first", "second") if role not in told]
    if len(left) < len(missing) or (missing and len(left) > len(missing)):
        more = f" besides {', '.join(told.values())}" if told else ""
        raise MatchbanditError(
            f"{source}: which columns are the two items? There are {', '.join(left) or 'none'}{more}. "
            f"Say columns={{'first': …, 'second': …}}, or --column first=…,second=…."
        )
    return {**told, **dict(zip(missing, left, strict=False))}


class _Gathered:
    """Rows as they are read and checked; each error names the source, the place and the column."""

    def __init__(self, source: str, word: str) -> None:
        self.source, self.word = source, word
        self.first: list[str] = []
        self.second: list[str] = []
        self.paid: list[float] = []
        self.counts: list[int] = []
        self.times: list[str] = []
        self.places: list[int] = []
        self.voids = 0
        self.last = 1
        """The place of the last row that was looked at; a CSV file names its columns in line 1."""
        self._seen: dict[str, str] = {}  # equal names are one object: a log has many rows of few items

    def add(self, place: int, cells: Mapping[str, Any], heads: Mapping[str, str]) -> None:
        """Check a row and keep it; `heads` are the names of the columns, for messages."""
        self.last = place
        try:
            a, b = self._name("first", cells["first"]), self._name("second", cells["second"])
            role = next(role for role in PAID if role in cells)
            paid = _number(role, cells[role])
            count = _count(cells["count"]) if "count" in cells else 1
            if paid is not None and count == 0 and paid != 0.0 and role == "sum":
                raise _BadCell("sum", f"must be 0 where the count is; got {cells[role]!r}")
        except _BadCell as bad:
            column = f", column {heads[bad.role]}" if bad.role in heads else f", {bad.role}"
            raise MatchbanditError(f"{self.source}, {self.word} {place}{column}: {bad}.") from None
        if paid is None or count == 0:
            self.voids += paid is None
            return
        self.first.append(a)
        self.second.append(b)
        self.paid.append(paid * count if role == "mean" else paid)
        self.counts.append(count)
        self.places.append(place)
        if "time" in cells:
            self.times.append(str(cells["time"]))

    def _name(self, role: str, cell: Any) -> str:
        if isinstance(cell, int) and not isinstance(cell, bool):
            cell = str(cell)
        if not isinstance(cell, str):
            raise _BadCell(role, f"an item is named by text or a whole number; got {cell!r}")
        name = cell.strip()
        if not name:
            raise _BadCell(role, "the name of the item is missing")
        return self._seen.setdefault(name, name)

    def results(self, kind: ResultsKind | None, sides: tuple[str, str] | None) -> PastResults:
        """All rows together; players who meet themselves are refused now that it is known who is a player."""
        if kind not in (None, "players", "sides"):
            raise unknown("kind of results", kind, ["players", "sides"])
        if not self.first:
            void = f", only {self.voids} of pairs that never met" if self.voids else ""
            raise MatchbanditError(
                f"{self.source} holds no results{void}. A row is a pair and what it achieved together."
            )
        chosen = kind or ("players" if set(self.first) & set(self.second) else "sides")
        made = PastResults(
            self.first,
            self.second,
            np.array(self.paid, dtype=np.float64),
            np.array(self.counts, dtype=np.int64),
            chosen,
            sides if chosen == "sides" else None,
            self.voids,
            self.times or None,
            self.source,
            self.places,
            self.word,
        )
        alone = [k for k, (a, b) in enumerate(zip(self.first, self.second, strict=True)) if a == b]
        if chosen == "players" and alone:
            raise MatchbanditError(
                f"{made.where(alone[0])}: {self.first[alone[0]]} is paired with itself. If the two columns are two "
                f"sides that share a name, say kind='sides'."
            )
        return made


class _BadCell(Exception):  # noqa: N818  # it never leaves this file
    """What is wrong with a cell, and in which role."""

    def __init__(self, role: str, words: str) -> None:
        super().__init__(words)
        self.role = role


def _number(role: str, cell: Any) -> float | None:
    """A reward, or None for a pair that never met."""
    value = cell
    if isinstance(cell, str):
        text = cell.strip().lower()
        if text in VOID_CELLS:
            return None
        value = _TRUTHS.get(text)
        if value is None:
            try:
                value = float(text)
            except ValueError:
                way = "; write 0.5 with a point" if "," in text else "; empty or void marks a pair that never met"
                raise _BadCell(role, f"must be a number; got {cell!r}{way}") from None
    try:
        number = None if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        raise _BadCell(role, f"must be a number; got {cell!r}") from None
    if number is None or isnan(number):
        return None
    if not isfinite(number) or abs(number) > LARGEST_REWARD:
        raise _BadCell(role, f"must be a number below {LARGEST_REWARD:g}; got {cell!r}")
    return number


def _count(cell: Any) -> int:
    number = _number("count", cell)
    if number is None or number < 0 or number > MOST_COUNTED or number != int(number):
        raise _BadCell("count", f"must be a whole number, at least 0; got {cell!r}")
    return int(number)

"""Logs of past results: who was paired with whom, and what the pair achieved together; from files, frames or rows.

A row is one meeting with its reward, or a pair's meetings counted and summed. Names stay as they are written, but for
blanks around them.
"""

import csv
import os
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from heapq import heapify, heappop, heappush
from html import escape
from itertools import groupby, islice
from math import isfinite, isnan
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import ArrayLike

from matchbandit.errors import MatchbanditError, check_float, check_int, unknown
from matchbandit.extras import Frame, make_frame, need
from matchbandit.graphs import Edges, Graph, Pairs, bipartite, monopartite
from matchbandit.rewards import LARGEST_REWARD, Counts, Floats, RewardDistribution

ResultsKind = Literal["players", "sides"]
OnMissing = Literal["error", "skip"]
Columns = Mapping[str, str] | Sequence[str]

ROLES = ("first", "second", "reward", "sum", "mean", "count", "time")
"""What a column can be: the two items; the reward of one meeting, or sum or mean of as many as `count` says; when."""
PAID = ("reward", "sum", "mean")
VOID_CELLS = ("", "void", "nan")
"""What is written, in any case, where a pair never met: no result, and not 0."""
MAX_PLAYS = 2**53
"""Meetings of a row or plays of a pair: floats hold them exactly."""
LARGEST_FLOAT_NAME = 2**53
"""From here on floats merge neighbouring whole numbers, and so two items."""
LARGEST_DECIMAL_NAME = 10**76
"""What decimals of Arrow can hold."""
MAX_LINE_CHARACTERS = 1_000_000
CHUNK_ROWS = 10_000
"""Rows that are converted together, and searched together when one of them is wrong."""
_PLAIN_NUMBERS = {float, int, bool, type(None)}
_TRUTHS = {"true": 1.0, "false": 0.0}
_DELIMITERS = ",;\t|"
_BLANK = _DELIMITERS + string.whitespace


class PairTotals(NamedTuple):
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
    skipped: int = 0
    """Rows without the name of an item, left out with `on_missing="skip"`."""

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Sequence[Any]],
        *,
        kind: ResultsKind | None = None,
        sides: tuple[str, str] | None = None,
        source: str = "the log",
        on_missing: OnMissing = "error",
    ) -> "PastResults":
        """Make results from rows.

        Parameters
        ----------
        rows : iterable of sequences
            (a, b, reward), with None as the reward of a pair that never met; or (a, b, count, sum).
        kind, on_missing : optional
            Those of `read_results`.
        sides : pair of str, optional
            What the two sides are called.
        source : str
            Where the rows are from, for messages.

        Returns
        -------
        PastResults

        Examples
        --------
        >>> PastResults.from_rows([("ad 1", "top", 20, 3), ("ad 2", "top", 10, 2)], kind="sides").rewards.tolist()
        [3.0, 2.0]
        """
        log = _Log(source, "row", {}, on_missing)
        for width, alike in groupby(enumerate(rows, start=1), key=lambda numbered: _width(source, *numbered)):
            roles = ("first", "second", "reward") if width == 3 else ("first", "second", "count", "sum")
            while part := list(islice(alike, CHUNK_ROWS)):
                cells = zip(*(row for _, row in part), strict=True)
                log.add([number for number, _ in part], dict(zip(roles, cells, strict=True)))
        return log.results(kind, sides)

    def __len__(self) -> int:
        """How many rows there are, without those of pairs that never met."""
        return len(self.first)

    @property
    def n_results(self) -> int:
        """How many meetings there were."""
        return int(self.counts.sum())

    @property
    def tally(self) -> PairTotals:
        """The same results by pair; players count as the same pair in either order."""
        return self._tally_and_pairs[0]

    @property
    def row_pairs(self) -> Counts:
        """For each row, the index of its pair in `tally.pairs`."""
        return self._tally_and_pairs[1]

    @cached_property
    def _tally_and_pairs(self) -> tuple[PairTotals, Counts]:
        one_side = self.kind == "players"
        left: dict[str, int] = {}
        right = left if one_side else {}
        i, j = np.empty(len(self), dtype=np.int64), np.empty(len(self), dtype=np.int64)
        for k, (a, b) in enumerate(zip(self.first, self.second, strict=True)):
            i[k], j[k] = left.setdefault(a, len(left)), right.setdefault(b, len(right))
        names = (tuple(left),) if one_side else (tuple(left), tuple(right))
        graph: Graph = monopartite(len(left)) if one_side else bipartite(len(left), len(right))
        edges = graph.edges(np.stack([i, j], axis=1))
        distinct, begins, places = np.unique(edges, return_index=True, return_inverse=True)
        order = np.argsort(begins)
        row_pairs = np.argsort(order)[places]
        counts = np.bincount(row_pairs, self.counts, minlength=len(distinct)).astype(np.int64)
        sums = np.bincount(row_pairs, self.rewards, minlength=len(distinct)).astype(np.float64)
        return PairTotals(graph, names, graph.pairs_of(distinct[order]), counts, sums), row_pairs

    def select(self, rows: Sequence[int]) -> "PastResults":
        """Return these rows alone; they keep their lines in the source.

        Parameters
        ----------
        rows : sequence of int
            Indices of rows, from 0.

        Returns
        -------
        PastResults
        """
        return replace(
            self,
            first=[self.first[k] for k in rows],
            second=[self.second[k] for k in rows],
            rewards=self.rewards[rows],
            counts=self.counts[rows],
            times=None if self.times is None else [self.times[k] for k in rows],
            places=[k + 1 if self.places is None else self.places[k] for k in rows],
        )

    def largest_part(self, max_items: int) -> "PastResults":
        """Return these results or, if they have more items, those among the items that met each other most.

        The item with the fewest results is left out, of equals the last; then the one with the fewest among the others,
        and so on.

        Parameters
        ----------
        max_items : int

        Returns
        -------
        PastResults
        """
        tally, n_items = self.tally, self.tally.graph.n_items
        if n_items <= max_items:
            return self
        ends = tally.graph.items_of(tally.pairs)
        partners: list[list[tuple[int, int]]] = [[] for _ in range(n_items)]
        for (i, j), count in zip(ends.tolist(), tally.counts.tolist(), strict=True):
            partners[i].append((j, count))
            partners[j].append((i, count))
        results = [sum(count for _, count in each) for each in partners]
        fewest = [(count, -item) for item, count in enumerate(results)]
        heapify(fewest)
        is_in = np.ones(n_items, dtype=np.bool_)
        for _ in range(n_items - max_items):
            count, item = heappop(fewest)
            while not is_in[-item] or results[-item] != count:  # an entry from before one of its partners left
                count, item = heappop(fewest)
            is_in[-item] = False
            for other, lost in partners[-item]:
                results[other] -= lost
                heappush(fewest, (results[other], -other))
        left = np.asarray(is_in[ends].all(axis=1))
        return self.select(np.flatnonzero(left[self.row_pairs]).tolist())

    def rows(self) -> list[tuple[str, str, int, float]]:
        """Return the totals of each pair, which `from_rows` reads.

        Returns
        -------
        list of (first, second, count, sum)
            Each pair once, with the number of its meetings and the sum of their rewards.
        """
        tally = self.tally
        counted = zip(tally.named(tally.pairs), tally.counts.tolist(), tally.sums.tolist(), strict=True)
        return [(a, b, count, total) for (a, b), count, total in counted]

    def to_frame(self, kind: Frame | None = None) -> Any:
        """Return a data frame with a row for each row of the log, without pairs that never met and skipped rows.

        The columns are `first` and `second`, or the names of the two sides; `reward`, or `count` and `sum` if a row
        stands for several meetings; and `time`, if the log has it. `read_results(frame, kind=log.kind)` reads it back.

        Parameters
        ----------
        kind : {"pandas", "polars", "arrow"}, optional
            By default the one of pandas and Polars that is imported already, else the one that is installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
        """
        heads = self.sides if self.kind == "sides" and self.sides is not None else ("first", "second")
        if heads[0] == heads[1] or any(head.strip().lower() in ROLES for head in heads):
            heads = ("first", "second")
        single = bool((self.counts == 1).all())
        return make_frame(
            {
                heads[0]: self.first,
                heads[1]: self.second,
                **({"reward": self.rewards} if single else {"count": self.counts, "sum": self.rewards}),
                **({} if self.times is None else {"time": self.times}),
            },
            kind,
        )

    def refuse_outside(self, rewards: RewardDistribution) -> None:
        """Refuse rewards that a distribution cannot give, naming the first and its place.

        Parameters
        ----------
        rewards : RewardDistribution

        Raises
        ------
        MatchbanditError
            If a row has an impossible reward.
        """
        bad = rewards.impossible(self.rewards, self.counts)
        if bad.any():
            k = int(np.argmax(bad))
            pair = f"{self.first[k]} and {self.second[k]}"
            refusal = rewards.refusal(float(self.rewards[k]), int(self.counts[k]), pair=pair)
            raise MatchbanditError(f"{self.where(k)}: {refusal}")

    def where(self, row: int) -> str:
        """Say from where a row is, such as "games.csv, line 3".

        Parameters
        ----------
        row : int
            Its index, from 0.

        Returns
        -------
        str
        """
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
        skipped = f", {skipped_rows(self.skipped)}" if self.skipped else ""
        met = f"{len(tally.pairs)} pair{'s' * (len(tally.pairs) > 1)}"
        return f"PastResults: {self.n_results} result{'s' * (self.n_results > 1)} of {met} of {items}{void}{skipped}"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"


def skipped_rows(number: int) -> str:
    """How many rows were skipped, in words.

    >>> skipped_rows(3)
    '3 rows without a name skipped'
    """
    return f"{number} row{'s' * (number > 1)} without a name skipped"


def is_table(source: object) -> bool:
    """Does this have named columns that `read_results` can read?"""
    return _table_columns(source) is not None or hasattr(source, "__arrow_c_stream__")


def read_results(
    source: Any,
    *,
    columns: Columns | None = None,
    kind: ResultsKind | None = None,
    on_missing: OnMissing = "error",
) -> PastResults:
    """Read the results in a file or a data frame: two columns of items and what each pair achieved together.

    Parameters
    ----------
    source : path, data frame or mapping
        A CSV or Parquet file; a data frame of pandas or Polars; a table of Arrow, or what else offers its columns as an
        Arrow stream, such as a relation of DuckDB; or a mapping of names of columns to lists. A CSV file names its
        columns in the first line; commas, semicolons, tabs or bars divide them.
    columns : mapping or sequence, optional
        Which column is what: `{"first": "ad", "second": "slot", "reward": "clicked"}`, or the names of these three.
        With `count`, the number of meetings that a row stands for, say `sum` or `mean` in the place of `reward`;
        `time` is kept as it is. Left alone, columns of these names are that, and the two others are the items.
    kind : {"players", "sides"}, optional
        Are all items on one side, or on two? By default the names tell: two sides if no name is in both columns, else
        players. An error asks for the kind if names are in both columns and one column has at least twice as many
        names as the other, such as 34 numbered ads and 3 numbered positions.
    on_missing : {"error", "skip"}
        What to do with a row that lacks the name of an item (empty, None, NaN): refuse the log, or leave the row out
        and count it in `skipped`.

    Returns
    -------
    PastResults
        Rows without a reward (empty, `void`, NaN) are pairs that never met: counted in `voids`, and left out.

    Notes
    -----
    Items are named by text, whole numbers or UUIDs; 7, `np.int64(7)`, 7.0 and "7" are one item, since a data frame
    turns whole numbers into floats where a column has gaps. In a CSV file names are text, and 7.0 is not 7. Truth
    values, other fractions and dates are refused.

    Examples
    --------
    >>> read_results({"ad": [1, 2, 2], "slot": ["top", "top", "side"], "reward": [1, 0, 1]})
    PastResults: 3 results of 3 pairs of 2 ad × 2 slot
    """
    if isinstance(source, str | os.PathLike):
        return _from_file(Path(source), columns, kind, on_missing)
    table = _table_columns(source)
    if table is None and hasattr(source, "__arrow_c_stream__"):
        table = _table_columns(_arrow_table(source))
    if table is None:
        ways = "Collect it first" if hasattr(source, "collect") else "PastResults.from_rows takes rows"
        raise MatchbanditError(
            f"results are read from a path, a data frame or a mapping of names to columns; got "
            f"{type(source).__name__}. {ways}."
        )
    heads, column = table
    return _from_columns("the data frame", heads, column, columns, kind, on_missing)


def _from_file(file: Path, columns: Columns | None, kind: ResultsKind | None, on_missing: OnMissing) -> PastResults:
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
    read = _from_parquet if head == b"PAR1" else _from_csv
    return read(file, columns, kind, on_missing)


def _from_csv(file: Path, columns: Columns | None, kind: ResultsKind | None, on_missing: OnMissing) -> PastResults:
    lines: list[int] = []
    rows: list[list[str]] = []
    last = 1
    with file.open(encoding="utf-8-sig", newline="") as opened:
        try:
            heads, reader = _opened_csv(file, opened)
            roles = _roles(file.name, heads, columns, where="The first line names its columns; it says")
            log = _Log(file.name, "line", {role: heads[at] for role, at in roles.items()}, on_missing)

            def add_rows() -> None:
                log.add(lines, {role: [row[at].strip() for row in rows] for role, at in roles.items()})
                lines.clear()
                rows.clear()

            for row in reader:
                if not any(map(str.strip, row)):
                    continue
                if len(row) != len(heads):
                    add_rows()
                    raise MatchbanditError(
                        f"{file.name}, line {reader.line_num}: {len(row)} cells, and the first line names "
                        f"{len(heads)} columns. Quote cells that hold the divider."
                    )
                last = reader.line_num
                lines.append(last)
                rows.append(row)
                if len(rows) == CHUNK_ROWS:
                    add_rows()
            add_rows()
        except UnicodeDecodeError:
            raise MatchbanditError(f"{file.name} is not UTF-8 text. Save it as CSV in UTF-8, or as Parquet.") from None
        except csv.Error as error:
            raise MatchbanditError(f"{file.name}, behind line {last}: {error}.") from None
    return log.results(kind, (heads[roles["first"]], heads[roles["second"]]))


def _opened_csv(file: Path, opened: Any) -> tuple[list[str], Any]:
    """The names of the columns, and a reader of what follows; the first line that is not blank names them.

    The divider is the character that it has most of.
    """
    line = opened.readline(MAX_LINE_CHARACTERS)
    while line and not line.strip(_BLANK):
        line = opened.readline(MAX_LINE_CHARACTERS)
    opened.seek(0)
    reader = csv.reader(opened, delimiter=max(_DELIMITERS, key=line.count), strict=True)
    heads = next((row for row in reader if any(cell.strip(_BLANK) for cell in row)), None)
    if heads is None:
        raise MatchbanditError(f"{file.name} is empty. Its first line names the columns, such as first,second,reward.")
    return [head.strip() for head in heads], reader


def _from_parquet(file: Path, columns: Columns | None, kind: ResultsKind | None, on_missing: OnMissing) -> PastResults:
    parquet, pa = need("pyarrow.parquet", "reading Parquet"), need("pyarrow", "reading Parquet")
    try:
        heads = parquet.read_schema(file).names
        needed = [heads[at] for at in _roles(file.name, heads, columns).values()]
        table = parquet.read_table(file, columns=needed)
    except (pa.ArrowException, OSError) as error:
        raise MatchbanditError(f"{file.name} cannot be read as Parquet: {str(error).splitlines()[0]}.") from None
    return _from_columns(file.name, heads, lambda at: table.column(heads[at]), columns, kind, on_missing)


def _from_columns(
    source: str,
    heads: Sequence[str],
    column: Callable[[int], Any],
    columns: Columns | None,
    kind: ResultsKind | None,
    on_missing: OnMissing,
) -> PastResults:
    """The results in named columns, of which `column(at)` gives the one at a place."""
    if not heads:
        raise MatchbanditError(f"{source} has no columns. It needs two of items and one of rewards.")
    roles = _roles(source, heads, columns)
    log = _Log(source, "row", {role: heads[at] for role, at in roles.items()}, on_missing)
    cells = {role: _cells(source, heads[at], column(at)) for role, at in roles.items()}
    sizes = {heads[at]: len(cells[role]) for role, at in roles.items()}
    if len(set(sizes.values())) > 1:
        unequal = ", ".join(f"{head} {size}" for head, size in sizes.items())
        raise MatchbanditError(f"{source}: columns have as many cells as there are rows; here are {unequal}.")
    log.add(range(1, len(cells["first"]) + 1), cells)
    return log.results(kind, (heads[roles["first"]], heads[roles["second"]]))


def _table_columns(source: Any) -> tuple[list[str], Callable[[int], Any]] | None:
    """The names of the columns of a frame, and what gives the one at a place; None if it is not a frame."""
    if isinstance(source, Mapping):
        keys = list(source)
    elif hasattr(source, "column_names") and hasattr(source, "column"):  # Arrow
        return list(source.column_names), source.column
    elif hasattr(source, "to_numpy") and hasattr(source, "columns"):  # pandas, Polars and their like
        keys = list(source.columns)
    else:
        return None
    return [str(key) for key in keys], lambda at: source[keys[at]]


def _arrow_table(source: Any) -> Any:
    pa = need("pyarrow", "reading an Arrow stream")
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as error:
        words = str(error).splitlines()[0]
        raise MatchbanditError(f"{type(source).__name__} cannot be read as a table: {words}.") from None


def _cells(source: str, head: str, column: Any) -> list[Any]:
    """A column as a list of plain Python values, as far as it offers them."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":
        column = column.astype(str)  # as a list, times in nanoseconds would be plain numbers
    way = next((way for way in ("to_pylist", "to_list", "tolist") if hasattr(column, way)), None)
    cells = getattr(column, way)() if way else column
    if not isinstance(cells, Sequence) or isinstance(cells, str | bytes):
        raise MatchbanditError(f"{source}, column {head}: a column is a list of cells; got {column!r}.")
    return list(cells)


def _roles(
    source: str, heads: Sequence[str], columns: Columns | None, *, where: str = "Its columns are"
) -> dict[str, int]:
    """Which column plays which role, by its place."""
    twice = sorted({head for head in heads if heads.count(head) > 1})
    if twice:
        raise MatchbanditError(f"{source} has more than one column called {twice[0]!r}. Rename one.")
    named = _named(source, heads, columns, where)
    for role, head in named.items():
        if head not in heads:
            raise MatchbanditError(f"{source}: the column of {role}: {unknown('column', head, heads)}")
    if len(set(named.values())) < len(named):
        raise MatchbanditError(f"{source}: a column is named for two roles in columns={dict(named)}. Name each once.")
    if ("count" in named) == ("reward" in named):
        ways = "Call it sum or mean, or say columns={'sum': …} or columns={'mean': …}."
        if "count" not in named:
            ways = "Name the column of the count, or call it reward if each row is one meeting."
        what = "of several meetings is a sum or a mean" if "count" in named else "needs a count of meetings"
        paid = next(role for role in PAID if role in named)
        raise MatchbanditError(f"{source}: the {paid} in column {named[paid]!r} {what}. {ways}")
    return {role: heads.index(head) for role, head in named.items()}


def _named(source: str, heads: Sequence[str], columns: Columns | None, where: str) -> dict[str, str]:
    """The head of each role's column: as `columns` says, else the column of that name."""
    if columns is not None and not isinstance(columns, Mapping):
        if isinstance(columns, str) or not isinstance(columns, Sequence) or len(columns) != 3:
            raise MatchbanditError(f"columns are a mapping, or the names of first, second and reward; got {columns!r}.")
        columns = dict(zip(("first", "second", "reward"), columns, strict=True))
    heads_by_role = {role: str(head) for role, head in (columns or {}).items()}
    for role in heads_by_role:
        if role not in ROLES:
            raise unknown("role of a column", role, ROLES)
    heads_by_name = {head.strip().lower(): head for head in heads if head not in heads_by_role.values()}
    paid = [role for role in PAID if role in heads_by_role]
    for role in ROLES:
        if role in heads_by_name and role not in heads_by_role and not (role in PAID and paid):
            heads_by_role[role] = heads_by_name[role]
    if len([role for role in PAID if role in heads_by_role]) != 1:
        raise MatchbanditError(
            f"{source}: a log has one column of rewards, called reward, or sum or mean beside a count. {where} "
            f"{', '.join(heads)}. Say which it is: columns={{'reward': …}}, or --column reward=…."
        )
    left = [head for head in heads if head not in heads_by_role.values()]
    missing = [role for role in ("first", "second") if role not in heads_by_role]
    if len(left) < len(missing) or (missing and len(left) > len(missing)):
        more = f" besides {', '.join(heads_by_role.values())}" if heads_by_role else ""
        raise MatchbanditError(
            f"{source}: which columns are the two items? There are {', '.join(left) or 'none'}{more}. "
            f"Say columns={{'first': …, 'second': …}}, or --column first=…,second=…."
        )
    return {**heads_by_role, **dict(zip(missing, left, strict=False))}


def _width(source: str, number: int, row: Any) -> int:
    """How many cells a row has, which may be 3 or 4."""
    if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) not in (3, 4):
        raise MatchbanditError(f"{source}, row {number}: a row is (a, b, reward) or (a, b, count, sum); got {row!r}.")
    return len(row)


class _Rows(NamedTuple):
    """Some rows of a log, converted and checked."""

    first: Sequence[str]
    second: Sequence[str]
    rewards: Floats
    counts: Counts
    times: Sequence[str]
    at: Sequence[int]
    """Which of the rows that were looked at they are; the others are void or skipped."""
    voids: int
    skipped: int


class _Log:
    """The rows of a log as they are read and checked; each error names the source, the place and the column."""

    def __init__(self, source: str, word: str, heads: Mapping[str, str], on_missing: OnMissing) -> None:
        """No rows yet; `heads` are the names of the columns, for messages."""
        if on_missing not in ("error", "skip"):
            raise unknown("choice of on_missing", on_missing, ["error", "skip"])
        self.source, self.word, self.heads, self.on_missing = source, word, heads, on_missing
        self.first: list[str] = []
        self.second: list[str] = []
        self.rewards: list[Floats] = []
        self.counts: list[Counts] = []
        self.times: list[str] = []
        self.places: list[int] = []
        self.voids = self.skipped = 0
        self._names_of: dict[Any, str] = {}
        self._equal: dict[str, str] = {}  # equal names are one object: a log has many rows of few items

    def add(self, places: Sequence[int], cells: Mapping[str, Sequence[Any]]) -> None:
        """Check rows and keep them: the cells of each role, and from which place each row is."""
        for begin in range(0, len(places), CHUNK_ROWS):
            part = slice(begin, begin + CHUNK_ROWS)
            self._add(places[part], {role: column[part] for role, column in cells.items()})

    def _add(self, places: Sequence[int], cells: Mapping[str, Sequence[Any]]) -> None:
        try:
            rows = self._convert(cells)
        except _BadCell:
            raise self._first_error(places, cells) from None
        self.first += rows.first
        self.second += rows.second
        self.rewards.append(rows.rewards)
        self.counts.append(rows.counts)
        self.times += rows.times
        self.places += [places[k] for k in rows.at]
        self.voids += rows.voids
        self.skipped += rows.skipped

    def _first_error(self, places: Sequence[int], cells: Mapping[str, Sequence[Any]]) -> MatchbanditError:
        """What is wrong with the first of these rows that cannot be converted."""
        for k, place in enumerate(places):
            try:
                self._convert({role: column[k : k + 1] for role, column in cells.items()})
            except _BadCell as bad:
                column = f", column {self.heads[bad.role]}" if bad.role in self.heads else f", {bad.role}"
                return MatchbanditError(f"{self.source}, {self.word} {place}{column}: {bad}.")
        raise AssertionError("rows that fail together fail one by one")

    def _convert(self, cells: Mapping[str, Sequence[Any]]) -> _Rows:
        first, second = self._names("first", cells["first"]), self._names("second", cells["second"])
        at: Sequence[int] = range(len(first))
        if "" in first or "" in second:
            at = [k for k in at if first[k] and second[k]]
            cells = {role: [column[k] for k in at] for role, column in cells.items()}
        role = next(role for role in PAID if role in cells)
        paid = _numbers(role, cells[role])
        counts = _counts(cells["count"]) if "count" in cells else np.ones(len(at), dtype=np.int64)
        void = np.isnan(paid)
        if role == "sum" and (bad := ~void & (counts == 0) & (paid != 0.0)).any():
            raise _BadCell("sum", f"must be 0 where the count is; got {cells[role][int(np.argmax(bad))]!r}")
        met = np.flatnonzero(~void & (counts > 0))
        indices = [at[k] for k in met.tolist()]
        times = cells.get("time")
        return _Rows(
            [first[k] for k in indices],
            [second[k] for k in indices],
            (paid * counts if role == "mean" else paid)[met],
            counts[met],
            [] if times is None else ["" if _is_missing(times[k]) else str(times[k]) for k in met.tolist()],
            indices,
            int(void.sum()),
            len(first) - len(at),
        )

    def _names(self, role: str, cells: Sequence[Any]) -> list[str]:
        """The names in these cells; empty where one is missing, and such rows are skipped."""
        names: list[str] = []
        cache = self._names_of
        for cell in cells:
            key = (cell.__class__, cell)  # with its class: True equals 1, but names no item
            try:
                name = cache.get(key, "")
            except TypeError:  # not hashable, hence no name
                name = ""
            if not name:
                name = _name(role, cell)
                if name:
                    name = cache[key] = self._equal.setdefault(name, name)
                elif self.on_missing == "error":
                    skip = "on_missing='skip', or --on-missing skip, leaves such rows out"
                    raise _BadCell(role, f"the name of the item is missing; {skip}")
            names.append(name)
        return names

    def results(self, kind: ResultsKind | None, sides: tuple[str, str] | None) -> PastResults:
        """All rows together; players who meet themselves are refused now that it is known who is a player."""
        if kind not in (None, "players", "sides"):
            raise unknown("kind of results", kind, ["players", "sides"])
        if not self.first:
            void = f", only {self.voids} of pairs that never met" if self.voids else ""
            skipped = f", {skipped_rows(self.skipped)}" if self.skipped else ""
            raise MatchbanditError(
                f"{self.source} holds no results{void}{skipped}. A row is a pair and what it achieved together."
            )
        self_paired = [k for k, (a, b) in enumerate(zip(self.first, self.second, strict=True)) if a == b]
        chosen = kind or ("players" if self_paired else self._kind())
        results = PastResults(
            self.first,
            self.second,
            np.concatenate(self.rewards),
            np.concatenate(self.counts),
            chosen,
            sides if chosen == "sides" else None,
            self.voids,
            self.times or None,
            self.source,
            self.places,
            self.word,
            self.skipped,
        )
        if chosen == "players" and self_paired:
            raise MatchbanditError(
                f"{results.where(self_paired[0])}: {self.first[self_paired[0]]} is paired with itself. If the two "
                f"columns are two sides that share a name, say kind='sides', or --kind sides."
            )
        return results

    def _kind(self) -> ResultsKind:
        """Players or two sides, by the names alone; refused where that would be a guess."""
        first, second = set(self.first), set(self.second)
        if first.isdisjoint(second):
            return "sides"
        if 2 * min(len(first), len(second)) > max(len(first), len(second)):
            return "players"
        shared = next(name for name in self.first if name in second)
        raise MatchbanditError(
            f"{self.source}: are these players, or two sides? {shared!r} is a name in both columns, but one has "
            f"{len(first)} names and the other {len(second)}. Pass kind='players' or kind='sides' to read_results, or "
            f"--kind players or --kind sides on the command line."
        )


class _BadCell(Exception):  # noqa: N818  # it never leaves this file
    """What is wrong with a cell, and in which role."""

    def __init__(self, role: str, words: str) -> None:
        super().__init__(words)
        self.role = role


def _is_missing(cell: Any) -> bool:
    """None, NaN, and what pandas has in their place."""
    if isinstance(cell, float | np.floating | Decimal):
        return isnan(cell)
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def _name(role: str, cell: Any) -> str:
    """The name in a cell; empty if it is missing.

    >>> _name("first", np.int64(7)), _name("first", 7.0), _name("first", " 7 "), _name("first", None)
    ('7', '7', '7', '')
    """
    if isinstance(cell, str):
        return cell.strip()
    if _is_missing(cell):
        return ""
    if isinstance(cell, UUID):
        return str(cell)
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, float | np.floating | Decimal):
        largest = LARGEST_DECIMAL_NAME if isinstance(cell, Decimal) else LARGEST_FLOAT_NAME
        if -largest < cell < largest and cell == int(cell):
            return str(int(cell))
    raise _BadCell(role, f"an item is named by text or a whole number; got {cell!r}")


def _numbers(role: str, cells: Sequence[Any]) -> Floats:
    """Rewards, NaN for pairs that never met: `_number` of each cell, of plain numbers all together."""
    types = set(map(type, cells))
    if types <= _PLAIN_NUMBERS:
        try:
            numbers = np.array(cells, dtype=np.float64)
        except OverflowError:  # a whole number that no float holds is refused below
            numbers = np.array([np.inf])
        if not (np.abs(numbers) > LARGEST_REWARD).any():
            return numbers
    if types == {str}:
        numbers_by_text = {text: _number(role, text) for text in set(cells)}
        return np.array([numbers_by_text[text] for text in cells], dtype=np.float64)
    return np.array([_number(role, cell) for cell in cells], dtype=np.float64)


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
    if _is_missing(value):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise _BadCell(role, f"must be a number; got {cell!r}") from None
    if isnan(number):
        return None
    if not isfinite(number) or abs(number) > LARGEST_REWARD:
        raise _BadCell(role, f"must be a number below {LARGEST_REWARD:g}; got {cell!r}")
    return number


def _counts(cells: Sequence[Any]) -> Counts:
    numbers = _numbers("count", cells)
    bad = np.isnan(numbers) | (numbers < 0) | (numbers > MAX_PLAYS) | (numbers != np.floor(numbers))
    if bad.any():
        raise _BadCell("count", f"must be a whole number, at least 0; got {cells[int(np.argmax(bad))]!r}")
    return numbers.astype(np.int64)


def aggregate_by_edge(
    graph: Graph, rewards: RewardDistribution, pairs: ArrayLike, counts: ArrayLike, sums: ArrayLike
) -> tuple[Edges, Counts, Floats]:
    """Validate logged results and aggregate plays and rewards per edge.

    Parameters
    ----------
    graph, rewards : Graph, RewardDistribution
        What was played.
    pairs, counts, sums : array_like
        The pairs, how often each was played, and what it paid in all; a pair may come more than once.

    Returns
    -------
    edges, counts, sums : arrays
        The edges that were played, in rising order, each once.
    """
    edges = graph.edges(pairs) if np.size(pairs) else np.zeros(0, dtype=np.int64)
    try:
        plays, paid = np.asarray(counts, dtype=np.float64), np.asarray(sums, dtype=np.float64)
    except (TypeError, ValueError):
        raise MatchbanditError(f"counts and sums must be numbers; got {counts!r} and {sums!r}.") from None
    if plays.shape != edges.shape or paid.shape != edges.shape:
        raise MatchbanditError(
            f"{len(edges)} logged pairs need a count and a sum each; got shapes {plays.shape} and {paid.shape}."
        )
    with np.errstate(invalid="ignore"):  # 0 · ∞ is NaN, and refused below
        fine = (plays >= 0) & (plays <= MAX_PLAYS) & (plays == np.floor(plays)) & np.isfinite(paid)
        fine &= ~rewards.impossible(paid, plays)
    for k in np.flatnonzero(~fine).tolist():  # find out what is wrong with the first one
        pair, total = graph.pairs_of(edges[k : k + 1])[0].tolist(), float(paid[k])
        n = check_int(f"the count of the pair {pair}", float(plays[k]), minimum=0, maximum=MAX_PLAYS)
        check_float(f"the sum of the pair {pair}", total)
        raise MatchbanditError(rewards.refusal(total, n, pair=f"the pair {pair}"))
    played = plays > 0
    distinct, places = np.unique(edges[played], return_inverse=True)
    total_counts = np.bincount(places, plays[played], minlength=len(distinct)).astype(np.int64)
    return distinct, total_counts, np.bincount(places, paid[played], minlength=len(distinct)).astype(np.float64)

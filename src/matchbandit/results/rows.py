"""Tidy rows in memory, column by column: what curves, claims and charts are made of."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.extras import Frame, choose_frame, frame_library, make_frame, need
from matchbandit.results.tables import HEAD, TAIL
from matchbandit.rewards import Floats

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = ("run", "regret", "rounds", "pairs", "identified", "correct")
"""Columns that differ from row to row; of all others the few values are kept once, and for each row which it is."""


class Curve(NamedTuple):
    """What came of the runs at each place: their mean, and the 5 % and 95 % percentiles."""

    x: NDArray[Any]
    mean: Floats
    p5: Floats
    p95: Floats


@dataclass(frozen=True, eq=False)
class _Coded:
    """A column of few values."""

    codes: NDArray[Any]
    """For each row the place of its value."""
    values: list[Any]
    """Each once; lists as tuples, None where there is none."""
    kind: "pa.DataType"

    def __getitem__(self, at: Any) -> "_Coded":
        return _Coded(self.codes[at], self.values, self.kind)

    def array(self) -> NDArray[Any]:
        """The value of each row; numbers that are missing are NaN."""
        values: NDArray[Any] = self._table()[self.codes]
        return values

    def where(self, value: Any) -> NDArray[np.bool_]:
        """In which rows it stands."""
        wanted = [place for place, known in enumerate(self.values) if known == value]
        return np.isin(self.codes, wanted)

    def used(self) -> list[Any]:
        """The values that stand in some row, in the order of their first."""
        first = np.full(len(self.values), len(self.codes))
        first[self.codes[::-1]] = np.arange(len(self.codes))[::-1]  # of equal places the last one stays
        return [self.values[place] for place in np.argsort(first, kind="stable") if first[place] < len(self.codes)]

    def arrow(self) -> "pa.Array":
        """As an array of Arrow; text as a dictionary."""
        pa = need("pyarrow", "rows of results")
        values = pa.array(self.values, self.kind)
        if pa.types.is_string(self.kind):
            return pa.DictionaryArray.from_arrays(self.codes.astype(np.int32), values)
        return values.take(pa.array(self.codes.astype(np.int64)))

    def _table(self) -> NDArray[Any]:
        pa = need("pyarrow", "rows of results")
        whole = None not in self.values
        if pa.types.is_floating(self.kind) or (pa.types.is_integer(self.kind) and not whole):
            return np.array([np.nan if value is None else value for value in self.values], dtype=np.float64)
        if whole and pa.types.is_integer(self.kind):
            return np.array(self.values, dtype=np.int64)
        if whole and pa.types.is_boolean(self.kind):
            return np.array(self.values, dtype=np.bool_)
        return np.fromiter(self.values, dtype=object, count=len(self.values))


class Rows:
    """Rows of results, each of which says where it comes from; `rows["regret"]` is a column.

    A selection of rows shares the columns of the whole, so that it is quick and small.

    >>> import matchbandit as mb
    >>> rows = mb.simulate(mb.Bipartite([.9, .3], [.8, .4]), "pair-elim", horizon=100, checkpoints=[10], runs=2).rows()
    >>> len(rows), rows.distinct("round"), rows.where(run=1).at_end()["round"].tolist()
    (4, [10, 100], [100])
    """

    def __init__(
        self, columns: Mapping[str, NDArray[Any] | _Coded], n: int, at: NDArray[np.int64] | None = None
    ) -> None:
        """Columns of n rows, and which of them are meant; use `Rows.of`."""
        self._columns = dict(columns)
        self._n = n
        self._at = at

    @classmethod
    def of(cls, table: "pa.Table") -> "Rows":
        """The rows of a table such as `rows_table` makes, or a file of rows holds."""
        columns = {
            name: table[name].to_numpy() if name in _PLAIN else _coded(table[name]) for name in table.column_names
        }
        return cls(columns, len(table))

    @classmethod
    def together(cls, parts: "Iterable[Rows]") -> "Rows":
        """The rows of all, one after the other; a column that some lack is empty there."""
        listed = list(parts)
        if not listed:
            raise MatchbanditError("there are no rows to put together; give at least one part.")
        names = _in_order(dict.fromkeys(name for part in listed for name in part.names))
        columns = {name: _joined(name, listed) for name in names}
        return cls(columns, sum(map(len, listed)))

    def __len__(self) -> int:
        """How many rows there are."""
        return self._n if self._at is None else len(self._at)

    def __repr__(self) -> str:
        """How many rows, and their columns."""
        return f"<Rows: {len(self)} rows of {', '.join(self.names)}>"

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [*self._columns]

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column as an array: text and lists as objects, numbers that are missing as NaN."""
        column = self._column(name)
        return column.array() if isinstance(column, _Coded) else column

    def where(self, **values: Any) -> "Rows":
        """The rows in which these columns have these values exactly: `rows.where(policy="uts", gap=0.5)`."""
        chosen = self
        for name, value in values.items():
            column = chosen._column(name)
            plain = _plain(value)
            fits = column.where(plain) if isinstance(column, _Coded) else column == plain
            chosen = chosen._only(fits)
        return chosen

    def at_end(self) -> "Rows":
        """Of a simulation the rows of each run's last round, which is the horizon; of an identification all."""
        if "regret" not in self._columns:
            return self
        return self._only(self["round"] == self["horizon"])

    def distinct(self, name: str) -> list[Any]:
        """The values of a column, each once, in the order of their first appearance; lists as tuples."""
        column = self._column(name)
        if isinstance(column, _Coded):
            return column.used()
        values, first = np.unique(column, return_index=True)
        return list(values[np.argsort(first, kind="stable")].tolist())

    def with_option(self, option: str) -> "Rows":
        """The rows with a column more: what this option of the policy is, None where it has no such option."""
        if option in self._columns:
            raise MatchbanditError(f"rows have a column {option!r} already, so that the option cannot be one.")
        told = self._columns["options"]
        if not isinstance(told, _Coded):
            raise unknown("column", "options", self.names)
        found = [json.loads(text).get(option) for text in told.values]
        if all(value is None for value in found):
            raise unknown("option", option, sorted({key for text in told.values for key in json.loads(text)}))
        numbers = all(isinstance(value, int | float | None) and not isinstance(value, bool) for value in found)
        pa = need("pyarrow", "rows of results")
        kind = pa.float64() if numbers else pa.array(found).type
        values = list(dict.fromkeys(map(_plain, found)))
        codes = np.array([values.index(_plain(value)) for value in found])
        added = _Coded(codes[told.codes], values, kind)
        return Rows({**self._columns, option: added}, self._n, self._at)

    def curve(self, x: str, *, y: str | None = None) -> Curve:
        """Mean and percentiles of a column at each value of another, in ascending order.

        `y` is the regret, or the rounds of an identification. Unless x is the round, the end of each run counts.
        """
        rows = self if x == "round" else self.at_end()
        heights = rows[y or ("regret" if "regret" in rows._columns else "rounds")].astype(np.float64)
        column = rows._column(x)
        if isinstance(column, _Coded):
            codes, values = column.codes, column.values
        else:
            known, codes = np.unique(column, return_inverse=True)
            values = known.tolist()
        sizes = np.bincount(codes, minlength=len(values))
        begin = np.concatenate([[0], np.cumsum(sizes)])
        heights = heights[np.argsort(codes, kind="stable")]
        places = [place for place in range(len(values)) if sizes[place] and values[place] is not None]
        places.sort(key=lambda place: values[place])
        groups = [heights[begin[place] : begin[place + 1]] for place in places]
        ends = np.array([np.percentile(group, [5, 95]) for group in groups]).reshape(-1, 2)
        at = [values[place] for place in places]
        return Curve(
            np.fromiter(at, dtype=object, count=len(at))
            if any(isinstance(v, str | tuple) for v in at)
            else np.array(at),
            np.array([group.mean() for group in groups]),
            ends[:, 0],
            ends[:, 1],
        )

    def to_frame(self, kind: Frame | None = None) -> Any:
        """A data frame of pandas or Polars, or a table of Arrow.

        Unless one is named it is the one of pandas and Polars that is imported already, else the one that is there.
        """
        kind = choose_frame(kind)
        if kind == "pandas":
            return make_frame({name: self[name] for name in self.names}, kind)
        table = self._arrow()
        if kind == "arrow":
            return table
        pl = frame_library("polars")
        texts = pl.selectors.by_dtype(pl.Categorical, pl.Enum)
        return pl.from_arrow(table).with_columns(texts.cast(pl.String))

    def _arrow(self) -> "pa.Table":
        pa = need("pyarrow", "rows of results")
        columns = {name: self._column(name) for name in self.names}
        return pa.table({name: c.arrow() if isinstance(c, _Coded) else c for name, c in columns.items()})

    def _column(self, name: str) -> NDArray[Any] | _Coded:
        if name not in self._columns:
            raise unknown("column", name, self.names)
        column = self._columns[name]
        return column if self._at is None else column[self._at]

    def _only(self, fits: NDArray[np.bool_]) -> "Rows":
        places = np.flatnonzero(fits)
        return Rows(self._columns, self._n, places if self._at is None else self._at[places])


def _plain(value: Any) -> Any:
    """A value as it is kept: plain numbers, lists as tuples."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _coded(column: "pa.ChunkedArray") -> _Coded:
    """A column of Arrow by the values that it has."""
    pa = need("pyarrow", "rows of results")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    parts: list[tuple[NDArray[Any], list[Any]]] = []
    for chunk in column.chunks:
        if pa.types.is_list(kind):
            lengths, lists = zip(*_stretches(chunk), strict=True) if len(chunk) else ((), ())
            parts.append((np.repeat(np.arange(len(lists)), lengths), [_plain(values) for values in lists]))
            continue
        part = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        known = part.dictionary.to_pylist() + [None] * (part.null_count > 0)
        codes = part.indices.fill_null(len(known) - 1) if part.null_count else part.indices
        parts.append((codes.to_numpy(), known))
    return _merged(parts, kind)


def _merged(parts: Sequence[tuple[NDArray[Any], list[Any]]], kind: "pa.DataType") -> _Coded:
    """Columns one after the other, each given by codes and values, as one in which each value is once."""
    places: dict[Any, int] = {}
    lookups = [[places.setdefault(value, len(places)) for value in values] for _, values in parts]
    merged = np.empty(sum(len(codes) for codes, _ in parts), dtype=np.min_scalar_type(len(places)))
    begin = 0
    for (codes, _), lookup in zip(parts, lookups, strict=True):
        merged[begin : begin + len(codes)] = lookup[0] if len(lookup) == 1 else np.array(lookup, merged.dtype)[codes]
        begin += len(codes)
    return _Coded(merged, [*places], kind)


def _stretches(chunk: "pa.Array") -> Iterator[tuple[int, Any]]:
    """How many rows follow each other with the same list, and the list; in files all have the same."""
    if len(chunk) < 2 or chunk.slice(1).equals(chunk.slice(0, len(chunk) - 1)):
        if len(chunk):
            yield len(chunk), chunk[0].as_py()
        return
    half = len(chunk) // 2
    yield from _stretches(chunk.slice(0, half))
    yield from _stretches(chunk.slice(half))


def _in_order(names: Iterable[str]) -> list[str]:
    """The columns as they follow each other: parameters of the problem stand in the middle."""
    given = [*names]
    parameters = [name for name in given if name not in (*HEAD, *TAIL)]
    return [name for name in (*HEAD, *parameters, *TAIL) if name in given]


def _joined(name: str, parts: Sequence[Rows]) -> NDArray[Any] | _Coded:
    """A column of all parts."""
    if name in _PLAIN:
        if any(name not in part._columns for part in parts):
            raise MatchbanditError(
                f"some rows have no {name}: those of simulations and of identifications do not go together."
            )
        return np.concatenate([part[name] for part in parts])
    columns = [part._column(name) if name in part._columns else None for part in parts]
    there = [column for column in columns if isinstance(column, _Coded)]
    kind = _common(name, [column.kind for column in there])
    nowhere: list[Any] = [None]
    return _merged(
        [
            (column.codes, column.values) if isinstance(column, _Coded) else (np.zeros(len(part), np.uint8), nowhere)
            for part, column in zip(parts, columns, strict=True)
        ],
        kind,
    )


def _common(name: str, kinds: "Sequence[pa.DataType]") -> "pa.DataType":
    """The type of a column of all parts; whole numbers become floats where others are."""
    pa = need("pyarrow", "rows of results")
    distinct = list(dict.fromkeys(kinds))
    if len(distinct) > 1 and all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in distinct):
        return pa.float64()
    if len(distinct) > 1:
        told = " and ".join(map(str, distinct))
        raise MatchbanditError(f"the column {name} is of different types, {told}; these rows do not go together.")
    return distinct[0]

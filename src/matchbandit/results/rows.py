"""Tidy rows of results as an Arrow table: what curves, claims and charts are computed from."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.extras import Frame, choose_frame, frame_library, make_frame, need
from matchbandit.results.tables import HEAD, TAIL
from matchbandit.rewards import Floats

if TYPE_CHECKING:
    import pyarrow as pa

_MEASURED = ("run", "regret", "rounds", "pairs", "identified", "correct")
"""Columns that differ from row to row; all others have few values and are dictionary-encoded."""


class Curve(NamedTuple):
    """Mean, 5 % and 95 % percentile of the runs at each value of x."""

    x: NDArray[Any]
    mean: Floats
    p5: Floats
    p95: Floats


class Rows:
    """A view on an Arrow table of results; `rows["regret"]` is a column as an array.

    >>> import matchbandit as mb
    >>> rows = mb.simulate(mb.Bipartite([.9, .3], [.8, .4]), "pair-elim", horizon=100, checkpoints=[10], runs=2).rows()
    >>> len(rows), rows.distinct("round"), rows.where(run=1).at_end()["round"].tolist()
    (4, [10, 100], [100])
    """

    def __init__(self, table: "pa.Table") -> None:
        """Wrap a table whose columns are encoded already; use `from_table` for others."""
        self._table = table

    @classmethod
    def from_table(cls, table: "pa.Table") -> "Rows":
        """Return the rows of a table.

        Parameters
        ----------
        table: pyarrow.Table
            As `rows_table` builds it, or as a file of rows holds it.
        """
        pa = need("pyarrow", "rows of results")
        return cls(pa.table({name: _encode(name, table[name]) for name in table.column_names}))

    @classmethod
    def together(cls, parts: "Iterable[Rows]") -> "Rows":
        """Concatenate rows; a column that some parts lack is null there.

        Parameters
        ----------
        parts: iterable of Rows
            At least one; not of simulations and identifications both.
        """
        pa = need("pyarrow", "rows of results")
        parts = list(parts)
        if not parts:
            raise MatchbanditError("there are no rows to put together; give at least one part.")
        names = dict.fromkeys(name for part in parts for name in part.names)
        parameters = [name for name in names if name not in (*HEAD, *TAIL)]
        ordered = [name for name in (*HEAD, *parameters, *TAIL) if name in names]
        return cls(pa.table({name: _concatenate(name, parts) for name in ordered}))

    def __len__(self) -> int:
        """Count the rows."""
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        """Show the number of rows, and the columns."""
        return f"<Rows: {len(self)} rows of {', '.join(self.names)}>"

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._table.column_names)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column as an array: text and lists (as tuples) as objects, missing numbers as NaN."""
        if not self._is_encoded(name):
            measured: NDArray[Any] = self._table[name].to_numpy()
            return measured
        values = self._encoded(name).dictionary.to_numpy(zero_copy_only=False)
        if values.dtype == object:
            distinct = self._values(name)
            values = np.fromiter(distinct, dtype=object, count=len(distinct))
        decoded: NDArray[Any] = values[self._codes(name)]
        return decoded

    def where(self, **values: Any) -> "Rows":
        """Select the rows in which columns have these values exactly.

        Parameters
        ----------
        **values
            A value for each column: `rows.where(policy="uts", gap=0.5)`; None selects nulls.
        """
        selection = np.ones(len(self), dtype=np.bool_)
        for name, value in values.items():
            wanted = _hashable(value)
            if not self._is_encoded(name):
                selection &= self[name] == wanted
            elif wanted in (known := self._values(name)):
                selection &= self._codes(name) == known.index(wanted)
            else:
                selection[:] = False
        return self._select(selection)

    def at_end(self) -> "Rows":
        """Select the last row of each run of a simulation, at the horizon; of an identification all rows."""
        if "regret" not in self.names:
            return self
        return self._select(self["round"] == self["horizon"])

    def distinct(self, name: str) -> list[Any]:
        """Return the values of a column, each once, in the order of their first appearance.

        Parameters
        ----------
        name: str
            The column; of lists the values are tuples, of nulls None.
        """
        if not self._is_encoded(name):
            return list(self._table[name].unique().to_pylist())
        values = self._values(name)
        return [values[code] for code in self._encoded(name).indices.unique().to_pylist()]

    def with_option(self, option: str) -> "Rows":
        """Return the rows with an option of the policy as a further column, null for policies without it.

        Parameters
        ----------
        option: str
            The name of the option, and of the new column.
        """
        if option in self.names:
            raise MatchbanditError(f"rows have a column {option!r} already, so that the option cannot be one.")
        pa = need("pyarrow", "rows of results")
        tables = [json.loads(text) for text in self._values("options")]
        values = [options.get(option) for options in tables]
        if all(value is None for value in values):
            raise unknown("option", option, sorted({key for options in tables for key in options}))
        is_number = all(isinstance(value, int | float | None) and not isinstance(value, bool) for value in values)
        kind = pa.float64() if is_number else pa.array(values).type
        column = _dictionary([(self._codes("options"), [_hashable(value) for value in values])], kind)
        return Rows(self._table.append_column(option, column))

    def curve(self, x: str, *, y: str | None = None) -> Curve:
        """Compute mean and percentiles of a column at each value of another.

        Parameters
        ----------
        x: str
            The column to group by. Unless it is "round", only the last row of each run counts.
        y: str, optional
            The column to average; by default the regret, or the rounds of an identification.

        Returns
        -------
        Curve
            In ascending order of x, without rows in which x is null.
        """
        rows = self if x == "round" else self.at_end()
        heights = rows[y or ("regret" if "regret" in rows.names else "rounds")].astype(np.float64)
        if rows._is_encoded(x):
            values, codes = rows._values(x), rows._codes(x)
        else:
            distinct, codes = np.unique(rows[x], return_inverse=True)
            values = distinct.tolist()
        sizes = np.bincount(codes, minlength=len(values))
        groups = np.split(heights[np.argsort(codes, kind="stable")], np.cumsum(sizes)[:-1])
        used = [at for at, value in enumerate(values) if sizes[at] and value is not None]
        used.sort(key=lambda at: values[at])
        x_values = [values[at] for at in used]
        is_object = any(isinstance(value, str | tuple) for value in x_values)
        percentiles = np.array([np.percentile(groups[at], [5, 95]) for at in used]).reshape(-1, 2)
        return Curve(
            np.fromiter(x_values, dtype=object, count=len(x_values)) if is_object else np.array(x_values),
            np.array([groups[at].mean() for at in used]),
            percentiles[:, 0],
            percentiles[:, 1],
        )

    def to_frame(self, kind: Frame | None = None) -> Any:
        """Return a data frame of pandas or Polars, or a table of Arrow.

        Parameters
        ----------
        kind: {"pandas", "polars", "arrow"}, optional
            By default pandas or Polars, whichever is imported already, else whichever is installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
        """
        kind = choose_frame(kind)
        if kind == "pandas":
            return make_frame({name: self[name] for name in self.names}, kind)
        pa = need("pyarrow", "rows of results")
        columns = {name: self._table[name] for name in self.names}
        for name in filter(self._is_encoded, self.names):
            encoded = self._encoded(name)
            is_text = pa.types.is_string(encoded.type.value_type)
            if not is_text or encoded.dictionary.null_count:
                decoded = encoded.dictionary_decode()
                columns[name] = decoded.dictionary_encode() if is_text else decoded
        table = pa.table(columns)
        if kind == "arrow":
            return table
        pl = frame_library("polars")
        texts = pl.selectors.by_dtype(pl.Categorical, pl.Enum)
        return pl.from_arrow(table).with_columns(texts.cast(pl.String))

    def _is_encoded(self, name: str) -> bool:
        if name not in self.names:
            raise unknown("column", name, self.names)
        return bool(need("pyarrow", "rows of results").types.is_dictionary(self._table.schema.field(name).type))

    def _encoded(self, name: str) -> "pa.DictionaryArray":
        column = self._table[name]
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    def _codes(self, name: str) -> NDArray[Any]:
        """For each row the position of its value in `_values`."""
        codes: NDArray[Any] = self._encoded(name).indices.to_numpy()
        return codes

    def _values(self, name: str) -> list[Any]:
        """The distinct values of an encoded column, None for null; a selection of rows may not use all of them."""
        return [_hashable(value) for value in self._encoded(name).dictionary.to_pylist()]

    def _select(self, selection: NDArray[np.bool_]) -> "Rows":
        return Rows(self._table.filter(need("pyarrow", "rows of results").array(selection)))


def _hashable(value: Any) -> Any:
    """Plain numbers, and lists as tuples."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def _encode(name: str, column: "pa.ChunkedArray") -> "pa.ChunkedArray | pa.DictionaryArray":
    """A column of few values as one dictionary array; Arrow does not encode lists, nor merges dictionaries of them."""
    pa = need("pyarrow", "rows of results")
    if name in _MEASURED:
        return column
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    parts: list[tuple[NDArray[Any], list[Any]]] = []
    for chunk in column.chunks:
        if pa.types.is_list(kind):
            parts += [(np.zeros(n, np.uint8), [_hashable(values)]) for n, values in _stretches(chunk)]
            continue
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        values = encoded.dictionary.to_pylist() + [None] * (encoded.null_count > 0)
        parts.append((encoded.indices.fill_null(len(values) - 1).to_numpy(), values))
    return _dictionary(parts, kind)


def _stretches(chunk: "pa.Array") -> Iterator[tuple[int, Any]]:
    """The lengths of stretches of rows with the same list, and the list; in files it is the same throughout."""
    if len(chunk) < 2 or chunk.slice(1).equals(chunk.slice(0, len(chunk) - 1)):
        if len(chunk):
            yield len(chunk), chunk[0].as_py()
        return
    half = len(chunk) // 2
    yield from _stretches(chunk.slice(0, half))
    yield from _stretches(chunk.slice(half))


def _dictionary(parts: Sequence[tuple[NDArray[Any], list[Any]]], kind: "pa.DataType") -> "pa.DictionaryArray":
    """Concatenate columns given by codes and values; each value is once in the dictionary, null among them."""
    pa = need("pyarrow", "rows of results")
    codes_by_value: dict[Any, int] = {}
    lookups = [[codes_by_value.setdefault(value, len(codes_by_value)) for value in values] for _, values in parts]
    merged = np.empty(sum(len(codes) for codes, _ in parts), dtype=np.min_scalar_type(len(codes_by_value)))
    begin = 0
    for (codes, _), lookup in zip(parts, lookups, strict=True):
        merged[begin : begin + len(codes)] = lookup[0] if len(lookup) == 1 else np.array(lookup, merged.dtype)[codes]
        begin += len(codes)
    return pa.DictionaryArray.from_arrays(merged, pa.array([*codes_by_value], kind))


def _concatenate(name: str, parts: Sequence[Rows]) -> "pa.ChunkedArray | pa.DictionaryArray":
    """A column of all parts."""
    pa = need("pyarrow", "rows of results")
    if name in _MEASURED:
        if any(name not in part.names for part in parts):
            raise MatchbanditError(
                f"some rows have no {name}: those of simulations and of identifications do not go together."
            )
        return pa.chunked_array([chunk for part in parts for chunk in part._table[name].chunks]).combine_chunks()
    kinds = {part._encoded(name).type.value_type: None for part in parts if name in part.names}
    if len(kinds) > 1 and not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        raise MatchbanditError(
            f"the column {name} is of different types, {' and '.join(map(str, kinds))}; these rows do not go together."
        )
    return _dictionary(
        [
            (part._codes(name), part._values(name)) if name in part.names else (np.zeros(len(part), np.uint8), [None])
            for part in parts
        ],
        next(iter(kinds)) if len(kinds) == 1 else pa.float64(),
    )

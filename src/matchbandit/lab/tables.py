"""Tables of runs, one row per run: from results to Arrow tables and back, and the arrays that claims and charts read.

This is the only module of the lab that knows how results are stored.
"""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.errors import unknown
from matchbandit.extras import Frame, choose_frame, make_frame, need
from matchbandit.results import Identification, RunInfo, Runs, summarize
from matchbandit.results.comparison import task_of
from matchbandit.results.tables import details_table, eliminations_from, plays_from, splits_from, sums_from

if TYPE_CHECKING:
    import pyarrow as pa

ANSWERED = ("rounds", "pairs", "identified", "correct")
"""Columns of identifications; in those of simulations `rounds` and `regrets` are lists over the checkpoints."""
RESERVED = (
    *("study", "label", "point", "problem", "task", "seed", "run", "regret", "regrets", *ANSWERED),
    *("ended", "plays", "edges", "times", "sums", "splits", "eliminations", "answers"),
)
"""Names that parameters of a family cannot have."""


class Curve(NamedTuple):
    """Statistics of the runs at each value of x, in ascending order."""

    x: NDArray[Any]
    mean: NDArray[np.float64]
    se: NDArray[np.float64]
    """The standard error of the mean; NaN for a single run."""
    p5: NDArray[np.float64]
    p95: NDArray[np.float64]
    runs: NDArray[np.int64]


class RunTable:
    """Rows of runs as one array per column.

    >>> table = RunTable({"policy": ["uts", "uts", "cucb"], "run": [0, 1, 0], "regret": [2.0, 4.0, 9.0]})
    >>> len(table), table.distinct("policy"), table.where(policy="uts").curve("policy").mean.tolist()
    (3, ['uts', 'cucb'], [3.0])
    """

    def __init__(self, columns: Mapping[str, ArrayLike]) -> None:
        """Take columns of equal length: numbers, texts, or sequences such as the checkpoints of each run."""
        self._columns = {name: _column(values) for name, values in columns.items()}
        self._codes: dict[str, tuple[list[Any], NDArray[np.intp]]] = {}

    @classmethod
    def from_arrow(cls, table: "pa.Table") -> "RunTable":
        """Read an Arrow table; lists become arrays."""
        return cls({name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names})

    @classmethod
    def concat(cls, tables: "Iterable[RunTable]") -> "RunTable":
        """Put rows of several tables together; a column that some lack is None or NaN there."""
        tables = list(tables)
        columns: dict[str, Any] = {}
        for name in dict.fromkeys(name for table in tables for name in table.names):
            parts: list[Any] = [table._columns.get(name) for table in tables]
            if all(part is not None and part.dtype.kind in "iuf" for part in parts):
                columns[name] = np.concatenate(parts)
            else:
                lists = [
                    [None] * len(table) if part is None else part.tolist()
                    for part, table in zip(parts, tables, strict=True)
                ]
                columns[name] = [value for values in lists for value in values]
        return cls(columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        """Count the rows."""
        return len(next(iter(self._columns.values()), ()))

    def __repr__(self) -> str:
        """Show the number of rows and the columns."""
        return f"<RunTable: {len(self)} rows of {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook."""
        rows = [self.names, *zip(*(self[name][:5].tolist() for name in self.names), strict=True)]
        lines = ("".join(f"<td>{escape(str(value)[:30])}</td>" for value in row) for row in rows)
        return f"<p>{len(self)} rows</p><table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"

    def __contains__(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self._columns

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column."""
        if name not in self._columns:
            raise unknown("column", name, self.names)
        return self._columns[name]

    def with_columns(self, columns: Mapping[str, ArrayLike]) -> "RunTable":
        """Add or replace columns; a single value is repeated."""
        new: dict[str, Any] = {
            name: [value] * len(self) if np.ndim(value) == 0 else value for name, value in columns.items()
        }
        return RunTable({**self._columns, **new})

    def select(self, rows: NDArray[Any]) -> "RunTable":
        """Select rows by a mask or by their numbers."""
        return RunTable({name: values[rows] for name, values in self._columns.items()})

    def where(self, values: Mapping[str, Any] | None = None, **more: Any) -> "RunTable":
        """Select the rows in which columns have these values exactly: `table.where({"uts.gamma": 2}, gap=0.5)`."""
        chosen = np.ones(len(self), dtype=np.bool_)
        for name, value in {**(values or {}), **more}.items():
            known, codes = self._encoded(name)
            chosen &= codes == (known.index(value) if value in known else -1)
        return self.select(chosen)

    def distinct(self, name: str) -> list[Any]:
        """Return the values of a column, each once, in the order of their first appearance."""
        return list(self._encoded(name)[0])

    def split(self, *names: str) -> "Iterator[tuple[dict[str, Any], RunTable]]":
        """Split the rows by the values of columns; each part with these values, in the order of first appearance."""
        parts = [self._encoded(name) for name in names]
        keys = np.stack([codes for _, codes in parts], axis=1) if parts else np.zeros((len(self), 0), dtype=np.intp)
        _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(inverse.ravel(), kind="stable")
        rows = np.split(order, np.cumsum(np.bincount(inverse.ravel()))[:-1]) if len(self) else []
        for at in np.argsort(first, kind="stable"):
            values = {
                name: known[keys[first[at], k]] for k, (name, (known, _)) in enumerate(zip(names, parts, strict=True))
            }
            yield values, self.select(rows[at])

    def curve(self, x: str, y: str = "regret") -> Curve:
        """Compute mean, standard error and percentiles of a column at each value of another; without missing x."""
        known, codes = self._encoded(x)
        heights = np.asarray(self[y], dtype=np.float64)
        places = sorted((value, code) for code, value in enumerate(known) if value is not None)
        summaries = [summarize(heights[codes == code]) for _, code in places]
        errors = [np.nan if summary.se is None else summary.se for summary in summaries]
        mean, p5, p95 = (np.array([getattr(summary, part) for summary in summaries]) for part in ("mean", "p5", "p95"))
        runs = np.array([np.count_nonzero(codes == code) for _, code in places])
        return Curve(_column([value for value, _ in places]), mean, np.array(errors), p5, p95, runs)

    def over_rounds(self) -> "RunTable":
        """Return one row per run and checkpoint, with the `round` and the `regret` until then."""
        rows = self.select(np.repeat(np.arange(len(self)), [len(rounds) for rounds in self["rounds"]]))
        columns = {name: values for name, values in rows._columns.items() if name not in ("rounds", "regrets")}
        lists = {"round": self["rounds"], "regret": self["regrets"]}
        return RunTable(columns | {name: np.concatenate([*values, []]) for name, values in lists.items()})

    def to_frame(self, kind: Frame | None = None) -> Any:
        """Return the rows as a data frame of pandas or Polars, or as an Arrow table; as in `Runs.to_frame`."""
        columns = {
            name: values if values.dtype != object else values.tolist() for name, values in self._columns.items()
        }
        return make_frame(columns, choose_frame(kind))

    def _encoded(self, name: str) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the distinct values of a column and, for each row, the position of its value; NaN is None."""
        if name not in self._codes:
            values = self[name].tolist()
            places: dict[Any, int] = {}
            codes = [places.setdefault(_hashable(value), len(places)) for value in values]
            self._codes[name] = list(places), np.array(codes, dtype=np.intp)
        return self._codes[name]


def part_table(settings: Mapping[str, Any], result: Runs | Identification) -> "pa.Table":
    """Return one row per run: settings that are no lists as constant columns, what was measured, and its details."""
    pa = need("pyarrow", "keeping results")
    n = len(result)
    columns: dict[str, Any] = {
        name: pa.array([value] * n) for name, value in settings.items() if isinstance(value, bool | int | float | str)
    }
    columns["task"] = pa.array([task_of(result)] * n)
    columns["run"] = pa.array(result.run_numbers, pa.int64())
    if isinstance(result, Runs):
        rounds = pa.array([result.rounds] * n, pa.list_(pa.int64()))
        columns |= {"regret": result.final, "rounds": rounds, "regrets": pa.array(list(result.regret))}
    else:
        columns |= {name: getattr(result, name) for name in ANSWERED}
    details = details_table(result)
    return pa.table(columns | {name: details[name] for name in details.column_names if name != "run"})


def result_of(table: "pa.Table", about: Mapping[str, Any]) -> Runs | Identification:
    """Return the result that `part_table` was made of; `about` is its description."""
    info = RunInfo.from_dict(about)
    if "regrets" in table.column_names:
        rounds = np.array(table["rounds"][0].as_py(), dtype=np.int64)
        regret = np.array(table["regrets"].to_pylist(), dtype=np.float64)
        events = splits_from(table), eliminations_from(table)
        return Runs(
            info, rounds, regret, plays_from(table), sums_from(table), table["ended"].to_numpy().copy(), *events
        )
    parts = {name: table[name].to_numpy().copy() for name in ANSWERED}
    return Identification(about=info, answers=np.array(table["answers"].to_pylist(), dtype=np.int64), **parts)


def _column(values: Any) -> NDArray[Any]:
    """Return values as an array: numbers as numbers, None among them as NaN, all else as objects."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biufO":
        return values
    values = list(values)
    kinds = {type(value) for value in values} - {type(None)}
    has_numbers = kinds and kinds <= {int, float, np.int64, np.float64}
    if has_numbers or (kinds and kinds <= {bool, np.bool_} and None not in values):
        return np.array([np.nan if value is None else value for value in values])
    column = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):  # all at once, lists of one length would become a matrix
        column[at] = value
    return column


def _hashable(value: Any) -> Any:
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(map(_hashable, value))
    return None if isinstance(value, float) and isnan(value) else value

"""Results as tables: tidy rows for everyone, the details of each run beside them, and both as Parquet."""

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.policies.explanation import Elimination
from matchbandit.problems.families import function_of
from matchbandit.results.about import RunInfo
from matchbandit.results.identification import Identification
from matchbandit.results.runs import PlayedEdges, Runs, Split
from matchbandit.rewards import Floats, rewards_from
from matchbandit.user_code import is_user_defined, module_of

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Of the files; those of versions 0.1 to 0.5 do not say theirs."""
HEAD = ("study", "policy", "options", "family")
"""The columns before the parameters of the problem."""
TAIL = (
    "rewards", "horizon", "delta", "run", "seed", "round", "regret", "rounds", "pairs", "identified", "correct",
)  # fmt: skip
"""The columns after them, as far as a result has them."""
TEXTS = ("study", "policy", "options", "family", "rewards")
MOST_LISTED = 256
"""Numbers of `u`, `v` or `means` in a row; where a problem has more, the column is null: they would be in every row."""
_KEY = b"matchbandit"
_CHUNK = 2**14
"""Rows of a constant that are built; longer columns repeat them without a copy."""
_MOST_NUMBERS = 2**30
"""In one array of lists: Arrow counts them in 32 bits."""


def rows_table(
    result: Runs | Identification, *, study: str | None = None, columns: "Mapping[str, pa.DataType] | None" = None
) -> "pa.Table":
    """Tidy rows: one for each run and checkpoint of a simulation, one for each run of an identification.

    `columns` are the parameters of all problems of a study, with their types: those that this problem lacks are null.
    """
    pa = need("pyarrow", "a table of results")
    about, numbers = result.about, np.array(result.run_numbers, dtype=np.int64)
    simulated = isinstance(result, Runs)
    each = len(result.rounds) if simulated else 1
    n = len(numbers) * each
    types = {**(columns or {}), **parameter_types(about.problem), **(columns or {})}
    values = parameters_of(about.problem)
    options = {key: value for key, value in about.options.items() if simulated or key != "delta"}
    constants = {
        "study": (study or ("simulate" if simulated else "identify"), pa.string()),
        "policy": (about.policy, pa.string()),
        "options": (options_text(options), pa.string()),
        "family": (about.problem.get("family", ""), pa.string()),
        **{name: (_listable(values.get(name)), types[name]) for name in types},
        "rewards": (rewards_text(about.problem.get("rewards", {})), pa.string()),
    }
    made = {name: _constant(name, value, kind, n) for name, (value, kind) in constants.items()}
    if isinstance(result, Runs):
        made["horizon"] = _constant("horizon", about.horizon or int(result.rounds[-1]), pa.int64(), n)
    else:
        made["delta"] = _constant("delta", about.options.get("delta"), pa.float64(), n)
    made["run"] = np.repeat(numbers, each)
    made["seed"] = _constant("seed", about.seed if about.seed < 2**63 else None, pa.int64(), n)
    if isinstance(result, Runs):
        made |= {"round": np.tile(result.rounds, len(numbers)), "regret": np.ravel(result.regret)}
    else:
        made |= {part: getattr(result, part) for part in ("rounds", "pairs", "identified", "correct")}
    return pa.table(made)


def details_table(result: Runs | Identification) -> "pa.Table":
    """What does not fit into tidy rows: for each run its plays, splits and eliminations, or its answer."""
    pa = need("pyarrow", "a table of results")
    run = np.array(result.run_numbers, dtype=np.int64)
    if isinstance(result, Identification):
        n, each, _ = result.answers.shape
        pairs = _lists(result.answers.reshape(n * each, 2))
        return pa.table({"run": run, "answers": pa.ListArray.from_arrays(_offsets(n, each), pairs)})
    if isinstance(result.counted, list):
        lists = {"edges": [edges for edges, _ in result.counted], "times": [times for _, times in result.counted]}
        plays = {name: pa.array(arrays, pa.list_(pa.int64())) for name, arrays in lists.items()}
    else:
        plays = {"plays": _rows_as_lists(result.counted)}
    if isinstance(result.reward_sums, list):
        plays["sums"] = pa.array(result.reward_sums, pa.list_(pa.float64()))
    elif result.reward_sums is not None:
        plays["sums"] = _rows_as_lists(result.reward_sums)
    texts = {
        "splits": [json.dumps(splits) for splits in result.splits],
        "eliminations": [json.dumps([gone.describe() for gone in run]) for run in result.eliminations],
    }
    return pa.table({"run": run, "ended": result.ended, **plays, **texts})


def metadata_of(result: Runs | Identification) -> dict[str, Any]:
    """What a file says besides its table, so that the result can be read back."""
    rounds = {"rounds": result.rounds.tolist()} if isinstance(result, Runs) else {}
    return {"format": FORMAT, "about": result.about.describe(), **rounds}


def options_text(options: Mapping[str, Any]) -> str:
    """A policy's options as they stand in the column: JSON, sorted by name.

    >>> options_text({"growth": 1.05, "delta": None})
    '{"delta": null, "growth": 1.05}'
    """
    return json.dumps(dict(options), sort_keys=True, ensure_ascii=False)


def parameters_of(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a problem or a family, given what its `describe()` gave, by the names of their columns.

    >>> from matchbandit.problems import Means, family
    >>> parameters_of(family("staircase", n=2, gap=0.1).describe())
    {'n': 2, 'gap': 0.1}
    >>> parameters_of(Means([[0.9, 0.1]]).describe())
    {'means': [[0.9, 0.1]], 'players': False}
    """
    if "family" in problem:
        parameters: dict[str, Any] = problem["parameters"]
        taken = [name for name in parameters if name in (*HEAD, *TAIL)]
        if taken:
            raise MatchbanditError(
                f"the family {problem['family']} has a parameter {taken[0]!r}, and rows have a column of that name "
                f"already. Rename the parameter."
            )
        return dict(parameters)
    names = {"u": "u", "v": "v", "matrix": "means", "players": "players"}
    return {column: problem[name] for name, column in names.items() if name in problem}


def parameter_types(problem: Mapping[str, Any]) -> "dict[str, pa.DataType]":
    """The type of each parameter's column: of a family's as its function is annotated, never as the value is.

    `int` is int64, `bool` and `str` are what they are, lists are lists of such; all else is a double.
    """
    pa = need("pyarrow", "a table of results")
    values = parameters_of(problem)
    if "family" not in problem:
        lists = pa.list_(pa.float64())
        kinds = {"u": lists, "v": lists, "means": pa.list_(lists), "players": pa.bool_()}
        return {name: kinds[name] for name in values}
    hints = _annotations(problem["family"])
    return {name: _type_of(hints.get(name), value) for name, value in values.items()}


def _annotations(family: str) -> dict[str, Any]:
    """What a family's function says of its parameters; nothing, if it is one of the user's that is not there now."""
    if is_user_defined(family) and module_of(family) not in sys.modules:  # a file must not decide what is imported
        return {}
    try:
        return get_type_hints(function_of(family))
    except (MatchbanditError, NameError, TypeError):
        return {}


def _type_of(hint: Any, value: Any) -> "pa.DataType":
    """The type of a column; where a function does not say, the value tells a text or a list from a number."""
    pa = need("pyarrow", "a table of results")
    if get_origin(hint) in (Union, UnionType):
        (hint, *others) = [kind for kind in get_args(hint) if kind is not NoneType]
        hint = None if others else hint
    plain = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    if hint in plain:
        return plain[hint]
    if get_origin(hint) in (list, tuple, Sequence) or isinstance(value, list | tuple):
        inner = next(iter(get_args(hint)), None)
        return pa.list_(_type_of(inner, value[0] if value else 0.0))
    return plain[type(value)] if isinstance(value, bool | str) else pa.float64()


def rewards_text(described: Mapping[str, Any]) -> str:
    """A reward distribution as it is typed, given what its `describe()` gave; nothing for nothing."""
    return rewards_from(dict(described)).typed if described else ""


def _listable(value: Any) -> Any:
    """The value, unless it is a list so long that it cannot stand in every row."""
    return None if isinstance(value, list | tuple) and np.size(value) > MOST_LISTED else value


def _constant(name: str, value: Any, kind: "pa.DataType", n: int) -> "pa.ChunkedArray":
    """A column that says the same in every row; its chunks are one and the same, so that it takes no memory."""
    pa = need("pyarrow", "a table of results")
    rows = min(n, _CHUNK)
    try:
        one = pa.array([value], kind)
        fits = not pa.types.is_integer(kind) or one[0].as_py() == value  # Arrow makes 2 of 2.5
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        fits = False
    if not fits:
        raise MatchbanditError(f"{name} = {value!r} does not fit a column of the type {kind}.")
    if pa.types.is_string(kind):
        chunk = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), one)
    else:
        chunk = one.take(pa.array(np.zeros(rows, dtype=np.int64)))
    rest = [chunk.slice(0, n % _CHUNK)] if n % _CHUNK else []
    return pa.chunked_array([chunk] * (n // _CHUNK) + rest, chunk.type)


def _offsets(n: int, width: int) -> NDArray[np.int32]:
    return np.arange(0, (n + 1) * width, width, dtype=np.int32) if width else np.zeros(n + 1, dtype=np.int32)


def _lists(numbers: NDArray[Any]) -> "pa.ListArray":
    """The rows of a matrix as lists."""
    pa = need("pyarrow", "a table of results")
    return pa.ListArray.from_arrays(_offsets(*numbers.shape), pa.array(numbers.ravel()))


def _rows_as_lists(numbers: NDArray[Any]) -> "pa.ChunkedArray":
    """The rows of a matrix of any size as lists, in as many chunks as they need."""
    pa = need("pyarrow", "a table of results")
    step = max(1, _MOST_NUMBERS // max(1, numbers.shape[1]))
    pieces = [_lists(numbers[at : at + step]) for at in range(0, len(numbers), step)]
    return pa.chunked_array(pieces, pa.list_(pa.from_numpy_dtype(numbers.dtype)))


def encoded(table: "pa.Table", metadata: Mapping[str, Any]) -> bytes:
    """The table as a Parquet file in memory, with zstd and a checksum for each page; `metadata` is plain data."""
    pq = need("pyarrow.parquet", "keeping results")
    buffer = io.BytesIO()
    told = json.dumps({"format": FORMAT, **metadata})
    # Text is read back by everyone as text, not as categories: the file does not keep Arrow's own schema.
    settings = {"compression": "zstd", "write_page_checksum": True, "store_schema": False}
    leaves = _leaves(table.schema)
    repeated = [name for name in leaves if name.partition(".")[0] not in ("regret", "rounds", "plays", "sums")]
    sought = [name for name in leaves if name not in ("splits", "eliminations")]  # long texts would be there twice more
    with pq.ParquetWriter(buffer, table.schema, use_dictionary=repeated, write_statistics=sought, **settings) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY.decode(): told})
    return buffer.getvalue()


def _leaves(schema: "pa.Schema") -> list[str]:
    """The columns as Parquet calls them: lists have their numbers below."""
    pa = need("pyarrow", "keeping results")
    names = []
    for part in schema:
        name, kind = part.name, part.type
        while pa.types.is_list(kind):
            name, kind = f"{name}.list.element", kind.value_type
        names.append(name)
    return names


def decoded(data: bytes | Path, *, writer: str = "matchbandit") -> "tuple[pa.Table, dict[str, Any]]":
    """The table and the metadata of a Parquet file that `writer` wrote, checked page by page.

    What is cut off, damaged or foreign is refused by name.
    """
    pa, pq = need("pyarrow", "reading results"), need("pyarrow.parquet", "reading results")
    name = repr(os.fspath(data)) if isinstance(data, Path) else "the file"
    hint = f"Give a file that {writer} (--save) has written."
    _refuse_no_parquet(data, name, hint)
    source = os.fspath(data) if isinstance(data, Path) else pa.BufferReader(data)
    try:
        with pq.ParquetFile(source, page_checksum_verification=True) as opened:
            footer, names = opened.metadata, opened.schema_arrow.names
        texts = [text for text in TEXTS if text in names]
        source = os.fspath(data) if isinstance(data, Path) else pa.BufferReader(data)
        with pq.ParquetFile(source, metadata=footer, read_dictionary=texts, page_checksum_verification=True) as opened:
            table = opened.read()
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError):
        raise MatchbanditError(f"{name} is damaged: it cannot be decoded. Make or copy it again.") from None
    try:
        metadata = json.loads((footer.metadata or {})[_KEY])
        version = metadata.get("format", 1)
    except (KeyError, ValueError, AttributeError):
        raise MatchbanditError(f"{name} was not written by {writer}. {hint}") from None
    if version not in (1, FORMAT):
        raise MatchbanditError(f"{name} has the format {version!r} of a later version of matchbandit. Use that one.")
    return table, metadata


def _refuse_no_parquet(data: bytes | Path, name: str, hint: str) -> None:
    """Say what a file is, if it is no whole Parquet file: those begin and end with the same four bytes."""
    head, tail = (data[:4], data[-4:]) if isinstance(data, bytes) else _ends(data, name, hint)
    if not head:
        raise MatchbanditError(f"{name} is empty. {hint}")
    if head != b"PAR1":
        raise MatchbanditError(f"{name} is not a Parquet file. {hint}")
    if tail != b"PAR1":
        raise MatchbanditError(f"{name} is cut off: its end is missing. Make or copy it again.")


def _ends(path: Path, name: str, hint: str) -> tuple[bytes, bytes]:
    """The first and the last four bytes of a file."""
    try:
        if not os.path.exists(path):
            raise MatchbanditError(f"there is no file {name}.")
        if not os.path.isfile(path):
            raise MatchbanditError(f"{name} is {'a folder' if os.path.isdir(path) else 'no file'}. {hint}")
        with open(path, "rb") as file:
            head = file.read(4)
            file.seek(-min(4, os.path.getsize(path)), os.SEEK_END)
            return head, file.read(4)
    except OSError as error:
        raise MatchbanditError(f"{name} cannot be read: {error.strerror or error}.") from None


def result_from(rows: "pa.Table", details: "pa.Table", metadata: Mapping[str, Any]) -> Runs | Identification:
    """The result again, from its two tables and what its file says besides."""
    simulated = "regret" in rows.column_names
    for table, needed in (
        (rows, ("run", "round", "regret") if simulated else ("run", "rounds", "pairs", "identified", "correct")),
        (details, ("run", "ended", "splits", "eliminations") if simulated else ("run", "answers")),
    ):
        lacking = [name for name in needed if name not in table.column_names]
        if lacking:
            raise MatchbanditError(f"the column {lacking[0]} is missing.")
    for key in ("about", "rounds") if simulated else ("about",):
        if key not in metadata:
            raise MatchbanditError(f"{key!r} is missing from what the file says of its table.")
    about, numbers = RunInfo.from_dict(metadata["about"]), _numbers(details, "run")
    rounds = np.array(metadata["rounds"] if simulated else [0], dtype=np.int64)
    each = len(rounds)
    if not np.array_equal(_numbers(rows, "run"), np.repeat(numbers, each)):
        raise MatchbanditError("the rows and the details are not of the same runs.")
    if simulated:
        if not np.array_equal(_numbers(rows, "round"), np.tile(rounds, len(numbers))):
            raise MatchbanditError("the rows are not those of the checkpoints.")
        regret = _numbers(rows, "regret").reshape(len(numbers), each)
        ended = _numbers(details, "ended")
        events = splits_in(details), eliminations_in(details)
        return Runs(about, rounds, regret, plays_in(details), ended, *events, sums_in(details))
    answers = _flat(details["answers"], 2).reshape(len(numbers), -1, 2)
    parts = {part: _numbers(rows, part) for part in ("rounds", "pairs", "identified", "correct")}
    return Identification(about=about, answers=answers, **parts)


def plays_in(details: "pa.Table") -> "NDArray[np.int64] | PlayedEdges":
    """A count for each pair; of large graphs, the pairs that were played and how often."""
    if "plays" in details.column_names:
        return _flat(details["plays"], 1).reshape(len(details), -1)
    columns = zip(details["edges"], details["times"], strict=True)
    return [(edges.values.to_numpy().copy(), times.values.to_numpy().copy()) for edges, times in columns]


def sums_in(details: "pa.Table") -> "Floats | list[Floats] | None":
    """The sums of the rewards in the places of `plays_in`; None in files of versions before 0.8."""
    if "sums" not in details.column_names:
        return None
    if "plays" in details.column_names:
        return _flat(details["sums"], 1).reshape(len(details), -1)
    return [sums.values.to_numpy().copy() for sums in details["sums"]]


def splits_in(details: "pa.Table") -> list[list[Split]]:
    """For each run after which rounds clusters split, and the clusters from then on."""
    return [[(at, groups) for at, groups in json.loads(run)] for run in details["splits"].to_pylist()]


def eliminations_in(details: "pa.Table") -> list[list[Elimination]]:
    """For each run who left when."""
    return [[_elimination(gone) for gone in json.loads(run)] for run in details["eliminations"].to_pylist()]


def _elimination(described: dict[str, Any]) -> Elimination:
    intervals = {key: tuple(described[key]) for key in ("interval", "by_interval")}
    return Elimination(**{**described, **intervals})


def _numbers(table: "pa.Table", name: str) -> NDArray[Any]:
    numbers: NDArray[Any] = table[name].to_numpy()
    return numbers.copy()  # what Arrow gives may not be written to


def _flat(column: "pa.ChunkedArray", depth: int) -> NDArray[Any]:
    """The numbers of a column of lists, one after the other."""
    pieces = []
    for chunk in column.chunks:
        inner = chunk
        for _ in range(depth):
            inner = inner.flatten()
        pieces.append(inner.to_numpy())
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, so that it outlives a crash of the machine; an error in words if it cannot."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files as `write_atomically` does; none is replaced before all are on the disk, then each in its turn."""
    unfinished = {path: path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in files}
    at_work = next(iter(files))
    try:
        for path, data in files.items():
            at_work = path
            with open(unfinished[path], "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for path in files:
            at_work = path
            unfinished[path].replace(path)
            _sync_folder(path.parent)
    except OSError as error:
        raise MatchbanditError(f"cannot write {os.fspath(at_work)!r}: {error.strerror or error}.") from None
    finally:
        for left in unfinished.values():
            with suppress(OSError):
                left.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder last, where the system lets one: not all can open a folder."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

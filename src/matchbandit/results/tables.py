"""Convert results to Arrow tables and back: tidy rows, and the details of each run."""

import json
import sys
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.policies.explanation import Elimination
from matchbandit.problems.drifting import drift_annotations, drift_columns
from matchbandit.problems.families import function_of
from matchbandit.results.result import Identification, PlayedEdges, Runs, Split
from matchbandit.results.run_info import RunInfo
from matchbandit.rewards import Floats, rewards_from
from matchbandit.user_code import is_user_defined, module_of

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = ("study", "policy", "options", "family")
"""The columns before the parameters of the problem."""
TAIL = (
    "rewards", "horizon", "delta", "epsilon", "budget", "run", "seed", "round", "regret", "rounds", "pairs",
    "identified", "correct",
)  # fmt: skip
"""The columns after them, as far as a result has them."""
MAX_LISTED = 256
"""Numbers of `u`, `v` or `means` in a row; where a problem has more, the column is null: they would be in every row."""
_CHUNK_ROWS = 2**14
"""Rows of a constant that are built; longer columns repeat them without a copy."""
_MAX_ARRAY_LENGTH = 2**30
"""Numbers in one array of lists: Arrow counts them in 32 bits."""


def rows_table(
    result: Runs | Identification, *, study: str | None = None, columns: "Mapping[str, pa.DataType] | None" = None
) -> "pa.Table":
    """Build tidy rows: one for each run and checkpoint of a simulation, one for each run of an identification.

    Parameters
    ----------
    result: Runs or Identification
        What to tabulate.
    study: str, optional
        The column `study`; by default the study of the runs, else "simulate" or "identify".
    columns: mapping, optional
        The types of the parameters of all problems of a study; those that this problem lacks are null.

    Returns
    -------
    pyarrow.Table
    """
    pa = need("pyarrow", "a table of results")
    about, numbers = result.about, np.array(result.run_numbers, dtype=np.int64)
    simulated = isinstance(result, Runs)
    each = len(result.rounds) if simulated else 1
    n = len(numbers) * each
    types = {**(columns or {}), **parameter_types(about.problem), **(columns or {})}
    values = parameters_of(about.problem)
    shown = {} if simulated else {"delta": about.options.get("delta"), "epsilon": about.epsilon}  # in their columns
    options = {key: value for key, value in about.options.items() if key not in shown or value != shown[key]}
    constants = {
        "study": (study or about.study or ("simulate" if simulated else "identify"), pa.string()),
        "policy": (about.policy, pa.string()),
        "options": (options_text(options), pa.string()),
        "family": (about.problem.get("family", ""), pa.string()),
        **{name: (_listable(values.get(name)), types[name]) for name in types},
        "rewards": (rewards_text(about.problem.get("rewards", {})), pa.string()),
    }
    arrays = {name: _constant(name, value, kind, n) for name, (value, kind) in constants.items()}
    if isinstance(result, Runs):
        arrays["horizon"] = _constant("horizon", about.horizon or int(result.rounds[-1]), pa.int64(), n)
    else:
        arrays |= {name: _constant(name, value, pa.float64(), n) for name, value in shown.items()}
        arrays["budget"] = _constant("budget", about.budget, pa.int64(), n)
    arrays["run"] = np.repeat(numbers, each)
    arrays["seed"] = _constant("seed", about.seed if about.seed < 2**63 else None, pa.int64(), n)
    if isinstance(result, Runs):
        arrays |= {"round": np.tile(result.rounds, len(numbers)), "regret": np.ravel(result.regret)}
    else:
        arrays |= {part: getattr(result, part) for part in ("rounds", "pairs", "identified", "correct")}
    return pa.table(arrays)


def details_table(result: Runs | Identification) -> "pa.Table":
    """Build the table of what does not fit into rows: plays, splits and eliminations of each run, or its answer."""
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
    else:
        plays["sums"] = _rows_as_lists(result.reward_sums)
    texts = {
        "splits": [json.dumps(splits) for splits in result.splits],
        "eliminations": [json.dumps([elimination.describe() for elimination in run]) for run in result.eliminations],
    }
    return pa.table({"run": run, "ended": result.ended, **plays, **texts})


def metadata_of(result: Runs | Identification) -> dict[str, Any]:
    """Return what `result_from` needs besides the two tables, as plain data."""
    rounds = {"rounds": result.rounds.tolist()} if isinstance(result, Runs) else {}
    return {"about": result.about.describe(), **rounds}


def options_text(options: Mapping[str, Any]) -> str:
    """Format a policy's options for their column: JSON, sorted by name.

    >>> options_text({"growth": 1.05, "delta": None})
    '{"delta": null, "growth": 1.05}'
    """
    return json.dumps(dict(options), sort_keys=True, ensure_ascii=False)


def parameters_of(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a described problem or family, by the names of their columns.

    >>> from matchbandit.problems import Means, family
    >>> parameters_of(family("staircase", n=2, gap=0.1).describe())
    {'n': 2, 'gap': 0.1}
    >>> parameters_of(Means([[0.9, 0.1]]).describe())
    {'means': [[0.9, 0.1]], 'players': False}
    """
    drift = drift_columns(problem.get("drift"))
    if "family" in problem:
        parameters: dict[str, Any] = problem["parameters"]
        taken = [name for name in parameters if name in (*HEAD, *TAIL, *drift)]
        if taken:
            raise MatchbanditError(
                f"the family {problem['family']} has a parameter {taken[0]!r}, and rows have a column of that name "
                f"already. Rename the parameter."
            )
        return {**parameters, **drift}
    names = {"u": "u", "v": "v", "matrix": "means", "players": "players"}
    return {**{column: problem[name] for name, column in names.items() if name in problem}, **drift}


def parameter_types(problem: Mapping[str, Any]) -> "dict[str, pa.DataType]":
    """Return the type of each parameter's column: for a family as its function is annotated, never as the value is.

    `int` is int64, `bool` and `str` are what they are, lists are lists of such; all else is a double.
    """
    pa = need("pyarrow", "a table of results")
    values = parameters_of(problem)
    if "family" not in problem:
        lists = pa.list_(pa.float64())
        kinds = {"u": lists, "v": lists, "means": pa.list_(lists), "players": pa.bool_()}
        hints = drift_annotations()
        return {name: kinds[name] if name in kinds else _type_of(hints[name], values[name]) for name in values}
    hints = {**_annotations(problem["family"]), **(drift_annotations() if "drift" in problem else {})}
    return {name: _type_of(hints.get(name), value) for name, value in values.items()}


def _annotations(family: str) -> dict[str, Any]:
    """The annotations of a family's function; empty if it is user-defined and not imported."""
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
    scalars = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    if hint in scalars:
        return scalars[hint]
    if get_origin(hint) in (list, tuple, Sequence) or isinstance(value, list | tuple):
        inner = next(iter(get_args(hint)), None)
        return pa.list_(_type_of(inner, value[0] if value else 0.0))
    return scalars[type(value)] if isinstance(value, bool | str) else pa.float64()


def rewards_text(description: Mapping[str, Any]) -> str:
    """Format a described reward distribution as it is typed on the command line."""
    return rewards_from(dict(description)).notation if description else ""


def _listable(value: Any) -> Any:
    """The value; None for a list that is too long to be repeated in every row."""
    return None if isinstance(value, list | tuple) and np.size(value) > MAX_LISTED else value


def _constant(name: str, value: Any, kind: "pa.DataType", n: int) -> "pa.ChunkedArray":
    """A column with the same value in every row; its chunks share one array, so that it takes no memory."""
    pa = need("pyarrow", "a table of results")
    rows = min(n, _CHUNK_ROWS)
    try:
        one = pa.array([value], kind)
        fits = not pa.types.is_integer(kind) or one[0].as_py() == value  # Arrow makes 2 of 2.5
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        fits = False
    if not fits:
        raise MatchbanditError(f"{name} = {value!r} does not fit a column of the type {kind}.")
    if pa.types.is_string(kind):
        codes = (
            pa.nulls(rows, pa.int32()) if value is None else np.zeros(rows, dtype=np.int32)
        )  # Parquet: no null value
        chunk = pa.DictionaryArray.from_arrays(codes, one.drop_null())
    else:
        chunk = one.take(pa.array(np.zeros(rows, dtype=np.int64)))
    rest = [chunk.slice(0, n % _CHUNK_ROWS)] if n % _CHUNK_ROWS else []
    return pa.chunked_array([chunk] * (n // _CHUNK_ROWS) + rest, chunk.type)


def _offsets(n: int, width: int) -> NDArray[np.int32]:
    return np.arange(0, (n + 1) * width, width, dtype=np.int32) if width else np.zeros(n + 1, dtype=np.int32)


def _lists(numbers: NDArray[Any]) -> "pa.ListArray":
    """The rows of a matrix as lists."""
    pa = need("pyarrow", "a table of results")
    return pa.ListArray.from_arrays(_offsets(*numbers.shape), pa.array(numbers.ravel()))


def _rows_as_lists(numbers: NDArray[Any]) -> "pa.ChunkedArray":
    """The rows of a matrix of any size as lists, in as many chunks as they need."""
    pa = need("pyarrow", "a table of results")
    step = max(1, _MAX_ARRAY_LENGTH // max(1, numbers.shape[1]))
    pieces = [_lists(numbers[at : at + step]) for at in range(0, len(numbers), step)]
    return pa.chunked_array(pieces, pa.list_(pa.from_numpy_dtype(numbers.dtype)))


def result_from(rows: "pa.Table", details: "pa.Table", metadata: Mapping[str, Any]) -> Runs | Identification:
    """Build the result from its two tables and what `metadata_of` gave."""
    simulated = "regret" in rows.column_names
    for table, needed in (
        (rows, ("run", "round", "regret") if simulated else ("run", "rounds", "pairs", "identified", "correct")),
        (details, ("run", "ended", "sums", "splits", "eliminations") if simulated else ("run", "answers")),
    ):
        missing = [name for name in needed if name not in table.column_names]
        if missing:
            raise MatchbanditError(f"the column {missing[0]} is missing.")
    for key in ("about", "rounds") if simulated else ("about",):
        if key not in metadata:
            raise MatchbanditError(f"{key!r} is missing from the metadata.")
    about = RunInfo.from_dict({"study": metadata.get("study"), **metadata["about"]})
    numbers = _numbers(details, "run")
    rounds = np.array(metadata["rounds"] if simulated else [0], dtype=np.int64)
    each = len(rounds)
    if not np.array_equal(_numbers(rows, "run"), np.repeat(numbers, each)):
        raise MatchbanditError("the rows and the details are not of the same runs.")
    if simulated:
        if not np.array_equal(_numbers(rows, "round"), np.tile(rounds, len(numbers))):
            raise MatchbanditError("the rows are not those of the checkpoints.")
        regret = _numbers(rows, "regret").reshape(len(numbers), each)
        ended = _numbers(details, "ended")
        played = plays_from(details), sums_from(details)
        return Runs(about, rounds, regret, *played, ended, splits_from(details), eliminations_from(details))
    answers = _flat(details["answers"], 2).reshape(len(numbers), -1, 2)
    parts = {part: _numbers(rows, part) for part in ("rounds", "pairs", "identified", "correct")}
    return Identification(about=about, answers=answers, **parts)


def plays_from(details: "pa.Table") -> "NDArray[np.int64] | PlayedEdges":
    """A count for each pair; of large graphs, the pairs that were played and how often."""
    if "plays" in details.column_names:
        return _flat(details["plays"], 1).reshape(len(details), -1)
    columns = zip(details["edges"], details["times"], strict=True)
    return [(edges.values.to_numpy().copy(), times.values.to_numpy().copy()) for edges, times in columns]


def sums_from(details: "pa.Table") -> "Floats | list[Floats]":
    """The sums of the rewards in the places of `plays_from`."""
    if "plays" in details.column_names:
        return _flat(details["sums"], 1).reshape(len(details), -1)
    return [sums.values.to_numpy().copy() for sums in details["sums"]]


def splits_from(details: "pa.Table") -> list[list[Split]]:
    """For each run after which rounds clusters split, and the clusters from then on."""
    return [[(at, groups) for at, groups in json.loads(run)] for run in details["splits"].to_pylist()]


def eliminations_from(details: "pa.Table") -> list[list[Elimination]]:
    """For each run who left when."""
    return [[_elimination(entry) for entry in json.loads(run)] for run in details["eliminations"].to_pylist()]


def _elimination(description: dict[str, Any]) -> Elimination:
    intervals = {key: tuple(description[key]) for key in ("interval", "by_interval")}
    return Elimination(**{**description, **intervals})


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

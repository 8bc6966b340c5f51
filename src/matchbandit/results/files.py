"""Read and write results: Parquet files with checksums, written atomically."""

import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.files import writable_file, write_together
from matchbandit.results.comparison import Comparison
from matchbandit.results.result import Identification, Runs
from matchbandit.results.tables import details_table, metadata_of, result_from, rows_table

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Version of the file format; files with another one are refused."""
_TEXTS = ("study", "policy", "options", "family", "rewards")
_KEY = b"matchbandit"
_DETAILS = "details"
_HINT = "Give a file that save() or --save has written."


def results_file(path: str | os.PathLike[str]) -> Path:
    """Return the Parquet file into which results can be written; raise an error if they cannot, before any work."""
    name = os.fspath(path)
    if Path(name).suffix.lower() not in ("", ".parquet"):
        raise MatchbanditError(f"results are saved as Parquet; got {name!r}. Call the file {Path(name).stem}.parquet.")
    need("pyarrow", "keeping results")
    target = writable_file(path)
    beside = details_file(target)
    if beside.parent == target.parent or beside.parent.exists():
        writable_file(beside)
    return target


def details_file(path: str | os.PathLike[str]) -> Path:
    """Return the file with the details of each run that belongs to a file of rows.

    >>> details_file("runs.parquet").as_posix(), details_file("gaps/rows/uts.parquet").as_posix()
    ('runs.details.parquet', 'gaps/details/uts.parquet')
    """
    rows = Path(path)
    if rows.parent.name == "rows":
        return rows.parent.parent / _DETAILS / rows.name
    return rows.with_name(f"{rows.stem}.{_DETAILS}{rows.suffix}")


def save(result: Runs | Identification | Comparison, path: str | os.PathLike[str]) -> None:
    """Write the details, then the rows: where there are rows, there are details."""
    target = results_file(path)
    beside = details_file(target)
    if isinstance(result, Comparison):
        pa = need("pyarrow", "keeping results")
        metadata: dict[str, Any] = {"results": [{**metadata_of(one), "runs": len(one)} for one in result]}
        rows = result.rows().to_frame("arrow")
        details = pa.concat_tables([details_table(one) for one in result], promote_options="default")
    else:
        metadata, rows, details = metadata_of(result), rows_table(result), details_table(result)
    files = {beside: encode_parquet(details, metadata), target: encode_parquet(rows, metadata)}
    with suppress(OSError):  # the error is raised when the file is written
        beside.parent.mkdir(exist_ok=True)
    write_together(files)


def load(path: str | os.PathLike[str]) -> Runs | Identification | Comparison:
    """Read results that `save` has written.

    Parameters
    ----------
    path: str or Path
        The file of rows; the file of details must be beside it.

    Returns
    -------
    Runs, Identification or Comparison
        As it was saved.

    Examples
    --------
    >>> import matchbandit as mb
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> runs = mb.simulate(mb.Bipartite([.9, .3], [.8, .4]), "uts", horizon=100, runs=2)
    >>> with TemporaryDirectory() as folder:
    ...     runs.save(Path(folder) / "runs.parquet")
    ...     load(Path(folder) / "runs.parquet").about == runs.about
    True
    """
    name = repr(os.fspath(path))
    if not os.fspath(path):
        raise MatchbanditError(f"there is no file {name}.")
    if (Path(path) / "study.json").is_file():
        raise MatchbanditError(f"{name} is a study's folder: use matchbandit.lab.StudyFolder.open({name}).results().")
    rows, metadata = decode_parquet(Path(path))
    details = _read_details(Path(path), rows, metadata)
    try:
        if "results" not in metadata:
            return result_from(rows, details, metadata)
        return Comparison(tuple(_split(rows, details, metadata["results"])))
    except MatchbanditError as error:
        raise MatchbanditError(f"{name} is not complete: {error} {_HINT}") from None
    except (KeyError, TypeError, ValueError):
        raise MatchbanditError(f"{name} was not written by matchbandit. {_HINT}") from None


def _read_details(path: Path, rows: "pa.Table", metadata: Mapping[str, Any]) -> "pa.Table":
    """The details that belong to these rows."""
    name, beside = repr(os.fspath(path)), details_file(path.resolve())
    if {"splits", "answers"} & {*rows.column_names}:
        raise MatchbanditError(f"{name} holds the details of runs only. Give the file with their rows.")
    if not beside.exists():
        raise MatchbanditError(
            f"{name} has rows only: the details of its runs, {os.fspath(beside)!r}, are missing. Copy both files."
        )
    details, details_metadata = decode_parquet(beside)
    if any(details_metadata.get(key) != metadata.get(key) for key in ("about", "results")):
        raise MatchbanditError(
            f"{name} and {os.fspath(beside)!r} are not of the same runs. Make or copy both files again."
        )
    return details


def _split(rows: "pa.Table", details: "pa.Table", metadata: Sequence[Mapping[str, Any]]) -> list[Runs | Identification]:
    """The results of a comparison, whose tables follow each other; columns that only others have are null."""
    results, first_row, first_run = [], 0, 0
    for one in metadata:
        n_runs, n_rows = one["runs"], one["runs"] * len(one.get("rounds", [0]))
        own_details = details.slice(first_run, n_runs)
        own_columns = [name for name in details.column_names if own_details[name].null_count < n_runs]
        results.append(result_from(rows.slice(first_row, n_rows), own_details.select(own_columns), one))
        first_row, first_run = first_row + n_rows, first_run + n_runs
    return results


def encode_parquet(table: "pa.Table", metadata: Mapping[str, Any]) -> bytes:
    """Encode a table and plain metadata as a Parquet file in memory, with zstd and a checksum for each page."""
    pq = need("pyarrow.parquet", "keeping results")
    buffer = io.BytesIO()
    text = json.dumps({"format": FORMAT, **metadata})
    # Text is read back by everyone as text, not as categories: the file does not keep Arrow's own schema.
    settings: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True, "store_schema": False}
    leaves = _leaves(table.schema)
    repeated = [name for name in leaves if name.partition(".")[0] not in ("regret", "rounds", "plays", "sums")]
    searchable = [name for name in leaves if name not in ("splits", "eliminations")]  # statistics repeat long texts
    settings |= {"use_dictionary": repeated, "write_statistics": searchable}
    with pq.ParquetWriter(buffer, table.schema, **settings) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY.decode(): text})
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


def decode_parquet(data: bytes | Path) -> "tuple[pa.Table, dict[str, Any]]":
    """Return table and metadata of a Parquet file, checked page by page; refuse what is damaged or foreign by name."""
    pa, pq = need("pyarrow", "reading results"), need("pyarrow.parquet", "reading results")
    name = repr(os.fspath(data)) if isinstance(data, Path) else "the file"
    _check_is_parquet(data, name)
    source = os.fspath(data) if isinstance(data, Path) else pa.BufferReader(data)
    try:
        with pq.ParquetFile(source, page_checksum_verification=True) as opened:
            footer, names = opened.metadata, opened.schema_arrow.names
        texts = [text for text in _TEXTS if text in names]
        source = os.fspath(data) if isinstance(data, Path) else pa.BufferReader(data)
        with pq.ParquetFile(source, metadata=footer, read_dictionary=texts, page_checksum_verification=True) as opened:
            table = opened.read()
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError):
        raise MatchbanditError(f"{name} is damaged: it cannot be decoded. Make or copy it again.") from None
    try:
        metadata = json.loads((footer.metadata or {})[_KEY])
        version = metadata.get("format")
    except (KeyError, ValueError, AttributeError):
        version = None
    if version is None:
        raise MatchbanditError(f"{name} was not written by matchbandit. {_HINT}")
    if version != FORMAT:
        raise MatchbanditError(f"{name} has the format {version!r} of another version of matchbandit. Use that one.")
    return table, metadata


def _check_is_parquet(data: bytes | Path, name: str) -> None:
    """Refuse what is not a whole Parquet file: those begin and end with the same four bytes."""
    head, tail = (data[:4], data[-4:]) if isinstance(data, bytes) else _first_and_last_bytes(data, name)
    if not head:
        raise MatchbanditError(f"{name} is empty. {_HINT}")
    if head != b"PAR1":
        raise MatchbanditError(f"{name} is not a Parquet file. {_HINT}")
    if tail != b"PAR1":
        raise MatchbanditError(f"{name} is cut off: its end is missing. Make or copy it again.")


def _first_and_last_bytes(path: Path, name: str) -> tuple[bytes, bytes]:
    try:
        if not os.path.exists(path):
            raise MatchbanditError(f"there is no file {name}.")
        if not os.path.isfile(path):
            raise MatchbanditError(f"{name} is {'a folder' if os.path.isdir(path) else 'not a file'}. {_HINT}")
        with open(path, "rb") as file:
            head = file.read(4)
            file.seek(-min(4, os.path.getsize(path)), os.SEEK_END)
            return head, file.read(4)
    except OSError as error:
        raise MatchbanditError(f"{name} cannot be read: {error.strerror or error}.") from None

"""Results on disk and back: where they may be written, and what is read."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.results.identification import Identification
from matchbandit.results.old_files import result_of_old
from matchbandit.results.runs import Runs
from matchbandit.results.tables import (
    decoded,
    details_table,
    encoded,
    metadata_of,
    result_from,
    rows_table,
    write_together,
)

if TYPE_CHECKING:
    import pyarrow as pa

_DETAILS = "details"


def results_file(path: str | os.PathLike[str]) -> Path:
    """The Parquet file into which results are to be written; an error if they cannot be, before any work is done."""
    name = os.fspath(path)
    if Path(name).suffix.lower() not in ("", ".parquet"):
        raise MatchbanditError(f"results are kept as Parquet; got {name!r}. Call the file {Path(name).stem}.parquet.")
    need("pyarrow", "keeping results")
    target = writable_file(path)
    beside = details_file(target)
    if beside.parent == target.parent or beside.parent.exists():
        writable_file(beside)
    return target


def details_file(path: str | os.PathLike[str]) -> Path:
    """The file with the details of each run that belongs to a file of rows.

    >>> details_file("runs.parquet").as_posix(), details_file("gaps/rows/uts.parquet").as_posix()
    ('runs.details.parquet', 'gaps/details/uts.parquet')
    """
    rows = Path(path)
    if rows.parent.name == "rows":
        return rows.parent.parent / _DETAILS / rows.name
    return rows.with_name(f"{rows.stem}.{_DETAILS}{rows.suffix}")


def writable_file(path: str | os.PathLike[str]) -> Path:
    """The file that is to be written, links followed; an error if it cannot be, before any work is done."""
    name, hint = os.fspath(path), "Choose another place."
    if not name:
        raise MatchbanditError("a file to write needs a name; got ''.")
    try:
        name.encode()  # what writes Parquet takes names in UTF-8 only
        target = Path(path).resolve()
        with suppress(FileNotFoundError, NotADirectoryError):
            target.lstat()
    except (OSError, ValueError) as error:
        raise MatchbanditError(f"{name!r} cannot be written: {getattr(error, 'strerror', None) or error}.") from None
    if target.exists() and not target.is_file():
        raise MatchbanditError(f"{name!r} is not a file that can be replaced. {hint}")
    if not target.parent.is_dir():
        raise MatchbanditError(f"there is no folder {str(target.parent)!r} to write into. Make it, or choose another.")
    if not os.access(target.parent, os.W_OK):
        raise MatchbanditError(f"the folder {str(target.parent)!r} may not be written into by you. {hint}")
    return target


def save(result: Runs | Identification, path: str | os.PathLike[str]) -> None:
    """Write the details, then the rows: where there are rows, there are details."""
    target = results_file(path)
    beside, metadata = details_file(target), metadata_of(result)
    rows, details = encoded(rows_table(result), metadata), encoded(details_table(result), metadata)
    with suppress(OSError):  # what cannot be made is named when it is written into
        beside.parent.mkdir(exist_ok=True)
    write_together({beside: details, target: rows})


def load_runs(path: str | os.PathLike[str]) -> Runs:
    """Read what `Runs.save` has written."""
    read = _read(path, "Runs.save")
    if not isinstance(read, Runs):
        raise MatchbanditError(
            f"{os.fspath(path)!r} holds an identification, not simulated runs. Use load_identification."
        )
    return read


def load_identification(path: str | os.PathLike[str]) -> Identification:
    """Read what `Identification.save` has written."""
    read = _read(path, "Identification.save")
    if not isinstance(read, Identification):
        raise MatchbanditError(f"{os.fspath(path)!r} holds simulated runs, not an identification. Use load_runs.")
    return read


def load(path: str | os.PathLike[str]) -> Runs | Identification:
    """Read what `Runs.save` or `Identification.save` has written."""
    return _read(path, "Runs.save or Identification.save")


def _read(path: str | os.PathLike[str], writer: str) -> Runs | Identification:
    name = repr(os.fspath(path))
    if not os.fspath(path):
        raise MatchbanditError(f"there is no file {name}.")
    if (Path(path) / "manifest.json").is_file():
        raise MatchbanditError(
            f"{name} is a study's folder: use matchbandit.studies.StudyFolder.open({name}).results()."
        )
    hint = f"Give a file that {writer} (--save) has written."
    table, metadata = decoded(Path(path), writer=writer)
    is_old = "format" not in metadata
    details = None if is_old else _details_of(Path(path), table, metadata, writer)
    try:
        return result_of_old(table, metadata) if details is None else result_from(table, details, metadata)
    except MatchbanditError as lacking:
        raise MatchbanditError(f"{name} is not complete: {lacking} {hint}") from None
    except (KeyError, TypeError, ValueError):
        raise MatchbanditError(f"{name} was not written by {writer}. {hint}") from None


def _details_of(path: Path, rows: "pa.Table", metadata: dict[str, Any], writer: str) -> "pa.Table":
    """The details that belong to these rows."""
    name, beside = repr(os.fspath(path)), details_file(path.resolve())
    if {"splits", "answers"} & {*rows.column_names}:
        raise MatchbanditError(f"{name} holds the details of runs only. Give the file with their rows.")
    if not beside.exists():
        raise MatchbanditError(
            f"{name} has rows only: the details of its runs, {os.fspath(beside)!r}, are missing. Copy both files."
        )
    details, theirs = decoded(beside, writer=writer)
    if theirs.get("about") != metadata.get("about"):
        raise MatchbanditError(
            f"{name} and {os.fspath(beside)!r} are not of the same runs. Make or copy both files again."
        )
    return details

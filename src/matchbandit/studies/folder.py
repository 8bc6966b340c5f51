"""The folder of a study: a manifest, and two Parquet files for each part that is finished."""

import json
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.results import Comparison, Rows, concat
from matchbandit.results.files import decode_parquet, write_atomically
from matchbandit.results.tables import HEAD, TAIL, result_from
from matchbandit.studies.parts import FinishedPart, Interval, digest_of, has_valid_checksum, with_checksum
from matchbandit.studies.study import Study

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
KIND = "study of matchbandit"
LOCK_TIMEOUT_S = 1.0
"""Seconds to wait for the lock: workers of a process that was killed may hold it for a moment longer."""
_NAME = re.compile(r".+-(?P<key>[0-9a-f]{16})-(?P<first>\d{9,})-(?P<last>\d{9,})\.parquet")
_MAX_NAMED = 3


@dataclass(frozen=True)
class PartFile:
    """A part of a study on disk."""

    path: Path
    """The file of its rows."""
    key: str
    """Of its point."""
    first: int
    runs: int

    @classmethod
    def named(cls, path: Path) -> "PartFile | None":
        """What the name of a file says; None if it is not the name of a part."""
        match = _NAME.fullmatch(path.name)
        if match is None or int(match["last"]) < int(match["first"]):
            return None
        first = int(match["first"])
        return cls(path, match["key"], first, int(match["last"]) - first + 1)

    @property
    def details(self) -> Path:
        """The file of plays, splits and eliminations, or answers."""
        return self.path.parent.parent / "details" / self.path.name

    @property
    def interval(self) -> Interval:
        """Its runs."""
        return self.first, self.first + self.runs

    def runs_below(self, number: int) -> int:
        """How many of its runs have a smaller number than this."""
        return min(self.runs, max(0, number - self.first))

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What was played, with what, and how long it took; only the end of the file is read."""
        return _read_metadata(self.path)

    @property
    def seconds(self) -> float:
        """How long it took one process."""
        return float(self.metadata["seconds"])

    @property
    def versions(self) -> dict[str, str]:
        """Of what computed it."""
        return dict(self.metadata["versions"])

    @property
    def made_with(self) -> dict[str, str]:
        """Versions, and fingerprints of the user's own modules."""
        return {**self.versions, **self.metadata["own"]}

    def damage(self) -> str | None:
        """What is wrong with it: all of it is read; None if it is whole."""
        if not self.details.is_file():
            return f"details/{self.path.name} is missing"
        pa = need("pyarrow", "reading results")
        try:
            data = self.path.read_bytes()
            metadata = _read_metadata(pa.BufferReader(data))
            if not has_valid_checksum(data, metadata):
                return f"rows/{self.path.name} is damaged"
            if digest_of(self.details.read_bytes()) != metadata["details"]:
                return f"details/{self.path.name} is damaged"
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
            return f"rows/{self.path.name} is damaged"
        named = (metadata["key"], metadata["first_run"], metadata["runs"]) == (self.key, self.first, self.runs)
        return None if named else f"rows/{self.path.name} is not what it says"

    def remove(self) -> None:
        """Remove both files; rows first, for they say that it is finished."""
        with _translate_errors(self.path.parent):
            self.path.unlink(missing_ok=True)
            self.details.unlink(missing_ok=True)


@dataclass(frozen=True)
class StudyFolder:
    """What a study has left in its folder: `rows()`, `results()`, the parts and what made them."""

    path: Path
    manifest: dict[str, Any] = field(repr=False)
    """Format, study, versions, dates, parts, runs, seconds."""

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "StudyFolder":
        """The folder as it is now, also while a study is running there."""
        folder = Path(path)
        if not folder.is_dir():
            raise MatchbanditError(f"there is no folder {str(folder)!r}. `matchbandit run STUDY.toml` creates one.")
        manifest = read_manifest(folder)
        if manifest is None:
            raise MatchbanditError(f"{str(folder)!r} is not the folder of a study: it has no manifest.json.")
        return cls(folder, manifest)

    @cached_property
    def study(self) -> Study:
        """The study, from the manifest; modules of the user's own are imported when its points are asked for."""
        return Study.from_dict(self.manifest["study"], check=False)

    @cached_property
    def parts(self) -> list[PartFile]:
        """The finished parts, in the order of the study's points and of their runs."""
        order = {key: at for at, key in enumerate(self.manifest["points"])}
        files = [part for part in part_files(self.path) if part.first < self.study.runs]
        there = [part for part in files if part.details.is_file()]
        return sorted(there, key=lambda part: (order.get(part.key, len(order)), part.first))

    def first_runs(self, runs: int) -> "StudyFolder":
        """Return the same folder without the runs from this number on: a study of fewer runs."""
        if runs >= self.study.runs:
            return self
        return StudyFolder(self.path, {**self.manifest, "study": {**self.manifest["study"], "runs": runs}})

    @property
    def runs(self) -> int:
        """How many runs are there, of all points together."""
        return sum(part.runs_below(self.study.runs) for part in self.parts)

    @property
    def seconds(self) -> float:
        """How long one process would have computed; of a part of which some runs count, their share."""
        return sum(part.seconds * part.runs_below(self.study.runs) / part.runs for part in self.parts)

    @property
    def is_complete(self) -> bool:
        """Are all runs of all points there?"""
        return self.runs == self.study.runs * len(self.manifest["points"])

    def check_files(self) -> None:
        """Refuse a folder with a file that is damaged or incomplete, and say how to repair it."""
        damage = [text for part in part_files(self.path) for text in [part.damage()] if text is not None]
        if damage:
            raise MatchbanditError(
                f"in {str(self.path)!r}, {first_few(damage)}. Run the study again with the same --out: "
                f"it plays the damaged parts again and keeps the others."
            )

    def rows(self) -> Rows:
        """All rows, tidy."""
        return self._together(Rows.from_table(self._read(part)) for part in self.parts)

    def rows_of(self, key: str) -> Rows:
        """The rows of one point."""
        return self._together(Rows.from_table(self._read(part)) for part in self.parts if part.key == key)

    def last_rows_of(self, key: str) -> Rows:
        """Of one point the row of each run at its last round, with little memory however many runs there are."""
        return self._together(Rows.from_table(self._read(part)).at_end() for part in self.parts if part.key == key)

    def results(self) -> Comparison:
        """What came of each point, with plays, splits, eliminations or answers."""
        by_point: dict[str, list[Any]] = {}
        for part in self.parts:
            rows, metadata = decode_parquet(part.path)
            details, _ = decode_parquet(part.details)
            tables = self._counted(part, rows), self._counted(part, details)
            by_point.setdefault(part.key, []).append(result_from(*tables, metadata))
        results: list[Any] = []
        for pieces in by_point.values():
            whole = concat(pieces)
            results += whole if isinstance(whole, Comparison) else [whole]  # made by several versions
        return Comparison(tuple(results))

    def _read(self, part: PartFile) -> "pa.Table":
        return self._counted(part, decode_parquet(part.path)[0])

    def _counted(self, part: PartFile, table: "pa.Table") -> "pa.Table":
        """The rows of those runs of a part that belong to the study, which may have fewer than the part."""
        if part.interval[1] <= self.study.runs:
            return table
        return table.filter(need("pyarrow.compute", "rows of results").less(table["run"], self.study.runs))

    def _together(self, pieces: Iterable[Rows]) -> Rows:
        """Concatenate rows of parts, each encoded as soon as it is read: that takes less memory than their tables."""
        rows = [*pieces]
        if not rows:
            raise MatchbanditError(f"{str(self.path)!r} holds no finished part yet. Run the study first.")
        return Rows.together(rows)


def part_files(folder: Path) -> list[PartFile]:
    """The parts whose rows are there; any other file is refused, since other tools would read it as rows."""
    files = sorted((folder / "rows").glob("*.parquet"))
    parts = [PartFile.named(file) for file in files]
    for file, part in zip(files, parts, strict=True):
        if part is None:
            raise MatchbanditError(f"{str(file)!r} is not a part of this study. Move it to another folder.")
    return [part for part in parts if part is not None]


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest; None if there is none, and an error if it is not ours or damaged."""
    file = folder / "manifest.json"
    try:
        manifest = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is damaged"
        raise MatchbanditError(
            f"{str(file)!r} cannot be read: {why}. Remove it and run the study again: finished parts are kept."
        ) from None
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise MatchbanditError(f"{str(file)!r} was not written by matchbandit. Choose another folder (--out).")
    if not isinstance(manifest.get("format"), int) or manifest["format"] > FORMAT:
        raise MatchbanditError(
            f"{str(folder)!r} was written by a newer matchbandit "
            f"({manifest.get('versions', {}).get('matchbandit', '?')}; format {manifest.get('format')}, this one reads "
            f"{FORMAT}). Update it, or choose another folder (--out)."
        )
    return manifest


@contextmanager
def lock_folder(out: str | os.PathLike[str]) -> Iterator[Path]:
    """The folder, made if need be, for this process alone while the block runs; what is not a study's is refused."""
    if not os.fspath(out):
        raise MatchbanditError("the folder of a study needs a name; got ''.")
    folder = Path(out)
    filelock = need("filelock", "running a study")
    with _translate_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _check_is_study_folder(folder)
        lock = filelock.FileLock(folder / ".lock")
        try:
            lock.acquire(timeout=LOCK_TIMEOUT_S)
        except filelock.Timeout:
            raise MatchbanditError(
                f"{_holder(folder)} is at work in {str(folder)!r}. Wait for it, or choose another folder (--out)."
            ) from None
    try:
        with _translate_errors(folder):
            for place in (folder, folder / "rows", folder / "details"):
                place.mkdir(exist_ok=True)
                for unfinished in place.glob(".*.tmp"):
                    unfinished.unlink(missing_ok=True)
        yield folder
    finally:
        lock.release()


def remove_empty(folder: Path, *, itself: bool) -> None:
    """Remove what a study that could not begin has put there, and the folder `itself`."""
    with suppress(OSError):
        (folder / "manifest.json").unlink(missing_ok=True)
        (folder / "rows").rmdir()
        (folder / "details").rmdir()
        (folder / ".lock").unlink(missing_ok=True)
        if itself:
            folder.rmdir()


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, whole or not at all."""
    text = json.dumps({"kind": KIND, "format": FORMAT, **manifest}, indent=2, ensure_ascii=False)
    write_atomically(folder / "manifest.json", f"{text}\n".encode())


def process_info() -> dict[str, Any]:
    """Who is at work: for the manifest, and for whoever comes second."""
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": current_time()}


def current_time() -> str:
    """The date and time: UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def date_text(iso: str) -> str:
    """Format a date and time of ISO 8601 for a reader."""
    return iso.replace("T", " ").replace("+00:00", " UTC")


def write_part(folder: Path, part: FinishedPart) -> None:
    """Write both files of a part; rows last, for they say that it is finished."""
    write_atomically(folder / "details" / part.name, part.details)
    write_atomically(folder / "rows" / part.name, part.rows)


def remove_damaged(folder: Path, damage: Mapping[PartFile, str | None]) -> list[str]:
    """Remove parts that are damaged or half written; what was wrong with them."""
    for part, damage_text in damage.items():
        if damage_text is not None:
            part.remove()
    whole = {part.path.name for part, damage_text in damage.items() if damage_text is None}
    half = [file for file in sorted((folder / "details").glob("*.parquet")) if file.name not in whole]
    with _translate_errors(folder / "details"):
        for file in half:
            file.unlink(missing_ok=True)
    return [*filter(None, damage.values()), *(f"rows/{file.name} is missing" for file in half)]


def add_columns(part: PartFile, columns: "Mapping[str, pa.DataType]") -> None:
    """Rewrite the rows of a part if these are not its columns of parameters, so that all parts have one schema."""
    pa, parquet = need("pyarrow", "keeping results"), need("pyarrow.parquet", "keeping results")
    there = parquet.read_schema(part.path)
    if [(name, there.field(name).type) for name in there.names if name not in (*HEAD, *TAIL)] == [*columns.items()]:
        return
    table, metadata = decode_parquet(part.path)
    columns_by_name = {name: table[name] for name in HEAD}
    for name, kind in columns.items():
        columns_by_name[name] = table[name].cast(kind) if name in table.column_names else pa.nulls(len(table), kind)
    columns_by_name |= {name: table[name] for name in TAIL if name in table.column_names}
    write_atomically(part.path, with_checksum(pa.table(columns_by_name), metadata))


def first_few(texts: Sequence[str]) -> str:
    """The first few, and how many more.

    >>> first_few(["a", "b", "c", "d", "e"])
    'a; b; c; and 2 more'
    """
    more = len(texts) - _MAX_NAMED
    return "; ".join([*texts[:_MAX_NAMED], *([f"and {more} more"] if more > 0 else [])])


def _read_metadata(file: Any) -> dict[str, Any]:
    """What a file says besides its table."""
    parquet = need("pyarrow.parquet", "reading results")
    metadata: dict[str, Any] = json.loads(parquet.read_metadata(file).metadata[b"matchbandit"])
    return metadata


def _check_is_study_folder(folder: Path) -> None:
    """Refuse a folder that holds something, but no study."""
    if read_manifest(folder) is not None:
        return
    others = [there.name for there in folder.iterdir() if there.name not in (".lock", "rows", "details")]
    foreign = [name for name in others if not (name.startswith(".manifest.json.") and name.endswith(".tmp"))]
    if not foreign:
        strangers = [file for place in ("rows", "details") for file in (folder / place).glob("*")]
        foreign = [file.name for file in strangers if PartFile.named(file) is None and file.suffix != ".tmp"]
    if foreign:
        raise MatchbanditError(
            f"{str(folder)!r} is not the folder of a study: it has no manifest.json, but {first_few(sorted(foreign))}. "
            f"Choose another (--out)."
        )


def _holder(folder: Path) -> str:
    """Who is at work there."""
    with suppress(MatchbanditError):
        running = (read_manifest(folder) or {}).get("running")
        if running:
            where = "" if running["host"] == socket.gethostname() else f" on {running['host']}"
            return f"another process ({running['pid']}{where})"
    return "another process"


@contextmanager
def _translate_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MatchbanditError(
            f"cannot write into the folder {str(folder)!r}: {error.strerror or error}. Choose another (--out)."
        ) from None

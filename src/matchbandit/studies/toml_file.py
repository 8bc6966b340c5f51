"""A study in a TOML file: read, with the line of whatever is wrong in it."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from matchbandit.errors import MatchbanditError
from matchbandit.studies.normalize import Path, SettingError
from matchbandit.studies.study import Study
from matchbandit.user_code import is_user_defined, load_object

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_TEXT = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\])*"|' r"'[^']*'", re.DOTALL)
_BARE_VALUE = re.compile(r"[^,\]}#\n]*")


def study_in(path: str | os.PathLike[str]) -> Study:
    """The study in this file; an error names the file, the line, what is wrong and the way out."""
    name = os.fspath(path)
    text = _text_of(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MatchbanditError(_in_toml(name, text, str(error))) from None
    except RecursionError:
        raise MatchbanditError(f"{name} is nested too deeply to be read.") from None
    try:
        for own, what, place in _user_names(data):
            _import_from(own, what, FilePath(path).resolve().parent, place)
        return Study.from_dict(data)
    except SettingError as error:
        line = line_of(text, error.path)
        raise MatchbanditError(f"{name}{f', line {line}' if line else ''}: {error}") from error
    except MatchbanditError as error:
        raise MatchbanditError(f"{name}: {error}") from error


def line_of(text: str, path: Path) -> int | None:
    """The line of this setting in a TOML file, or of the nearest around it that has one.

    >>> line_of("runs = 2\\n\\n[problem]\\ngap = [\\n  0.5,\\n  0.6,\\n]", ("problem", "gap", 1))
    6
    """
    lines = lines_in(text)
    return next((lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in lines), None)


def lines_in(text: str) -> dict[Path, int]:
    """The line of every key and of every element of an array, in a text that `tomllib` has read.

    >>> lines_in("a = 1\\n[[b]]\\nc.d = {e = [2]}")  # doctest: +ELLIPSIS
    {('a',): 1, ('b',): 2, ('b', 0): 2, ('b', 0, 'c'): 3, ...}
    """
    return _Lines(text.replace("\r\n", "\n")).lines


class _Lines:
    """Walks through a text and notes where everything begins; as the text is valid, little has to be checked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}  # how many tables each array of tables has so far
        self._walk()

    def _walk(self) -> None:
        table: Path = ()
        for _ in self._until(""):
            if self._next("[["):
                table = self._header("]]", in_array=True)
            elif self._next("["):
                table = self._header("]", in_array=False)
            else:
                self._key_and_value(table)

    def _header(self, end: str, *, in_array: bool) -> Path:
        """The table that a line such as [a.b] or [[a.b]] begins."""
        line, parts, path = self._line(), self._key(), ()
        self._next(end)
        table: Path = path
        for k, part in enumerate(parts):
            table = (*table, part)
            self.lines.setdefault(table, line)
            if in_array and k == len(parts) - 1:
                self._tables[table] = self._tables.get(table, 0) + 1
            if table in self._tables:
                table = (*table, self._tables[table] - 1)
                self.lines.setdefault(table, line)
        return table

    def _key_and_value(self, table: Path) -> None:
        line = self._line()
        path = table
        for part in self._key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self._next("=")
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip_blank()
        if self._next("["):
            self._elements(path)
        elif self._next("{"):
            for _ in self._until("}"):
                self._key_and_value(path)
                self._next(",")
        else:
            self._leap(_TEXT if self._at_quote() else _BARE_VALUE)

    def _elements(self, path: Path) -> None:
        for count, _ in enumerate(self._until("]")):
            self.lines[*path, count] = self._line()
            self._value((*path, count))
            self._next(",")

    def _key(self) -> list[str]:
        """The parts of a key such as a."b c".d."""
        parts = [self._key_part()]
        while self._next("."):
            parts.append(self._key_part())
        return parts

    def _key_part(self) -> str:
        self._skip_blank()
        quoted = self._at_quote()
        raw = self._leap(_TEXT if quoted else _BARE_KEY)
        return str(tomllib.loads(f"key = {raw}")["key"]) if quoted and raw else raw

    def _until(self, end: str) -> Iterator[None]:
        """Come again until this sign, or else the end of the text, is reached; give up where nothing moves on."""
        before = -1
        while not (end and self._next(end)) and not self._skip_blank() and self.at > before:
            before = self.at
            yield

    def _at_quote(self) -> bool:
        return self.text.startswith(('"', "'"), self.at)

    def _leap(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        end = self.at if match is None else match.end()
        raw, self.at = self.text[self.at : end], end
        return raw

    def _next(self, sign: str) -> bool:
        """Step over this sign, and the blanks before it, if it comes next."""
        self._skip_blank()
        there = self.text.startswith(sign, self.at)
        self.at += len(sign) * there
        return there

    def _skip_blank(self) -> bool:
        """Step over blanks, comments and ends of lines. Is that the end?"""
        self._leap(_BLANK)
        return self.at >= len(self.text)

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1


def _text_of(path: str | os.PathLike[str]) -> str:
    name, file = os.fspath(path), FilePath(path)
    try:
        if not file.exists():
            raise MatchbanditError(f"there is no file {name!r}.")
        if not file.is_file():
            what = "a folder" if file.is_dir() else "no file"
            raise MatchbanditError(f"{name!r} is {what}. Give a study, a TOML file.")
        return file.read_bytes().decode("utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        line = file.read_bytes().count(b"\n", 0, error.start) + 1
        raise MatchbanditError(f"{name}, line {line}: this is not UTF-8. Save the file as UTF-8.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, MatchbanditError):
            raise
        raise MatchbanditError(f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _in_toml(name: str, text: str, error_text: str) -> str:
    """What `tomllib` says, with the line before it."""
    message, _, position = error_text.removesuffix(")").rpartition(" (at ")
    lines = re.match(r"line (\d+), column (\d+)", position)
    if lines is None:  # at end of document
        return f"{name}, line {text.rstrip().count(chr(10)) + 1}: {message or error_text}, at the end of the file."
    line, column = int(lines[1]), int(lines[2])
    value = _BARE_VALUE.match(text.split("\n")[line - 1][column - 1 :])
    written = value[0].strip() if value and message == "Invalid value" else ""
    if not written:
        return f"{name}, line {line}: {message}, at column {column}."
    is_number = re.fullmatch(r"[+-]?\.\d[\d_]*(?:[eE][+-]?\d+)?", written)
    way = "Write a digit before the point, as in 0.9." if is_number else 'Put text into quotes, as in "uts".'
    return f"{name}, line {line}: {written!r} is not a value of TOML. {way}"


def _user_names(data: dict[str, Any]) -> Iterator[tuple[str, str, Path]]:
    """The names of the user's own families and policies in the data, what they are, and where they stand."""
    for path, table in _entries(data, "problem"):
        families = table.get("family") if isinstance(table, dict) else None
        for name in families if isinstance(families, list) else [families]:
            if isinstance(name, str) and is_user_defined(name):
                yield name, "a family", (*path, "family")
    for path, entry in _entries(data, "policies"):
        name = entry.get("name") if isinstance(entry, dict) else entry
        if isinstance(name, str) and is_user_defined(name):
            yield name, "a policy", path


def _entries(data: dict[str, Any], key: str) -> list[tuple[Path, Any]]:
    """What stands below a key, one or many, and where."""
    value = data.get(key)
    return [((key, k), one) for k, one in enumerate(value)] if isinstance(value, list) else [((key,), value)]


def _import_from(name: str, what: str, folder: FilePath, path: Path) -> None:
    try:
        load_object(name, what, folder=folder)
    except MatchbanditError as error:
        raise SettingError(str(error), *path) from error

"""What commands print: a record as text or JSON, tables, and wrapped paragraphs."""

import inspect
import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import wraps
from math import isfinite
from shutil import get_terminal_size
from textwrap import fill
from types import NoneType
from typing import Annotated, Any, NamedTuple

import typer

from matchbandit.formatting import fixed

PIPE_WIDTH = 120
"""Columns of text that goes to a file or a pipe."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]


class Output(NamedTuple):
    """What a command prints."""

    data: Any
    """The record that `--json` prints."""
    text: str | Callable[[], None]
    """Lines to print otherwise, or the function that prints them."""
    exit_code: int = 0
    warning: str | None = None
    """Why the data are not to be trusted; printed before the text."""


def prints_output(function: Callable[..., Output]) -> Callable[..., None]:
    """Make a command of a function that returns an `Output`: add `--json`, and print the text or the data."""

    @wraps(function)
    def command(*args: Any, as_json: bool = False, **options: Any) -> None:
        output = function(*args, **options)
        if as_json:
            print_json(output.data)
        else:
            if output.warning is not None:
                print_wrapped(f"warning: {output.warning}")
            if callable(output.text):
                output.text()
            elif output.text:
                typer.echo(output.text)
        if output.exit_code:
            raise typer.Exit(output.exit_code)

    flag = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    set_parameters(command, [*inspect.signature(function).parameters.values(), flag])
    return command


def set_parameters(command: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Set the signature of a wrapper, from which its options and arguments are made."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}


# --- JSON ---


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(to_json_data(value), ensure_ascii=not is_utf8, allow_nan=False))


def to_json_data(value: Any) -> Any:
    """Convert records to JSON data.

    A dict with pairs as keys becomes a list of [first, second, value], and a number that is not finite null.

    >>> to_json_data({("ann", "bob"): 1.0, ("ann", "cem"): float("nan")})
    [['ann', 'bob', 1.0], ['ann', 'cem', None]]
    """
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        if value and all(isinstance(key, tuple) for key in value):
            return [[*key, to_json_data(each)] for key, each in value.items()]
        return {str(key): to_json_data(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json_data(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


# --- text ---


def format_setting(value: Any) -> str:
    """Format the value of an option as it is typed."""
    if isinstance(value, list | tuple):
        return json.dumps(value).replace(" ", "")
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def format_options(options: Mapping[str, Any]) -> str:
    """Format options as they are typed.

    >>> format_options({"growth": 4.0, "cap_windows": False})
    'growth=4.0, cap_windows=false'
    """
    return ", ".join(f"{key}={format_setting(value)}" for key, value in options.items())


def print_wrapped(text: str, *, indent: int = 0, first: str = "") -> None:
    """Print a paragraph, broken only at spaces; `first` precedes its first line, within the indent."""
    typer.echo(_fill(text, initial_indent=f"{first:<{indent}}", subsequent_indent=" " * indent).rstrip())


def print_records(rows: Sequence[Sequence[Any]], heads: Sequence[str]) -> None:
    """Print a table of values; numbers are aligned right, and columns without any value left out."""
    columns = [k for k in range(len(heads)) if any(row[k] not in (None, "") for row in rows)]
    right = [heads[k] for k in columns if all(type(row[k]) in (int, float, NoneType) for row in rows)]
    print_table([heads[k] for k in columns], [[_cell(row[k]) for k in columns] for row in rows], right=right)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, list | tuple):
        return " + ".join(value)
    return "" if value is None else fixed(value, 2) if isinstance(value, float) else str(value)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str] = ()) -> None:
    """Print a table whose words and numbers stay whole; the columns with heads in `right` hold numbers.

    Where the terminal is too narrow for that, print each row as a paragraph of its heads and cells.
    """
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = [(head, *(row[k] for row in rows)) for k, head in enumerate(heads)]
    widths = [max(1, *map(cell_len, column)) for column in columns]
    minima = [
        width if head in right else max(1, *(cell_len(word) for cell in column for word in cell.split(" ")))
        for head, width, column in zip(heads, widths, columns, strict=True)
    ]
    room = _width() - 2 * (len(heads) - 1)
    if sum(minima) > room:
        for row in rows:
            for head, cell in zip(heads, row, strict=True):
                typer.echo(_fill(f"{head}: {cell}".lstrip(": "), subsequent_indent="  "))
            typer.echo()
        return
    while sum(widths) > room:
        widest = max((k for k in range(len(heads)) if widths[k] > minima[k]), key=widths.__getitem__)
        widths[widest] -= 1
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for head, width in zip(heads, widths, strict=True):
        table.add_column(Text(head), width=width, justify="right" if head in right else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(file=sys.stdout, width=_width(), highlight=False)
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        typer.echo(line.rstrip())


def _fill(text: str, **indents: str) -> str:
    return fill(text, _width(), break_long_words=False, break_on_hyphens=False, **indents)  # type: ignore[arg-type]


def _width() -> int:
    """Return the columns of the terminal."""
    return get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH

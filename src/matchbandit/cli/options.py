"""What verbs share: options, paragraphs, tables."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from shutil import get_terminal_size
from textwrap import fill, wrap
from typing import Annotated, Any
from unicodedata import combining, east_asian_width

import typer

Json = Annotated[bool, typer.Option("--json", help="Print machine-readable output, and nothing else.")]
Seed = Annotated[str, typer.Option(help="The root of all random streams.")]
PolicyName = Annotated[
    str, typer.Option("--policy", help="A name from `matchbandit policies`, or module:Class of your own.")
]
Option = Annotated[list[str] | None, typer.Option(help="An option of the policy, key=value.")]
U = Annotated[str | None, typer.Option(help="Strengths of rows or players: 0.9,0.3,0.2 or 0.9 0.3 0.2.")]
V = Annotated[str | None, typer.Option(help="Strengths of columns; leave out for players.")]
FamilyName = Annotated[
    str | None,
    typer.Option(
        "--family", help="Instead of --u: a family's name, or module:function of your own (see the docs), with --param."
    ),
]
Param = Annotated[list[str] | None, typer.Option(help="A parameter of the family, key=value.")]
Epsilon = Annotated[
    str | None,
    typer.Option(
        help="Accept an answer worth (1 − ε) × the optimum, for example 0.05; for policies that support it. "
        "Short for --option epsilon=…."
    ),
]
Budget = Annotated[
    str | None, typer.Option(help="Identify within this number of rounds instead, for example 1e4: sequential-halving.")
]
Rewards = Annotated[str, typer.Option(help="The reward distribution: bernoulli, gaussian:SD or binomial:TRIALS.")]
Drift = Annotated[
    str | None,
    typer.Option(
        help="Let the strengths drift: random-walk:STEP, seasons:PERIOD:AMPLITUDE, jumps:RATE or jumps:rounds=R,…; "
        "further parameters follow as :name=value."
    ),
]
Runs = Annotated[str, typer.Option(help="Independent runs.")]
Save = Annotated[str | None, typer.Option(help="Keep all runs in this .parquet file, and their details beside it.")]
Engine = Annotated[str, typer.Option(help="auto, step, jump or loop.")]
Workers = Annotated[str | None, typer.Option(help="Processes; by default one for each core.", show_default=False)]


def as_typed(value: Any) -> str:
    """An option's value as it would be typed."""
    if isinstance(value, list | tuple):
        return json.dumps(value).replace(" ", "")
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def as_printed(about: Mapping[str, Any]) -> dict[str, Any]:
    """What was played, without the date: the same command prints the same text on any day. Files keep the date."""
    return {key: value for key, value in about.items() if key != "date"}


def say(text: str, *, indent: int = 0, first: str = "") -> None:
    """Print a paragraph on stdout, broken at spaces only; `first` stands before it, in the indent."""
    begin = f"{first:<{indent}}"
    typer.echo(fill(text, _width(), initial_indent=begin, subsequent_indent=" " * indent, **_AT_SPACES).rstrip())


def table(heads: tuple[str, ...], lines: Sequence[tuple[str, ...]], *, right: bool = False) -> None:
    """Print lines under heads, on stdout; words and numbers stay whole.

    Where the terminal is too narrow for that, every line becomes a paragraph: its heads, each with what stands below.
    """
    cells = [[_DIGITS.sub("\u00a0", cell) for cell in line] for line in (heads, *lines)]  # no break within a number
    columns = list(zip(*cells, strict=True))
    least = [max((_columns(word) for cell in column for word in cell.split(" ")), default=0) for column in columns]
    widths = [max(1, *map(_columns, column)) for column in columns]
    room = _width() - 2 * (len(heads) - 1)
    if sum(least) > room:
        for named in lines:
            for head, cell in zip(heads, named, strict=True):
                typer.echo(fill(f"{head}: {cell}".lstrip(": "), _width(), subsequent_indent="  ", **_AT_SPACES))
            typer.echo()
        return
    while sum(widths) > room:
        widest = max((k for k in range(len(heads)) if widths[k] > least[k]), key=widths.__getitem__)
        widths[widest] -= 1
    for number, line in enumerate(cells):
        wrapped = [wrap(cell, width, **_AT_SPACES) for cell, width in zip(line, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            laid = [_padded(part, width, right=right) for part, width in zip(parts, widths, strict=True)]
            typer.echo("  ".join(laid).replace("\u00a0", " ").rstrip())
        if number == 0:
            typer.echo("─" * (sum(widths) + 2 * len(widths) - 2))


def _padded(text: str, width: int, *, right: bool) -> str:
    spaces = " " * (width - _columns(text))
    return f"{spaces}{text}" if right else f"{text}{spaces}"


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese, Japanese and Korean signs take two, accents none.

    >>> _columns("Zoë"), _columns("王小明")
    (3, 6)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _width() -> int:
    """Columns of the terminal; 120 in a file or a pipe."""
    return get_terminal_size().columns if sys.stdout.isatty() else 120


_AT_SPACES: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
_DIGITS = re.compile(r"(?<=\d) (?=\d{3}\b)")

"""What verbs share: options, tables, progress."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print machine-readable output, and nothing else.")]
Seed = Annotated[str, typer.Option(help="The root of all random streams.")]
PolicyName = Annotated[str, typer.Option("--policy", help="A name from `matchbandit policies`.")]
Option = Annotated[list[str] | None, typer.Option(help="An option of the policy, key=value.")]
U = Annotated[str | None, typer.Option(help="Strengths of rows or players: 0.9,0.3,0.2 or 0.9 0.3 0.2.")]
V = Annotated[str | None, typer.Option(help="Strengths of columns; leave out for players.")]
FamilyName = Annotated[
    str | None,
    typer.Option("--family", help="Instead of --u: spiked, fixed-mean, staircase or centred; see --param."),
]
Param = Annotated[list[str] | None, typer.Option(help="A parameter of the family, key=value.")]
Rewards = Annotated[str, typer.Option(help="bernoulli, gaussian:SD or binomial:TRIALS.")]
Engine = Annotated[str, typer.Option(help="auto, step, jump or loop.")]
Workers = Annotated[str | None, typer.Option(help="Processes; by default one for each core.", show_default=False)]


def as_typed(value: Any) -> str:
    """An option's value as it would be typed."""
    if isinstance(value, list | tuple):
        return json.dumps(value).replace(" ", "")
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "run"), counted(2, "run")
    ('1 run', '2 runs')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def table(heads: tuple[str, ...], lines: Sequence[tuple[str, ...]], *, right: bool = False) -> None:
    """Print lines under heads, on stdout."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        grid.add_column(head, justify="right" if right else "left", overflow="fold")
    for line in lines:
        grid.add_row(*line)
    Console(width=None if sys.stdout.isatty() else 120).print(grid)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr, if that is a terminal: call it with what is at work, the runs done and their total."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(title, total=None)
        yield lambda what, done, total: bars.update(bar, description=f"{title}: {what}", completed=done, total=total)

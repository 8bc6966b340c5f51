"""What verbs share: options, tables, progress."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print machine-readable output, and nothing else.")]
Seed = Annotated[int, typer.Option(help="The root of all random streams.")]
Workers = Annotated[int | None, typer.Option(help="Processes; by default one for each core.", show_default=False)]


def as_typed(value: Any) -> str:
    """An option's value as it would be typed."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


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

"""Results from before, in a file: --column, --kind and --on-missing say how it is read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.parsing import settings
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.past_results import PastResults

Kind = Annotated[
    str | None,
    typer.Option(
        help="players or sides: are the items of that file on one side, or on two? Seen by their names if left out.",
        show_default=False,
    ),
]
OnMissing = Annotated[
    str | None,
    typer.Option(help="Rows of that file without a name: error (by default), or skip.", show_default=False),
]


def read_past(path: Path, column: list[str] | None, *, kind: str | None, on_missing: str | None) -> "PastResults":
    """The results of a CSV or Parquet file; what is skipped is said on stderr."""
    from matchbandit.past_results import read_results, skipped_rows

    results = read_results(
        path,
        columns=columns_typed(column) or None,
        kind=kind,  # type: ignore[arg-type]  # others are refused with their name, here and below
        on_missing=on_missing or "error",  # type: ignore[arg-type]
    )
    if results.skipped:
        typer.echo(f"{path.name}: {skipped_rows(results.skipped)}.", err=True)
    return results


def refuse_without_file(file: str, *, column: list[str] | None, kind: str | None, on_missing: str | None) -> None:
    """Refuse what says how a file is read where none is given."""
    for name, typed, what in (
        ("--column", column, "whose columns it names"),
        ("--kind", kind, "whose items it places"),
        ("--on-missing", on_missing, "whose rows it skips"),
    ):
        if typed:
            raise MatchbanditError(f"{name} goes with {file}, {what}.")


def columns_typed(column: list[str] | None) -> dict[str, str]:
    """Which column is what, of `first=ad,second=slot` or of one such option for each.

    >>> columns_typed(["first=ad,second=slot", "reward=clicked, or not"])
    {'first': 'ad', 'second': 'slot', 'reward': 'clicked, or not'}
    """
    parts: list[str] = []
    for text in column or []:
        first, *more = text.split(",")
        parts.append(first)
        for part in more:  # a comma that no role follows belongs to the name of a column
            if "=" in part:
                parts.append(part.strip())
            else:
                parts[-1] += f",{part}"
    return {key: str(value) for key, value in settings("--column", parts).items()}

"""Results from before, in a file of which --column names the columns."""

from pathlib import Path
from typing import TYPE_CHECKING

from matchbandit.cli.parsing import settings

if TYPE_CHECKING:
    from matchbandit.past_results import PastResults, ResultsKind


def read_past(path: Path, column: list[str] | None, *, kind: "ResultsKind | None" = None) -> "PastResults":
    """The results of a CSV or Parquet file; None: whether it has players or two sides is seen by its names."""
    from matchbandit.past_results import read_results

    return read_results(path, columns=columns_typed(column) or None, kind=kind)


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

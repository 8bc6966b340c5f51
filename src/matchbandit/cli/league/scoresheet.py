"""Scoresheets: CSV files with a line for each pair of a proposal, to be filled in and read back."""

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING

from matchbandit.cli.league.parameters import parse_outcome
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import float_text

if TYPE_CHECKING:
    from matchbandit.cli.league.parameters import Outcomes
    from matchbandit.live.records import Proposal

HEADS = ("proposal", "first", "second", "outcome")


def check_writable(path: Path) -> None:
    """Refuse a place where no scoresheet can be written, before a proposal is made for it."""
    place = path if path.exists() else path.absolute().parent
    if path.is_dir() or not os.access(place, os.W_OK):
        why = "it is a folder" if path.is_dir() else "no such folder" if not place.exists() else "it is not writable"
        raise MatchbanditError(f"--sheet {path} cannot be written: {why}. Name another file; nothing was proposed.")


def write_scoresheet(proposal: "Proposal", path: Path) -> None:
    """Write a line for each pair; missing outcomes are empty."""
    from matchbandit.live import VOID
    from matchbandit.live.csv_tables import quote_formula

    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(HEADS)
        for pair in proposal.pairs:
            outcome = proposal.outcomes.get(pair)
            text = "" if outcome is None else "void" if outcome is VOID else float_text(outcome)
            lines.writerow((proposal.number, *map(quote_formula, pair), text))


def read_scoresheet(path: Path, number: int) -> "Outcomes":
    """Read the outcomes of a scoresheet; lines without one are skipped, a sheet of another proposal is refused."""
    from matchbandit.live.csv_tables import unquote_formula

    outcomes: Outcomes = []
    for at, line in _lines(path):
        where = f"{path}, line {at}"
        proposal = line.get("proposal", "").strip()
        if proposal not in ("", str(number)):
            raise MatchbanditError(
                f"{where} belongs to proposal {proposal}, not to {number}. Use the number of its proposal."
            )
        if not line["outcome"].strip():
            continue
        pair = (unquote_formula(line["first"].strip()), unquote_formula(line["second"].strip()))
        if not all(pair):
            raise MatchbanditError(f"{where}: a name is missing. A line has {', '.join(HEADS)}.")
        outcomes.append((*pair, parse_outcome(line["outcome"], where=where)))
    if not outcomes:
        raise MatchbanditError(f"{path} has no outcomes yet. Fill in the column 'outcome'; empty ones are skipped.")
    return outcomes


def _lines(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Read the lines below the header, with their numbers."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets put a mark in front
            rows = csv.reader(file)
            heads = [head.strip().lower() for head in next(rows, [])]
            lines = [(rows.line_num, row) for row in rows if any(row)]
    except OSError as error:
        raise MatchbanditError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise MatchbanditError(f"{path} is not a CSV file in UTF-8: {error}.") from None
    missing = [head for head in HEADS[1:] if head not in heads]
    if missing:
        raise MatchbanditError(
            f"{path} has no column {missing[0]!r}. Its first line must name {', '.join(HEADS[1:])}, and may name "
            f"proposal."
        )
    return [(at, dict(zip(heads, [*row, *[""] * len(heads)], strict=False))) for at, row in lines]

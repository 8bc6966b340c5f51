"""Scoresheets: CSV files with a line for each pair of a proposal, to be filled in and read back."""

import csv
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from matchbandit.cli.league.output import format_outcome
from matchbandit.cli.league.parameters import parse_pair
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.leagues.records import Outcome, Proposal

    Outcomes = list[tuple[str, str, Outcome]]

HEADS = ("proposal", "first", "second", "outcome")


def check_writable(path: Path) -> None:
    """Refuse a place where no scoresheet can be written, before a proposal is made for it."""
    place = path if path.exists() else path.absolute().parent
    if path.is_dir() or not os.access(place, os.W_OK):
        why = "it is a folder" if path.is_dir() else "no such folder" if not place.exists() else "it is not writable"
        raise MatchbanditError(f"--sheet {path} cannot be written: {why}. Name another file; nothing was proposed.")


def write_scoresheet(proposal: "Proposal", path: Path) -> None:
    """Write a line for each pair; missing outcomes are empty."""
    from matchbandit.leagues.csv_tables import quote_formula

    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(HEADS)
        for pair in proposal.pairs:
            outcome = "" if pair.outcome is None else format_outcome(pair.outcome)
            lines.writerow((proposal.number, *map(quote_formula, pair.names), outcome))


def read_scoresheet(path: Path, number: int | None) -> "dict[int, Outcomes]":
    """Read the outcomes of a scoresheet by proposal; lines without one are skipped.

    Lines of a sheet name their proposals, unless `number` does.
    """
    from matchbandit.leagues.csv_tables import unquote_formula

    outcomes: dict[int, Outcomes] = {}
    for at, line in _lines(path):
        where, proposal = f"{path}, line {at}", line.get("proposal", "").strip()
        if number is not None and proposal not in ("", str(number)):
            raise MatchbanditError(f"{where} belongs to proposal {proposal}, not to {number}. Name that, or none.")
        if not line["outcome"].strip():
            continue
        if number is None and not (proposal.isascii() and proposal.isdecimal() and len(proposal) < 19):
            raise MatchbanditError(f"{where}: 'proposal' must be its number; got {proposal!r}. Fill it in, or type it.")
        first, second = (unquote_formula(line[head].strip()) for head in HEADS[1:3])
        if not (first and second):
            raise MatchbanditError(f"{where}: a name is missing. A line has {', '.join(HEADS)}.")
        row = (first, second, parse_outcome(line["outcome"], where=where))
        outcomes.setdefault(int(proposal) if number is None else number, []).append(row)
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
    for head in HEADS[1:]:
        if head not in heads:
            need = f"Its first line must name {', '.join(HEADS[1:])}, and may name proposal."
            raise MatchbanditError(f"{path} has no column {head!r}. {need}")
    return [(at, dict(zip(heads, [*row, *[""] * len(heads)], strict=False))) for at, row in lines]


def parse_outcomes(texts: Iterable[str], known: Callable[[], Iterable[str]]) -> "Outcomes":
    """Parse the outcomes of `ann+bob=1 cem+dee=void`.

    >>> parse_outcomes(["ann+bob=1", "cem+dee=void"], list)
    [('ann', 'bob', 1.0), ('cem', 'dee', VOID)]
    """
    outcomes: Outcomes = []
    for text in texts:
        pair, equals, outcome = text.rpartition("=")
        if not equals:
            raise MatchbanditError(f"an outcome is typed like ann+bob=1 or ann+bob=void; got {text!r}.")
        outcomes.append((*parse_pair(pair, known), parse_outcome(outcome, where=pair)))
    return outcomes


def parse_outcome(text: str, *, where: str) -> "Outcome":
    """Parse a number, or `void` for a pair that never met."""
    from matchbandit.leagues.records import VOID

    try:
        return VOID if text.strip().lower() == "void" else float(text)
    except ValueError:
        raise MatchbanditError(
            f"{where}: an outcome is a number, what the pair achieved together, or void if it never met; got {text!r}."
        ) from None

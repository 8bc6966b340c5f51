"""`matchbandit league ask` and `tell`: proposals, their outcomes, and scoresheets, which are CSV files of outcomes."""

import csv
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.output import format_outcome, format_receipt, print_proposal
from matchbandit.cli.league.parameters import BY, item_names, on_league, parse_names, parse_pair
from matchbandit.cli.output import Output
from matchbandit.cli.parameters import argument, optional, parse_int, parsed_by
from matchbandit.errors import MatchbanditError, unknown

if TYPE_CHECKING:
    from matchbandit.leagues import League
    from matchbandit.leagues.items import Name
    from matchbandit.leagues.records import Outcome, Proposal

    Outcomes = list[tuple[str, str, Outcome]]

HEADS = ("proposal", "first", "second", "outcome")
_AVAILABLE_HELP = "Pair only these, separated by commas; quote a name that contains one: '\"Dee, Jr.\",eve'."


@on_league
def ask(
    league: "League",
    available: Annotated[list[str] | None, optional(_AVAILABLE_HELP, metavar="NAMES")] = None,
    absent: Annotated[list[str] | None, optional("Pair everybody but these, written alike.", metavar="NAMES")] = None,
    fix: Annotated[list[str] | None, optional("A pair that must be proposed: ann+bob.", metavar="PAIR")] = None,
    key: Annotated[str | None, optional("With the same key, the same proposal again.", metavar="TEXT")] = None,
    sheet: Annotated[Path | None, optional("Write a scoresheet to fill in, as CSV.", metavar="FILE")] = None,
) -> Output:
    """Ask whom to pair today.

    Returns a numbered proposal. Earlier ones may still be open.
    """
    if sheet is not None:
        check_writable(sheet)
    names = _resolve_available(league, available, absent)
    fixed = [parse_pair(text, lambda: item_names(league)) for text in fix] if fix else None
    proposal = league.ask(available=names, fixed=fixed, key=key, by=BY)
    if sheet is not None:
        write_scoresheet(proposal, sheet)
    return Output(proposal, lambda: print_proposal(proposal), warning=proposal.warning)


def _resolve_available(league: "League", available: list[str] | None, absent: list[str] | None) -> "list[Name] | None":
    """Return who can be paired; None for all."""
    if available and absent:
        raise MatchbanditError("give --available or --absent, not both.")
    if not absent:
        return [*parse_names(available, item_names(league))] if available else None
    active = {item.id: item.name for item in league.items(active=True)}
    absentees = parse_names(absent, active.values())
    for name in absentees:
        if name not in active.values():
            raise unknown("item", name, active.values())
    return [item for item, name in active.items() if name not in absentees]


def _parse_number(text: str) -> int:
    if "+" in text.strip("+"):
        raise MatchbanditError(f"the number of the proposal comes first: tell LEAGUE NUMBER {text}.")
    return parse_int("NUMBER", text)


_NUMBER = parsed_by(_parse_number, "NUMBER")
_SHEET_HELP = "A CSV file with the columns first, second, outcome and perhaps proposal; empty outcomes are skipped."


@on_league
def tell(
    league: "League",
    number: Annotated[int | None, argument("[NUMBER]", "Number of the proposal.", _NUMBER)] = None,
    outcomes: Annotated[list[str] | None, argument("[PAIR=OUTCOME]...", "Such as ann+bob=1 or ann+bob=void.")] = None,
    correct: Annotated[bool, typer.Option("--correct", help="Replace recorded outcomes.")] = False,
    void: Annotated[bool, typer.Option("--void", help="These pairs, or all without outcome, never met.")] = False,
    sheet: Annotated[Path | None, optional(_SHEET_HELP, metavar="FILE")] = None,
) -> Output:
    """Record what pairs achieved together: some or all, late, in any order.

    Repeating an outcome changes nothing; a different one is refused, except with --correct: the history keeps both. A
    void outcome is not a result, and not 0. A --sheet may be about several proposals.
    """
    if number is None and sheet is None:
        raise MatchbanditError("say which proposal: tell LEAGUE NUMBER ann+bob=1.")
    if void:
        if number is None or correct or sheet is not None:
            raise MatchbanditError("--void goes with a proposal and pairs, such as ann+bob; not with other options.")
        pairs = [parse_pair(text, lambda: item_names(league)) for text in outcomes or []]
        receipt = league.void(number, pairs or None, by=BY)
        return Output([receipt], format_receipt(receipt))
    if bool(outcomes) == (sheet is not None):
        raise MatchbanditError("give outcomes, such as ann+bob=1 or ann+bob=void, or a file of them with --sheet.")
    typed = {number or 0: parse_outcomes(outcomes or [], lambda: item_names(league))}
    rows = typed if sheet is None else read_scoresheet(sheet, number)
    if correct:
        receipts = [league.correct(each, part, by=BY) for each, part in rows.items()]
    else:
        receipts = league.tell_many(rows, by=BY)
    return Output(receipts, "\n".join(map(format_receipt, receipts)))


# --- outcomes ---


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
            reader = csv.DictReader(file, restval="")
            heads = reader.fieldnames = [head.strip().lower() for head in reader.fieldnames or []]
            lines = [(reader.line_num, line) for line in reader]
    except OSError as error:
        raise MatchbanditError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise MatchbanditError(f"{path} is not a CSV file in UTF-8: {error}.") from None
    for head in HEADS[1:]:
        if head not in heads:
            raise MatchbanditError(f"{path} has no column {head!r}. Its first line must name {', '.join(HEADS[1:])}.")
    return lines


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
        kinds = "a number, what the pair achieved together, or void if it never met"
        raise MatchbanditError(f"{where}: an outcome is {kinds}; got {text!r}.") from None

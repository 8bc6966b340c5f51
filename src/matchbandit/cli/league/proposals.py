"""`matchbandit league ask` and `tell`: proposals and their outcomes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.output import format_receipt, print_proposal
from matchbandit.cli.league.parameters import ALL, BY, item_names, on_league, parse_names, parse_pair
from matchbandit.cli.league.scoresheet import check_writable, parse_outcomes, read_scoresheet, write_scoresheet
from matchbandit.cli.output import Output
from matchbandit.cli.parameters import argument, optional, parse_int, parsed_by
from matchbandit.errors import MatchbanditError, unknown

if TYPE_CHECKING:
    from matchbandit.leagues import League
    from matchbandit.leagues.items import Name

_AVAILABLE_HELP = (
    "Pair only these, separated by commas, or with the option repeated; by default everybody who has not left. Quote a "
    "name that contains a comma: '\"Dee, Jr.\",eve'."
)


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
    return Output(proposal, lambda: print_proposal(proposal))


def _resolve_available(league: "League", available: list[str] | None, absent: list[str] | None) -> "list[Name] | None":
    """Return who can be paired; None for all."""
    if available and absent:
        raise MatchbanditError("give --available or --absent, not both.")
    if not absent:
        return [*parse_names(available, item_names(league))] if available else None
    active = {item.id: item.name for item in league.items(limit=ALL, active=True)}
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
    """Record what pairs achieved together.

    Some pairs or all, late, in any order. Repeating an outcome changes nothing; a different one is refused, except
    with --correct: the history keeps both. A void outcome is not a result, and not 0. A --sheet may be about several
    proposals.
    """
    if number is None and sheet is None:
        raise MatchbanditError("say which proposal: tell LEAGUE NUMBER ann+bob=1.")
    if void:
        if number is None or correct or sheet is not None:
            raise MatchbanditError("--void goes with a proposal and pairs, such as ann+bob; not with other options.")
        pairs = [parse_pair(text, lambda: item_names(league)) for text in outcomes or []]
        receipts = [league.void(number, pairs or None, by=BY)]
        return Output(receipts, format_receipt(receipts[0]))
    if bool(outcomes) == (sheet is not None):
        raise MatchbanditError("give outcomes, such as ann+bob=1 or ann+bob=void, or a file of them with --sheet.")
    if sheet is not None:
        rows = read_scoresheet(sheet, number)
    else:
        rows = {number or 0: parse_outcomes(outcomes or [], lambda: item_names(league))}
    if correct:
        receipts = [league.correct(each, part, by=BY) for each, part in rows.items()]
    else:
        receipts = league.tell_many(rows, by=BY)
    return Output(receipts, "\n".join(map(format_receipt, receipts)))

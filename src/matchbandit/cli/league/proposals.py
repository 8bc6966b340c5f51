"""`matchbandit league ask`, `tell`, `correct` and `void`: proposals and their outcomes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.output import format_receipt, print_proposal, proposal_data
from matchbandit.cli.league.parameters import (
    BY,
    LeagueName,
    ProposalNumber,
    StoreUrl,
    open_league,
    parse_names,
    parse_outcomes,
    parse_pairs,
)
from matchbandit.cli.league.scoresheet import check_writable, read_scoresheet, write_scoresheet
from matchbandit.cli.output import Output, prints_output
from matchbandit.errors import MatchbanditError, unknown

if TYPE_CHECKING:
    from matchbandit.cli.league.parameters import Outcomes as OutcomeRows
    from matchbandit.live.commands import Name
    from matchbandit.live.league import League

Outcomes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PAIR=OUTCOME]...", help="Such as ann+bob=1 or ann+bob=void.", show_default=False),
]
Scoresheet = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A CSV file with the columns first, second, outcome; empty outcomes are skipped."
    ),
]


@prints_output
def ask(
    league: LeagueName,
    available: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Pair only these, separated by commas, or with the option repeated; by default everybody who has not "
            "left. Quote a name that contains a comma: '\"Dee, Jr.\",eve'.",
        ),
    ] = None,
    absent: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Pair everybody but these, written in the same way.")
    ] = None,
    fix: Annotated[
        list[str] | None, typer.Option(metavar="PAIR", help="A pair that must be proposed, such as ann+bob.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="An idempotency key: the same key returns the same proposal again."),
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a scoresheet to fill in, as a CSV file.")
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Ask whom to pair today.

    Returns a numbered proposal. Earlier ones may still be open.
    """
    if sheet is not None:
        check_writable(sheet)
    with open_league(store, league) as opened:
        proposal = opened.ask(
            available=_resolve_available(opened, available, absent),
            fixed=parse_pairs(fix, lambda: _names(opened)) if fix else None,
            key=key,
            by=BY,
        )
        if sheet is not None:
            write_scoresheet(proposal, sheet)
    return Output(proposal_data(proposal), lambda: print_proposal(proposal))


def _resolve_available(league: "League", available: list[str] | None, absent: list[str] | None) -> "list[Name] | None":
    """Return who can be paired; None for all."""
    if available and absent:
        raise MatchbanditError("give --available or --absent, not both.")
    if not absent:
        return [*parse_names(available, _names(league))] if available else None
    active = {item.id: item.name for item in league.items() if item.active}
    absentees = parse_names(absent, active.values())
    for name in absentees:
        if name not in active.values():
            raise unknown("item", name, active.values())
    return [item for item, name in active.items() if name not in absentees]


def _names(league: "League") -> list[str]:
    return [item.name for item in league.items()]


@prints_output
def tell(
    league: LeagueName,
    number: ProposalNumber,
    outcomes: Outcomes = None,
    sheet: Scoresheet = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Record what pairs achieved together.

    Some pairs or all, late, in any order. Repeating an outcome changes nothing; a different one is refused: see
    correct.
    """
    with open_league(store, league) as opened:
        receipt = opened.tell(number, _outcome_rows(opened, number, outcomes, sheet), by=BY)
    return Output(receipt, format_receipt(receipt))


@prints_output
def correct(
    league: LeagueName,
    number: ProposalNumber,
    outcomes: Outcomes = None,
    sheet: Scoresheet = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Correct recorded outcomes.

    The audit trail keeps both.
    """
    with open_league(store, league) as opened:
        receipt = opened.correct(number, _outcome_rows(opened, number, outcomes, sheet), by=BY)
    return Output(receipt, format_receipt(receipt))


def _outcome_rows(league: "League", number: int, outcomes: list[str] | None, sheet: Path | None) -> "OutcomeRows":
    """Return the outcomes of the command line, or of a scoresheet."""
    if bool(outcomes) == (sheet is not None):
        raise MatchbanditError("give outcomes, such as ann+bob=1 or ann+bob=void, or a file of them with --sheet.")
    return read_scoresheet(sheet, number) if sheet else parse_outcomes(outcomes or [], lambda: _names(league))


@prints_output
def void(
    league: LeagueName,
    number: ProposalNumber,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAIR]...", help="Such as ann+bob; by default all without an outcome.", show_default=False
        ),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Record that pairs never met.

    A void outcome is not a result, and not 0.
    """
    with open_league(store, league) as opened:
        names = parse_pairs(pairs, lambda: _names(opened)) if pairs else None
        receipt = opened.void(number, names, by=BY)
    return Output(receipt, format_receipt(receipt))

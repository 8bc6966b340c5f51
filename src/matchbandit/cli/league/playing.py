"""`matchbandit league ask`, `tell`, `correct`, `void`: whom to pair, and what came back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.league.common import (
    BY,
    STORE,
    LeagueName,
    Number,
    StoreUrl,
    names_in,
    opened_league,
    outcomes_typed,
    pairs_typed,
    print_json,
    print_proposal,
    print_receipt,
    proposal_data,
)
from matchbandit.cli.league.scoresheet import check_writable, read_scoresheet, write_scoresheet
from matchbandit.cli.options import Json
from matchbandit.cli.parsing import whole
from matchbandit.errors import MatchbanditError, unknown

if TYPE_CHECKING:
    from matchbandit.cli.league.common import Outcomes as OutcomeRows
    from matchbandit.live.commands import Name
    from matchbandit.live.league import League

Outcomes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PAIR=OUTCOME]...", help="Such as ann+bob=1 or ann+bob=void.", show_default=False),
]
Scoresheet = Annotated[
    Path | None,
    typer.Option(help="A scoresheet: a CSV file with the columns first, second, outcome; empty outcomes are left out."),
]


def ask(
    league: LeagueName,
    available: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these, separated by commas, or one at a time with the option repeated; by default all who have "
            "not left. Quote a name with a comma if it is taken for two: '\"Dee, Jr.\",eve'."
        ),
    ] = None,
    absent: Annotated[list[str] | None, typer.Option(help="All but these, written in the same way.")] = None,
    fix: Annotated[list[str] | None, typer.Option(help="A pair that must be among them, such as ann+bob.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Asked again with the same key, the same proposal is given, and no new one.")
    ] = None,
    sheet: Annotated[Path | None, typer.Option(help="Write a scoresheet, to be filled in, into this CSV file.")] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Ask whom to pair today.

    A numbered proposal. Earlier ones may still be open.
    """
    if sheet is not None:
        check_writable(sheet)
    with opened_league(store, league) as opened:
        proposal = opened.ask(
            available=_present(opened, available, absent),
            fixed=pairs_typed(fix, lambda: _names(opened)) if fix else None,
            key=key,
            by=BY,
        )
        if sheet is not None:
            write_scoresheet(proposal, sheet)
    if as_json:
        print_json(proposal_data(proposal))
    else:
        print_proposal(proposal)


def _present(league: "League", available: list[str] | None, absent: list[str] | None) -> "list[Name] | None":
    """Who can be paired; None: all."""
    if available and absent:
        raise MatchbanditError("give --available or --absent, not both.")
    if not absent:
        return [*names_in(available, _names(league))] if available else None
    active = {item.id: item.name for item in league.items() if item.active}
    away = names_in(absent, active.values())
    for name in away:
        if name not in active.values():
            raise unknown("item", name, active.values())
    return [item for item, name in active.items() if name not in away]


def _names(league: "League") -> list[str]:
    return [item.name for item in league.items()]


def tell(
    league: LeagueName,
    number: Number,
    outcomes: Outcomes = None,
    sheet: Scoresheet = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Tell what pairs achieved together.

    Some pairs or all, late, in any order. The same again changes nothing; something else is refused: see correct.
    """
    with opened_league(store, league) as opened:
        proposal = whole("NUMBER", number)
        receipt = opened.tell(proposal, _outcome_rows(opened, proposal, outcomes, sheet), by=BY)
    if as_json:
        print_json(receipt)
    else:
        print_receipt(receipt)


def correct(
    league: LeagueName,
    number: Number,
    outcomes: Outcomes = None,
    sheet: Scoresheet = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Correct outcomes that were told.

    The audit trail keeps both.
    """
    with opened_league(store, league) as opened:
        proposal = whole("NUMBER", number)
        receipt = opened.correct(proposal, _outcome_rows(opened, proposal, outcomes, sheet), by=BY)
    if as_json:
        print_json(receipt)
    else:
        print_receipt(receipt)


def _outcome_rows(league: "League", number: int, outcomes: list[str] | None, sheet: Path | None) -> "OutcomeRows":
    """What was typed, or what a scoresheet says."""
    if bool(outcomes) == (sheet is not None):
        raise MatchbanditError("give outcomes, such as ann+bob=1 or ann+bob=void, or a file of them with --sheet.")
    return read_scoresheet(sheet, number) if sheet else outcomes_typed(outcomes or [], lambda: _names(league))


def void(
    league: LeagueName,
    number: Number,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAIR]...", help="Such as ann+bob; by default all without an outcome.", show_default=False
        ),
    ] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Say that pairs never met.

    A void outcome is not a result, and not 0.
    """
    with opened_league(store, league) as opened:
        names = pairs_typed(pairs, lambda: _names(opened)) if pairs else None
        receipt = opened.void(whole("NUMBER", number), names, by=BY)
    if as_json:
        print_json(receipt)
    else:
        print_receipt(receipt)

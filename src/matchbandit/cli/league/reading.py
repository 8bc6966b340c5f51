"""`matchbandit league list`, `show`, `ranking`, `why`, `events`, `history`, `fit`, `shadow`: what is known, and why."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.league.opening import STORE, LeagueName, StoreUrl, opened_league, opened_store
from matchbandit.cli.league.shown import moment, print_json, print_open, print_proposal
from matchbandit.cli.league.typed import pair_typed
from matchbandit.cli.options import Json, counted, say, table
from matchbandit.cli.parsing import whole, whole_if
from matchbandit.errors import whole_number

if TYPE_CHECKING:
    from matchbandit.live import League


def list_(store: StoreUrl = STORE, as_json: Json = False) -> None:
    """List the leagues of a store."""
    with opened_store(store) as kept:
        abouts = [kept.open(name).about() for name in kept.leagues()]
    if as_json:
        print_json(abouts)


def show(
    league: LeagueName,
    number: Annotated[
        str | None, typer.Argument(metavar="[NUMBER]", help="One of its proposals.", show_default=False)
    ] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Show a league and what it waits for, or one proposal."""
    with opened_league(store, league) as opened:
        if number is None:
            print_about(opened, as_json=as_json)
            return
        proposal = opened.proposal(whole("NUMBER", number))
    if as_json:
        print_json(proposal)
    else:
        print_proposal(proposal)


def print_about(league: "League", *, as_json: bool) -> None:
    """The league's settings, and the pairs that it waits for."""
    about = league.about()
    if as_json:
        print_json(about)
        return
    print_open(league.open_proposals())


def ranking(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Rank the items by what pairs with them achieve."""


def why(
    league: LeagueName,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHAT]", help="A name, a pair such as ann+bob; nothing: the league.", show_default=False
        ),
    ] = None,
    proposal: Annotated[
        str | None, typer.Option(help="Or one of its proposals, by number.", show_default=False)
    ] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Say why, in a sentence and in numbers."""


def fit(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Test whether the results fit a product."""


def history(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """List the proposals, and what came of each."""


def meetings(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """List who met whom, how often, and what came of it."""


def events(
    league: LeagueName,
    after: Annotated[str, typer.Option(help="Only those after this one, by number.")] = "0",
    limit: Annotated[str | None, typer.Option(help="At most so many.", show_default=False)] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Print the log: who did what, and when."""


def shadow(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Compare the live policy with its shadow."""

"""`matchbandit league list`, `show`, `ranking`, `why`, `fit`, `history`, `meetings`, `events` and `shadow`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.completion import DEFAULT_STORE
from matchbandit.cli.league.output import format_outcome, format_time, print_league, print_proposal, proposal_data
from matchbandit.cli.league.parameters import (
    LeagueName,
    StoreUrl,
    open_league,
    open_store,
    parse_pair,
)
from matchbandit.cli.output import Output, print_table, print_wrapped, prints_output, to_json_data
from matchbandit.cli.parameters import integer
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import fixed, float_text, grouped, short

if TYPE_CHECKING:
    from matchbandit.live.league import League


@prints_output
def list_(
    archived: Annotated[bool, typer.Option("--archived", help="Include archived leagues.")] = False,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """List the leagues of a store."""
    with open_store(store) as opened:
        leagues = [opened.open(name).about() for name in opened.leagues(archived=archived)]
    if not leagues:
        return Output([], "no league yet. Create one: matchbandit league new NAME ann bob cem dee")
    counts = {"n_active": "items", "n_proposals": "proposals", "n_results": "results", "n_waiting": "pairs waiting"}
    rows = [
        (
            about["name"],
            "players" if about["sides"] is None else " × ".join(about["sides"]),
            about["policy"],
            *(grouped(about[key]) for key in counts),
        )
        for about in leagues
    ]
    return Output(
        leagues, lambda: print_table(("league", "of", "policy", *counts.values()), rows, right=counts.values())
    )


@prints_output
def show(
    league: LeagueName,
    number: Annotated[
        int | None,
        typer.Argument(help="One of its proposals.", show_default=False, **integer("NUMBER", metavar="[NUMBER]")),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Show a league and its missing outcomes, or one proposal."""
    with open_league(store, league) as opened:
        if number is None:
            return league_output(opened)
        proposal = opened.proposal(number)
    return Output(proposal_data(proposal), lambda: print_proposal(proposal))


def league_output(league: "League") -> Output:
    """Return the settings of a league, and the pairs whose outcome is missing."""
    about, open_proposals = league.about(), league.open_proposals()
    return Output(about, lambda: print_league(about, open_proposals))


@prints_output
def ranking(league: LeagueName, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Rank the items by their strength as partners.

    A pair is expected to achieve the product of its strengths. The interval contains a strength with probability 90 %.
    """
    with open_league(store, league) as opened:
        standings = opened.ranking()
    two_sided = any(standing.side is not None for standing in standings)
    rows = [
        (
            "–" if each.place is None else str(each.place),
            each.name,
            *([each.side or ""] if two_sided else []),
            fixed(each.estimate, 2),
            f"{fixed(each.low, 2)}–{fixed(each.high, 2)}",
            grouped(each.meetings),
            "" if each.mean is None else fixed(each.mean, 2),
        )
        for each in standings
    ]
    heads = ("", "name", *(["side"] if two_sided else []), "strength", "90 %", "results", "average")
    return Output(standings, lambda: print_table(heads, rows, right=("", "strength", "90 %", "results", "average")))


@prints_output
def why(
    league: LeagueName,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHAT]",
            help="A name, a pair such as ann+bob, or the number of a proposal; by default the league.",
            show_default=False,
        ),
    ] = None,
    proposal: Annotated[
        int | None,
        typer.Option(
            help="A proposal, by number, where an item has a number for a name.",
            show_default=False,
            **integer("--proposal"),
        ),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Explain a proposal, a pair or an item, in a sentence and in numbers."""
    if what is not None and proposal is not None:
        raise MatchbanditError("ask about a name, a pair or a proposal, one at a time.")
    with open_league(store, league) as opened:
        if proposal is not None:
            answer = opened.why(proposal)
        elif what is None:
            answer = opened.why()
        else:
            answer = opened.why(_parse_subject(what, [item.name for item in opened.items()]))

    def print_text() -> None:
        print_wrapped(answer.sentence)
        _print_numbers(to_json_data(answer.numbers))

    return Output(answer, print_text)


def _parse_subject(text: str, names: list[str]) -> str | int | tuple[str, str]:
    """Parse a name, the number of a proposal or a pair; a name takes precedence."""
    if text in names:
        return text
    if text.isascii() and text.isdecimal():
        return int(text)
    return parse_pair(text, lambda: names) if "+" in text else text


def _print_numbers(numbers: dict[str, Any]) -> None:
    """Print the pairs of a proposal as a table, or all numbers in a line."""
    pairs = numbers.get("pairs")
    if isinstance(pairs, list):
        rows = [
            (
                " + ".join(pair["names"]),
                *("" if pair[key] is None else fixed(pair[key], 2) for key in ("estimate", "value")),
                "yes" if pair["in_best_guess"] else "",
                format_outcome(pair["outcome"]),
            )
            for pair in pairs
        ]
        heads = ("pair", "expected", "drawn", "best guess too", "outcome")
        print_table(heads, rows, right=("expected", "drawn", "outcome"))
        return
    parts = [
        f"{key.replace('_', ' ')} {short(value)}"
        for key, value in numbers.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and key not in ("item", "proposal")
    ]
    print_wrapped(", ".join(parts))


@prints_output
def fit(league: LeagueName, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Test whether the results fit a product of strengths."""
    with open_league(store, league) as opened:
        answer = opened.fit()
    return Output(answer, lambda: print_wrapped(answer.sentence))


@prints_output
def history(league: LeagueName, store: StoreUrl = DEFAULT_STORE) -> Output:
    """List the proposals and their results.

    What the pairs with an outcome achieved, what the model expected of all pairs, and of its best guess.
    """
    with open_league(store, league) as opened:
        proposals = opened.history()
    rows = [
        (
            str(each.number),
            format_time(each.at),
            f"{each.told} of {each.pairs}",
            str(each.void),
            float_text(float(f"{each.reward:.6g}")),
            *("" if value is None else fixed(value, 2) for value in (each.expected, each.best)),
        )
        for each in proposals
    ]
    heads = ("proposal", "at", "known", "void", "achieved", "expected", "best guess")
    return Output(
        [{**to_json_data(each), "explored": each.explored} for each in proposals],
        lambda: print_table(heads, rows, right=[head for head in heads if head != "at"]),
    )


@prints_output
def meetings(league: LeagueName, store: StoreUrl = DEFAULT_STORE) -> Output:
    """List who met whom, how often, and with which results."""
    with open_league(store, league) as opened:
        results = opened.results()
    rows = [(f"{a} + {b}", grouped(count), fixed(total / count, 2)) for a, b, count, total in results]
    return Output(
        [{"pair": [a, b], "meetings": count, "total": total} for a, b, count, total in results],
        lambda: print_table(("pair", "meetings", "average"), rows, right=("meetings", "average")),
    )


@prints_output
def events(
    league: LeagueName,
    after: Annotated[
        int, typer.Option(help="Only events after the one with this number.", **integer("--after", minimum=0))
    ] = 0,
    limit: Annotated[
        int | None, typer.Option(help="Maximum number of events.", show_default=False, **integer("--limit"))
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> Output:
    """Print the log: who did what, and when.

    A sentence for each event; --json prints the events themselves, with ids instead of names.
    """
    with open_league(store, league) as opened:
        audit = opened.audit(after=after, limit=limit)
    rows = [(str(event.seq), format_time(event.at), event.by, sentence) for event, sentence in audit]
    return Output(
        [event for event, _ in audit], lambda: print_table(("event", "at", "by", "what"), rows, right=("event",))
    )


@prints_output
def shadow(league: LeagueName, store: StoreUrl = DEFAULT_STORE) -> Output:
    """Compare the live policy with its shadow."""
    with open_league(store, league) as opened:
        report = opened.shadow_report()
    return Output({**to_json_data(report), "sentence": report.sentence}, lambda: print_wrapped(report.sentence))

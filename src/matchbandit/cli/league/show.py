"""`matchbandit league list`, `show`, `ranking` and `why`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.league.leagues import league_output
from matchbandit.cli.league.output import format_interval, format_outcome, format_time, print_proposal
from matchbandit.cli.league.parameters import Names, Side, item_names, on_league, on_store, parse_pair
from matchbandit.cli.output import Output, print_records, print_wrapped
from matchbandit.cli.parameters import argument, choice, integer, optional
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.leagues import League, Store
    from matchbandit.leagues.records import Explanation

_STATUS = choice("status", ("active", "archived", "deleted"))
_LISTS = {
    "items": ("id", "name", "side", "active", "byes"),
    "proposals": ("proposal", "at", "names", "outcome", "fixed", "expected", "low", "high"),
    "results": ("names", "count", "mean"),
    "progress": ("number", "at", "pairs", "waiting", "void", "reward", "expected so far", "expected", "best"),
    "history": ("version", "at", "by", "sentence"),
}
"""The columns of each list that `show` prints."""


@on_store
def list_(store: "Store", status: Annotated[str, typer.Option(help="Which ones.", **_STATUS)] = "active") -> Output:
    """List the leagues of a store."""
    leagues = store.leagues(limit=None, status=status).rows
    if not leagues:
        hint = "no league yet. Create one: matchbandit league new NAME ann bob cem dee"
        return Output([], hint if status == "active" else f"no league is {status}.")
    heads = ("league", "title", "of", "policy", "items", "proposals", "results", "pairs waiting", "fit")
    rows = []
    for info in leagues:
        first = (info.slug, info.title, " × ".join(info.sides or ["players"]), info.settings["policy"])
        rows.append((*first, info.active, info.proposals, info.results, info.waiting, info.warning and "rejected"))
    return Output(leagues, lambda: print_records(rows, heads))


@on_league
def show(
    league: "League",
    items: Annotated[bool, typer.Option("--items", help="List the items.")] = False,
    proposals: Annotated[bool, typer.Option("--proposals", help="List proposals with their pairs.")] = False,
    results: Annotated[bool, typer.Option("--results", help="List how often pairs met, with which results.")] = False,
    progress: Annotated[bool, typer.Option("--progress", help="List what proposals achieved.")] = False,
    history: Annotated[bool, typer.Option("--history", help="List who changed what, and when.")] = False,
    proposal: Annotated[int | None, optional("Show one proposal, by number.", integer("--proposal"))] = None,
    limit: Annotated[int | None, optional("List at most so many.", integer("--limit"))] = None,
    newest: Annotated[bool, typer.Option("--newest", help="List the newest first.")] = False,
    since: Annotated[str | None, optional("List what is from this time on, in UTC.", metavar="TIME")] = None,
    until: Annotated[str | None, optional("List what is from before it: 2026-11-16T09:30.", metavar="TIME")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print the list as CSV.")] = False,
) -> Output:
    """Show a league and its missing outcomes, one proposal, or a list."""
    flags = {"items": items, "proposals": proposals, "results": results, "progress": progress, "history": history}
    names = [name for name, is_chosen in flags.items() if is_chosen]
    if len(names) + (proposal is not None) > 1:
        raise MatchbanditError("show a proposal or one list at a time, such as --history.")
    bounds = {"newest_first": newest or None, "since": since, "until": until}
    bounds = {name: value for name, value in bounds.items() if value is not None}
    if not names:
        if bounds or csv or limit is not None:
            raise MatchbanditError("--limit, --newest, --since, --until and --csv go with a list, such as --history.")
        if proposal is None:
            return league_output(league)
        one = league.proposal(proposal)
        return Output(one, lambda: print_proposal(one), warning=one.warning)
    if bounds and (items or results):
        raise MatchbanditError("--newest, --since and --until go with --proposals, --progress or --history.")
    records = _read(getattr(league, "summaries" if progress else names[0]), limit, bounds)
    rows = records
    if proposals:  # a row for each pair
        rows = [{"proposal": each.number, "at": each.at, **vars(pair)} for each in records for pair in each.pairs]
    if csv:
        from matchbandit.leagues.csv_tables import csv_text

        return Output(records, csv_text(rows).removesuffix("\n"))
    heads = _LISTS[names[0]]
    table = [[_value(row, head) for head in heads] for row in rows]
    return Output(records, (lambda: print_records(table, heads)) if table else f"no {names[0]} yet.")


def _read(read: Callable[..., Any], limit: int | None, bounds: dict[str, Any]) -> list[Any]:
    """Return the first records of a list; its pages may be shorter than their limit."""
    page = read(limit=limit, **bounds)
    records = list(page.rows)
    while limit is not None and len(records) < limit and page.next is not None:
        page = read(limit=limit - len(records), after=page.next, **bounds)
        records += page.rows
    return records


def _value(row: Any, head: str) -> Any:
    """Return a value of a record or mapping for a table."""
    value = row[head] if isinstance(row, dict) else getattr(row, head.replace(" ", "_"))
    return format_time(value) if head == "at" else format_outcome(value) if head == "outcome" else value


@on_league
def ranking(league: "League") -> Output:
    """Rank the items by their strength as partners.

    A pair is expected to achieve the product of its strengths. The interval contains a strength with probability 90 %.
    """
    standings = league.ranking()
    heads = ("rank", "name", "side", "strength", "90 %", "results", "average", "byes")
    rows = [
        (each.rank, each.name, each.side, each.estimate, format_interval(each), each.results, each.mean, each.byes)
        for each in standings
    ]
    return Output(standings, lambda: print_records(rows, heads), warning=standings.warning)


@on_league
def why(
    league: "League",
    what: Annotated[list[str] | None, argument("[WHAT]...", "A name, a pair or the number of a proposal.")] = None,
    proposal: Annotated[int | None, optional("A proposal, if items have numbers.", integer("--proposal"))] = None,
    side: Side = None,
) -> Output:
    """Explain an item, a pair (ann+bob, or two names), a proposal or the league.

    Of the league it says whether the results fit the model in which each item has one strength.
    """
    if what and proposal is not None:
        raise MatchbanditError("ask about a name, a pair or a proposal, one at a time.")
    subject = _parse_subject(what, item_names(league), league.slug) if what else proposal
    answer = league.why(subject, side=side)
    return Output(answer, lambda: _print_explanation(answer), warning=answer.warning)


def _parse_subject(words: list[str], names: list[str], slug: str) -> str | int | Names:
    """Parse a name, the number of a proposal or a pair; a name takes precedence, and may be several words."""
    text = " ".join(words)
    if text in names:
        return text
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return int(text)
    pairs = [(" ".join(words[:k]), " ".join(words[k:])) for k in range(1, len(words))]
    known = [pair for pair in pairs if set(names).issuperset(pair)]
    if len(known) == 1:
        return known[0]
    if "+" in text:
        return parse_pair(text, lambda: names)
    if len(words) <= 2:  # the league says which name is unknown
        return pairs[0] if pairs else text
    raise MatchbanditError(
        f"{text!r} is no item, pair or proposal of {slug}. Type a name, a pair such as ann+bob or the number of a "
        f'proposal, and quote names with spaces: matchbandit league why {slug} "team A" "team B".'
    )


def _print_explanation(answer: "Explanation") -> None:
    """Print the sentence, and the pairs that deviate most from a model that does not fit."""
    print_wrapped(answer.sentence)
    if "fit" in answer.numbers and answer.numbers["fit"].worst:
        print_records(answer.numbers["fit"].worst, ("pair", "standard deviations off"))

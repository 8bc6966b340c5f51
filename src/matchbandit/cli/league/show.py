"""`matchbandit league list`, `show`, `ranking` and `why`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.league.output import (
    format_interval,
    format_outcome,
    format_time,
    print_proposal,
    print_warning,
)
from matchbandit.cli.league.parameters import ALL, Names, all_rows, item_names, on_league, on_store, parse_pair
from matchbandit.cli.league.settings import league_output
from matchbandit.cli.output import Output, print_records, print_wrapped
from matchbandit.cli.parameters import argument, choice, integer, optional, parsed_by
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import short

if TYPE_CHECKING:
    from matchbandit.leagues import League, Store

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
    leagues = all_rows(store.leagues, status=status)
    if not leagues:
        hint = "no league yet. Create one: matchbandit league new NAME ann bob cem dee"
        return Output([], hint if status == "active" else f"no league is {status}.")
    heads = ("league", "title", "of", "policy", "items", "proposals", "results", "pairs waiting", "fit")
    rows = []
    for info in leagues:
        sides = "players" if info.sides is None else " × ".join(info.sides)
        counts = (info.active, info.proposals, info.results, info.waiting)
        rows.append((info.slug, info.title, sides, info.settings["policy"], *counts, info.warning and "rejected"))
    return Output(leagues, lambda: print_records(rows, heads))


def _time(name: str) -> dict[str, Any]:
    """Parse times such as 2026-11-16 or 2026-11-16T09:30, in UTC unless they say otherwise."""

    def parse(text: str) -> str:
        try:
            time = datetime.fromisoformat(text)
            time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            raise MatchbanditError(
                f"{name} takes a time such as 2026-11-16 or 2026-11-16T09:30; got {text!r}."
            ) from None
        return time.isoformat(timespec="microseconds").replace("+00:00", "Z")

    return parsed_by(parse, "TIME")


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
    since: Annotated[str | None, optional("List what is from this time on.", _time("--since"))] = None,
    until: Annotated[str | None, optional("List what is from before this time.", _time("--until"))] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print the list as CSV.")] = False,
) -> Output:
    """Show a league and its missing outcomes, one proposal, or a list."""
    flags = {"items": items, "proposals": proposals, "results": results, "progress": progress, "history": history}
    names = [name for name, is_chosen in flags.items() if is_chosen]
    if len(names) + (proposal is not None) > 1:
        raise MatchbanditError("show a proposal or one list at a time, such as --history.")
    values = {"newest": newest or None, "since": since, "until": until}
    filters = {name: value for name, value in values.items() if value is not None}
    if not names:
        if filters or csv or limit is not None:
            raise MatchbanditError("--limit, --newest, --since, --until and --csv go with a list, such as --history.")
        if proposal is None:
            return league_output(league)
        one = league.proposal(proposal)
        return Output(one, lambda: print_proposal(one))
    if filters and (items or results):
        raise MatchbanditError(f"--{next(iter(filters))} goes with --proposals, --progress or --history.")
    records = all_rows(getattr(league, "summaries" if progress else names[0]), limit or ALL, **filters)
    rows = records
    if proposals:  # a row for each pair
        rows = [{"proposal": each.number, "at": each.at, **vars(pair)} for each in records for pair in each.pairs]
    if csv:
        from matchbandit.leagues.csv_tables import csv_text

        return Output(records, csv_text(rows).removesuffix("\n"))
    heads = _LISTS[names[0]]
    table = [[_value(row, head) for head in heads] for row in rows]
    return Output(records, (lambda: print_records(table, heads)) if table else f"no {names[0]} yet.")


def _value(row: Any, head: str) -> Any:
    """Return a value of a record or mapping for a table."""
    value = row[head] if isinstance(row, dict) else getattr(row, head.replace(" ", "_"))
    return format_time(value) if head == "at" else format_outcome(value) if head == "outcome" else value


@on_league
def ranking(league: "League") -> Output:
    """Rank the items by their strength as partners.

    A pair is expected to achieve the product of its strengths. The interval contains a strength with probability 90 %.
    """
    standings, warning = league.ranking(), league.info().warning
    heads = ("rank", "name", "side", "strength", "90 %", "results", "average", "byes")
    rows = [
        (each.rank, each.name, each.side, each.estimate, format_interval(each), each.results, each.mean, each.byes)
        for each in standings
    ]

    def print_text() -> None:
        print_warning(warning)
        print_records(rows, heads)

    return Output({"warning": warning, "rows": standings}, print_text)


@on_league
def why(
    league: "League",
    what: Annotated[list[str] | None, argument("[WHAT]...", "A name, a pair or the number of a proposal.")] = None,
    proposal: Annotated[
        int | None, optional("A proposal, where an item has its number.", integer("--proposal"))
    ] = None,
) -> Output:
    """Explain an item, a pair (ann+bob, or two names), a proposal or the league, in a sentence and in numbers.

    Of the league it says whether the results fit the model in which each item has one strength.
    """
    if what and proposal is not None:
        raise MatchbanditError("ask about a name, a pair or a proposal, one at a time.")
    answer = league.why(_parse_subject(what, item_names(league), league.slug) if what else proposal)

    def print_text() -> None:
        print_warning(answer.warning)
        print_wrapped(answer.sentence)
        _print_numbers(answer.numbers)

    return Output(answer, print_text)


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


def _print_numbers(numbers: dict[str, Any]) -> None:
    """Print the pairs of a proposal or of a bad fit as a table, or all numbers in a line."""
    if "pairs" in numbers:
        heads: tuple[str, ...] = ("pair", "expected", "drawn", "best guess too", "outcome")
        rows: list[Any] = [
            (pair.names, pair.expected, pair.value, pair.in_best_guess, format_outcome(pair.outcome))
            for pair in numbers["pairs"]
        ]
    else:
        heads, rows = ("pair", "standard deviations off"), getattr(numbers.get("fit"), "worst", [])
        shown = {
            key: value
            for key, value in numbers.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and key not in ("item", "proposal")
        }
        print_wrapped(", ".join(f"{key.replace('_', ' ')} {short(value)}" for key, value in shown.items()))
    if rows:
        print_records(rows, heads)

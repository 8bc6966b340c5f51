"""`matchbandit league list`, `show`, `ranking`, `why`, `fit`, `history`, `meetings`, `events`, `shadow`: look."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.league.common import (
    STORE,
    LeagueName,
    StoreUrl,
    count_typed,
    moment,
    opened_league,
    opened_store,
    outcome_shown,
    pair_typed,
    plain,
    print_json,
    print_open,
    print_proposal,
    proposal_data,
    span,
)
from matchbandit.cli.options import Json, as_typed, say, table
from matchbandit.cli.parsing import whole
from matchbandit.errors import MatchbanditError
from matchbandit.formatting import plural

if TYPE_CHECKING:
    from matchbandit.live.league import League


def list_(
    archived: Annotated[bool, typer.Option("--archived", help="Also those that are archived.")] = False,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """List the leagues of a store."""
    with opened_store(store) as kept:
        abouts = [kept.open(name).about() for name in kept.leagues(archived=archived)]
    if as_json:
        print_json(abouts)
    elif not abouts:
        typer.echo("no league yet. Create one: matchbandit league new NAME ann bob cem dee")
    else:
        lines = [
            (
                about["name"],
                "players" if about["sides"] is None else " × ".join(about["sides"]),
                about["policy"],
                *(str(about[key]) for key in ("n_active", "n_proposals", "n_results", "n_waiting")),
            )
            for about in abouts
        ]
        table(("league", "of", "policy", "items", "proposals", "results", "pairs waiting"), lines)


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
        print_json(proposal_data(proposal))
    else:
        print_proposal(proposal)


def print_about(league: "League", *, as_json: bool) -> None:
    """The league's settings, and the pairs that it waits for."""
    about = league.about()
    if as_json:
        print_json(about)
        return
    of = _of_what(about)
    left = about["n_items"] - about["n_active"]
    options = ", ".join(f"{key}={as_typed(value)}" for key, value in about["options"].items())
    title = f" ({about['title']})" if about["title"] else ""
    typer.echo(f"{about['name']}{title}: {about['n_active']} {of}{f', {left} left' if left else ''}")
    say(f"policy: {about['policy']}{f' ({options})' if options else ''}, {about['rewards']} rewards", indent=2)
    for line in _rules(about):
        say(line, indent=2, first="")
    typer.echo(f"  {plural(about['n_proposals'], 'proposal')}, {plural(about['n_results'], 'result')}")
    print_open(league.open_proposals())


def _of_what(about: dict[str, Any]) -> str:
    """Who takes part, after their number."""
    if about["sides"] is not None:
        return " and ".join(about["sides"])
    return "player" if about["n_active"] == 1 else "players"


def _rules(about: dict[str, Any]) -> list[str]:
    """The rules that are set, a line each."""
    lines = []
    if about["deadline"] is not None:
        lines.append(f"deadline: {span(about['deadline'])}, then {outcome_shown(about['default'])}")
    if about["no_rematch"]:
        lines.append(f"no rematch within {plural(about['no_rematch'], 'proposal')}")
    for what in ("exclusions", "wishes"):
        if about[what]:
            lines.append(f"{what}: {', '.join(' + '.join(pair) for pair in about[what])}")
    if about["shadow"] is not None:
        lines.append(f"shadow: {about['shadow']['policy']}")
    return lines


def ranking(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Rank the items by their strength as partners.

    Two are expected to achieve the product of their strengths. The interval holds a strength with 90 %.
    """
    with opened_league(store, league) as opened:
        standings = opened.ranking()
    if as_json:
        print_json(standings)
        return
    two_sided = any(standing.side is not None for standing in standings)
    lines = [
        (
            "–" if each.place is None else str(each.place),
            each.name,
            *([each.side or ""] if two_sided else []),
            f"{each.estimate:.2f}",
            f"{each.low:.2f}–{each.high:.2f}",
            str(each.meetings),
            "" if each.mean is None else f"{each.mean:.2f}",
        )
        for each in standings
    ]
    table(("", "name", *(["side"] if two_sided else []), "strength", "90 %", "results", "average"), lines)


def why(
    league: LeagueName,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHAT]",
            help="A name, a pair such as ann+bob, or the number of a proposal; nothing: the league.",
            show_default=False,
        ),
    ] = None,
    proposal: Annotated[
        str | None,
        typer.Option(help="A proposal, by number, where an item has a number for a name.", show_default=False),
    ] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Say why, in a sentence and in numbers."""
    if what is not None and proposal is not None:
        raise MatchbanditError("ask of a name, of a pair or of a proposal, one at a time.")
    with opened_league(store, league) as opened:
        if proposal is not None:
            answer = opened.why(whole("--proposal", proposal))
        elif what is None:
            answer = opened.why()
        else:
            answer = opened.why(_question(what, [item.name for item in opened.items()]))
    if as_json:
        print_json(answer)
    else:
        say(answer.sentence)
        _print_numbers(plain(answer.numbers))


def _question(typed: str, names: list[str]) -> str | int | tuple[str, str]:
    """A name goes first; then the number of a proposal, or a pair."""
    if typed in names:
        return typed
    if typed.isascii() and typed.isdecimal():
        return whole("WHAT", typed)
    return pair_typed(typed, lambda: names) if "+" in typed else typed


def _print_numbers(numbers: dict[str, Any]) -> None:
    """The pairs of a proposal as a table, and else a line with all numbers; --json has all of it."""
    pairs = numbers.get("pairs")
    if isinstance(pairs, list):
        lines = [
            (
                " + ".join(pair["names"]),
                *("" if pair[key] is None else f"{pair[key]:.2f}" for key in ("estimate", "value")),
                "yes" if pair["in_best_guess"] else "",
                outcome_shown(pair["outcome"]),
            )
            for pair in pairs
        ]
        table(("pair", "expected", "drawn", "best guess too", "outcome"), lines)
        return
    parts = [
        f"{key.replace('_', ' ')} {value:.3g}"
        for key, value in numbers.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and key not in ("item", "proposal")
    ]
    say(", ".join(parts))


def fit(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Test whether the results fit a product."""
    with opened_league(store, league) as opened:
        answer = opened.fit()
    if as_json:
        print_json(answer)
    else:
        say(answer.sentence)


def history(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """List the proposals, and what came of each.

    What was achieved by the pairs that are known, what the model expected of all pairs, and of its best guess.
    """
    with opened_league(store, league) as opened:
        lines = opened.history()
    if as_json:
        print_json([{**plain(line), "explored": line.explored} for line in lines])
        return
    cells = [
        (
            str(line.number),
            moment(line.at),
            f"{line.told} of {line.pairs}",
            str(line.void),
            f"{line.reward:g}",
            *("" if value is None else f"{value:.2f}" for value in (line.expected, line.best)),
        )
        for line in lines
    ]
    table(("proposal", "at", "known", "void", "achieved", "expected", "best guess"), cells)


def meetings(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """List who met whom, how often, and what came of it."""
    with opened_league(store, league) as opened:
        rows = opened.results()
    if as_json:
        print_json([{"pair": [a, b], "meetings": count, "total": total} for a, b, count, total in rows])
    else:
        lines = [(f"{a} + {b}", str(count), f"{total / count:.2f}") for a, b, count, total in rows]
        table(("pair", "meetings", "average"), lines)


def events(
    league: LeagueName,
    after: Annotated[str, typer.Option(help="Only those after this one, by number.")] = "0",
    limit: Annotated[str | None, typer.Option(help="At most so many.", show_default=False)] = None,
    store: StoreUrl = STORE,
    as_json: Json = False,
) -> None:
    """Print the log: who did what, and when.

    A sentence for each event; with --json the events themselves, which have ids and no names.
    """
    first = count_typed("--after", after)
    most = None if limit is None else whole("--limit", limit)
    with opened_league(store, league) as opened:
        if as_json:
            print_json(opened.events(after=first, limit=most))
            return
        lines = [
            (str(event.seq), moment(event.at), event.by, sentence)
            for event, sentence in opened.audit(after=first, limit=most)
        ]
    table(("event", "at", "by", "what"), lines)


def shadow(league: LeagueName, store: StoreUrl = STORE, as_json: Json = False) -> None:
    """Compare the live policy with its shadow."""
    with opened_league(store, league) as opened:
        report = opened.shadow_report()
    if as_json:
        print_json({**plain(report), "sentence": report.sentence})
    else:
        say(report.sentence)

"""How leagues, proposals and outcomes are printed."""

from typing import TYPE_CHECKING, Any

import typer

from matchbandit.cli.output import format_options, print_records, print_wrapped
from matchbandit.formatting import duration_text, fixed, float_text, plural

if TYPE_CHECKING:
    from matchbandit.leagues.records import LeagueInfo, Outcome, Pair, Proposal, Receipt

MAX_WAITING = 50
"""Pairs without an outcome that `show` lists."""


def format_outcome(outcome: "Outcome | str | None") -> str:
    """Format an outcome as it is typed; None is an outcome that is still missing."""
    return "waiting" if outcome is None else float_text(outcome) if isinstance(outcome, float) else "void"


def format_time(text: str | None) -> str:
    """Format a time of the store to the minute.

    >>> format_time("2026-11-16T09:30:00.000000Z")
    '2026-11-16 09:30 UTC'
    """
    return f"{text[:10]} {text[11:16]} UTC" if text else ""


def format_interval(record: Any) -> str:
    """Format the ends of a 90 % interval."""
    return "" if record.low is None else f"{fixed(record.low, 2)}–{fixed(record.high, 2)}"


def print_proposal(proposal: "Proposal") -> None:
    """Print the pairs of a proposal with their outcomes, who sits out, and what is expected."""
    due = f", outcomes by {format_time(proposal.due)}" if proposal.due and proposal.open else ""
    typer.echo(f"proposal {proposal.number}{due}")
    for pair in proposal.pairs:
        outcome = "" if pair.outcome is None else f" = {format_outcome(pair.outcome)}"
        expected = "" if pair.expected is None else f", expected {_expected(pair)}"
        typer.echo(f"  {' + '.join(pair.names)}{outcome}{' (fixed)' if pair.fixed else ''}{expected}")
    unexplained = [name for name in proposal.byes if not any(note.startswith(f"{name} ") for note in proposal.notes)]
    byes = [f"sitting out: {', '.join(unexplained)}"] if unexplained else []
    for note in (*byes, *proposal.notes, f"expected in all: {_expected(proposal)}"):
        print_wrapped(note, indent=2)


def _expected(record: "Pair | Proposal") -> str:
    if record.expected is None:
        return "no data yet"
    return f"{fixed(record.expected, 2)}{'' if record.low is None else f' (90 % {format_interval(record)})'}"


def format_receipt(receipt: "Receipt") -> str:
    """Describe what a `tell` recorded."""
    repeated = f", {receipt.repeated} known already" if receipt.repeated else ""
    waiting = f"waiting for {plural(receipt.waiting, 'pair')}" if receipt.waiting else "all outcomes recorded"
    return f"proposal {receipt.proposal}: {plural(receipt.recorded, 'outcome')} recorded{repeated}; {waiting}"


def format_size(info: "LeagueInfo") -> str:
    """Describe how many items a league has."""
    items = plural(info.active, "player") if info.sides is None else f"{info.active} {' and '.join(info.sides)}"
    return f"{items}, {info.items - info.active} left" if info.items > info.active else items


def print_league(info: "LeagueInfo", open_proposals: "list[Proposal]", hint: str = "") -> None:
    """Print the settings of a league, the first pairs whose outcome is missing, and what to do next."""
    settings, options = info.settings, format_options(info.settings["options"])
    typer.echo(f"{info.slug}{f' ({info.title})' if info.title else ''}: {format_size(info)}")
    lines = [f"policy: {settings['policy']}{f' ({options})' if options else ''}, {info.rewards} rewards"]
    if settings["deadline"] is not None:
        lines.append(f"deadline: {duration_text(settings['deadline'])}, then {format_outcome(settings['default'])}")
    if settings["no_rematch"]:
        lines.append(f"no rematch within {plural(settings['no_rematch'], 'proposal')}")
    if settings["record_propensity"]:
        lines.append(f"propensities from {plural(settings['record_propensity'], 'draw')}")
    if info.exclusions or info.pins:
        rules = f"{plural(info.exclusions, 'exclusion')}, {plural(info.pins, 'pin')}"
        lines.append(f"{rules}: see matchbandit league rule {info.slug}")
    lines.append(f"{plural(info.proposals, 'proposal')}, {plural(info.results, 'result')}")
    for line in lines:
        print_wrapped(line, indent=2)
    waiting = [(each, pair) for each in open_proposals for pair in each.pairs if pair.outcome is None][:MAX_WAITING]
    if waiting:
        rows = [(str(each.number), pair.names, format_time(each.due)) for each, pair in waiting]
        print_records(rows, ("proposal", "waiting for", "due"))
    if info.waiting > len(waiting):
        typer.echo(f"and {plural(info.waiting - len(waiting), 'pair')} more")
    if hint:
        typer.echo(hint)

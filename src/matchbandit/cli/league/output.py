"""How leagues, proposals and outcomes are printed."""

from typing import TYPE_CHECKING, Any

import typer

from matchbandit.cli.output import format_options, print_table, print_wrapped, to_json_data
from matchbandit.formatting import float_text, plural

if TYPE_CHECKING:
    from matchbandit.live.records import Outcome, Proposal, Receipt


def format_outcome(outcome: "Outcome | str | None") -> str:
    """Format an outcome as it is typed; None is an outcome that is still missing."""
    if outcome is None:
        return "waiting"
    return float_text(outcome) if isinstance(outcome, float) else str(to_json_data(outcome))


def format_time(text: str) -> str:
    """Format a time of the log to the minute.

    >>> format_time("2026-11-16T09:30:00.000000Z")
    '2026-11-16 09:30 UTC'
    """
    return f"{text[:10]} {text[11:16]} UTC"


def format_duration(seconds: float) -> str:
    """Format a duration as it is typed.

    >>> format_duration(259_200), format_duration(5400), format_duration(7.5)
    ('3d', '90m', '7.5s')
    """
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def proposal_data(proposal: "Proposal") -> dict[str, Any]:
    """Return a proposal as JSON data, with the pairs whose outcome is missing."""
    return {**to_json_data(proposal), "waiting": proposal.waiting, "open": proposal.open}


def print_proposal(proposal: "Proposal") -> None:
    """Print the pairs and their outcomes, who sits out, the deadline, and the notes."""
    due = f", outcomes by {format_time(proposal.due)}" if proposal.due and proposal.open else ""
    typer.echo(f"proposal {proposal.number}{due}")
    for pair in proposal.pairs:
        fixed = " (fixed)" if pair in proposal.fixed else ""
        outcome = f" = {format_outcome(proposal.outcomes[pair])}" if pair in proposal.outcomes else ""
        typer.echo(f"  {pair[0]} + {pair[1]}{outcome}{fixed}")
    for name in proposal.byes:
        if not any(note.startswith(f"{name} ") for note in proposal.notes):  # the note says it already
            print_wrapped(f"{name} sits out.", indent=2)
    for note in proposal.notes:
        print_wrapped(note, indent=2)


def format_receipt(receipt: "Receipt") -> str:
    """Describe what a `tell` recorded."""
    repeated = f", {receipt.repeated} known already" if receipt.repeated else ""
    waiting = f"waiting for {plural(receipt.waiting, 'pair')}" if receipt.waiting else "all outcomes recorded"
    return f"proposal {receipt.proposal}: {plural(receipt.booked, 'outcome')} recorded{repeated}; {waiting}"


def print_league(about: dict[str, Any], open_proposals: "list[Proposal]") -> None:
    """Print the settings of a league, and the pairs whose outcome is missing."""
    left = about["n_items"] - about["n_active"]
    options = format_options(about["options"])
    title = f" ({about['title']})" if about["title"] else ""
    typer.echo(f"{about['name']}{title}: {_items(about)}{f', {left} left' if left else ''}")
    policy = f"{about['policy']}{f' ({options})' if options else ''}"
    print_wrapped(f"policy: {policy}, {about['rewards']} rewards", indent=2)
    for rule in _rules(about):
        print_wrapped(rule, indent=2)
    typer.echo(f"  {plural(about['n_proposals'], 'proposal')}, {plural(about['n_results'], 'result')}")
    rows = [
        (str(proposal.number), f"{first} + {second}", format_time(proposal.due) if proposal.due else "")
        for proposal in open_proposals
        for first, second in proposal.waiting
    ]
    if rows:
        print_table(("proposal", "waiting for", "due"), rows, right=("proposal",))


def _items(about: dict[str, Any]) -> str:
    if about["sides"] is None:
        return plural(about["n_active"], "player")
    return f"{about['n_active']} {' and '.join(about['sides'])}"


def _rules(about: dict[str, Any]) -> list[str]:
    """Describe each rule that is set."""
    rules = []
    if about["deadline"] is not None:
        rules.append(f"deadline: {format_duration(about['deadline'])}, then {format_outcome(about['default'])}")
    if about["no_rematch"]:
        rules.append(f"no rematch within {plural(about['no_rematch'], 'proposal')}")
    for name in ("exclusions", "wishes"):
        if about[name]:
            rules.append(f"{name}: {', '.join(' + '.join(pair) for pair in about[name])}")
    if about["shadow"] is not None:
        rules.append(f"shadow: {about['shadow']['policy']}")
    return rules

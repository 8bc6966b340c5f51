"""Proposals and receipts, as text and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import typer

from matchbandit.cli.options import say, table
from matchbandit.errors import float_text, plural

if TYPE_CHECKING:
    from matchbandit.live.records import Outcome, Proposal, Receipt


def plain(value: Any) -> Any:
    """A record of a league as JSON data: VOID is "void"; what is known of pairs is a list of [first, second, value]."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        if value and all(isinstance(key, tuple) for key in value):
            return [[*key, plain(known)] for key, known in value.items()]
        return {str(key): plain(known) for key, known in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False))


def proposal_data(proposal: "Proposal") -> dict[str, Any]:
    """A proposal as JSON data, with the pairs that wait."""
    return {**plain(proposal), "waiting": plain(proposal.waiting), "open": proposal.open}


def outcome_shown(outcome: "Outcome | str | None") -> str:
    """An outcome as it would be typed, or that it is awaited."""
    if outcome is None:
        return "waiting"
    return float_text(outcome) if isinstance(outcome, float) else str(plain(outcome))


def moment(text: str) -> str:
    """A time of the log, to the minute.

    >>> moment("2026-11-16T09:30:00.000000Z")
    '2026-11-16 09:30 UTC'
    """
    return f"{text[:10]} {text[11:16]} UTC"


def span(seconds: float) -> str:
    """A span of time as it would be typed.

    >>> span(259_200), span(5400), span(7.5)
    ('3d', '90m', '7.5s')
    """
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def print_proposal(proposal: "Proposal") -> None:
    """The pairs and what is known of them, who sits out, when outcomes are due, and what is to be said of it."""
    due = f", outcomes by {moment(proposal.due)}" if proposal.due and proposal.open else ""
    typer.echo(f"proposal {proposal.number}{due}")
    for pair in proposal.pairs:
        fixed = " (fixed)" if pair in proposal.fixed else ""
        known = f" = {outcome_shown(proposal.outcomes[pair])}" if pair in proposal.outcomes else ""
        typer.echo(f"  {pair[0]} + {pair[1]}{known}{fixed}")
    for name in proposal.byes:
        if not any(note.startswith(f"{name} ") for note in proposal.notes):  # a note says why, too
            say(f"{name} sits out.", indent=2, first="")
    for note in proposal.notes:
        say(note, indent=2, first="")


def print_receipt(receipt: "Receipt") -> None:
    """What a tell did, in a line."""
    known = f", {receipt.repeated} known already" if receipt.repeated else ""
    waiting = f"waiting for {plural(receipt.waiting, 'pair')}" if receipt.waiting else "all outcomes recorded"
    typer.echo(f"proposal {receipt.proposal}: {plural(receipt.booked, 'outcome')} booked{known}; {waiting}")


def print_open(proposals: "list[Proposal]") -> None:
    """A line for each pair whose outcome is awaited."""
    lines = [
        (str(proposal.number), f"{first} + {second}", moment(proposal.due) if proposal.due else "")
        for proposal in proposals
        for first, second in proposal.waiting
    ]
    if lines:
        table(("proposal", "waiting for", "due"), lines)

"""`matchbandit policies`: the catalogue."""

import json
from typing import Any

import typer

from matchbandit.cli.words import Json, as_typed, table


def policies(as_json: Json = False) -> None:
    """List the policies: what they select, on which graphs, for which goal, and their options."""
    from matchbandit.policies import CATALOGUE, RoundPolicy

    entries: list[dict[str, Any]] = [
        {
            "name": name,
            "selection": list(kind.selections),
            "graphs": list(kind.graphs),
            "goals": list(kind.goals),
            "rewards": "in [0, 1]" if kind.unit_rewards else "any",
            "needs_horizon": kind.needs_horizon,
            "engine": "loop" if issubclass(kind, RoundPolicy) else "jump",
            "options": kind.option_defaults(),
            "summary": kind.summary,
            "reference": kind.reference,
        }
        for name, kind in CATALOGUE.items()
    ]
    if as_json:
        typer.echo(json.dumps(entries, indent=2))
        return
    lines = [
        (
            e["name"],
            " or ".join(e["selection"]),
            ", ".join(e["graphs"]),
            ", ".join(e["goals"]),
            e["rewards"],
            ", ".join(f"{k}={as_typed(v)}" for k, v in e["options"].items()) or "–",
            f"{e['summary']} ({e['reference']})",
        )
        for e in entries
    ]
    table(("policy", "selects", "graphs", "goal", "rewards", "options", "what it does"), lines)

"""`matchbandit policies`: the catalogue."""

import json
from typing import Any

import typer

from matchbandit.cli.options import Json, as_typed


def policies(as_json: Json = False) -> None:
    """List the policies: what they select, on which graphs, for which goal, and their options."""
    from matchbandit.policies import CATALOGUE, RoundPolicy

    entries: list[dict[str, Any]] = [
        {
            "name": name,
            "selection": list(kind.fits.selections),
            "graphs": list(kind.fits.graphs),
            "goals": list(kind.fits.goals),
            "rewards": "in [0, 1]" if kind.fits.unit_rewards else "any",
            "needs_horizon": kind.fits.horizon,
            "engine": "loop" if issubclass(kind, RoundPolicy) else "jump",
            "fits_up_to": kind.fits.up_to,
            "loops_up_to": kind.fits.compiled_up_to,
            "warm_start": kind.fits.warm_start,
            "byes": kind.fits.byes,
            "even": "monopartite" in kind.fits.graphs
            and "matching" in (kind.fits.answers, *kind.fits.selections)
            and not kind.fits.byes,
            "options": kind.option_defaults(),
            "summary": kind.summary,
            "reference": kind.reference,
        }
        for name, kind in CATALOGUE.items()
    ]
    if as_json:
        typer.echo(json.dumps(entries, indent=2))
        return
    for entry in entries:
        in_matchings = " in matchings" if len(entry["selection"]) > 1 else ""
        fits = (
            " or ".join(entry["selection"]),
            " or ".join(entry["graphs"]),
            " or ".join(entry["goals"]),
            "rewards in [0, 1]" if entry["rewards"] != "any" else "any rewards",
            entry["engine"] + (f" up to {entry['loops_up_to']}, else step" if entry["loops_up_to"] else ""),
            *([f"an even number of players{in_matchings}"] if entry["even"] else []),
            *(["needs its horizon"] if entry["needs_horizon"] else []),
            *([f"at most {entry['fits_up_to']}"] if entry["fits_up_to"] else []),
            *(["warm start"] if entry["warm_start"] else []),
            *(["byes"] if entry["byes"] else []),
        )
        typer.echo(f"{entry['name']:<25} {' · '.join(fits)}")
        typer.echo(f"{'':<25} {entry['summary']} ({entry['reference']})")
        if entry["options"]:
            typer.echo(f"{'':<25} " + "  ".join(f"{key}={_default(entry, key)}" for key in entry["options"]))


def _default(entry: dict[str, Any], option: str) -> str:
    """An option's default as it would be typed; what is played depends on the graph."""
    if option == "selection":
        return "|".join(entry["selection"])
    return as_typed(entry["options"][option])

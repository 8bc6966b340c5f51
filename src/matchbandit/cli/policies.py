"""`matchbandit policies`: the catalogue, or one policy in full."""

import inspect
import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.options import Json, as_typed, say

if TYPE_CHECKING:
    from matchbandit.policies import Policy

_NAMES, _OPTIONS = 25, 12
"""The widths of the columns for names."""
_BEFORE_DEFAULT = re.compile(r", (?:default|optional)\b")


def policies(
    name: Annotated[str | None, typer.Argument(help="Tell of this policy in full.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """List the policies and their options, or tell of one in full.

    What they select, on which graphs, and for which goal.
    """
    from matchbandit.policies import CATALOGUE, policy

    chosen = CATALOGUE if name is None else {name: policy(name).kind}
    entries = [_entry(kind) for kind in chosen.values()]
    if name is not None:
        entries[0]["parameters"] = parameters_of(chosen[name])
    if as_json:
        typer.echo(json.dumps(entries if name is None else entries[0], indent=2))
    elif name is not None:
        _in_full(entries[0])
    else:
        for entry in entries:
            say(" · ".join(_fits(entry)), indent=_NAMES + 1, first=entry["name"])
            say(f"{entry['summary']} ({entry['reference']})", indent=_NAMES + 1)
            if entry["options"]:
                say("  ".join(f"{key}={_default(entry, key)}" for key in entry["options"]), indent=_NAMES + 1)


def _entry(kind: "type[Policy]") -> dict[str, Any]:
    from matchbandit.policies import RoundPolicy

    capabilities = kind.capabilities
    in_matchings = "monopartite" in capabilities.graphs and "matching" in (
        capabilities.answers,
        *capabilities.selections,
    )
    return {
        "name": kind.name,
        "selection": list(capabilities.selections),
        "graphs": list(capabilities.graphs),
        "goals": list(capabilities.goals),
        "proved": list(capabilities.proved),
        "rewards": "in [0, 1]" if capabilities.unit_rewards else "any",
        "needs_horizon": capabilities.horizon,
        "fixed_budget": capabilities.fixed_budget,
        "epsilon": capabilities.supports_epsilon,
        "engine": "loop" if issubclass(kind, RoundPolicy) else "jump",
        "fits_up_to": _limit(items=capabilities.max_items, matchings=capabilities.max_matchings),
        "loops_up_to": _limit(items=capabilities.compiled_max_items, players=capabilities.compiled_max_players),
        "warm_start": capabilities.warm_start,
        "counts_alone": kind.decides_from_counts,
        "byes": list(capabilities.byes),
        "even": in_matchings and set(capabilities.byes) != set(capabilities.goals),
        "options": kind.option_defaults(),
        "summary": kind.summary,
        "reference": kind.reference,
    }


def _limit(items: int | None, matchings: int | None = None, players: int | None = None) -> str | None:
    """A limit on the size of a graph, in words."""
    if matchings is not None:
        return f"{matchings} matchings (10 players)"
    if players is not None:
        return f"{players} players"
    return None if items is None else f"{items} items"


def _fits(entry: dict[str, Any]) -> list[str]:
    """What a policy fits, in words."""
    in_matchings = " in matchings" if len(entry["selection"]) > 1 else ""
    but_for = f" but for {' or '.join(entry['byes'])}" if entry["byes"] else ""
    told = [
        " or ".join(entry["selection"]),
        " or ".join(entry["graphs"]),
        " or ".join(entry["goals"]),
        "rewards in [0, 1]" if entry["rewards"] != "any" else "any rewards",
        entry["engine"] + (f" up to {entry['loops_up_to']}, else step" if entry["loops_up_to"] else ""),
    ]
    further = {
        f"an even number of players{in_matchings}{but_for}": entry["even"],
        "needs its horizon for regret": entry["needs_horizon"],
        "fixed budget": entry["fixed_budget"],
        "epsilon for identification": entry["epsilon"],
        f"at most {entry['fits_up_to']}": entry["fits_up_to"],
        "warm start": entry["warm_start"],
        "decides from counts alone": entry["counts_alone"],
        "byes": entry["byes"] and not entry["even"],
    }
    return told + [words for words, so in further.items() if so]


def _in_full(entry: dict[str, Any]) -> None:
    say(f"{entry['name']}: {entry['summary']}")
    parts = {
        "plays": f"one {' or one '.join(entry['selection'])} a round",
        "graphs": " or ".join(entry["graphs"]),
        "goals": " or ".join(entry["goals"]),
        "proved for": " and ".join(entry["proved"]) or "none of them",
        "fits": " · ".join(_fits(entry)[3:]),
        "reference": entry["reference"],
    }
    for head, text in parts.items():
        say(text, indent=_OPTIONS, first=f"{head} ")
    typer.echo("options" if entry["options"] else "no options")
    for option in entry["options"]:
        told = entry["parameters"].get(option, {"type": "", "meaning": ""})
        kind = f"{told['type']}, " if told["type"] else ""
        say(f"{option} : {kind}default {_default(entry, option)}", indent=4, first="  ")
        if told["meaning"]:
            say(told["meaning"], indent=6)


def _default(entry: dict[str, Any], option: str) -> str:
    """An option's default as it would be typed; what is played depends on the graph."""
    if option == "selection":
        return "|".join(entry["selection"])
    return as_typed(entry["options"][option])


def parameters_of(kind: type) -> dict[str, dict[str, str]]:
    """Type and meaning of each option, from the `Parameters` sections of the class and of what it is made of.

    >>> class Example:
    ...     '''An example.
    ...
    ...     Parameters
    ...     ----------
    ...     growth : float, default 4
    ...         How much later the next check is
    ...         than the last.
    ...     '''
    >>> parameters_of(Example)
    {'growth': {'type': 'float', 'meaning': 'How much later the next check is than the last.'}}
    """
    told: dict[str, dict[str, str]] = {}
    for part in reversed(kind.__mro__):
        _, _, section = inspect.cleandoc(part.__doc__ or "").partition("Parameters\n----------\n")
        lines = section.split("\n")
        ends = [k for k, line in enumerate(lines) if line and not line.strip("-")]
        name = ""
        for line in lines[: ends[0] - 1] if ends else lines:
            if line.startswith(" ") and name:
                told[name]["meaning"] = f"{told[name]['meaning']} {line.strip()}".strip()
            elif line:
                name, _, given = (text.strip() for text in line.partition(":"))
                told[name] = {"type": _BEFORE_DEFAULT.split(given)[0], "meaning": ""}
    return told

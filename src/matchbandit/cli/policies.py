"""`matchbandit policies`: the catalogue, or one policy in full."""

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.completion import POLICIES, complete_from
from matchbandit.cli.output import Output, format_setting, print_wrapped, prints_output

if TYPE_CHECKING:
    from matchbandit.policies import Policy

_NAME_WIDTH, _HEAD_WIDTH = 25, 12
_BEFORE_DEFAULT = re.compile(r", (?:default|optional)\b")


@prints_output
def policies(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Describe this policy and its options.",
            show_default=False,
            autocompletion=complete_from(POLICIES),
        ),
    ] = None,
) -> Output:
    """List all policies, or describe one in full.

    Shows what they select, on which graphs and for which goal, and their options.
    """
    from matchbandit.policies import CATALOGUE, policy

    if name is None:
        entries = [_entry(kind) for kind in CATALOGUE.values()]
        return Output(entries, lambda: _print_list(entries))
    kind = policy(name).kind
    entry = {**_entry(kind), "parameters": parameters_of(kind)}
    return Output(entry, lambda: _print_policy(entry))


def _print_list(entries: list[dict[str, Any]]) -> None:
    indent = _NAME_WIDTH + 1
    for entry in entries:
        print_wrapped(" · ".join(_features(entry)), indent=indent, first=entry["name"])
        print_wrapped(f"{entry['summary']} ({entry['reference']})", indent=indent)
        if entry["options"]:
            print_wrapped("  ".join(f"{key}={_default(entry, key)}" for key in entry["options"]), indent=indent)


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
    """Describe a limit on the size of a graph."""
    limits = {"items": items, "players": players}
    words = [f"{limit:,} {unit}" for unit, limit in limits.items() if limit is not None]
    if matchings is not None:
        words.append(f"{matchings:,} matchings (10 players)")
    return " and ".join(words) or None


def _features(entry: dict[str, Any]) -> list[str]:
    """Describe what a policy supports and needs."""
    in_matchings = " in matchings" if len(entry["selection"]) > 1 else ""
    except_for = f" except for {' or '.join(entry['byes'])}" if entry["byes"] else ""
    always = [
        " or ".join(entry["selection"]),
        " or ".join(entry["graphs"]),
        " or ".join(entry["goals"]),
        "rewards in [0, 1]" if entry["rewards"] != "any" else "any rewards",
        entry["engine"] + (f" up to {entry['loops_up_to']}, else step" if entry["loops_up_to"] else ""),
    ]
    optional = {
        f"an even number of players{in_matchings}{except_for}": entry["even"],
        "needs its horizon for regret": entry["needs_horizon"],
        "fixed budget": entry["fixed_budget"],
        "epsilon for identification": entry["epsilon"],
        f"at most {entry['fits_up_to']}": entry["fits_up_to"],
        "warm start": entry["warm_start"],
        "decides from counts alone": entry["counts_alone"],
        "byes": entry["byes"] and not entry["even"],
    }
    return always + [text for text, applies in optional.items() if applies]


def _print_policy(entry: dict[str, Any]) -> None:
    print_wrapped(f"{entry['name']}: {entry['summary']}")
    parts = {
        "plays": f"one {' or one '.join(entry['selection'])} per round",
        "graphs": " or ".join(entry["graphs"]),
        "goals": " or ".join(entry["goals"]),
        "proved for": " and ".join(entry["proved"]) or "none of them",
        "features": " · ".join(_features(entry)[3:]),
        "reference": entry["reference"],
    }
    for head, text in parts.items():
        print_wrapped(text, indent=_HEAD_WIDTH, first=f"{head} ")
    typer.echo("options" if entry["options"] else "no options")
    for option in entry["options"]:
        parameter = entry["parameters"].get(option, {"type": "", "meaning": ""})
        kind = f"{parameter['type']}, " if parameter["type"] else ""
        print_wrapped(f"{option} : {kind}default {_default(entry, option)}", indent=4, first="  ")
        if parameter["meaning"]:
            print_wrapped(parameter["meaning"], indent=6)


def _default(entry: dict[str, Any], option: str) -> str:
    """Format the default of an option as it is typed; that of the selection depends on the graph."""
    if option == "selection":
        return "|".join(entry["selection"])
    return format_setting(entry["options"][option])


def parameters_of(kind: type) -> dict[str, dict[str, str]]:
    """Return type and meaning of each option, from the `Parameters` sections of the class and of its bases.

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
    parameters: dict[str, dict[str, str]] = {}
    for part in reversed(kind.__mro__):
        _, _, section = inspect.cleandoc(part.__doc__ or "").partition("Parameters\n----------\n")
        lines = section.split("\n")
        ends = [k for k, line in enumerate(lines) if line and not line.strip("-")]
        name = ""
        for line in lines[: ends[0] - 1] if ends else lines:
            if line.startswith(" ") and name:
                parameters[name]["meaning"] = f"{parameters[name]['meaning']} {line.strip()}".strip()
            elif line:
                name, _, annotation = (text.strip() for text in line.partition(":"))
                parameters[name] = {"type": _BEFORE_DEFAULT.split(annotation)[0], "meaning": ""}
    return parameters

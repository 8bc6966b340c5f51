"""The fields of forms as people type them: settings, outcomes, names and pairs."""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from matchbandit.formatting import duration_text, parse_duration
from matchbandit.leagues import VOID, LeagueError, library
from matchbandit.leagues.csv_tables import unquote_formula
from matchbandit.leagues.service.dashboard.frame import Form, outcome_text
from matchbandit.leagues.settings import LeagueSettings, field_descriptions

REWARDS = (
    ("bernoulli", "success or failure"),
    ("binomial:10", "a share of ten: 0, 0.1, … 1"),
    ("binomial:100", "a percentage, as a share from 0 to 1"),
    ("gaussian:0.25", "a number around 0 to 1, fairly exact"),
    ("gaussian:0.5", "a number around 0 to 1, noisy"),
)
"""Reward distributions that the form for a new league offers."""
_SELECTIONS = (("", "as the policy does by default"), ("matching", "a matching"), ("pair", "one pair"))
_EXAMPLES = {
    "options": "Such as half_life=100; several are separated by commas.",
    "deadline": "Such as 90m, 36 hours or 3d; empty: no deadline.",
    "default": "A number, or void.",
}
_DESCRIPTIONS = field_descriptions(LeagueSettings)


def setting_fields(settings: LeagueSettings, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """All settings as forms show them; for a league of a kind, with the policies that suit it."""
    config = settings.to_config()
    config |= {"default": outcome_text(settings.default), "selection": config["selection"] or ""}
    config["deadline"] = "" if config["deadline"] is None else duration_text(config["deadline"])
    config["options"] = ", ".join(f"{name}={json.dumps(value)}" for name, value in config["options"].items())
    choices = {"policy": _policies(settings.policy, kind), "selection": _SELECTIONS}
    for name, value in config.items():
        hint = f"{_DESCRIPTIONS[name].replace('`', '')} {_EXAMPLES.get(name, '')}".strip()
        label = name.replace("_", " ").capitalize()
        yield {"name": name, "label": label, "hint": hint, "value": str(value), "choices": choices.get(name, ())}


def _policies(current: str, kind: str | None) -> Iterator[tuple[str, str]]:
    """The current policy and those that suit a league, with what they rely on."""
    for name in library.policy_names():
        can = library.capabilities(name)
        graph = {"players": "monopartite", "sides": "bipartite"}.get(kind or "", can.graphs[0])
        if name == current or (graph in can.graphs and not can.fixed_budget):
            relies = "relies on one strength per item" if can.assumes_product else "judges each pair by itself"
            yield name, f"{name}: {relies}"


def changed_settings(form: Form) -> dict[str, Any]:
    """The settings that differ from those that the form showed: others may have changed the rest meanwhile."""
    return {
        name: parse(form.one(name))
        for name, parse in _PARSERS.items()
        if name in form and form.one(name) != form.one(f"was-{name}")
    }


def _number(text: str, what: str, kind: Callable[[str], float] = float) -> float:
    """A number with a point or a comma."""
    try:
        return kind(text.replace(",", "."))
    except ValueError:
        raise LeagueError("bad-value", f"{what}, such as {kind('2')}; got {text[:40]!r}.") from None


def parse_options(text: str) -> dict[str, Any]:
    """Options of a policy.

    >>> parse_options("half_life=100, goal=regret")
    {'half_life': 100, 'goal': 'regret'}
    """
    options: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise LeagueError("bad-value", f"an option is typed as name=value; got {part[:40]!r}.")
        try:
            options[name] = json.loads(value)
        except (ValueError, RecursionError):
            options[name] = value
    return options


def _outcome(text: str) -> Any:
    return VOID if text.lower() == "void" else _number(text, "an outcome is void or a number")


_PARSERS: dict[str, Callable[[str], Any]] = {
    "title": str,
    "policy": str,
    "options": parse_options,
    "selection": lambda text: text or None,
    "deadline": lambda text: parse_duration("a deadline", text) if text else None,
    "default": lambda text: _outcome(text or "void"),
    "no_rematch": lambda text: _number(text or "0", "no_rematch is a whole number", int),
    "record_propensity": lambda text: _number(text or "0", "record_propensity is a whole number", int),
}


def outcomes(form: Form) -> list[tuple[int, int, Any]]:
    """The outcomes that were typed: of pairs whose field is not as the form showed it."""
    rows = []
    for pair in dict.fromkeys(name.partition("-")[2] for name in form if name.startswith(("outcome-", "void-"))):
        text = "void" if f"void-{pair}" in form else form.one(f"outcome-{pair}")
        if text and text != form.one(f"was-{pair}"):
            rows.append((*pair_ids(pair), _outcome(text)))
    return rows


def pair_ids(text: str) -> tuple[int, int]:
    """The ids in `3-7`."""
    ids = [int(part) for part in text.split("-") if part.isascii() and part.isdecimal() and len(part) < 10]
    if len(ids) != 2:
        raise LeagueError("bad-request", f"a pair is two ids, such as 3-7; got {text[:40]!r}.")
    return ids[0], ids[1]


def pairs_in(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs that were typed, one per line, with a plus, a comma, a semicolon or a tab between the names."""
    pairs = []
    for line in lines:
        mark = next((mark for mark in ("\t", " + ", ";", "+", ",") if mark in line), "+")
        first, *others = (name.strip() for name in line.split(mark))
        if len(others) != 1 or not (first and others[0]):
            raise LeagueError("bad-value", f"a pair is typed as two names with + between; got {line[:80]!r}.")
        pairs.append((first, others[0]))
    return pairs


def names_in(lines: Sequence[str]) -> list[str]:
    r"""Names that were typed or pasted: one per line, or a table with a column `name`.

    >>> names_in(["Ann", "Lee, Bob"]), names_in(["id,name", '1,"Lee, Bob"', "2,'=Ann"])
    (['Ann', 'Lee, Bob'], ['Lee, Bob', '=Ann'])
    """
    mark = next((mark for mark in "\t;," if lines and mark in lines[0]), ",")
    heads = [head.strip('" ').casefold() for head in lines[0].split(mark)] if lines else []
    if "name" not in heads:
        return list(lines)
    try:
        rows = [dict(zip(heads, row, strict=False)) for row in csv.reader(lines[1:], delimiter=mark)]
    except csv.Error as error:
        raise LeagueError("bad-value", f"the table cannot be read: {error}.") from None
    return [unquote_formula(row["name"].strip()) for row in rows if row.get("name", "").strip()]

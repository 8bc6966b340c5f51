"""The fields of forms: settings, outcomes, names and pairs, as people type them."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from matchbandit.errors import unknown
from matchbandit.formatting import float_text
from matchbandit.leagues import VOID, LeagueError, library
from matchbandit.leagues.csv_tables import unquote_formula
from matchbandit.leagues.records import LeagueInfo
from matchbandit.leagues.service.dashboard.frame import Form
from matchbandit.leagues.settings import LeagueSettings, field_descriptions

REWARDS = (
    ("bernoulli", "success or failure"),
    ("binomial:10", "a share of ten: 0, 0.1, … 1"),
    ("binomial:100", "a percentage, as a share from 0 to 1"),
    ("gaussian:0.25", "a number around 0 to 1, fairly exact"),
    ("gaussian:0.5", "a number around 0 to 1, noisy"),
)
"""Reward distributions that the form for a new league offers."""
_SELECTIONS = (("", "as the policy does by default"), ("matching", "a matching: everybody once"), ("pair", "one pair"))
_LABELS = {
    "default": "Outcome after the deadline",
    "no_rematch": "No rematch within",
    "record_propensity": "Draws for propensities",
}
_HINTS = {
    "options": "Such as half_life=100; several are separated by commas.",
    "deadline": "With a unit, such as 36 hours or 3 days; empty: no deadline.",
    "default": "A number, or void.",
}
_UNITS = (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0), ("second", 1.0))


# Settings ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SettingField:
    """A setting in a form."""

    name: str
    label: str
    hint: str
    value: str
    choices: Sequence[tuple[str, str]] = ()
    """Values and their words, for settings that are chosen rather than typed."""


@cache
def _descriptions() -> Mapping[str, str]:
    return field_descriptions(LeagueSettings)


def setting_fields(settings: LeagueSettings, league: LeagueInfo | None) -> list[SettingField]:
    """All settings as forms show them; of a league, only policies that are possible there."""
    choices = {"policy": _policies(settings.policy, league), "selection": _SELECTIONS}
    return [
        SettingField(
            name,
            _LABELS.get(name, name.replace("_", " ").capitalize()),
            " ".join([_descriptions()[name].replace("`", ""), _HINTS.get(name, "")]).strip(),
            text,
            choices.get(name, ()),
        )
        for name, text in _texts(settings).items()
    ]


def _policies(current: str, league: LeagueInfo | None) -> list[tuple[str, str]]:
    """Policies, with what they rely on; the current one, and those that suit the league."""
    rows = []
    for name in library.policy_names():
        can = library.capabilities(name)
        suits = not can.fixed_budget and (
            league is None or ("monopartite" if league.sides is None else "bipartite") in can.graphs
        )
        if name == current or suits:
            relies = "relies on one strength per item" if can.assumes_product else "judges each pair by itself"
            rows.append((name, f"{name}: {relies}"))
    return rows


def _texts(settings: LeagueSettings) -> dict[str, str]:
    """Each setting as one types it."""
    config = settings.to_config()
    deadline, default = config["deadline"], config["default"]
    return {
        "title": config["title"],
        "policy": config["policy"],
        "options": ", ".join(f"{name}={json.dumps(value)}" for name, value in config["options"].items()),
        "selection": config["selection"] or "",
        "deadline": "" if deadline is None else duration_text(deadline),
        "default": "void" if default == "void" else float_text(default),
        "no_rematch": str(config["no_rematch"]),
        "record_propensity": str(config["record_propensity"]),
    }


def changed_settings(form: Form) -> dict[str, Any]:
    """The settings that differ from those that the form showed: others may have changed the rest meanwhile."""
    return {
        name: parse(form.one(name))
        for name, parse in _PARSERS.items()
        if name in form and form.one(name) != form.one(f"was-{name}")
    }


def duration_text(seconds: float) -> str:
    """A time exactly, in the largest unit in which it is a whole number.

    >>> duration_text(259200), duration_text(5400), duration_text(0.5)
    ('3 days', '90 minutes', '0.5 seconds')
    """
    unit, size = next((each for each in _UNITS if seconds % each[1] == 0), _UNITS[-1])
    number = float_text(seconds / size)
    return f"{number} {unit}{'' if number == '1' else 's'}"


def parse_number(text: str, what: str) -> float:
    """A number with a point or a comma."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise LeagueError("bad-value", f"{what} is a number, such as 0.5; got {text[:40]!r}.") from None


def _parse_int(what: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = parse_number(text or "0", what)
        if not number.is_integer():
            raise LeagueError("bad-value", f"{what} is a whole number, such as 2; got {text[:40]!r}.")
        return int(number)

    return parse


def parse_duration(text: str) -> float | None:
    """Seconds of a time with its unit; a number alone is in seconds.

    >>> parse_duration("1.5 hours"), parse_duration("3 days"), parse_duration("90"), parse_duration("")
    (5400.0, 259200.0, 90.0, None)
    """
    if not text:
        return None
    units = {name: size for name, size in _UNITS} | {f"{name}s": size for name, size in _UNITS}
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :] or "seconds"
    if unit not in units:
        raise LeagueError("bad-value", str(unknown("unit of time", unit[:40], units)))
    return parse_number(number.strip(), "a deadline") * units[unit]


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


def parse_outcome(text: str) -> Any:
    """An outcome: a number, or void."""
    return VOID if text.strip().lower() == "void" else parse_number(text.strip(), "an outcome")


_PARSERS: dict[str, Callable[[str], Any]] = {
    "title": str,
    "policy": str,
    "options": parse_options,
    "selection": lambda text: text or None,
    "deadline": parse_duration,
    "default": lambda text: parse_outcome(text or "void"),
    "no_rematch": _parse_int("a number of proposals"),
    "record_propensity": _parse_int("a number of draws"),
}


# Outcomes, names and pairs -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RewardRules:
    """What an outcome may be, for its field."""

    binary: bool
    hint: str

    @classmethod
    def of(cls, rewards: str) -> "RewardRules":
        """By the league's rewards."""
        kind, noise = library.parse_rewards(rewards), library.parse_rewards(rewards).noise
        if noise.trials == 1:
            return cls(True, "success or failure")
        return cls(False, f"0, {1 / noise.trials:.3g}, … 1" if noise.trials else "a number")


def outcomes(form: Form) -> list[tuple[int, int, Any]]:
    """The outcomes that were typed: of pairs whose field is not as the form showed it."""
    rows = []
    for field in form:
        name = field.removeprefix("outcome-").removeprefix("void-")
        if name == field or (field.startswith("void-") and f"outcome-{name}" in form):
            continue
        text = "void" if f"void-{name}" in form else form.one(f"outcome-{name}")
        if text and text != form.one(f"was-{name}"):
            rows.append((*pair_ids(name), parse_outcome(text)))
    return rows


def pair_ids(text: str) -> tuple[int, int]:
    """The ids in `3-7`."""
    first, _, second = text.partition("-")
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in (first, second)):
        raise LeagueError("bad-request", f"a pair is two ids, such as 3-7; got {text[:40]!r}.")
    return int(first), int(second)


def pairs_in(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs that were typed, one per line.

    >>> pairs_in(["Ann + Bob", "Lee;Kim"])
    [('Ann', 'Bob'), ('Lee', 'Kim')]
    """
    pairs = []
    for line in lines:
        mark = next((mark for mark in ("\t", " + ", ";", "+", ",") if mark in line), None)
        names = [name.strip() for name in line.split(mark)] if mark else [line]
        if len(names) != 2 or not all(names):
            raise LeagueError("bad-value", f"a pair is typed as two names with + between; got {line[:80]!r}.")
        pairs.append((names[0], names[1]))
    return pairs


def names_in(lines: Sequence[str], *, side: str | None = None) -> list[str]:
    r"""Names that were typed or pasted: one per line, or a table with a column `name`.

    >>> names_in(["Ann", "Lee, Bob"]), names_in(["id,name", '1,"Lee, Bob"', "2,'=Ann"])
    (['Ann', 'Lee, Bob'], ['Lee, Bob', '=Ann'])
    """
    mark = next((mark for mark in "\t;," if lines and mark in lines[0]), ",")
    try:
        rows = list(csv.reader(lines, delimiter=mark)) if lines and "name" in lines[0].casefold() else []
    except csv.Error as error:
        raise LeagueError("bad-value", f"the table cannot be read: {error}.") from None
    heads = [head.strip().casefold() for head in rows[0]] if rows else []
    if "name" not in heads:
        return list(lines)
    names = []
    for number, row in enumerate(rows[1:], start=2):
        cells = dict(zip(heads, (unquote_formula(cell.strip()) for cell in row), strict=False))
        if side and (cells.get("side") or side) != side:
            message = f"line {number} is of the side {cells['side'][:40]!r}, not {side!r}. Add each side by itself."
            raise LeagueError("bad-value", message)
        if cells.get("name"):
            names.append(cells["name"])
    return names

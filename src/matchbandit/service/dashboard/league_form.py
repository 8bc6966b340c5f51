"""The forms for a new league, for its settings, and for names that join: fields, and what was typed as values."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from matchbandit.errors import unknown
from matchbandit.formatting import float_text
from matchbandit.live.csv_tables import unquote_formula
from matchbandit.live.errors import LeagueError
from matchbandit.live.records import VOID
from matchbandit.live.settings import LeagueSettings, field_descriptions
from matchbandit.service.dashboard.content import TIME_UNITS, duration_text, policies
from matchbandit.service.dashboard.guard import Form

REWARD_CHOICES = (
    ("bernoulli", "success or failure"),
    ("binomial:10", "a share of ten: 0, 0.1, … 1"),
    ("binomial:100", "a percentage, as a share from 0 to 1"),
    ("gaussian:0.25", "a number around 0 to 1, fairly exact"),
    ("gaussian:0.5", "a number around 0 to 1, noisy"),
)
"""Reward distributions that the form for a new league offers."""
_SELECTIONS = (("", "by the policy"), ("matching", "a matching: everybody once"), ("pair", "one pair per round"))
_LABELS = {
    "default": "Outcome after the deadline",
    "no_rematch": "No rematch within",
    "record_propensity": "Draws for propensities",
}
_EXAMPLES = {
    "options": "Such as half_life=100; several are separated by commas.",
    "deadline": "Give a unit, such as 36 hours or 3 days; empty for none.",
    "default": "A number, or void.",
}


@dataclass(frozen=True)
class SettingField:
    """A setting in a form."""

    name: str
    label: str
    hint: str
    value: str
    choices: Sequence[tuple[str, str]] = ()
    """Values and their words, for settings that are chosen rather than typed."""


def setting_fields(settings: LeagueSettings) -> list[SettingField]:
    """All settings as the form shows them."""
    values = setting_texts(settings)
    choices: dict[str, Sequence[tuple[str, str]]] = {
        "policy": policies(settings.policy),
        "selection": _SELECTIONS,
        "shadow": (("", "none"), *policies(values["shadow"])),
    }
    return [
        SettingField(
            name,
            _LABELS.get(name, name.replace("_", " ").capitalize()),
            " ".join([_descriptions()[name].replace("`", ""), _EXAMPLES.get(name, "")]).strip(),
            value,
            choices.get(name, ()),
        )
        for name, value in values.items()
    ]


@cache
def _descriptions() -> Mapping[str, str]:
    return field_descriptions(LeagueSettings)


def setting_texts(settings: LeagueSettings) -> dict[str, str]:
    """Each setting as one types it."""
    config = settings.to_config()
    shadow = config["shadow"]
    return {
        "title": config["title"],
        "policy": config["policy"],
        "options": ", ".join(f"{name}={json.dumps(value)}" for name, value in config["options"].items()),
        "selection": config["selection"] or "",
        "deadline": "" if config["deadline"] is None else duration_text(config["deadline"]),
        "default": "void" if config["default"] == "void" else float_text(config["default"]),
        "no_rematch": str(config["no_rematch"]),
        "shadow": "" if shadow is None else shadow["policy"],
        "record_propensity": str(config["record_propensity"]),
    }


def changed_settings(form: Form) -> dict[str, Any]:
    """The settings that differ from those the form showed: others may have changed the rest meanwhile."""
    return {
        name: parse(form.one(name))
        for name, parse in _PARSERS.items()
        if name in form and form.one(name) != form.one(f"was-{name}")
    }


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
    units = {name: size for name, size in TIME_UNITS} | {f"{name}s": size for name, size in TIME_UNITS}
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :] or "seconds"
    if unit not in units:
        raise LeagueError("bad-value", str(unknown("unit of time", unit[:40], units)))
    return parse_number(number.strip(), "a deadline") * units[unit]


def _parse_options(text: str) -> dict[str, Any]:
    """Options of a policy.

    >>> _parse_options("half_life=100, version=1")
    {'half_life': 100, 'version': 1}
    """
    options: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise LeagueError("bad-value", f"an option is typed as name=value; got {part[:40]!r}.")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


_PARSERS: dict[str, Callable[[str], Any]] = {
    "title": str,
    "policy": str,
    "options": _parse_options,
    "selection": lambda text: text or None,
    "deadline": parse_duration,
    "default": lambda text: VOID if text in ("", "void") else parse_number(text, "an outcome"),
    "no_rematch": _parse_int("a number of proposals"),
    "shadow": lambda text: text or None,
    "record_propensity": _parse_int("a number of draws"),
}


def names_in(text: str, *, side: str = "") -> list[str]:
    r"""Names that were typed or pasted: one per line, or a table with a column `name`.

    >>> names_in("Ann\n\n Lee, Bob \n"), names_in('id,name\n1,"Lee, Bob"\n2,\'=Ann')
    (['Ann', 'Lee, Bob'], ['Lee, Bob', '=Ann'])
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    separator = next((mark for mark in "\t;," if mark in lines[0]), ",")
    heads = [head.strip().casefold() for head in next(csv.reader(lines[:1], delimiter=separator))]
    if "name" not in heads:
        return [line.strip() for line in lines]
    names = []
    for number, row in enumerate(csv.reader(lines[1:], delimiter=separator), start=2):
        cells = dict(zip(heads, (unquote_formula(cell.strip()) for cell in row), strict=False))
        if side and cells.get("side", side) != side:
            raise LeagueError(
                "bad-value",
                f"line {number} is of the side {cells['side'][:40]!r}, not {side!r}. Add each side by itself.",
            )
        if cells.get("name"):
            names.append(cells["name"])
    return names


def new_league(form: Form) -> dict[str, Any]:
    """What `Store.create` takes, from the form."""
    first, second = names_in(form.one("first")), names_in(form.one("second"))
    sides = form.one("first-side"), form.one("second-side")
    if second or any(sides):
        if not all(sides):
            raise LeagueError("bad-value", "two sides have a name each, such as ads and slots.")
        items: dict[str, Any] = {"sides": dict(zip(sides, (first, second), strict=True))}
    else:
        items = {"players": first}
    return items | {"rewards": form.one("rewards", "bernoulli")} | changed_settings(form)

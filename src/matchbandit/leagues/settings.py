"""The settings of a league: defaults, descriptions and validation, for every interface."""

import ast
import inspect
import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from hashlib import sha256
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from matchbandit.errors import check_int, unknown
from matchbandit.leagues import library
from matchbandit.leagues.errors import LeagueError, errors_as
from matchbandit.leagues.records import VOID, Outcome

if TYPE_CHECKING:
    from matchbandit.rewards import RewardDistribution

MAX_DEADLINE_S = 10 * 366 * 86_400.0
MAX_TITLE_LENGTH = 100
MAX_PROPENSITY_DRAWS = 10_000


@dataclass(frozen=True, kw_only=True)
class LeagueSettings:
    """Settings of a league that can be changed at any time."""

    policy: str = "rank1-thompson"
    """The policy of the catalogue that decides."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the policy, by name."""
    selection: str | None = None
    """What a proposal contains: "matching" or "pair". By default a matching, if the policy can."""
    deadline: float | timedelta | None = None
    """Seconds after which missing outcomes are set to `default`. None: outcomes may arrive at any time."""
    default: Outcome = VOID
    """The outcome that a passed deadline gives."""
    no_rematch: int = 0
    """Number of proposals within which a pair is not proposed again. 0: rematches are allowed."""
    title: str = ""
    """A title for people; the name of the league is part of its URLs and cannot be changed."""
    record_propensity: int = 0
    """Number of repeated draws from which the probability of each proposed pair is estimated and recorded. 0: off."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """All settings."""
        return tuple(each.name for each in fields(cls))

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "LeagueSettings":
        """Stored settings; those that they do not name have their defaults."""
        values = {name: config[name] for name in cls.names() if name in config}
        return cls(**values | ({"default": VOID} if values.get("default") == "void" else {}))

    def to_config(self) -> dict[str, Any]:
        """The settings as they are stored, in plain JSON data; call it on validated settings."""
        return vars(self) | {"options": dict(self.options), "default": getattr(self.default, "value", self.default)}

    def replace(self, changes: Mapping[str, Any]) -> "LeagueSettings":
        """Only what is in `changes`. Options belong to a policy: another policy starts with its defaults."""
        for name in changes:
            if name not in self.names():
                raise LeagueError("bad-value", str(unknown("setting", name, self.names())))
        if "policy" in changes and changes["policy"] != self.policy:
            changes = {"options": {}, "selection": None, **changes}
        return replace(self, **changes)

    def validate(self, kind: str, rewards: "RewardDistribution") -> "LeagueSettings":
        """The settings of a league of "players" or "sides" as they are stored; errors say what to change."""
        named = library.check_policy(kind, rewards, self.policy, self.options, self.selection)
        default = check_reward(rewards, self.default, "a pair by default")
        return LeagueSettings(
            **named,
            deadline=_check_deadline(self.deadline),
            default=VOID if default is None else default,
            no_rematch=check_integer("no_rematch", self.no_rematch, maximum=10**9),
            title=_check_title(self.title),
            record_propensity=check_integer("record_propensity", self.record_propensity, maximum=MAX_PROPENSITY_DRAWS),
        )


def settings_tag(config: Mapping[str, Any]) -> str:
    """A short hash of stored settings, which differs when they do."""
    return sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]


def check_reward(rewards: "RewardDistribution", reward: object, pair: str) -> float | None:
    """The reward as a float, None for VOID; an error if the distribution cannot produce it."""
    if reward is VOID:
        return None
    if not is_number(reward):
        raise LeagueError(
            "reward-outside",
            f"the outcome of {pair} must be a number, or VOID if they never met; got {reward!r}. "
            f"Leave the pair out if its outcome is not known yet.",
        )
    value = float(reward)  # type: ignore[arg-type]
    if not rewards.is_possible(value):
        raise LeagueError("reward-outside", rewards.refusal(value, pair=pair))
    return value + 0.0  # −0 is 0


def is_number(value: object) -> bool:
    """Is this a finite number? True and False count as 1 and 0."""
    try:
        return isinstance(value, Real | np.bool_) and isfinite(float(value))
    except OverflowError:
        return False


@errors_as("bad-value")
def check_integer(name: str, value: object, *, maximum: int) -> int:
    """The value as an integer from 0 to `maximum`."""
    return check_int(name, value, minimum=0, maximum=maximum)


def _check_deadline(deadline: object) -> float | None:
    if deadline is None:
        return None
    seconds = deadline.total_seconds() if isinstance(deadline, timedelta) else deadline
    if isinstance(seconds, bool) or not is_number(seconds) or not 0 < float(seconds) <= MAX_DEADLINE_S:  # type: ignore[arg-type]
        raise LeagueError(
            "bad-value",
            f"deadline must be a number of seconds above 0, at most ten years, or None; got {deadline!r}.",
        )
    return float(seconds)  # type: ignore[arg-type]


def _check_title(title: object) -> str:
    if not isinstance(title, str):
        raise LeagueError("bad-value", f"title must be a text; got {title!r}.")
    text = " ".join(title.split())
    if len(text) > MAX_TITLE_LENGTH or not text.isprintable():
        raise LeagueError(
            "bad-value", f"title must have at most {MAX_TITLE_LENGTH} printable characters; got {text[:120]!r}."
        )
    return text


def field_descriptions(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a dataclass, by field: the descriptions in OpenAPI, --help and forms."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    descriptions = {}
    for pair in pairwise(definition.body):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                descriptions[name] = inspect.cleandoc(text)
    return descriptions

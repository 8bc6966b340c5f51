"""The settings of a league: defaults, descriptions and validation, for every interface."""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from matchbandit.errors import MatchbanditError, check_int, unknown
from matchbandit.graphs import bipartite, monopartite
from matchbandit.live.errors import LeagueError
from matchbandit.live.records import VOID, Outcome
from matchbandit.policies.catalogue import CATALOGUE, PolicySpec, policy
from matchbandit.rewards import RewardDistribution

MAX_DEADLINE_S = 10 * 366 * 86_400.0
MAX_TITLE_LENGTH = 100
MAX_PROPENSITY_DRAWS = 10_000
MIN_HALF_LIFE = 0.001
"""Proposals; with less, only the last one counts anyway, and weights leave the range of floats."""
OTHER_POLICIES = "rank1-thompson can; `matchbandit policies` lists them all."


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
    shadow: str | Mapping[str, Any] | None = None
    """A second policy whose proposals are recorded for comparison and not played."""
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
        """The settings in a league's log; those that it does not name have their defaults."""
        values = {name: config[name] for name in cls.names() if name in config}
        if values.get("default") == "void":
            values["default"] = VOID
        return cls(**values)

    def to_config(self) -> dict[str, Any]:
        """The settings as they are logged, in plain JSON data; call it on validated settings."""
        config = {name: getattr(self, name) for name in self.names()}
        config["options"] = dict(self.options)
        if self.default is VOID:
            config["default"] = "void"
        return config

    def replace(self, changes: Mapping[str, Any]) -> "LeagueSettings":
        """Only what is in `changes`. Options belong to a policy: another policy starts with its defaults."""
        for name in changes:
            if name not in self.names():
                raise LeagueError("bad-value", str(unknown("setting", name, self.names())))
        if "policy" in changes and changes["policy"] != self.policy:
            changes = {"options": {}, "selection": None, **changes}
        return replace(self, **changes)

    def validate(self, kind: str, rewards: RewardDistribution) -> "LeagueSettings":
        """The settings in the form in which they are logged, or an error that says what to change.

        Parameters
        ----------
        kind : str
            "players" or "sides".
        rewards : RewardDistribution
            The league's rewards.

        Returns
        -------
        LeagueSettings
        """
        named = _check_policy(kind, rewards, self.policy, self.options, self.selection)
        default = self.default
        if default is not VOID:
            default = check_reward(rewards, default, "a pair by default")  # type: ignore[assignment]
        no_rematch = _check_int("no_rematch", self.no_rematch, maximum=10**9)
        if no_rematch and not CATALOGUE[named["policy"]].decides_from_counts:
            raise LeagueError(
                "not-supported", f"{named['policy']} plays its own rounds, rematches included. {OTHER_POLICIES}"
            )
        return LeagueSettings(
            **named,
            deadline=_check_deadline(self.deadline),
            default=default,
            no_rematch=no_rematch,
            shadow=_check_shadow(kind, rewards, self.shadow),
            title=_check_title(self.title),
            record_propensity=_check_int("record_propensity", self.record_propensity, maximum=MAX_PROPENSITY_DRAWS),
        )


def policy_spec(settings: Mapping[str, Any]) -> PolicySpec:
    """The policy in logged settings; the horizon that some need is among its options there."""
    capabilities, options = CATALOGUE[settings["policy"]].capabilities, dict(settings["options"])
    if capabilities.horizon:
        options.pop("horizon", None)
    if len(capabilities.selections) > 1:
        options["selection"] = settings["selection"]
    return policy(settings["policy"], **options)


def check_reward(rewards: RewardDistribution, reward: object, pair: str) -> float | None:
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


def _check_int(name: str, value: object, *, maximum: int) -> int:
    try:
        return check_int(name, value, minimum=0, maximum=maximum)
    except MatchbanditError as error:
        raise LeagueError("bad-value", str(error)) from None


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


def _check_shadow(kind: str, rewards: RewardDistribution, shadow: object) -> dict[str, Any] | None:
    if shadow is None:
        return None
    if isinstance(shadow, str):
        shadow = {"policy": shadow}
    if not isinstance(shadow, Mapping) or not {"policy"} <= shadow.keys() <= {"policy", "options", "selection"}:
        raise LeagueError(
            "bad-value", f"shadow must be the name of a policy, or policy, options and selection; got {shadow!r}."
        )
    shadow_policy = CATALOGUE.get(shadow["policy"]) if isinstance(shadow["policy"], str) else None
    if shadow_policy is not None and not shadow_policy.decides_from_counts:
        raise LeagueError(
            "not-supported",
            f"{shadow['policy']} must see the rounds that it asks for, and those of a shadow are not played. "
            f"{OTHER_POLICIES}",
        )
    named = _check_policy(kind, rewards, shadow["policy"], shadow.get("options"), shadow.get("selection"))
    if "half_life" in named["options"]:
        raise LeagueError(
            "not-supported", "a shadow weighs all results alike: leave its half_life out, or replay the results."
        )
    return named


def _check_policy(
    kind: str, rewards: RewardDistribution, name: object, options: object, selection: object
) -> dict[str, Any]:
    """Policy, options and selection as they are logged; built once on a few items, to see whether they fit."""
    if not isinstance(name, str) or name not in CATALOGUE:
        raise LeagueError(
            "bad-value", f"{unknown('policy', name, CATALOGUE)} A league uses the policies of the catalogue."
        )
    if options is not None and not isinstance(options, Mapping):
        raise LeagueError("bad-value", f"options must be a mapping, such as {{'half_life': 100}}; got {options!r}.")
    chosen = {
        str(key): value.item() if isinstance(value, np.generic) else value
        for key, value in (options or {}).items()
        if value is not None
    }
    if "selection" in chosen:
        selection = chosen.pop("selection") if selection is None else selection
    capabilities = CATALOGUE[name].capabilities
    if selection is None:
        selection = "matching" if "matching" in capabilities.selections else capabilities.selections[0]
    if selection not in capabilities.selections:
        raise LeagueError("bad-value", str(unknown(f"selection of {name}", selection, capabilities.selections)))
    if capabilities.fixed_budget:
        raise LeagueError(
            "not-supported", f"{name} needs a fixed budget of rounds, and a league has none. Use another policy."
        )
    named = {"policy": name, "options": chosen, "selection": selection}
    try:
        small_graph = monopartite(4) if kind == "players" else bipartite(2, 2)
        horizon = chosen.get("horizon", 1) if capabilities.horizon else None
        policy_spec(named).build(small_graph, rewards=rewards, horizon=horizon)
    except MatchbanditError as error:
        raise LeagueError("not-supported", str(error)) from None
    if capabilities.horizon and "horizon" not in chosen and CATALOGUE[name].goal_with(chosen) == "regret":
        raise LeagueError(
            "not-supported",
            f"{name} needs to know how many proposals are to come. Give them as an option: {{'horizon': 1000}}.",
        )
    if chosen.get("half_life", 1.0) < MIN_HALF_LIFE:
        raise LeagueError(
            "not-supported", f"half_life must be at least {MIN_HALF_LIFE:g} proposals; got {chosen['half_life']!r}."
        )
    for option, value in chosen.items():
        if not isinstance(value, str | bool | int | float):
            raise LeagueError("bad-value", f"the option {option} must be a number or a text; got {value!r}.")
    return named


def field_descriptions(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a dataclass, by field: the descriptions in OpenAPI, --help and forms."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(docs.value.value)
        for field, docs in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(docs, ast.Expr)
        and isinstance(docs.value, ast.Constant)
        and isinstance(docs.value.value, str)
    }

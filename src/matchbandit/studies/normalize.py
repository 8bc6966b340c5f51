"""Normalize the settings of a study: what files and callers give becomes plain data, and lists become sweeps."""

import collections.abc
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import isfinite, prod
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchbandit.confidence import check_epsilon
from matchbandit.errors import MatchbanditError, check_float, check_int, unknown
from matchbandit.formatting import grouped
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.catalogue import MAX_HORIZON, name_to_find
from matchbandit.policies.catalogue import policy as policy_spec
from matchbandit.problems import Drifting, Family, Problem
from matchbandit.problems.drifting import flatten_drift
from matchbandit.rewards import Bernoulli, RewardDistribution
from matchbandit.simulation.engines import Engine, Stop
from matchbandit.user_code import import_name

Path = tuple[str | int, ...]
"""The path to a setting of a study: `("problem", "gap")`, `("policies", 1, "growth")`."""
MAX_POINTS = 20_000
_ARRAY = get_origin(NDArray[Any])
"""np.ndarray, or an alias of it that newer versions of NumPy define."""
_SEQUENCES = (list, tuple, set, frozenset, np.ndarray, _ARRAY, collections.abc.Sequence, collections.abc.Iterable)
MAX_NAME_LENGTH = 100
MAX_NESTING = 8
STUDY_KEYS = (
    "name", "problem", "policies", "horizon", "delta", "epsilon", "budget", "runs", "seed", "checkpoints", "max_rounds",
    "stop", "engine",
)  # fmt: skip
"""The settings of a study."""
PROBLEM_DEPTHS = {"u": 1, "v": 1, "means": 2, "players": 0}
"""The settings of a problem without a family, and how deeply their values are nested."""
PROBLEM_HINT = "Give family and its parameters, or u (and v), or means."
END_KEYS = ("horizon", "budget", "delta", "epsilon")
"""When a run ends; each may be swept."""
_ENDS = (*END_KEYS, "checkpoints", "max_rounds", "stop")
_EXAMPLE = '{name = "pair-elim", growth = 4}'


class SettingError(MatchbanditError):
    """An error in the settings of a study, with the path to the setting: a file can then name the line."""

    def __init__(self, message: str, *path: str | int) -> None:
        """Take the message, and the path to the setting."""
        super().__init__(message)
        self.path: Path = path


def nesting(value: Any) -> int:
    """Count how deeply lists are nested.

    >>> nesting(0.5), nesting([0.5]), nesting([[0, 1], [2]])
    (0, 1, 2)
    """
    return 1 + max(map(nesting, value), default=0) if isinstance(value, list) else 0


def values_of(name: str, value: Any, depth: int, path: Path) -> list[Any]:
    """Return the values of a setting: one, or those of its sweep, a list nested one level deeper than the setting.

    >>> values_of("gap", [0.5, 0.6], 0, ()), values_of("u", [0.9, 0.3], 1, ())
    ([0.5, 0.6], [[0.9, 0.3]])
    """
    if nesting(value) <= depth:
        return [value]
    if not value:
        raise SettingError(f"{name} is swept over an empty list. Give it at least one value.", *path)
    if nesting(value) > depth + 1:
        raise SettingError(f"{name} is nested too deeply: a sweep is a list of values; got {value!r}.", *path)
    return list(value)


def combinations(swept: Mapping[str, Sequence[Any]], path: Path) -> list[dict[str, Any]]:
    """Return all combinations of the values; the last setting changes first.

    >>> combinations({"n": [2, 3], "gap": [0.1]}, ())
    [{'n': 2, 'gap': 0.1}, {'n': 3, 'gap': 0.1}]
    """
    check_number_of_points(prod(map(len, swept.values())), path)
    return [dict(zip(swept, values, strict=True)) for values in product(*swept.values())]


def check_number_of_points(points: int, path: Path) -> None:
    """Refuse a study with more points than anybody could read."""
    if points > MAX_POINTS:
        counts = f"the sweeps make {grouped(points)} points; a study has at most {grouped(MAX_POINTS)}"
        raise SettingError(f"{counts}. Use fewer values.", *path)


def annotations_of(function: Any) -> dict[str, Any]:
    """Return the annotations of a function as types, without those that cannot be resolved."""
    try:
        return get_type_hints(function)
    except Exception:  # an annotation is the user's own text, and may name what is not there
        annotations = getattr(function, "__annotations__", {})
        return {key: kind for key, kind in annotations.items() if not isinstance(kind, str)}


def depth_of(annotation: Any, default: Any = None) -> int:
    """Return how deeply the values of a parameter are nested, by its annotation, or else by its default.

    >>> depth_of(float | None), depth_of(Sequence[int]), depth_of(Sequence[Sequence[int]] | None)
    (0, 1, 2)
    >>> depth_of(None, (0, 1))
    1
    """
    if annotation is None or annotation is Any:
        return nesting(to_lists(default))
    if annotation is ArrayLike:
        return 1
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return max(map(depth_of, (kind for kind in get_args(annotation) if kind is not type(None))), default=0)
    if annotation in _SEQUENCES or origin in _SEQUENCES:
        if origin in (np.ndarray, _ARRAY):
            return 1
        return 1 + max(map(depth_of, (kind for kind in get_args(annotation) if kind is not Ellipsis)), default=0)
    return 0


def as_annotated(value: Any, annotation: Any) -> Any:
    """The value with its numbers as the annotation has them: 8.0 is 8 where whole numbers are, 4 is 4.0 elsewhere.

    >>> as_annotated(8.0, int), as_annotated(4, float), as_annotated([1.0, 2], Sequence[int]), as_annotated(2.5, int)
    (8, 4.0, [1, 2], 2.5)
    """
    kinds = _leaves(annotation)
    if isinstance(value, list):
        return [as_annotated(each, annotation) for each in value]
    if isinstance(value, float) and int in kinds and float not in kinds and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and float in kinds and abs(value) < 2**53:
        return float(value)
    return value


def to_lists(value: Any) -> Any:
    """Convert tuples and arrays to lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [to_lists(each) for each in value] if isinstance(value, list | tuple | range) else value


def _leaves(annotation: Any) -> set[Any]:
    """The types of the single values in an annotation."""
    inner = [kind for kind in get_args(annotation) if kind is not Ellipsis]
    return set().union(*map(_leaves, inner)) if inner else {annotation}


def unknown_key(kind: str, key: str, known: Iterable[str], path: Path) -> SettingError:
    """Return the error for an unknown key of a table; a key of the study itself is only in the wrong place."""
    if key in STUDY_KEYS:
        table = f"[{path[0]}]" if len(path) == 1 else f"[[{path[0]}]]"
        message = f"{key} belongs to the study, not to {path[0]}: in a file, put it above the first line {table}."
        return SettingError(message, *path, key)
    return SettingError(str(unknown(kind, key, known)), *path, key)


def plain_value(value: Any, *path: str | int, level: int = 0) -> Any:
    """Convert a value to numbers, texts, truth values and lists of them; refuse anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | range) and level < MAX_NESTING:
        return [plain_value(each, *path, level=level + 1) for each in value]
    if value is None or isinstance(value, bool | str | int) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, float):
        raise SettingError(f"{path[-1]} must be a finite number; got {value}.", *path)
    raise SettingError(
        f"{path[-1]} must be a number, a text, true or false, or a list of these; got {short_repr(value)}.", *path
    )


def normalize_problem(problem: Any, *path: str | int) -> dict[str, Any]:
    """Convert a problem to plain data: a family with parameters, or strengths, or means; perhaps with its drift."""
    if isinstance(problem, Drifting):
        return {**normalize_problem(problem.problem, *path), **_normalize_table(flatten_drift(problem.drift), path)}
    if isinstance(problem, Family):
        return {
            "family": problem.name,
            **_normalize_table(problem.parameters, path),
            **_rewards_setting(problem.rewards),
        }
    if isinstance(problem, Problem):
        parts = problem.describe()
        if "matrix" in parts:
            players = {"players": True} if parts["players"] else {}
            return {"means": parts["matrix"], **players, **_rewards_setting(problem.rewards)}
        strengths = {key: value for key, value in parts.items() if key in PROBLEM_DEPTHS}
        return {**strengths, **_rewards_setting(problem.rewards)}
    if not isinstance(problem, Mapping):
        raise SettingError(
            f"problem must be a table such as {{u = [0.9, 0.3]}}; got {short_repr(problem)}. {PROBLEM_HINT}", *path
        )
    parts = dict(problem)
    if isinstance(parts.get("rewards"), RewardDistribution):
        parts["rewards"] = parts["rewards"].notation
    if callable(parts.get("family")):
        parts["family"] = import_name(parts["family"], "the family")
    if "drift" in parts:
        try:
            parts |= flatten_drift(parts["drift"])
        except MatchbanditError as error:
            raise SettingError(str(error), *path, "drift") from None
    return _normalize_table(parts, path)


def normalize_policy(policy: Any, *path: str | int) -> str | dict[str, Any]:
    """Convert a policy to plain data: its name, or a table of its name and options."""
    if isinstance(policy, PolicySpec):
        if policy.logged:
            raise SettingError(f"{policy.name} starts from logged results, which a study cannot store.", *path)
        policy = {"name": name_to_find(policy.kind), **policy.options}
    elif isinstance(policy, type) and issubclass(policy, Policy):
        policy = name_to_find(policy_spec(policy).kind)
    elif isinstance(policy, Policy):
        raise SettingError(f"this {policy.name} is built already; give its name instead.", *path)
    if isinstance(policy, str):
        return policy
    if not isinstance(policy, Mapping):
        raise SettingError(f"a policy is given by its name, or as {_EXAMPLE}; got {short_repr(policy)}.", *path)
    table = _normalize_table(policy, path)
    if not isinstance(table.get("name"), str):
        raise SettingError(
            f"a policy with options needs its name, as in {_EXAMPLE}; got {short_repr(dict(policy))}.", *path
        )
    return table if len(table) > 1 else str(table["name"])


def _normalize_table(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    for key in table:
        if not isinstance(key, str):
            raise SettingError(f"settings are named by texts; got {short_repr(key)}.", *path)
    return {key: plain_value(value, *path, key) for key, value in table.items()}


def _rewards_setting(rewards: RewardDistribution) -> dict[str, str]:
    """Nothing for Bernoulli rewards, which are usual."""
    return {} if rewards == Bernoulli() else {"rewards": rewards.notation}


def short_repr(value: Any) -> str:
    """Format a value for an error message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def normalize_study(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert all settings of a study to plain data, and check those that depend on no problem or policy."""
    problem, policies = settings["problem"], settings["policies"]
    is_list = isinstance(problem, Sequence) and not isinstance(problem, str | bytes)
    is_single = isinstance(policies, str | Mapping | PolicySpec | type)
    if not is_single and not isinstance(policies, Sequence):
        raise SettingError(f"policies must be a list such as ['uts', 'pair-elim']; got {policies!r}.", "policies")
    entries = [policies] if is_single else list(policies)
    if not entries or (is_list and not problem):
        what = "policies" if not entries else "problem"
        raise SettingError(f"{what} is an empty list. Give at least one.", what)
    problems = [normalize_problem(each, "problem", k) for k, each in enumerate(problem)] if is_list else None
    return {
        "name": _check_name(settings["name"]),
        "problem": normalize_problem(problem, "problem") if problems is None else problems,
        "policies": [normalize_policy(each, "policies", k) for k, each in enumerate(entries)],
        "runs": _integer("runs", settings["runs"], minimum=1),
        "seed": _integer("seed", settings["seed"], minimum=0),
        "engine": _one_of("engine", settings["engine"], get_args(Engine)),
        **_normalize_ends(settings),
    }


def _normalize_ends(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Horizon, δ or budget, and what goes with each."""
    ends = [key for key in ("horizon", "delta", "budget") if settings[key] is not None]
    if len(ends) != 1:
        both = "both " if len(ends) == 2 else ""
        got = f"{both}{' and '.join(ends)}" if ends else "neither horizon nor delta nor budget"
        raise SettingError(
            f"a study has {got}. Give horizon for regret, or delta or budget for identification.",
            ends[-1] if ends else "delta",
        )
    goes_with = {"checkpoints": "horizon", "stop": "horizon", "max_rounds": "delta", "epsilon": "delta"}
    for key, end in goes_with.items():
        if settings[key] is not None and settings[end] is None:
            raise SettingError(f"{key} goes with {end} only. Remove it.", key)
    normalized = {key: value for key, value in settings.items() if key in _ENDS}
    readers: dict[str, Callable[[Any], Any]] = {
        "horizon": _rounds("horizon"),
        "budget": _rounds("budget"),
        "delta": _check_delta,
        "epsilon": _check_epsilon,
    }
    for key, read in readers.items():
        if settings[key] is not None:
            normalized[key] = _each_value(key, plain_value(settings[key], key), read)
    if settings["checkpoints"] is not None:
        normalized["checkpoints"] = _normalize_checkpoints(settings["checkpoints"], normalized["horizon"])
    if settings["max_rounds"] is not None:
        normalized["max_rounds"] = _integer("max_rounds", settings["max_rounds"], minimum=1)
    if settings["stop"] is not None:
        normalized["stop"] = _one_of("stop", settings["stop"], get_args(Stop))
    return normalized


def _normalize_checkpoints(checkpoints: Any, horizon: Any) -> list[int]:
    """The rounds at which the regret is read besides the end, each once and in order."""
    rounds = plain_value(checkpoints, "checkpoints")
    longest = max(horizon) if isinstance(horizon, list) else horizon
    if not isinstance(rounds, list):
        raise SettingError(f"checkpoints must be a list of rounds; got {rounds!r}.", "checkpoints")
    return sorted({_integer("a checkpoint", at, "checkpoints", minimum=1, maximum=longest) for at in rounds})


def _check_name(name: Any) -> str:
    """A name that a folder can have."""
    plain_name = isinstance(name, str) and all(sign.isalnum() or sign in "-_. " for sign in name)
    if not plain_name or not name.strip() or name != name.strip() or name[0] == "." or len(name) > MAX_NAME_LENGTH:
        raise SettingError(
            f"name must be letters, digits, '-', '_', '.' or spaces, as a folder is called so; got {name!r}.", "name"
        )
    return str(name)


def _integer(name: str, value: Any, at: str = "", *, minimum: int, maximum: int | None = None) -> int:
    if isinstance(value, list | tuple):
        raise SettingError(
            f"{name} takes one value and cannot be swept: write a study for each. Got {value!r}.", at or name
        )
    try:
        return check_int(name, value, minimum=minimum, maximum=maximum)
    except MatchbanditError as error:
        raise SettingError(str(error), at or name) from None


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise SettingError(str(unknown(name, value, known)), name)
    return value


def _rounds(name: str) -> Callable[[Any], int]:
    return lambda value: _integer(name, value, minimum=1, maximum=MAX_HORIZON)


def _check_delta(value: Any) -> float:
    try:
        delta = check_float("delta", value)
    except MatchbanditError as error:
        raise SettingError(str(error), "delta") from None
    if not 0 < delta < 1:
        raise SettingError(f"delta must lie between 0 and 1, for it is a probability of error; got {delta:g}.", "delta")
    return delta


def _check_epsilon(value: Any) -> float:
    try:
        return check_epsilon(value)
    except MatchbanditError as error:
        raise SettingError(str(error), "epsilon") from None


def _each_value(name: str, value: Any, read: Callable[[Any], Any]) -> Any:
    """The value, or each of its sweep."""
    values = [read(each) for each in values_of(name, value, 0, (name,))]
    return values if isinstance(value, list) else values[0]

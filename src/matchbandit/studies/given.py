"""What a study is given, as plain data: numbers, texts, truth values, and lists and tables of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, get_args

import numpy as np

from matchbandit.confidence import check_epsilon
from matchbandit.errors import MatchbanditError, check_float, check_int, unknown
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.catalogue import MAX_HORIZON, name_to_find
from matchbandit.policies.catalogue import policy as named
from matchbandit.problems import Drifting, Family, Problem
from matchbandit.problems.drifting import flatten_drift
from matchbandit.rewards import Bernoulli, RewardDistribution
from matchbandit.simulation.engines import Engine, Stop
from matchbandit.studies.sweeps import MisplacedError, Path, values_of
from matchbandit.user_code import import_name

LONGEST_NAME = 100
DEEPEST = 8
STUDY_KEYS = (
    "name", "problem", "policies", "horizon", "delta", "epsilon", "budget", "runs", "seed", "checkpoints", "max_rounds",
    "stop", "engine",
)  # fmt: skip
"""What a study is made of."""
GIVEN_PROBLEM = {"u": 1, "v": 1, "means": 2, "players": 0}
"""What a given problem is made of, and how deep it is."""
WAYS = "Give family and its parameters, or u (and v), or means."


def unknown_key(kind: str, key: str, known: Iterable[str], path: Path) -> MisplacedError:
    """The error for a key that a table does not have; one of the study's own has only slipped into it."""
    if key in STUDY_KEYS:
        table = f"[{path[0]}]" if len(path) == 1 else f"[[{path[0]}]]"
        told = f"{key} belongs to the study, not to {path[0]}: in a file it stands above the first line {table}."
        return MisplacedError(told, *path, key)
    return MisplacedError(str(unknown(kind, key, known)), *path, key)


def plain(value: Any, *path: str | int, level: int = 0) -> Any:
    """The value as numbers, texts, truth values and lists of them; anything else is refused."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | range) and level < DEEPEST:
        return [plain(each, *path, level=level + 1) for each in value]
    if value is None or isinstance(value, bool | str | int) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, float):
        raise MisplacedError(f"{path[-1]} must be a finite number; got {value}.", *path)
    raise MisplacedError(
        f"{path[-1]} must be a number, a text, true or false, or a list of these; got {short(value)}.", *path
    )


def plain_problem(given: Any, *path: str | int) -> dict[str, Any]:
    """A problem as a study keeps it: a family with parameters, or strengths, or means; perhaps with its drift."""
    if isinstance(given, Drifting):
        return {**plain_problem(given.problem, *path), **_plain_table(flatten_drift(given.drift), path)}
    if isinstance(given, Family):
        return {"family": given.name, **_plain_table(given.parameters, path), **_plain_rewards(given.rewards)}
    if isinstance(given, Problem):
        parts = given.describe()
        if "matrix" in parts:
            players = {"players": True} if parts["players"] else {}
            return {"means": parts["matrix"], **players, **_plain_rewards(given.rewards)}
        strengths = {key: value for key, value in parts.items() if key in GIVEN_PROBLEM}
        return {**strengths, **_plain_rewards(given.rewards)}
    if not isinstance(given, Mapping):
        raise MisplacedError(f"problem must be a table such as {{u = [0.9, 0.3]}}; got {short(given)}. {WAYS}", *path)
    parts = dict(given)
    if isinstance(parts.get("rewards"), RewardDistribution):
        parts["rewards"] = parts["rewards"].notation
    if callable(parts.get("family")):
        parts["family"] = import_name(parts["family"], "the family")
    if "drift" in parts:
        try:
            parts |= flatten_drift(parts["drift"])
        except MatchbanditError as error:
            raise MisplacedError(str(error), *path, "drift") from None
    return _plain_table(parts, path)


def plain_policy(given: Any, *path: str | int) -> str | dict[str, Any]:
    """A policy as a study keeps it: its name, or a table of its name and options."""
    if isinstance(given, PolicySpec):
        if given.logged:
            raise MisplacedError(f"{given.name} begins with results from before, which a study cannot keep.", *path)
        given = {"name": name_to_find(given.kind), **given.options}
    elif isinstance(given, type) and issubclass(given, Policy):
        given = name_to_find(named(given).kind)
    elif isinstance(given, Policy):
        raise MisplacedError(f"this {given.name} is built already; give its name instead.", *path)
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        raise MisplacedError(f"a policy is given by its name, or as {_EXAMPLE}; got {short(given)}.", *path)
    table = _plain_table(given, path)
    if not isinstance(table.get("name"), str):
        raise MisplacedError(
            f"a policy with options needs its name, as in {_EXAMPLE}; got {short(dict(given))}.", *path
        )
    return table if len(table) > 1 else str(table["name"])


_EXAMPLE = '{name = "pair-elim", growth = 4}'


def _plain_table(given: Mapping[str, Any], path: Path) -> dict[str, Any]:
    for key in given:
        if not isinstance(key, str):
            raise MisplacedError(f"settings are named by texts; got {short(key)}.", *path)
    return {key: plain(value, *path, key) for key, value in given.items()}


def _plain_rewards(rewards: RewardDistribution) -> dict[str, str]:
    """Nothing for Bernoulli rewards, which are usual."""
    return {} if rewards == Bernoulli() else {"rewards": rewards.notation}


def short(value: Any) -> str:
    """A value for an error message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def plain_study(given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a study as plain data; what cannot be is refused, whatever the problems and policies."""
    problem, policies = given["problem"], given["policies"]
    many = isinstance(problem, Sequence) and not isinstance(problem, str | bytes)
    alone = isinstance(policies, str | Mapping | PolicySpec | type)
    if not alone and not isinstance(policies, Sequence):
        raise MisplacedError(f"policies must be a list such as ['uts', 'pair-elim']; got {policies!r}.", "policies")
    entries = [policies] if alone else list(policies)
    if not entries or (many and not problem):
        what = "policies" if not entries else "problem"
        raise MisplacedError(f"{what} is an empty list. Give one at least.", what)
    problems = [plain_problem(each, "problem", k) for k, each in enumerate(problem)] if many else None
    return {
        "name": _checked_name(given["name"]),
        "problem": plain_problem(problem, "problem") if problems is None else problems,
        "policies": [plain_policy(each, "policies", k) for k, each in enumerate(entries)],
        "runs": _whole("runs", given["runs"], minimum=1),
        "seed": _whole("seed", given["seed"], minimum=0),
        "engine": _one_of("engine", given["engine"], get_args(Engine)),
        **_plain_ends(given),
    }


def _plain_ends(given: Mapping[str, Any]) -> dict[str, Any]:
    """Horizon, δ or budget, and what goes with each."""
    ends = [key for key in ("horizon", "delta", "budget") if given[key] is not None]
    if len(ends) != 1:
        both = "both " if len(ends) == 2 else ""
        got = f"{both}{' and '.join(ends)}" if ends else "neither horizon nor delta nor budget"
        raise MisplacedError(
            f"a study has {got}. Give horizon for regret, or delta or budget for identification.",
            ends[-1] if ends else "delta",
        )
    goes_with = {"checkpoints": "horizon", "stop": "horizon", "max_rounds": "delta", "epsilon": "delta"}
    for key, end in goes_with.items():
        if given[key] is not None and given[end] is None:
            raise MisplacedError(f"{key} goes with {end} only. Take it out.", key)
    kept = {key: value for key, value in given.items() if key in _ENDS}
    if given["horizon"] is not None:
        kept["horizon"] = _each("horizon", plain(given["horizon"], "horizon"), _rounds("horizon"))
    if given["budget"] is not None:
        kept["budget"] = _each("budget", plain(given["budget"], "budget"), _rounds("budget"))
    if given["delta"] is not None:
        kept["delta"] = _each("delta", plain(given["delta"], "delta"), _check_delta)
    if given["epsilon"] is not None:
        kept["epsilon"] = _each("epsilon", plain(given["epsilon"], "epsilon"), _check_epsilon)
    if given["checkpoints"] is not None:
        kept["checkpoints"] = _plain_checkpoints(given["checkpoints"], kept["horizon"])
    if given["max_rounds"] is not None:
        kept["max_rounds"] = _whole("max_rounds", given["max_rounds"], minimum=1)
    if given["stop"] is not None:
        kept["stop"] = _one_of("stop", given["stop"], get_args(Stop))
    return kept


END_KEYS = ("horizon", "budget", "delta", "epsilon")
"""When a run ends; each may be swept."""
_ENDS = (*END_KEYS, "checkpoints", "max_rounds", "stop")


def _plain_checkpoints(given: Any, horizon: Any) -> list[int]:
    """The rounds at which the regret is read besides the end, each once and in order."""
    listed = plain(given, "checkpoints")
    longest = max(horizon) if isinstance(horizon, list) else horizon
    if not isinstance(listed, list):
        raise MisplacedError(f"checkpoints must be a list of rounds; got {listed!r}.", "checkpoints")
    return sorted({_whole("a checkpoint", at, "checkpoints", minimum=1, maximum=longest) for at in listed})


def _checked_name(name: Any) -> str:
    """A name that a folder can have."""
    plain_name = isinstance(name, str) and all(sign.isalnum() or sign in "-_. " for sign in name)
    if not plain_name or not name.strip() or name != name.strip() or name[0] == "." or len(name) > LONGEST_NAME:
        raise MisplacedError(
            f"name must be letters, digits, '-', '_', '.' or spaces, as a folder is called so; got {name!r}.", "name"
        )
    return str(name)


def _whole(name: str, value: Any, at: str = "", *, minimum: int, maximum: int | None = None) -> int:
    if isinstance(value, list | tuple):
        raise MisplacedError(
            f"{name} takes one value, and is not swept: make a study for each. Got {value!r}.", at or name
        )
    try:
        return check_int(name, value, minimum=minimum, maximum=maximum)
    except MatchbanditError as error:
        raise MisplacedError(str(error), at or name) from None


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise MisplacedError(str(unknown(name, value, known)), name)
    return value


def _rounds(name: str) -> Callable[[Any], int]:
    return lambda value: _whole(name, value, minimum=1, maximum=MAX_HORIZON)


def _check_delta(value: Any) -> float:
    try:
        delta = check_float("delta", value)
    except MatchbanditError as error:
        raise MisplacedError(str(error), "delta") from None
    if not 0 < delta < 1:
        raise MisplacedError(
            f"delta must lie between 0 and 1, for it is a probability of error; got {delta:g}.", "delta"
        )
    return delta


def _check_epsilon(value: Any) -> float:
    try:
        return check_epsilon(value)
    except MatchbanditError as error:
        raise MisplacedError(str(error), "epsilon") from None


def _each(name: str, value: Any, read: Callable[[Any], Any]) -> Any:
    """The value, or each of its sweep."""
    values = [read(each) for each in values_of(name, value, 0, (name,))]
    return values if isinstance(value, list) else values[0]

"""What a study is given, as plain data, and that data as problems and policies."""

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.own_code import name_of
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.catalogue import name_to_find
from matchbandit.policies.catalogue import policy as named
from matchbandit.problems import Bipartite, Family, Means, Monopartite, Problem
from matchbandit.problems import family as family_named
from matchbandit.problems.families import function_of, parameters_taken
from matchbandit.rewards import Bernoulli, RewardDistribution, rewards_named
from matchbandit.studies.sweeps import (
    MisplacedError,
    Path,
    annotations_of,
    as_annotated,
    combinations,
    depth_of,
    values_of,
)

Read = TypeVar("Read")

DEEPEST = 8
STUDY_KEYS = (
    "name", "problem", "policies", "horizon", "delta", "runs", "seed", "checkpoints", "max_rounds", "stop", "engine",
)  # fmt: skip
"""What a study is made of."""
_GIVEN = {"u": 1, "v": 1, "means": 2, "players": 0}
"""What a given problem is made of, and how deep it is."""
_WAYS = "Give family and its parameters, or u (and v), or means."


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
    raise MisplacedError(
        f"{path[-1]} must be a number, a text, true or false, or a list of these; got {_short(value)}.", *path
    )


def plain_problem(given: Any, *path: str | int) -> dict[str, Any]:
    """A problem as a study keeps it: a family with parameters, or strengths, or means."""
    if isinstance(given, Family):
        return {"family": given.name, **_plain_table(given.parameters, path), **_plain_rewards(given.rewards)}
    if isinstance(given, Problem):
        parts = given.describe()
        if "matrix" in parts:
            players = {"players": True} if parts["players"] else {}
            return {"means": parts["matrix"], **players, **_plain_rewards(given.rewards)}
        strengths = {key: value for key, value in parts.items() if key in _GIVEN}
        return {**strengths, **_plain_rewards(given.rewards)}
    if not isinstance(given, Mapping):
        raise MisplacedError(f"problem must be a table such as {{u = [0.9, 0.3]}}; got {_short(given)}. {_WAYS}", *path)
    parts = dict(given)
    if isinstance(parts.get("rewards"), RewardDistribution):
        parts["rewards"] = parts["rewards"].typed
    if callable(parts.get("family")):
        parts["family"] = name_of(parts["family"], "the family")
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
        raise MisplacedError(f"a policy is given by its name, or as {_EXAMPLE}; got {_short(given)}.", *path)
    table = _plain_table(given, path)
    if not isinstance(table.get("name"), str):
        raise MisplacedError(
            f"a policy with options needs its name, as in {_EXAMPLE}; got {_short(dict(given))}.", *path
        )
    return table if len(table) > 1 else str(table["name"])


_EXAMPLE = '{name = "pair-elim", growth = 4}'


def problems_in(given: dict[str, Any], *path: str | int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """All problems that a table of settings means, each as plain data with the values of what is swept there."""
    if "family" in given:
        names = values_of("family", given["family"], 0, (*path, "family"))
        swept = {"family": names, **_of_family(names, given, path)}
    else:
        swept = _of_strengths(given, path)
    varies = [key for key, values in swept.items() if len(values) > 1]
    return [(one, {key: one[key] for key in varies}) for one in combinations(swept, path)]


def _of_family(names: list[Any], given: dict[str, Any], path: Path) -> dict[str, list[Any]]:
    """The values of the parameters of families."""
    known: dict[str, int] = {}
    for name in names:
        if not isinstance(name, str):
            raise MisplacedError(f"family must be a name such as 'spiked'; got {_short(name)}.", *path, "family")
        takes = _named_at(parameters_taken, name, *path, "family")
        hints = annotations_of(function_of(name))
        known.update({key: depth_of(hints.get(key), takes[key].default) for key in takes})
    known["rewards"] = 0
    swept = {}
    for key, value in given.items():
        if key == "family":
            continue
        if key not in known:
            raise unknown_key(f"parameter of {' and '.join(names)}", key, known, path)
        swept[key] = values_of(key, value, known[key], (*path, key))
    return swept


def _of_strengths(given: dict[str, Any], path: Path) -> dict[str, list[Any]]:
    """The values of strengths or means."""
    known = {**_GIVEN, "rewards": 0}
    for key in given:
        if key not in known:
            raise unknown_key("key of problem", key, ["family", *known], path)
    if ("u" in given) == ("means" in given):
        what = "both u and means" if "u" in given else "neither family, u nor means"
        raise MisplacedError(f"problem has {what}. {_WAYS}", *path)
    lost = [key for key in (("players",) if "u" in given else ("v",)) if key in given]
    if lost:
        goes = "means" if lost[0] == "players" else "u"
        raise MisplacedError(f"{lost[0]} goes with {goes} only. {_WAYS}", *path, lost[0])
    return {key: values_of(key, value, known[key], (*path, key)) for key, value in given.items()}


def problem_of(data: dict[str, Any], *path: str | int) -> Problem | Family:
    """The problem or family that plain data without sweeps describes."""
    parts = dict(data)
    rewards = _named_at(rewards_named, parts.pop("rewards", "bernoulli"), *path, "rewards")
    if "family" in parts:
        name = parts.pop("family")
        hints = annotations_of(function_of(name))
        typed = {key: as_annotated(value, hints.get(key)) for key, value in parts.items()}
        return family_named(name, rewards=rewards, **typed)
    if "means" in parts:
        return Means(parts["means"], parts.get("players", False), rewards=rewards)
    return Bipartite(**parts, rewards=rewards) if "v" in parts else Monopartite(**parts, rewards=rewards)


def policies_in(given: str | dict[str, Any], *path: str | int) -> list[PolicySpec]:
    """All policies that an entry means: one, or one for each combination of what is swept in its options."""
    table = {"name": given} if isinstance(given, str) else dict(given)
    name = table.pop("name")
    kind = _named_at(named, name, *path, "name").kind
    takes, hints = kind.option_defaults(), annotations_of(kind.__init__)
    swept = {}
    for key, value in table.items():
        if key == "delta" and "delta" in takes:
            raise MisplacedError(
                f"the error probability is said once for the whole study: delta = … beside policies, not in {name}.",
                *path,
                key,
            )
        if key not in takes:
            known = [option for option in takes if option != "delta"]
            raise unknown_key(f"option of {name}", key, known, path)
        values = values_of(f"{name}'s {key}", value, depth_of(hints.get(key), takes[key]), (*path, key))
        swept[key] = [as_annotated(each, hints.get(key)) for each in values]
    return [named(kind, **options) for options in combinations(swept, path)]


def placed(error: MatchbanditError, table: Mapping[str, Any], *path: str | int) -> MisplacedError:
    """An error about a table of settings, at the setting that its message begins with, if it does."""
    if isinstance(error, MisplacedError):
        return error
    first = str(error).split(" ", 1)[0]
    return MisplacedError(str(error), *path, *([first] if first in table else []))


def _named_at(read: Callable[[str], Read], name: Any, *path: str | int) -> Read:
    """What a name stands for; an error says where the name is."""
    try:
        return read(name)
    except MatchbanditError as error:
        raise MisplacedError(str(error), *path) from error


def _plain_table(given: Mapping[str, Any], path: Path) -> dict[str, Any]:
    for key in given:
        if not isinstance(key, str):
            raise MisplacedError(f"settings are named by texts; got {_short(key)}.", *path)
    return {key: plain(value, *path, key) for key, value in given.items()}


def _plain_rewards(rewards: RewardDistribution) -> dict[str, str]:
    """Nothing for Bernoulli rewards, which are usual."""
    return {} if rewards == Bernoulli() else {"rewards": rewards.typed}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"

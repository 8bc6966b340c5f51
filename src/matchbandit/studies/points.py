"""The points of a study: every policy on every problem at every horizon, δ or budget, built once and checked."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.catalogue import name_to_find, unknown_option
from matchbandit.policies.catalogue import policy as named
from matchbandit.problems import Bipartite, Drifting, Family, Means, Monopartite, Problem
from matchbandit.problems import family as family_named
from matchbandit.problems.drifting import COLUMN_PREFIX, drift_annotations, pop_drift
from matchbandit.problems.families import function_of, parameters_taken
from matchbandit.results.tables import MAX_LISTED
from matchbandit.rewards import parse_rewards
from matchbandit.simulation.identify import with_precision
from matchbandit.studies.given import END_KEYS, GIVEN_PROBLEM, WAYS, short, unknown_key
from matchbandit.studies.point import MAX_TEXT, Point, value_text
from matchbandit.studies.sweeps import (
    MisplacedError,
    Path,
    annotations_of,
    as_annotated,
    combinations,
    depth_of,
    refuse_too_many,
    values_of,
)
from matchbandit.user_code import summarize_error

if TYPE_CHECKING:
    from matchbandit.studies.study import Study

Read = TypeVar("Read")


def points_of(study: "Study") -> tuple[Point, ...]:
    """Every combination that the study's plain data means; the first that cannot be played is refused, and named."""
    ends = _ends(study)
    problems = list(_problems(study))
    policies = list(_policies(study))
    refuse_too_many(len(policies) * len(problems) * len(ends), ())
    varying = _varying_options([spec for _, spec in policies])
    made: dict[str, Point] = {}
    spec_of: dict[str, PolicySpec] = {}
    in_rows: dict[str, Point] = {}
    for policy_path, spec in policies:
        for problem_path, problem, settings in problems:
            for end in ends:
                point = _point(study, problem, spec, end, {**settings, **_own_settings(spec, varying)})
                row_identity = _checked(study, point, policy_path)
                if point.key in made:
                    again = spec is spec_of[point.key]
                    path = _where_doubled(study, made[point.key], point, problem_path) if again else policy_path
                    raise MisplacedError(f"{point.title} is there twice. Take one out.", *path)
                made[point.key], spec_of[point.key] = point, spec
                twin = in_rows.setdefault(row_identity, point)
                if twin is not point:
                    raise _alike_in_rows(point, twin, problem_path)
    return tuple(made.values())


def _ends(study: "Study") -> list[dict[str, Any]]:
    """Every horizon, every budget, or every δ with every ε."""
    given = {name: getattr(study, name) for name in END_KEYS}
    swept = {name: values_of(name, value, 0, (name,)) for name, value in given.items() if value is not None}
    return combinations(swept, ())


def _problems(study: "Study") -> Iterator[tuple[Path, Problem | Family, dict[str, Any]]]:
    """Every problem, where it stands, and the values of what varies there."""
    listed = isinstance(study.problem, list)
    tables = study.problem if listed else [study.problem]
    names = _names_of(tables)
    for k, table in enumerate(tables):
        path: Path = ("problem", k) if listed else ("problem",)
        for data, swept in problems_in(table, *path):
            settings = {**({"problem": names[k]} if len(tables) > 1 else {}), **swept}
            try:
                problem = problem_of(data, *path)
            except MatchbanditError as error:
                at = ", ".join(f"{key} = {value_text(value, MAX_TEXT)}" for key, value in swept.items())
                told = f"at {at}: {error}" if at else str(error)
                raise MisplacedError(told, *placed(error, table, *path).path) from None
            yield path, problem, settings


def _policies(study: "Study") -> Iterator[tuple[Path, PolicySpec]]:
    """Every policy with its options, and where it stands."""
    kinds: dict[str, PolicySpec] = {}
    for k, entry in enumerate(study.policies):
        path: Path = ("policies", k)
        for spec in policies_in(entry, *path):
            known = kinds.setdefault(spec.name, spec)
            if known.kind is not spec.kind:
                raise MisplacedError(
                    f"{name_to_find(spec.kind)} and {name_to_find(known.kind)} are both named {spec.name!r}, and "
                    f"rows could not tell them apart. Give your class another name.",
                    *path,
                )
            _refuse_goal(study, spec, path)
            _refuse_epsilon(study, spec, path)
            yield path, spec


def _refuse_goal(study: "Study", spec: PolicySpec, path: Path) -> None:
    capabilities = spec.kind.capabilities
    goals = capabilities.goals
    if study.goal in goals:
        if study.goal == "identification" and capabilities.fixed_budget != (study.budget is not None):
            error = unknown_option(spec.kind, "delta" if study.budget is None else "budget")
            raise MisplacedError(str(error), *path)
        return
    end = "delta" if study.budget is None else "budget"
    if study.goal == "regret":
        other = f"{'budget' if capabilities.fixed_budget else 'delta'} in place of horizon"
    else:
        other = f"horizon in place of {end}"
    raise MisplacedError(
        f"{spec.name} is for {goals[0]}, and this study is for {study.goal}. Take it out, or give the study {other}.",
        *path,
    )


def _refuse_epsilon(study: "Study", spec: PolicySpec, path: Path) -> None:
    """Refuse an ε of the study for a policy that does not support it, or has its own."""
    if study.epsilon is None:
        return
    if spec.kind.capabilities.epsilon_in(spec.options) is not None:
        raise MisplacedError(
            f"epsilon is there twice: beside policies, and in {spec.name}. Give it once.", *path, "epsilon"
        )
    for epsilon in values_of("epsilon", study.epsilon, 0, ("epsilon",)):
        try:
            with_precision(spec, None, epsilon)
        except MatchbanditError as error:
            raise MisplacedError(str(error), "epsilon") from None


def _point(
    study: "Study",
    problem: Problem | Family,
    spec: PolicySpec,
    end: dict[str, Any],
    settings: dict[str, Any],
) -> Point:
    ends = dict(end)
    varying = {name: value for name, value in end.items() if np.size(getattr(study, name)) > 1}
    return Point(
        study=study.name,
        problem=problem,
        spec=with_precision(spec, end.get("delta"), ends.pop("epsilon", None)),
        seed=study.seed,
        checkpoints=_checkpoints_before(study, end),
        max_rounds=study.max_rounds,
        stop=study.stop,
        engine=study.engine,
        settings={**settings, **varying},
        **ends,
    )


def _checkpoints_before(study: "Study", end: dict[str, Any]) -> tuple[int, ...] | None:
    """Those before the horizon, at which the regret is always read."""
    return None if study.checkpoints is None else tuple(at for at in study.checkpoints if at < end["horizon"])


def _checked(study: "Study", point: Point, policy_path: Path) -> str:
    """What the rows of a point say of where they come from, if it can be played."""
    try:
        point.check()
        return point.row_identity
    except MatchbanditError as error:
        entry = study.policies[policy_path[1]]
        table = entry if isinstance(entry, dict) else {}
        told = str(error) if str(error).startswith(f"{point.title} ") else f"{point.title}: {error}"
        first = str(error).split(" ", 1)[0]
        at_end = first in END_KEYS and getattr(study, first) is not None
        raise MisplacedError(told, *((first,) if at_end else placed(error, table, *policy_path).path)) from None
    except Exception as error:
        raise MisplacedError(f"{point.title} cannot be built: {summarize_error(error)}.", *policy_path) from error


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
            raise MisplacedError(f"family must be a name such as 'spiked'; got {short(name)}.", *path, "family")
        takes = _named_at(parameters_taken, name, *path, "family")
        hints = annotations_of(function_of(name))
        known.update({key: depth_of(hints.get(key), takes[key].default) for key in takes})
    known |= {"rewards": 0, **_depths_of_drift(given)}
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
    known = {**GIVEN_PROBLEM, "rewards": 0, **_depths_of_drift(given)}
    for key in given:
        if key not in known:
            raise unknown_key("key of problem", key, ["family", *known], path)
    if ("u" in given) == ("means" in given):
        what = "both u and means" if "u" in given else "neither family, u nor means"
        raise MisplacedError(f"problem has {what}. {WAYS}", *path)
    lost = [key for key in (("players",) if "u" in given else ("v",)) if key in given]
    if lost:
        goes = "means" if lost[0] == "players" else "u"
        raise MisplacedError(f"{lost[0]} goes with {goes} only. {WAYS}", *path, lost[0])
    return {key: values_of(key, value, known[key], (*path, key)) for key, value in given.items()}


def _depths_of_drift(given: dict[str, Any]) -> dict[str, int]:
    """How deep the parameters of a drift are; none where nothing drifts."""
    hints = drift_annotations() if "drift" in given else {"drift": str}
    return {key: depth_of(hint) for key, hint in hints.items()}


def problem_of(data: dict[str, Any], *path: str | int) -> Problem | Family:
    """The problem or family that plain data without sweeps describes."""
    parts = dict(data)
    drift = pop_drift(parts)
    if drift is not None:
        return Drifting(problem_of(parts, *path), drift)  # type: ignore[arg-type]  # means are refused
    rewards = _named_at(parse_rewards, parts.pop("rewards", "bernoulli"), *path, "rewards")
    if "family" in parts:
        name = parts.pop("family")
        hints = annotations_of(function_of(name))
        typed = {key: as_annotated(value, hints.get(key)) for key, value in parts.items()}
        return family_named(name, rewards=rewards, **typed)
    if "means" in parts:
        try:
            return Means(parts["means"], parts.get("players", False), rewards=rewards)
        except MatchbanditError as error:  # which calls them the matrix
            raise MatchbanditError(str(error).replace("matrix", "means", 1)) from None
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
        if key == "epsilon" and key not in takes:
            raise MisplacedError(str(unknown_option(kind, key)), *path, key)
        if key not in takes:
            known = [option for option in takes if option != "delta"]
            raise unknown_key(f"option of {name}", key, known, path)
        values = values_of(f"{name}'s {key}", value, depth_of(hints.get(key), takes[key]), (*path, key))
        swept[key] = [as_annotated(each, hints.get(key)) for each in values]
    return [_spec(kind, options, swept, *path) for options in combinations(swept, path)]


def _spec(kind: type[Policy], options: dict[str, Any], swept: Mapping[str, list[Any]], *path: str | int) -> PolicySpec:
    """The policy with these options; an error says which of them is wrong, with its value if it is one of several."""
    try:
        return named(kind, **options)
    except MatchbanditError as error:
        option = str(error).split(" ", 1)[0]
        if option not in options:
            raise
        value = f"{option} = {short(options[option])}: " if len(swept[option]) > 1 else ""
        raise MisplacedError(f"{value}{error}", *path, option) from None


def placed(error: MatchbanditError, table: Mapping[str, Any], *path: str | int) -> MisplacedError:
    """An error about a table of settings, at the setting that its message begins with, if it does."""
    if isinstance(error, MisplacedError):
        return error
    first = str(error).split(" ", 1)[0]
    key = "drift" if f"{COLUMN_PREFIX}{first}" in table else first
    return MisplacedError(str(error), *path, *([key] if key in table else []))


def _named_at(read: Callable[[str], Read], name: Any, *path: str | int) -> Read:
    """What a name stands for; an error says where the name is."""
    try:
        return read(name)
    except MatchbanditError as error:
        raise MisplacedError(str(error), *path) from error


def _where_doubled(study: "Study", twin: Point, point: Point, problem_path: Path) -> Path:
    """Where a policy meets the same twice: a horizon or δ, a value of a sweep, or a whole problem."""
    if twin.problem is point.problem:
        ends = {name: getattr(study, name) for name in END_KEYS}
        swept_ends = {name: values for name, values in ends.items() if isinstance(values, list)}
        return next((name,) for name, values in swept_ends.items() if len(set(values)) < len(values))
    table = study.problem[int(problem_path[1])] if isinstance(study.problem, list) else study.problem
    swept = {key: table[key] for key in point.settings if isinstance(table.get(key), list)}
    doubled = [key for key, values in swept.items() if any(values.count(value) > 1 for value in values)]
    return (*problem_path, *doubled[:1])


def _alike_in_rows(point: Point, twin: Point, problem_path: Path) -> MisplacedError:
    """The error for two points whose rows would say the same."""
    why = f"strengths and means of more than {MAX_LISTED} numbers stand in none"
    return MisplacedError(
        f"rows could not tell {point.title} from {twin.title}: {why}. Make a study for each.", *problem_path
    )


def _own_settings(spec: PolicySpec, varying: dict[str, set[str]]) -> dict[str, Any]:
    options = {**spec.kind.option_defaults(), **spec.options}
    return {f"{spec.name}.{key}": value for key, value in options.items() if key in varying[spec.name]}


def _varying_options(specs: list[PolicySpec]) -> dict[str, set[str]]:
    """For each policy the options that are not the same wherever it stands in the study."""
    texts: dict[str, dict[str, set[str]]] = {}
    for spec in specs:
        for key, value in {**spec.kind.option_defaults(), **spec.options}.items():
            texts.setdefault(spec.name, {}).setdefault(key, set()).add(json.dumps(value, default=repr))
        texts.setdefault(spec.name, {})
    return {name: {key for key, values in options.items() if len(values) > 1} for name, options in texts.items()}


def _names_of(tables: list[dict[str, Any]]) -> list[str]:
    """A short name for each problem of a list: its family, with what tells it from others of that family."""
    heads = [_head(table) for table in tables]
    names = []
    for table, head in zip(tables, heads, strict=True):
        kin = [other for other, name in zip(tables, heads, strict=True) if name == head]
        differ = [key for key in table if key != "family" and any(other.get(key) != table[key] for other in kin)]
        told = [key for key in differ if not isinstance(table[key], list) or key in "uv"]
        parts = [f"{key} = {value_text(table[key], MAX_TEXT)}" for key in told]
        names.append(", ".join([head, *parts]))
    return [name if names.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(names)]


def _head(table: dict[str, Any]) -> str:
    if "family" in table:
        return value_text(table["family"])
    return "means" if "means" in table else "bipartite" if "v" in table else "monopartite"

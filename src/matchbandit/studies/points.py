"""Build the points of a study: every policy on every problem at every horizon, δ or budget, checked before it runs."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from matchbandit.errors import MatchbanditError
from matchbandit.formatting import float_text, grouped
from matchbandit.policies import Policy, PolicySpec
from matchbandit.policies.capabilities import Goal
from matchbandit.policies.catalogue import name_to_find, unknown_option
from matchbandit.policies.catalogue import policy as policy_spec
from matchbandit.problems import Bipartite, Drifting, Family, Means, Monopartite, Problem
from matchbandit.problems import family as problem_family
from matchbandit.problems.drifting import COLUMN_PREFIX, drift_annotations, pop_drift, refuse_drifting
from matchbandit.problems.families import function_of, parameters_taken
from matchbandit.results import Identification, Runs
from matchbandit.results.tables import MAX_LISTED, parameters_of
from matchbandit.rewards import parse_rewards
from matchbandit.simulation import identify, simulate
from matchbandit.simulation.engines import Engine, Stop, choose_engine, stop_condition
from matchbandit.simulation.identify import with_precision
from matchbandit.simulation.play import Job, build_first
from matchbandit.studies.normalize import (
    END_KEYS,
    PROBLEM_DEPTHS,
    PROBLEM_HINT,
    Path,
    SettingError,
    annotations_of,
    as_annotated,
    check_number_of_points,
    combinations,
    depth_of,
    short_repr,
    to_lists,
    unknown_key,
    values_of,
)
from matchbandit.user_code import is_user_defined, module_of, summarize_error

if TYPE_CHECKING:
    from matchbandit.studies.study import Study

Read = TypeVar("Read")
SIGNS = {"delta": "δ", "epsilon": "ε"}
"""How captions and tables write these settings."""
MAX_TEXT = 60
"""Letters of a value in a label; longer ones are cut."""


@dataclass(frozen=True, eq=False)
class Point:
    """One policy with options, on one problem, at one horizon, δ or budget."""

    study: str
    """The name of the study that it belongs to."""
    problem: Problem | Family
    spec: PolicySpec
    """The policy, with `delta` and `epsilon` among its options where they are given."""
    seed: int
    horizon: int | None = None
    delta: float | None = None
    budget: int | None = None
    checkpoints: tuple[int, ...] | None = None
    max_rounds: int | None = None
    stop: Stop | None = None
    engine: Engine = "auto"
    settings: dict[str, Any] = field(default_factory=dict)
    """The values of what varies in the study: `gap`, `horizon`, `pair-elim.growth`, …"""

    @property
    def goal(self) -> Goal:
        """Regret, or identification."""
        return "regret" if self.horizon is not None else "identification"

    @property
    def known_rounds(self) -> int | None:
        """The number of rounds that the policy knows: its horizon or its budget."""
        return self.horizon if self.budget is None else self.budget

    @property
    def label(self) -> str:
        """The policy, with those of its options that vary: `pair-elim, growth = 1.05`."""
        own = self._of_policy
        options = [f"{option} = {value_text(value, MAX_TEXT)}" for option, value in own.items()]
        return ", ".join([self.spec.name, *options])

    @property
    def place(self) -> str:
        """The problem, horizon or δ as far as they vary: `gap = 0.5, horizon = 100000`; empty if nothing does."""
        others = {key: value for key, value in self.settings.items() if not key.startswith(f"{self.spec.name}.")}
        texts = {key: value_text(value, MAX_TEXT) for key, value in others.items()}
        return ", ".join(words if key == "problem" else f"{key} = {words}" for key, words in texts.items())

    @property
    def title(self) -> str:
        """Label and place: `uts at gap = 0.5`."""
        return f"{self.label} at {self.place}" if self.place else self.label

    def describe(self) -> dict[str, Any]:
        """All that determines its numbers, as plain data, and nothing else: not the runs, not the study's name."""
        options = {**self.spec.kind.option_defaults(), **self.spec.options, **self._options_built}
        parts = {
            "problem": self.problem.describe(),
            "policy": name_to_find(self.spec.kind),
            "options": {key: _plain_option(key, value) for key, value in options.items() if key != "delta"},
            "horizon": self.horizon,
            "delta": self.delta,
            "budget": self.budget,
            "checkpoints": None if self.checkpoints is None else list(self.checkpoints),
            "max_rounds": self.max_rounds,
            "stop": self.stop,
            "engine": self.engine,
            "seed": self.seed,
        }
        return {key: value for key, value in parts.items() if value is not None}

    @cached_property
    def key(self) -> str:
        """16 hex digits that stand for `describe()`: the same for the same numbers, in any study."""
        text = json.dumps(self.describe(), sort_keys=True, separators=(",", ":"))
        return blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def row_identity(self) -> str:
        """What its rows say of where they come from; no two points of a study may have the same."""
        problem = self.problem.describe()
        parameters = {name: value for name, value in parameters_of(problem).items() if np.size(value) <= MAX_LISTED}
        facts = [self.spec.name, self._options_built, problem.get("family"), parameters, problem["rewards"]]
        return json.dumps([*facts, self.horizon, self.delta, self.budget], sort_keys=True)

    @property
    def user_parts(self) -> dict[str, Any]:
        """Its policy's class and its family's function, by their names `module:name`, if they are the user's own."""
        parts: dict[str, Any] = {name_to_find(self.spec.kind): self.spec.kind}
        start = self.problem.problem if isinstance(self.problem, Drifting) else self.problem
        if isinstance(start, Family):
            parts[start.name] = function_of(start.name)
        return {name: part for name, part in parts.items() if is_user_defined(name)}

    @property
    def user_modules(self) -> tuple[str, ...]:
        """The user's own modules that its policy and its family come from."""
        return tuple(dict.fromkeys(map(module_of, self.user_parts)))

    def check(self) -> None:
        """Build the policy on the first instance: what cannot be played is refused before anything runs."""
        if self.goal == "identification":
            refuse_drifting("identification", self.problem, "Give a horizon in place of delta or budget.")
        first = self._built()
        stop_condition(self.stop, first)
        choose_engine(self.engine, first)
        if self.delta is not None and self.max_rounds is None and not first.capabilities.epsilon_in(first.options):
            problem = self.problem.draw(self.seed) if isinstance(self.problem, Family) else self.problem
            tie = problem.tie(first.answer_selection)
            if tie is not None:
                hint = "Give max_rounds, or make them different."
                raise MatchbanditError(f"{tie}, and no number of samples tells them apart. {hint}")

    def play(
        self, first_run: int, runs: int, *, progress: Callable[[int, int], None] | None = None
    ) -> Runs | Identification:
        """Play these runs in this process; `progress` is called with the number of runs done and their total."""
        if self.goal == "regret":
            return simulate(
                self.problem,
                self.spec,
                horizon=self.horizon or 1,
                runs=runs,
                seed=self.seed,
                engine=self.engine,
                checkpoints=self.checkpoints,
                stop=self.stop,
                progress=progress,
                first_run=first_run,
            )
        return identify(
            self.problem,
            self.spec,
            budget=self.budget,
            runs=runs,
            seed=self.seed,
            max_rounds=self.max_rounds,
            engine=self.engine,
            progress=progress,
            first_run=first_run,
        )

    def _built(self) -> Policy:
        """The policy of the first run, before its first round."""
        last = self.known_rounds or self.max_rounds or 1
        job = Job(self.problem, self.spec, np.array([last]), self.seed, self.engine, self.known_rounds, self.stop)
        return build_first(job).policy

    @cached_property
    def _options_built(self) -> dict[str, Any]:
        """The options that the policy says it has, which are those in its rows: `selection` is chosen by now."""
        return {key: _plain_option(key, value) for key, value in self._built().options.items()}

    @property
    def _of_policy(self) -> dict[str, Any]:
        prefix = f"{self.spec.name}."
        return {key.removeprefix(prefix): value for key, value in self.settings.items() if key.startswith(prefix)}

    def __repr__(self) -> str:
        """Study, policy and place."""
        return f"<Point {self.key} of {self.study}: {self.title}>"


def _plain_option(name: str, value: Any) -> Any:
    """The option as plain data, if it can be."""
    data = to_lists(value)
    try:
        json.dumps(data)
    except (TypeError, ValueError):
        raise MatchbanditError(
            f"the option {name} must be a number, a text, true or false, or a list of these, as files store it; "
            f"got {value!r}."
        ) from None
    return data


def value_text(value: Any, max_length: int | None = None) -> str:
    """Format a setting; a text longer than `max_length` is cut at a space.

    >>> value_text(0.5), value_text(100_000), value_text(True), value_text([0.9, 0.3])
    ('0.5', '100,000', 'true', '0.9 0.3')
    >>> value_text([0.9, 0.8, 0.7, 0.6], 10)
    '0.9 0.8 …'
    """
    if max_length is not None:
        text = value_text(value)
        return text if len(text) <= max_length else f"{text[:max_length].rsplit(' ', 1)[0]} …"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        is_nested = any(isinstance(each, list | tuple) for each in value)
        return (" / " if is_nested else " ").join(map(value_text, value))
    if isinstance(value, float):
        return float_text(float(f"{value:.12g}"))
    return grouped(value) if isinstance(value, int) else str(value)


def points_of(study: "Study") -> tuple[Point, ...]:
    """Every combination that the study's plain data means; the first that cannot be played is refused, and named."""
    ends = _ends(study)
    problems = list(_problems(study))
    policies = list(_policies(study))
    check_number_of_points(len(policies) * len(problems) * len(ends), ())
    varying = _varying_options([spec for _, spec in policies])
    points: dict[str, Point] = {}
    spec_of: dict[str, PolicySpec] = {}
    in_rows: dict[str, Point] = {}
    for policy_path, spec in policies:
        for problem_path, problem, settings in problems:
            for end in ends:
                point = _point(study, problem, spec, end, {**settings, **_option_settings(spec, varying)})
                row_identity = _check_point(study, point, policy_path)
                if point.key in points:
                    same_policy = spec is spec_of[point.key]
                    path = (
                        _path_of_duplicate(study, points[point.key], point, problem_path)
                        if same_policy
                        else policy_path
                    )
                    raise SettingError(f"{point.title} is there twice. Remove one.", *path)
                points[point.key], spec_of[point.key] = point, spec
                twin = in_rows.setdefault(row_identity, point)
                if twin is not point:
                    raise _same_rows_error(point, twin, problem_path)
    return tuple(points.values())


def _ends(study: "Study") -> list[dict[str, Any]]:
    """Every horizon, every budget, or every δ with every ε."""
    ends = {name: getattr(study, name) for name in END_KEYS}
    swept = {name: values_of(name, value, 0, (name,)) for name, value in ends.items() if value is not None}
    return combinations(swept, ())


def _problems(study: "Study") -> Iterator[tuple[Path, Problem | Family, dict[str, Any]]]:
    """Every problem, where it stands, and the values of what varies there."""
    is_list = isinstance(study.problem, list)
    tables = study.problem if is_list else [study.problem]
    names = _problem_names(tables)
    for k, table in enumerate(tables):
        path: Path = ("problem", k) if is_list else ("problem",)
        for data, swept in expand_problems(table, *path):
            settings = {**({"problem": names[k]} if len(tables) > 1 else {}), **swept}
            try:
                problem = build_problem(data, *path)
            except MatchbanditError as error:
                at = ", ".join(f"{key} = {value_text(value, MAX_TEXT)}" for key, value in swept.items())
                message = f"at {at}: {error}" if at else str(error)
                raise SettingError(message, *locate_error(error, table, *path).path) from None
            yield path, problem, settings


def _policies(study: "Study") -> Iterator[tuple[Path, PolicySpec]]:
    """Every policy with its options, and where it stands."""
    kinds: dict[str, PolicySpec] = {}
    for k, entry in enumerate(study.policies):
        path: Path = ("policies", k)
        for spec in expand_policies(entry, *path):
            first = kinds.setdefault(spec.name, spec)
            if first.kind is not spec.kind:
                raise SettingError(
                    f"{name_to_find(spec.kind)} and {name_to_find(first.kind)} are both named {spec.name!r}, and "
                    f"rows could not tell them apart. Give your class another name.",
                    *path,
                )
            _check_goal(study, spec, path)
            _check_epsilon_of(study, spec, path)
            yield path, spec


def _check_goal(study: "Study", spec: PolicySpec, path: Path) -> None:
    capabilities = spec.kind.capabilities
    goals = capabilities.goals
    if study.goal in goals:
        if study.goal == "identification" and capabilities.fixed_budget != (study.budget is not None):
            error = unknown_option(spec.kind, "delta" if study.budget is None else "budget")
            raise SettingError(str(error), *path)
        return
    end = "delta" if study.budget is None else "budget"
    if study.goal == "regret":
        other = f"{'budget' if capabilities.fixed_budget else 'delta'} in place of horizon"
    else:
        other = f"horizon in place of {end}"
    raise SettingError(
        f"{spec.name} is for {goals[0]}, and this study is for {study.goal}. Remove it, or give the study {other}.",
        *path,
    )


def _check_epsilon_of(study: "Study", spec: PolicySpec, path: Path) -> None:
    """Refuse an ε of the study for a policy that does not support it, or has its own."""
    if study.epsilon is None:
        return
    if spec.kind.capabilities.epsilon_in(spec.options) is not None:
        raise SettingError(
            f"epsilon is there twice: beside policies, and in {spec.name}. Give it once.", *path, "epsilon"
        )
    for epsilon in values_of("epsilon", study.epsilon, 0, ("epsilon",)):
        try:
            with_precision(spec, None, epsilon)
        except MatchbanditError as error:
            raise SettingError(str(error), "epsilon") from None


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


def _check_point(study: "Study", point: Point, policy_path: Path) -> str:
    """What the rows of a point say of where they come from, if it can be played."""
    try:
        point.check()
        return point.row_identity
    except MatchbanditError as error:
        entry = study.policies[policy_path[1]]
        table = entry if isinstance(entry, dict) else {}
        message = str(error) if str(error).startswith(f"{point.title} ") else f"{point.title}: {error}"
        first = str(error).split(" ", 1)[0]
        at_end = first in END_KEYS and getattr(study, first) is not None
        raise SettingError(message, *((first,) if at_end else locate_error(error, table, *policy_path).path)) from None
    except Exception as error:
        raise SettingError(f"{point.title} cannot be built: {summarize_error(error)}.", *policy_path) from error


def expand_problems(table: dict[str, Any], *path: str | int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """All problems that a table of settings means, each as plain data with the values of what is swept there."""
    if "family" in table:
        names = values_of("family", table["family"], 0, (*path, "family"))
        swept = {"family": names, **_family_sweeps(names, table, path)}
    else:
        swept = _strengths_sweeps(table, path)
    varies = [key for key, values in swept.items() if len(values) > 1]
    return [(one, {key: one[key] for key in varies}) for one in combinations(swept, path)]


def _family_sweeps(names: list[Any], table: dict[str, Any], path: Path) -> dict[str, list[Any]]:
    """The values of the parameters of families."""
    depths: dict[str, int] = {}
    for name in names:
        if not isinstance(name, str):
            raise SettingError(f"family must be a name such as 'spiked'; got {short_repr(name)}.", *path, "family")
        parameters = _look_up(parameters_taken, name, *path, "family")
        hints = annotations_of(function_of(name))
        depths.update({key: depth_of(hints.get(key), parameters[key].default) for key in parameters})
    depths |= {"rewards": 0, **_drift_depths(table)}
    swept = {}
    for key, value in table.items():
        if key == "family":
            continue
        if key not in depths:
            raise unknown_key(f"parameter of {' and '.join(names)}", key, depths, path)
        swept[key] = values_of(key, value, depths[key], (*path, key))
    return swept


def _strengths_sweeps(table: dict[str, Any], path: Path) -> dict[str, list[Any]]:
    """The values of strengths or means."""
    depths = {**PROBLEM_DEPTHS, "rewards": 0, **_drift_depths(table)}
    for key in table:
        if key not in depths:
            raise unknown_key("key of problem", key, ["family", *depths], path)
    if ("u" in table) == ("means" in table):
        what = "both u and means" if "u" in table else "neither family, u nor means"
        raise SettingError(f"problem has {what}. {PROBLEM_HINT}", *path)
    misplaced = [key for key in (("players",) if "u" in table else ("v",)) if key in table]
    if misplaced:
        owner = "means" if misplaced[0] == "players" else "u"
        raise SettingError(f"{misplaced[0]} goes with {owner} only. {PROBLEM_HINT}", *path, misplaced[0])
    return {key: values_of(key, value, depths[key], (*path, key)) for key, value in table.items()}


def _drift_depths(table: dict[str, Any]) -> dict[str, int]:
    """How deeply the parameters of a drift are nested; none where nothing drifts."""
    hints = drift_annotations() if "drift" in table else {"drift": str}
    return {key: depth_of(hint) for key, hint in hints.items()}


def build_problem(data: dict[str, Any], *path: str | int) -> Problem | Family:
    """The problem or family that plain data without sweeps describes."""
    parts = dict(data)
    drift = pop_drift(parts)
    if drift is not None:
        return Drifting(build_problem(parts, *path), drift)  # type: ignore[arg-type]  # means are refused
    rewards = _look_up(parse_rewards, parts.pop("rewards", "bernoulli"), *path, "rewards")
    if "family" in parts:
        name = parts.pop("family")
        hints = annotations_of(function_of(name))
        typed = {key: as_annotated(value, hints.get(key)) for key, value in parts.items()}
        return problem_family(name, rewards=rewards, **typed)
    if "means" in parts:
        try:
            return Means(parts["means"], parts.get("players", False), rewards=rewards)
        except MatchbanditError as error:  # which calls them the matrix
            raise MatchbanditError(str(error).replace("matrix", "means", 1)) from None
    return Bipartite(**parts, rewards=rewards) if "v" in parts else Monopartite(**parts, rewards=rewards)


def expand_policies(entry: str | dict[str, Any], *path: str | int) -> list[PolicySpec]:
    """All policies that an entry means: one, or one for each combination of what is swept in its options."""
    table = {"name": entry} if isinstance(entry, str) else dict(entry)
    name = table.pop("name")
    kind = _look_up(policy_spec, name, *path, "name").kind
    defaults, hints = kind.option_defaults(), annotations_of(kind.__init__)
    swept = {}
    for key, value in table.items():
        if key == "delta" and "delta" in defaults:
            raise SettingError(
                f"delta is a setting of the whole study: write delta = … beside policies, not in {name}.",
                *path,
                key,
            )
        if key == "epsilon" and key not in defaults:
            raise SettingError(str(unknown_option(kind, key)), *path, key)
        if key not in defaults:
            known = [option for option in defaults if option != "delta"]
            raise unknown_key(f"option of {name}", key, known, path)
        values = values_of(f"{name}'s {key}", value, depth_of(hints.get(key), defaults[key]), (*path, key))
        swept[key] = [as_annotated(each, hints.get(key)) for each in values]
    return [_spec(kind, options, swept, *path) for options in combinations(swept, path)]


def _spec(kind: type[Policy], options: dict[str, Any], swept: Mapping[str, list[Any]], *path: str | int) -> PolicySpec:
    """The policy with these options; an error says which of them is wrong, with its value if it is one of several."""
    try:
        return policy_spec(kind, **options)
    except MatchbanditError as error:
        option = str(error).split(" ", 1)[0]
        if option not in options:
            raise
        value = f"{option} = {short_repr(options[option])}: " if len(swept[option]) > 1 else ""
        raise SettingError(f"{value}{error}", *path, option) from None


def locate_error(error: MatchbanditError, table: Mapping[str, Any], *path: str | int) -> SettingError:
    """An error about a table of settings, at the setting that its message begins with, if it does."""
    if isinstance(error, SettingError):
        return error
    first = str(error).split(" ", 1)[0]
    key = "drift" if f"{COLUMN_PREFIX}{first}" in table else first
    return SettingError(str(error), *path, *([key] if key in table else []))


def _look_up(read: Callable[[str], Read], name: Any, *path: str | int) -> Read:
    """What a name stands for; an error says where the name is."""
    try:
        return read(name)
    except MatchbanditError as error:
        raise SettingError(str(error), *path) from error


def _path_of_duplicate(study: "Study", twin: Point, point: Point, problem_path: Path) -> Path:
    """Where a policy meets the same twice: a horizon or δ, a value of a sweep, or a whole problem."""
    if twin.problem is point.problem:
        ends = {name: getattr(study, name) for name in END_KEYS}
        swept_ends = {name: values for name, values in ends.items() if isinstance(values, list)}
        return next((name,) for name, values in swept_ends.items() if len(set(values)) < len(values))
    table = study.problem[int(problem_path[1])] if isinstance(study.problem, list) else study.problem
    swept = {key: table[key] for key in point.settings if isinstance(table.get(key), list)}
    doubled = [key for key, values in swept.items() if any(values.count(value) > 1 for value in values)]
    return (*problem_path, *doubled[:1])


def _same_rows_error(point: Point, twin: Point, problem_path: Path) -> SettingError:
    """The error for two points whose rows would say the same."""
    why = f"strengths and means of more than {MAX_LISTED} numbers stand in none"
    return SettingError(
        f"rows could not tell {point.title} from {twin.title}: {why}. Make a study for each.", *problem_path
    )


def _option_settings(spec: PolicySpec, varying: dict[str, set[str]]) -> dict[str, Any]:
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


def _problem_names(tables: list[dict[str, Any]]) -> list[str]:
    """A short name for each problem of a list: its family, with what tells it from others of that family."""
    heads = [_head(table) for table in tables]
    names = []
    for table, head in zip(tables, heads, strict=True):
        siblings = [other for other, name in zip(tables, heads, strict=True) if name == head]
        differ = [key for key in table if key != "family" and any(other.get(key) != table[key] for other in siblings)]
        shown = [key for key in differ if not isinstance(table[key], list) or key in "uv"]
        parts = [f"{key} = {value_text(table[key], MAX_TEXT)}" for key in shown]
        names.append(", ".join([head, *parts]))
    return [name if names.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(names)]


def _head(table: dict[str, Any]) -> str:
    if "family" in table:
        return value_text(table["family"])
    return "means" if "means" in table else "bipartite" if "v" in table else "monopartite"

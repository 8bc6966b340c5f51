"""A study is data: policies on problems, at horizons or error probabilities; lists where one value is expected."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, get_args

from matchbandit.errors import MatchbanditError, real_number, unknown, whole_number
from matchbandit.figures import Chart, draw, draw_to
from matchbandit.own_code import in_words as error_in_words
from matchbandit.policies import PolicySpec
from matchbandit.policies.catalogue import LONGEST_HORIZON, name_to_find, policy
from matchbandit.policies.fits import Goal
from matchbandit.problems import Family, Problem
from matchbandit.results import Rows
from matchbandit.results.tables import MOST_LISTED
from matchbandit.simulation.play import Engine, Progress
from matchbandit.simulation.stops import Stop
from matchbandit.studies.charts import charts_of
from matchbandit.studies.given import placed, plain, plain_policy, plain_problem, policies_in, problem_of, problems_in
from matchbandit.studies.point import Point, in_words
from matchbandit.studies.sweeps import MisplacedError, Path, refuse_too_many, values_of

if TYPE_CHECKING:
    from matchbandit.figures.painting import Picture
    from matchbandit.results import Comparison
    from matchbandit.studies.folder import StudyFolder

_REQUIRED = ("name", "problem", "policies")
LONGEST_NAME = 100
_TOO_LONG = f"Strengths and means of more than {MOST_LISTED} numbers stand in no row: make a study for each."


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Policies on problems, each combination played `runs` times: what a study file says, in Python.

    Everything is kept as plain data. Where one value is expected, a list is a sweep: sweeps combine as a product, in
    the order in which they are written. Every combination is built once and checked when the study is made.

    >>> gaps = Study(
    ...     name="gaps", horizon=1e5, runs=20, seed=7,
    ...     problem={"family": "spiked", "n": 8, "u1": 0.9, "gap": [0.5, 0.6, 0.7]},
    ...     policies=["uts", {"name": "pair-elim", "growth": [1.05, 4]}],
    ... )
    >>> gaps
    Study gaps: 3 policies × 3 values of gap, 20 runs, horizon 100000, seed 7: 9 points, 180 runs
    >>> gaps.points[-1]
    <Point ... of gaps: pair-elim, growth = 4 at gap = 0.7>
    >>> gaps.sweeps
    {'gap': [0.5, 0.6, 0.7], 'pair-elim.growth': [1.05, 4.0]}

    Parameters
    ----------
    name:
        What it is called: in its rows, and the folder into which it is run unless told otherwise.
    problem:
        A family with its parameters, or strengths `u` (and `v`), or `means` (and `players`), and `rewards`, such as
        "gaussian:0.5"; a problem or a family that is made already; or a list of any of these.
    policies:
        Names, tables of a name and options, policies with options, classes of your own or their names `module:Class`.
    horizon:
        The rounds of a run, for regret. Either this or `delta` is given.
    delta:
        The error probability of all policies, for identification with fixed confidence.
    runs:
        How often each point is played.
    seed:
        The root of all randomness.
    checkpoints:
        The rounds at which the regret is read, and the horizon; by default 50, log-spaced.
    max_rounds:
        When an identification is given up; by default 10^12 for policies that plan, 10^7 for others.
    stop:
        "first-split" ends a run when a cluster splits.
    engine:
        As in `simulate`.
    """

    name: str
    problem: Any
    policies: Any
    horizon: Any = None
    delta: Any = None
    runs: int = 20
    seed: int = 0
    checkpoints: Any = None
    max_rounds: int | None = None
    stop: Stop | None = None
    engine: Engine = "auto"

    def __post_init__(self) -> None:
        """Make plain data of what was given, and check every point."""
        self._make_plain()
        self.points  # noqa: B018  # built and checked now, not in the middle of the night

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, check: bool = True) -> "Study":
        """The study that a file or `describe()` says; without `check` its own modules need not be there."""
        if not isinstance(data, Mapping):
            raise MatchbanditError(f"a study is a table of settings; got {data!r}.")
        known = [part.name for part in fields(cls)]
        for key in data:
            if key not in known:
                raise MisplacedError(str(unknown("key", key, known)), str(key))
        missing = [key for key in _REQUIRED if key not in data]
        if missing:
            raise MatchbanditError(f"a study needs {', '.join(_REQUIRED)}; missing: {', '.join(missing)}.")
        if check:
            return cls(**data)
        study = object.__new__(cls)
        for part in fields(cls):
            object.__setattr__(study, part.name, data.get(part.name, part.default))
        study._make_plain()
        return study

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "Study":
        """The study in a file; what is wrong with it is named with its line."""
        from matchbandit.studies.toml_file import study_in  # noqa: PLC0415  # it makes studies itself

        return study_in(path)

    def with_(self, **changes: Any) -> "Study":
        """The same study but for these settings."""
        known = [part.name for part in fields(self)]
        for key in changes:
            if key not in known:
                raise unknown("setting of a study", key, known)
        return replace(self, **changes)

    def describe(self) -> dict[str, Any]:
        """The study as plain data; `from_dict` reads it back."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return {key: value for key, value in parts.items() if value is not None}

    def __eq__(self, other: object) -> bool:
        """They say the same."""
        return self.describe() == other.describe() if isinstance(other, Study) else NotImplemented

    def __hash__(self) -> int:
        """That of its name, which equal studies share."""
        return hash(self.name)

    @property
    def goal(self) -> Goal:
        """Regret where a horizon is given, identification where δ is."""
        return "regret" if self.delta is None else "identification"

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Every policy on every problem at every horizon or δ, built once and checked."""
        ends = self._ends()
        problems = list(self._problems())
        policies = list(self._policies())
        refuse_too_many(len(policies) * len(problems) * len(ends), ())
        varying = _varying_options([spec for _, spec in policies])
        made: dict[str, Point] = {}
        told: dict[str, str] = {}
        for policy_path, spec in policies:
            for problem_path, problem, settings in problems:
                for end in ends:
                    point = self._point(problem, spec, end, {**settings, **_own_settings(spec, varying)}, len(ends) > 1)
                    self._check(point, policy_path, problem_path)
                    if point.key in made:
                        raise MisplacedError(f"{point.title} is there twice. Take one out.", *policy_path)
                    made[point.key] = point
                    twin = told.setdefault(point.row_identity, point.title)
                    if twin != point.title:
                        raise MisplacedError(
                            f"rows could not tell {point.title} from {twin}. {_TOO_LONG}", *problem_path
                        )
        return tuple(made.values())

    @property
    def sweeps(self) -> dict[str, list[Any]]:
        """What varies, with its values in the order of the points: `gap`, `horizon`, `pair-elim.growth`, `problem`."""
        found: dict[str, list[Any]] = {}
        for point in self.points:
            for key, value in point.settings.items():
                if value not in found.setdefault(key, []):
                    found[key].append(value)
        return found

    @property
    def own_modules(self) -> tuple[str, ...]:
        """The user's own modules that its policies and families come from."""
        return tuple(dict.fromkeys(module for point in self.points for module in point.own_modules))

    def run(
        self,
        out: str | os.PathLike[str],
        *,
        workers: int | None = None,
        dask: str | None = None,
        progress: Progress = None,
        part_runs: int | None = None,
        allow_other_versions: bool = False,
    ) -> "StudyFolder":
        """Play what is not yet there into this folder; every part is kept, and the same call goes on after a stop.

        `workers` are processes, None one for each core; `dask` is the address of a scheduler, or "local". The numbers
        depend on neither.
        """
        from matchbandit.studies.runner import run_study  # noqa: PLC0415  # it plays studies

        return run_study(
            self,
            out,
            workers=workers,
            dask=dask,
            progress=progress,
            part_runs=part_runs,
            allow_other_versions=allow_other_versions,
        )

    def rows(self, out: str | os.PathLike[str]) -> Any:
        """The rows in this folder as a data frame of pandas or Polars, whichever is there."""
        return self._folder(out).rows().to_frame()

    def results(self, out: str | os.PathLike[str]) -> "Comparison":
        """The results in this folder, one for each point."""
        return self._folder(out).results()

    def charts(self, rows: Rows, *, x: str | None = None) -> tuple[Chart, ...]:
        """The figures of these rows: over the numeric sweep with the most values, or over `x`, else over the rounds."""
        return charts_of(rows, name=self.name, x=x)

    def plot(
        self, out: str | os.PathLike[str], *, x: str | None = None, path: str | os.PathLike[str] | None = None
    ) -> "Picture":
        """The first of `charts` for the rows in this folder, drawn, and written to a file if a path is given."""
        chart = self.charts(self._folder(out).rows(), x=x)[0]
        if path is not None:
            draw_to(chart, path)
        return draw(chart)

    def _folder(self, out: str | os.PathLike[str]) -> "StudyFolder":
        """The folder, if it is one of this study."""
        from matchbandit.studies.folder import StudyFolder  # noqa: PLC0415  # it reads studies

        folder = StudyFolder.open(out)
        name = folder.manifest["study"]["name"]
        if name != self.name:
            raise MatchbanditError(f"{os.fspath(out)!r} holds the study {name}, not {self.name}. Give its own folder.")
        return folder

    def __repr__(self) -> str:
        """What it plays, and how much that is."""
        told = [f"{count} {what}" for count, what in self._counts()]
        ends = [f"{name} {in_words(value)}" for name, value in self._fixed_end().items()]
        points = len(self.points)
        told = [" × ".join(told), _plural(self.runs, "run"), *ends, f"seed {self.seed}"]
        return f"Study {self.name}: {', '.join(told)}: {_plural(points, 'point')}, {_plural(points * self.runs, 'run')}"

    def _repr_html_(self) -> str:
        """The repr, and a line for each sweep."""
        rows = "".join(
            f"<tr><th>{escape(key)}</th><td>{escape(', '.join(map(in_words, values)))}</td></tr>"
            for key, values in {"policies": list(dict.fromkeys(p.label for p in self.points)), **self.sweeps}.items()
        )
        return f"<table><caption>{escape(repr(self))}</caption>{rows}</table>"

    def _counts(self) -> list[tuple[int, str]]:
        """How many policies, and how many values of what is swept besides."""
        policies = len(dict.fromkeys(point.label for point in self.points))
        own = {key for point in self.points for key in point.settings if key.startswith(f"{point.spec.name}.")}
        others = {key: len(values) for key, values in self.sweeps.items() if key not in own}
        named = [(n, "problems" if key == "problem" else f"values of {key}") for key, n in others.items()]
        return [(policies, "policy" if policies == 1 else "policies"), *named]

    def _fixed_end(self) -> dict[str, Any]:
        ends = {"horizon": self.horizon, "delta": self.delta}
        return {key: value for key, value in ends.items() if value is not None and not isinstance(value, list)}

    def _make_plain(self) -> None:
        """Keep what was given as plain data; refuse what cannot be, whatever the problems and policies."""
        problem, policies = self.problem, self.policies
        many = isinstance(problem, Sequence) and not isinstance(problem, str | bytes)
        alone = isinstance(policies, str | Mapping | PolicySpec | type)
        if not alone and not isinstance(policies, Sequence):
            raise MisplacedError(f"policies must be a list such as ['uts', 'pair-elim']; got {policies!r}.", "policies")
        entries = [policies] if alone else list(policies)
        if not entries or (many and not problem):
            what = "policies" if not entries else "problem"
            raise MisplacedError(f"{what} is an empty list. Give one at least.", what)
        kept = {
            "name": _checked_name(self.name),
            "problem": [plain_problem(each, "problem", k) for k, each in enumerate(problem)]
            if many
            else plain_problem(problem, "problem"),
            "policies": [plain_policy(each, "policies", k) for k, each in enumerate(entries)],
            "runs": _whole("runs", self.runs, least=1),
            "seed": _whole("seed", self.seed, least=0),
            "engine": _one_of("engine", self.engine, get_args(Engine)),
            **self._plain_ends(),
        }
        for key, value in kept.items():
            object.__setattr__(self, key, value)

    def _plain_ends(self) -> dict[str, Any]:
        """Horizon or δ, and what goes with each."""
        if (self.horizon is None) == (self.delta is None):
            both = "both horizon and delta" if self.delta is not None else "neither horizon nor delta"
            raise MisplacedError(f"a study has {both}. Give horizon for regret, or delta for identification.", "delta")
        goes_with = {"checkpoints": "horizon", "stop": "horizon", "max_rounds": "delta"}
        for key, end in goes_with.items():
            if getattr(self, key) is not None and getattr(self, end) is None:
                raise MisplacedError(f"{key} goes with {end} only. Take it out.", key)
        horizon, delta = plain(self.horizon, "horizon"), plain(self.delta, "delta")
        if horizon is not None:
            horizon = _each("horizon", horizon, lambda value: _whole("horizon", value, least=1, most=LONGEST_HORIZON))
        if delta is not None:
            delta = _each("delta", delta, _checked_delta)
        return {
            "horizon": horizon,
            "delta": delta,
            "checkpoints": self._plain_checkpoints(horizon),
            "max_rounds": None if self.max_rounds is None else _whole("max_rounds", self.max_rounds, least=1),
            "stop": None if self.stop is None else _one_of("stop", self.stop, get_args(Stop)),
        }

    def _plain_checkpoints(self, horizon: Any) -> list[int] | None:
        """The rounds at which the regret is read, each once and in order."""
        if self.checkpoints is None:
            return None
        given = plain(self.checkpoints, "checkpoints")
        shortest = min(horizon) if isinstance(horizon, list) else horizon
        if not isinstance(given, list):
            raise MisplacedError(f"checkpoints must be a list of rounds; got {given!r}.", "checkpoints")
        return sorted({_whole("a checkpoint", at, "checkpoints", least=1, most=shortest) for at in given})

    def _ends(self) -> list[dict[str, Any]]:
        name = "horizon" if self.delta is None else "delta"
        return [{name: value} for value in values_of(name, getattr(self, name), 0, (name,))]

    def _problems(self) -> Iterator[tuple[Path, Problem | Family, dict[str, Any]]]:
        """Every problem, where it stands, and the values of what varies there."""
        listed = isinstance(self.problem, list)
        tables = self.problem if listed else [self.problem]
        names = _names_of(tables)
        for k, table in enumerate(tables):
            path: Path = ("problem", k) if listed else ("problem",)
            for data, swept in problems_in(table, *path):
                settings = {**({"problem": names[k]} if len(tables) > 1 else {}), **swept}
                try:
                    problem = problem_of(data, *path)
                except MatchbanditError as error:
                    at = "".join(f"{key} = {in_words(value)}, " for key, value in swept.items())
                    told = MisplacedError(f"at {at.removesuffix(', ')}: {error}") if at else error
                    raise MisplacedError(str(told), *placed(error, table, *path).path) from None
                yield path, problem, settings

    def _policies(self) -> Iterator[tuple[Path, PolicySpec]]:
        """Every policy with its options, and where it stands."""
        kinds: dict[str, PolicySpec] = {}
        for k, entry in enumerate(self.policies):
            path: Path = ("policies", k)
            for spec in policies_in(entry, *path):
                known = kinds.setdefault(spec.name, spec)
                if known.kind is not spec.kind:
                    raise MisplacedError(
                        f"{name_to_find(spec.kind)} and {name_to_find(known.kind)} are both named {spec.name!r}, and "
                        f"rows could not tell them apart. Give your class another name.",
                        *path,
                    )
                self._refuse_goal(spec, path)
                yield path, spec

    def _refuse_goal(self, spec: PolicySpec, path: Path) -> None:
        goals = spec.kind.fits.goals
        if self.goal in goals:
            return
        other = "delta in place of horizon" if self.goal == "regret" else "horizon in place of delta"
        raise MisplacedError(
            f"{spec.name} is for {goals[0]}, and this study is for {self.goal}. "
            f"Take it out, or give the study {other}.",
            *path,
        )

    def _point(
        self,
        problem: Problem | Family,
        spec: PolicySpec,
        end: dict[str, Any],
        settings: dict[str, Any],
        ends_vary: bool,
    ) -> Point:
        with_delta = spec if self.delta is None else policy(spec.kind, **{**spec.options, **end})
        return Point(
            study=self.name,
            problem=problem,
            spec=with_delta,
            seed=self.seed,
            checkpoints=None if self.checkpoints is None else tuple(self.checkpoints),
            max_rounds=self.max_rounds,
            stop=self.stop,
            engine=self.engine,
            settings={**settings, **(end if ends_vary else {})},
            **end,
        )

    def _check(self, point: Point, policy_path: Path, problem_path: Path) -> None:
        try:
            point.check()
        except MatchbanditError as error:
            entry = self.policies[policy_path[1]]
            table = entry if isinstance(entry, dict) else {}
            raise MisplacedError(f"{point.title}: {error}", *placed(error, table, *policy_path).path) from None
        except Exception as error:
            raise MisplacedError(f"{point.title} cannot be built: {error_in_words(error)}.", *policy_path) from error


def _own_settings(spec: PolicySpec, varying: dict[str, set[str]]) -> dict[str, Any]:
    options = {**spec.kind.option_defaults(), **spec.options}
    return {f"{spec.name}.{key}": value for key, value in options.items() if key in varying[spec.name]}


def _varying_options(specs: list[PolicySpec]) -> dict[str, set[str]]:
    """For each policy the options that are not the same wherever it stands in the study."""
    texts: dict[str, dict[str, set[str]]] = {}
    for spec in specs:
        for key, value in {**spec.kind.option_defaults(), **spec.options}.items():
            texts.setdefault(spec.name, {}).setdefault(key, set()).add(json.dumps(value))
        texts.setdefault(spec.name, {})
    return {name: {key for key, values in options.items() if len(values) > 1} for name, options in texts.items()}


def _names_of(tables: list[dict[str, Any]]) -> list[str]:
    """A short name for each problem of a list: its family, with what tells it from others of that family."""
    heads = [_head(table) for table in tables]
    names = []
    for table, head in zip(tables, heads, strict=True):
        kin = [other for other, name in zip(tables, heads, strict=True) if name == head]
        differ = [key for key in table if key != "family" and any(other.get(key) != table[key] for other in kin)]
        parts = [f"{key} = {in_words(table[key])}" for key in differ if not isinstance(table[key], list) or key in "uv"]
        names.append(", ".join([head, *parts]))
    return [name if names.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(names)]


def _head(table: dict[str, Any]) -> str:
    if "family" in table:
        return in_words(table["family"])
    return "means" if "means" in table else "bipartite" if "v" in table else "monopartite"


def _checked_name(name: Any) -> str:
    """A name that a folder can have."""
    plain_name = isinstance(name, str) and all(sign.isalnum() or sign in "-_. " for sign in name)
    if not plain_name or not name.strip() or name != name.strip() or name[0] == "." or len(name) > LONGEST_NAME:
        raise MisplacedError(
            f"name must be letters, digits, '-', '_', '.' or spaces, as a folder is called so; got {name!r}.", "name"
        )
    return str(name)


def _whole(name: str, value: Any, at: str = "", *, least: int, most: int | None = None) -> int:
    if isinstance(value, list | tuple):
        raise MisplacedError(
            f"{name} takes one value, and is not swept: make a study for each. Got {value!r}.", at or name
        )
    try:
        return whole_number(name, value, least=least, most=most)
    except MatchbanditError as error:
        raise MisplacedError(str(error), at or name) from None


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise MisplacedError(str(unknown(name, value, known)), name)
    return value


def _checked_delta(value: Any) -> float:
    try:
        delta = real_number("delta", value)
    except MatchbanditError as error:
        raise MisplacedError(str(error), "delta") from None
    if not 0 < delta < 1:
        raise MisplacedError(
            f"delta must lie between 0 and 1, for it is a probability of error; got {delta:g}.", "delta"
        )
    return delta


def _each(name: str, value: Any, read: Any) -> Any:
    """The value, or each of its sweep."""
    values = [read(each) for each in values_of(name, value, 0, (name,))]
    return values if isinstance(value, list) else values[0]


def _plural(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"

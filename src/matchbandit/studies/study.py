"""Define studies as data: policies on problems, at horizons, values of δ or budgets; lists are sweeps."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from matchbandit.errors import MatchbanditError, unknown
from matchbandit.figures import Chart, draw, draw_to
from matchbandit.formatting import grouped, plural
from matchbandit.policies.capabilities import Goal
from matchbandit.results import Rows
from matchbandit.simulation.engines import Engine, Stop
from matchbandit.simulation.play import Progress
from matchbandit.studies.charts import charts_of, first_chart
from matchbandit.studies.normalize import END_KEYS, STUDY_KEYS, SettingError, normalize_study, unknown_key
from matchbandit.studies.points import MAX_TEXT, Point, points_of, value_text

if TYPE_CHECKING:
    from matchbandit.figures.matplotlib_renderer import Picture
    from matchbandit.results import Comparison
    from matchbandit.studies.folder import StudyFolder

_REQUIRED = ("name", "problem", "policies")


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Policies on problems, each combination played `runs` times: what a study file says, in Python.

    All settings are plain data. Where one value is expected, a list is a sweep: sweeps combine as a product, in
    the order in which they are written. Every combination is built once and checked when the study is created.

    >>> gaps = Study(
    ...     name="gaps", horizon=1e5, runs=20, seed=7,
    ...     problem={"family": "spiked", "n": 8, "u1": 0.9, "gap": [0.5, 0.6, 0.7]},
    ...     policies=["uts", {"name": "pair-elim", "growth": [1.05, 4]}],
    ... )
    >>> gaps
    Study gaps: 3 policies × 3 values of gap, 20 runs, horizon 100,000, seed 7: 9 points, 180 runs
    >>> gaps.points[-1]
    <Point 8aa3b1d5a329147c of gaps: pair-elim, growth = 4 at gap = 0.7>
    >>> gaps.sweeps
    {'gap': [0.5, 0.6, 0.7], 'pair-elim.growth': [1.05, 4.0]}

    Parameters
    ----------
    name : str
        Its name, in its rows; also the default folder of `matchbandit run`.
    problem : dict, Problem, Family, or a list of these
        A family with its parameters, or strengths `u` (and `v`), or `means` (and `players`), and `rewards`, such as
        "gaussian:0.5"; a `Problem` or a `Family`; or a list of any of these.
    policies : list
        Names, tables of a name and options, policies with options, user-defined classes or their names `module:Class`.
    horizon : int or list, optional
        The rounds of a run, for regret. Either this, `delta` or `budget` is given.
    delta : float or list, optional
        The error probability of all policies, for identification with fixed confidence.
    runs : int, default 20
        How often each point is played.
    seed : int, default 0
        The root of all randomness.
    checkpoints : list of int, optional
        The rounds at which the regret is read, besides the horizon; by default 50, log-spaced.
    max_rounds : int, optional
        When an identification is stopped; by default 10^12 for policies that plan, 10^7 for others.
    stop : str, optional
        "first-split" ends a run when a cluster splits.
    engine : str, default "auto"
        As in `simulate`.
    epsilon : float or list, optional
        With `delta`: the share of the optimum that an answer may lack. Policies that support it also take it as an
        option.
    budget : int or list, optional
        The rounds of a run that identifies with a fixed budget.
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
    epsilon: Any = None
    budget: Any = None

    def __post_init__(self) -> None:
        """Normalize the settings, and check every point."""
        self._normalize()
        self.points  # noqa: B018  # built and checked now, not in the middle of the night

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, check: bool = True) -> "Study":
        """Build the study of a file or of `describe()`; without `check`, user-defined modules need not be there."""
        if not isinstance(data, Mapping):
            raise MatchbanditError(f"a study is a table of settings; got {data!r}.")
        for key in data:
            if key not in STUDY_KEYS:
                raise SettingError(str(unknown("key", key, STUDY_KEYS)), str(key))
        missing = [key for key in _REQUIRED if key not in data]
        if missing:
            _check_misplaced_keys(missing, data.get("problem"))
            raise MatchbanditError(f"a study needs {', '.join(_REQUIRED)}; missing: {', '.join(missing)}.")
        ends = ["horizon", "delta", "budget"]
        if not any(key in data for key in ends):
            _check_misplaced_keys(ends, data["problem"])
        if check:
            return cls(**data)
        study = object.__new__(cls)
        for part in fields(cls):
            object.__setattr__(study, part.name, data.get(part.name, part.default))
        study._normalize()
        return study

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "Study":
        """Read a study from a file; an error names its line."""
        from matchbandit.studies.toml_file import study_in  # noqa: PLC0415  # it makes studies itself

        return study_in(path)

    def with_(self, **changes: Any) -> "Study":
        """Return the same study with these settings changed."""
        for key in changes:
            if key not in STUDY_KEYS:
                raise unknown("setting of a study", key, STUDY_KEYS)
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
        """Regret where a horizon is given, identification where δ or a budget is."""
        return "regret" if self.horizon is not None else "identification"

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Every policy on every problem at every horizon, δ or budget, built once and checked."""
        return points_of(self)

    @property
    def sweeps(self) -> dict[str, list[Any]]:
        """What varies, with its values in the order of the points: `gap`, `horizon`, `pair-elim.growth`, `problem`."""
        values_by_name: dict[str, list[Any]] = {}
        for point in self.points:
            for key, value in point.settings.items():
                if value not in values_by_name.setdefault(key, []):
                    values_by_name[key].append(value)
        return values_by_name

    @property
    def user_modules(self) -> tuple[str, ...]:
        """The user-defined modules of its policies and families."""
        return tuple(dict.fromkeys(module for point in self.points for module in point.user_modules))

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
        """Play what is not yet in this folder; every finished part stays, and the same call continues after a stop.

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
        """Build the charts of these rows: over the numeric sweep with the most values, or `x`, or the rounds."""
        return charts_of(rows, name=self.name, x=x, stop=self.stop)

    def plot(
        self, out: str | os.PathLike[str], *, x: str | None = None, path: str | os.PathLike[str] | None = None
    ) -> "Picture":
        """Draw the first of `charts` for the rows in this folder, and write it to `path` if one is given."""
        chart = first_chart(self._folder(out).rows(), name=self.name, x=x, stop=self.stop)
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
        return folder.first_runs(self.runs)

    def __repr__(self) -> str:
        """What it plays, and how much that is; without its own modules only what it is called."""
        try:
            points, counts = len(self.points), self._counts()
        except MatchbanditError as error:
            return f"Study {self.name}, whose points cannot be built here: {error}"
        swept = " × ".join(f"{grouped(count)} {noun}" for count, noun in counts)
        ends = [f"{name} {value_text(value)}" for name, value in self._fixed_end().items()]
        settings = ", ".join([swept, plural(self.runs, "run"), *ends, f"seed {self.seed}"])
        return f"Study {self.name}: {settings}: {plural(points, 'point')}, {plural(points * self.runs, 'run')}"

    def _repr_html_(self) -> str:
        """The repr, and a line for each sweep."""
        try:
            lines = {"policies": list(dict.fromkeys(point.label for point in self.points)), **self.sweeps}
        except MatchbanditError:
            lines = {}
        texts = {key: "; ".join(value_text(each, MAX_TEXT) for each in values) for key, values in lines.items()}
        rows = "".join(f"<tr><th>{escape(key)}</th><td>{escape(text)}</td></tr>" for key, text in texts.items())
        return f"<table><caption>{escape(repr(self))}</caption>{rows}</table>"

    def _counts(self) -> list[tuple[int, str]]:
        """How many policies, and how many values of what is swept besides."""
        policies = len(dict.fromkeys(point.label for point in self.points))
        own = {key for point in self.points for key in point.settings if key.startswith(f"{point.spec.name}.")}
        others = {key: len(values) for key, values in self.sweeps.items() if key not in own}
        named = [(n, "problems" if key == "problem" else f"values of {key}") for key, n in others.items()]
        return [(policies, "policy" if policies == 1 else "policies"), *named]

    def _fixed_end(self) -> dict[str, Any]:
        ends = {name: getattr(self, name) for name in END_KEYS}
        return {key: value for key, value in ends.items() if value is not None and not isinstance(value, list)}

    def _normalize(self) -> None:
        """Replace all settings by plain data."""
        for key, value in normalize_study({part.name: getattr(self, part.name) for part in fields(self)}).items():
            object.__setattr__(self, key, value)


def _check_misplaced_keys(missing: list[str], problem: Any) -> None:
    """Say so, if what is missing stands in the table of a problem: in a file, all below [problem] belongs to it."""
    is_list = isinstance(problem, list)
    for k, table in enumerate(problem if is_list else [problem]):
        for key in missing:
            if isinstance(table, Mapping) and key in table:
                raise unknown_key("key of problem", key, [], ("problem", k) if is_list else ("problem",))

"""Compare results with the lower bounds of their problem and the upper bound of their policy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from matchbandit.confidence import check_delta
from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.figures import Chart
from matchbandit.graphs import Selection
from matchbandit.policies import CATALOGUE
from matchbandit.problems import Problem
from matchbandit.results import Identification, Runs
from matchbandit.results.plotting import about_runs, bound_line, build_chart, instance_of, policy_line
from matchbandit.results.proofs import is_proved
from matchbandit.results.statistics import standard_error
from matchbandit.rewards import Floats
from matchbandit.theory import Bound, bounds
from matchbandit.theory.bound import Task
from matchbandit.theory.table import check_horizon

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Objective = tuple[Selection, Selection]
"""What a round plays, and what is identified or optimized."""
POINTS = 40
"""Number of positions along the axis at which bounds are drawn."""


class Placement(NamedTuple):
    """The measurement of one policy on one problem, with the bounds around it."""

    task: Task
    plays: Selection
    seeks: Selection
    policy: str
    measured: list[float]
    """Regret or rounds of every run; empty if some run ended without an answer."""
    lower: float
    """The highest lower bound."""
    lower_source: str
    binding: bool
    """Whether the measurement may not lie below: the bound is not asymptotic, and the policy has a proof."""
    upper: float | None
    """The upper bound of the policy."""
    upper_source: str
    explicit: bool
    """Whether the measurement may not lie above."""
    vacuous: bool = False
    """Whether the upper bound is no better than what holds anyway."""
    instance: str = ""
    """The name of the problem in a study."""

    @property
    def of(self) -> str:
        """The measured quantity, regret or rounds."""
        return "rounds" if self.task == "identification" else "regret"

    @property
    def mean(self) -> float:
        """The mean over the runs."""
        return float(np.mean(self.measured)) if self.measured else float("nan")

    @property
    def error(self) -> float:
        """The standard error of that mean."""
        return float(standard_error(self.measured)) if len(self.measured) > 1 else 0.0

    def describe(self) -> dict[str, object]:
        """Return the placement as JSON data, without single runs; None where nothing was measured."""
        mean = self.mean if self.measured else None
        return {
            "policy": self.policy,
            "task": self.task,
            "of": self.of,
            "mean": mean,
            "standard_error": self.error if self.measured else None,
            "lower": self.lower,
            "lower_source": self.lower_source,
            "times_lower": mean / self.lower if mean is not None and self.lower > 0 else None,
            "binds": self.binding,
            "upper": self.upper,
            "upper_source": self.upper_source,
            "upper_vacuous": self.vacuous,
        }


class BoundLine(NamedTuple):
    """One bound along an axis of horizons T or of 1/δ."""

    label: str
    kind: Literal["upper", "lower"]
    explicit: bool
    """Its constants are explicit: it is not asymptotic, and has no universal constant set to 1."""
    x: Sequence[float]
    y: Sequence[float]
    policy: str = ""
    """The policy that it binds; empty: a class of policies."""


class MeasuredLine(NamedTuple):
    """Results of one policy along that axis: mean and 5–95 % range."""

    label: str
    x: Floats
    mean: Floats
    p5: Floats
    p95: Floats
    policy: str


class Overlay(NamedTuple):
    """Results laid over the bounds of their problem."""

    task: Task
    lines: list[BoundLine]
    measured: list[MeasuredLine]


def place(
    policy: str,
    measured: list[float],
    known_bounds: Sequence[Bound],
    *,
    task: Task,
    plays: Selection,
    seeks: Selection,
    instance: str = "",
) -> Placement:
    """Place the measurements of a policy among these bounds of its problem."""
    related = [
        b for b in known_bounds if (b.task, b.plays, b.seeks) == (task, plays, seeks) and b.stop is None and b.met
    ]
    lower = max((b for b in related if b.kind == "lower"), key=lambda b: b.value, default=None)
    upper = min((b for b in related if b.kind == "upper" and b.policy == policy), key=lambda b: b.value, default=None)
    return Placement(
        task=task,
        plays=plays,
        seeks=seeks,
        policy=policy,
        measured=measured,
        lower=0.0 if lower is None else lower.value,
        lower_source="" if lower is None else lower.source,
        binding=lower is not None and lower.constants == "explicit" and is_proved(policy, "identification"),
        upper=None if upper is None else upper.value,
        upper_source="" if upper is None else upper.source,
        explicit=upper is not None and upper.constants == "explicit",
        vacuous=upper is not None and upper.vacuous,
        instance=instance,
    )


def placement_of(result: Runs | Identification, known_bounds: Sequence[Bound]) -> Placement:
    """Place results among these bounds of their problem; lower bounds do not bind a warm start."""
    relevant = [b for b in known_bounds if b.kind == "lower" or has_covered_options(result)]
    plays, seeks = _objective(result)
    if isinstance(result, Runs):
        measured = result.final.tolist()
    else:
        measured = result.rounds.astype(float).tolist() if result.identified.all() else []
    placed = place(result.about["policy"], measured, relevant, task=_task(result), plays=plays, seeks=seeks)
    return placed._replace(binding=placed.binding and "warm_start" not in result.about)


def has_covered_options(result: Runs | Identification) -> bool:
    """Whether the theorem on the policy covers the options of these results."""
    name = result.about["policy"]
    if name not in CATALOGUE:
        return False
    options = {**CATALOGUE[name].option_defaults(), **result.about["options"]}
    return CATALOGUE[name].capabilities.is_covered(_task(result), options)


def delta_of(result: Identification, default: float | None = None) -> float:
    """Return the error probability δ of these answers; the default is for policies without an option delta."""
    about = result.about
    if about.epsilon or about.budget is not None:
        what = "a fixed budget" if about.budget is not None else f"epsilon = {about.epsilon}"
        raise MatchbanditError(
            f"these results of {about.policy} are for {what}; the bounds are for fixed confidence and the optimum "
            f"itself, and cannot be compared with them. Use results with delta alone."
        )
    delta = about.options.get("delta", default)
    if delta is None:
        raise MatchbanditError(
            f"the results of {result.about['policy']} have no error probability, because it has no option delta. "
            f"Give delta to compare them with the bounds."
        )
    return float(delta)


def refuse_other_problem(result: Runs | Identification, problem: Problem) -> None:
    """Refuse results that are not those of this problem."""
    if not isinstance(result, Runs | Identification):
        raise MatchbanditError(f"results are what simulate or identify returned; got {result!r}.")
    if result.about.get("problem") != problem.describe():
        raise MatchbanditError(
            f"the results of {result.about['policy']} are those of another problem. Use results of this one."
        )


def overlay_of(
    problem: Problem,
    results: Sequence[Runs | Identification] = (),
    *,
    horizon: int | None = None,
    delta: float | None = None,
) -> Overlay:
    """The bounds of a problem along horizons, or along 1/δ, and results of `simulate` or of `identify` over them.

    They extend to the largest horizon or the smallest δ of the results and of the arguments. Of lower bounds the
    highest of the paper and that of the product model are drawn; of upper bounds the lowest of each policy in the
    results, or of every policy if there are none.
    """
    horizon = None if horizon is None else check_horizon(horizon)
    delta = None if delta is None else check_delta(delta)
    for result in results:
        refuse_other_problem(result, problem)
        if isinstance(result, Identification) and not result.identified.all():
            name = result.about["policy"]
            raise MatchbanditError(f"some runs of {name} ended without an answer. Increase max_rounds of identify.")
    regret = [result for result in results if isinstance(result, Runs)]
    answers = [result for result in results if isinstance(result, Identification)]
    if (regret or horizon is not None) and (answers or delta is not None):
        raise MatchbanditError("regret and rounds until an answer do not share a picture. Draw two.")
    policies = [result.about["policy"] for result in results if has_covered_options(result)] if results else None
    objectives = {_objective(result) for result in results} or {_default_objective(problem)}
    if answers or delta is not None:
        deltas = [delta_of(result, delta) for result in answers]
        positions = np.geomspace(0.3, min([0.1, *deltas, *([] if delta is None else [delta])]), POINTS)
        lines = lines_of(problem, objectives, policies, deltas=positions)
        overlay = Overlay("identification", lines, _measured_rounds(answers, deltas))
    elif regret or horizon is not None:
        first = min([10, *(int(r.rounds[0]) for r in regret)])
        last = max([*(int(r.rounds[-1]) for r in regret), *([] if horizon is None else [horizon])])
        positions = np.unique(np.geomspace(max(first, 2), max(last, 20), POINTS).round())
        lines = lines_of(problem, objectives, policies, horizons=positions)
        overlay = Overlay("regret", lines, [_measured_regret(r) for r in regret])
    else:
        raise MatchbanditError("give results to draw, or a horizon or a delta for the bounds.")
    if not overlay.lines:
        raise MatchbanditError("there is nothing to draw: no bound applies to this instance.")
    return overlay


def plot_bounds(
    problem: Problem,
    results: Sequence[Runs | Identification] = (),
    ax: "Axes | None" = None,
    *,
    horizon: int | None = None,
    delta: float | None = None,
) -> "Axes":
    """Draw the bounds of a problem, with results of `simulate` or of `identify` over them.

    Regret is drawn over horizons, rounds until an answer over 1/δ; not both in one picture. Of lower bounds the highest
    of the paper and that of the product model are drawn; of upper bounds the lowest of each policy in the results, or
    of every policy if there are none.

    Parameters
    ----------
    problem : Bipartite or Monopartite
        Means that are products of strengths.
    results : sequence of Runs or Identification, optional
        Results on this problem.
    ax : matplotlib.axes.Axes, optional
        By default the axes of a new figure of pyplot, with a caption.
    horizon, delta : optional
        Extend the bounds to this horizon or to this δ; one of them is needed if there are no results.

    Returns
    -------
    matplotlib.axes.Axes
        `ax.figure.savefig` writes a file.
    """
    need("matplotlib", "drawing")  # before any work is done
    return bounds_chart(problem, results, horizon=horizon, delta=delta).plot(ax)


def bounds_chart(
    problem: Problem,
    results: Sequence[Runs | Identification] = (),
    *,
    horizon: int | None = None,
    delta: float | None = None,
    name: str = "bounds",
) -> Chart:
    """What `plot_bounds` draws: results as lines with bands, bounds as thin lines."""
    results = list(results)
    overlay = overlay_of(problem, results, horizon=horizon, delta=delta)
    lines = [
        policy_line(one.label, one.policy, one.x, one.mean, one.p5, one.p95, goal=overlay.task)
        for one in overlay.measured
    ]
    for line in overlay.lines:
        label, x, y = f"{line.kind}: {line.label}", np.array(line.x), np.array(line.y)
        lines.append(bound_line(label, x, y, explicit=line.explicit, policy=line.policy))
    title, x_label = {
        "regret": ("Regret and its bounds", "round, or horizon T"),
        "identification": ("Rounds until the answer and their bounds", "1/δ"),
    }[overlay.task]
    return build_chart(
        lines,
        name=name,
        title=title,
        x_label=x_label,
        goal=overlay.task,
        description=about_runs(results) if results else instance_of(problem.describe()),
        remarks=["Thin lines: bounds; dotted: asymptotic, or up to a constant."],
        x_log=True,
        y_log=True,
        y_range=_y_range(overlay),
    )


def _y_range(overlay: Overlay) -> tuple[float, float] | None:
    """Of regret from half of the least mean on: bounds start far below."""
    least = [float(one.mean.min()) for one in overlay.measured if len(one.mean)]
    if not least or overlay.task == "identification":
        return None
    highest = [max(line.y) for line in overlay.lines] + [float(one.p95.max()) for one in overlay.measured]
    return min(least) / 2, 1.3 * max(highest)


def lines_of(
    problem: Problem,
    objectives: set[Objective],
    policies: Sequence[str] | None = None,
    *,
    horizons: Floats | None = None,
    deltas: Floats | None = None,
) -> list[BoundLine]:
    """The bounds to draw, along horizons or along 1/δ: upper ones of these policies, or of all."""
    series: dict[str, list[Bound]] = {}
    for at in horizons if horizons is not None else deltas if deltas is not None else ():
        for bound in bounds(problem, horizon=int(at)) if horizons is not None else bounds(problem, delta=float(at)):
            series.setdefault(bound.name, []).append(bound)
    x = horizons if horizons is not None else 1 / np.asarray(deltas)
    relevant = [along for along in series.values() if _is_relevant(along[-1], objectives, policies)]
    lines = [
        BoundLine(
            _label(along[-1], objectives),
            along[-1].kind,
            along[-1].constants == "explicit",
            x.tolist(),
            [b.value for b in along],
            along[-1].policy or "",
        )
        for along in _strongest(relevant)
    ]
    return [line for line in lines if np.isfinite(line.y).all() and min(line.y) > 0]


def _is_relevant(bound: Bound, objectives: set[Objective], policies: Sequence[str] | None) -> bool:
    """Whether it applies here, to what was played and sought, and to one of these policies."""
    if not bound.met or (bound.plays, bound.seeks) not in objectives or bound.stop is not None:
        return False
    return bound.policy is None or policies is None or bound.policy in policies


def _strongest(series: list[list[Bound]]) -> list[list[Bound]]:
    """For each objective the highest lower bound of each origin, and the lowest upper bound of each policy."""
    best: dict[tuple[str, ...], list[Bound]] = {}
    for along in series:
        last = along[-1]
        key = last.plays, last.seeks, last.kind, last.policy or last.origin
        best_so_far = best.setdefault(key, along)[-1]
        if last.value < best_so_far.value if last.kind == "upper" else last.value > best_so_far.value:
            best[key] = along
    return list(best.values())


def _label(bound: Bound, objectives: set[Objective]) -> str:
    policy = "" if bound.policy is None else f"{bound.policy}, "
    playing = f", playing {bound.plays}s" if len(objectives) > 1 else ""
    constants = "" if bound.constants == "explicit" else f" ({bound.constants})"
    return policy + bound.short_source + playing + constants


def _result_label(result: Runs | Identification) -> str:
    """The policy, its options that differ from the defaults, and whether it has no proof."""
    name = str(result.about["policy"])
    defaults = CATALOGUE[name].option_defaults() if name in CATALOGUE else {}
    changed = {
        key: value
        for key, value in result.about["options"].items()
        if key not in ("delta", "selection") and value != defaults.get(key)
    }
    options = ", ".join(f"{key}={value}" for key, value in changed.items())
    unproved = isinstance(result, Identification) and not is_proved(name, "identification")
    return name + (f" ({options})" if options else "") + (" (no proof)" if unproved else "")


def _task(result: Runs | Identification) -> Task:
    return "regret" if isinstance(result, Runs) else "identification"


def _objective(result: Runs | Identification) -> Objective:
    plays = result.about["selection"]
    return plays, result.about["answers"] if isinstance(result, Identification) else plays


def _default_objective(problem: Problem) -> Objective:
    selection: Selection = "pair" if problem.graph.is_bipartite or problem.graph.has_bye else "matching"
    return selection, selection


def _measured_regret(runs: Runs) -> MeasuredLine:
    summary = runs.summary()
    positive = np.array(summary["mean"]) > 0  # a logarithmic axis has no 0
    mean, p5, p95 = (np.array(summary[key])[positive] for key in ("mean", "p5", "p95"))
    return MeasuredLine(_result_label(runs), runs.rounds[positive].astype(np.float64), mean, p5, p95, runs.about.policy)


def _measured_rounds(results: Sequence[Identification], deltas: Sequence[float]) -> list[MeasuredLine]:
    """The rounds of each policy, at every δ that it was run at."""
    groups: dict[tuple[str, str, str], list[tuple[float, dict[str, float]]]] = {}
    for delta, result in sorted(zip(deltas, results, strict=True), key=lambda pair: pair[0], reverse=True):
        points = groups.setdefault((_result_label(result), result.about["selection"], result.about.policy), [])
        points.append((1 / delta, result.summary()["rounds"]))
    has_several_selections = len({selection for _, selection, _ in groups}) > 1
    lines = []
    for (name, selection, policy), points in groups.items():
        label = f"{name}, playing {selection}s" if has_several_selections else name
        mean, p5, p95 = (np.array([rounds[key] for _, rounds in points]) for key in ("mean", "p5", "p95"))
        lines.append(MeasuredLine(label, np.array([x for x, _ in points]), mean, p5, p95, policy))
    return lines

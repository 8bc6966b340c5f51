"""Results among bounds: where what was measured lies between what is possible and what is promised."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from matchbandit.confidence import check_delta
from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.figures import Chart, Line, draw_to
from matchbandit.figures.picture import picture_file
from matchbandit.graphs import Selection
from matchbandit.policies import CATALOGUE
from matchbandit.policies.capabilities import Goal
from matchbandit.problems import Problem
from matchbandit.results import Identification, Runs, writable_file
from matchbandit.results.plotting import about_runs, instance_of
from matchbandit.rewards import Floats
from matchbandit.theory import Bound, bounds
from matchbandit.theory.table import check_horizon

Task = tuple[Selection, Selection]
"""What a round plays, and what is sought."""
POINTS = 40
"""Places along the axis at which bounds are drawn."""


class Placement(NamedTuple):
    """One policy on one problem: what was measured, and the bounds around it."""

    of: str
    """Regret or rounds."""
    plays: Selection
    seeks: Selection
    policy: str
    measured: list[float]
    """Of every run; empty if some run found no answer."""
    lower: float
    """The highest lower bound on what a policy of this kind measures."""
    lower_source: str
    binding: bool
    """May the measurement not lie below? An asymptotic bound does not bind, nor is a policy without a proof bound."""
    upper: float | None
    """The policy's own bound."""
    upper_source: str
    explicit: bool
    """May the measurement not lie above?"""
    instance: str = ""
    """The name of the problem in a study."""

    @property
    def mean(self) -> float:
        """The mean over the runs."""
        return float(np.mean(self.measured)) if self.measured else float("nan")

    @property
    def error(self) -> float:
        """The standard error of that mean."""
        return float(np.std(self.measured, ddof=1) / np.sqrt(len(self.measured))) if len(self.measured) > 1 else 0.0

    def describe(self) -> dict[str, object]:
        """The placement as plain data, without single runs; None where nothing was measured."""
        mean = self.mean if self.measured else None
        return {
            "policy": self.policy,
            "of": self.of,
            "mean": mean,
            "standard_error": self.error if self.measured else None,
            "lower": self.lower,
            "lower_source": self.lower_source,
            "times_lower": mean / self.lower if mean is not None and self.lower > 0 else None,
            "binds": self.binding,
            "upper": self.upper,
            "upper_source": self.upper_source,
        }


class BoundLine(NamedTuple):
    """One bound along an axis of horizons T or of 1/δ."""

    label: str
    kind: Literal["upper", "lower"]
    exact: bool
    """Explicit constants; asymptotic bounds, and those with a universal constant set to 1, are not."""
    x: Sequence[float]
    y: Sequence[float]
    about: str = ""
    """The policy of whom it speaks; nothing if of all."""


class Measured(NamedTuple):
    """What was measured of one policy along that axis: mean and 5–95 % range."""

    label: str
    x: Floats
    mean: Floats
    p5: Floats
    p95: Floats
    policy: str


class Overlay(NamedTuple):
    """Results laid over the bounds of their problem."""

    of: Literal["regret", "rounds"]
    lines: list[BoundLine]
    measured: list[Measured]


def place(
    policy: str,
    measured: list[float],
    known: Sequence[Bound],
    *,
    of: str,
    plays: Selection,
    seeks: Selection,
    instance: str = "",
) -> Placement:
    """Where a policy's measurements lie among these bounds of its problem."""
    near = [b for b in known if (b.of, b.plays, b.seeks) == (of, plays, seeks) and b.met]
    lower = max((b for b in near if b.kind == "lower"), key=lambda b: b.value, default=None)
    own = [b for b in near if b.kind == "upper" and b.about == policy]
    upper = min(own, key=lambda b: b.value, default=None)
    return Placement(
        of=of,
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
        instance=instance,
    )


def placement_of(result: Runs | Identification, known: Sequence[Bound]) -> Placement:
    """Where results lie among these bounds of their problem; what was known before the start is not bound."""
    known = [b for b in known if b.kind == "lower" or is_promised(result)]
    of, (plays, seeks) = "regret", _task(result)
    measured = result.final.tolist() if isinstance(result, Runs) else []
    if isinstance(result, Identification):
        of, measured = "rounds", result.rounds.astype(float).tolist() if result.identified.all() else []
    placed = place(result.about["policy"], measured, known, of=of, plays=plays, seeks=seeks)
    return placed._replace(binding=placed.binding and "warm_start" not in result.about)


def is_proved(policy: str, goal: Goal) -> bool:
    """Has this policy of the catalogue a proof for this goal? Lower bounds on rounds bind only those that have one."""
    return policy in CATALOGUE and goal in CATALOGUE[policy].capabilities.proved


def is_promised(result: Runs | Identification) -> bool:
    """Has it a theorem, about these options? Growth 4 is the paper's; for regret a smaller one only helps.

    The paper does not cap windows. Of rank1-certify it is the regret with its usual share and a known horizon.
    """
    name, options = result.about["policy"], result.about["options"]
    if name not in CATALOGUE or options.get("cap_windows") or options.get("anytime"):
        return False
    if isinstance(result, Runs) and options.get("share") != CATALOGUE[name].option_defaults().get("share"):
        return False
    growth = options.get("growth", 4)
    return bool(growth == 4 or (isinstance(result, Runs) and growth < 4))


def delta_of(found: Identification, otherwise: float | None = None) -> float:
    """The error probability δ that these answers were asked for; a policy of one's own may not say it."""
    delta = found.about["options"].get("delta", otherwise)
    if delta is None:
        raise MatchbanditError(
            f"the results of {found.about['policy']} do not say their error probability: it has no option delta. "
            f"Give delta, so that they have a place among the bounds."
        )
    return float(delta)


def refuse_other_problem(result: Runs | Identification, problem: Problem) -> None:
    """Refuse results that are not those of this problem."""
    if not isinstance(result, Runs | Identification):
        raise MatchbanditError(f"results are what simulate or identify gave; got {result!r}.")
    if result.about.get("problem") != problem.describe():
        raise MatchbanditError(f"the results of {result.about['policy']} are those of another problem.")


def overlay_of(
    problem: Problem,
    results: Sequence[Runs | Identification] = (),
    *,
    horizon: int | None = None,
    delta: float | None = None,
) -> Overlay:
    """The bounds of a problem along horizons, or along 1/δ, and the results of `simulate` or of `identify` over them.

    Up to the largest horizon or the smallest δ of the results, or those given. Of the paper's lower bounds the highest
    is kept, and that of the product model; of the upper ones the lowest for each policy laid over, or for all.
    """
    horizon = None if horizon is None else check_horizon(horizon)
    delta = None if delta is None else check_delta(delta)
    for result in results:
        refuse_other_problem(result, problem)
        if isinstance(result, Identification) and not result.identified.all():
            name = result.about["policy"]
            raise MatchbanditError(f"some runs of {name} ended without an answer. Give identify more max_rounds.")
    regret = [result for result in results if isinstance(result, Runs)]
    found = [result for result in results if isinstance(result, Identification)]
    if (regret or horizon is not None) and (found or delta is not None):
        raise MatchbanditError("regret and rounds until an answer do not share a picture. Draw two.")
    policies = [result.about["policy"] for result in results if is_promised(result)] if results else None
    tasks = {_task(result) for result in results} or {_usual(problem)}
    if found or delta is not None:
        asked = [delta_of(result, delta) for result in found]
        places = np.geomspace(0.3, min([0.1, *asked, *([] if delta is None else [delta])]), POINTS)
        made = Overlay("rounds", lines_of(problem, tasks, policies, deltas=places), _rounds(found, asked))
    elif regret or horizon is not None:
        first = min([10, *(int(r.rounds[0]) for r in regret)])
        last = max([*(int(r.rounds[-1]) for r in regret), *([] if horizon is None else [horizon])])
        places = np.unique(np.geomspace(max(first, 2), max(last, 20), POINTS).round())
        made = Overlay("regret", lines_of(problem, tasks, policies, horizons=places), [_regret(r) for r in regret])
    else:
        raise MatchbanditError("give results to lay over, or a horizon or a delta to draw the bounds at.")
    if not made.lines:
        raise MatchbanditError("there is nothing to draw: no bound speaks of this instance.")
    return made


def draw_bounds(
    problem: Problem,
    results: Sequence[Runs | Identification] = (),
    *,
    path: str | os.PathLike[str] = "bounds.png",
    horizon: int | None = None,
    delta: float | None = None,
) -> Path:
    """Draw the bounds of a problem with results of `simulate` or of `identify` laid over: .png with .pdf, .pdf, .svg.

    Regret is drawn over horizons, rounds until an answer over 1/δ; not both in one picture. `overlay_of` says which
    bounds are drawn.
    """
    need("matplotlib", "drawing")  # before any work is done
    picture_file(path)
    writable_file(path)
    return draw_to(bounds_chart(problem, results, horizon=horizon, delta=delta, name=Path(path).stem), path)


def bounds_chart(
    problem: Problem,
    results: Sequence[Runs | Identification] = (),
    *,
    horizon: int | None = None,
    delta: float | None = None,
    name: str = "bounds",
) -> Chart:
    """What `draw_bounds` draws, as numbers: results as lines with bands, bounds as thin lines."""
    results = list(results)
    overlay = overlay_of(problem, results, horizon=horizon, delta=delta)
    lines = [
        Line(m.label, m.x, m.mean, m.p5, m.p95, key=m.policy, hollow=not _has_proof(m.policy, overlay.of))
        for m in overlay.measured
    ]
    for line in overlay.lines:
        x, y = np.array(line.x), np.array(line.y)
        dash: Literal["dashed", "dotted"] = "dashed" if line.exact else "dotted"
        lines.append(Line(f"{line.kind}: {line.label}", x, y, key=line.about, kind="reference", dash=dash))
    told = (
        f"{about_runs(results)}. Lines: mean of the runs; bands: 5–95 %."
        if results
        else f"{instance_of(problem.describe())}."
    )
    words = {"regret": ("Regret, and what the theory says of it", "round, or horizon T"),
             "rounds": ("Rounds until the answer, and what the theory says of them", "1/δ")}  # fmt: skip
    title, x_label = words[overlay.of]
    unproved = " Empty markers: no proof." if any(line.hollow for line in lines) else ""
    return Chart(
        name=name,
        title=title,
        x_label=x_label,
        y_label=overlay.of,
        lines=tuple(lines),
        caption=f"{told} Thin lines: bounds; dotted: asymptotic, or up to a constant.{unproved}",
        x_log=True,
        y_log=True,
        y_range=_shown(overlay),
    )


def _has_proof(policy: str, of: Literal["regret", "rounds"]) -> bool:
    return policy not in CATALOGUE or is_proved(policy, "regret" if of == "regret" else "identification")


def _shown(overlay: Overlay) -> tuple[float, float] | None:
    """Of regret from half of the least mean on: it begins with little."""
    least = [float(one.mean.min()) for one in overlay.measured if len(one.mean)]
    if not least or overlay.of == "rounds":
        return None
    highest = [max(line.y) for line in overlay.lines] + [float(one.p95.max()) for one in overlay.measured]
    return min(least) / 2, 1.3 * max(highest)


def lines_of(
    problem: Problem,
    tasks: set[Task],
    policies: Sequence[str] | None = None,
    *,
    horizons: Floats | None = None,
    deltas: Floats | None = None,
) -> list[BoundLine]:
    """The bounds to draw, along horizons or along 1/δ: upper ones of these policies, or of all."""
    along: dict[str, list[Bound]] = {}
    for at in horizons if horizons is not None else deltas if deltas is not None else ():
        for bound in bounds(problem, horizon=int(at)) if horizons is not None else bounds(problem, delta=float(at)):
            along.setdefault(bound.name, []).append(bound)
    x = horizons if horizons is not None else 1 / np.asarray(deltas)
    chosen = [found for found in along.values() if _speaks(found[-1], tasks, policies)]
    lines = [
        BoundLine(
            _label(found[-1], tasks),
            found[-1].kind,
            found[-1].constants == "explicit",
            x.tolist(),
            [b.value for b in found],
            found[-1].about if found[-1].about in CATALOGUE else "",
        )
        for found in _strongest(chosen)
    ]
    return [line for line in lines if np.isfinite(line.y).all() and min(line.y) > 0]


def _speaks(bound: Bound, tasks: set[Task], policies: Sequence[str] | None) -> bool:
    """Is it met, does it speak of what was played and sought, and of a policy that is laid over?"""
    if not bound.met or (bound.plays, bound.seeks) not in tasks or bound.of == "regret until the first split":
        return False
    return bound.kind == "lower" or policies is None or bound.about in (*policies, "every policy")


def _strongest(chosen: list[list[Bound]]) -> list[list[Bound]]:
    """For each task the highest lower bound of the paper, that of the model, and each policy's lowest upper bound."""
    best: dict[tuple[str, ...], list[Bound]] = {}
    for found in chosen:
        last = found[-1]
        whose = last.about if last.kind == "upper" else "model" if last.name.startswith("model-") else "paper"
        key = last.plays, last.seeks, last.kind, whose
        held = best.setdefault(key, found)[-1]
        if last.value < held.value if last.kind == "upper" else last.value > held.value:
            best[key] = found
    return list(best.values())


def _label(bound: Bound, tasks: set[Task]) -> str:
    who = "" if bound.kind == "lower" or bound.about == "every policy" else f"{bound.about}, "
    where = (
        bound.source.split(", proof")[0].split(", first")[0].split(", second")[0].split(" (")[0].split(", Appendix")[0]
    )
    playing = f", playing {bound.plays}s" if len(tasks) > 1 else ""
    told = "" if bound.constants == "explicit" else f" ({bound.constants})"
    return who + where + playing + told


def _named(result: Runs | Identification) -> str:
    """The policy with the options in which it differs from the usual; without a proof, that is said."""
    name = str(result.about["policy"])
    usual = CATALOGUE[name].option_defaults() if name in CATALOGUE else {}
    changed = {
        key: value
        for key, value in result.about["options"].items()
        if key not in ("delta", "selection") and value != usual.get(key)
    }
    options = ", ".join(f"{key}={value}" for key, value in changed.items())
    unproved = isinstance(result, Identification) and not is_proved(name, "identification")
    return name + (f" ({options})" if options else "") + (" (no proof)" if unproved else "")


def _task(result: Runs | Identification) -> Task:
    plays = result.about["selection"]
    return plays, result.about["answers"] if isinstance(result, Identification) else plays


def _usual(problem: Problem) -> Task:
    selection: Selection = "pair" if problem.graph.is_bipartite or problem.graph.has_bye else "matching"
    return selection, selection


def _regret(runs: Runs) -> Measured:
    summary = runs.summary()
    kept = np.array(summary["mean"]) > 0  # nothing lost yet has no place on a logarithmic axis
    mean, p5, p95 = (np.array(summary[key])[kept] for key in ("mean", "p5", "p95"))
    return Measured(_named(runs), runs.rounds[kept].astype(np.float64), mean, p5, p95, runs.about.policy)


def _rounds(found: Sequence[Identification], deltas: Sequence[float]) -> list[Measured]:
    """The rounds of each policy, at every δ that it was run at."""
    groups: dict[tuple[str, str, str], list[tuple[float, dict[str, float]]]] = {}
    for delta, result in sorted(zip(deltas, found, strict=True), key=lambda pair: pair[0], reverse=True):
        told = groups.setdefault((_named(result), result.about["selection"], result.about.policy), [])
        told.append((1 / delta, result.summary()["rounds"]))
    several = len({selection for _, selection, _ in groups}) > 1
    measured = []
    for (name, selection, policy), told in groups.items():
        label = f"{name}, playing {selection}s" if several else name
        mean, p5, p95 = (np.array([rounds[key] for _, rounds in told]) for key in ("mean", "p5", "p95"))
        measured.append(Measured(label, np.array([x for x, _ in told]), mean, p5, p95, policy))
    return measured

"""Measured results laid over the bounds of their problem."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from matchbandit.confidence import checked_delta
from matchbandit.errors import MatchbanditError
from matchbandit.experiments.standing import PROVED, is_promised
from matchbandit.extras import need
from matchbandit.figures import bounds as pictures
from matchbandit.figures import draw
from matchbandit.figures.bounds import Line, Overlay
from matchbandit.figures.curves import Curve
from matchbandit.graphs import Selection
from matchbandit.policies import CATALOGUE
from matchbandit.problems import Bipartite, Problem
from matchbandit.results import Identification, Runs, writable_file
from matchbandit.rewards import Floats
from matchbandit.theory import Bound, bounds
from matchbandit.theory.table import checked_horizon

Goal = tuple[Selection, Selection]
"""What a round plays, and what is sought."""
POINTS = 40


def draw_bounds(
    problem: Problem,
    results: Sequence[Runs | Identification] = (),
    *,
    path: str | os.PathLike[str] = "bounds.png",
    horizon: int | None = None,
    delta: float | None = None,
) -> Path:
    """Draw the bounds of a problem with results of `simulate` or of `identify` laid over, as PNG and PDF.

    Regret is drawn over horizons, rounds until an answer over risks; not both in one picture. Up to the largest horizon
    or the smallest risk of the results, or those given. Of the paper's lower bounds the highest is drawn, and that of
    the product model; of the upper ones the lowest for each policy laid over, or for all.
    """
    results = list(results)
    need("matplotlib", "drawing")
    place = writable_file(path)
    if place.suffix.lower() not in (".png", ".pdf"):
        raise MatchbanditError(f"the figure is written as .png and .pdf; got {os.fspath(path)!r}.")
    horizon = None if horizon is None else checked_horizon(horizon)
    delta = None if delta is None else checked_delta(delta)
    for result in results:
        _refuse_misfit(result, problem)
    regret, found = [r for r in results if isinstance(r, Runs)], [r for r in results if isinstance(r, Identification)]
    if (regret or horizon is not None) and (found or delta is not None):
        raise MatchbanditError("regret and rounds until an answer do not share a picture. Draw two.")
    policies = [result.about["policy"] for result in results if is_promised(result)] if results else None
    if found or delta is not None:
        risks = [_risk(result) for result in found] + ([] if delta is None else [delta])
        goals = {(r.about["selection"], r.about["answers"]) for r in found} or {_usual(problem)}
        places = np.geomspace(0.3, min([0.1, *risks]), POINTS)
        lines = lines_of(problem, goals, policies, risks=places)
        drawing = partial(pictures.over_risk, lines=lines, overlays=_answered(found))
    elif regret or horizon is not None:
        first = min([10, *(int(r.rounds[0]) for r in regret)])
        last = max([*(int(r.rounds[-1]) for r in regret), *([] if horizon is None else [horizon])])
        places = np.unique(np.geomspace(max(first, 2), max(last, 20), POINTS).round())
        goals = {(r.about["selection"], r.about["selection"]) for r in regret} or {(_usual(problem)[1],) * 2}
        lines = lines_of(problem, goals, policies, horizons=places)
        drawing = partial(pictures.over_horizon, lines=lines, overlays=[_regret(r) for r in regret])
    else:
        raise MatchbanditError("give results to lay over, or a horizon or a delta to draw the bounds at.")
    if not lines:
        raise MatchbanditError("there is nothing to draw: no bound speaks of this instance.")
    drawn = draw(place.stem, drawing, place.parent, beside=True)
    return Path(path).with_name(drawn.name)


def _refuse_misfit(result: Runs | Identification, problem: Problem) -> None:
    if not isinstance(result, Runs | Identification):
        raise MatchbanditError(f"results are what simulate or identify gave; got {result!r}.")
    name = result.about["policy"]
    if result.about["problem"] != problem.describe():
        raise MatchbanditError(f"the results of {name} are those of another problem.")
    if isinstance(result, Identification) and not result.identified.all():
        raise MatchbanditError(f"some runs of {name} ended without an answer. Give identify more max_rounds.")


def lines_of(
    problem: Problem,
    goals: set[Goal],
    policies: Sequence[str] | None = None,
    *,
    horizons: Floats | None = None,
    risks: Floats | None = None,
) -> list[Line]:
    """The bounds to draw, along horizons or along risks: upper ones of these policies, or of all."""
    along: dict[str, list[Bound]] = {}
    for place in horizons if horizons is not None else risks if risks is not None else ():
        at = bounds(problem, horizon=int(place)) if horizons is not None else bounds(problem, delta=float(place))
        for bound in at:
            along.setdefault(bound.name, []).append(bound)
    x = horizons if horizons is not None else 1 / np.asarray(risks)
    chosen = [found for found in along.values() if _spoken_of(found[-1], goals, policies)]
    lines = [
        Line(
            _label(found[-1], goals),
            found[-1].kind,
            found[-1].constants == "explicit",
            x.tolist(),
            [b.value for b in found],
        )
        for found in _strongest(chosen)
    ]
    return [line for line in lines if np.isfinite(line.y).all() and min(line.y) > 0]


def _spoken_of(bound: Bound, goals: set[Goal], policies: Sequence[str] | None) -> bool:
    """Is it met, does it speak of what was played and sought, and of a policy that is laid over?"""
    if not bound.met or (bound.plays, bound.seeks) not in goals or bound.of == "regret until the first split":
        return False
    return bound.kind == "lower" or policies is None or bound.about in (*policies, "every policy")


def _strongest(chosen: list[list[Bound]]) -> list[list[Bound]]:
    """For each goal the highest lower bound of the paper, that of the model, and each policy's lowest upper bound."""
    best: dict[tuple[str, ...], list[Bound]] = {}
    for found in chosen:
        last = found[-1]
        whose = last.about if last.kind == "upper" else "model" if last.name.startswith("model-") else "paper"
        key = last.plays, last.seeks, last.kind, whose
        held = best.setdefault(key, found)[-1]
        if last.value < held.value if last.kind == "upper" else last.value > held.value:
            best[key] = found
    return list(best.values())


def _label(bound: Bound, goals: set[Goal]) -> str:
    who = "" if bound.kind == "lower" or bound.about == "every policy" else f"{bound.about}, "
    where = (
        bound.source.split(", proof")[0].split(", first")[0].split(", second")[0].split(" (")[0].split(", Appendix")[0]
    )
    playing = f", playing {bound.plays}s" if len(goals) > 1 else ""
    told = "" if bound.constants == "explicit" else f" ({bound.constants})"
    return who + where + playing + told


def _named(result: Runs | Identification) -> str:
    """The policy with the options in which it differs from the usual; without a proof, that is said."""
    name = str(result.about["policy"])
    kind = CATALOGUE.get(name)
    usual = {} if kind is None else kind.option_defaults()
    changed = {
        key: value
        for key, value in result.about["options"].items()
        if key not in ("delta", "selection") and value != usual.get(key)
    }
    options = ", ".join(f"{key}={value}" for key, value in changed.items())
    unproved = isinstance(result, Identification) and name not in PROVED
    return name + (f" ({options})" if options else "") + (" (no proof)" if unproved else "")


def _usual(problem: Problem) -> Goal:
    selection: Selection = "pair" if isinstance(problem, Bipartite) or problem.graph.shape[0] % 2 else "matching"
    return selection, selection


def _risk(found: Identification) -> float:
    return float(found.about["options"]["delta"])


def _regret(runs: Runs) -> Overlay:
    summary = runs.summary()
    kept = np.array(summary["mean"]) > 0  # nothing lost yet has no place on a logarithmic axis
    mean, p5, p95 = (np.array(summary[key])[kept] for key in ("mean", "p5", "p95"))
    return Overlay(_named(runs), Curve(runs.rounds[kept].astype(np.float64), mean, p5, p95))


def _answered(found: Sequence[Identification]) -> list[Overlay]:
    """The rounds of each policy, at every risk that it was run at."""
    groups: dict[tuple[str, str], list[Identification]] = {}
    for result in sorted(found, key=_risk, reverse=True):
        groups.setdefault((_named(result), result.about["selection"]), []).append(result)
    several = len({selection for _, selection in groups}) > 1
    overlays = []
    for (name, selection), chosen in groups.items():
        told = [result.summary()["rounds"] for result in chosen]
        mean, p5, p95 = (np.array([t[key] for t in told]) for key in ("mean", "p5", "p95"))
        label = f"{name}, playing {selection}s" if several else name
        overlays.append(Overlay(label, Curve(1 / np.array([_risk(result) for result in chosen]), mean, p5, p95)))
    return overlays

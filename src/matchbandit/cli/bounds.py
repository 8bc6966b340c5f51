"""`matchbandit bounds`: what anyone can hope for on a problem."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.reading import law_of, number, problem_of, settings, whole
from matchbandit.cli.words import FamilyName, Json, Param, Rewards, Seed, U, V, table

if TYPE_CHECKING:
    from matchbandit.problems import Problem
    from matchbandit.results import Found, Runs
    from matchbandit.theory import Bound, Quantity


def bounds(
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    rewards: Rewards = "bernoulli",
    horizon: Annotated[str | None, typer.Option(help="Bound the regret after so many rounds, for example 2e6.")] = None,
    delta: Annotated[str | None, typer.Option(help="Bound the rounds until an answer with this risk.")] = None,
    over: Annotated[
        list[Path] | None,
        typer.Option(help="Lay over runs kept by simulate or identify --save; they also say problem, horizon, delta."),
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the bounds, and what is laid over, into this .png.")] = None,
    seed: Seed = "0",
    as_json: Json = False,
) -> None:
    """Bounds of the paper and limits of the model on a problem, each with its source and its assumptions."""
    from matchbandit.errors import MatchbanditError
    from matchbandit.experiments import draw_bounds
    from matchbandit.problems import Family
    from matchbandit.results import load
    from matchbandit.theory import bounds as all_bounds
    from matchbandit.theory import quantities

    results = [load(path) for path in over or []]
    if results and figure is None:
        raise MatchbanditError("--over goes with --figure, for example --figure bounds.png.")
    rounds = None if horizon is None else whole("--horizon", horizon)
    risk = None if delta is None else number("--delta", delta, example="0.05")
    if results and u is None and family is None:
        problem: Problem | Family = _problem_of(results[0])
    else:
        problem = problem_of(u, v, family, settings("--param", param), law_of(rewards))
    instance = problem.draw(whole("--seed", seed)) if isinstance(problem, Family) else problem
    if results and rounds is None and risk is None:
        rounds, risk = _asked_of(results)
    found = all_bounds(instance, horizon=rounds, delta=risk)
    picture = None if figure is None else draw_bounds(instance, results, path=figure, horizon=rounds, delta=risk)
    if as_json:
        typer.echo(json.dumps(_as_data(instance, rounds, risk, quantities(instance), found, picture)))
        return
    _report(quantities(instance), found)
    if picture is not None:
        typer.echo(f"\nfigure:\n  {picture}")


def _problem_of(result: "Runs | Found") -> "Problem":
    from matchbandit.problems import problem_from

    return problem_from(result.about["problem"])


def _asked_of(results: "list[Runs | Found]") -> tuple[int | None, float | None]:
    """The horizon or the risk that results were made for."""
    horizons = [result.about["horizon"] for result in results if "horizon" in result.about]
    risks = [result.about["options"]["delta"] for result in results if "horizon" not in result.about]
    return max(horizons, default=None), min(risks, default=None)


def _as_data(
    problem: "Problem",
    horizon: int | None,
    delta: float | None,
    quantities: "list[Quantity]",
    found: "list[Bound]",
    picture: Path | None,
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "problem": problem.describe(),
        "horizon": horizon,
        "delta": delta,
        "quantities": [quantity.describe() for quantity in quantities],
        "bounds": [bound.describe() for bound in found],
    }
    if picture is not None:
        data["figure"] = str(picture)
    return data


def _report(quantities: "list[Quantity]", found: "list[Bound]") -> None:
    from matchbandit.theory.lower import CERTAIN, CONSISTENT

    table(("quantity", "", "value", "where"), [(q.name, q.symbol, _shown(q.value), q.source) for q in quantities])
    for heading, group in _grouped(found).items():
        typer.echo(heading)
        lines = [
            (
                bound.kind,
                _shown(bound.value),
                bound.source.split(",")[0].split(" (")[0],
                bound.about,
                bound.constants,
                "yes" if bound.met else "no",
            )
            for bound in group
        ]
        table(("bound", "value", "where", "binds", "constants", "assumptions met"), lines)
    for bound in found:
        if not bound.met:
            missing = "; ".join(assumption.text for assumption in bound.assumptions if not assumption.met)
            typer.echo(f"{bound.name} does not hold here, it assumes: {missing}")
    for words, meaning in (
        (
            CERTAIN,
            "wrong with probability at most δ on every instance; policies without a proof are not bound.",
        ),
        (
            CONSISTENT,
            "with regret o(T^a), a > 0, on every instance; a limit as T → ∞, not a bound now.",
        ),
    ):
        if any(bound.about == words for bound in found):
            typer.echo(f"{words}: {meaning}")


def _grouped(found: "list[Bound]") -> "dict[str, list[Bound]]":
    """The bounds by what they are on, in the words of a heading."""
    groups: dict[str, list[Bound]] = {}
    for bound in found:
        what = {"regret": "regret", "rounds": f"rounds until the best {bound.seeks} is known"}.get(bound.of, bound.of)
        groups.setdefault(f"{what}, playing {bound.plays}s", []).append(bound)
    return groups


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " · ".join(_shown(part) for part in value)
    if value is None:
        return "none"
    if isinstance(value, int):
        return str(value)
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1e4 else f"{value:.4g}"

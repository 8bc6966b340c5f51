"""`matchbandit bounds`: what anyone can hope for on a problem."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.options import FamilyName, Json, Param, U, V, table
from matchbandit.cli.parsing import number, problem_of, rewards_of, settings, whole
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.experiments.standing import StandingRow
    from matchbandit.problems import Problem
    from matchbandit.results import Identification, Runs
    from matchbandit.theory import Bound, Quantity


def bounds(
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    rewards: Annotated[
        str | None, typer.Option(help="bernoulli (default), gaussian:SD or binomial:TRIALS.", show_default=False)
    ] = None,
    seed: Annotated[str | None, typer.Option(help="Which instance of the family.", show_default=False)] = None,
    horizon: Annotated[str | None, typer.Option(help="Bound the regret after so many rounds, for example 2e6.")] = None,
    delta: Annotated[str | None, typer.Option(help="Bound the rounds until an answer with this risk.")] = None,
    over: Annotated[
        list[Path] | None,
        typer.Option(help="Results kept by simulate or identify --save; without --u they also say problem and goal."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the bounds, and the results over them, into this .png (and a .pdf).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bounds of the paper and limits of the model on a problem, each with its source and its assumptions."""
    from matchbandit.experiments import draw_bounds
    from matchbandit.experiments.standing import standing_of
    from matchbandit.results import load
    from matchbandit.theory import bounds as all_bounds
    from matchbandit.theory import quantities

    results = [load(path) for path in over or []]
    rounds = None if horizon is None else whole("--horizon", horizon)
    risk = None if delta is None else number("--delta", delta, example="0.05")
    if results and u is None and family is None:
        given = {"--v": v, "--param": param, "--rewards": rewards, "--seed": seed}
        for name, value in given.items():
            if value is not None:
                raise MatchbanditError(f"{name} goes with --u or --family; --over says the problem by itself.")
        problem = _problem_of(results[0])
    else:
        problem = _instance(u, v, family, param, rewards, seed)
    if results and rounds is None and risk is None:
        rounds, risk = _asked_of(results)
    for result in results:
        if result.about["problem"] != problem.describe():
            raise MatchbanditError(f"the results of {result.about['policy']} are those of another problem.")
    try:
        found = all_bounds(problem, horizon=rounds, delta=risk)
        rows = [standing_of(result, _known(problem, result)) for result in results]
        picture = None if figure is None else draw_bounds(problem, results, path=figure, horizon=rounds, delta=risk)
    except KeyboardInterrupt:
        typer.echo("stopped.", err=True)
        raise typer.Exit(130) from None
    if as_json:
        data: dict[str, Any] = {
            "problem": problem.describe(),
            "horizon": rounds,
            "delta": risk,
            "quantities": [quantity.describe() for quantity in quantities(problem)],
            "bounds": [bound.describe() for bound in found],
            "results": [_standing(row) for row in rows],
            "figure": None if picture is None else str(picture),
        }
        typer.echo(json.dumps(data))
        return
    _report(problem, quantities(problem), found)
    if rows:
        _place(rows)
    if picture is not None:
        typer.echo(f"figure:\n  {picture}")


def _instance(
    u: str | None, v: str | None, family: str | None, param: list[str] | None, rewards: str | None, seed: str | None
) -> "Problem":
    from matchbandit.problems import Family

    problem = problem_of(u, v, family, settings("--param", param), rewards_of(rewards or "bernoulli"))
    if isinstance(problem, Family):
        return problem.draw(whole("--seed", seed or "0"))
    if seed is not None:
        raise MatchbanditError("--seed goes with --family, whose instances it numbers; --u is an instance already.")
    return problem


def _problem_of(result: "Runs | Identification") -> "Problem":
    from matchbandit.problems import problem_from

    return problem_from(result.about["problem"])


def _asked_of(results: "list[Runs | Identification]") -> tuple[int | None, float | None]:
    """The largest horizon and the smallest risk that results were made for."""
    horizons = [result.about["horizon"] for result in results if "horizon" in result.about]
    risks = [result.about["options"]["delta"] for result in results if "horizon" not in result.about]
    return max(horizons, default=None), min(risks, default=None)


def _known(problem: "Problem", result: "Runs | Identification") -> "list[Bound]":
    """The bounds at the horizon or the risk of one result."""
    from matchbandit.theory import bounds as all_bounds

    horizon, delta = _asked_of([result])
    return all_bounds(problem, horizon=horizon, delta=delta)


def _standing(row: "StandingRow") -> dict[str, Any]:
    mean = row.mean if row.measured else None
    return {
        "policy": row.policy,
        "of": row.of,
        "mean": mean,
        "standard_error": row.error if row.measured else None,
        "lower": row.lower,
        "lower_source": row.lower_source,
        "times_lower": mean / row.lower if mean is not None and row.lower > 0 else None,
        "binds": row.binding,
        "upper": row.upper,
        "upper_source": row.upper_source,
    }


def _report(problem: "Problem", quantities: "list[Quantity]", found: "list[Bound]") -> None:
    from matchbandit.theory.lower import CERTAIN, CONSISTENT

    table(("quantity", "", "value", "where"), [(q.name, q.symbol, _shown(q.value), q.source) for q in quantities])
    for heading, group in _grouped(found).items():
        typer.echo(heading)
        lines = [(b.name, b.kind, _shown(b.value), b.source, b.constants, "yes" if b.met else "no") for b in group]
        table(("bound", "", "value", "where", "constants", "assumptions met"), lines)
    for bound in found:
        if not bound.met:
            missing = "; ".join(assumption.text for assumption in bound.assumptions if not assumption.met)
            typer.echo(f"{bound.name} does not hold here, it assumes: {missing}")
    for bound in found:
        if bound.note:
            typer.echo(f"{bound.name}: {bound.note}")
    for words, meaning in (
        (CERTAIN, "wrong with probability at most δ on every instance; policies without a proof are not bound"),
        (CONSISTENT, "with regret o(T^a), a > 0, on every instance; a limit as T → ∞, not a bound now"),
    ):
        if any(bound.about == words for bound in found):
            what = "rounds" if words == CERTAIN else "regret"
            typer.echo(f"lower bounds on {what} bind {words}: {meaning}.")
    for reason in _left_out(problem, found):
        typer.echo(f"limits of the product model left out: {reason}.")


def _left_out(problem: "Problem", found: "list[Bound]") -> list[str]:
    from matchbandit.theory.table import why_no_limit

    goals = {(bound.plays, bound.seeks) for bound in found if bound.of != "regret until the first split"}
    reasons = [why_no_limit(problem, plays, seeks) for plays, seeks in sorted(goals)]
    return list(dict.fromkeys(reason for reason in reasons if reason is not None))


def _place(rows: "list[StandingRow]") -> None:
    """What was measured, beside the bounds at the horizon or the risk of each result."""
    lines = []
    for row in rows:
        told = _standing(row)
        lines.append(
            (
                row.policy,
                row.of,
                "no answer" if told["mean"] is None else f"{_shown(told['mean'])} ± {_shown(told['standard_error'])}",
                _shown(row.lower) + ("" if row.binding else " (does not bind)"),
                "" if told["times_lower"] is None else _shown(told["times_lower"]),
                "" if row.upper is None else _shown(row.upper) + ("" if row.explicit else " (c = 1)"),
            )
        )
    table(("policy", "of", "measured", "highest lower bound", "times that", "its upper bound"), lines)


def _grouped(found: "list[Bound]") -> "dict[str, list[Bound]]":
    """The bounds by what they are on, in the words of a heading."""
    groups: dict[str, list[Bound]] = {}
    for bound in found:
        what = {"regret": "regret", "rounds": f"rounds until the best {bound.seeks} is known"}.get(bound.of, bound.of)
        groups.setdefault(f"{what}, playing {bound.plays}s", []).append(bound)
    return groups


def _shown(value: Any) -> str:
    if isinstance(value, list):
        between = " / " if value and isinstance(value[0], list) else " · "
        return between.join(_shown(part) for part in value)
    if value is None:
        return "none"
    if isinstance(value, int):
        return str(value)
    return f"{value:,.0f}".replace(",", " ") if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"

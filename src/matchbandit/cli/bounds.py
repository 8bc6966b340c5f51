"""`matchbandit bounds`: the bounds that are known for a problem."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.options import FamilyName, Json, Param, U, V, table
from matchbandit.cli.parsing import number, problem_of, rewards_of, settings, whole
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.placement import Placement
    from matchbandit.problems import Problem
    from matchbandit.results import Identification, Runs
    from matchbandit.theory import Report

    Results = list[tuple[Path, Runs | Identification]]


def bounds(
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    rewards: Annotated[
        str | None, typer.Option(help="bernoulli (default), gaussian:SD or binomial:TRIALS.", show_default=False)
    ] = None,
    seed: Annotated[str | None, typer.Option(help="Which instance of the family.", show_default=False)] = None,
    horizon: Annotated[str | None, typer.Option(help="Bound the regret up to this round, for example 2e6.")] = None,
    delta: Annotated[
        str | None, typer.Option(help="Bound the rounds until an answer with this error probability, for example 0.05.")
    ] = None,
    over: Annotated[
        list[Path] | None,
        typer.Option(
            help="Files that simulate or identify saved with --save, one or more; without --u they also give problem "
            "and goal."
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the bounds, and the results over them, into this .png, .pdf or .svg.")
    ] = None,
    notes: Annotated[bool, typer.Option("--notes", help="Say what was corrected, and what proofs pass over.")] = False,
    as_json: Json = False,
) -> None:
    """Print the bounds that are known for a problem.

    Those of the paper, and asymptotic lower bounds: each with its source and its assumptions.
    """
    from matchbandit.placement import placement_of, plot_bounds
    from matchbandit.results import Comparison, load
    from matchbandit.theory import bounds as all_bounds
    from matchbandit.theory import report

    loaded = [(path, load(path)) for path in dict.fromkeys(over or [])]
    results: Results = [
        (path, one) for path, result in loaded for one in (result if isinstance(result, Comparison) else [result])
    ]
    rounds = None if horizon is None else whole("--horizon", horizon)
    chance = None if delta is None else number("--delta", delta, example="0.05")
    if results and u is None and family is None:
        options = {"--v": v, "--param": param, "--rewards": rewards, "--seed": seed}
        for name, value in options.items():
            if value is not None:
                raise MatchbanditError(f"{name} goes with --u or --family; --over says the problem by itself.")
        problem = _problem_in(results)
    else:
        problem = _instance(u, v, family, param, rewards, seed)
    asked = [_asked_of(path, result, problem, chance) for path, result in results]
    if results and rounds is None and chance is None:
        rounds = max((at for at, _ in asked if at is not None), default=None)
        chance = min((at for _, at in asked if at is not None), default=None)
    try:
        theory = report(problem, horizon=rounds, delta=chance)
        placed = [
            placement_of(result, all_bounds(problem, horizon=last, delta=sought))
            for (_, result), (last, sought) in zip(results, asked, strict=True)
        ]
        picture = None
        if figure is not None:
            picture = plot_bounds(problem, [result for _, result in results], path=figure, horizon=rounds, delta=chance)
    except KeyboardInterrupt:
        typer.echo("stopped.", err=True)
        raise typer.Exit(130) from None
    if as_json:
        data = {
            **theory.describe(),
            "results": [one.describe() for one in placed],
            "figure": None if picture is None else str(picture),
        }
        typer.echo(json.dumps(data))
        return
    _print(theory, notes=notes)
    if placed:
        _print_placed(placed)
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


def _problem_in(results: "Results") -> "Problem":
    """The problem of the first file."""
    from matchbandit.problems import problem_from

    path, first = results[0]
    try:
        return problem_from(first.about["problem"])
    except MatchbanditError as error:
        raise MatchbanditError(f"{path}: {error}") from None


def _asked_of(
    path: Path, result: "Runs | Identification", problem: "Problem", delta: float | None
) -> tuple[int | None, float | None]:
    """The horizon or the δ of results; those of another problem are refused."""
    from matchbandit.placement import delta_of, refuse_other_problem
    from matchbandit.results import Runs

    try:
        refuse_other_problem(result, problem)
        return (result.about["horizon"], None) if isinstance(result, Runs) else (None, delta_of(result, delta))
    except MatchbanditError as error:
        raise MatchbanditError(f"{path}: {error}") from None


def _print(theory: "Report", *, notes: bool) -> None:
    from matchbandit.theory.bound import COLUMNS, format_value

    table(
        ("quantity", "", "value", "where"),
        [(q.name, q.symbol, format_value(q.value), q.source) for q in theory.quantities],
    )
    for heading, group in theory.groups.items():
        typer.echo(f"\n{heading}")
        table(COLUMNS, [bound.cells for bound in group])
    typer.echo()
    for bound in theory.bounds:
        if not bound.met:
            typer.echo(f"{bound.name} does not apply here, it assumes: {'; '.join(bound.unmet)}.")
    for bound in theory.bounds:
        if notes and bound.note:
            typer.echo(f"{bound.name}: {bound.note}")
    if any(bound.vacuous for bound in theory.bounds):
        typer.echo("(vacuous): no better than T times the worst round, infinity, or, from below, 0.")
    for about, meaning in theory.binds.items():
        typer.echo(f"lower bounds bind {about}: {meaning}.")
    for line in theory.not_given:
        typer.echo(line)
    if not notes and any(bound.note for bound in theory.bounds):
        typer.echo("--notes says what was corrected in the paper's bounds.")


def _print_placed(placed: "list[Placement]") -> None:
    """What was measured, beside the bounds at the horizon or the δ of each result."""
    from matchbandit.theory.bound import format_value

    lines = []
    for one in placed:
        mean = f"{format_value(one.mean)} ± {format_value(one.error)}" if one.measured else "no answer"
        times_lower = one.describe()["times_lower"]
        upper = ""
        if one.upper is not None:
            constant, vacuous = "" if one.explicit else " (c = 1)", " (vacuous)" if one.vacuous else ""
            upper = f"{format_value(one.upper)}{constant}{vacuous}"
        lines.append(
            (
                one.policy,
                one.of,
                mean,
                format_value(one.lower) + ("" if one.binding else " (does not bind)"),
                "" if times_lower is None else format_value(times_lower),
                upper,
            )
        )
    typer.echo()
    table(("policy", "of", "measured", "highest lower bound", "times that", "its upper bound"), lines)

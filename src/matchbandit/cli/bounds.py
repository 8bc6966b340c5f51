"""`matchbandit bounds`: the known bounds of a problem."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import (
    Distribution,
    FamilyName,
    NumberList,
    Param,
    Rewards,
    Setting,
    U,
    V,
    integer,
    make_problem,
    number,
)
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.placement import Placement
    from matchbandit.problems import Problem
    from matchbandit.results import Identification, Runs
    from matchbandit.theory import Report

    Results = list[tuple[Path, Runs | Identification]]


@prints_output
def bounds(
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    rewards: Rewards = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Which instance of the family.", show_default=False, **integer("--seed", minimum=0)),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(help="Bound the regret after this number of rounds, such as 2e6.", **integer("--horizon")),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Bound the rounds until an answer with this error probability, such as 0.05.", **number("--delta")
        ),
    ] = None,
    over: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Files that simulate or identify saved with --save, one or more; without --u they also give the "
            "problem and the goal.",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the bounds, and the results over them, into this .png, .pdf or .svg."),
    ] = None,
    notes: Annotated[
        bool, typer.Option("--notes", help="Print what was corrected in the paper, and gaps of its proofs.")
    ] = False,
) -> Output:
    """Print the known bounds of a problem.

    The bounds of the paper and asymptotic lower bounds, each with its source and its assumptions.

    \b
    Example:
      matchbandit bounds --u 0.9,0.8,0.5,0.4 --horizon 1e6
    """
    from matchbandit.figures import picture_file
    from matchbandit.placement import bounds_chart, placement_of
    from matchbandit.results import Comparison, load
    from matchbandit.theory import bounds as all_bounds
    from matchbandit.theory import report

    if figure is not None:
        picture_file(figure)  # before any work is done
    loaded = [(path, load(path)) for path in dict.fromkeys(over or [])]
    results: Results = [
        (path, one) for path, result in loaded for one in (result if isinstance(result, Comparison) else [result])
    ]
    if results and u is None and family is None:
        options = {"--v": v, "--param": param, "--rewards": rewards, "--seed": seed}
        for name, value in options.items():
            if value is not None:
                raise MatchbanditError(f"{name} goes with --u or --family; --over gives the problem itself.")
        problem = _problem_of(results)
    else:
        problem = _instance(u, v, family, param, rewards, seed)
    goals = [_goal_of(path, result, problem, delta) for path, result in results]
    if results and horizon is None and delta is None:
        horizon = max((at for at, _ in goals if at is not None), default=None)
        delta = min((at for _, at in goals if at is not None), default=None)
    theory = report(problem, horizon=horizon, delta=delta)
    placements = [
        placement_of(result, all_bounds(problem, horizon=result_horizon, delta=result_delta))
        for (_, result), (result_horizon, result_delta) in zip(results, goals, strict=True)
    ]
    picture = None
    if figure is not None:
        chart = bounds_chart(problem, [result for _, result in results], horizon=horizon, delta=delta)
        picture = chart.save(figure)

    def print_text() -> None:
        _print_bounds(theory, notes=notes)
        if placements:
            _print_placements(placements)
        if picture is not None:
            typer.echo(f"figure:\n  {picture}")

    data = {
        **theory.describe(),
        "results": [placement.describe() for placement in placements],
        "figure": None if picture is None else str(picture),
    }
    return Output(data, print_text)


def _instance(
    u: NumberList | None,
    v: NumberList | None,
    family: str | None,
    param: list[Setting] | None,
    rewards: Distribution | None,
    seed: int | None,
) -> "Problem":
    from matchbandit.problems import Family

    problem = make_problem(u, v, family, param, rewards)
    if isinstance(problem, Family):
        return problem.draw(seed or 0)
    if seed is not None:
        raise MatchbanditError("--seed goes with --family: it chooses the instance. --u is an instance already.")
    return problem


def _problem_of(results: "Results") -> "Problem":
    """Return the problem of the first file."""
    from matchbandit.problems import problem_from

    path, first = results[0]
    try:
        return problem_from(first.about["problem"])
    except MatchbanditError as error:
        raise MatchbanditError(f"{path}: {error}") from None


def _goal_of(
    path: Path, result: "Runs | Identification", problem: "Problem", delta: float | None
) -> tuple[int | None, float | None]:
    """Return the horizon or the δ of results; refuse those of another problem."""
    from matchbandit.placement import delta_of, refuse_other_problem
    from matchbandit.results import Runs

    try:
        refuse_other_problem(result, problem)
        return (result.about["horizon"], None) if isinstance(result, Runs) else (None, delta_of(result, delta))
    except MatchbanditError as error:
        raise MatchbanditError(f"{path}: {error}") from None


def _print_bounds(theory: "Report", *, notes: bool) -> None:
    from matchbandit.theory.bound import COLUMNS, format_value

    print_table(
        ("quantity", "", "value", "where"),
        [(q.name, q.symbol, format_value(q.value), q.source) for q in theory.quantities],
    )
    for heading, group in theory.groups.items():
        typer.echo(f"\n{heading}")
        print_table(COLUMNS, [bound.cells for bound in group])
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
        typer.echo("--notes prints what was corrected in the paper's bounds.")


def _print_placements(placements: "list[Placement]") -> None:
    """Print what was measured, beside the bounds at the horizon or the δ of each result."""
    from matchbandit.theory.bound import format_value

    rows = []
    for one in placements:
        mean = f"{format_value(one.mean)} ± {format_value(one.error)}" if one.measured else "no answer"
        times_lower = one.describe()["times_lower"]
        upper = ""
        if one.upper is not None:
            constant, vacuous = "" if one.explicit else " (c = 1)", " (vacuous)" if one.vacuous else ""
            upper = f"{format_value(one.upper)}{constant}{vacuous}"
        rows.append(
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
    print_table(
        ("policy", "of", "measured", "highest lower bound", "times that", "its upper bound"),
        rows,
        right=("times that",),
    )

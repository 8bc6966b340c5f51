"""`matchbandit identify`: let a policy identify the best pair or matching."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.experiment import format_statistic, run_experiment, statistics_of
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import (
    Budget,
    Delta,
    Engine,
    Epsilon,
    FamilyName,
    Option,
    Param,
    PolicyName,
    Rewards,
    Runs,
    Save,
    Seed,
    U,
    V,
    Workers,
    integer,
    make_problem,
    merge_settings,
)
from matchbandit.formatting import fixed, plural

if TYPE_CHECKING:
    from matchbandit.results import Identification

MAX_ANSWERS = 5
"""The most frequent answers that are printed."""


@prints_output
def identify(
    policy: PolicyName,
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    option: Option = None,
    delta: Delta = None,
    epsilon: Epsilon = None,
    budget: Budget = None,
    rewards: Rewards = None,
    runs: Runs = 20,
    seed: Seed = 0,
    max_rounds: Annotated[
        int | None,
        typer.Option(
            help="Stop a run here, such as 1e9; by default 1e12, or 1e7 for policies that decide every round.",
            **integer("--max-rounds"),
        ),
    ] = None,
    engine: Engine = "auto",
    workers: Workers = None,
    save: Save = None,
) -> Output:
    """Let a policy identify the best pair or matching.

    Reports the number of rounds, and how many answers are correct.

    \b
    Example:
      matchbandit identify --policy pair-elim --delta 0.05 --u 0.9,0.3 --v 0.8,0.2
    """
    from matchbandit.policies import policy as make_policy
    from matchbandit.simulation import identify as play

    spec = make_policy(policy, **merge_settings("--option", option))
    problem = make_problem(u, v, family, param, rewards)
    return run_experiment(
        f"identifying with {policy}",
        lambda progress: play(
            problem,
            spec,
            delta=delta,
            epsilon=epsilon,
            budget=budget,
            runs=runs,
            seed=seed,
            max_rounds=max_rounds,
            engine=engine,
            workers=workers,
            progress=progress,
        ),
        save=save,
        describe=_describe,
        print_result=_print,
    )


def _describe(result: "Identification") -> dict[str, Any]:
    arrays = {name: getattr(result, name) for name in ("rounds", "pairs", "identified", "correct", "answers")}
    return {"summary": result.summary(), **arrays}


def _print(result: "Identification") -> None:
    summary = result.summary()
    statistics = statistics_of(summary["rounds"], "rounds")
    row = (
        *(format_statistic(summary["rounds"][key], 0) for key in statistics),
        *(fixed(n, 0) for n in (summary["correct"], summary["wrong"], summary["runs"] - summary["identified"])),
    )
    heads = (*statistics.values(), "correct", "wrong", "not identified")
    print_table(heads, [row], right=heads)
    answers = Counter(
        " ".join(f"({i}, {j})" for i, j in answer)
        for answer, identified in zip(result.answers.tolist(), result.identified, strict=True)
        if identified
    )
    for answer, times in answers.most_common(MAX_ANSWERS):
        typer.echo(f"answered {plural(times, 'time')}: {answer}")

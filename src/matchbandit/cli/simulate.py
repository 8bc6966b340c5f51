"""`matchbandit simulate`: play a policy on a problem."""

from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from matchbandit.cli.experiment import format_statistic, run_experiment, statistics_of
from matchbandit.cli.output import Output, print_table, prints_output
from matchbandit.cli.parameters import (
    Drift,
    Engine,
    FamilyName,
    NumberList,
    Option,
    Param,
    PolicyName,
    Rewards,
    Runs,
    Save,
    Seed,
    StopName,
    U,
    V,
    Workers,
    choice,
    integer,
    make_problem,
    merge_settings,
    parse_ints,
    parsed_by,
)
from matchbandit.formatting import fixed, plural

if TYPE_CHECKING:
    from matchbandit.results import Runs as SimulatedRuns

MAX_ROWS = 12
"""With more checkpoints, only every fifth is printed."""


@prints_output
def simulate(
    policy: PolicyName,
    horizon: Annotated[int, typer.Option(help="Number of rounds, such as 2e6.", **integer("--horizon"))],
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    option: Option = None,
    rewards: Rewards = None,
    drift: Drift = None,
    runs: Runs = 20,
    seed: Seed = 0,
    engine: Engine = "auto",
    checkpoints: Annotated[
        NumberList | None,
        typer.Option(
            help="Rounds at which the regret is measured: 1e3,1e4.",
            **parsed_by(lambda text: parse_ints("--checkpoints", text), "LIST"),
        ),
    ] = None,
    stop: Annotated[
        StopName | None,
        typer.Option(help="End a run when a cluster of the policy splits.", **choice("stop", get_args(StopName))),
    ] = None,
    workers: Workers = None,
    save: Save = None,
) -> Output:
    """Play a policy on a problem and report its regret.

    The problem is given by --u and --v, by --u alone (players), or by --family and --param.

    \b
    Examples:
      matchbandit simulate --policy uts --u 0.9,0.3 --v 0.8,0.2 --horizon 1e5
      matchbandit simulate --policy cucb --u 0.9,0.8,0.4,0.3 --horizon 1e5
    """
    from matchbandit.policies import policy as make_policy
    from matchbandit.simulation import simulate as play

    spec = make_policy(policy, **merge_settings("--option", option))
    problem = make_problem(u, v, family, param, rewards, drift)
    return run_experiment(
        f"simulating {policy}",
        lambda progress: play(
            problem,
            spec,
            horizon=horizon,
            runs=runs,
            seed=seed,
            engine=engine,
            checkpoints=None if checkpoints is None else [int(each) for each in checkpoints],
            stop=stop,
            workers=workers,
            progress=progress,
        ),
        save=save,
        describe=_describe,
        print_result=_print,
    )


def _describe(runs: "SimulatedRuns") -> dict[str, Any]:
    return {
        "rounds": runs.rounds,
        "regret": runs.summary(),
        "final_regret": runs.final,
        **_plays(runs),
        "ended": runs.ended,
        "splits": runs.splits,
        "eliminations": [[each.describe() for each in run] for run in runs.eliminations],
    }


def _plays(runs: "SimulatedRuns") -> dict[str, Any]:
    """Return the mean plays of each pair; of large graphs, what each run played."""
    from matchbandit.graphs import graph_from

    if graph_from(runs.about.graph).has_few_pairs:
        return {"mean_plays": runs.plays.mean(axis=0)}
    return {"played": [{"pairs": run.pairs, "plays": run.counts} for run in runs.played]}


def _print(runs: "SimulatedRuns") -> None:
    summary = runs.summary()
    n_rounds = len(runs.rounds)
    shown = range(n_rounds) if n_rounds <= MAX_ROWS else sorted(range(n_rounds - 1, -1, -5))
    statistics = statistics_of(summary, "regret")
    rows = [(fixed(runs.rounds[k], 0), *(format_statistic(summary[key][k]) for key in statistics)) for k in shown]
    heads = ("round", *statistics.values())
    print_table(heads, rows, right=heads)
    if runs.about.stop is not None:
        early = runs.ended[runs.ended < runs.rounds[-1]]
        mean = f", on average after {fixed(early.mean(), 0)} rounds" if len(early) else ""
        typer.echo(f"{len(early)} of {plural(len(runs.ended), 'run')} ended at the {runs.about.stop}{mean}")

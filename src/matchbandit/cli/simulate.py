"""`matchbandit simulate`: play a policy on a problem."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.options import (
    Engine,
    FamilyName,
    Json,
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
    as_printed,
    as_typed,
    counted,
    table,
)
from matchbandit.cli.parsing import listed, problem_of, rewards_of, settings, whole, whole_if
from matchbandit.progress import bar

if TYPE_CHECKING:
    from matchbandit.results import Runs as Simulated


def simulate(
    policy: PolicyName,
    horizon: Annotated[str, typer.Option(help="Rounds to play, for example 2e6.")],
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    option: Option = None,
    rewards: Rewards = "bernoulli",
    runs: Runs = "20",
    seed: Seed = "0",
    engine: Engine = "auto",
    checkpoints: Annotated[
        str | None, typer.Option(help="Rounds at which the regret is read, for example 1e3,1e4.")
    ] = None,
    stop: Annotated[
        str | None, typer.Option(help="first-split: end a run when a cluster of the policy splits.")
    ] = None,
    workers: Workers = None,
    save: Save = None,
    as_json: Json = False,
) -> None:
    """Play a policy on a problem and report its regret."""
    from matchbandit.policies import policy as named
    from matchbandit.simulation import Interrupted
    from matchbandit.simulation import simulate as play

    spec = named(policy, **settings("--option", option))
    problem = problem_of(u, v, family, settings("--param", param), rewards_of(rewards))
    if save is not None:
        from matchbandit.results import results_file

        results_file(save)
    stopped = False
    try:
        with bar(f"simulating {policy}") as advance:
            done = play(
                problem,
                spec,
                horizon=whole("--horizon", horizon),
                runs=whole("--runs", runs),
                seed=whole("--seed", seed),
                engine=engine,  # type: ignore[arg-type]  # an unknown engine is refused with its name
                checkpoints=None if checkpoints is None else [whole("--checkpoints", r) for r in listed(checkpoints)],
                stop=stop,  # type: ignore[arg-type]  # as is an unknown stop
                workers=whole_if("--workers", workers),
                progress=lambda finished, total: advance("runs", finished, total),
            )
    except Interrupted as interrupted:
        if interrupted.finished is None:
            typer.echo("stopped before a run was finished.", err=True)
            raise typer.Exit(130) from None
        done, stopped = interrupted.finished, True
    if save is not None:
        done.save(save)
    if as_json:
        typer.echo(json.dumps(_as_data(done)))
    else:
        _report(done, save)
    if stopped:
        typer.echo(f"stopped after {done.about['runs']} of {done.about['interrupted_of']} runs.", err=True)
        raise typer.Exit(130)


def _as_data(done: "Simulated") -> dict[str, Any]:
    return {
        **as_printed(done.about),
        "rounds": done.rounds.tolist(),
        "regret": done.summary(),
        "final_regret": done.final.tolist(),
        "mean_plays": done.plays.mean(axis=0).tolist(),
        "ended": done.ended.tolist(),
        "splits": done.splits,
        "eliminations": [[gone.describe() for gone in run] for run in done.eliminations],
    }


def _report(done: "Simulated", saved: str | None) -> None:
    about, summary = done.about, done.summary()
    options = ", ".join(f"{key}={as_typed(value)}" for key, value in about["options"].items())
    heading = f"{about['policy']} ({options})" if options else about["policy"]
    typer.echo(f"{heading}, {counted(about['runs'], 'run')}, engine {about['engine']}")
    shown = range(len(done.rounds)) if len(done.rounds) <= 12 else range(len(done.rounds) - 1, -1, -5)
    lines = [
        (f"{done.rounds[k]:,}".replace(",", " "), *(f"{summary[s][k]:,.1f}".replace(",", " ") for s in summary))
        for k in sorted(shown)
    ]
    table(("round", "mean regret", "5 %", "95 %"), lines, right=True)
    if about.stop is not None:
        early = done.ended[done.ended < done.rounds[-1]]
        after = f"{early.mean():,.0f}".replace(",", " ") if len(early) else ""
        mean = f", on average after {after} rounds" if after else ""
        typer.echo(f"{len(early)} of {counted(len(done.ended), 'run')} ended at the {about['stop']}{mean}")
    if saved is not None:
        typer.echo(f"these runs are kept in {saved}")

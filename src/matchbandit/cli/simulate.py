"""`matchbandit simulate`: play a policy on a problem."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.options import (
    Drift,
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
    table,
)
from matchbandit.cli.parsing import listed, problem_of, rewards_of, settings, whole, whole_if
from matchbandit.cli.playing import play_and_report
from matchbandit.formatting import plural

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
    drift: Drift = None,
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
    from matchbandit.simulation import simulate as play

    spec = named(policy, **settings("--option", option))
    problem = problem_of(u, v, family, settings("--param", param), rewards_of(rewards), drift)
    play_and_report(
        f"simulating {policy}",
        lambda progress: play(
            problem,
            spec,
            horizon=whole("--horizon", horizon),
            runs=whole("--runs", runs),
            seed=whole("--seed", seed),
            engine=engine,  # type: ignore[arg-type]  # an unknown engine is refused with its name
            checkpoints=None if checkpoints is None else [whole("--checkpoints", r) for r in listed(checkpoints)],
            stop=stop,  # type: ignore[arg-type]  # as is an unknown stop
            workers=whole_if("--workers", workers),
            progress=progress,
        ),
        save=save,
        data=_as_data if as_json else None,
        report=_report,
    )


def _as_data(done: "Simulated") -> dict[str, Any]:
    return {
        "rounds": done.rounds.tolist(),
        "regret": done.summary(),
        "final_regret": done.final.tolist(),
        **_plays(done),
        "ended": done.ended.tolist(),
        "splits": done.splits,
        "eliminations": [[gone.describe() for gone in run] for run in done.eliminations],
    }


def _plays(done: "Simulated") -> dict[str, Any]:
    """The mean plays of each pair; of large graphs, what each run played."""
    from matchbandit.graphs import graph_from

    if graph_from(done.about.graph).has_few_pairs:
        return {"mean_plays": done.plays.mean(axis=0).tolist()}
    return {"played": [{"pairs": run.pairs.tolist(), "plays": run.counts.tolist()} for run in done.played]}


def _report(done: "Simulated") -> None:
    about, summary = done.about, done.summary()
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
        typer.echo(f"{len(early)} of {plural(len(done.ended), 'run')} ended at the {about['stop']}{mean}")

"""`matchbandit simulate`: play a policy on a problem."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchbandit.cli.reading import law_of, listed, problem_of, settings, whole
from matchbandit.cli.words import Json, Seed, Workers, as_typed, progress_bar, table
from matchbandit.errors import MatchbanditError

if TYPE_CHECKING:
    from matchbandit.results import Runs


def simulate(
    policy: Annotated[str, typer.Option(help="A name from `matchbandit policies`.")],
    horizon: Annotated[str, typer.Option(help="Rounds to play, for example 2e6.")],
    u: Annotated[str | None, typer.Option(help="Strengths of rows or players: 0.9,0.3,0.2 or 0.9 0.3 0.2.")] = None,
    v: Annotated[str | None, typer.Option(help="Strengths of columns; leave out for players.")] = None,
    family: Annotated[
        str | None, typer.Option(help="Instead of --u: spiked, fixed-mean, staircase or centred; see --param.")
    ] = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter of the family, key=value.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="An option of the policy, key=value.")] = None,
    rewards: Annotated[str, typer.Option(help="bernoulli, gaussian:SD or binomial:TRIALS.")] = "bernoulli",
    runs: Annotated[int, typer.Option(help="Independent runs.")] = 20,
    seed: Seed = 0,
    engine: Annotated[str, typer.Option(help="auto, step, jump or loop.")] = "auto",
    checkpoints: Annotated[
        str | None, typer.Option(help="Rounds at which the regret is read, for example 1e3,1e4.")
    ] = None,
    workers: Workers = None,
    save: Annotated[Path | None, typer.Option(help="Keep all runs in this Parquet file.")] = None,
    as_json: Json = False,
) -> None:
    """Play a policy on a problem and report its regret."""
    from matchbandit.policies import policy as named
    from matchbandit.simulation import Interrupted
    from matchbandit.simulation import simulate as play

    spec = named(policy, **settings("--option", option))
    problem = problem_of(u, v, family, settings("--param", param), law_of(rewards))
    stopped = False
    try:
        with progress_bar(f"simulating {policy}") as advance:
            done = play(
                problem,
                spec,
                horizon=whole("--horizon", horizon),
                runs=runs,
                seed=seed,
                engine=engine,  # type: ignore[arg-type]  # an unknown engine is refused with its name
                checkpoints=None if checkpoints is None else [whole("--checkpoints", r) for r in listed(checkpoints)],
                workers=(os.cpu_count() or 1) if workers is None else workers,
                progress=lambda finished, total: advance("runs", finished, total),
            )
    except Interrupted as stop:
        if stop.finished is None:
            typer.echo("stopped before a run was finished.", err=True)
            raise typer.Exit(130) from None
        done, stopped = stop.finished, True
    if save is not None:
        _save(done, save)
    if as_json:
        typer.echo(json.dumps(_as_data(done)))
    else:
        _report(done, save)
    if stopped:
        typer.echo(f"stopped after {done.about['runs']} of {done.about['interrupted_of']} runs.", err=True)
        raise typer.Exit(130)


def _as_data(done: "Runs") -> dict[str, Any]:
    return {
        **done.about,
        "rounds": done.rounds.tolist(),
        "regret": done.summary(),
        "final_regret": done.final.tolist(),
        "mean_plays": done.plays.mean(axis=0).tolist(),
    }


def _report(done: "Runs", saved: Path | None) -> None:
    about, summary = done.about, done.summary()
    options = ", ".join(f"{key}={as_typed(value)}" for key, value in about["options"].items())
    typer.echo(f"{about['policy']}{f' ({options})' if options else ''}, {about['runs']} runs, engine {about['engine']}")
    shown = range(len(done.rounds)) if len(done.rounds) <= 12 else range(len(done.rounds) - 1, -1, -5)
    lines = [
        (f"{done.rounds[k]:,}".replace(",", " "), *(f"{summary[s][k]:,.1f}".replace(",", " ") for s in summary))
        for k in sorted(shown)
    ]
    table(("round", "mean regret", "5 %", "95 %"), lines, right=True)
    if saved is not None:
        typer.echo(f"all runs are kept in {saved}")


def _save(done: "Runs", path: Path) -> None:
    try:
        done.save(path)
    except OSError as error:
        raise MatchbanditError(f"cannot write {str(path)!r}: {error.strerror}. Choose another place.") from None

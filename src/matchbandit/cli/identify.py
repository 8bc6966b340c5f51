"""`matchbandit identify`: let a policy seek the best pair or matching."""

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
from matchbandit.cli.parsing import number, problem_of, rewards_of, settings, whole, whole_if
from matchbandit.progress import bar

if TYPE_CHECKING:
    from matchbandit.results import Identification


def identify(
    policy: PolicyName,
    u: U = None,
    v: V = None,
    family: FamilyName = None,
    param: Param = None,
    option: Option = None,
    delta: Annotated[
        str | None, typer.Option(help="The error probability δ, for example 0.05; short for --option delta=….")
    ] = None,
    rewards: Rewards = "bernoulli",
    runs: Runs = "20",
    seed: Seed = "0",
    max_rounds: Annotated[
        str | None,
        typer.Option(
            help="Stop a run here, for example 1e9; by default 1e12, or 1e7 for policies that decide every round."
        ),
    ] = None,
    engine: Engine = "auto",
    workers: Workers = None,
    save: Save = None,
    as_json: Json = False,
) -> None:
    """Let a policy seek the best pair or matching, and report how long it takes and how often it errs."""
    from matchbandit.policies import policy as named
    from matchbandit.simulation import Interrupted
    from matchbandit.simulation import identify as seek

    risk = [] if delta is None else [f"delta={number('--delta', delta, example='0.05')}"]
    options = settings("--option", [*(option or []), *risk])
    spec = named(policy, **options)
    problem = problem_of(u, v, family, settings("--param", param), rewards_of(rewards))
    if save is not None:
        from matchbandit.results import results_file

        results_file(save)
    stopped = False
    try:
        with bar(f"identifying with {policy}") as advance:
            found = seek(
                problem,
                spec,
                runs=whole("--runs", runs),
                seed=whole("--seed", seed),
                max_rounds=whole_if("--max-rounds", max_rounds),
                engine=engine,  # type: ignore[arg-type]  # an unknown engine is refused with its name
                workers=whole_if("--workers", workers),
                progress=lambda finished, total: advance("runs", finished, total),
            )
    except Interrupted as stop:
        if stop.finished is None:
            typer.echo("stopped before a run was finished.", err=True)
            raise typer.Exit(130) from None
        found, stopped = stop.finished, True
    if save is not None:
        found.save(save)
    if as_json:
        typer.echo(json.dumps(_as_data(found)))
    else:
        _report(found)
        if save is not None:
            typer.echo(f"these runs are kept in {save}")
    if stopped:
        typer.echo(f"stopped after {found.about['runs']} of {found.about['interrupted_of']} runs.", err=True)
        raise typer.Exit(130)


def _as_data(found: "Identification") -> dict[str, Any]:
    return {
        **as_printed(found.about),
        "summary": found.summary(),
        "rounds": found.rounds.tolist(),
        "pairs": found.pairs.tolist(),
        "identified": found.identified.tolist(),
        "correct": found.correct.tolist(),
        "answers": found.answers.tolist(),
    }


def _report(found: "Identification") -> None:
    about, summary = found.about, found.summary()
    options = ", ".join(f"{key}={as_typed(value)}" for key, value in about["options"].items())
    typer.echo(f"{about['policy']} ({options}), {counted(about['runs'], 'run')}, engine {about['engine']}")
    rounds = summary["rounds"]
    line = (
        *(f"{rounds[key]:,.0f}".replace(",", " ") for key in ("mean", "p5", "p95")),
        str(summary["correct"]),
        str(summary["wrong"]),
        str(summary["runs"] - summary["identified"]),
    )
    table(("mean rounds", "5 %", "95 %", "correct", "wrong", "not identified"), [line], right=True)
    answers: dict[str, int] = {}
    for answer, identified in zip(found.answers.tolist(), found.identified, strict=True):
        if identified:
            words = " ".join(f"({i}, {j})" for i, j in answer)
            answers[words] = answers.get(words, 0) + 1
    for words, times in sorted(answers.items(), key=lambda item: -item[1])[:5]:
        typer.echo(f"answered {counted(times, 'time')}: {words}")
